/* Commands in their order: lists, conditions, loops, functions. */
#include <string.h>

#include "import/shell/shell-private.h"

static ShellStatus read_list (ShellReader *self, gboolean live);
static ShellStatus read_command (ShellReader *self, gboolean live);

/* Takes the reserved word WORD, which closes what begins at FROM. */
static gboolean
take_word (ShellReader *self, const char *word, ShellPlace from, const char *what)
{
  if (self->shell->failed)
    return FALSE;
  shell_reader_lines (self);
  if (shell_reader_at_word (self, word))
    {
      self->at += strlen (word);
      return TRUE;
    }
  if (self->at < self->source->length)
    shell_reader_unexpected (self);
  else
    shell_fail (self->shell, from, NULL, "syntax error: '%s' without '%s'", what, word);
  return FALSE;
}

static void
say (ShellReader *self, ShellPlace place, const char *message)
{
  const SourceMark mark = shell_place_mark (place, 1);

  diag_warning (self->shell->diags, &mark, NULL, "%s", message);
}

/* ---- compound commands ----------------------------------------------------------------------- */

static gboolean
not_followed (ShellStatus status)
{
  return status == SHELL_UNSURE || status == SHELL_RAN;
}

static ShellStatus
read_if (ShellReader *self, gboolean live)
{
  const ShellPlace from = shell_reader_place (self);
  ShellPlace       unsure = { NULL, 0 };
  gboolean         taken = FALSE, last = FALSE;
  const gboolean   outer = live;

  for (self->at += strlen ("if"); !self->shell->failed && !last;)
    {
      const ShellPlace  place = shell_reader_place (self);
      const ShellStatus status = read_list (self, live && !taken);
      const guint       changes = self->shell->changes;

      if (!take_word (self, "then", from, "if"))
        return SHELL_UNSURE;
      read_list (self, live && !taken && status == SHELL_TRUE);
      if (live && !taken && not_followed (status) && self->shell->changes != changes
          && unsure.source == NULL)
        unsure = place;
      taken = taken || (live && status == SHELL_TRUE);
      shell_reader_lines (self);
      if (shell_reader_at_word (self, "elif"))
        self->at += strlen ("elif");
      else
        last = TRUE;
    }
  if (shell_reader_at_word (self, "else"))
    {
      self->at += strlen ("else");
      read_list (self, live && !taken);
    }
  if (!take_word (self, "fi", from, "if"))
    return SHELL_UNSURE;
  if (outer && unsure.source != NULL)
    say (self, unsure,
         "this condition depends on what the script does not say: the branch without it is read");
  return SHELL_TRUE;
}

static ShellStatus
read_while (ShellReader *self, gboolean live)
{
  const ShellPlace from = shell_reader_place (self);
  const gboolean   until = shell_reader_at_word (self, "until");
  ShellStatus      status;

  self->at += strlen ("while");
  status = read_list (self, live);
  if (!take_word (self, "do", from, until ? "until" : "while"))
    return SHELL_UNSURE;
  read_list (self, live && status == (until ? SHELL_FALSE : SHELL_TRUE));
  take_word (self, "done", from, until ? "until" : "while");
  return SHELL_TRUE;
}

/* Words of "for NAME in ...", up to the end of the line. */
static void
read_loop_words (ShellReader *self, gboolean live, GPtrArray *fields)
{
  for (shell_reader_blanks (self); !self->shell->failed; shell_reader_blanks (self))
    {
      const gsize end = shell_word_end (self->shell, self->source, self->at);

      if (end == self->at)
        break;
      if (live)
        {
          g_autoptr (GPtrArray) more =
              shell_expand_fields (self->shell, self->source, self->at, end);

          shell_steal_fields (fields, more);
        }
      self->at = end;
    }
}

static void
assign_loop (ShellReader *self, const char *name, GPtrArray *fields, ShellPlace from)
{
  const guint      n = fields->len;
  ShellText       *value = g_ptr_array_steal_index (fields, 0);
  g_autofree char *spelled = shell_text_spell (value);
  const SourceMark mark = shell_place_mark (from, strlen ("for"));

  shell_assign (self->shell, name, value, from);
  if (n > 1)
    diag_warning (self->shell->diags, &mark, NULL, "the loop of %u rounds is read once, with %s=%s",
                  n, name, shell_name_is_secret (name) ? "..." : spelled);
}

