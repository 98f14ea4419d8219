#include "import/job/job-source.h"

#include <string.h>

#include "base/config/config.h"
#include "base/file/file-roles.h"
#include "base/intern.h"
#include "import/job/job-shell.h"
#include "import/job/job-toml.h"
#include "import/job/job-yaml.h"
#include "import/shell/shell-private.h"

/* ---- syntax ---------------------------------------------------------------------------------- */

typedef enum
{
  SYNTAX_TOML,
  SYNTAX_YAML,
  SYNTAX_SHELL,
} SyntaxId;

static const JobSyntax syntaxes[] = {
  [SYNTAX_TOML] = { "TOML", job_toml_read },
  [SYNTAX_YAML] = { "YAML", job_yaml_read }, /* and JSON */
  [SYNTAX_SHELL] = { "shell", job_shell_read },
};

#define NAME_CHARACTERS G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS "_-.\"'"

static gboolean
is_yaml_name (const char *file)
{
  return g_str_has_suffix (file, ".yaml") || g_str_has_suffix (file, ".yml")
         || g_str_has_suffix (file, ".json");
}

/* What the first line that says something, which begins at LINE, is of. */
static SyntaxId
syntax_of_line (const char *file, const char *line)
{
  const gsize n = strspn (line, NAME_CHARACTERS);
  const char *after = line + n + strspn (line + n, " \t");

  if (*line == '{' || g_str_has_prefix (line, "---") || g_str_has_prefix (line, "- ")
      || *line == '%')
    return SYNTAX_YAML;
  if (*line == '[' && !is_yaml_name (file))
    return SYNTAX_TOML;
  if (n > 0 && *line != '-' && line[n] == ':'
      && (line[n + 1] == '\0' || strchr (" \t\r\n", line[n + 1])))
    return SYNTAX_YAML;
  if (n > 0 && *after == '='
      && (after > line + n || g_str_has_suffix (file, ".toml"))) /* a shell has no blank there */
    return SYNTAX_TOML;
  return is_yaml_name (file)                ? SYNTAX_YAML
         : g_str_has_suffix (file, ".toml") ? SYNTAX_TOML
                                            : SYNTAX_SHELL;
}

const JobSyntax *
job_syntax_of (const char *file, const char *text)
{
  const char *line = text;

  if (g_str_has_prefix (line, "\xef\xbb\xbf")) /* a byte-order mark */
    line += 3;
  if (g_str_has_prefix (line, "#!"))
    return &syntaxes[SYNTAX_SHELL];
  for (;;)
    {
      line += strspn (line, " \t\r\n");
      if (*line != '#')
        break;
      line += strcspn (line, "\n");
    }
  if (*line == '\0')
    return &syntaxes[SYNTAX_YAML]; /* nothing: an empty map */
  return &syntaxes[syntax_of_line (file, line)];
}

/* ---- files ----------------------------------------------------------------------------------- */

gboolean
job_text_is_yaml (const char *file, const char *text)
{
  return job_syntax_of (file, text) == &syntaxes[SYNTAX_YAML];
}

/* Whether a part of the key looks like a secret's name; numbers and switches are none. */
static gboolean
is_secret (const JobSetting *setting)
{
  const char    *value = setting->value;
  g_auto (GStrv) parts = g_strsplit (setting->key, ".", -1);

  if (value == NULL || value[strspn (value, "0123456789.-")] == '\0'
      || g_ascii_strcasecmp (value, "true") == 0 || g_ascii_strcasecmp (value, "false") == 0)
    return FALSE;
  for (guint i = 0; parts[i] != NULL; i++)
    if (shell_name_is_secret (parts[i]))
      return TRUE;
  return FALSE;
}

/* A secret's value is none of ours, and no message shows a line that has one. */
static void
hide_secrets (GPtrArray *settings)
{
  g_autoptr (GHashTable) lines = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < settings->len; i++)
    {
      JobSetting *setting = g_ptr_array_index (settings, i);

      if (!is_secret (setting))
        continue;
      g_free (setting->value);
      setting->value = g_strdup ("...");
      g_hash_table_add (lines, GUINT_TO_POINTER (setting->mark.line));
    }
  for (guint i = 0; i < settings->len; i++)
    {
      JobSetting *setting = g_ptr_array_index (settings, i);

      if (g_hash_table_contains (lines, GUINT_TO_POINTER (setting->mark.line)))
        setting->mark.text = NULL;
    }
}

/* Of a line that is cut, the name may be in the part that is left out. */
static gboolean
may_show_secret (const char *excerpt)
{
  return shell_line_may_hold_secret (excerpt)
         || (g_str_has_prefix (excerpt, "...")
             && strpbrk (excerpt, G_CSET_a_2_z G_CSET_A_2_Z G_CSET_DIGITS) != NULL);
}

JobSource *
job_source_new (const char *file, const char *text, DiagList *diags)
{
  g_autoptr (DiagList) said = diag_list_new ();
  GPtrArray           *settings = job_syntax_of (file, text)->read (file, text, said);
  JobSource           *self;

  diag_list_hide_lines (said, may_show_secret);
  diag_list_append (diags, said);
  if (settings == NULL)
    return NULL;
  hide_secrets (settings);
  self = g_new0 (JobSource, 1);
  self->file = g_strdup (file);
  self->settings = settings;
  return self;
}

char *
job_text_read (const char *file, DiagList *diags)
{
  int                    error;
  g_autoptr (GByteArray) bytes = config_read_file (file, &error);
  const SourceMark       whole = { .file = intern_text (file) };
  const guint8          *zero;

  if (bytes == NULL)
    diag_error (diags, NULL, NULL, "cannot read '%s': %s", file, file_roles_why (error));
  else if (bytes->len > CONFIG_MAX_BYTES)
    diag_error (diags, &whole, NULL, "larger than %u MiB", CONFIG_MAX_BYTES >> 20);
  else if ((zero = bytes->len > 0 ? memchr (bytes->data, '\0', bytes->len) : NULL) != NULL)
    diag_error (diags, &whole, NULL, "not a text file: byte 0x00 at offset %zu",
                (gsize) (zero - bytes->data));
  else
    {
      g_byte_array_append (bytes, (const guint8 *) "", 1);
      return (char *) g_byte_array_free (g_steal_pointer (&bytes), FALSE);
    }
  return NULL;
}

void
job_source_free (JobSource *self)
{
  g_free (self->file);
  g_ptr_array_unref (self->settings);
  g_free (self);
}
