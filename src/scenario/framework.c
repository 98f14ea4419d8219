#include "scenario/framework.h"

#include <string.h>

#include "base/compare.h"
#include "base/config/config.h"

#define FOLDER "frameworks"

/* ---- options --------------------------------------------------------------------------------- */

static void
option_free (gpointer data)
{
  FrameworkOption *self = data;

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
framework_option_accepts (const FrameworkOption *option, const char *text)
{
  switch (option->type)
    {
    case FRAMEWORK_INT:
      return is_number (text, TRUE);
    case FRAMEWORK_FLOAT:
      return is_number (text, FALSE);
    case FRAMEWORK_BOOL:
      return g_str_equal (text, "true") || g_str_equal (text, "false");
    case FRAMEWORK_FLAG:
      return g_str_equal (text, "true");
    case FRAMEWORK_STRING:
    case FRAMEWORK_WORDS:
      break;
    }
  return option->values == NULL || g_strv_contains ((const char *const *) option->values, text);
}

gint
framework_find (const Framework *self, const char *key)
{
  for (guint i = 0; i < self->options->len; i++)
    if (g_str_equal (((const FrameworkOption *) g_ptr_array_index (self->options, i))->key, key))
      return (gint) i;
  return -1;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static void
match_clear (FrameworkMatch *self)
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
  FrameworkRule *self = data;

  match_clear (&self->match);
  g_ptr_array_unref (self->when);
  g_free (self->text);
  g_free (self);
}

/* "name=value|value; ..." */
static void
read_conditions (GPtrArray *when, const char *text, const SourceMark *mark, DiagList *diags)
{
  g_auto (GStrv) parts = g_strsplit (text, ";", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      char           *part = g_strstrip (parts[i]);
      char           *equals = strchr (part, '=');
      FrameworkMatch *match;

      if (*part == '\0')
        continue;
      if (equals == NULL)
        {
          diag_error (diags, mark, NULL, "expected 'name=values', got '%s'", part);
          continue;
        }
      match = g_new0 (FrameworkMatch, 1);
      match->name = g_strndup (part, (gsize) (equals - part));
      match->values = g_strsplit (equals + 1, "|", -1);
      g_ptr_array_add (when, match);
    }
}

static void
reading_free (gpointer data)
{
  FrameworkReading *self = data;

  match_clear (&self->match);
  g_ptr_array_unref (self->when);
  g_free (self->option);
  g_free (self->text);
  g_free (self);
}

static void
model_free (gpointer data)
{
  FrameworkModel *self = data;

  g_free (self->name);
  g_free (self->text);
  g_free (self);
}

gboolean
framework_pattern_matches (const char *pattern, const char *text, const char **rest)
{
  const char *star = strchr (pattern, '*');
  const gsize n = star != NULL ? (gsize) (star - pattern) : 0;

  *rest = "";
  if (*pattern == '>')
    return g_ascii_strtod (text, NULL) > g_ascii_strtod (pattern + 1, NULL);
  if (*pattern == '<')
    return g_ascii_strtod (text, NULL) < g_ascii_strtod (pattern + 1, NULL);
  if (star == NULL)
    return g_ascii_strcasecmp (pattern, text) == 0;
  if (star == pattern && g_str_has_suffix (star + 1, "*"))
    {
      g_autofree char *part = g_strndup (star + 1, strcspn (star + 1, "*"));

      return strstr (text, part) != NULL;
    }
  *rest = text + MIN (n, strlen (text));
  return strncmp (pattern, text, n) == 0 && g_str_has_suffix (*rest, star + 1);
}

gboolean
framework_values_match (char *const *values, const char *text, const char **rest)
{
  for (; *values != NULL; values++)
    if (framework_pattern_matches (*values, text, rest))
      return TRUE;
  return FALSE;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* What reads one table: a row's fields, in the order of its columns. */
typedef void (*ReadRow) (Framework *self, GPtrArray *rows, const char *const *fields,
                         const SourceMark *mark, DiagList *diags);

static void
read_option (Framework *self, GPtrArray *rows, const char *const *fields, const SourceMark *mark,
             DiagList *diags)
{
  static const char *const types[] = { "int", "float", "bool", "string", "words", "flag", NULL };
  const gint               type = name_index (fields[1], types);
  FrameworkOption         *option;

  (void) self;
  if (type < 0)
    {
      g_autofree char *hint = suggest_hint (fields[1], types);

      diag_error (diags, mark, hint, "unknown type '%s'", fields[1]);
      return;
    }
  option = g_new0 (FrameworkOption, 1);
  option->key = g_strdup (fields[0]);
  option->type = (FrameworkType) type;
  option->values = *fields[2] != '\0' ? g_strsplit (fields[2], "|", -1) : NULL;
  g_ptr_array_add (rows, option);
}

static void
read_rule (Framework *self, GPtrArray *rows, const char *const *fields, const SourceMark *mark,
           DiagList *diags)
{
  static const char *const actions[] = { "set", "skip", "note", "refuse", NULL };
  const gint               action = name_index (fields[3], actions);
  const gint               option = *fields[4] != '\0' ? framework_find (self, fields[4]) : -1;
  FrameworkRule           *rule;

  if (action < 0 || (action == RULE_SET) != (option >= 0))
    {
      diag_error (diags, mark, NULL, "'%s' of '%s' does not go with the key '%s'", fields[3],
                  fields[0], fields[4]);
      return;
    }
  rule = g_new0 (FrameworkRule, 1);
  rule->mark = source_mark_keep (mark);
  rule->match.name = g_strdup (fields[0]);
  rule->match.values = g_strsplit (*fields[1] != '\0' ? fields[1] : "*", "|", -1);
  rule->when = g_ptr_array_new_with_free_func (match_free);
  rule->action = (FrameworkAction) action;
  rule->option = (guint) MAX (option, 0);
  rule->text = g_strdup (fields[5]);
  read_conditions (rule->when, fields[2], mark, diags);
  g_ptr_array_add (rows, rule);
}

/* What the framework reads of a job: READING_*, in the words of reading.csv. */
static void
read_reading (Framework *self, GPtrArray *rows, const char *const *fields, const SourceMark *mark,
              DiagList *diags)
{
  static const char *const actions[] = { "alias",  "default", "set",   "ignore", "warn",
                                         "refuse", "ask",     "model", "file",   NULL };
  const gint               action = name_index (fields[3], actions);
  FrameworkReading        *reading;

  (void) self;
  if (action < 0 || (*fields[4] == '\0' && (action == READING_SET || action == READING_ASK)))
    {
      diag_error (diags, mark, NULL, "'%s' of the key '%s' is no reading of a job's key", fields[3],
                  fields[0]);
      return;
    }
  reading = g_new0 (FrameworkReading, 1);
  reading->mark = source_mark_keep (mark);
  reading->match.name = g_strdup (fields[0]);
  reading->match.values = g_strsplit (*fields[1] != '\0' ? fields[1] : "*", "|", -1);
  reading->when = g_ptr_array_new_with_free_func (match_free);
  reading->action = (ReadingAction) action;
  reading->option = g_strdup (fields[4]);
  reading->text = g_strdup (fields[5]);
  read_conditions (reading->when, fields[2], mark, diags);
  g_ptr_array_add (rows, reading);
}

static void
read_model (Framework *self, GPtrArray *rows, const char *const *fields, const SourceMark *mark,
            DiagList *diags)
{
  static const char *const actions[] = { "set", "refuse", NULL };
  const gint               action = name_index (fields[1], actions);
  FrameworkModel          *model;

  (void) self;
  if (action < 0)
    {
      diag_error (diags, mark, NULL, "expected 'set' or 'refuse', got '%s'", fields[1]);
      return;
    }
  model = g_new0 (FrameworkModel, 1);
  model->name = g_strdup (fields[0]);
  model->refused = action == 1;
  model->text = g_strdup (fields[2]);
  g_ptr_array_add (rows, model);
}

/* COLUMNS: at most 6 names, NULL-terminated. FALSE after diagnostics. */
static gboolean
read_table (Framework *self, const char *file, const char *const *columns, GPtrArray *rows,
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

/* The texts of the list KEY of ABOUT, or of the one text there; none where it is not there. */
static char **
about_list (const ConfigNode *about, const char *key)
{
  const ConfigNode     *node = config_node_get (about, key);
  g_autoptr (GPtrArray) all = g_ptr_array_new ();

  if (node != NULL && config_node_kind (node) == CONFIG_SCALAR)
    g_ptr_array_add (all, g_strdup (config_node_text (node)));
  for (guint i = 0;
       node != NULL && config_node_kind (node) == CONFIG_LIST && i < config_node_length (node); i++)
    if (config_node_kind (config_node_item (node, i)) == CONFIG_SCALAR)
      g_ptr_array_add (all, g_strdup (config_node_text (config_node_item (node, i))));
  g_ptr_array_add (all, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&all), FALSE);
}

/* *LIKE: the frameworks whose readings follow this one's; *MODELS: whose models do. */
static gboolean
read_about (Framework *self, const char *file, char ***like, char ***models, DiagList *diags)
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
  self->detect = about_list (doc != NULL ? config_doc_root (doc) : NULL, "detect");
  *like = about_list (doc != NULL ? config_doc_root (doc) : NULL, "like");
  *models = about_list (doc != NULL ? config_doc_root (doc) : NULL, "models");
  return good;
}

static const char *const option_columns[] = { "key", "type", "values", "source", NULL };
static const char *const rule_columns[] = { "option", "value", "when", "do", "key", "text", NULL };
static const char *const reading_columns[] = {
  "key", "value", "when", "do", "option", "text", NULL
};
static const char *const model_columns[] = { "name", "do", "text", NULL };

/* read_table of FOLDER's NAME, which need not be there. */
static gboolean
read_optional (Framework *self, const char *folder, const char *name, const char *const *columns,
               GPtrArray *rows, ReadRow read, DiagList *diags)
{
  g_autofree char *file = g_build_filename (folder, name, NULL);

  return !g_file_test (file, G_FILE_TEST_EXISTS)
         || read_table (self, file, columns, rows, read, diags);
}

/* The models of the frameworks NAMES, beside FOLDER, behind those that SELF has. */
static gboolean
read_models (Framework *self, const char *folder, char *const *names, DiagList *diags)
{
  g_autofree char *root = g_path_get_dirname (folder);
  gboolean         good = TRUE;

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *other = g_build_filename (root, names[i], NULL);

      good &=
          read_optional (self, other, "models.csv", model_columns, self->models, read_model, diags);
    }
  return good;
}

