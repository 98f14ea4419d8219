#include "decide/sweep/vary.h"

#include <math.h>
#include <string.h>

#include "hardware/profile/figure-settings.h"

/* Some values of an axis: a text, or numbers from one to another. */
typedef struct
{
  char    *text; /* NULL: a range */
  double   first, by;
  gboolean ratio; /* BY multiplies */
  guint64  n;
} Segment;

typedef struct
{
  char   *key;
  GArray *segments; /* Segment */
  guint64 n;
} Axis;

struct _Vary
{
  GArray *axes; /* Axis */
};

static void
segment_clear (gpointer data)
{
  g_free (((Segment *) data)->text);
}

static void
axis_clear (gpointer data)
{
  Axis *self = data;

  g_free (self->key);
  g_clear_pointer (&self->segments, g_array_unref);
}

static Axis
axis_new (const char *key, gsize length)
{
  g_autofree char *word = g_strndup (key, length);
  Axis             self = { .key = scenario_whole_key (word),
                            .segments = g_array_new (FALSE, FALSE, sizeof (Segment)) };

  g_array_set_clear_func (self.segments, segment_clear);
  return self;
}

/* ---- values ---------------------------------------------------------------------------------- */

static double
range_number (const Segment *range, guint64 i)
{
  const double number = range->ratio ? range->first * pow (range->by, (double) i)
                                     : range->first + range->by * (double) i;

  return fabs (number) < 9e15 && fabs (number - round (number)) < 1e-9 * MAX (fabs (number), 1)
             ? round (number)
             : number;
}

static char *
segment_value (const Segment *self, guint64 i)
{
  char digits[G_ASCII_DTOSTR_BUF_SIZE];

  if (self->text != NULL)
    return g_strdup (self->text);
  return g_strdup (g_ascii_formatd (digits, sizeof digits, "%.15g", range_number (self, i)));
}

