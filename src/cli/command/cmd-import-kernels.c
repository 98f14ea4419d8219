/* shardsim import kernels: a GPU's profile from tables of measured kernels. */
#include <errno.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "base/file/output.h"
#include "base/file/same-file.h"
#include "calibrate/kernels.h"
#include "cli/help/listing.h"
#include "cli/help/page-values.h"
#include "cli/output/profile-output.h"
#include "cli/output/progress.h"

typedef struct
{
  char *output, *gpu, *source;
} Settings;

static const ListingColumn columns[] = {
  { "what", LISTING_TEXT },       { "before", LISTING_TEXT },
  { "after", LISTING_TEXT },      { "rows", LISTING_NUMBER },
  { "left_out", LISTING_NUMBER }, { "by_figures_median", LISTING_NUMBER },
  { "median", LISTING_NUMBER },   { "p90", LISTING_NUMBER },
  { "bias", LISTING_NUMBER },     { NULL, LISTING_TEXT },
};

static void
add_figure (Listing *listing, const KernelFigure *figure)
{
  g_autofree char *before = quantity_format (figure->kind, figure->before, 3);
  g_autofree char *after = quantity_format (figure->kind, figure->after, 3);

  listing_add (listing, figure->key, before, after, NULL, NULL, NULL, NULL, NULL, NULL);
}

static void
add_left_out (Listing *listing, const KernelLeftOut *one)
{
  g_autofree char *rows = g_strdup_printf ("%u", one->n);
  g_autofree char *others = g_strdup_printf ("%u", one->table.n);
  g_autofree char *figures = g_strdup_printf ("%.4f", one->figures.median_abs);
  g_autofree char *median = g_strdup_printf ("%.4f", one->table.median_abs);
  g_autofree char *p90 = g_strdup_printf ("%.4f", one->table.p90_abs);
  g_autofree char *bias = g_strdup_printf ("%.4f", one->table.median);

  listing_add (listing, one->name, NULL, NULL, rows, others, figures, median, p90, bias);
}

/* The GPU that all rows of products are of; NULL after a message. */
static const char *
find_gpu (const Common *common, const Settings *settings, const GArray *rows)
{
  const char *gpu = settings->gpu;

  for (guint i = 0; settings->gpu == NULL && i < rows->len; i++)
    {
      const KernelRow *row = &g_array_index (rows, KernelRow, i);

      if (gpu != NULL && strcmp (gpu, row->gpu) != 0)
        {
          common_say (common, "the tables are of '%s' and '%s'\n  hint: say which with --gpu\n",
                      gpu, row->gpu);
          return NULL;
        }
      gpu = row->gpu;
    }
  return gpu;
}

/* The profile would extend itself. FALSE after a message. */
static gboolean
check_output (const Common *common, const char *file, ProfileSet *profiles)
{
  g_autofree char *id = g_path_get_basename (file), *there = NULL;

  *strrchr (id, '.') = '\0'; /* ID.yaml */
  there = profile_set_file (profiles, "gpu", id);
  if (there == NULL || !file_is_same (there, file))
    return TRUE;
  common_say (common,
              "'%s' is one of the profiles that it could extend\n  hint: write to a folder of its "
              "own\n",
              file);
  return FALSE;
}

/* For a text in double quotes. Newly allocated. */
static char *
source_text (const Settings *settings)
{
  char *text = g_strdup (settings->source != NULL ? settings->source : "measured alone");

  return g_strdelimit (text, "\"\\\n\r\t", ' ');
}

/* The table first: a profile without it would be another. */
static gboolean
write_files (const KernelCalibration *result, const char *source, const char *file, GError **error)
{
  g_autofree char *folder = g_path_get_dirname (file);
  g_autofree char *profile = kernel_calibration_profile (result, source);
  g_autofree char *products = kernel_calibration_table (result);
  g_autofree char *table =
      g_strdup_printf ("%.*s.matmul.csv", (int) (strlen (file) - strlen (".yaml")), file);

  if (g_mkdir_with_parents (folder, 0777) != 0)
    {
      g_set_error (error, G_FILE_ERROR, G_FILE_ERROR_FAILED, "cannot write '%s': %s", file,
                   g_strerror (errno));
      return FALSE;
    }
  return output_file_write (table, products, error) && output_file_write (file, profile, error);
}

