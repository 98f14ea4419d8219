#include "report/emit-tables.h"

#include <string.h>

#include "base/config.h"

#define FOLDER "frameworks"

/* ---- options --------------------------------------------------------------------------------- */

static void
option_free (gpointer data)
{
  EmitOption *self = data;

  g_free (self->key);
  g_strfreev (self->values);
  g_free (self);
}

static gboolean
is_number (const char *text, gboolean whole)
{
  char *end;

  if (whole)
    g_ascii_strtoll (text, &end, 10);
  else
    g_ascii_strtod (text, &end);
  return *text != '\0' && *end == '\0';
}

gboolean
emit_option_takes (const EmitOption *option, const char *text)
{
  switch (option->type)
    {
    case EMIT_INT:
      return is_number (text, TRUE);
    case EMIT_FLOAT:
      return is_number (text, FALSE);
    case EMIT_BOOL:
      return g_str_equal (text, "true") || g_str_equal (text, "false");
    case EMIT_FLAG:
      return g_str_equal (text, "true");
    case EMIT_STRING:
    case EMIT_WORDS:
      break;
    }
  return option->values == NULL || g_strv_contains ((const char *const *) option->values, text);
}

gint
emit_framework_find (const EmitFramework *self, const char *key)
{
  for (guint i = 0; i < self->options->len; i++)
    if (g_str_equal (((const EmitOption *) g_ptr_array_index (self->options, i))->key, key))
      return (gint) i;
  return -1;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void
match_clear (EmitMatch *self)
{
  g_free (self->name);
  g_strfreev (self->values);
}

static void
match_free (gpointer data)
{
  match_clear (data);
  g_free (data);
}

static void
rule_free (gpointer data)
{
  EmitRule *self = data;

  match_clear (&self->match);
  g_ptr_array_unref (self->when);
  g_free (self->text);
  g_free (self);
}

/* "name=value|value; ..." */
static void
read_conditions (EmitRule *self, const char *text, DiagList *diags)
{
  g_auto (GStrv) parts = g_strsplit (text, ";", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      char      *part = g_strstrip (parts[i]);
      char      *equals = strchr (part, '=');
      EmitMatch *match;

      if (*part == '\0')
        continue;
      if (equals == NULL)
        {
          diag_error (diags, &self->mark, NULL, "expected 'name=values', got '%s'", part);
          continue;
        }
      match = g_new0 (EmitMatch, 1);
      match->name = g_strndup (part, (gsize) (equals - part));
      match->values = g_strsplit (equals + 1, "|", -1);
      g_ptr_array_add (self->when, match);
    }
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* What reads one table: a row's fields, in the order of its columns. */
typedef void (*ReadRow) (EmitFramework *self, GPtrArray *rows, const char *const *fields,
                         const SourceMark *mark, DiagList *diags);

static void
read_option (EmitFramework *self, GPtrArray *rows, const char *const *fields,
             const SourceMark *mark, DiagList *diags)
{
  static const char *const types[] = { "int", "float", "bool", "string", "words", "flag", NULL };
  const gint               type = name_index (fields[1], types);
  EmitOption              *option;

  (void) self;
  if (type < 0)
    {
      g_autofree char *hint = suggest_hint (fields[1], types);

      diag_error (diags, mark, hint, "unknown type '%s'", fields[1]);
      return;
    }
  option = g_new0 (EmitOption, 1);
  option->key = g_strdup (fields[0]);
  option->type = (EmitType) type;
  option->values = *fields[2] != '\0' ? g_strsplit (fields[2], "|", -1) : NULL;
  g_ptr_array_add (rows, option);
}

static void
read_rule (EmitFramework *self, GPtrArray *rows, const char *const *fields, const SourceMark *mark,
           DiagList *diags)
{
  static const char *const actions[] = { "set", "skip", "note", "refuse", NULL };
  const gint               action = name_index (fields[3], actions);
  const gint               option = *fields[4] != '\0' ? emit_framework_find (self, fields[4]) : -1;
  EmitRule                *rule;

  if (action < 0 || (action == EMIT_SET) != (option >= 0))
    {
      diag_error (diags, mark, NULL, "'%s' of '%s' does not go with the key '%s'", fields[3],
                  fields[0], fields[4]);
      return;
    }
  rule = g_new0 (EmitRule, 1);
  rule->mark = source_mark_keep (mark);
  rule->match.name = g_strdup (fields[0]);
  rule->match.values = g_strsplit (*fields[1] != '\0' ? fields[1] : "*", "|", -1);
  rule->when = g_ptr_array_new_with_free_func (match_free);
  rule->action = (EmitAction) action;
  rule->option = (guint) MAX (option, 0);
  rule->text = g_strdup (fields[5]);
  read_conditions (rule, fields[2], diags);
  g_ptr_array_add (rows, rule);
}

/* COLUMNS: at most 6 names, NULL-terminated. FALSE after diagnostics. */
static gboolean
read_table (EmitFramework *self, const char *file, const char *const *columns, GPtrArray *rows,
            ReadRow read, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  const guint           n_errors = diag_list_n_errors (diags);
  gint                  at[6];

  if (reader == NULL)
    return FALSE;
  csv_reader_check_names (reader, columns, diags);
  for (guint c = 0; columns[c] != NULL; c++)
    {
      at[c] = csv_reader_find (reader, columns[c]);
      if (at[c] < 0)
        csv_reader_missing (reader, columns[c], NULL, diags);
    }
  while (diag_list_n_errors (diags) == n_errors && csv_reader_next (reader, diags))
    {
      const char      *fields[6] = { NULL };
      const SourceMark mark = csv_reader_mark (reader, 0);

      for (guint c = 0; columns[c] != NULL; c++)
        fields[c] = csv_reader_field (reader, (guint) at[c]);
      read (self, rows, fields, &mark, diags);
    }
  return diag_list_n_errors (diags) == n_errors;
}

static gboolean
read_about (EmitFramework *self, const char *file, DiagList *diags)
{
  g_autoptr (ConfigDoc) doc = config_load (file, diags);
  const struct
  {
    const char *key;
    char      **target;
  } keys[] = { { "title", &self->title },
               { "format", &self->format },
               { "version", &self->version } };
  gboolean good = doc != NULL;

  for (guint i = 0; doc != NULL && i < G_N_ELEMENTS (keys); i++)
    {
      const ConfigNode *node = config_node_get (config_doc_root (doc), keys[i].key);

      *keys[i].target = g_strdup (node != NULL ? config_node_text (node) : NULL);
      if (*keys[i].target == NULL)
        diag_error (diags, config_node_mark (config_doc_root (doc)), NULL, "missing '%s'",
                    keys[i].key);
      good = good && *keys[i].target != NULL;
    }
  return good;
}

EmitFramework *
emit_framework_load_folder (const char *folder, const char *common, DiagList *diags)
{
  static const char *const option_columns[] = { "key", "type", "values", "source", NULL };
  static const char *const rule_columns[] = {
    "option", "value", "when", "do", "key", "text", NULL
  };
  g_autoptr (EmitFramework) self = g_new0 (EmitFramework, 1);
  g_autofree char          *about = g_build_filename (folder, "about.yaml", NULL);
  g_autofree char          *options = g_build_filename (folder, "options.csv", NULL);
  g_autofree char          *mapping = g_build_filename (folder, "mapping.csv", NULL);

  self->name = g_path_get_basename (folder);
  self->options = g_ptr_array_new_with_free_func (option_free);
  self->rules = g_ptr_array_new_with_free_func (rule_free);
  self->common = g_ptr_array_new_with_free_func (rule_free);
  return read_about (self, about, diags)
                 && read_table (self, options, option_columns, self->options, read_option, diags)
                 && read_table (self, mapping, rule_columns, self->rules, read_rule, diags)
                 && read_table (self, common, rule_columns, self->common, read_rule, diags)
             ? g_steal_pointer (&self)
             : NULL;
}

void
emit_framework_free (EmitFramework *self)
{
  if (self == NULL)
    return;
  g_free (self->name);
  g_free (self->title);
  g_free (self->format);
  g_free (self->version);
  g_ptr_array_unref (self->options);
  g_ptr_array_unref (self->rules);
  g_ptr_array_unref (self->common);
  g_free (self);
}

/* ---- folders --------------------------------------------------------------------------------- */

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char **
emit_framework_names (void)
{
  g_autofree char      *root = layout_data_file (FOLDER);
  g_autoptr (GDir)      dir = g_dir_open (root, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char           *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *folder = g_build_filename (root, name, NULL);

      if (g_file_test (folder, G_FILE_TEST_IS_DIR))
        g_ptr_array_add (names, g_strdup (name));
    }
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

EmitFramework *
emit_framework_load (const char *name, DiagList *diags)
{
  g_auto (GStrv)   names = emit_framework_names ();
  const gint       at = name_index (name, (const char *const *) names);
  g_autofree char *root = layout_data_file (FOLDER);
  g_autofree char *common = g_build_filename (root, "common.csv", NULL);
  g_autofree char *folder = at >= 0 ? g_build_filename (root, names[at], NULL) : NULL;

  if (at < 0)
    {
      g_autofree char *hint = suggest_hint (name, (const char *const *) names);

      diag_error (diags, NULL, hint, "unknown framework '%s'", name);
      return NULL;
    }
  return emit_framework_load_folder (folder, common, diags);
}
