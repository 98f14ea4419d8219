/* shardsim figures: published figures beside what the simulator makes of the same runs. */
#include <stdio.h>

#include "base/layout.h"
#include "cli/listing.h"
#include "cli/progress.h"
#include "report/figure-map.h"
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

static ExitStatus
draw_figures (const Figures *figures, const char *dir, ExitStatus status)
{
  g_autofree char   *style = layout_data_file ("plots/style.gp");
  g_autoptr (GError) error = NULL;
  gboolean           drawn = dir == NULL || report_figures_plot (figures, dir, style, &error);

  return stream_note_output (status, drawn, error);
}

static ExitStatus
draw_map (const FigureMap *map, const char *dir, ExitStatus status)
{
  g_autofree char   *style = layout_data_file ("plots/style.gp");
  g_autoptr (GError) error = NULL;
  gboolean           drawn = dir == NULL || report_figure_map_plot (map, dir, style, &error);

  return stream_note_output (status, drawn, error);
}

static int
print_map (const Common *common, const char *folder, const char *plot)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GString)   out = g_string_new (NULL);
  g_autoptr (FigureMap) map = NULL;
  Progress             *progress;
  PredictOptions        options = { .profile_dir = common->hwprofiles, .files = common->read };
  ExitStatus            status = stream_check_pictures ("--plot", plot);

  if (status != EXIT_DONE)
    return status;
  progress = progress_start ("predicting", "scenarios");
  options.count = progress_count (progress);
  map = figure_map_predict (folder, common->files[0], &options, common_n_jobs (common), diags);
  progress_end (progress);
  stream_report_diags (diags);
  if (map == NULL)
    return EXIT_USAGE;
  if (common->format == FORMAT_CSV)
    report_figure_map_csv (map, out);
  else if (common->format == FORMAT_JSON)
    report_figure_map_json (map, out);
  else
    report_figure_map_text (map, out);
  return draw_map (map, plot, stream_print (out));
}

static int
print_figures (const Common *common, const char *folder, const char *plot)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GString)  out = g_string_new (NULL);
  g_autoptr (Figures)  figures = NULL;
  Progress            *progress;
  PredictOptions       options = { .profile_dir = common->hwprofiles, .files = common->read };
  ExitStatus           status = stream_check_pictures ("--plot", plot);

  if (status != EXIT_DONE)
    return status;
  progress = progress_start ("predicting", "scenarios");
  options.count = progress_count (progress);
  figures = figures_predict (folder, common->files[0], &options, common_n_jobs (common), diags);
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
  return draw_figures (figures, plot, stream_print (out));
}

int
cmd_figures (int argc, char **argv)
{
  g_auto (Common)  common = { 0 };
  gboolean         done = FALSE;
  g_autofree char *folder = layout_data_file ("workloads/figures");
  g_autofree char *plot = NULL;

  const GOptionEntry entries[] = {
    { "plot", 0, 0, G_OPTION_ARG_FILENAME, &plot,
      "draw published and predicted numbers into the folder DIR (gnuplot)", "DIR" },
    G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, COMMON_FORMAT | COMMON_JOBS, "[NAME]",
          "Published tables and figures beside predictions of the same runs, with what had to be "
          "assumed. Without a name: the list of them. The scenarios are files of "
          "workloads/figures.",
          "Examples:\n"
          "  shardsim figures\n"
          "  shardsim figures megatron\n"
          "  shardsim figures frontier --format csv\n"
          "  shardsim figures zeropp --plot pictures\n",
          entries, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (common.files[0] == NULL)
    return list_figures (&common, folder);
  if (!common_want_words (&common, 1))
    return EXIT_USAGE;
  return figure_map_is (folder, common.files[0]) ? print_map (&common, folder, plot)
                                                 : print_figures (&common, folder, plot);
}