static char *
axis_value (const Axis *self, guint64 i)
{
  const Segment *segment = &g_array_index (self->segments, Segment, 0);

  while (i >= segment->n)
    i -= segment++->n;
  return segment_value (segment, i);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What one --vary says, on its way. */
typedef struct
{
  Axis              axis;
  const SourceMark *mark;
  DiagList         *diags;
} Reader;

/* A number at TEXT; *END after it. "1..4" holds two: a dot that another follows is none of it. */
static gboolean
take_number (const char *text, double *number, const char **end)
{
  const char      *dots = strstr (text, "..");
  g_autofree char *head = dots != NULL ? g_strndup (text, (gsize) (dots - text)) : g_strdup (text);
  char            *stop;

  *number = g_ascii_strtod (head, &stop);
  *end = text + (stop - head);
  return stop != head && isfinite (*number) && !g_ascii_isalpha (head[0]);
}

/* The number that the axis' value BACK from the end is; FALSE: there is none. */
static gboolean
number_before (const Axis *axis, guint64 back, double *number)
{
  g_autofree char *text = NULL;
  const char      *end;

  if (axis->n < back)
    return FALSE;
  text = axis_value (axis, axis->n - back);
  return take_number (text, number, &end) && *end == '\0';
}

/* How RANGE goes on after the numbers before it. FALSE: they do not say. */
static gboolean
continue_range (const Axis *axis, Segment *range)
{
  double one, two;

  range->by = 1;
  if (!number_before (axis, 1, &one))
    return axis->n == 0;
  range->by = range->first - one;
  if (!number_before (axis, 2, &two))
    return TRUE;
  if (two != 0 && one != two && fabs (one * one - two * range->first) <= 1e-12 * one * one)
    {
      range->ratio = TRUE;
      range->by = one / two;
      return TRUE;
    }
  return fabs ((one - two) - range->by) <= 1e-12 * fabs (range->by);
}

/* Numbers from FIRST up to LAST. */
static guint64
count_range (const Segment *range, double last)
{
  double n = range->ratio ? log (last / range->first) / log (range->by)
                          : (last - range->first) / range->by;

  n = floor (n + 1e-9) + 1;
  return n < 1e18 ? (guint64) n : G_MAXUINT64;
}

static gboolean
add_segment (Reader *self, Segment segment)
{
  if (!g_uint64_checked_add (&self->axis.n, self->axis.n, segment.n))
    self->axis.n = G_MAXUINT64;
  g_array_append_val (self->axis.segments, segment);
  return TRUE;
}

static gboolean
add_range (Reader *self, const char *item, Segment range, const char *rest)
{
  const char *end = rest;
  double      last = 0;

  if (!take_number (rest, &last, &end))
    diag_error (self->diags, self->mark, "write a range as 1..16, 1..64*2 or 0..100+10",
                "expected a number after '..' in '%s'", item);
  else if ((*end == '+' || *end == '*') && !take_number (end + 1, &range.by, &rest))
    diag_error (self->diags, self->mark, "write a range as 1..16, 1..64*2 or 0..100+10",
                "expected a number at the end of '%s'", item);
  else if (*end != '\0' && ((*end != '+' && *end != '*') || *rest != '\0'))
    diag_error (self->diags, self->mark, "numbers of a range have no unit: list such values",
                "expected two numbers, got '%s'", item);
  else if (*end == '\0' && !continue_range (&self->axis, &range))
    diag_error (self->diags, self->mark, "say it: 1..64*2, or 0..100+10",
                "the values before '%s' do not say how it goes on", item);
  else
    {
      range.ratio |= *end == '*';
      if (range.ratio ? !(range.by > 1 && range.first > 0) : !(range.by > 0))
        diag_error (self->diags, self->mark, "a range grows: by a step above 0, a ratio above 1",
                    "'%s' does not get to its end", item);
      else if (last < range.first)
        diag_error (self->diags, self->mark, "write the smaller number first",
                    "'%s' ends before it begins", item);
      else
        {
          range.n = count_range (&range, last);
          return add_segment (self, range);
        }
    }
  return FALSE;
}

static gboolean
add_item (Reader *self, const char *item)
{
  Segment     segment = { .n = 1 };
  const char *end;

  if (*item == '\0')
    {
      diag_error (self->diags, self->mark, NULL, "'%s' has an empty value", self->axis.key);
      return FALSE;
    }
  if (take_number (item, &segment.first, &end) && g_str_has_prefix (end, ".."))
    return add_range (self, item, segment, end + 2);
  segment.text = g_strdup (item);
  return add_segment (self, segment);
}

/* One item, up to a comma outside quotes, which go; *TEXT after it. */
static char *
next_item (const char **text, gboolean *quoted)
{
  GString    *item = g_string_new (NULL);
  const char *c = *text;
  gboolean    inside = FALSE;

  *quoted = FALSE;
  for (; *c != '\0' && (inside || *c != ','); c++)
    if (*c == '"')
      {
        inside = !inside;
        *quoted = TRUE;
      }
    else
      g_string_append_c (item, *c);
  *text = *c == ',' ? c + 1 : NULL;
  return g_strstrip (g_string_free (item, FALSE));
}

static gboolean
read_items (Reader *self, const char *text)
{
  gboolean good = TRUE;

  if (*text == '\0')
    {
      diag_error (self->diags, self->mark, "write values: training.micro_batch=1,2,4",
                  "the grid is empty: '%s' has no values", self->axis.key);
      return FALSE;
    }
  while (text != NULL)
    {
      gboolean         quoted;
      g_autofree char *item = next_item (&text, &quoted);

      if (quoted)
        add_segment (self, (Segment){ .text = g_steal_pointer (&item), .n = 1 });
      else
        good &= add_item (self, item);
    }
  return good;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Tries TEXT as a value of SPEC, in a structure of its own, or where that is NULL of the figure. */
static gboolean
try_value (const Reader *self, const OptionSpec *spec, const char *text)
{
  OptionSpec       alone[2] = { 0 };
  gint64           room[2] = { 0 }; /* of every type of option */
  g_autofree char *figure = NULL;
  gboolean         good;

  if (spec == NULL)
    return figure_settings_set (&figure, self->axis.key, text, self->mark, self->diags);
  alone[0] = *spec;
  alone[0].offset = 0;
  alone[0].fallback = NULL;
  good = option_set (&alone[0], room, text, self->mark, self->diags);
  option_table_clear (alone, room);
  return good;
}

static gboolean
check_values (const Reader *self, const OptionSpec *spec)
{
  gboolean good = TRUE;

  for (guint s = 0; s < self->axis.segments->len; s++)
    {
      const Segment   *segment = &g_array_index (self->axis.segments, Segment, s);
      g_autofree char *first = segment_value (segment, 0);
      g_autofree char *last = segment_value (segment, segment->n - 1);

      good &= try_value (self, spec, first);
      if (good && segment->n > 1)
        good &= try_value (self, spec, last);
    }
  return good;
}

static gboolean
check_key (const Reader *self)
{
  const char       *key = self->axis.key, *dot = strchr (key, '.');
  g_autofree char  *section = dot != NULL ? g_strndup (key, (gsize) (dot - key)) : NULL;
  const OptionSpec *table = section != NULL ? scenario_section_table (section) : NULL, *spec;
  g_autofree char  *hint = NULL;

  if (g_strcmp0 (section, "strategy") == 0)
    return TRUE;
  if (scenario_key_is_figure (key))
    return check_values (self, NULL);
  if (table == NULL)
    {
      diag_error (self->diags, self->mark, "keys are section.key, such as training.micro_batch",
                  "'%s' is no option of a scenario", key);
      return FALSE;
    }
  spec = option_table_find (table, dot + 1);
  if (spec != NULL)
    return check_values (self, spec);
  {
    g_autofree const char **keys = option_table_keys (table);

    hint = suggest_hint (dot + 1, keys);
    diag_error (self->diags, self->mark, hint, "section '%s' has no option '%s'", section, dot + 1);
  }
  return FALSE;
}

/* ---- the grid -------------------------------------------------------------------------------- */

Vary *
vary_new (void)
{
  Vary *self = g_new0 (Vary, 1);

  self->axes = g_array_new (FALSE, FALSE, sizeof (Axis));
  g_array_set_clear_func (self->axes, axis_clear);
  return self;
}

void
vary_free (Vary *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->axes);
  g_free (self);
}

gboolean
vary_add (Vary *self, const char *text, const SourceMark *mark, DiagList *diags)
{
  const char *equals = strchr (text, '=');
  Reader      reader = { .mark = mark, .diags = diags };
  gboolean    good;

  if (equals == NULL || equals == text)
    {
      diag_error (diags, mark, "write training.micro_batch=1..16", "expected KEY=VALUES, got '%s'",
                  text);
      return FALSE;
    }
  reader.axis = axis_new (text, (gsize) (equals - text));
  good = read_items (&reader, equals + 1) && check_key (&reader);
  for (guint a = 0; a < vary_n_axes (self); a++)
    if (g_str_equal (vary_key (self, a), reader.axis.key))
      {
        diag_error (diags, mark, "put all of its values behind one --vary", "'%s' is varied twice",
                    reader.axis.key);
        good = FALSE;
      }
  if (good)
    g_array_append_val (self->axes, reader.axis);
  else
    axis_clear (&reader.axis);
  return good;
}

guint
vary_n_axes (const Vary *self)
{
  return self->axes->len;
}

const char *
vary_key (const Vary *self, guint axis)
{
  return g_array_index (self->axes, Axis, axis).key;
}

guint64
vary_n_values (const Vary *self, guint axis)
{
  return g_array_index (self->axes, Axis, axis).n;
}

char *
vary_axis_value (const Vary *self, guint axis, guint64 i)
{
  return axis_value (&g_array_index (self->axes, Axis, axis), i);
}

guint64
vary_length (const Vary *self)
{
  guint64 n = 1;

  for (guint a = 0; a < self->axes->len; a++)
    if (!g_uint64_checked_mul (&n, n, g_array_index (self->axes, Axis, a).n))
      return G_MAXUINT64;
  return n;
}

char *
vary_value (const Vary *self, guint64 point, guint axis)
{
  for (guint a = self->axes->len - 1; a > axis; a--)
    point /= g_array_index (self->axes, Axis, a).n;
  return axis_value (&g_array_index (self->axes, Axis, axis),
                     point % g_array_index (self->axes, Axis, axis).n);
}
