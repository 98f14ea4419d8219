/* Variables of a script, and patterns. */
#include <string.h>

#include "import/shell/shell-private.h"

/* ---- variables ------------------------------------------------------------------------------- */

ShellVariable *
shell_variable (Shell *shell, const char *name)
{
  ShellVariable *self = g_hash_table_lookup (shell->variables, name);

  return self != NULL && self->set ? self : NULL;
}

ShellVariable *
shell_variable_set (Shell *shell, const char *name)
{
  ShellVariable *self = g_hash_table_lookup (shell->variables, name);

  if (self == NULL)
    {
      self = g_new0 (ShellVariable, 1);
      self->name = g_strdup (name);
      self->values = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free);
      self->keys = g_ptr_array_new_with_free_func (g_free);
      g_hash_table_insert (shell->variables, self->name, self);
      g_ptr_array_add (shell->order, self);
    }
  self->set = TRUE;
  self->is_array = FALSE;
  self->read = FALSE;
  while (self->values->len > 0)
    g_ptr_array_add (shell->old, g_ptr_array_steal_index (self->values, self->values->len - 1));
  g_ptr_array_set_size (self->keys, 0);
  return self;
}

/* VALUE is taken over. */
void
shell_assign (Shell *shell, const char *name, ShellText *value, ShellPlace place)
{
  ShellVariable *self;

  if (!shell_spend (shell, sizeof *value + strlen (name), place))
    {
      shell_text_free (value);
      return;
    }
  self = shell_variable_set (shell, name);
  self->place = place;
  g_ptr_array_add (self->values, value);
  g_ptr_array_add (self->keys, NULL);
}

/* ---- patterns -------------------------------------------------------------------------------- */

gboolean
shell_glob (const char *pattern, const char *text)
{
  const char *star = NULL, *from = NULL;

  while (*text != '\0')
    {
      if (*pattern == '*')
        {
          star = ++pattern;
          from = text;
        }
      else if (*pattern == '?' || (*pattern == *text && *pattern != '\0'))
        {
          pattern++;
          text++;
        }
      else if (star != NULL)
        {
          pattern = star;
          text = ++from;
        }
      else
        return FALSE;
    }
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}
