/* Variables, and what "${...}" makes of their values. */
#include <string.h>

#include "import/shell/shell-private.h"

/* ---- "${...}" -------------------------------------------------------------------------------- */

/* A parameter that is looked up. */
typedef struct
{
  const ShellSource *source;
  gsize              from, to; /* as it is spelled, braces and '$' included */
  char              *name, *subscript;
  const GPtrArray   *values; /* ShellText*; NULL: not set */
  ShellText         *one;    /* that `values` stands for, where subscript picks it */
  ShellText         *made;   /* owns `one` where it is new */
  gboolean           list;   /* "@" or "*" */
} Parameter;

static ShellText *
text_of (Shell *shell, const char *string, ShellPlace place)
{
  ShellText *text = shell_text_new ();

  shell_text_append_string (shell, text, string, place);
  return text;
}

static void
look_up_special (Shell *shell, Parameter *self)
{
  const ShellPlace place = { self->source, self->from };

  if (strcmp (self->name, "@") == 0 || strcmp (self->name, "*") == 0)
    {
      self->values = shell->positional;
      self->list = TRUE;
    }
  else if (strcmp (self->name, "#") == 0)
    {
      g_autofree char *n = g_strdup_printf ("%u", shell->positional->len);

      self->one = self->made = text_of (shell, n, place);
    }
  else if (strcmp (self->name, "0") == 0)
    self->one = self->made = text_of (shell, self->source->file, place);
  else if (g_ascii_isdigit (self->name[0]))
    {
      const guint64 i = g_ascii_strtoull (self->name, NULL, 10);

      if (i >= 1 && i <= shell->positional->len)
        self->one = g_ptr_array_index (shell->positional, i - 1);
    }
  else if (strcmp (self->name, "?") == 0)
    self->one = self->made = text_of (shell, "0", place);
}

static ShellText *
element (Shell *shell, const ShellVariable *variable, const char *subscript, ShellPlace place)
{
  g_autoptr (ShellText) index = NULL;
  gint64                i = 0;

  if (subscript == NULL)
    return variable->values->len > 0 ? g_ptr_array_index (variable->values, 0) : NULL;
  for (guint k = variable->keys->len; k-- > 0;)
    {
      const char *key = g_ptr_array_index (variable->keys, k);

      if (key != NULL && strcmp (key, subscript) == 0)
        return g_ptr_array_index (variable->values, k);
    }
  index = text_of (shell, subscript, place);
  if (!shell_arithmetic (shell, index, &i) || i < 0 || i >= variable->values->len)
    return NULL;
  return g_ptr_array_index (variable->keys, i) == NULL ? g_ptr_array_index (variable->values, i)
                                                       : NULL;
}

static void
look_up (Shell *shell, Parameter *self)
{
  ShellVariable *variable;

  if (g_ascii_isalpha (self->name[0]) || self->name[0] == '_')
    {
      variable = shell_variable (shell, self->name);
      if (variable == NULL)
        return;
      variable->read = TRUE;
      self->list = g_strcmp0 (self->subscript, "@") == 0 || g_strcmp0 (self->subscript, "*") == 0;
      if (self->list)
        self->values = variable->values;
      else
        self->one =
            element (shell, variable, self->subscript, (ShellPlace){ self->source, self->from });
    }
  else
    look_up_special (shell, self);
}

static gboolean
is_set (const Parameter *self)
{
  return self->one != NULL || (self->values != NULL && self->values->len > 0);
}

static gboolean
is_empty (const Parameter *self)
{
  return !is_set (self)
         || (self->one != NULL ? self->one->chars->len == 0
                               : self->values->len == 1
                                     && ((ShellText *) self->values->pdata[0])->chars->len == 0);
}

static void
add_value (ShellExpander *expander, const Parameter *self, gboolean quoted)
{
  const gboolean joined =
      quoted
      && (g_strcmp0 (self->subscript, "*") == 0 || (self->list && g_str_equal (self->name, "*")));

  if (self->one != NULL)
    shell_expander_add_text (expander, self->one, quoted);
  for (guint i = 0; self->one == NULL && self->values != NULL && i < self->values->len; i++)
    {
      if (i > 0 && expander->split && !joined)
        shell_expander_end_field (expander);
      else if (i > 0)
        shell_expander_add_char (expander, ' ', (ShellPlace){ self->source, self->from });
      shell_expander_add_text (expander, self->values->pdata[i], quoted);
    }
}

/* Nothing, where an unset name is empty; else the name as it is spelled. */
static void
add_unset (ShellExpander *expander, const Parameter *self)
{
  if (!expander->shell->empty_unset && !self->list)
    shell_expander_add_unknown (expander, self->source, self->from, self->to);
}

