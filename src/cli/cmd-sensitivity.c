/* shardsim sensitivity: what a change of the hardware or of an option does to one scenario. */
#include "base/layout.h"
#include "base/suggest.h"
#include "cli/common.h"
#include "cli/progress.h"
#include "report/heat-map.h"
#include "report/sensitivity.h"

#define DEFAULT_FACTOR 1.25

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
  return stream_print (out);
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
  Progress               *progress = progress_start ("changing figures", "changes", NULL);

  wanted->n_threads = common_n_jobs (common);
  options.count = progress_count (progress);
  sensitivity = sensitivity_find (scenario, common->strategies, wanted, &options, diags, &error);
  progress_end (progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
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
  return stream_print (out);
}

static ExitStatus
find_map (Common *common, const Scenario *scenario, char *const *axes)
{
  g_autofree char     *style = layout_data_file ("plots/style.gp");
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  g_autoptr (HeatMap)  map = NULL;
  PredictOptions       options = common_predict_options (common);
  Progress            *progress = progress_start ("mapping", "cells", NULL);
  ExitStatus           status;
  gboolean             drawn;

  options.count = progress_count (progress);
  map = heat_map_find (scenario, common->strategies, axes[0], axes[1], &options,
                       common_n_jobs (common), diags);
  progress_end (progress);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  status = print_map (common, map);
  drawn = common->plot == NULL || report_heat_map_plot (map, common->plot, style, &error);
  return stream_note_output (status, drawn, error);
}

/* FALSE after a message. */
static gboolean
check_map (char *const *axes, const SensitivityOptions *wanted, const char *only)
{
  if (axes == NULL)
    return TRUE;
  if (g_strv_length ((char **) axes) != 2)
    stream_say ("shardsim sensitivity: --map is wanted twice: to the right, and down\n");
  else if (wanted->figures != NULL || only != NULL || wanted->factor != DEFAULT_FACTOR
           || !wanted->break_even)
    stream_say ("shardsim sensitivity: --map takes neither --figure, --only, --factor nor "
                "--no-break-even\n");
  else
    return TRUE;
  return FALSE;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* FALSE after a message. */
static gboolean
check_factor (double factor)
{
  if (factor > 1 && factor <= 100)
    return TRUE;
  stream_say ("shardsim sensitivity: --factor: expected a number above 1 and up to 100, got %g\n",
              factor);
  return FALSE;
}

/*
 * --only into WANTED; FALSE after a message. Asking about some figures is asking about figures. CSV
 * has a table of one form, that of figures unless options are asked for.
 */
static gboolean
take_only (const Common *common, const char *only, SensitivityOptions *wanted)
{
  static const char *const names[] = { "figures", "options", NULL };
  const gint               index = only != NULL ? name_index (only, names) : -1;
  g_autofree char         *hint = NULL;

  wanted->no_figures = index == 1;
  wanted->options =
      index == 1 || (only == NULL && wanted->figures == NULL && common->format != FORMAT_CSV);
  if (wanted->no_figures && wanted->figures != NULL)
    {
      stream_say ("shardsim sensitivity: --figure asks about figures, --only options about none\n");
      return FALSE;
    }
  if (wanted->no_figures && common->plot != NULL)
    {
      stream_say ("shardsim sensitivity: --plot draws figures or a map, --only options has none\n");
      return FALSE;
    }
  if (only == NULL || index >= 0)
    return TRUE;
  hint = suggest_hint (only, names);
  stream_say ("shardsim sensitivity: --only: there is no '%s': %s\n", only, hint);
  return FALSE;
}

int
cmd_sensitivity (int argc, char **argv)
{
  g_auto (Common)       common = { 0 };
  gboolean              done = FALSE, no_break_even = FALSE;
  g_auto (GStrv)        figures = NULL, map = NULL;
  g_autofree char      *only = NULL;
  SensitivityOptions    wanted = { .factor = DEFAULT_FACTOR };
  g_autoptr (GPtrArray) scenarios = NULL;
  ExitStatus            status;
  const GOptionEntry    extra[] = {
       { "factor", 0, 0, G_OPTION_ARG_DOUBLE, &wanted.factor,
         "what figures are multiplied and divided by (default 1.25)", "FACTOR" },
       { "figure", 0, 0, G_OPTION_ARG_STRING_ARRAY, &figures,
         "this figure of the hardware only, such as nic.bandwidth; may be repeated", "FIGURE" },
       { "only", 0, 0, G_OPTION_ARG_STRING, &only,
         "figures of the hardware, or options of the scenario; default both, in CSV figures",
         "figures|options" },
       { "map", 0, 0, G_OPTION_ARG_STRING_ARRAY, &map,
         "vary two things together, one --map each: a figure or an option and its values, as in "
            "nic.bandwidth='100 Gbit/s..800 Gbit/s:4' or training.micro_batch=1,2,4",
         "NAME=VALUES" },
       { "plot", 0, 0, G_OPTION_ARG_FILENAME, &common.plot,
         "draw the figures' effects, or the map, into the folder DIR (gnuplot)", "DIR" },
       { "no-break-even", 0, 0, G_OPTION_ARG_NONE, &no_break_even,
         "do not look for the values above which rates no longer matter", NULL },
       G_OPTION_ENTRY_NULL,
  };

  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS, "[SCENARIO.yaml]",
          "Changes each figure of the hardware and each option, one at a time, and simulates "
          "again: what buys how much.",
          "Examples:\n"
          "  shardsim sensitivity --cluster '2 x dgx-h100' --model llama-3-8b \\\n"
          "    --strategy fsdp2 --seq-len 8192\n"
          "  shardsim sensitivity workloads/llama-3.1-405b-h100.yaml --figure nic.bandwidth\n"
          "  shardsim sensitivity workloads/llama-3.1-405b-h100.yaml --plot out \\\n"
          "    --map 'nic.bandwidth=100 Gbit/s..800 Gbit/s:4' --map mesh.tp=4,8\n",
          extra, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  wanted.figures = (const char *const *) figures;
  wanted.break_even = !no_break_even;
  if (!check_factor (wanted.factor) || !take_only (&common, only, &wanted)
      || !check_map (map, &wanted, only))
    return EXIT_USAGE;
  scenarios = common_load_scenarios (&common);
  if (scenarios == NULL || !common_want_one (&common, scenarios))
    return EXIT_USAGE;
  status = common_check_files (&common);
  if (status != EXIT_DONE)
    return status;
  if (map != NULL)
    return find_map (&common, g_ptr_array_index (scenarios, 0), map);
  return find (&common, g_ptr_array_index (scenarios, 0), &wanted);
}