static ExitStatus
write_and_print (const Common *common, const Settings *settings, const char *file,
                 const KernelCalibration *result)
{
  g_autoptr (Listing) listing = listing_new ("figures", columns);
  g_autoptr (GError)  error = NULL;
  g_autofree char    *use = profile_output_use (file, "gpu"), *source = source_text (settings);
  ExitStatus          status;

  for (guint i = 0; i < result->figures->len; i++)
    add_figure (listing, &g_array_index (result->figures, KernelFigure, i));
  for (guint i = 0; i < result->left_out->len; i++)
    add_left_out (listing, &g_array_index (result->left_out, KernelLeftOut, i));
  status = listing_print (listing, common->format, NULL);
  if (!write_files (result, source, file, &error))
    return stream_report_error (error);
  stream_say ("'%s' extends '%s'; %u products beside it: %s\n", file, result->base->id,
              result->products->len, use);
  return status;
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings               *settings = data;
  g_autoptr (DiagList)          diags = diag_list_new ();
  g_autoptr (ProfileSet)        profiles = profile_set_new (common->hwprofiles);
  g_autoptr (KernelCalibration) result = NULL;
  g_autoptr (GArray)            rows = NULL;
  g_autofree char              *file = NULL;
  const char                   *gpu;
  const GpuProfile             *profile;
  Progress                     *progress;
  ExitStatus                    status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  rows = kernel_tables_load (common->files, diags);
  stream_report_diags (diags);
  if (rows == NULL || (gpu = find_gpu (common, settings, rows)) == NULL)
    return EXIT_USAGE;
  profile = profile_set_gpu (profiles, gpu, NULL, diags);
  stream_report_diags (diags);
  if (profile == NULL)
    return EXIT_USAGE;
  file = profile_output_file (common, settings->output, "gpu", gpu);
  if (file == NULL || !check_output (common, file, profiles))
    return EXIT_USAGE;
  progress = progress_start ("fitting", "rows", NULL);
  result = calibrate_kernels (rows, profile);
  progress_end (progress);
  if (result != NULL)
    return write_and_print (common, settings, file, result);
  common_say (common, "nothing is written: fewer than %d kernels of '%s'\n",
              KERNEL_CALIBRATION_LEAST, gpu);
  return EXIT_NO;
}

static const CommandOption options[] = {
  { OPTION ("output", VALUE_FILE, output, "FILE.yaml",
            "the profile to write, ID.yaml, or a folder of profiles (one that is there, or "
            "FOLDER/); a table of products goes beside it (required)"),
    .letter = 'o', .check = profile_output_check },
  { OPTION ("gpu", VALUE_TEXT, gpu, "ID",
            "which GPU of the tables, and the profile to extend (default: the only one)") },
  { OPTION ("source", VALUE_TEXT, source, "TEXT", "what measured it, for the profile's sources") },
  { 0 },
};

static const OptionRule rules[] = {
  { .needs = "output",
    .words = "no profile to write (-o) given\n  see 'shardsim import kernels --help'" },
  { 0 },
};

const Command command_import_kernels = {
  .name = "import kernels",
  .help = "a GPU's profile from a table of measured kernels",
  .arguments = "FILE.csv...",
  .summary =
      "Fits the figures of a GPU's matrix products, of attention forward and of experts to "
      "tables of kernels that were measured alone ('shardsim validate kernels' says what they look "
      "like), and writes a profile that extends the GPU's, with up to 400 products a type beside "
      "it. Half of the shapes predict the other half, and the errors are printed: by figures "
      "alone, and with the table. Exit status 3, and nothing is written, where there are fewer "
      "than 50 kernels.",
  .examples = "Examples:\n"
              "  shardsim import kernels products.csv --gpu l40s-48 -o mine/gpu/here.yaml\n"
              "  shardsim validate kernels products.csv --hwprofiles mine\n",
  .takes = COMMON_FORMAT,
  .options = options,
  .rules = rules,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .missing = "no table of kernels given",
  .run = run,
};
