/* shardsim sensitivity: what a change of the hardware or of an option does to one scenario. */
#include "base/file/layout.h"
#include "cli/argument/common.h"
#include "cli/help/page-values.h"
#include "cli/output/progress.h"
#include "decide/explore/sensitivity-options.h"
#include "report/answer/heat-map.h"
#include "report/answer/sensitivity.h"

typedef struct
{
  SensitivityWords   words;
  SensitivityOptions options;
  char              *plot;
} Settings;

static ExitStatus
find (Common *common, const Scenario *scenario, Settings *settings)
{
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (GError)      error = NULL;
  g_autoptr (Sensitivity) sensitivity = NULL;
  g_autoptr (GString)     out = g_string_new (NULL);
  g_autofree char        *style = layout_data_file ("plots/style.gp"), *words = NULL;
  ExitStatus              status;
  gboolean                drawn;
  PredictOptions          options = common_predict_options (common);
  Progress               *progress = patience_begin (common->patience, "sampling", "changes");

  settings->options.n_threads = common_n_jobs (common);
  options.count = progress_count (progress);
  sensitivity =
      sensitivity_find (scenario, common->strategies, &settings->options, &options, diags, &error);
  patience_end (common->patience, progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (sensitivity == NULL && patience_partial (common->patience)->reason != NULL)
    {
      words = partial_text (patience_partial (common->patience));
      common_say (common, "%s: the scenario itself was not predicted by then\n", words);
      return EXIT_NO;
    }
  if (sensitivity == NULL)
    return stream_report_error (error);
  report_answer (&sensitivity_answer, sensitivity, common->format, out);
  status = common_print_result (common, out);
  drawn = settings->plot == NULL
          || report_sensitivity_plot (sensitivity, settings->plot, style, &error);
  return stream_note_output (status, drawn, error);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static ExitStatus
find_map (Common *common, const Scenario *scenario, const Settings *settings)
{
  char *const         *axes = settings->words.map;
  g_autofree char     *style = layout_data_file ("plots/style.gp");
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (HeatMap)  map = NULL;
  g_autoptr (GString)  out = g_string_new (NULL);
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
  report_answer (&heat_map_answer, map, common->format, out);
  status = common_print_result (common, out);
  drawn = settings->plot == NULL || report_heat_map_plot (map, settings->plot, style, &error);
  return stream_note_output (status, drawn, error);
}

/* ---- the command ----------------------------------------------------------------------------- */

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  Settings *settings = data;

  g_ptr_array_add (common->asked, NULL);
  if (common->asked->len > 1)
    settings->words.figures = g_strdupv ((char **) common->asked->pdata);
  if (!diag_list_has_errors (diags)
      && sensitivity_words_apply (&settings->words, common->format == FORMAT_CSV,
                                  &settings->options, diags)
      && settings->options.no_figures && settings->plot != NULL)
    diag_error (diags, NULL, NULL, "--plot draws figures or a map, --only options has none");
  return TRUE;
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  g_autoptr (GPtrArray) scenarios = common_load_scenarios (common);
  ExitStatus            status;

  if (scenarios == NULL || !common_want_one (common, scenarios))
    return EXIT_USAGE;
  status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  return settings->words.map != NULL ? find_map (common, g_ptr_array_index (scenarios, 0), data)
                                     : find (common, g_ptr_array_index (scenarios, 0), data);
}

static void
clear (gpointer data)
{
  sensitivity_words_clear (&((Settings *) data)->words);
}

static const CommandOption options[] = {
  { OPTIONS_OF (sensitivity_options, words) },
  { OPTION ("map", VALUE_TEXTS, words.map, "NAME=VALUES",
            "vary two things together, one --map each: a figure or an option and its values, as in "
            "nic.bandwidth='100 Gbit/s..800 Gbit/s:4' or training.micro_batch=1,2,4"),
    .words = &words_keys },
  { OPTION ("plot", VALUE_FOLDER, plot, "DIR",
            "draw the figures' effects, or the map, into the folder DIR (gnuplot)"),
    .check = stream_check_pictures },
  { 0 },
};

const Command command_sensitivity = {
  .name = "sensitivity",
  .help = "which figure of the hardware, and which option, buys how much",
  .arguments = "[SCENARIO.yaml]",
  .summary = "Changes each figure of the hardware and each option, one at a time, and simulates "
             "again: what buys how much.\n"
             "--figure NAME, without a value, asks about that figure alone; may be repeated.",
  .examples = "Examples:\n"
              "  shardsim sensitivity --cluster '2 x dgx-h100' --model llama-3-8b \\\n"
              "    --strategy fsdp2 --seq-len 8192\n"
              "  shardsim sensitivity workloads/llama-3.1-405b-h100.yaml --figure nic.bandwidth\n"
              "  shardsim sensitivity workloads/llama-3.1-405b-h100.yaml --plot out \\\n"
              "    --map 'nic.bandwidth=100 Gbit/s..800 Gbit/s:4' --map mesh.tp=4,8\n",
  .takes = COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS | COMMON_ASKED | COMMON_TIME,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .check = check,
  .run = run,
  .clear = clear,
};
