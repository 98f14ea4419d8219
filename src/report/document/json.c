#include "report/document/json-private.h"

#include <math.h>

#include "report/prediction/report.h"

struct json_object *
json_number (double value)
{
  g_autofree char *text = number_format_exact (value);

  return isfinite (value) ? json_object_new_double_s (value, text) : NULL;
}

void
json_add_number (struct json_object *object, const char *key, double value)
{
  json_object_object_add (object, key, json_number (value));
}

void
json_add_count (struct json_object *object, const char *key, guint64 value)
{
  json_object_object_add (object, key, json_object_new_uint64 (value));
}

void
json_add_text (struct json_object *object, const char *key, const char *text)
{
  json_object_object_add (object, key, text != NULL ? json_object_new_string (text) : NULL);
}

struct json_object *
json_setting (const ScenarioSetting *setting)
{
  if (setting == NULL)
    return NULL;
  switch (setting->spec->type)
    {
    case OPTION_INT:
      return json_object_new_int64 (g_ascii_strtoll (setting->value, NULL, 10));
    case OPTION_BOOL:
      return json_object_new_boolean (g_str_equal (setting->value, "true"));
    default:
      return json_object_new_string (setting->value);
    }
}

struct json_object *
json_partial (const Partial *partial)
{
  struct json_object *object = json_object_new_object ();

  json_add_text (object, "reason", partial->reason);
  json_add_text (object, "step", partial->step);
  json_add_count (object, "done", partial->done);
  json_object_object_add (
      object, "of",
      partial->todo > 0 && !partial->more ? json_object_new_int64 (partial->todo) : NULL);
  return object;
}

struct json_object *
json_document_new (void)
{
  struct json_object *root = json_object_new_object ();

  json_object_object_add (root, "schema", json_object_new_int (RESULTS_SCHEMA));
  json_add_text (root, "program_version", layout_program_version ());
  return root;
}

void
json_finish (struct json_object *root, GString *out)
{
  g_string_append (out, json_object_to_json_string_ext (
                            root, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
  g_string_append_c (out, '\n');
  json_object_put (root);
}
