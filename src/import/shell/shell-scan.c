/* Where words, quotes, expansions and here-documents end. */
#include <string.h>

#include "import/shell/shell-private.h"

gboolean
shell_at (const ShellSource *source, gsize at, const char *word)
{
  const gsize n = strlen (word);

  return at + n <= source->length && memcmp (source->text + at, word, n) == 0;
}

gsize
shell_name_end (const char *text, gsize at, gsize to)
{
  if (at >= to || (!g_ascii_isalpha (text[at]) && text[at] != '_'))
    return at;
  while (at < to && (g_ascii_isalnum (text[at]) || text[at] == '_'))
    at++;
  return at;
}

static gsize
not_closed (Shell *shell, const ShellSource *source, gsize from, const char *what)
{
  shell_fail (shell, (ShellPlace){ source, from }, NULL,
              "unexpected end of file while looking for the matching '%s'", what);
  return source->length;
}

static gsize
skip_double (Shell *shell, const ShellSource *source, gsize from)
{
  gsize at = from + 1;

  while (at < source->length && !shell->failed)
    {
      const char c = source->text[at];

      if (c == '"')
        return at + 1;
      at = c == '$' || c == '`' || c == '\\' ? shell_skip (shell, source, at) : at + 1;
    }
  return not_closed (shell, source, from, "\"");
}

/* Behind the body of the here-document whose operator is at AT; the lines between are its. */
static gsize
skip_document (Shell *shell, const ShellSource *source, gsize at)
{
  gsize          behind = at + 2;
  ShellDocument *document = shell_document_new (shell, source, &behind);

  if (document == NULL
      || !shell_spend (shell, (source->length - behind) / 16, (ShellPlace){ source, at }))
    {
      g_clear_pointer (&document, shell_document_free);
      return at + 2;
    }
  behind += strcspn (source->text + behind, "\n");
  behind = shell_document_read (document, source, MIN (behind + 1, source->length));
  shell_document_free (document);
  return behind;
}

/* Behind what ends with the character CLOSE; OPEN inside of it has to be closed as well. */
static gsize
skip_nested (Shell *shell, const ShellSource *source, gsize from, char open, char close)
{
  const char closing[] = { close, '\0' };
  gsize      at = from;
  guint      depth = 0;

  while (at < source->length && !shell->failed)
    {
      const char c = source->text[at];

      if (c == open)
        depth++;
      else if (c == close && --depth == 0)
        return at + 1;
      if (close == ')' && c == '#' && strchr (" \t\n;(", source->text[at - 1]) != NULL)
        {
          at += strcspn (source->text + at, "\n");
          continue;
        }
      if (close == ')' && !shell_at (source, from, "((") && shell_at (source, at, "<<")
          && !shell_at (source, at, "<<<"))
        {
          at = skip_document (shell, source, at);
          continue;
        }
      at = strchr ("'\"`$\\", c) != NULL ? shell_skip (shell, source, at) : at + 1;
    }
  return not_closed (shell, source, from, closing);
}

gsize
shell_skip_parentheses (Shell *shell, const ShellSource *source, gsize at)
{
  return skip_nested (shell, source, at, '(', ')');
}

static gsize
skip_dollar (Shell *shell, const ShellSource *source, gsize from)
{
  const gsize at = from + 1;
  gsize       end;

  if (at >= source->length)
    return at;
  switch (source->text[at])
    {
    case '(':
      return skip_nested (shell, source, at, '(', ')');
    case '{':
      return skip_nested (shell, source, at, '{', '}');
    case '\'':
    case '"':
      return at; /* the quote is skipped next */
    default:
      end = shell_name_end (source->text, at, source->length);
      return end > at ? end : at + (strchr ("@*#?$!-0123456789", source->text[at]) != NULL);
    }
}

static gsize
skip_until (Shell *shell, const ShellSource *source, gsize from, char close, gboolean escapes)
{
  const char closing[] = { close, '\0' };

  for (gsize at = from + 1; at < source->length; at++)
    {
      if (escapes && source->text[at] == '\\')
        at++;
      else if (source->text[at] == close)
        return at + 1;
    }
  return not_closed (shell, source, from, closing);
}

gsize
shell_skip (Shell *shell, const ShellSource *source, gsize at)
{
  const char c = at < source->length ? source->text[at] : '\0';
  gsize      end;

  if (c == '\0')
    return source->length;
  if (!shell_enter (shell, (ShellPlace){ source, at }))
    return source->length;
  if (c == '\\')
    end = MIN (at + 2, source->length);
  else if (c == '\'')
    end = skip_until (shell, source, at, '\'', at > 0 && source->text[at - 1] == '$');
  else if (c == '`')
    end = skip_until (shell, source, at, '`', TRUE);
  else if (c == '"')
    end = skip_double (shell, source, at);
  else if (c == '$')
    end = skip_dollar (shell, source, at);
  else
    end = at + 1;
  shell->depth--;
  return end;
}

gsize
shell_word_end (Shell *shell, const ShellSource *source, gsize at)
{
  const gsize from = at;

  while (at < source->length && !shell->failed)
    {
      const char c = source->text[at];

      if (strchr (" \t\r\n;&|<>()", c) != NULL)
        {
          /* An extended pattern or process substitution is part of a word. */
          if (c != '(' || at == from || strchr ("@+?!*=", source->text[at - 1]) == NULL)
            break;
          at = skip_nested (shell, source, at, '(', ')');
          continue;
        }
      at = shell_skip (shell, source, at);
    }
  return at;
}

gsize
shell_skip_blanks (const ShellSource *source, gsize at, gboolean lines)
{
  while (at < source->length)
    {
      const char c = source->text[at];

      if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n'))
        at++;
      else if (shell_at (source, at, "\\\n"))
        at += 2;
      else if (shell_at (source, at, "\\\r\n"))
        at += 3;
      else if (c == '#')
        at += strcspn (source->text + at, "\n");
      else
        break;
    }
  return at;
}

ShellDocument *
shell_document_new (Shell *shell, const ShellSource *source, gsize *at)
{
  ShellDocument *self;
  GString       *end = g_string_new (NULL);
  gboolean       quoted = FALSE;
  const gboolean strip = *at < source->length && source->text[*at] == '-';
  gsize          from, to;

  from = shell_skip_blanks (source, *at + strip, FALSE);
  to = shell_word_end (shell, source, from);
  for (gsize i = from; i < to; i++)
    if (strchr ("'\"\\", source->text[i]) != NULL)
      quoted = TRUE;
    else
      g_string_append_c (end, source->text[i]);
  *at = to;
  if (end->len == 0)
    {
      g_string_free (end, TRUE);
      return NULL;
    }
  self = g_new0 (ShellDocument, 1);
  self->end = g_string_free (end, FALSE);
  self->quoted = quoted;
  self->strip = strip;
  return self;
}

void
shell_document_free (ShellDocument *self)
{
  g_free (self->end);
  g_free (self);
}

gsize
shell_document_read (ShellDocument *self, const ShellSource *source, gsize at)
{
  const gsize n = strlen (self->end);

  self->from = at;
  while (at < source->length)
    {
      const gsize length = strcspn (source->text + at, "\n");
      const char *line = source->text + at;
      const gsize tabs = self->strip ? strspn (line, "\t") : 0;
      gsize       inside = length - MIN (tabs, length);

      if (inside > 0 && line[tabs + inside - 1] == '\r')
        inside--;
      self->to = at;
      at = MIN (at + length + 1, source->length);
      if (inside == n && strncmp (line + tabs, self->end, n) == 0)
        return at;
    }
  self->to = source->length;
  return source->length;
}
