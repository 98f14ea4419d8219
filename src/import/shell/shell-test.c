/* "[ ... ]" and "[[ ... ]]": tests of texts and numbers; what files there are is not known. */
#include <string.h>

#include "import/shell/shell-private.h"

#define MAX_TOKENS 4096

/* A word of a test. */
typedef struct
{
  ShellText *text;
  char      *raw; /* as it is spelled: operators are not quoted */
  ShellPlace place;
} Token;

typedef struct
{
  Shell  *shell;
  GArray *tokens; /* Token */
  guint   at, depth;
} Test;

static void
token_clear (gpointer data)
{
  Token *self = data;

  shell_text_free (self->text);
  g_free (self->raw);
}

static const char *
raw (const Test *self, guint ahead)
{
  return self->at + ahead < self->tokens->len
             ? g_array_index (self->tokens, Token, self->at + ahead).raw
             : "";
}

static const ShellText *
text (const Test *self, guint ahead)
{
  return g_array_index (self->tokens, Token, self->at + ahead).text;
}

static ShellStatus
status_of (gboolean yes)
{
  return yes ? SHELL_TRUE : SHELL_FALSE;
}

static ShellStatus
opposite (ShellStatus status)
{
  return status == SHELL_TRUE ? SHELL_FALSE : status == SHELL_FALSE ? SHELL_TRUE : SHELL_UNSURE;
}

static ShellStatus
file_test (const Test *self, const ShellText *name)
{
  g_autofree char *path = NULL;

  if (!shell_text_is_known (name) || name->chars->len == 0 || self->shell->folder == NULL)
    return SHELL_UNSURE;
  path = g_build_filename (self->shell->folder, name->chars->str, NULL);
  return g_path_is_absolute (name->chars->str) || !g_file_test (path, G_FILE_TEST_EXISTS)
             ? SHELL_UNSURE
             : SHELL_TRUE;
}

static ShellStatus
unary_test (const Test *self, char operation, const ShellText *operand)
{
  switch (operation)
    {
    case 'n':
    case 'z':
      if (!shell_text_is_known (operand))
        return SHELL_UNSURE;
      return status_of ((operand->chars->len > 0) == (operation == 'n'));
    case 'v':
      return status_of (shell_variable (self->shell, operand->chars->str) != NULL);
    default:
      return file_test (self, operand);
    }
}

/* "-eq", "-ne", "-gt", "-ge", "-lt", "-le". */
static ShellStatus
number_test (const Test *self, const char *operation, const ShellText *a, const ShellText *b)
{
  gint64 x = 0, y = 0;

  if (!shell_text_is_known (a) || !shell_text_is_known (b))
    return SHELL_UNSURE;
  if (a->chars->len == 0 || b->chars->len == 0)
    return SHELL_FALSE; /* "integer expression expected" */
  if (!shell_arithmetic (self->shell, a, &x) || !shell_arithmetic (self->shell, b, &y))
    return SHELL_UNSURE;
  if (strcmp (operation, "-eq") == 0)
    return status_of (x == y);
  if (strcmp (operation, "-ne") == 0)
    return status_of (x != y);
  if (strcmp (operation, "-gt") == 0)
    return status_of (x > y);
  if (strcmp (operation, "-ge") == 0)
    return status_of (x >= y);
  return status_of (strcmp (operation, "-lt") == 0 ? x < y : x <= y);
}

static gboolean
is_number_test (const char *word)
{
  static const char *const words[] = { "-eq", "-ne", "-gt", "-ge", "-lt", "-le", NULL };

  return g_strv_contains (words, word);
}

static ShellStatus
text_test (const char *operation, const ShellText *a, const ShellText *b)
{
  if (!shell_text_is_known (a) || !shell_text_is_known (b) || strcmp (operation, "=~") == 0
      || strchr (b->chars->str, '[') != NULL)
    return SHELL_UNSURE;
  if (operation[0] == '<' || operation[0] == '>')
    return status_of (operation[0] == '<' ? strcmp (a->chars->str, b->chars->str) < 0
                                          : strcmp (a->chars->str, b->chars->str) > 0);
  return status_of (shell_glob (b->chars->str, a->chars->str) == (operation[0] != '!'));
}

static gboolean
is_text_test (const char *word)
{
  static const char *const words[] = { "=", "==", "!=", "=~", "<", ">", NULL };

  return g_strv_contains (words, word);
}

static ShellStatus either (Test *self);

