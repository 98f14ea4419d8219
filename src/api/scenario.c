#include "api/request-private.h"
#include "api/shardsim.h"
#include "report/answer/scenario-texts.h"
#include "scenario/software.h"

/* The overrides of REQUEST as options of a command line. Newly allocated. */
static char *
command_options (const Request *request)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < request->overrides->len; i++)
    {
      const ScenarioOverride *override = &g_array_index (request->overrides, ScenarioOverride, i);
      g_autofree char        *text = scenario_option_text (override->key, override->value);

      g_string_append_printf (out, "%s%s", i > 0 ? " " : "", text);
    }
  return g_string_free (out, FALSE);
}

/* Each of SCENARIOS as it runs, with what its framework sets. */
static void
put_in_force (Request *request, GPtrArray *scenarios)
{
  const PredictOptions   options = request_predict_options (request, NULL);
  g_autoptr (ProfileSet) profiles = predict_profiles (&options);
  g_autoptr (DiagList)   untold = diag_list_new ();

  for (guint i = 0; i < scenarios->len; i++)
    {
      Scenario *in_force = scenario_in_force (scenarios->pdata[i], profiles, untold);

      if (in_force == NULL)
        continue;
      scenario_free (scenarios->pdata[i]);
      scenarios->pdata[i] = in_force;
    }
}

char *
shardsim_scenario (const char *text)
{
  g_auto (Request)      request = { 0 };
  g_autoptr (GPtrArray) scenarios = NULL;
  g_autoptr (GString)   document = NULL;

  if (request_read (&request, text, NULL, NULL, NULL))
    scenarios = request_load (&request, TRUE);
  if (scenarios != NULL)
    {
      g_autofree char *options = command_options (&request);

      put_in_force (&request, scenarios);
      report_scenario_texts_json (scenarios, options, document = g_string_new (NULL));
    }
  return request_answer (&request, document);
}
