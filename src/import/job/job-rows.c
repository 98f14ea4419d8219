/* The rows of a framework's reading.csv, applied to a job's settings. */
#include <string.h>

#include "base/config/suggest.h"
#include "import/job/job-private.h"

/* ---- texts ----------------------------------------------------------------------------------- */

/* Length of the name behind a '$': "training.seq_len", "--seq-length". */
static gsize
name_length (const char *text)
{
  return g_str_has_prefix (text, "--")
             ? strspn (text, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "-")
             : strspn (text, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "._");
}

/* The last part of a list. */
static const char *
behind_commas (const char *value)
{
  const char *comma = strrchr (value, ',');

  return comma != NULL ? comma + 1 : value;
}

/*
 * TEXT with what its "$NAME"s stand for; with '=' before it, worked out. NULL: a name stands for
 * nothing. Newly allocated.
 */
static char *
expand (JobReader *self, const char *text, const char *value, const char *rest)
{
  g_autoptr (GString) out = g_string_new (NULL);
  g_autofree char    *first = g_strndup (value, strcspn (value, ","));
  const gboolean      works = *text == '=';

  for (text += works; *text != '\0';)
    {
      const gsize      n = *text == '$' ? name_length (text + 1) : 0;
      g_autofree char *name = g_strndup (text + 1, n);
      const char      *other;

      if (n == 0)
        {
          g_string_append_c (out, *text++);
          continue;
        }
      other = g_str_equal (name, "value")   ? value
              : g_str_equal (name, "first") ? first
              : g_str_equal (name, "last")  ? behind_commas (value)
              : g_str_equal (name, "rest")  ? rest
                                            : job_name (self, name);
      if (other == NULL)
        return NULL;
      g_string_append (out, other);
      text += n + 1;
    }
  return works ? job_work_out (out->str) : g_strdup (out->str);
}

/* ---- rows of reading.csv --------------------------------------------------------------------- */

/*
 * Sets what TEXT lists: "a=b; c=d". A model's file stands in the framework's folder, where there is
 * one of that name.
 */
static void
set_list (JobReader *self, const JobSetting *setting, const char *text, const char *name)
{
  g_auto (GStrv) parts = g_strsplit (text, ";", -1);

  for (guint i = 0; parts[i] != NULL; i++)
    {
      char            *part = g_strstrip (parts[i]);
      char            *equals = strchr (part, '=');
      g_autofree char *file = NULL;

      if (equals == NULL)
        continue;
      *equals = '\0';
      file = framework_model_file (setting->framework, equals + 1);
      job_set (self, part,
               g_str_equal (equals + 1, "$name")                    ? name
               : g_str_equal (part, "model.config") && file != NULL ? file
                                                                    : equals + 1,
               &setting->mark, setting->filled ? JOB_FILLED : JOB_TAKEN);
    }
}

static gboolean
user_has_model (const JobReader *self)
{
  return job_user (self, "model.config") != NULL || job_user (self, "model.arch") != NULL;
}

/* The row of models.csv for NAME, or NULL. */
static const FrameworkModel *
find_model (const Framework *framework, const char *name)
{
  for (guint i = 0; i < framework->models->len; i++)
    {
      const FrameworkModel *model = g_ptr_array_index (framework->models, i);
      const char           *rest;
      g_autofree char      *pattern = g_ascii_strdown (model->name, -1);
      g_autofree char      *word = g_ascii_strdown (name, -1);

      if (framework_pattern_matches (pattern, word, &rest))
        return model;
    }
  return NULL;
}

static JobUse
set_model (JobReader *self, const JobSetting *setting, const char *name)
{
  const FrameworkModel *model = find_model (setting->framework, name);

  if (user_has_model (self))
    {
      if (model != NULL && model->refused)
        diag_warning (self->diags, &setting->mark, model->text,
                      "the model '%s' is not what is predicted: the one that is given is", name);
      job_note (self, JOB_NO_EFFECT, setting, NULL, NULL, "the model is given beside the file");
      return JOB_NO_EFFECT;
    }
  if (model == NULL || model->refused)
    {
      g_autofree char *hint =
          g_strdup_printf ("%s: '--model NAME' or '--arch' gives the shape of one that can",
                           model != NULL ? model->text : "no table knows it");

      self->model_refused = TRUE;
      diag_error (self->diags, &setting->mark, hint, "the model '%s' cannot be predicted", name);
      job_note (self, JOB_NOT_FOLLOWED, setting, NULL, NULL, hint);
      return JOB_NOT_FOLLOWED;
    }
  set_list (self, setting, model->text, name);
  job_note (self, setting->filled ? JOB_FILLED : JOB_TAKEN, setting, "model", model->text, NULL);
  return JOB_TAKEN;
}

