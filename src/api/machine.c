#include "report/answer/machine.h"
#include "api/request-private.h"
#include "api/shardsim.h"

char *
shardsim_machine (const char *text)
{
  g_auto (Request)       request = { 0 };
  g_autoptr (Scenario)   scenario = NULL;
  g_autoptr (ProfileSet) profiles = NULL;
  g_autoptr (Cluster)    cluster = NULL;
  g_autoptr (GString)    document = NULL;

  if (request_read (&request, text, NULL, NULL, NULL))
    scenario = request_load_one (&request, TRUE);
  if (scenario != NULL)
    {
      const PredictOptions options = request_predict_options (&request, NULL);

      profiles = predict_profiles (&options);
      cluster = scenario_cluster_new (scenario, profiles, request.diags);
    }
  if (cluster != NULL && !diag_list_has_errors (request.diags))
    report_machine_json (cluster, document = g_string_new (NULL));
  return request_answer (&request, document);
}
