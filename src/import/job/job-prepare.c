/* A job's settings before they are read: names of today, files that they name, what is left out. */
#include <string.h>

#include "base/intern.h"
#include "import/job/job-private.h"

#define MOST_FOLDERS 6 /* that a file is looked for in, from the job's upwards */
#define MOST_ALIASES 4 /* of one key, one after the other */

static const Framework *
find_framework (const JobReader *self, const char *name)
{
  for (guint i = 0; i < self->frameworks->len; i++)
    {
      const Framework *framework = g_ptr_array_index (self->frameworks, i);

      if (g_str_equal (framework->name, name))
        return framework;
    }
  return NULL;
}

/* ---- aliases --------------------------------------------------------------------------------- */

/* The row that has a newer name for SETTING, or NULL; *REST of its '*'. */
static const FrameworkReading *
find_alias (JobReader *self, const JobSetting *setting, const char **rest)
{
  const GPtrArray *rows = setting->framework->readings;

  for (guint i = 0; i < rows->len; i++)
    {
      const FrameworkReading *row = g_ptr_array_index (rows, i);
      const char             *of_value;

      if (row->action == READING_ALIAS && *row->match.name != '\0'
          && framework_pattern_matches (row->match.name, setting->key, rest)
          && framework_values_match (row->match.values, setting->value, &of_value)
          && job_conditions_hold (self, row->when, setting->value))
        return row;
    }
  return NULL;
}

/*
 * TEXT with REST in the place of "$rest", or of "$dashed" with '-' for its '_'; its "NAME/" makes
 * SETTING one of that framework. Newly allocated.
 */
static char *
newer_name (JobReader *self, JobSetting *setting, const char *text, const char *rest)
{
  const char      *slash = strchr (text, '/');
  g_autofree char *name = slash != NULL ? g_strndup (text, (gsize) (slash - text)) : NULL;
  const Framework *other = name != NULL ? find_framework (self, name) : NULL;
  g_autofree char *dashed = g_strdelimit (g_strdup (rest), "_", '-');
  const char      *dollar;

  if (other != NULL)
    {
      setting->framework = other;
      text = slash + 1;
    }
  dollar = strchr (text, '$');
  if (dollar == NULL
      || (!g_str_has_prefix (dollar, "$rest") && !g_str_has_prefix (dollar, "$dashed")))
    return g_strdup (text);
  return g_strdup_printf ("%.*s%s%s", (int) (dollar - text), text, dollar[1] == 'r' ? rest : dashed,
                          dollar + strlen (dollar[1] == 'r' ? "$rest" : "$dashed"));
}

static void
rename_setting (JobReader *self, JobSetting *setting)
{
  const FrameworkReading *row;
  const char             *rest;

  for (guint n = 0; n < MOST_ALIASES && (row = find_alias (self, setting, &rest)) != NULL; n++)
    {
      char *key = newer_name (self, setting, row->text, rest);

      if (g_hash_table_lookup (self->by_key, setting->key) == setting)
        g_hash_table_remove (self->by_key, setting->key);
      if (setting->written == NULL)
        setting->written = setting->key;
      else
        g_free (setting->key);
      setting->key = key;
      if (g_hash_table_lookup (self->by_key, key) == NULL)
        g_hash_table_insert (self->by_key, setting->key, setting);
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Where NAME lies beside the job's file or in a folder above it; NULL: nowhere. Newly allocated. */
static char *
find_beside (const char *file, const char *name)
{
  g_autofree char *folder = g_path_get_dirname (file);

  if (g_path_is_absolute (name))
    return g_file_test (name, G_FILE_TEST_IS_REGULAR) ? g_strdup (name) : NULL;
  for (guint i = 0; i < MOST_FOLDERS; i++)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);
      char            *above = g_path_get_dirname (folder);

      g_free (folder);
      folder = above;
      if (g_file_test (path, G_FILE_TEST_IS_REGULAR))
        return g_steal_pointer (&path);
    }
  return NULL;
}

static void
add_setting (JobReader *self, JobSetting *setting, const Framework *framework)
{
  setting->framework = framework;
  g_ptr_array_add (self->settings, setting);
  if (g_hash_table_lookup (self->by_key, setting->key) == NULL)
    g_hash_table_insert (self->by_key, setting->key, setting);
}

