/* shardsim sensitivity: what a change of the hardware or of an option does to one scenario. */
#include "analysis/sensitivity-options.h"
#include "base/layout.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "cli/table-words.h"
#include "report/heat-map.h"
#include "report/sensitivity.h"

static ExitStatus
print_sensitivity (const Common *common, const Sensitivity *sensitivity)
{
  static void (*const print[]) (const Sensitivity *, GString *) = {
    [FORMAT_TEXT] = report_sensitivity_text,
    [FORMAT_CSV] = report_sensitivity_csv,
    [FORMAT_JSON] = report_sensitivity_json,
  };
  g_autoptr (GString) out = g_string_new (NULL);

  print[common->format](sensitivity, out);
  return common_print_result (common, out);
}

/* The work ended before there was a step to change. */
static ExitStatus
say_nothing_yet (const Common *common)
{
  g_autofree char *words = partial_text (patience_partial (common->patience));

  stream_say ("shardsim %s: %s: the scenario itself was not predicted by then\n", common->command,
              words);
  return EXIT_NO;
}

static ExitStatus
find (Common *common, const Scenario *scenario, SensitivityOptions *wanted)
{
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (GError)      error = NULL;
  g_autoptr (Sensitivity) sensitivity = NULL;
  g_autofree char        *style = layout_data_file ("plots/style.gp");
  ExitStatus              status;
  gboolean                drawn;
  PredictOptions          options = common_predict_options (common);
  Progress               *progress = patience_begin (common->patience, "sampling", "changes");

  wanted->n_threads = common_n_jobs (common);
  options.count = progress_count (progress);
  sensitivity = sensitivity_find (scenario, common->strategies, wanted, &options, diags, &error);
  patience_end (common->patience, progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (sensitivity == NULL && patience_partial (common->patience)->reason != NULL)
    return say_nothing_yet (common);
  if (sensitivity == NULL)
    return stream_report_error (error);
  status = print_sensitivity (common, sensitivity);
  drawn =
      common->plot == NULL || report_sensitivity_plot (sensitivity, common->plot, style, &error);
  return stream_note_output (status, drawn, error);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static ExitStatus
print_map (const Common *common, const HeatMap *map)
{
  static void (*const print[]) (const HeatMap *, GString *) = {
    [FORMAT_TEXT] = report_heat_map_text,
    [FORMAT_CSV] = report_heat_map_csv,
    [FORMAT_JSON] = report_heat_map_json,
  };
  g_autoptr (GString) out = g_string_new (NULL);

  print[common->format](map, out);
  return common_print_result (common, out);
}

static ExitStatus
find_map (Common *common, const Scenario *scenario, char *const *axes)
{
  g_autofree char     *style = layout_data_file ("plots/style.gp");
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (HeatMap)  map = NULL;
  PredictOptions       options = common_predict_options (common);
  Progress            *progress = patience_begin (common->patience, "mapping", "cells");
  ExitStatus           status;
  gboolean             drawn;

  options.count = progress_count (progress);
  map = heat_map_find (scenario, common->strategies, axes[0], axes[1], &options,
                       common_n_jobs (common), diags);
  patience_end (common->patience, progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  status = print_map (common, map);
  drawn = common->plot == NULL || report_heat_map_plot (map, common->plot, style, &error);
  return stream_note_output (status, drawn, error);
}

/* ---- the command ----------------------------------------------------------------------------- */

/* WORDS as OPTIONS; FALSE after a message. */
static gboolean
take (const Common *common, const TableWords *table, SensitivityWords *words,
      SensitivityOptions *options)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  if (table_words_take (table, words, diags)
      && sensitivity_words_take (words, common->format == FORMAT_CSV, options, diags)
      && options->no_figures && common->plot != NULL)
    diag_error (diags, NULL, NULL, "--plot draws figures or a map, --only options has none");
  return stream_report_diags (diags) == EXIT_DONE;
}

int
cmd_sensitivity (int argc, char **argv)
{
  g_auto (Common)           common = { 0 };
  gboolean                  done = FALSE;
  g_auto (SensitivityWords) words = { 0 };
  SensitivityOptions        wanted = { 0 };
  g_autoptr (GPtrArray)     scenarios = NULL;
  g_autoptr (GArray)        entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  g_autoptr (TableWords)    table = table_words_new (sensitivity_options, entries);
  ExitStatus                status;
  const GOptionEntry        own[] = {
           { "map", 0, 0, G_OPTION_ARG_STRING_ARRAY, &words.map,
             "vary two things together, one --map each: a figure or an option and its values, as "
                    "in nic.bandwidth='100 Gbit/s..800 Gbit/s:4' or training.micro_batch=1,2,4",
             "NAME=VALUES" },
           { "plot", 0, 0, G_OPTION_ARG_FILENAME, &common.plot,
             "draw the figures' effects, or the map, into the folder DIR (gnuplot)", "DIR" },
  };

  g_array_append_vals (entries, own, G_N_ELEMENTS (own));
  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS | COMMON_ASKED | COMMON_TIME,
          "[SCENARIO.yaml]",
          "Changes each figure of the hardware and each option, one at a time, and simulates "
          "again: what buys how much.\n"
          "--figure NAME, without a value, asks about that figure alone; may be repeated.",
          "Examples:\n"
          "  shardsim sensitivity --cluster '2 x dgx-h100' --model llama-3-8b \\\n"
          "    --strategy fsdp2 --seq-len 8192\n"
          "  shardsim sensitivity workloads/llama-3.1-405b-h100.yaml --figure nic.bandwidth\n"
          "  shardsim sensitivity workloads/llama-3.1-405b-h100.yaml --plot out \\\n"
          "    --map 'nic.bandwidth=100 Gbit/s..800 Gbit/s:4' --map mesh.tp=4,8\n",
          (const GOptionEntry *) (void *) entries->data, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  g_ptr_array_add (common.asked, NULL);
  if (common.asked->len > 1)
    words.figures = g_strdupv ((char **) common.asked->pdata);
  if (!take (&common, table, &words, &wanted))
    return EXIT_USAGE;
  scenarios = common_load_scenarios (&common);
  if (scenarios == NULL || !common_want_one (&common, scenarios))
    return EXIT_USAGE;
  status = common_check_files (&common);
  if (status != EXIT_DONE)
    return status;
  if (words.map != NULL)
    status = find_map (&common, g_ptr_array_index (scenarios, 0), words.map);
  else
    status = find (&common, g_ptr_array_index (scenarios, 0), &wanted);
  return (int) patience_status (common.patience, status);
}
