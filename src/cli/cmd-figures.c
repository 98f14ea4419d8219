/* shardsim figures: published figures beside what the simulator makes of the same runs. */
#include <stdio.h>

#include "base/layout.h"
#include "cli/common.h"
#include "report/figures.h"

static int
list_figures (const char *folder)
{
  g_auto (GStrv)      names = figures_list (folder);
  g_autoptr (GString) out = g_string_new (NULL);

  for (guint i = 0; names[i] != NULL; i++)
    g_string_append_printf (out, "%s\n", names[i]);
  return common_print (out);
}

static int
print_figures (const Common *common, const char *folder)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const PredictOptions options = { .profile_dir = common->hwprofiles };
  g_autoptr (Figures)  figures =
      figures_predict (folder, common->files[0], &options, common_n_jobs (common), diags);
  g_autoptr (GString) out = g_string_new (NULL);

  common_report_diags (diags);
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
  return common_print (out);
}

int
cmd_figures (int argc, char **argv)
{
  g_auto (Common)  common = { 0 };
  gboolean         done = FALSE;
  g_autofree char *folder = layout_data_file ("workloads/figures");

  if (!common_parse (
          &common, COMMON_FORMAT | COMMON_JOBS, "[NAME]",
          "Published tables and figures beside predictions of the same runs, with what had to be assumed. Without a name: "
          "the list of them. The scenarios are files of workloads/figures.",
          "Examples:\n"
          "  shardsim figures\n"
          "  shardsim figures megatron\n"
          "  shardsim figures frontier --format csv\n",
          NULL, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (common.files[0] == NULL)
    return list_figures (folder);
  return common_want_words (&common, 1) ? print_figures (&common, folder) : EXIT_USAGE;
}