static JobUse
ask (JobReader *self, const JobSetting *setting, const FrameworkReading *row, const char *rest)
{
  const char      *given = job_user (self, row->option);
  g_autofree char *text =
      *row->text != '\0' ? expand (self, row->text, setting->value, rest) : NULL;

  if (given != NULL)
    {
      job_note (self, JOB_TAKEN, setting, row->option, given, "given beside the file");
      return JOB_TAKEN;
    }
  if (g_hash_table_lookup (self->values, row->option) != NULL)
    {
      job_note (self, JOB_TAKEN, setting, row->option, NULL, "another key says it");
      return JOB_TAKEN;
    }
  if (text != NULL)
    return job_set_option (self, setting, row->option, text, JOB_ASSUMED);
  job_note (self, JOB_ASSUMED, setting, row->option, NULL, NULL);
  return JOB_ASSUMED;
}

/* What ROW, which is for SETTING, makes of it. */
static JobUse
apply_reading (JobReader *self, const JobSetting *setting, const FrameworkReading *row,
               const char *rest)
{
  const char      *value = setting->value;
  g_autofree char *text = NULL;

  switch (row->action)
    {
    case READING_SET:
      text = expand (self, *row->text != '\0' ? row->text : "$value", value, rest);
      if (text != NULL)
        return job_set_option (self, setting, row->option, text,
                               setting->filled ? JOB_FILLED : JOB_TAKEN);
      if (*row->text == '=' && strspn (value, G_CSET_DIGITS "+-.eE") != strlen (value)
          && strstr (row->text, "$value") != NULL)
        {
          job_refuse (self, setting, "a number is wanted");
          return JOB_NOT_FOLLOWED;
        }
      break;
    case READING_IGNORE:
      if (!setting->filled)
        job_note (self, JOB_NO_EFFECT, setting, NULL, NULL, row->text);
      return JOB_NO_EFFECT;
    case READING_WARN:
      diag_warning (self->diags, &setting->mark, row->text, "'%s: %s' is not predicted",
                    setting->written != NULL ? setting->written : setting->key, value);
      job_note (self, JOB_NOT_FOLLOWED, setting, NULL, NULL, row->text);
      return JOB_NOT_FOLLOWED;
    case READING_REFUSE:
      text = expand (self, row->text, value, rest);
      job_refuse (self, setting, text != NULL ? text : row->text);
      return JOB_NOT_FOLLOWED;
    case READING_ASK:
      return ask (self, setting, row, rest);
    case READING_MODEL:
      text = expand (self, row->text, value, rest);
      if (text != NULL)
        return set_model (self, setting, text);
      break;
    case READING_ALIAS:
    case READING_DEFAULT:
    case READING_FILE:
      break;
    }
  job_note (self, JOB_NO_EFFECT, setting, NULL, NULL, "what it depends on is not known");
  return JOB_NO_EFFECT;
}

/* Rows that are done before settings are read. */
static gboolean
is_early (const FrameworkReading *row)
{
  return row->action == READING_ALIAS || row->action == READING_DEFAULT
         || row->action == READING_FILE;
}

/* Whether ROW is for the key of SETTING; *REST of the key's '*'. */
static gboolean
row_has_key (const FrameworkReading *row, const JobSetting *setting, const char **rest)
{
  return *row->match.name != '\0'
         && framework_pattern_matches (row->match.name, setting->key, rest);
}

/* Whether ROW is for SETTING with its value; *REST: of the value's '*', or of the key's. */
static gboolean
row_matches (JobReader *self, const FrameworkReading *row, const JobSetting *setting, gboolean any,
             const char **rest)
{
  const char *of_key, *of_value = "";

  if (!row_has_key (row, setting, &of_key))
    return FALSE;
  if (g_str_equal (row->match.values[0], "otherwise")
          ? any
          : !framework_values_match (row->match.values, setting->value, &of_value))
    return FALSE;
  *rest = strchr (row->match.name, '*') != NULL ? of_key : of_value;
  return job_conditions_hold (self, row->when, setting->value);
}

/* "profiling.*" is ignored: what the mapping says of one of these keys goes before. */
static gboolean
is_last (const FrameworkReading *row)
{
  return row->action == READING_IGNORE && strchr (row->match.name, '*') != NULL;
}

/*
 * The nearest level of rows that are for SETTING, those that come LAST or the others, as far as the
 * first that says it is of no effect. FALSE: none.
 */
static gboolean
read_by_readings (JobReader *self, JobSetting *setting, gboolean last)
{
  const GPtrArray      *rows = setting->framework->readings;
  g_autoptr (GPtrArray) said = g_ptr_array_new (); /* options: the first row counts */
  gboolean              any = FALSE;
  guint                 level = 0;

  for (guint i = 0; i < rows->len; i++)
    {
      const FrameworkReading *row = g_ptr_array_index (rows, i);
      const char             *rest;
      JobUse                  use;

      if (any && row->level > level)
        break;
      if (is_early (row) || is_last (row) != last || (any && row->action == READING_IGNORE)
          || (*row->option != '\0'
              && g_ptr_array_find_with_equal_func (said, row->option, g_str_equal, NULL))
          || !row_matches (self, row, setting, any, &rest))
        continue;
      use = apply_reading (self, setting, row, rest);
      g_ptr_array_add (said, row->option);
      setting->use = any && setting->use == JOB_TAKEN ? JOB_TAKEN : use;
      any = TRUE;
      level = row->level;
      if (row->action == READING_IGNORE)
        break;
    }
  return any;
}

