/* Simple commands: their words, assignments and redirections; and what stands at a place. */
#include <string.h>

#include "import/shell/shell-private.h"

/* ---- tokens ---------------------------------------------------------------------------------- */

ShellPlace
shell_reader_place (const ShellReader *self)
{
  return (ShellPlace){ self->source, self->at };
}

char
shell_reader_char (const ShellReader *self)
{
  return self->at < self->source->length ? self->source->text[self->at] : '\0';
}

gboolean
shell_reader_at (const ShellReader *self, const char *text)
{
  return shell_at (self->source, self->at, text);
}

void
shell_reader_blanks (ShellReader *self)
{
  self->at = shell_skip_blanks (self->source, self->at, FALSE);
}

/* The same over newlines, and over the here-documents that begin behind one. */
void
shell_reader_lines (ShellReader *self)
{
  for (shell_reader_blanks (self); shell_reader_char (self) == '\n'; shell_reader_blanks (self))
    self->at = self->at == self->line_end && self->behind > self->at ? self->behind : self->at + 1;
}

/* Whether the reserved word WORD stands here. */
gboolean
shell_reader_at_word (const ShellReader *self, const char *word)
{
  const gsize end = self->at + strlen (word);

  return shell_reader_at (self, word)
         && (end >= self->source->length
             || strchr (" \t\r\n;&|()<>", self->source->text[end]) != NULL);
}

gboolean
shell_reader_at_any (const ShellReader *self, const char *const *words)
{
  for (guint i = 0; words[i] != NULL; i++)
    if (shell_reader_at_word (self, words[i]))
      return TRUE;
  return FALSE;
}

ShellStatus
shell_reader_unexpected (ShellReader *self)
{
  const gsize      end = MAX (shell_word_end (self->shell, self->source, self->at), self->at + 1);
  g_autofree char *word =
      g_strndup (self->source->text + self->at, MIN (end, self->source->length) - self->at);
  const gboolean plain = strlen (word) <= 20 && g_str_is_ascii (word) && word[0] >= ' ';

  if (self->at >= self->source->length)
    shell_fail (self->shell, shell_reader_place (self), NULL,
                "syntax error: unexpected end of file");
  else
    shell_fail (self->shell, shell_reader_place (self), NULL,
                "syntax error near unexpected token '%s'", plain ? word : "newline");
  return SHELL_UNSURE;
}

/* ---- redirections ---------------------------------------------------------------------------- */

/* The here-document whose operator ends here: its body stands behind this line. */
static ShellDocument *
read_document (ShellReader *self)
{
  ShellDocument *document = shell_document_new (self->shell, self->source, &self->at);
  gsize          end = self->at;

  if (document == NULL)
    {
      shell_reader_unexpected (self);
      return NULL;
    }
  end += strcspn (self->source->text + end, "\n");
  self->behind = shell_document_read (document, self->source,
                                      end == self->line_end && self->behind > end
                                          ? self->behind
                                          : MIN (end + 1, self->source->length));
  self->line_end = end;
  return document;
}

/* Length of the operator of a redirection here, 0: none. */
static gsize
redirection (const ShellReader *self)
{
  static const char *const operators[] = { "<<<", "&>>", "<<", "&>", ">>", ">&",
                                           "<&",  ">|",  "<>", "<",  ">",  NULL };
  gsize                    n = self->at;

  while (n < self->source->length && g_ascii_isdigit (self->source->text[n]))
    n++;
  for (guint i = 0; operators[i] != NULL; i++)
    if (shell_at (self->source, n, operators[i]) && (operators[i][0] != '&' || n == self->at))
      return n - self->at + strlen (operators[i]);
  return 0;
}

/* Passes over the redirection here, N characters long and its word. */
static ShellDocument *
read_redirection (ShellReader *self, gsize n)
{
  const gboolean document = n >= 2 && shell_at (self->source, self->at + n - 2, "<<")
                            && (n < 3 || !shell_at (self->source, self->at + n - 3, "<<<"));
  gsize end;

  self->at += n;
  if (document)
    return read_document (self);
  shell_reader_blanks (self);
  if (shell_reader_at (self, "<(") || shell_reader_at (self, ">("))
    self->at = shell_skip_parentheses (self->shell, self->source, self->at + 1);
  else if (shell_reader_at (self, "("))
    self->at = shell_skip_parentheses (self->shell, self->source, self->at);
  else
    {
      end = shell_word_end (self->shell, self->source, self->at);
      if (end == self->at)
        shell_reader_unexpected (self);
      self->at = end;
    }
  return NULL;
}

