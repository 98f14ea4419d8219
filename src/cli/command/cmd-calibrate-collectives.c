/* shardsim calibrate collectives: link profiles fitted to nccl-tests' tables and logs. */
#include <string.h>

#include "calibrate/collectives.h"
#include "cli/argument/measurement-arguments.h"
#include "cli/help/listing.h"
#include "cli/output/progress.h"

static const ListingColumn columns[] = {
  { "family", LISTING_TEXT },
  { "rows", LISTING_NUMBER },
  { "sources", LISTING_NUMBER },
  { "misfit_before", LISTING_NUMBER },
  { "misfit_after", LISTING_NUMBER },
  { "link", LISTING_TEXT },
  { "figure", LISTING_TEXT },
  { "before", LISTING_TEXT },
  { "after", LISTING_TEXT },
  { "reason", LISTING_TEXT },
  { NULL, LISTING_TEXT },
};

static char *
value_text (const FittedFigure *figure, double value)
{
  if (value == 0)
    return g_strdup ("table");
  return figure->kind == QUANTITY_RATIO ? number_format_exact (value)
                                        : quantity_format (figure->kind, value, 4);
}

static void
add_line (Listing *listing, const FittedFamily *family, const FittedFigure *figure,
          const char *reason)
{
  g_autofree char *rows = g_strdup_printf ("%u", family->n_rows);
  g_autofree char *sources = g_strdup_printf ("%u", family->sources->len);
  g_autofree char *misfit_before = g_strdup_printf ("%.4f", family->before);
  g_autofree char *misfit_after = g_strdup_printf ("%.4f", family->after);
  g_autofree char *links = NULL, *before = NULL, *after = NULL;

  if (figure != NULL)
    {
      g_ptr_array_add (family->links, NULL);
      links = figure->link != NULL ? g_strdup (figure->link)
                                   : g_strjoinv (" ", (char **) family->links->pdata);
      g_ptr_array_set_size (family->links, (gint) family->links->len - 1);
      before = value_text (figure, figure->before);
      after = value_text (figure, figure->after);
    }
  listing_add (listing, family->name, rows, sources, misfit_before, misfit_after, links,
               figure != NULL ? figure->key : NULL, before, after, reason);
}

/* A line a figure that moved, or why there is none. */
static void
add_family (Listing *listing, const FittedFamily *family)
{
  gboolean moved = FALSE;

  for (guint i = 0; i < family->figures->len; i++)
    {
      const FittedFigure *figure = &g_array_index (family->figures, FittedFigure, i);

      if (!figure->moved)
        continue;
      add_line (listing, family, figure, NULL);
      moved = TRUE;
    }
  if (!moved)
    add_line (listing, family, NULL,
              family->refusal != NULL ? family->refusal : "nothing fits better than what stands");
}

typedef struct
{
  char                *dir;
  MeasurementArguments logs;
} Settings;

/* FALSE after a message: profiles that extend themselves would lose what they had. */
static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  const char    *dir = ((const Settings *) data)->dir;
  g_auto (GStrv) folders = g_strsplit (common->hwprofiles != NULL ? common->hwprofiles : "",
                                       G_SEARCHPATH_SEPARATOR_S, -1);
  g_autofree char *target = g_canonicalize_filename (dir, NULL);

  (void) diags;
  if (g_str_has_suffix (dir, ".yaml"))
    {
      common_say (common,
                  "'%s' names a file, but every link has a profile of its own\n"
                  "  hint: name a folder\n",
                  dir);
      return FALSE;
    }
  for (guint i = 0; folders[i] != NULL; i++)
    {
      g_autofree char *folder = g_canonicalize_filename (folders[i], NULL);

      if (*folders[i] == '\0' || strcmp (folder, target) != 0)
        continue;
      common_say (common,
                  "'%s' is also where profiles are taken from\n"
                  "  hint: write to a folder of its own\n",
                  dir);
      return FALSE;
    }
  return TRUE;
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings                   *settings = data;
  const char                       *dir = settings->dir;
  g_autoptr (DiagList)              diags = diag_list_new ();
  g_autoptr (GPtrArray)             rows = NULL;
  g_autoptr (ProfileSet)            profiles = profile_set_new (common->hwprofiles);
  g_autoptr (CollectiveCalibration) result = NULL;
  g_autoptr (Listing)               listing = listing_new ("figures", columns);
  g_autoptr (GError)                error = NULL;
  guint                             n_fitted = 0, n_files = 0;
  gboolean                          written;
  Progress                         *progress;
  ExitStatus                        status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  rows = measurement_arguments_load (common, &settings->logs, TRUE, diags);
  stream_report_diags (diags);
  if (rows == NULL)
    return EXIT_USAGE;
  progress = progress_start ("fitting", "rows", NULL);
  result = calibrate_collectives (rows, profiles, NULL, NULL);
  progress_end (progress);
  for (guint i = 0; i < result->families->len; i++)
    {
      const FittedFamily *family = g_ptr_array_index (result->families, i);

      add_family (listing, family);
      n_fitted += family->refusal == NULL;
    }
  status = listing_print (listing, common->format, NULL);
  written = n_fitted == 0 || collective_calibration_write (result, dir, &n_files, &error);
  if (!written)
    return stream_note_output (status, written, error);
  if (n_files > 0)
    stream_say ("%u profiles in '%s': use them with --hwprofiles '%s'\n", n_files, dir, dir);
  else
    common_say (common, "nothing is written: %s\n",
                n_fitted > 0 ? "no figure moved" : "no link family could be fitted");
  return status == EXIT_DONE && n_fitted == 0 ? EXIT_NO : status;
}

static const CommandOption options[] = {
  { OPTION ("output", VALUE_FOLDER, dir, "DIR", "folder for the fitted profiles (required)"),
    .letter = 'o', .check = stream_check_folder },
  OPTIONS_OF_LOGS (logs),
  { 0 },
};

static const OptionRule rules[] = {
  { .needs = "output",
    .words = "no folder (-o) given\n  see 'shardsim calibrate collectives --help'" },
  { 0 },
};

const Command command_calibrate_collectives = {
  .name = "calibrate collectives",
  .help = "link profiles from runs of nccl-tests or rccl-tests",
  .arguments = "FILE...",
  .summary = "Fits the figures of link profiles to the healthy rows of measured collectives, a "
             "family of links at a time, and writes profiles that extend the present ones. "
             "Families with too little or contradictory data are left out; exit status 3 when none "
             "could be fitted.\n" MEASUREMENT_FILES_HELP,
  .examples = "Examples:\n"
              "  shardsim calibrate collectives runs.csv -o fitted\n"
              "  shardsim calibrate collectives node.log two-nodes.log --node dgx-h100 \\\n"
              "    -o fitted\n"
              "  shardsim validate collectives runs.csv --hwprofiles fitted\n",
  .takes = COMMON_FORMAT | COMMON_CLUSTER,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .missing = "no file of measurements given",
  .check = check,
  .run = run,
};