/* The settings of the file that SETTING names, as FRAMEWORK's, their keys behind PREFIX. */
static void
read_file (JobReader *self, JobSetting *setting, const Framework *framework, const char *prefix)
{
  g_autofree char      *path = find_beside (self->file, setting->value), *text = NULL;
  g_autoptr (JobSource) source = NULL;

  if (path == NULL)
    {
      g_autofree char *fact = g_strdup_printf ("fact.missing.%s", setting->key);

      job_set (self, fact, "true", &setting->mark, JOB_TAKEN);
      return;
    }
  text = job_text_read (path, self->diags);
  source = text != NULL ? job_source_new (path, text, self->diags) : NULL;
  setting->use = JOB_TAKEN;
  job_note (self, JOB_TAKEN, setting, NULL, NULL, "its settings are read as well");
  if (source == NULL || source->settings->len + self->settings->len > JOB_MOST_SETTINGS)
    return;
  for (guint i = 0; i < source->settings->len; i++)
    {
      JobSetting      *from = g_ptr_array_index (source->settings, i);
      g_autofree char *key = g_strconcat (prefix, from->key, NULL);

      if (from->value != NULL)
        add_setting (self, job_setting_new (key, from->value, &from->mark), framework);
    }
}

/*
 * What row ROW says of SETTING, which is beside it or, as a map, below its key. A row that names no
 * framework reads the file as that map.
 */
static void
read_part (JobReader *self, JobSetting *setting, const FrameworkReading *row)
{
  const Framework *framework = find_framework (self, row->text);
  const gsize      n = strlen (row->match.name);

  if (*row->text == '\0' && g_str_equal (setting->key, row->match.name))
    {
      g_autofree char *prefix = g_strconcat (setting->key, ".", NULL);

      read_file (self, setting, setting->framework, prefix);
      return;
    }
  if (framework == NULL || setting->framework == framework)
    return;
  if (g_str_equal (setting->key, row->match.name))
    {
      read_file (self, setting, framework, "");
      return;
    }
  if (strncmp (setting->key, row->match.name, n) != 0 || setting->key[n] != '.')
    return;
  if (g_hash_table_lookup (self->by_key, setting->key) == setting)
    g_hash_table_remove (self->by_key, setting->key);
  setting->written = setting->key;
  setting->key = g_strdup (setting->written + n + 1);
  setting->framework = framework;
  if (g_hash_table_lookup (self->by_key, setting->key) == NULL)
    g_hash_table_insert (self->by_key, setting->key, setting);
}

/* ---- defaults -------------------------------------------------------------------------------- */

static void
fill (JobReader *self, const Framework *framework)
{
  const SourceMark place = { .file = self->file };

  for (guint i = 0; i < framework->readings->len; i++)
    {
      const FrameworkReading *row = g_ptr_array_index (framework->readings, i);
      JobSetting             *setting;

      if (row->action != READING_DEFAULT || job_key (self, row->match.name) != NULL
          || !job_conditions_hold (self, row->when, NULL))
        continue;
      setting = job_setting_new (row->match.name, row->text, &place);
      setting->filled = TRUE;
      add_setting (self, setting, framework);
    }
}

void
job_prepare (JobReader *self)
{
  const guint n = self->settings->len;

  for (guint i = 0; i < self->settings->len; i++)
    rename_setting (self, g_ptr_array_index (self->settings, i));
  for (guint i = 0; i < n; i++)
    {
      JobSetting      *setting = g_ptr_array_index (self->settings, i);
      const GPtrArray *rows = setting->framework->readings;

      for (guint r = 0; r < rows->len; r++)
        if (((FrameworkReading *) g_ptr_array_index (rows, r))->action == READING_FILE)
          read_part (self, setting, g_ptr_array_index (rows, r));
    }
  for (guint i = 0; i < self->settings->len; i++)
    {
      JobSetting *setting = g_ptr_array_index (self->settings, i);

      if (i >= n || setting->framework != self->framework)
        rename_setting (self, setting);
    }
  fill (self, self->framework);
  for (guint f = 0; f < self->frameworks->len; f++)
    {
      const Framework *other = g_ptr_array_index (self->frameworks, f);
      gboolean         any = FALSE;

      for (guint i = 0; other != self->framework && !any && i < self->settings->len; i++)
        any = ((JobSetting *) g_ptr_array_index (self->settings, i))->framework == other;
      if (any)
        fill (self, other);
    }
}
