/* shardsim simulate: one scenario. */
#include "cli/common.h"
#include "report/report.h"

static void
text_of_first (const GPtrArray *predictions, GString *out)
{
  report_prediction_text (g_ptr_array_index (predictions, 0), out);
}

static ExitStatus
simulate (Common *common, const GPtrArray *scenarios)
{
  g_autoptr (GPtrArray) predictions =
      g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (GError)     error = NULL;
  PredictOptions         options = common_predict_options (common);
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Replay)     replay = NULL;
  Prediction            *prediction;
  ExitStatus             status;

  prediction = common->trace != NULL
                   ? predict_with_replay (g_ptr_array_index (scenarios, 0), &options, &replay,
                                          &profiles, diags, &error)
                   : predict (g_ptr_array_index (scenarios, 0), &options, diags, &error);
  if (common_report_diags (diags) != EXIT_DONE)
    {
      prediction_free (prediction);
      return EXIT_USAGE;
    }
  if (prediction == NULL)
    return common_report_error (error);
  g_ptr_array_add (predictions, prediction);
  if (!common_write_files (common, predictions, (const Replay *const *) &replay, &error))
    return common_report_error (error);
  status = common_print_report (common, predictions, text_of_first);
  return status != EXIT_DONE ? status : prediction->fits ? EXIT_DONE : EXIT_NO;
}

int
cmd_simulate (int argc, char **argv)
{
  g_auto (Common)       common = { 0 };
  gboolean              done = FALSE;
  g_autoptr (GPtrArray) scenarios = NULL;

  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_RUN, "[SCENARIO.yaml]",
          "Predicts throughput, memory and bottlenecks of one training scenario.\n"
          "Exit status: 0 it fits, 3 it does not fit, 2 bad input, 1 runtime failure.",
          "Examples:\n"
          "  shardsim simulate --cluster '2 x dgx-h100' --model llama-3-8b --strategy fsdp2 --seq-len 8192\n"
          "  shardsim simulate workloads/llama-3.1-405b-h100.yaml --set strategy.name=hsdp\n",
          NULL, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  scenarios = common_load_scenarios (&common);
  if (scenarios == NULL)
    return EXIT_USAGE;
  if (!common_want_one (&common, scenarios))
    return EXIT_USAGE;
  if (common.print_scenario)
    return common_print_scenarios (scenarios);
  return simulate (&common, scenarios);
}
