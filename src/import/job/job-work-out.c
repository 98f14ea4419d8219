/* Sums in the texts of tables: "0.9*4096*4096", "(50257+127)//128*128", "max(4,64/8-1)". */
#include <math.h>
#include <string.h>

#include "import/job/job-private.h"

#define MOST_DEPTH 16

typedef struct
{
  const char *at;
  guint       depth;
  gboolean    bad;
} Sum;

static double read_sum (Sum *self);

static char
next (Sum *self)
{
  self->at += strspn (self->at, " ");
  return *self->at;
}

/* "(a)", or "max(a,b)" and "min(a,b)" from behind the name on. */
static double
read_parentheses (Sum *self, char kind)
{
  double value;

  self->at++;
  value = ++self->depth <= MOST_DEPTH ? read_sum (self) : NAN;
  while (kind != '\0' && next (self) == ',' && !self->bad)
    {
      double other;

      self->at++;
      other = read_sum (self);
      value = kind == 'x' ? MAX (value, other) : MIN (value, other);
    }
  self->depth--;
  self->bad = self->bad || next (self) != ')';
  self->at += *self->at == ')';
  return value;
}

static double
read_factor (Sum *self)
{
  char  *end;
  double value;

  if (next (self) == '(')
    return read_parentheses (self, '\0');
  if (g_str_has_prefix (self->at, "max(") || g_str_has_prefix (self->at, "min("))
    {
      const char kind = self->at[2];

      self->at += 3;
      return read_parentheses (self, kind);
    }
  value = g_ascii_strtod (self->at, &end);
  self->bad = self->bad || end == self->at;
  self->at = end;
  return value;
}

static double
read_product (Sum *self)
{
  double value = read_factor (self);

  while (!self->bad && (next (self) == '*' || *self->at == '/'))
    {
      const char     operation = *self->at;
      const gboolean whole = self->at[1] == '/';
      double         factor;

      self->at += 1 + whole;
      factor = read_factor (self);
      if (operation == '*')
        value *= factor;
      else
        {
          self->bad = self->bad || (factor >= 0 && factor <= 0);
          value = whole ? floor (value / factor) : value / factor;
        }
    }
  return value;
}

static double
read_sum (Sum *self)
{
  double value = read_product (self);

  while (!self->bad && (next (self) == '+' || *self->at == '-'))
    {
      const double sign = *self->at++ == '+' ? 1 : -1;

      value += sign * read_product (self);
    }
  return value;
}

char *
job_work_out (const char *text)
{
  Sum          self = { text, 0, FALSE };
  const double value = read_sum (&self);

  return !self.bad && next (&self) == '\0' && isfinite (value)
             ? g_strdup_printf ("%.0f", floor (value + 1e-9))
             : NULL;
}
