#include "report/fields-private.h"

#include <math.h>

#include "report/report.h"

const char *
field_program_version (gconstpointer row)
{
  (void) row;
  return layout_program_version ();
}

double
field_schema (gconstpointer row)
{
  (void) row;
  return RESULTS_SCHEMA;
}

static char *
setting_cell (const ScenarioSetting *setting)
{
  if (setting != NULL && setting->spec->type == OPTION_BOOL)
    return g_strdup (g_str_equal (setting->value, "true") ? "1" : "0");
  return g_strdup (setting != NULL ? setting->value : "");
}

static char *
field_cell (const Field *field, gconstpointer row)
{
  const double number = field->number != NULL ? field->number (row) : 0;

  switch (field->type)
    {
    case FIELD_TEXT:
    case FIELD_WORD:
      return g_strdup (field->text (row) != NULL ? field->text (row) : "");
    case FIELD_BOOL:
      return g_strdup (number != 0 ? "1" : "0");
    case FIELD_COUNT:
      return number != 0 ? g_strdup_printf ("%.0f", number) : g_strdup ("");
    case FIELD_OPTIONAL:
      return number != 0 ? number_format_exact (number) : g_strdup ("");
    case FIELD_SETTING:
      return setting_cell (prediction_setting (row, field->section, field->name));
    default:
      return isfinite (number) ? number_format_exact (number) : g_strdup ("");
    }
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void
append_csv (const Field *fields, gconstpointer row, GString *out)
{
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (g_free);

  for (const Field *field = fields; field->name != NULL; field++)
    if (field->place != FIELD_IN_JSON)
      g_ptr_array_add (cells, row != NULL ? field_cell (field, row) : g_strdup (field->name));
  csv_append_row (out, (const char *const *) cells->pdata, cells->len);
}

void
fields_csv (const Field *fields, gconstpointer rows, guint n, gsize size, GString *out)
{
  append_csv (fields, NULL, out);
  for (guint i = 0; i < n; i++)
    append_csv (fields, (const guint8 *) rows + i * size, out);
}

void
fields_csv_pointers (const Field *fields, const GPtrArray *rows, GString *out)
{
  append_csv (fields, NULL, out);
  for (guint i = 0; i < rows->len; i++)
    append_csv (fields, g_ptr_array_index (rows, i), out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static struct json_object *
field_value (const Field *field, gconstpointer row)
{
  const double number = field->number != NULL ? field->number (row) : 0;
  const char  *text = field->text != NULL ? field->text (row) : NULL;

  switch (field->type)
    {
    case FIELD_TEXT:
      return json_object_new_string (text != NULL ? text : "");
    case FIELD_WORD:
      return text != NULL ? json_object_new_string (text) : NULL;
    case FIELD_BOOL:
      return json_object_new_boolean (number != 0);
    case FIELD_COUNT:
      return json_object_new_uint64 ((guint64) number);
    case FIELD_OPTIONAL:
      return number != 0 ? json_number (number) : NULL;
    case FIELD_SETTING:
      return json_setting (prediction_setting (row, field->section, field->name));
    default:
      return json_number (number);
    }
}

void
fields_add_json (const Field *fields, gconstpointer row, struct json_object *object)
{
  for (const Field *field = fields; field->name != NULL; field++)
    if (field->place != FIELD_IN_CSV)
      json_object_object_add (object, field->name, field_value (field, row));
}

struct json_object *
fields_json (const Field *fields, gconstpointer row)
{
  struct json_object *object = json_object_new_object ();

  fields_add_json (fields, row, object);
  return object;
}

struct json_object *
fields_json_list (const Field *fields, gconstpointer rows, guint n, gsize size)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < n; i++)
    json_object_array_add (list, fields_json (fields, (const guint8 *) rows + i * size));
  return list;
}
