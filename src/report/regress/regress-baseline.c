/* The baseline's file: keys in order, a line each, so that its changes read well. */
#include <math.h>
#include <string.h>

#include "report/document/json-private.h"
#include "report/regress/regress.h"

#define DIGEST_LENGTH 8

static gboolean
is_profile (const char *group)
{
  return strchr (group, ' ') != NULL;
}

/* Where the group of inputs that begins at START ends. */
static guint
group_end (const RegressRow *row, guint start)
{
  const char *group = g_array_index (row->inputs, RegressInput, start).group;
  guint       end = start;

  while (end < row->inputs->len
         && g_str_equal (g_array_index (row->inputs, RegressInput, end).group, group))
    end++;
  return end;
}

/*
 * "gpu h100-sxm-80 (1f2e3d4c)", by all that the profile says: rows that were made with different
 * states of it name different ones.
 */
static char *
versioned_name (const RegressRow *row, guint start, guint end)
{
  g_autoptr (GChecksum) sum = g_checksum_new (G_CHECKSUM_SHA256);

  for (guint i = start; i < end; i++)
    {
      const RegressInput *input = &g_array_index (row->inputs, RegressInput, i);
      g_autofree char    *line = g_strdup_printf ("%s=%s\n", input->key, input->value);

      g_checksum_update (sum, (const guchar *) line, -1);
    }
  return g_strdup_printf ("%s (%.*s)", g_array_index (row->inputs, RegressInput, start).group,
                          DIGEST_LENGTH, g_checksum_get_string (sum));
}

static struct json_object *
inputs_json (const RegressRow *row, guint start, guint end)
{
  struct json_object *object = json_object_new_object ();

  for (guint i = start; i < end; i++)
    {
      const RegressInput *input = &g_array_index (row->inputs, RegressInput, i);

      json_add_text (object, input->key, input->value);
    }
  return object;
}

static struct json_object *
results_json (const RegressRow *row)
{
  struct json_object *object = json_object_new_object ();

  for (guint i = 0; i < row->results->len; i++)
    {
      const RegressResult *result = &g_array_index (row->results, RegressResult, i);

      if (result->text != NULL)
        json_add_text (object, result->name, result->text);
      else
        json_add_number (object, result->name, result->number);
    }
  return object;
}

/* PROFILES: name -> json object, of all rows. */
static struct json_object *
row_json (const RegressRow *row, GTree *profiles)
{
  struct json_object *object = json_object_new_object (), *used = json_object_new_array ();

  json_add_text (object, "program_version", row->program_version);
  for (guint start = 0, end; start < row->inputs->len; start = end)
    {
      const char *group = g_array_index (row->inputs, RegressInput, start).group;
      char       *name;

      end = group_end (row, start);
      if (!is_profile (group))
        {
          json_object_object_add (object, group, inputs_json (row, start, end));
          continue;
        }
      name = versioned_name (row, start, end);
      json_object_array_add (used, json_object_new_string (name));
      if (g_tree_lookup (profiles, name) == NULL)
        g_tree_insert (profiles, name, inputs_json (row, start, end));
      else
        g_free (name);
    }
  json_object_object_add (object, "profiles", used);
  json_object_object_add (object, "results", results_json (row));
  return object;
}

static gint
compare_names (gconstpointer a, gconstpointer b, gpointer unused)
{
  (void) unused;
  return strcmp (a, b);
}

static gboolean
add_profile (gpointer name, gpointer words, gpointer object)
{
  json_object_object_add (object, name, words);
  return FALSE;
}

/*
 * JSON's strings may hold characters that a reader of YAML refuses or folds: they are escaped. The
 * rest of a document has none.
 */
static void
append_readable (const char *json, GString *out)
{
  g_autofree char *valid = g_utf8_make_valid (json, -1);

  for (const char *c = valid; *c != '\0'; c = g_utf8_next_char (c))
    {
      const gunichar     u = g_utf8_get_char (c);
      const GUnicodeType type = g_unichar_type (u);

      if (u == '\n' || u > 0xFFFF
          || (g_unichar_isprint (u) && type != G_UNICODE_LINE_SEPARATOR
              && type != G_UNICODE_PARAGRAPH_SEPARATOR))
        g_string_append_unichar (out, u);
      else
        g_string_append_printf (out, "\\u%04x", u);
    }
}

void
report_baseline (const Baseline *self, GString *out)
{
  g_autoptr (GString) json = g_string_new (NULL);
  g_autoptr (GTree)   profiles = g_tree_new_full (compare_names, NULL, g_free, NULL);
  struct json_object *root = json_object_new_object (), *rows = json_object_new_object ();
  struct json_object *all = json_object_new_object ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const RegressRow *row = g_ptr_array_index (self->rows, i);

      json_object_object_add (rows, row->scenario, row_json (row, profiles));
    }
  g_tree_foreach (profiles, add_profile, all);
  json_object_object_add (root, "baseline_schema", json_object_new_int (BASELINE_SCHEMA));
  json_object_object_add (root, "scenarios", rows);
  json_object_object_add (root, "profiles", all);
  json_finish (root, json);
  append_readable (json->str, out);
}