static ShellStatus
single (Test *self)
{
  ShellStatus status;
  const char *word = raw (self, 0);

  if (self->at >= self->tokens->len)
    return SHELL_FALSE;
  if (++self->depth > SHELL_MAX_DEPTH)
    status = SHELL_UNSURE;
  else if (strcmp (word, "!") == 0)
    {
      self->at++;
      status = opposite (single (self));
    }
  else if (is_number_test (raw (self, 1)) && self->at + 2 < self->tokens->len)
    {
      status = number_test (self, raw (self, 1), text (self, 0), text (self, 2));
      self->at += 3;
    }
  else if (is_text_test (raw (self, 1)) && self->at + 2 < self->tokens->len)
    {
      status = text_test (raw (self, 1), text (self, 0), text (self, 2));
      self->at += 3;
    }
  else if (strcmp (word, "(") == 0 || strcmp (word, "\\(") == 0)
    {
      self->at++;
      status = either (self);
      self->at++; /* the closing one */
    }
  else if (word[0] == '-' && g_ascii_isalpha (word[1]) && word[2] == '\0'
           && self->at + 1 < self->tokens->len)
    {
      status = unary_test (self, word[1], text (self, 1));
      self->at += 2;
    }
  else
    {
      status = unary_test (self, 'n', text (self, 0));
      self->at++;
    }
  self->depth--;
  return status;
}

static ShellStatus
both (Test *self)
{
  ShellStatus status = single (self);

  while (strcmp (raw (self, 0), "&&") == 0 || strcmp (raw (self, 0), "-a") == 0)
    {
      ShellStatus right;

      self->at++;
      right = single (self);
      status = status == SHELL_FALSE || right == SHELL_FALSE ? SHELL_FALSE
               : status == SHELL_TRUE && right == SHELL_TRUE ? SHELL_TRUE
                                                             : SHELL_UNSURE;
    }
  return status;
}

static ShellStatus
either (Test *self)
{
  ShellStatus status = both (self);

  while (strcmp (raw (self, 0), "||") == 0 || strcmp (raw (self, 0), "-o") == 0)
    {
      ShellStatus right;

      self->at++;
      right = both (self);
      status = status == SHELL_TRUE || right == SHELL_TRUE     ? SHELL_TRUE
               : status == SHELL_FALSE && right == SHELL_FALSE ? SHELL_FALSE
                                                               : SHELL_UNSURE;
    }
  return status;
}

/* Behind the token at AT of a test: an operator or a word. */
static gsize
token_end (Shell *shell, const ShellSource *source, gsize at, gboolean two)
{
  gsize end;

  if (two && (shell_at (source, at, "&&") || shell_at (source, at, "||")))
    return at + 2;
  if (two && strchr ("()<>", source->text[at]) != NULL)
    return at + 1;
  end = shell_word_end (shell, source, at);
  /* A regular expression has characters that end words elsewhere. */
  while (two && end > at && end < source->length && strchr ("()|", source->text[end]) != NULL
         && !shell_at (source, end, "||") && !shell->failed)
    end = MAX (shell_word_end (shell, source, end + 1), end + 1);
  return end;
}

ShellStatus
shell_test (ShellReader *reader, gboolean live, gboolean two)
{
  Shell             *shell = reader->shell;
  const ShellSource *source = reader->source;
  const char        *close = two ? "]]" : "]";
  const ShellPlace   place = { source, reader->at };
  g_autoptr (GArray) tokens = g_array_new (FALSE, FALSE, sizeof (Token));
  Test               test = { shell, tokens, 0, 0 };
  ShellStatus        status;
  gsize              end;

  g_array_set_clear_func (tokens, token_clear);
  for (;;)
    {
      Token token = { NULL, NULL, { source, 0 } };

      reader->at = shell_skip_blanks (source, reader->at, two);
      token.place.at = reader->at;
      end = reader->at < source->length ? token_end (shell, source, reader->at, two) : reader->at;
      if (end <= reader->at || shell->failed || tokens->len >= MAX_TOKENS)
        {
          shell_fail (shell, place, NULL, "'%s' without '%s'", two ? "[[" : "[", close);
          return SHELL_UNSURE;
        }
      token.raw = g_strndup (source->text + reader->at, end - reader->at);
      if (strcmp (token.raw, close) == 0)
        {
          g_free (token.raw);
          reader->at = end;
          break;
        }
      shell->empty_unset = TRUE;
      token.text = live ? shell_expand_text (shell, source, reader->at, end) : shell_text_new ();
      shell->empty_unset = FALSE;
      g_array_append_val (tokens, token);
      reader->at = end;
    }
  if (!live)
    return SHELL_UNSURE;
  status = either (&test);
  return test.at == tokens->len ? status : SHELL_UNSURE;
}
