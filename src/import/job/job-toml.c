#include "import/job/job-toml.h"

#include <string.h>

#include "base/intern.h"

typedef struct
{
  const char *file;
  char      **lines;
  guint       n_lines;
  GPtrArray  *settings;
} TomlReader;

/* A place of the text; length of its underline: to the end of a word. */
static SourceMark
mark_at (const TomlReader *self, guint line, guint column)
{
  SourceMark mark = { .file = intern_text (self->file), .line = line, .column = column };

  if (line > 0 && line <= self->n_lines)
    mark.text = self->lines[line - 1];
  return mark;
}

static void
add_setting (gpointer user, const char *key, const char *value, guint line, guint column)
{
  TomlReader      *self = user;
  const SourceMark mark = mark_at (self, line, column);

  g_ptr_array_add (self->settings, job_setting_new (key, value, &mark));
}

static gint
compare_places (gconstpointer a, gconstpointer b)
{
  const JobSetting *first = *(const JobSetting *const *) a;
  const JobSetting *second = *(const JobSetting *const *) b;

  if (first->mark.line != second->mark.line)
    return first->mark.line < second->mark.line ? -1 : 1;
  return first->mark.column < second->mark.column   ? -1
         : first->mark.column > second->mark.column ? 1
                                                    : strcmp (first->key, second->key);
}

/* toml++ begins some of its sentences with "Error while parsing". */
static char *
plain_message (const char *message)
{
  char *plain = g_strdup (message);

  for (char *c = plain; *c != '\0'; c++)
    if (*c == '\n' || *c == '\r')
      *c = ' ';
  if (g_ascii_isupper (plain[0]) && g_ascii_islower (plain[1]))
    *plain = g_ascii_tolower (*plain);
  return plain;
}

GPtrArray *
job_toml_read (const char *file, const char *text, DiagList *diags)
{
  g_autoptr (GPtrArray) settings =
      g_ptr_array_new_with_free_func ((GDestroyNotify) job_setting_free);
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);
  TomlReader     self = {
        .file = file, .lines = lines, .n_lines = g_strv_length (lines), .settings = settings
  };
  JobTomlError error = { 0 };

  if (job_toml_parse (text, strlen (text), add_setting, &self, &error))
    {
      g_ptr_array_sort (settings, compare_places);
      return g_steal_pointer (&settings);
    }
  {
    const SourceMark place = mark_at (&self, error.line, error.column);
    const SourceMark mark = source_mark_keep (&place);
    g_autofree char *message = plain_message (error.message);

    diag_error (diags, &mark, NULL, "TOML: %s", message);
  }
  g_free (error.message);
  return NULL;
}