void
shell_read_redirections (ShellReader *self)
{
  gsize n;

  for (shell_reader_blanks (self); !self->shell->failed && (n = redirection (self)) > 0;
       shell_reader_blanks (self))
    {
      ShellDocument *document = read_redirection (self, n);

      g_clear_pointer (&document, shell_document_free);
    }
}

/* ---- assignments ----------------------------------------------------------------------------- */

/* An assignment's parts in the source. */
typedef struct
{
  gsize    name, name_end;           /* the name */
  gsize    subscript, subscript_end; /* equal: none */
  gsize    value;                    /* behind '=' */
  gboolean append;
} Assignment;

static gboolean
at_assignment (ShellReader *self, Assignment *out)
{
  const char *text = self->source->text;
  gsize       end = shell_name_end (text, self->at, self->source->length);

  *out = (Assignment){ self->at, end, end, end, 0, FALSE };
  if (end == self->at)
    return FALSE;
  if (text[end] == '[')
    {
      const gsize close = end + strcspn (text + end, "]\n");

      if (text[close] != ']')
        return FALSE;
      out->subscript = end + 1;
      out->subscript_end = close;
      end = close + 1;
    }
  out->append = text[end] == '+' && text[end + 1] == '=';
  end += out->append;
  out->value = end + 1;
  return text[end] == '=';
}

/* Elements of an array, one by one. */
typedef struct
{
  GPtrArray *values, *keys;
} Elements;

static void
add_element (ShellReader *self, Elements *elements, gsize end)
{
  const char *text = self->source->text;
  const char *close = text[self->at] == '[' ? strstr (text + self->at, "]=") : NULL;

  if (close != NULL && close < text + end)
    {
      const gsize           key = (gsize) (close - text);
      g_autoptr (ShellText) name = shell_expand_text (self->shell, self->source, self->at + 1, key);

      g_ptr_array_add (elements->values,
                       shell_expand_text (self->shell, self->source, key + 2, end));
      g_ptr_array_add (elements->keys, g_strdup (name->chars->str));
      return;
    }
  {
    g_autoptr (GPtrArray) fields = shell_expand_fields (self->shell, self->source, self->at, end);

    while (fields->len > 0)
      {
        g_ptr_array_add (elements->values, g_ptr_array_steal_index (fields, 0));
        g_ptr_array_add (elements->keys, NULL);
      }
  }
}

/* "( ... )": ELEMENTS are added where it is not NULL. */
static void
read_elements (ShellReader *self, Elements *elements)
{
  const ShellPlace from = shell_reader_place (self);

  for (self->at++; !self->shell->failed;)
    {
      gsize end;

      self->at = shell_skip_blanks (self->source, self->at, TRUE);
      if (self->at >= self->source->length)
        {
          shell_fail (self->shell, from, NULL,
                      "unexpected end of file while looking for the matching ')'");
          return;
        }
      if (shell_reader_char (self) == ')')
        {
          self->at++;
          return;
        }
      end = shell_word_end (self->shell, self->source, self->at);
      if (end == self->at)
        {
          shell_reader_unexpected (self);
          return;
        }
      if (elements != NULL && !self->shell->failed)
        add_element (self, elements, end);
      self->at = end;
    }
}

static void
assign_array (ShellReader *self, const char *name, Elements *elements, gboolean append)
{
  ShellVariable *variable = append ? shell_variable (self->shell, name) : NULL;

  if (variable == NULL)
    {
      variable = shell_variable_set (self->shell, name);
      variable->place = shell_reader_place (self);
    }
  variable->is_array = TRUE;
  for (guint i = 0; i < elements->values->len; i++)
    {
      g_ptr_array_add (variable->values, elements->values->pdata[i]);
      g_ptr_array_add (variable->keys, elements->keys->pdata[i]);
    }
  g_ptr_array_set_free_func (elements->values, NULL);
  g_ptr_array_set_free_func (elements->keys, NULL);
}

