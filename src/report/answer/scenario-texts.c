#include "report/answer/scenario-texts.h"

#include "report/document/json-private.h"

void
report_scenario_texts_json (const GPtrArray *scenarios, const char *options, GString *out)
{
  struct json_object *root = json_document_new (), *list = json_object_new_array ();

  json_add_text (root, "options", options);
  for (guint i = 0; i < scenarios->len; i++)
    {
      const Scenario     *scenario = g_ptr_array_index (scenarios, i);
      struct json_object *one = json_object_new_object ();
      g_autofree char    *yaml = scenario_print (scenario);

      json_add_text (one, "name", scenario->name);
      json_add_text (one, "yaml", yaml);
      json_object_array_add (list, one);
    }
  json_object_object_add (root, "scenarios", list);
  json_finish (root, out);
}
