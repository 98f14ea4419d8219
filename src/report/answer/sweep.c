#include "report/answer/sweep.h"

#include "report/document/json-private.h"
#include "report/prediction/report.h"

static char *
csv_cell (const ResultValue *value)
{
  switch (value->type)
    {
    case RESULT_TEXT:
      return g_strdup (value->text);
    case RESULT_WHOLE:
      return g_strdup_printf ("%" G_GINT64_FORMAT, value->whole);
    case RESULT_REAL:
      return number_format_exact (value->real);
    default:
      return g_strdup ("");
    }
}

void
report_stored_csv (const char *const *names, const ResultValue *values, guint n, gboolean first,
                   GString *out)
{
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (g_free);

  if (first)
    csv_append_row (out, names, n);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (cells, csv_cell (&values[i]));
  csv_append_row (out, (const char *const *) cells->pdata, n);
}

static struct json_object *
json_value (const char *name, const ResultValue *value)
{
  switch (value->type)
    {
    case RESULT_TEXT:
      return json_object_new_string (value->text);
    case RESULT_WHOLE:
      return report_result_is_switch (name) ? json_object_new_boolean (value->whole != 0)
                                            : json_object_new_int64 (value->whole);
    case RESULT_REAL:
      return json_number (value->real);
    default:
      return NULL;
    }
}

static void
append_json_head (GString *out)
{
  g_string_append_printf (out, "{\"schema\": %d, \"program_version\": \"%s\", \"results\": [\n",
                          RESULTS_SCHEMA, layout_program_version ());
}

void
report_stored_json (const char *const *names, const ResultValue *values, guint n, gboolean first,
                    GString *out)
{
  struct json_object *object = json_object_new_object ();

  if (first)
    append_json_head (out);
  for (guint i = 0; i < n; i++)
    json_object_object_add (object, names[i], json_value (names[i], &values[i]));
  g_string_append (out, first ? "" : ",\n");
  g_string_append (out, json_object_to_json_string_ext (object, JSON_C_TO_STRING_NOSLASHESCAPE));
  json_object_put (object);
}

void
report_stored_json_end (gboolean empty, const Partial *partial, GString *out)
{
  if (empty)
    append_json_head (out);
  g_string_append (out, empty ? "]" : "\n]");
  if (partial->reason != NULL)
    {
      struct json_object *object = json_partial (partial);

      g_string_append_printf (out, ", \"partial\": %s", json_object_to_json_string (object));
      json_object_put (object);
    }
  g_string_append (out, "}\n");
}
