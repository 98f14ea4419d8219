/*
 * shardsim calibrate: a profile from what the microbenchmark runner measured. Measured collectives
 * have a subject of their own, which files without the subject's name may show to be meant.
 */
#include <math.h>
#include <string.h>

#include "base/file/same-file.h"
#include "calibrate/profile.h"
#include "cli/help/listing.h"
#include "cli/help/page-values.h"
#include "cli/output/profile-output.h"
#include "cli/output/progress.h"
#include "evidence/tables/measurement-file.h"

static const ListingColumn columns[] = {
  { "figure", LISTING_TEXT },
  { "measured", LISTING_TEXT },
  { "before", LISTING_TEXT },
  { "after", LISTING_TEXT },
  { "low", LISTING_TEXT },
  { "high", LISTING_TEXT },
  { "rows", LISTING_NUMBER },
  { "residual_median", LISTING_NUMBER },
  { "residual_p90", LISTING_NUMBER },
  { "reason", LISTING_TEXT },
  { NULL, LISTING_TEXT },
};

/* ---- the table ------------------------------------------------------------------------------- */

static char *
value_text (const FittedValue *value, double number)
{
  if (isnan (number))
    return NULL;
  if (value->kind == QUANTITY_RATIO)
    return g_strdup_printf ("%.4g", number);
  return quantity_format (value->kind, number, 4);
}

static char *
residual_text (double residual)
{
  return isnan (residual) ? NULL : g_strdup_printf ("%.4f", residual);
}

static void
add_value (Listing *listing, const FittedValue *value)
{
  gboolean         good = value->verdict == FIT_GOOD;
  g_autofree char *before = value_text (value, value->before);
  g_autofree char *after = value_text (value, good ? value->after : NAN);
  g_autofree char *low = value_text (value, good ? value->low : NAN);
  g_autofree char *high = value_text (value, good ? value->high : NAN);
  g_autofree char *rows = g_strdup_printf ("%u", value->n);
  g_autofree char *median = residual_text (value->residual_median);
  g_autofree char *p90 = residual_text (value->residual_p90);

  listing_add (listing, value->figure, value->what, before,
               good && value->text != NULL ? value->text : after, low, high, rows, median, p90,
               value->why);
}

typedef struct
{
  char *output, *extends;
} Settings;

/* ---- where it goes --------------------------------------------------------------------------- */

static gboolean
refuse_output (const Common *common, const char *file, const char *why, const char *hint)
{
  common_say (common, "'%s' %s\n  hint: %s\n", file, why, hint);
  return FALSE;
}

/* The folder of -o says that a node is meant, or --extends; else the results say what they make. */
static const char *
kind_of (const Settings *settings, const BenchResults *results, ProfileSet *profiles)
{
  g_autofree char *folder = g_path_get_dirname (settings->output);
  g_autofree char *name = g_path_get_basename (folder);
  const char      *kind = calibrate_profile_kind (results), *base = settings->extends;

  if (strcmp (name, "node") == 0
      || (base != NULL && !profile_set_has (profiles, kind, base)
          && profile_set_has (profiles, "node", base)))
    return "node";
  return kind;
}

/* FALSE after a message: a folder of another kind, or a profile that what is written may extend. */
static gboolean
check_output (const Common *common, const char *file, const char *kind, ProfileSet *profiles)
{
  g_autofree char *folder = g_path_get_dirname (file), *name = g_path_get_basename (folder);
  g_autofree char *id = g_path_get_basename (file), *there = NULL;

  if (strcmp (name, strcmp (kind, "gpu") == 0 ? "link" : "gpu") == 0)
    return refuse_output (common, file, "is in the folder of another kind of profile",
                          strcmp (kind, "gpu") == 0 ? "a GPU's goes to a folder 'gpu'"
                                                    : "a link's goes to a folder 'link'");
  *strrchr (id, '.') = '\0'; /* ID.yaml */
  there = profile_set_file (profiles, kind, id);
  if (there != NULL && file_is_same (there, file))
    return refuse_output (common, file, "is one of the profiles that it could extend",
                          "write to a folder of its own");
  return TRUE;
}

static void
print_use (const ProfileCalibration *result, const char *file)
{
  g_autofree char *use = profile_output_use (file, result->kind);

  stream_say ("'%s' extends '%s'", file, result->base);
  if (result->products != NULL && result->products->len > 0)
    stream_say ("; %u products beside it", result->products->len);
  stream_say (": %s\n", use);
}

/* ---- the command ----------------------------------------------------------------------------- */

/*
 * Why there is no profile: the figures that contradict their data, or else that there is nothing to
 * fit.
 */
static void
print_refusal (const Common *common, const ProfileCalibration *result)
{
  guint n = 0;

  for (guint i = 0; i < result->fits->len; i++)
    {
      const FittedValue *value = g_ptr_array_index (result->fits, i);

      if (value->figure == NULL || value->verdict != FIT_CONTRADICTORY)
        continue;
      if (n++ == 0)
        common_say (common, "nothing is written: the data contradict each other\n");
      stream_say ("  %s: %s\n", value->figure, value->why);
    }
  if (n == 0)
    common_say (common, "nothing is written: there is too little data for any figure\n");
}

