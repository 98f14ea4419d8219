/* "$((...))": integers, operators and names of variables. Nothing is assigned. */
#include <errno.h>
#include <string.h>

#include "import/shell/shell-private.h"

typedef struct
{
  Shell      *shell;
  const char *at;
  ShellPlace  place;
  guint       depth;
  gboolean    unknown;
} Sum;

typedef struct
{
  const char *text;
  guint       rank; /* binds the tighter the higher */
} Operator;

/* Longer ones first. */
static const Operator operators[] = {
  { "**", 11 }, { "<<", 8 }, { ">>", 8 }, { "<=", 7 }, { ">=", 7 }, { "==", 6 }, { "!=", 6 },
  { "&&", 2 },  { "||", 1 }, { "<", 7 },  { ">", 7 },  { "+", 9 },  { "-", 9 },  { "*", 10 },
  { "/", 10 },  { "%", 10 }, { "&", 5 },  { "^", 4 },  { "|", 3 },
};

static gint64 ternary (Sum *self);

static void
blanks (Sum *self)
{
  self->at += strspn (self->at, " \t\r\n");
}

static gint64
not_known (Sum *self)
{
  self->unknown = TRUE;
  return 0;
}

/* The value of NAME, itself an expression. */
static gint64
variable (Sum *self, const char *name)
{
  ShellVariable   *found = shell_variable (self->shell, name);
  const ShellText *value;
  gint64           number = 0;

  if (found == NULL || found->values->len == 0)
    return not_known (self);
  found->read = TRUE;
  value = g_ptr_array_index (found->values, 0);
  if (value->chars->len == 0)
    return 0;
  if (!shell_enter (self->shell, self->place))
    return not_known (self);
  if (!shell_arithmetic (self->shell, value, &number))
    self->unknown = TRUE;
  self->shell->depth--;
  return number;
}

static gint64
primary (Sum *self)
{
  gint64 value;
  char  *end;
  gsize  n;

  blanks (self);
  if (*self->at == '(')
    {
      self->at++;
      value = ternary (self);
      blanks (self);
      if (*self->at != ')')
        return not_known (self);
      self->at++;
      return value;
    }
  n = shell_name_end (self->at, 0, strlen (self->at));
  if (n > 0)
    {
      g_autofree char *name = g_strndup (self->at, n);

      self->at += n;
      return *self->at == '[' ? not_known (self) : variable (self, name);
    }
  if (!g_ascii_isdigit (*self->at))
    return not_known (self);
  errno = 0;
  value = g_ascii_strtoll (self->at, &end, 0);
  self->at = end;
  if (errno != 0 || *end == '#' || *end == '.' || g_ascii_isalpha (*end))
    return not_known (self);
  return value;
}

static gint64
unary (Sum *self)
{
  gint64 value;
  char   c;

  blanks (self);
  c = *self->at;
  if (c == '\0' || strchr ("+-!~", c) == NULL)
    return primary (self);
  if (++self->depth > SHELL_MAX_DEPTH || self->at[1] == c) /* no "++" and "--" */
    return not_known (self);
  self->at++;
  value = unary (self);
  self->depth--;
  switch (c)
    {
    case '-':
      return value == G_MININT64 ? not_known (self) : -value;
    case '!':
      return value == 0;
    case '~':
      return ~value;
    default:
      return value;
    }
}

static gint64
power (Sum *self, gint64 a, gint64 b)
{
  gint64 value = 1;

  if (b < 0 || (b > 63 && a != 0 && a != 1 && a != -1))
    return not_known (self);
  for (gint64 i = 0; i < MIN (b, 64); i++)
    if (__builtin_mul_overflow (value, a, &value))
      return not_known (self);
  return value;
}

static gint64
divide (Sum *self, gint64 a, gint64 b, gboolean rest)
{
  if (self->unknown || (a == G_MININT64 && b == -1))
    return not_known (self);
  if (b == 0)
    {
      shell_fail (self->shell, self->place, NULL, "division by 0");
      return not_known (self);
    }
  return rest ? a % b : a / b;
}

static gint64
apply (Sum *self, const char *operation, gint64 a, gint64 b)
{
  gint64 value = 0;

  if (strcmp (operation, "**") == 0)
    return power (self, a, b);
  if (operation[0] != '\0' && operation[1] == '\0')
    switch (operation[0])
      {
      case '+':
        return __builtin_add_overflow (a, b, &value) ? not_known (self) : value;
      case '-':
        return __builtin_sub_overflow (a, b, &value) ? not_known (self) : value;
      case '*':
        return __builtin_mul_overflow (a, b, &value) ? not_known (self) : value;
      case '/':
        return divide (self, a, b, FALSE);
      case '%':
        return divide (self, a, b, TRUE);
      case '<':
        return a < b;
      case '>':
        return a > b;
      case '&':
        return a & b;
      case '^':
        return a ^ b;
      default:
        return a | b;
      }
  if (strcmp (operation, "<<") == 0 || strcmp (operation, ">>") == 0)
    {
      if (b < 0 || b > 62 || a < 0 || (operation[0] == '<' && a > G_MAXINT64 >> b))
        return not_known (self);
      return operation[0] == '<' ? a << b : a >> b;
    }
  switch (operation[0])
    {
    case '<':
      return a <= b;
    case '>':
      return a >= b;
    case '=':
      return a == b;
    case '!':
      return a != b;
    case '&':
      return a != 0 && b != 0;
    default:
      return a != 0 || b != 0;
    }
}

static const Operator *
next_operator (const Sum *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (operators); i++)
    if (g_str_has_prefix (self->at, operators[i].text))
      return &operators[i];
  return NULL;
}

static gint64
binary (Sum *self, guint rank)
{
  gint64          value = unary (self);
  const Operator *operation;

  for (blanks (self); (operation = next_operator (self)) != NULL && operation->rank >= rank;
       blanks (self))
    {
      gint64 right;

      if (self->unknown || self->shell->failed || self->depth >= SHELL_MAX_DEPTH)
        return not_known (self);
      self->at += strlen (operation->text);
      self->depth++;
      right = binary (self, operation->rank + 1);
      self->depth--;
      value = apply (self, operation->text, value, right);
    }
  return value;
}

static gint64
ternary (Sum *self)
{
  gint64 value, yes, no;

  if (++self->depth > SHELL_MAX_DEPTH)
    return not_known (self);
  value = binary (self, 1);
  blanks (self);
  if (*self->at == '?' && !self->unknown)
    {
      self->at++;
      yes = ternary (self);
      blanks (self);
      if (*self->at != ':')
        return not_known (self);
      self->at++;
      no = ternary (self);
      value = value != 0 ? yes : no;
    }
  self->depth--;
  return value;
}

gboolean
shell_arithmetic (Shell *shell, const ShellText *expression, gint64 *value)
{
  Sum self = { shell, expression->chars->str, shell_text_place (expression, 0), 0, FALSE };

  if (!shell_text_is_known (expression))
    return FALSE;
  *value = ternary (&self);
  blanks (&self);
  return !self.unknown && !shell->failed && *self.at == '\0';
}