/* ---- settings -------------------------------------------------------------------------------- */

/* Whether any row is for the key of SETTING, whatever its value. */
static gboolean
is_known (const JobSetting *setting)
{
  const Framework *framework = setting->framework;
  const gint       option = framework_find (framework, setting->key);

  for (guint i = 0; i < framework->readings->len; i++)
    {
      const char *rest;

      if (row_has_key (g_ptr_array_index (framework->readings, i), setting, &rest))
        return TRUE;
    }
  for (guint i = 0; option >= 0 && i < framework->rules->len; i++)
    {
      const FrameworkRule *rule = g_ptr_array_index (framework->rules, i);

      if (rule->action == RULE_SET && rule->option == (guint) option)
        return TRUE;
    }
  return FALSE;
}

/* All keys that FRAMEWORK's rows name. */
static char *
nearest_key (const Framework *framework, const char *key)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();

  for (guint i = 0; i < framework->options->len; i++)
    g_ptr_array_add (names, ((FrameworkOption *) g_ptr_array_index (framework->options, i))->key);
  for (guint i = 0; i < framework->readings->len; i++)
    {
      const FrameworkReading *row = g_ptr_array_index (framework->readings, i);

      if (*row->match.name != '\0' && strchr (row->match.name, '*') == NULL)
        g_ptr_array_add (names, row->match.name);
    }
  g_ptr_array_add (names, NULL);
  return suggest_near (key, (const char *const *) names->pdata);
}

void
job_read_setting (JobReader *self, JobSetting *setting)
{
  if (setting->use != JOB_UNSEEN)
    return;
  setting->use = JOB_IN_WORK;
  if (read_by_readings (self, setting, FALSE) || job_read_by_mapping (self, setting)
      || read_by_readings (self, setting, TRUE))
    return;
  setting->use = JOB_UNKNOWN;
  if (is_known (setting))
    {
      setting->use = JOB_NOT_FOLLOWED;
      job_refuse (self, setting, NULL);
    }
  else
    {
      g_autofree char *hint = self->n_unknown++ < JOB_MOST_HINTS
                                  ? nearest_key (setting->framework, setting->key)
                                  : NULL;

      diag_warning (self->diags, &setting->mark, hint, "no table of %s knows the key '%s'",
                    setting->framework->title,
                    setting->written != NULL ? setting->written : setting->key);
      job_note (self, JOB_UNKNOWN, setting, NULL, NULL, NULL);
    }
}

/* Whether a row that is for the key of SETTING may set NAME. */
static gboolean
may_set (const JobSetting *setting, const char *name)
{
  const Framework *framework = setting->framework;
  const gint       option = framework_find (framework, setting->key);

  for (guint i = 0; i < framework->readings->len; i++)
    {
      const FrameworkReading *row = g_ptr_array_index (framework->readings, i);
      const char             *rest;

      if ((g_str_equal (row->option, name)
           || (row->action == READING_MODEL && g_str_has_prefix (name, "model.")))
          && row_has_key (row, setting, &rest))
        return TRUE;
    }
  for (guint i = 0; option >= 0 && i < framework->rules->len; i++)
    {
      const FrameworkRule *rule = g_ptr_array_index (framework->rules, i);

      if (rule->action == RULE_SET && rule->option == (guint) option
          && (g_str_equal (rule->match.name, name)
              || (*rule->text == '$' && g_str_equal (rule->text + 1, name))))
        return TRUE;
    }
  return FALSE;
}

/* A row without a key: what the framework does whatever the job says. */
static void
apply_always (JobReader *self, const FrameworkReading *row)
{
  const SourceMark place = { .file = self->file };
  g_autofree char *text = NULL;

  if (job_user (self, row->option) != NULL
      || g_hash_table_lookup (self->values, row->option) != NULL
      || !job_conditions_hold (self, row->when, NULL))
    return;
  text = *row->text != '\0' ? expand (self, row->text, "", "") : NULL;
  if (g_hash_table_lookup (self->values, row->option) != NULL) /* what it took asked for it */
    return;
  if (row->action == READING_ASK)
    {
      if (text != NULL)
        job_set (self, row->option, text, &place, JOB_ASSUMED);
      job_note (self, JOB_ASSUMED, NULL, row->option, text, NULL);
    }
  else if (text != NULL)
    {
      job_set (self, row->option, text, &place, JOB_FILLED);
      job_note (self, JOB_FILLED, NULL, row->option, text, NULL);
    }
}

void
job_read_always (JobReader *self, const char *name)
{
  const GPtrArray *rows = self->framework->readings;

  for (guint i = 0; i < rows->len; i++)
    {
      const FrameworkReading *row = g_ptr_array_index (rows, i);

      if (*row->match.name == '\0' && (name == NULL || g_str_equal (row->option, name)))
        apply_always (self, row);
    }
}

void
job_read_for (JobReader *self, const char *name)
{
  for (guint i = 0; i < self->settings->len; i++)
    {
      JobSetting *setting = g_ptr_array_index (self->settings, i);

      if (setting->use == JOB_UNSEEN && may_set (setting, name))
        job_read_setting (self, setting);
    }
  job_read_always (self, name);
}