static ExitStatus
write_and_print (const Common *common, const char *file, const ProfileCalibration *result)
{
  g_autoptr (Listing) listing = listing_new ("figures", columns);
  g_autoptr (GError)  error = NULL;
  gboolean            good = profile_calibration_is_good (result), written;
  ExitStatus          status;

  for (guint i = 0; i < result->fits->len; i++)
    add_value (listing, g_ptr_array_index (result->fits, i));
  status = listing_print (listing, common->format, NULL);
  written = !good || profile_calibration_write (result, file, &error);
  if (!written)
    return stream_note_output (status, written, error);
  if (good)
    print_use (result, file);
  else
    print_refusal (common, result);
  return status == EXIT_DONE && !good ? EXIT_NO : status;
}

/* Newly allocated; NULL after diagnostics. A profile made by its name alone cannot be extended. */
static char *
find_base (const char *extends, const char *kind, const BenchResults *results, ProfileSet *profiles,
           DiagList *diags)
{
  g_autofree char *base = extends != NULL
                              ? g_strdup (extends)
                              : calibrate_profile_guess (results, profiles, kind, diags);
  g_autofree char *file = base != NULL ? profile_set_file (profiles, kind, base) : NULL;

  if (base == NULL)
    return NULL;
  if (file != NULL)
    return g_steal_pointer (&base);
  if (profile_set_has (profiles, kind, base))
    diag_error (diags, NULL, "extend the profile that it is made from", "'%s' has no file", base);
  else
    profile_set_unknown (profiles, kind, base, NULL, diags);
  return NULL;
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings                *settings = data;
  g_autoptr (DiagList)           diags = diag_list_new ();
  g_autoptr (ProfileSet)         profiles = profile_set_new (common->hwprofiles);
  g_autoptr (BenchResults)       results = NULL;
  g_autoptr (ProfileCalibration) result = NULL;
  g_autofree char               *base = NULL, *file = NULL;
  ExitStatus                     status = common_check_outputs (common);
  const char                    *kind = NULL;
  Progress                      *progress;

  if (status != EXIT_DONE)
    return status;
  results = bench_results_load ((const char *const *) common->files, diags);
  if (results != NULL)
    {
      kind = kind_of (settings, results, profiles);
      base = find_base (settings->extends, kind, results, profiles, diags);
    }
  progress = progress_start ("fitting", "rows", NULL);
  if (base != NULL)
    result = calibrate_profile (results, profiles, kind, base, diags);
  progress_end (progress);
  stream_report_diags (diags);
  if (result == NULL)
    return EXIT_USAGE;
  file = profile_output_file (common, settings->output, result->kind, result->base);
  if (file == NULL || !check_output (common, file, result->kind, profiles))
    return EXIT_USAGE;
  return write_and_print (common, file, result);
}

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

static const Command *
meant (char ***words)
{
  return names_collectives (*words) ? command_find ("calibrate collectives") : NULL;
}

static const CommandOption options[] = {
  { OPTION ("output", VALUE_FILE, output, "FILE.yaml",
            "the profile to write, ID.yaml, or a folder of profiles (one that is there, or "
            "FOLDER/), where it is laid over what it extends (required)"),
    .letter = 'o', .check = profile_output_check },
  { OPTION ("extends", VALUE_TEXT, extends, "ID",
            "profile to extend (default: the one that the device's name means)"),
    .words = &words_bases },
  { 0 },
};

static const OptionRule rules[] = {
  { .needs = "output",
    .words = "no profile to write (-o) given\n  see 'shardsim calibrate --help'" },
  { 0 },
};

const Command command_calibrate = {
  .name = "calibrate",
  .help = "fits hardware profiles to measurements",
  .arguments = "RESULTS.csv...",
  .summary =
      "Fits the figures of a GPU's profile to what shardsim-bench measured on it, those of a "
      "link's to what it measured between plain hosts, or, in a folder 'node', those of a node's "
      "cores and drives, and writes a profile that extends the datasheet's. Exit status 3, and "
      "nothing is written, where there is too little data for any figure, or where it contradicts "
      "itself.",
  .examples =
      "Logs of nccl-tests and tables of measured collectives are calibrated as by 'shardsim "
      "calibrate collectives', whose --help explains link profiles.\n\nExamples:\n"
      "  shardsim calibrate results.csv -o mine/gpu/h200-here.yaml\n"
      "  shardsim calibrate results.csv -o mine/node/dgx-h200.yaml --extends dgx-h200\n"
      "  shardsim simulate scenario.yaml --gpu h200-here --hwprofiles mine\n",
  .takes = COMMON_FORMAT,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .missing = "no results given",
  .run = run,
  .meant = meant,
};
