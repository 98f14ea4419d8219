/* A script's settings: arguments of the command that trains, and variables that it leaves. */
#include "import/job/job-shell.h"

#include <string.h>

#include "import/shell/shell-private.h"

/* ---- the shell ------------------------------------------------------------------------------- */

static void
variable_free (gpointer data)
{
  ShellVariable *self = data;

  g_ptr_array_unref (self->values);
  g_ptr_array_unref (self->keys);
  g_free (self->name);
  g_free (self);
}

static GPtrArray *
texts_new (void)
{
  return g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free);
}

static const ShellCalls calls = { shell_expand_parameter, shell_substitute, shell_run_command };

static Shell *
shell_new (const char *file, gsize length, DiagList *diags)
{
  Shell *self = g_new0 (Shell, 1);

  self->calls = &calls;
  self->diags = diags;
  self->folder = g_path_get_dirname (file);
  self->sources = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_source_free);
  self->variables = g_hash_table_new (g_str_hash, g_str_equal);
  self->order = g_ptr_array_new_with_free_func (variable_free);
  self->old = texts_new ();
  self->functions = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, g_free);
  self->positional = texts_new ();
  self->commands = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_command_free);
  self->launch =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, (GDestroyNotify) shell_text_free);
  self->budget = SHELL_BUDGET + 2 * length;
  return self;
}

static void
shell_free (Shell *self)
{
  g_free (self->folder);
  g_hash_table_unref (self->variables);
  g_hash_table_unref (self->functions);
  g_hash_table_unref (self->launch);
  g_ptr_array_unref (self->order);
  g_ptr_array_unref (self->old);
  g_ptr_array_unref (self->positional);
  g_ptr_array_unref (self->commands);
  g_ptr_array_unref (self->sources);
  g_free (self);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Shell, shell_free)

/* "#SBATCH --nodes=4": what is said to the batch system. */
static void
read_directives (Shell *shell, const ShellSource *source)
{
  static const char word[] = "#SBATCH";

  for (gsize i = 0; i < source->lines->len; i++)
    {
      const gsize           from = g_array_index (source->lines, gsize, i);
      g_autoptr (GPtrArray) fields = texts_new ();
      gsize                 at = from + strlen (word), end;

      if (!shell_at (source, from, word))
        continue;
      for (;; at = end)
        {
          ShellText *field;

          at += strspn (source->text + at, " \t");
          end = at + strcspn (source->text + at, " \t\r\n");
          if (end == at)
            break;
          field = shell_text_new ();
          for (gsize k = at; k < end; k++)
            shell_text_append (shell, field, source->text[k], (ShellPlace){ source, k });
          g_ptr_array_add (fields, field);
        }
      shell_note_launcher (shell, fields, fields->len);
    }
}

/* ---- settings -------------------------------------------------------------------------------- */

typedef struct
{
  GPtrArray  *settings; /* JobSetting* */
  GHashTable *keys;     /* key: index + 1 */
} Writer;

/* A key that comes again replaces the first, as the last one counts. */
static void
add_setting (Writer *self, const char *key, const char *value, ShellPlace place)
{
  const SourceMark mark = shell_place_mark (place, (guint) strlen (key));
  const guint      known = GPOINTER_TO_UINT (g_hash_table_lookup (self->keys, key));
  JobSetting      *setting;

  if (shell_name_is_secret (key))
    return;
  setting = job_setting_new (key, value, &mark);
  if (known > 0)
    {
      job_setting_free (self->settings->pdata[known - 1]);
      self->settings->pdata[known - 1] = setting;
      return;
    }
  g_ptr_array_add (self->settings, setting);
  g_hash_table_insert (self->keys, g_strdup (key), GUINT_TO_POINTER (self->settings->len));
}

static gboolean
is_option (const char *text)
{
  return text[0] == '-' && (g_ascii_isalpha (text[1]) || (text[1] == '-' && text[2] != '\0'));
}

/* Length of the key of "model.seq_len=2048", with "+" before it; 0: it is no override. */
static gsize
override_key (const char *text)
{
  const gsize signs = strspn (text, "+~");
  gsize       n = signs;

  if (!g_ascii_isalpha (text[n]) && text[n] != '_')
    return 0;
  while (g_ascii_isalnum (text[n]) || (text[n] != '\0' && strchr ("._-@/", text[n]) != NULL))
    n++;
  return text[n] == '=' ? n : 0;
}

static const char *
chars (const GPtrArray *fields, guint i)
{
  return ((const ShellText *) fields->pdata[i])->chars->str;
}

static void
add_override (Writer *self, const ShellText *field, gsize n)
{
  g_autofree char *spelled = shell_text_spell (field);
  const gsize      signs = strspn (spelled, "+~");
  g_autofree char *key = g_strndup (spelled + signs, n - signs);

  add_setting (self, key, spelled + n + 1, shell_text_place (field, signs));
}

/* Whether a word is a variable that is not set, and nothing else. */
static gboolean
is_unset (const ShellText *field)
{
  const char *text = field->chars->str;

  return text[0] == SHELL_UNKNOWN && text[1] == '$' && text[2] != '('
         && text[strcspn (text, "\002")] != '\0' && text[strcspn (text, "\002") + 1] == '\0';
}