static ShellStatus
read_for (ShellReader *self, gboolean live)
{
  const ShellPlace      from = shell_reader_place (self);
  g_autoptr (GPtrArray) fields = g_ptr_array_new_with_free_func ((GDestroyNotify) shell_text_free);
  gboolean              run = live;
  g_autofree char      *name = NULL;
  gsize                 end;

  self->at += shell_reader_at_word (self, "for") ? strlen ("for") : strlen ("select");
  shell_reader_blanks (self);
  end = shell_name_end (self->source->text, self->at, self->source->length);
  name = g_strndup (self->source->text + self->at, end - self->at);
  if (shell_reader_at (self, "(("))
    self->at = shell_skip_parentheses (self->shell, self->source, self->at);
  else if (end == self->at)
    return shell_reader_unexpected (self);
  else
    {
      self->at = end;
      shell_reader_lines (self);
      if (shell_reader_at_word (self, "in"))
        {
          self->at += strlen ("in");
          read_loop_words (self, live, fields);
          run = live && fields->len > 0;
        }
      else
        run = live && self->shell->positional->len > 0;
      if (run && fields->len > 0 && !self->shell->failed)
        assign_loop (self, name, fields, from);
    }
  shell_reader_blanks (self);
  if (shell_reader_char (self) == ';')
    self->at++;
  if (!take_word (self, "do", from, "for"))
    return SHELL_UNSURE;
  read_list (self, run);
  take_word (self, "done", from, "for");
  return SHELL_TRUE;
}

/* Whether a pattern up to the ')' takes SUBJECT; one that is not known is taken by '*' alone. */
static gboolean
read_patterns (ShellReader *self, const ShellText *subject)
{
  gboolean matches = FALSE;

  shell_reader_lines (self);
  if (shell_reader_char (self) == '(')
    self->at++;
  while (!self->shell->failed)
    {
      gsize end;

      shell_reader_blanks (self);
      end = shell_word_end (self->shell, self->source, self->at);
      if (end == self->at)
        {
          shell_reader_unexpected (self);
          return FALSE;
        }
      if (subject != NULL && !matches)
        {
          g_autoptr (ShellText) pattern =
              shell_expand_text (self->shell, self->source, self->at, end);

          matches = strcmp (pattern->chars->str, "*") == 0
                    || (shell_text_is_known (subject)
                        && shell_glob (pattern->chars->str, subject->chars->str));
        }
      self->at = end;
      shell_reader_blanks (self);
      if (shell_reader_char (self) != '|')
        break;
      self->at++;
    }
  if (!self->shell->failed && shell_reader_char (self) != ')')
    shell_reader_unexpected (self);
  self->at++;
  return matches;
}

static ShellStatus
read_case (ShellReader *self, gboolean live)
{
  const ShellPlace      from = shell_reader_place (self);
  g_autoptr (ShellText) subject = NULL;
  gboolean              taken = FALSE, unsure;
  guint                 changes;
  gsize                 end;

  self->at += strlen ("case");
  shell_reader_blanks (self);
  end = shell_word_end (self->shell, self->source, self->at);
  if (end == self->at)
    return shell_reader_unexpected (self);
  self->shell->empty_unset = TRUE;
  if (live)
    subject = shell_expand_text (self->shell, self->source, self->at, end);
  self->shell->empty_unset = FALSE;
  unsure = live && !shell_text_is_known (subject);
  self->at = end;
  if (!take_word (self, "in", from, "case"))
    return SHELL_UNSURE;
  changes = self->shell->changes;
  for (shell_reader_lines (self); !self->shell->failed && !shell_reader_at_word (self, "esac");
       shell_reader_lines (self))
    {
      const gboolean matches = read_patterns (self, subject) && !taken;

      if (self->shell->failed)
        break;
      read_list (self, live && matches);
      taken = taken || matches;
      shell_reader_lines (self);
      if (shell_reader_at (self, ";;&"))
        self->at += 3;
      else if (shell_reader_at (self, ";;") || shell_reader_at (self, ";&"))
        self->at += 2;
      else if (!shell_reader_at_word (self, "esac"))
        break;
    }
  if (unsure && self->shell->changes != changes)
    say (self, from,
         "this choice depends on what the script does not say: its default '*' is read");
  return take_word (self, "esac", from, "case") ? SHELL_TRUE : SHELL_UNSURE;
}

