/* shardsim figures: published figures beside what the simulator makes of the same runs. */
#include <stdio.h>

#include "base/layout.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "report/figures.h"

static const ListingColumn columns[] = { { "name", LISTING_TEXT }, { NULL, LISTING_TEXT } };

static int
list_figures (const Common *common, const char *folder)
{
  g_auto (GStrv)      names = figures_list (folder);
  g_autoptr (Listing) listing = listing_new ("figures", columns);
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint i = 0; names[i] != NULL; i++)
    {
      listing_add (listing, names[i]);
      g_string_append_printf (text, "%s\n", names[i]);
    }
  return listing_print (listing, common->format, text);
}

static int
print_figures (const Common *common, const char *folder)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  out = g_string_new (NULL);
  Progress            *progress = progress_start ("predicting", "scenarios");
  const PredictOptions options = { .profile_dir = common->hwprofiles,
                                   .count = progress_count (progress) };
  g_autoptr (Figures)  figures =
      figures_predict (folder, common->files[0], &options, common_n_jobs (common), diags);

  progress_end (progress);
  stream_report_diags (diags);
  if (figures == NULL)
    return EXIT_USAGE;
  switch (common->format)
    {
    case FORMAT_CSV:
      report_figures_csv (figures, out);
      break;
    case FORMAT_JSON:
      report_figures_json (figures, out);
      break;
    default:
      report_figures_text (figures, out);
      break;
    }
  return stream_print (out);
}

int
cmd_figures (int argc, char **argv)
{
  g_auto (Common)  common = { 0 };
  gboolean         done = FALSE;
  g_autofree char *folder = layout_data_file ("workloads/figures");

  if (!common_parse (
          &common, COMMON_FORMAT | COMMON_JOBS, "[NAME]",
          "Published tables and figures beside predictions of the same runs, with what had to be "
          "assumed. Without a name: the list of them. The scenarios are files of "
          "workloads/figures.",
          "Examples:\n"
          "  shardsim figures\n"
          "  shardsim figures megatron\n"
          "  shardsim figures frontier --format csv\n",
          NULL, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (common.files[0] == NULL)
    return list_figures (&common, folder);
  return common_want_words (&common, 1) ? print_figures (&common, folder) : EXIT_USAGE;
}
