#include "decide/explore/maximum.h"

#include "api/request-private.h"
#include "api/shardsim.h"
#include "report/answer/maximum.h"

typedef struct
{
  char *max;
} Asked;

static const OptionSpec options[] = {
  { .key = "max",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Asked, max),
    .fallback = "micro_batch" },
  { 0 },
};

/* The scenario, and the lever that is asked for. NULL after diagnostics or an error. */
static Scenario *
take (Request *request, const char *text, ShardsimStop *stop, RequestRun *run, const Lever **key)
{
  Asked             asked = { 0 };
  const RequestPart parts[] = { { options, &asked },
                                { request_run_options, run },
                                { request_time_options, request },
                                { NULL, NULL } };

  if (request_read (request, text, stop, parts, NULL))
    *key = maximum_find_key (asked.max, request->diags);
  option_table_clear (options, &asked);
  if (*key == NULL)
    return NULL;
  maximum_add_override (*key, request->overrides);
  return request_load_one (request, FALSE);
}

char *
shardsim_maximum (const char *text, ShardsimStop *stop)
{
  g_auto (Request)     request = { 0 };
  RequestRun           run = { 0 };
  const Lever         *key = NULL;
  g_autoptr (Scenario) scenario = take (&request, text, stop, &run, &key);
  const PredictOptions predict = request_predict_options (&request, &run);
  g_autoptr (Maximum)  maximum = NULL;
  g_autoptr (GString)  document = NULL;

  if (scenario != NULL)
    maximum =
        maximum_find (scenario, request.strategies, key, &predict, request.diags, &request.error);
  if (maximum != NULL && !diag_list_has_errors (request.diags))
    report_answer (&maximum_answer, maximum, FORMAT_JSON, document = g_string_new (NULL));
  return request_answer (&request, document);
}