/* The readings of the frameworks LIKE, beside FOLDER, behind those that SELF has. */
static gboolean
read_likes (Framework *self, const char *folder, char *const *like, DiagList *diags)
{
  g_autofree char *root = g_path_get_dirname (folder);
  gboolean         good = TRUE;

  for (guint l = 0; like[l] != NULL; l++)
    {
      g_autofree char *other = g_build_filename (root, like[l], NULL);
      const guint      first = self->readings->len;

      good &= read_optional (self, other, "reading.csv", reading_columns, self->readings,
                             read_reading, diags);
      for (guint i = first; i < self->readings->len; i++)
        ((FrameworkReading *) g_ptr_array_index (self->readings, i))->level = l + 1;
    }
  return good;
}

Framework *
framework_load_folder (const char *folder, const char *common, DiagList *diags)
{
  g_autoptr (Framework) self = g_new0 (Framework, 1);
  g_autofree char      *about = g_build_filename (folder, "about.yaml", NULL);
  g_autofree char      *mapping = g_build_filename (folder, "mapping.csv", NULL);
  g_auto (GStrv)        like = NULL;
  g_auto (GStrv)        models = NULL;

  self->name = g_path_get_basename (folder);
  self->options = g_ptr_array_new_with_free_func (option_free);
  self->rules = g_ptr_array_new_with_free_func (rule_free);
  self->common = g_ptr_array_new_with_free_func (rule_free);
  self->readings = g_ptr_array_new_with_free_func (reading_free);
  self->models = g_ptr_array_new_with_free_func (model_free);
  self->emits = g_file_test (mapping, G_FILE_TEST_EXISTS);
  return read_about (self, about, &like, &models, diags)
                 && read_optional (self, folder, "options.csv", option_columns, self->options,
                                   read_option, diags)
                 && (!self->emits
                     || (read_table (self, mapping, rule_columns, self->rules, read_rule, diags)
                         && read_table (self, common, rule_columns, self->common, read_rule,
                                        diags)))
                 && read_optional (self, folder, "reading.csv", reading_columns, self->readings,
                                   read_reading, diags)
                 && read_optional (self, folder, "models.csv", model_columns, self->models,
                                   read_model, diags)
                 && read_likes (self, folder, like, diags)
                 && read_models (self, folder, like, diags)
                 && read_models (self, folder, models, diags)
             ? g_steal_pointer (&self)
             : NULL;
}

