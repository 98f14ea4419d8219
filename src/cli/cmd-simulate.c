/* shardsim simulate: one scenario. */
#include <stdio.h>

#include "cli/common.h"
#include "report/report.h"

int
cmd_simulate (int argc, char **argv)
{
  g_auto (Common)         common = { 0 };
  gboolean                done = FALSE;
  g_autoptr (GPtrArray)   scenarios = NULL;
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (GError)      error = NULL;
  g_autoptr (GString)     out = g_string_new (NULL);
  g_autoptr (Prediction)  prediction = NULL;
  PredictOptions          options;

  if (!common_parse (&common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_RUN, "[SCENARIO.yaml]",
                     "Predicts throughput, memory and bottlenecks of one training scenario.", "", NULL, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  scenarios = common_load_scenarios (&common);
  if (scenarios == NULL)
    return EXIT_USAGE;
  options = common_predict_options (&common);
  prediction = predict (g_ptr_array_index (scenarios, 0), &options, diags, &error);
  if (common_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (prediction == NULL)
    return common_report_error (error);
  report_prediction_text (prediction, out);
  fputs (out->str, stdout);
  return prediction->fits ? EXIT_DONE : EXIT_NO;
}