/* ":-", "-", ":=", "=", ":+", "+", ":?" and "?" with the word [AT, TO). */
static void
add_default (ShellExpander *expander, const Parameter *self, char operation, gboolean colon,
             gsize at, gsize to, gboolean quoted)
{
  const gboolean absent = colon ? is_empty (self) : !is_set (self);

  if (operation == '+')
    {
      if (!absent)
        shell_expander_add (expander, self->source, at, to, quoted);
      return;
    }
  if (!absent)
    add_value (expander, self, quoted);
  else if (operation == '?')
    add_unset (expander, self);
  else if (operation == '-')
    shell_expander_add (expander, self->source, at, to, quoted);
  else
    {
      ShellText *value = shell_expand_text (expander->shell, self->source, at, to);

      shell_expander_add_text (expander, value, quoted);
      shell_assign (expander->shell, self->name, value, (ShellPlace){ self->source, self->from });
    }
}

/* Part of VALUE that is left when what PATTERN matches goes, at its begin or its end. */
static void
cut (const char *value, gsize n, const char *pattern, gboolean front, gboolean longest, gsize *from,
     gsize *to)
{
  *from = 0;
  *to = n;
  for (gsize i = 0; i <= n; i++)
    {
      const gsize      length = longest ? n - i : i;
      g_autofree char *part =
          front ? g_strndup (value, length) : g_strndup (value + n - length, length);

      if (!shell_glob (pattern, part))
        continue;
      if (front)
        *from = length;
      else
        *to = n - length;
      return;
    }
}

#define MAX_CUT 4096 /* characters of a value that is cut by a pattern: every length is tried */

static gboolean
add_cut (ShellExpander *expander, const Parameter *self, char operation, gsize at, gsize to,
         gboolean quoted)
{
  const gboolean        longest = at < to && self->source->text[at] == operation;
  g_autoptr (ShellText) pattern =
      shell_expand_text (expander->shell, self->source, at + longest, to);
  g_autoptr (ShellText) part = shell_text_new ();
  gsize                 from, until;

  if (self->one == NULL || !shell_text_is_known (self->one) || !shell_text_is_known (pattern)
      || strchr (pattern->chars->str, '[') != NULL || self->one->chars->len > MAX_CUT
      || pattern->chars->len > MAX_CUT)
    return FALSE;
  if (!shell_spend (expander->shell, self->one->chars->len * self->one->chars->len / 16,
                    (ShellPlace){ self->source, at }))
    return TRUE;
  cut (self->one->chars->str, self->one->chars->len, pattern->chars->str, operation == '#', longest,
       &from, &until);
  shell_text_append_range (expander->shell, part, self->one, from, until);
  shell_expander_add_text (expander, part, quoted);
  return TRUE;
}

/* "/from/to" and "//from/to" of plain text. */
static gboolean
add_replaced (ShellExpander *expander, const Parameter *self, gsize at, gsize to, gboolean quoted)
{
  const gboolean        all = at < to && self->source->text[at] == '/';
  gsize                 middle = at + all;
  g_autoptr (ShellText) pattern = NULL;
  g_autoptr (ShellText) by = NULL;
  g_autoptr (ShellText) out = shell_text_new ();
  const char           *value, *hit;
  gsize                 from = 0;

  while (middle < to && self->source->text[middle] != '/')
    middle = shell_skip (expander->shell, self->source, middle);
  pattern = shell_expand_text (expander->shell, self->source, at + all, MIN (middle, to));
  by = shell_expand_text (expander->shell, self->source, MIN (middle + 1, to), to);
  if (self->one == NULL || pattern->chars->len == 0 || !shell_text_is_known (self->one)
      || strpbrk (pattern->chars->str, "*?[#%\001") != NULL)
    return FALSE;
  value = self->one->chars->str;
  while ((hit = strstr (value + from, pattern->chars->str)) != NULL && !expander->shell->failed)
    {
      shell_text_append_range (expander->shell, out, self->one, from, (gsize) (hit - value));
      shell_text_append_range (expander->shell, out, by, 0, by->chars->len);
      from = (gsize) (hit - value) + pattern->chars->len;
      if (!all)
        break;
    }
  shell_text_append_range (expander->shell, out, self->one, from, self->one->chars->len);
  shell_expander_add_text (expander, out, quoted);
  return TRUE;
}

/* ":OFFSET" and ":OFFSET:LENGTH". */
static gboolean
add_part (ShellExpander *expander, const Parameter *self, gsize at, gsize to, gboolean quoted)
{
  gsize                 middle = at;
  g_autoptr (ShellText) a = NULL;
  g_autoptr (ShellText) b = NULL;
  g_autoptr (ShellText) part = shell_text_new ();
  gint64                offset = 0, length = G_MAXINT32, n;

  while (middle < to && self->source->text[middle] != ':')
    middle = shell_skip (expander->shell, self->source, middle);
  a = shell_expand_text (expander->shell, self->source, at, MIN (middle, to));
  b = shell_expand_text (expander->shell, self->source, MIN (middle + 1, to), to);
  if (self->one == NULL || !shell_text_is_known (self->one)
      || !shell_arithmetic (expander->shell, a, &offset)
      || (middle < to && !shell_arithmetic (expander->shell, b, &length)))
    return FALSE;
  n = (gint64) self->one->chars->len;
  offset = CLAMP (offset < 0 ? n + MAX (offset, -n - 1) : offset, 0, n);
  length = length < 0 ? MAX (n + MAX (length, -n) - offset, 0) : MIN (length, n - offset);
  shell_text_append_range (expander->shell, part, self->one, (gsize) offset,
                           (gsize) (offset + length));
  shell_expander_add_text (expander, part, quoted);
  return TRUE;
}

