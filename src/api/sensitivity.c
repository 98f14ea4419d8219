#include "report/answer/sensitivity.h"
#include "api/request-private.h"
#include "api/shardsim.h"
#include "decide/explore/sensitivity-options.h"
#include "report/answer/heat-map.h"

char *
shardsim_sensitivity (const char *text, ShardsimStop *stop)
{
  g_auto (Request)          request = { 0 };
  g_auto (SensitivityWords) words = { 0 };
  const RequestPart         parts[] = { { sensitivity_options, &words },
                                        { request_time_options, &request },
                                        { NULL, NULL } };
  const RequestList         lists[] = { { "figure", &words.figures },
                                        { "map", &words.map },
                                        { NULL, NULL } };
  SensitivityOptions        options = { 0 };
  const gboolean            good = request_read (&request, text, stop, parts, lists)
                        && sensitivity_words_apply (&words, FALSE, &options, request.diags);
  const PredictOptions    predict = request_predict_options (&request, NULL);
  g_autoptr (Scenario)    scenario = good ? request_load_one (&request, FALSE) : NULL;
  g_autoptr (HeatMap)     map = NULL;
  g_autoptr (Sensitivity) found = NULL;
  g_autoptr (GString)     document = NULL;

  options.n_threads = request_n_threads (&request);
  if (scenario != NULL && words.map != NULL)
    map = heat_map_find (scenario, request.strategies, words.map[0], words.map[1], &predict,
                         options.n_threads, request.diags);
  else if (scenario != NULL)
    found = sensitivity_find (scenario, request.strategies, &options, &predict, request.diags,
                              &request.error);
  if ((map != NULL || found != NULL) && !diag_list_has_errors (request.diags))
    document = g_string_new (NULL);
  if (document != NULL && map != NULL)
    report_answer (&heat_map_answer, map, FORMAT_JSON, document);
  else if (document != NULL)
    report_answer (&sensitivity_answer, found, FORMAT_JSON, document);
  return request_answer (&request, document);
}
