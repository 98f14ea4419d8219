/* Words become fields: quotes, '$' and blanks. */
#include <string.h>

#include "import/shell/shell-private.h"

void
shell_expander_end_field (ShellExpander *self)
{
  if (self->field == NULL)
    return;
  if (shell_spend (self->shell, sizeof *self->field, shell_text_place (self->field, 0)))
    g_ptr_array_add (self->fields, self->field);
  else
    shell_text_free (self->field);
  self->field = NULL;
}

static ShellText *
current_field (ShellExpander *self)
{
  if (self->field == NULL)
    self->field = shell_text_new ();
  return self->field;
}

void
shell_expander_add_char (ShellExpander *self, char c, ShellPlace place)
{
  shell_text_append (self->shell, current_field (self), c, place);
}

void
shell_expander_add_text (ShellExpander *self, const ShellText *text, gboolean quoted)
{
  const char *chars = text->chars->str;
  gsize       at = 0;

  if (quoted || !self->split)
    {
      shell_text_append_range (self->shell, current_field (self), text, 0, text->chars->len);
      return;
    }
  while (chars[at] != '\0' && !self->shell->failed)
    {
      gsize n = 0;

      if (strchr (" \t\r\n", chars[at]) != NULL)
        {
          shell_expander_end_field (self);
          at++;
          continue;
        }
      /* What is not known may have blanks in its spelling. */
      while (chars[at + n] != '\0' && strchr (" \t\r\n", chars[at + n]) == NULL)
        if (chars[at + n] == SHELL_UNKNOWN)
          n += strcspn (chars + at + n, "\002");
        else
          n++;
      shell_text_append_range (self->shell, current_field (self), text, at, at + n);
      at += n;
    }
}

void
shell_expander_add_unknown (ShellExpander *self, const ShellSource *source, gsize from, gsize to)
{
  ShellText *field = current_field (self);

  shell_text_append (self->shell, field, SHELL_UNKNOWN, (ShellPlace){ source, from });
  for (gsize i = from; i < to && !self->shell->failed; i++)
    if (source->text[i] != SHELL_UNKNOWN && source->text[i] != SHELL_KNOWN)
      shell_text_append (self->shell, field, source->text[i], (ShellPlace){ source, i });
  shell_text_append (self->shell, field, SHELL_KNOWN, (ShellPlace){ source, to - 1 });
}

static void
add_arithmetic (ShellExpander *self, const ShellSource *source, gsize from, gsize to)
{
  g_autoptr (ShellText) text = shell_expand_text (self->shell, source, from + 3, to - 2);
  gint64                value = 0;
  g_autofree char      *digits = NULL;

  if (self->shell->failed)
    return;
  if (!shell_arithmetic (self->shell, text, &value))
    {
      shell_expander_add_unknown (self, source, from, to);
      return;
    }
  digits = g_strdup_printf ("%" G_GINT64_FORMAT, value);
  shell_text_append_string (self->shell, current_field (self), digits,
                            (ShellPlace){ source, from });
}

/* "$(...)" or "`...`", [FROM, TO), whose inside is [A, B) of INSIDE. */
static void
add_substitution (ShellExpander *self, const ShellSource *source, gsize from, gsize to,
                  const ShellSource *inside, gsize a, gsize b, gboolean quoted)
{
  g_autoptr (ShellText) text = self->shell->calls->substitute (self->shell, inside, a, b);

  if (self->shell->failed)
    return;
  if (text != NULL)
    shell_expander_add_text (self, text, quoted);
  else
    shell_expander_add_unknown (self, source, from, to);
}

/* "`...`", whose inside has escapes of its own. */
static void
add_backquoted (ShellExpander *self, const ShellSource *source, gsize from, gsize to,
                gboolean quoted)
{
  ShellText         *made = shell_text_new ();
  const ShellSource *inside;

  for (gsize i = from + 1; i + 1 < to && !self->shell->failed; i++)
    {
      if (source->text[i] == '\\' && i + 2 < to && strchr ("$`\\", source->text[i + 1]) != NULL)
        i++;
      shell_text_append (self->shell, made, source->text[i], (ShellPlace){ source, i });
    }
  inside = shell_source_new (self->shell, "", made->chars->str, made);
  add_substitution (self, source, from, to, inside, 0, inside->length, quoted);
}