static void
assign_element (ShellReader *self, const char *name, const Assignment *parts, ShellText *value)
{
  g_autoptr (ShellText) key =
      shell_expand_text (self->shell, self->source, parts->subscript, parts->subscript_end);
  ShellVariable *variable = shell_variable (self->shell, name);

  if (variable == NULL)
    variable = shell_variable_set (self->shell, name);
  variable->is_array = TRUE;
  g_ptr_array_add (variable->values, value);
  g_ptr_array_add (variable->keys, g_strdup (key->chars->str));
}

static void
assign_text (ShellReader *self, const char *name, const Assignment *parts, gsize end)
{
  const ShellPlace     place = { self->source, parts->name };
  const ShellVariable *old = parts->append ? shell_variable (self->shell, name) : NULL;
  ShellText           *value = shell_expand_text (self->shell, self->source, parts->value, end);

  if (parts->subscript_end > parts->subscript)
    {
      assign_element (self, name, parts, value);
      return;
    }
  if (old != NULL && old->values->len > 0)
    {
      ShellText *both = shell_text_copy (self->shell, old->values->pdata[0]);

      shell_text_append_range (self->shell, both, value, 0, value->chars->len);
      shell_text_free (value);
      value = both;
    }
  shell_assign (self->shell, name, value, place);
}

static void
read_assignment (ShellReader *self, const Assignment *parts, gboolean live)
{
  g_autofree char *name =
      g_strndup (self->source->text + parts->name, parts->name_end - parts->name);
  gsize end;

  if (!live && !shell_name_is_secret (name))
    self->shell->changes++;
  self->at = parts->value;
  if (shell_reader_char (self) == '(')
    {
      Elements elements = { g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free),
                            g_ptr_array_new_with_free_func (g_free) };

      read_elements (self, live ? &elements : NULL);
      if (live && !self->shell->failed)
        assign_array (self, name, &elements, parts->append);
      g_ptr_array_unref (elements.values);
      g_ptr_array_unref (elements.keys);
      return;
    }
  end = shell_word_end (self->shell, self->source, self->at);
  if (live && !self->shell->failed)
    assign_text (self, name, parts, end);
  self->at = end;
}

/* ---- simple commands ------------------------------------------------------------------------- */

void
shell_steal_fields (GPtrArray *into, GPtrArray *from)
{
  while (from->len > 0)
    g_ptr_array_add (into, g_ptr_array_steal_index (from, 0));
}

/* Words, assignments and redirections up to the end of the command. */
ShellStatus
shell_read_simple (ShellReader *self, gboolean live)
{
  static const char *const declaring[] = {
    "export", "declare", "local", "readonly", "typeset", NULL
  };
  static const char *const calls[] = { "source", ".",       "eval", "torchrun",
                                       "python", "python3", "srun", NULL };
  g_autoptr (GPtrArray) fields = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free);
  ShellDocument        *document = NULL;
  const gboolean        declares = shell_reader_at_any (self, declaring);
  const gsize           from = self->at;
  gboolean              words = FALSE;
  ShellStatus           status = SHELL_TRUE;

  if (!live && shell_reader_at_any (self, calls))
    self->shell->changes++;
  for (shell_reader_blanks (self); !self->shell->failed; shell_reader_blanks (self))
    {
      const gsize n = redirection (self);
      Assignment  parts;
      gsize       end;

      if (n > 0)
        {
          ShellDocument *other = read_redirection (self, n);

          if (other != NULL)
            {
              g_clear_pointer (&document, shell_document_free);
              document = other;
            }
          continue;
        }
      if ((!words || declares) && at_assignment (self, &parts))
        {
          read_assignment (self, &parts, live);
          continue;
        }
      end = shell_word_end (self->shell, self->source, self->at);
      if (end == self->at)
        break;
      words = TRUE;
      if (live && !self->shell->failed)
        {
          g_autoptr (GPtrArray) more =
              shell_expand_fields (self->shell, self->source, self->at, end);

          shell_steal_fields (fields, more);
        }
      self->at = end;
    }
  if (self->at == from)
    shell_reader_unexpected (self);
  else if (live && !self->shell->failed && fields->len > 0 && !declares)
    status = self->shell->calls->run (self->shell, fields, self->source, document);
  g_clear_pointer (&document, shell_document_free);
  return status;
}