/* The option at I and the words up to the next; returns what is behind them. */
static guint
add_option (Writer *self, const GPtrArray *fields, guint i)
{
  const ShellText    *field = fields->pdata[i];
  const ShellPlace    place = shell_text_place (field, 0);
  g_autofree char    *option = shell_text_spell (field);
  char               *equal = strchr (option, '=');
  g_autoptr (GString) value = g_string_new (equal == NULL ? NULL : equal + 1);

  if (equal != NULL)
    *equal = '\0';
  for (i++; equal == NULL && i < fields->len && !is_option (chars (fields, i)); i++)
    {
      g_autofree char *part = shell_text_spell (fields->pdata[i]);
      const gsize      key = override_key (chars (fields, i));

      if (key > 0 && memchr (part, '.', key) != NULL)
        break;
      if (value->len > 0 && is_unset (fields->pdata[i]))
        continue; /* options that a variable may hold: none, as in bash */
      g_string_append_printf (value, "%s%s", value->len > 0 ? "," : "", part);
    }
  add_setting (self, option, value->len > 0 ? value->str : "true", place);
  return i;
}

static void
add_arguments (Writer *self, const GPtrArray *fields, guint from)
{
  for (guint i = from; i < fields->len;)
    {
      const gsize key = override_key (chars (fields, i));

      if (is_option (chars (fields, i)))
        i = add_option (self, fields, i);
      else
        {
          if (key > 0)
            add_override (self, fields->pdata[i], key);
          i++;
        }
    }
}

static void
add_variable (Writer *self, const ShellVariable *variable)
{
  g_autofree char *key = g_strconcat ("$", variable->name, NULL);
  g_autofree char *value = NULL;

  if (variable->values->len != 1 || variable->is_array)
    return;
  value = shell_text_spell (variable->values->pdata[0]);
  add_setting (self, key, value, variable->place);
}

static void
add_launch (Writer *self, const Shell *shell)
{
  static const char *const keys[] = { "--nnodes", "--nproc-per-node" };

  for (guint i = 0; i < G_N_ELEMENTS (keys); i++)
    {
      const ShellText *value = g_hash_table_lookup (shell->launch, keys[i]);
      g_autofree char *spelled = value == NULL ? NULL : shell_text_spell (value);

      if (value != NULL)
        add_setting (self, keys[i], spelled, shell_text_place (value, 0));
    }
}

/* ---- without a command ----------------------------------------------------------------------- */

/* Fields of a variable that holds arguments ("--num-layers 12 ..."); NULL: it does not. */
static GPtrArray *
held_arguments (Shell *shell, const ShellVariable *variable)
{
  g_autoptr (GPtrArray) fields = texts_new ();
  ShellExpander         expander = { shell, TRUE, FALSE, fields, NULL };

  for (guint i = 0; i < variable->values->len; i++)
    {
      shell_expander_add_text (&expander, variable->values->pdata[i], FALSE);
      shell_expander_end_field (&expander);
    }
  for (guint i = 0; i < fields->len; i++)
    if (g_str_has_prefix (chars (fields, i), "--"))
      return g_steal_pointer (&fields);
  return NULL;
}

/* Variables that hold arguments and that no other one took up. */
static void
add_held (Writer *self, Shell *shell)
{
  for (guint i = 0; i < shell->order->len && !shell->failed; i++)
    {
      ShellVariable        *variable = shell->order->pdata[i];
      g_autoptr (GPtrArray) fields = NULL;

      if (!variable->set || variable->read || shell_name_is_secret (variable->name))
        continue;
      fields = held_arguments (shell, variable);
      if (fields == NULL)
        continue;
      variable->read = TRUE;
      add_arguments (self, fields, 0);
    }
}

/* The command with the most arguments, the last of several. */
static const ShellCommand *
training_command (const Shell *shell)
{
  const ShellCommand *best;
  guint               rivals = 0;

  if (shell->commands->len == 0)
    return NULL;
  best = shell->commands->pdata[0];
  for (guint i = 1; i < shell->commands->len; i++)
    {
      const ShellCommand *command = shell->commands->pdata[i];

      if (command->n_arguments >= best->n_arguments)
        best = command;
    }
  for (guint i = 0; i < shell->commands->len; i++)
    rivals +=
        2 * ((const ShellCommand *) shell->commands->pdata[i])->n_arguments > best->n_arguments;
  if (rivals > 1)
    {
      const SourceMark mark = shell_place_mark (shell_text_place (best->fields->pdata[0], 0), 1);

      diag_warning (shell->diags, &mark, NULL, "of %u commands that may train this one is read",
                    rivals);
    }
  return best;
}

GPtrArray *
job_shell_read (const char *file, const char *text, DiagList *diags)
{
  g_autoptr (Shell)     shell = shell_new (file, strlen (text), diags);
  g_autoptr (GPtrArray) settings =
      g_ptr_array_new_with_free_func ((GDestroyNotify) job_setting_free);
  g_autoptr (GHashTable) keys = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  Writer                 writer = { settings, keys };
  const ShellSource     *source = shell_source_new (shell, file, text, NULL);
  const ShellCommand    *command;

  read_directives (shell, source);
  shell_follow (shell, source);
  if (shell->failed)
    return NULL;
  command = training_command (shell);
  add_launch (&writer, shell);
  if (command != NULL)
    add_arguments (&writer, command->fields, command->split);
  else
    add_held (&writer, shell);
  for (guint i = 0; i < shell->order->len; i++)
    {
      const ShellVariable *variable = shell->order->pdata[i];

      if (variable->set && (!variable->read || settings->len == 0 || command == NULL))
        add_variable (&writer, variable);
    }
  return shell->failed ? NULL : g_steal_pointer (&settings);
}