/* Behind the '$' at AT and what belongs to it. */
static gsize
add_dollar (ShellExpander *self, const ShellSource *source, gsize at, gsize to, gboolean quoted)
{
  const gsize end = MIN (shell_skip (self->shell, source, at), to);

  if (self->shell->failed)
    return to;
  if (shell_at (source, at, "$((") && end >= at + 5 && shell_at (source, end - 2, "))"))
    add_arithmetic (self, source, at, end);
  else if (shell_at (source, at, "$("))
    add_substitution (self, source, at, end, source, at + 2, MAX (end - 1, at + 2), quoted);
  else if (shell_at (source, at, "${"))
    self->shell->calls->parameter (self, source, at + 2, MAX (end - 1, at + 2), quoted);
  else if (end > at + 1)
    self->shell->calls->parameter (self, source, at + 1, end, quoted);
  else if (end >= to || strchr ("'\"", source->text[end]) == NULL)
    shell_expander_add_char (self, '$', (ShellPlace){ source, at });
  return end;
}

/* "$'...'" has a few escapes. */
static void
add_single (ShellExpander *self, const ShellSource *source, gsize from, gsize to)
{
  const gboolean escapes = from > 0 && source->text[from - 1] == '$';

  current_field (self);
  for (gsize i = from + 1; i + 1 < to && !self->shell->failed; i++)
    {
      char c = source->text[i];

      if (escapes && c == '\\' && i + 2 < to)
        {
          c = source->text[++i];
          c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
      shell_expander_add_char (self, c, (ShellPlace){ source, i });
    }
}

/* Behind the '\' at AT and what it escapes. */
static gsize
add_escape (ShellExpander *self, const ShellSource *source, gsize at, gsize to, gboolean quoted)
{
  const char next = at + 1 < to ? source->text[at + 1] : '\\';

  if (next == '\n')
    return at + 2;
  if (next == '\r' && at + 2 < to && source->text[at + 2] == '\n')
    return at + 3;
  if (quoted && strchr (self->document ? "$`\\" : "$`\"\\", next) == NULL)
    shell_expander_add_char (self, '\\', (ShellPlace){ source, at });
  shell_expander_add_char (self, next, (ShellPlace){ source, MIN (at + 1, to - 1) });
  return MIN (at + 2, to);
}

/* "$@" and "${A[@]}" are as many fields as they have items, none of none. */
static gboolean
is_list (const ShellSource *source, gsize from, gsize to)
{
  return to >= from + 2
         && (shell_at (source, from, "$@")
             || (shell_at (source, from, "${") && to >= from + 4
                 && shell_at (source, to - 3, "@]}")));
}

void
shell_expander_add (ShellExpander *self, const ShellSource *source, gsize from, gsize to,
                    gboolean quoted)
{
  gsize at = from, end;

  if (!shell_enter (self->shell, (ShellPlace){ source, from }))
    return;
  while (at < to && !self->shell->failed)
    {
      const char c = source->text[at];

      if (c == '\\')
        at = add_escape (self, source, at, to, quoted);
      else if (c == '$')
        at = add_dollar (self, source, at, to, quoted);
      else if (c == '`' || (!quoted && c == '\'') || (c == '"' && !self->document))
        {
          end = MIN (shell_skip (self->shell, source, at), to);
          if (self->shell->failed)
            break;
          if (c == '\'')
            add_single (self, source, at, end);
          else if (c == '"')
            {
              if (!is_list (source, at + 1, MAX (end, at + 2) - 1))
                current_field (self);
              shell_expander_add (self, source, at + 1, MAX (end, at + 2) - 1, TRUE);
            }
          else
            add_backquoted (self, source, at, end, quoted);
          at = end;
        }
      else if (!quoted && self->split && strchr (" \t\r\n", c) != NULL)
        {
          shell_expander_end_field (self);
          at++;
        }
      else
        {
          shell_expander_add_char (self, c, (ShellPlace){ source, at });
          at++;
        }
    }
  self->shell->depth--;
}

GPtrArray *
shell_expand_fields (Shell *shell, const ShellSource *source, gsize from, gsize to)
{
  GPtrArray    *fields = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free);
  ShellExpander self = { shell, TRUE, FALSE, fields, NULL };

  shell_expander_add (&self, source, from, to, FALSE);
  shell_expander_end_field (&self);
  return fields;
}

static ShellText *
expand_joined (ShellExpander *self, const ShellSource *source, gsize from, gsize to,
               gboolean quoted)
{
  shell_expander_add (self, source, from, to, quoted);
  return current_field (self);
}

ShellText *
shell_expand_text (Shell *shell, const ShellSource *source, gsize from, gsize to)
{
  ShellExpander self = { shell, FALSE, FALSE, NULL, NULL };

  return expand_joined (&self, source, from, to, FALSE);
}

ShellText *
shell_expand_document (Shell *shell, const ShellSource *source, const ShellDocument *document)
{
  ShellExpander self = { shell, FALSE, TRUE, NULL, NULL };

  if (!document->quoted)
    return expand_joined (&self, source, document->from, document->to, TRUE);
  self.field = shell_text_new ();
  for (gsize i = document->from; i < document->to && !shell->failed; i++)
    shell_expander_add_char (&self, source->text[i], (ShellPlace){ source, i });
  return self.field;
}