void
framework_free (Framework *self)
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
  g_ptr_array_unref (self->readings);
  g_ptr_array_unref (self->models);
  g_strfreev (self->detect);
  g_free (self);
}

/* ---- folders --------------------------------------------------------------------------------- */

char **
framework_names (gboolean emit)
{
  g_autofree char      *root = layout_data_file (FOLDER);
  g_autoptr (GDir)      dir = g_dir_open (root, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char           *name;

  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *file =
          g_build_filename (root, name, emit ? "mapping.csv" : "about.yaml", NULL);

      if (g_file_test (file, G_FILE_TEST_EXISTS))
        g_ptr_array_add (names, g_strdup (name));
    }
  g_ptr_array_sort (names, compare_texts);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

Framework *
framework_load (const char *name, DiagList *diags)
{
  g_auto (GStrv)   names = framework_names (FALSE);
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
  return framework_load_folder (folder, common, diags);
}

GPtrArray *
framework_load_all (gboolean emit, DiagList *diags)
{
  GPtrArray     *all = g_ptr_array_new_with_free_func ((GDestroyNotify) framework_free);
  g_auto (GStrv) names = framework_names (emit);

  for (guint i = 0; names[i] != NULL; i++)
    {
      Framework *framework = framework_load (names[i], diags);

      if (framework != NULL)
        g_ptr_array_add (all, framework);
    }
  return all;
}

char *
framework_model_file (const Framework *self, const char *name)
{
  g_autofree char *root = layout_data_file (FOLDER);
  g_autofree char *file = g_build_filename (root, self->name, "models", name, NULL);

  return g_file_test (file, G_FILE_TEST_IS_REGULAR) ? g_steal_pointer (&file) : NULL;
}