static ShellStatus
read_group (ShellReader *self, gboolean live, const char *close)
{
  const ShellPlace from = shell_reader_place (self);
  ShellStatus      status;

  self->at++;
  status = read_list (self, live);
  if (self->shell->failed)
    return status;
  shell_reader_lines (self);
  if (!shell_reader_at (self, close))
    {
      if (self->at < self->source->length)
        return shell_reader_unexpected (self);
      shell_fail (self->shell, from, NULL,
                  "unexpected end of file while looking for the matching '%s'", close);
      return status;
    }
  self->at++;
  return status;
}

static ShellStatus
read_sum (ShellReader *self, gboolean live)
{
  const gsize           from = self->at;
  const gsize           end = shell_skip_parentheses (self->shell, self->source, self->at);
  g_autoptr (ShellText) text = NULL;
  gint64                value = 0;

  self->at = end;
  if (!live || self->shell->failed || end < from + 4)
    return SHELL_UNSURE;
  text = shell_expand_text (self->shell, self->source, from + 2, end - 2);
  if (!shell_arithmetic (self->shell, text, &value))
    return SHELL_UNSURE;
  return value != 0 ? SHELL_TRUE : SHELL_FALSE;
}

/* Behind "NAME ()" or "function NAME" here; 0: it is no function. */
static gsize
function_begin (const ShellReader *self, char **name)
{
  const char    *text = self->source->text;
  const gsize    length = self->source->length;
  const gboolean word = shell_reader_at_word (self, "function");
  const gsize    from =
      word ? shell_skip_blanks (self->source, self->at + strlen ("function"), FALSE) : self->at;
  gsize end = from, behind;

  while (end < length && (g_ascii_isalnum (text[end]) || strchr ("_-.:", text[end]) != NULL))
    end++;
  behind = shell_skip_blanks (self->source, end, FALSE);
  if (end == from)
    return 0;
  if (behind < length && text[behind] == '(')
    {
      behind = shell_skip_blanks (self->source, behind + 1, FALSE);
      if (behind >= length || text[behind] != ')')
        return 0;
      behind++;
    }
  else if (!word)
    return 0;
  *name = g_strndup (text + from, end - from);
  return behind;
}

static ShellStatus
read_function (ShellReader *self, gboolean live, char *name)
{
  ShellPlace *place;

  shell_reader_lines (self);
  place = g_new (ShellPlace, 1);
  *place = shell_reader_place (self);
  if (live)
    g_hash_table_insert (self->shell->functions, name, place);
  else
    {
      g_free (name);
      g_free (place);
    }
  read_command (self, FALSE);
  return SHELL_TRUE;
}

typedef ShellStatus (*Read) (ShellReader *self, gboolean live);

static const struct
{
  const char *word;
  Read        read;
} compounds[] = {
  { "if", read_if },   { "while", read_while }, { "until", read_while },
  { "for", read_for }, { "select", read_for },  { "case", read_case },
};

static ShellStatus
read_compound (ShellReader *self, gboolean live)
{
  char *name = NULL;
  gsize behind;

  for (guint i = 0; i < G_N_ELEMENTS (compounds); i++)
    if (shell_reader_at_word (self, compounds[i].word))
      return compounds[i].read (self, live);
  if (shell_reader_at (self, "(("))
    return read_sum (self, live);
  if (shell_reader_char (self) == '(')
    return read_group (self, live, ")");
  if (shell_reader_at_word (self, "{"))
    return read_group (self, live, "}");
  if (shell_reader_at_word (self, "[[") || shell_reader_at_word (self, "["))
    {
      const gboolean two = shell_reader_at (self, "[[");

      self->at += two ? 2 : 1;
      return shell_test (self, live, two);
    }
  behind = function_begin (self, &name);
  if (behind == 0)
    return shell_read_simple (self, live);
  self->at = behind;
  return read_function (self, live, name);
}

