/*
 * shardsim calibrate RESULTS... -o profile.yaml: a profile from what the microbenchmark runner
 * measured.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/same-file.h"
#include "calibrate/profile.h"
#include "cli/listing.h"
#include "cli/profile-output.h"
#include "cli/progress.h"
#include "cli/subjects.h"

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
  Common common;
  char  *output, *extends;
} Arguments;

/* ---- where it goes --------------------------------------------------------------------------- */

static gboolean
refuse_output (const Common *common, const char *file, const char *why, const char *hint)
{
  stream_say ("shardsim %s: '%s' %s\n  hint: %s\n", common->command, file, why, hint);
  return FALSE;
}

/* The id that FILE gives the profile. */
static char *
id_of (const char *file)
{
  g_autofree char *name = g_path_get_basename (file);

  return g_str_has_suffix (name, ".yaml") ? g_strndup (name, strlen (name) - strlen (".yaml"))
                                          : NULL;
}

/* The folder of -o says that a node is meant, or --extends; else the results say what they make. */
static const char *
kind_of (const Arguments *arguments, const BenchResults *results, ProfileSet *profiles)
{
  g_autofree char *folder = g_path_get_dirname (arguments->output);
  g_autofree char *name = g_path_get_basename (folder);
  const char      *kind = calibrate_profile_kind (results), *base = arguments->extends;

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
  g_autofree char *id = id_of (file);
  g_autofree char *there = id != NULL ? profile_set_file (profiles, kind, id) : NULL;
  g_autofree char *folder = g_path_get_dirname (file), *name = g_path_get_basename (folder);

  if (strcmp (name, strcmp (kind, "gpu") == 0 ? "link" : "gpu") == 0)
    return refuse_output (common, file, "is in the folder of another kind of profile",
                          strcmp (kind, "gpu") == 0 ? "a GPU's goes to a folder 'gpu'"
                                                    : "a link's goes to a folder 'link'");
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
        stream_say ("shardsim %s: nothing is written: the data contradict each other\n",
                    common->command);
      stream_say ("  %s: %s\n", value->figure, value->why);
    }
  if (n == 0)
    stream_say ("shardsim %s: nothing is written: there is too little data for any figure\n",
                common->command);
}

static ExitStatus
write_and_print (const Arguments *arguments, const ProfileCalibration *result)
{
  g_autoptr (Listing) listing = listing_new ("figures", columns);
  g_autoptr (GError)  error = NULL;
  gboolean            good = profile_calibration_is_good (result), written;
  ExitStatus          status;

  for (guint i = 0; i < result->fits->len; i++)
    add_value (listing, g_ptr_array_index (result->fits, i));
  status = listing_print (listing, arguments->common.format, NULL);
  written = !good || profile_calibration_write (result, arguments->output, &error);
  if (!written)
    return stream_note_output (status, written, error);
  if (good)
    print_use (result, arguments->output);
  else
    print_refusal (&arguments->common, result);
  return status == EXIT_DONE && !good ? EXIT_NO : status;
}

/* Newly allocated; NULL after diagnostics. A profile made by its name alone cannot be extended. */
static char *
find_base (const Arguments *arguments, const char *kind, const BenchResults *results,
           ProfileSet *profiles, DiagList *diags)
{
  g_autofree char *base = arguments->extends != NULL
                              ? g_strdup (arguments->extends)
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
calibrate (Arguments *arguments)
{
  g_autoptr (DiagList)           diags = diag_list_new ();
  g_autoptr (ProfileSet)         profiles = profile_set_new (arguments->common.hwprofiles);
  g_autoptr (BenchResults)       results = NULL;
  g_autoptr (ProfileCalibration) result = NULL;
  g_autofree char               *base = NULL, *asked = NULL;
  ExitStatus                     status = profile_output_check (arguments->output);
  const char                    *kind = NULL;
  Progress                      *progress;

  if (status != EXIT_DONE)
    return status;
  results = bench_results_load ((const char *const *) arguments->common.files, diags);
  if (results != NULL)
    {
      kind = kind_of (arguments, results, profiles);
      base = find_base (arguments, kind, results, profiles, diags);
    }
  progress = progress_start ("fitting", "rows", NULL);
  if (base != NULL)
    result = calibrate_profile (results, profiles, kind, base, diags);
  progress_end (progress);
  stream_report_diags (diags);
  if (result == NULL)
    return EXIT_USAGE;
  asked = g_steal_pointer (&arguments->output);
  arguments->output = profile_output_file (&arguments->common, asked, result->kind, result->base);
  if (arguments->output == NULL
      || !check_output (&arguments->common, arguments->output, result->kind, profiles))
    return EXIT_USAGE;
  return write_and_print (arguments, result);
}

static void
arguments_clear (Arguments *self)
{
  common_clear (&self->common);
  g_free (self->output);
  g_free (self->extends);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Arguments, arguments_clear)

int
cmd_calibrate_results (int argc, char **argv)
{
  g_auto (Arguments) arguments = { 0 };
  gboolean           done = FALSE;
  const GOptionEntry entries[] = {
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &arguments.output,
      "the profile to write, ID.yaml, or a folder of profiles (one that is there, or FOLDER/), "
      "where it is laid over what it extends (required)",
      "FILE.yaml" },
    { "extends", 0, 0, G_OPTION_ARG_STRING, &arguments.extends,
      "profile to extend (default: the one that the device's name means)", "ID" },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &arguments.common, COMMON_FORMAT, "RESULTS.csv...",
          "Fits the figures of a GPU's profile to what shardsim-bench measured on it, those of a "
          "link's to what it measured between plain hosts, or, in a folder 'node', those of a "
          "node's cores and drives, and writes a profile that extends the datasheet's. Exit status "
          "3, and nothing is written, where there is too little data for any figure, or where it "
          "contradicts itself.",
          "Logs of nccl-tests and tables of measured collectives are calibrated as by 'shardsim "
          "calibrate collectives', whose --help explains link profiles.\n\nExamples:\n"
          "  shardsim calibrate results.csv -o mine/gpu/h200-here.yaml\n"
          "  shardsim calibrate results.csv -o mine/node/dgx-h200.yaml --extends dgx-h200\n"
          "  shardsim simulate scenario.yaml --gpu h200-here --hwprofiles mine\n",
          entries, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (arguments.common.files[0] == NULL || arguments.output == NULL)
    {
      stream_say (
          "shardsim %s: no %s given\n  see 'shardsim %s --help'\n", arguments.common.command,
          arguments.output == NULL ? "profile to write (-o)" : "results", arguments.common.command);
      return EXIT_USAGE;
    }
  return calibrate (&arguments);
}
