/*
 * shardsim calibrate: hardware profiles from measurements: of the runner's results, or of measured
 * collectives, which have a subject of their own. Without the subject, what is in the files tells.
 */
#include <string.h>

#include "cli/pages.h"
#include "cli/subjects.h"
#include "measure/measurement-file.h"

/*
 * A word is a file of measured collectives: a log of nccl-tests, or a table. Where none shows what
 * it is, and none is the runner's, an output that is no profile's file tells: only collectives have
 * a folder.
 */
static gboolean
names_collectives (char *const *words)
{
  const char *output = NULL;
  gboolean    unknown = FALSE, shown = FALSE;

  for (guint i = 1; words[i] != NULL; i++)
    {
      const MeasurementFileKind kind =
          *words[i] != '-' ? measurement_file_kind (words[i]) : MEASUREMENT_FILE_UNKNOWN;

      if (kind == MEASUREMENT_FILE_RESULTS)
        return FALSE;
      shown |= kind != MEASUREMENT_FILE_UNKNOWN;
      unknown |= *words[i] != '-';
      if (strcmp (words[i], "-o") == 0 || strcmp (words[i], "--output") == 0)
        output = words[i + 1] != NULL ? words[++i] : NULL;
    }
  return shown || (unknown && output != NULL && !g_str_has_suffix (output, ".yaml"));
}

int
cmd_calibrate (int argc, char **argv)
{
  static const Subject subjects[] = {
    { "collectives", cmd_calibrate_collectives,
      "link profiles from runs of nccl-tests or rccl-tests" },
  };
  const gboolean    named = argc > 1 && g_str_equal (argv[1], subjects[0].name);
  g_autofree char **words = g_new0 (char *, (gsize) argc + 2);
  g_autofree char  *subject = g_strdup (subjects[0].name);

  pages_take_subjects (subjects, G_N_ELEMENTS (subjects), NULL); /* beside its own page */
  if (!named && !names_collectives (argv))
    return cmd_calibrate_results (argc, argv);
  words[0] = argv[0];
  words[1] = subject;
  for (int i = 1 + named; i < argc; i++)
    words[i + !named] = argv[i];
  return subjects_run (
      subjects, G_N_ELEMENTS (subjects),
      "Fits hardware profiles to a table of measurements and writes them to a folder.",
      argc + !named, words);
}