static ShellStatus
read_command (ShellReader *self, gboolean live)
{
  ShellStatus status = SHELL_UNSURE;

  if (!shell_enter (self->shell, shell_reader_place (self)))
    return status;
  if (live && ++self->shell->steps > SHELL_MAX_STEPS)
    shell_fail (self->shell, shell_reader_place (self), NULL,
                "the script has more than %u commands", SHELL_MAX_STEPS);
  else
    {
      status = read_compound (self, live);
      shell_read_redirections (self);
    }
  self->shell->depth--;
  return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static gboolean
is_live (const ShellReader *self, gboolean live)
{
  return live && !self->shell->stopped && !self->shell->returning;
}

static ShellStatus
read_pipeline (ShellReader *self, gboolean live)
{
  gboolean    inverse = FALSE;
  ShellStatus status;

  for (shell_reader_blanks (self);
       shell_reader_at_word (self, "!") || shell_reader_at_word (self, "time");
       shell_reader_blanks (self))
    {
      inverse = inverse != (shell_reader_char (self) == '!');
      self->at += shell_reader_char (self) == '!' ? 1 : strlen ("time");
    }
  status = read_command (self, is_live (self, live));
  while (!self->shell->failed
         && (shell_reader_blanks (self),
             shell_reader_char (self) == '|' && !shell_reader_at (self, "||")))
    {
      self->at += shell_reader_at (self, "|&") ? 2 : 1;
      shell_reader_lines (self);
      read_command (self, is_live (self, live));
      status = SHELL_RAN;
    }
  if (inverse)
    status = status == SHELL_TRUE ? SHELL_FALSE : status == SHELL_FALSE ? SHELL_TRUE : status;
  return status;
}

static gboolean
at_test (const ShellReader *self)
{
  return shell_reader_at_word (self, "[") || shell_reader_at_word (self, "[[")
         || shell_reader_at (self, "((") || shell_reader_at_word (self, "!");
}

static ShellStatus
read_and_or (ShellReader *self, gboolean live)
{
  const ShellPlace from = shell_reader_place (self);
  ShellStatus      status = read_pipeline (self, live), right;

  while (
      !self->shell->failed
      && (shell_reader_blanks (self), shell_reader_at (self, "&&") || shell_reader_at (self, "||")))
    {
      const gboolean both = shell_reader_at (self, "&&");
      const guint    changes = self->shell->changes;
      gboolean       run;

      self->at += 2;
      shell_reader_lines (self);
      run = status == (both ? SHELL_TRUE : SHELL_FALSE) || (both && status == SHELL_RAN)
            || (status == SHELL_UNSURE && at_test (self));
      right = read_pipeline (self, live && run);
      if (live && status == SHELL_UNSURE && !run && self->shell->changes != changes)
        say (self, from,
             "this condition depends on what the script does not say: what follows it is left out");
      if (status != SHELL_UNSURE)
        status = run ? right : status;
      else if (run && right == (both ? SHELL_FALSE : SHELL_TRUE))
        status = right;
    }
  return status;
}

static ShellStatus
read_list (ShellReader *self, gboolean live)
{
  static const char *const ends[] = {
    "then", "elif", "else", "fi", "do", "done", "esac", "}", NULL
  };
  ShellStatus status = SHELL_TRUE;

  while (!self->shell->failed)
    {
      shell_reader_lines (self);
      if (self->at >= self->source->length || shell_reader_char (self) == ')'
          || shell_reader_at (self, ";;") || shell_reader_at (self, ";&")
          || shell_reader_at_any (self, ends))
        break;
      status = read_and_or (self, live);
      shell_reader_blanks (self);
      if (self->shell->failed || self->at >= self->source->length)
        break;
      if ((shell_reader_char (self) == ';' && !shell_reader_at (self, ";;")
           && !shell_reader_at (self, ";&"))
          || shell_reader_char (self) == '&')
        self->at++;
      else if (strchr ("\n)", shell_reader_char (self)) == NULL && !shell_reader_at (self, ";;")
               && !shell_reader_at (self, ";&"))
        shell_reader_unexpected (self);
    }
  return status;
}

void
shell_follow (Shell *shell, const ShellSource *source)
{
  ShellReader self = { shell, source, 0, G_MAXSIZE, 0 };

  if (!shell_enter (shell, (ShellPlace){ source, 0 }))
    return;
  read_list (&self, TRUE);
  if (!shell->failed && self.at < source->length)
    shell_reader_unexpected (&self);
  shell->depth--;
}

void
shell_follow_body (Shell *shell, ShellPlace place)
{
  ShellReader self = { shell, place.source, place.at, G_MAXSIZE, 0 };

  read_command (&self, TRUE);
  shell_spend (shell, self.at - place.at, place); /* bodies that are read again and again */
  shell->returning = FALSE;
}