static gboolean
add_case (ShellExpander *expander, const Parameter *self, char operation, gsize at, gsize to,
          gboolean quoted)
{
  const gboolean        all = at < to && self->source->text[at] == operation;
  g_autoptr (ShellText) out = NULL;

  if (self->one == NULL || !shell_text_is_known (self->one))
    return FALSE;
  out = shell_text_copy (expander->shell, self->one);
  for (gsize i = 0; i < (all ? out->chars->len : MIN (out->chars->len, 1)); i++)
    out->chars->str[i] = operation == ',' ? g_ascii_tolower (out->chars->str[i])
                                          : g_ascii_toupper (out->chars->str[i]);
  shell_expander_add_text (expander, out, quoted);
  return TRUE;
}

/* What stands behind the name, [AT, TO). */
static void
add_operation (ShellExpander *expander, const Parameter *self, gsize at, gsize to, gboolean quoted)
{
  const char     c = self->source->text[at];
  const gboolean colon = c == ':' && at + 1 < to && strchr ("-=+?", self->source->text[at + 1]);
  const char     operation = colon ? self->source->text[at + 1] : c;
  gboolean       done = FALSE;

  if (strchr ("-=+?", operation) != NULL)
    {
      add_default (expander, self, operation, colon, at + 1 + colon, to, quoted);
      return;
    }
  if (c == '%' || c == '#')
    done = add_cut (expander, self, c, at + 1, to, quoted);
  else if (c == '/')
    done = add_replaced (expander, self, at + 1, to, quoted);
  else if (c == ':')
    done = add_part (expander, self, at + 1, to, quoted);
  else if (c == ',' || c == '^')
    done = add_case (expander, self, c, at + 1, to, quoted);
  if (!done)
    add_unset (expander, self);
}

/* Behind the name at AT, which becomes self->name and self->subscript. */
static gsize
take_name (Shell *shell, Parameter *self, gsize at, gsize to)
{
  const char *text = self->source->text;
  gsize       end = shell_name_end (text, at, to);

  if (end == at)
    while (end < to && g_ascii_isdigit (text[end]))
      end++;
  if (end == at && end < to)
    end++;
  self->name = g_strndup (text + at, end - at);
  if (end < to && text[end] == '[')
    {
      gsize                 close = end + 1;
      g_autoptr (ShellText) subscript = NULL;

      while (close < to && text[close] != ']' && !shell->failed)
        close = shell_skip (shell, self->source, close);
      subscript = shell_expand_text (shell, self->source, end + 1, MIN (close, to));
      self->subscript = g_strdup (subscript->chars->str);
      end = MIN (close + 1, to);
    }
  return end;
}

/* "${!NAME}": the variable whose name is NAME's value. */
static void
take_indirect (Shell *shell, Parameter *self)
{
  char *name;

  look_up (shell, self);
  name = self->one != NULL ? g_strdup (self->one->chars->str) : NULL;
  g_clear_pointer (&self->made, shell_text_free);
  self->one = NULL;
  self->values = NULL;
  if (name == NULL || shell_name_end (name, 0, strlen (name)) != strlen (name) || name[0] == '\0')
    {
      g_free (name);
      return;
    }
  g_free (self->name);
  self->name = name;
  look_up (shell, self);
}

static void
add_length (ShellExpander *expander, const Parameter *self)
{
  const gsize n =
      self->one != NULL ? self->one->chars->len : (self->values != NULL ? self->values->len : 0);
  g_autofree char *digits = g_strdup_printf ("%" G_GSIZE_FORMAT, n);

  if (self->one != NULL && !shell_text_is_known (self->one))
    {
      shell_expander_add_unknown (expander, self->source, self->from, self->to);
      return;
    }
  for (const char *p = digits; *p != '\0'; p++)
    shell_expander_add_char (expander, *p, (ShellPlace){ self->source, self->from });
}

void
shell_expand_parameter (ShellExpander *expander, const ShellSource *source, gsize from, gsize to,
                        gboolean quoted)
{
  const gboolean braces = from >= 2 && source->text[from - 1] == '{';
  const gboolean length = braces && to > from + 1 && source->text[from] == '#';
  const gboolean indirect = braces && to > from + 1 && source->text[from] == '!';
  Parameter      self = { .source = source, .from = from - 1 - braces, .to = to + braces };
  gsize          at;

  self.to = MIN (self.to, source->length);
  at = take_name (expander->shell, &self, from + (length || indirect), to);
  if (!expander->shell->failed)
    {
      if (indirect)
        take_indirect (expander->shell, &self);
      else
        look_up (expander->shell, &self);
      if (length)
        add_length (expander, &self);
      else if (braces && at < to)
        add_operation (expander, &self, at, to, quoted);
      else if (is_set (&self))
        add_value (expander, &self, quoted);
      else
        add_unset (expander, &self);
    }
  g_clear_pointer (&self.made, shell_text_free);
  g_free (self.name);
  g_free (self.subscript);
}
