/* What a prediction answers to settings, and whether it says that one of them has no effect. */
#include "answers.h"

#include <check.h>
#include <json-c/json.h>

#include "report/prediction/report.h"

static char *
answer_of (const Prediction *prediction)
{
  /* what only repeats the scenario */
  static const char *const echo[] = {
    "scenario",  "strategy",    "model",      "cluster",
    "seq_len",   "micro_batch", "grad_accum", "shard",
    "tp",        "sp",          "cp",         "ep",
    "pp",        "vp",          "precision",  "activation_checkpointing",
    "attention", "compile",     "optimizer",  "profiles",
    "settings",  "confidence",
  };
  g_autoptr (GPtrArray) one = g_ptr_array_new ();
  g_autoptr (GString)   json = g_string_new (NULL);
  struct json_object   *root, *results, *result;
  char                 *text;

  g_ptr_array_add (one, (gpointer) prediction);
  report_json (one, json);
  root = json_tokener_parse (json->str);
  ck_assert (json_object_object_get_ex (root, "results", &results));
  result = json_object_array_get_idx (results, 0);
  for (guint i = 0; i < G_N_ELEMENTS (echo); i++)
    json_object_object_del (result, echo[i]);
  text = g_strdup (json_object_to_json_string (result));
  json_object_put (root);
  return text;
}

Scenario *
answers_scenario (const char *settings, const char *key, const char *value, DiagList *diags)
{
  g_auto (GStrv)        list = g_strsplit (settings, ";", -1);
  g_autoptr (GArray)    overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));
  g_autoptr (GPtrArray) scenarios = NULL;

  for (char **entry = list; *entry != NULL; entry++)
    {
      char            *equals = strchr (*entry, '=');
      ScenarioOverride override = { .key = *entry, .origin = "base" };

      if (equals == NULL)
        continue;
      *equals = '\0';
      override.value = equals + 1;
      g_array_append_val (overrides, override);
    }
  if (key != NULL)
    {
      const ScenarioOverride override = { key, value, "--set" };

      g_array_append_val (overrides, override);
    }
  scenarios = scenario_load (NULL, NULL, (const ScenarioOverride *) (gpointer) overrides->data,
                             overrides->len, diags);
  return scenarios != NULL ? g_ptr_array_steal_index (scenarios, 0) : NULL;
}

char *
answer_to (InputFiles *files, const char *settings, const char *key, const char *value,
           DiagList *diags)
{
  g_autoptr (Scenario)   scenario = answers_scenario (settings, key, value, diags);
  g_autoptr (GError)     error = NULL;
  g_autoptr (Prediction) prediction = NULL;
  const PredictOptions   options = { .files = files, .idle_figures = TRUE };

  if (scenario != NULL)
    prediction = predict (scenario, &options, diags, &error);
  return prediction != NULL ? answer_of (prediction) : NULL;
}

gboolean
answers_are_warned (const DiagList *diags, const char *name)
{
  g_autofree char *text = g_strdup_printf ("'%s' has no effect", name);
  DiagView         view;

  for (guint i = 0; diag_list_get (diags, i, &view); i++)
    if (view.severity == DIAG_WARNING && g_str_has_prefix (view.message, text))
      return TRUE;
  return FALSE;
}
