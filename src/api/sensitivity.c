#include "report/sensitivity.h"
#include "analysis/sensitivity-options.h"
#include "api/request-private.h"
#include "api/shardsim.h"
#include "report/heat-map.h"

/* FALSE after diagnostics or an error. */
static gboolean
take (Request *request, const char *text, ShardsimStop *stop, SensitivityWords *words,
      SensitivityOptions *options)
{
  const RequestPart parts[] = { { sensitivity_options, words },
                                { request_time_options, request },
                                { NULL, NULL } };
  const RequestList lists[] = { { "figure", &words->figures },
                                { "map", &words->map },
                                { NULL, NULL } };

  return request_read (request, text, stop, parts, lists)
         && sensitivity_words_take (words, FALSE, options, request->diags);
}

/* NULL after diagnostics or an error. */
static GString *
find_map (Request *request, const Scenario *scenario, char *const *axes)
{
  const PredictOptions predict = request_predict_options (request, NULL);
  g_autoptr (HeatMap)  map = heat_map_find (scenario, request->strategies, axes[0], axes[1],
                                            &predict, request_n_threads (request), request->diags);
  GString             *document;

  if (map == NULL || diag_list_has_errors (request->diags))
    return NULL;
  report_heat_map_json (map, document = g_string_new (NULL));
  return document;
}

/* NULL after diagnostics or an error. */
static GString *
find (Request *request, const Scenario *scenario, SensitivityOptions *options)
{
  const PredictOptions    predict = request_predict_options (request, NULL);
  g_autoptr (Sensitivity) found = NULL;
  GString                *document;

  options->n_threads = request_n_threads (request);
  found = sensitivity_find (scenario, request->strategies, options, &predict, request->diags,
                            &request->error);
  if (found == NULL || diag_list_has_errors (request->diags))
    return NULL;
  report_sensitivity_json (found, document = g_string_new (NULL));
  return document;
}

char *
shardsim_sensitivity (const char *text, ShardsimStop *stop)
{
  g_auto (Request)          request = { 0 };
  g_auto (SensitivityWords) words = { 0 };
  SensitivityOptions        options = { 0 };
  const gboolean            good = take (&request, text, stop, &words, &options);
  g_autoptr (Scenario)      scenario = good ? request_load_one (&request, FALSE) : NULL;
  g_autoptr (GString)       document = NULL;

  if (scenario != NULL)
    document = words.map != NULL ? find_map (&request, scenario, words.map)
                                 : find (&request, scenario, &options);
  return request_answer (&request, document);
}
