/* "time-split": stacked bars of where a step's time goes. */
#include "report/plot/facets-private.h"
#include "report/plot/plot-private.h"

#include <string.h>

#define BAR_PIXELS 105
/* Few bars whose names fit below them stand side by side; others lie, a line each. */
#define MAX_STANDING     12
#define STANDING_COLUMNS 12 /* of text that BAR_PIXELS hold */
#define LINE_PIXELS      21
#define MAX_LINES        200
#define MAX_TITLE        100
#define MAX_NAME         72 /* characters of a line's name */
/* Characters of what all names begin with, and of what they end with, where some are too long. */
#define MAX_COMMON    24
#define LEAST_PIXELS  340 /* of lines: the legend has room */
#define LEGEND_PIXELS 300
#define COLUMN_PIXELS 8 /* of text, at most */

/* ---- names ----------------------------------------------------------------------------------- */

/* Columns that TEXT takes: East Asian characters take two. */
static guint
text_columns (const char *text)
{
  guint columns = 0;

  for (; *text != '\0'; text = g_utf8_next_char (text))
    columns += g_unichar_iswide (g_utf8_get_char (text)) ? 2 : 1;
  return columns;
}

/* Bytes of the whole characters that all NAMES begin with. */
static gsize
common_head (char **names)
{
  const char *end = names[0] + strlen (names[0]);

  for (guint i = 1; names[i] != NULL; i++)
    {
      const char *a = names[0], *b = names[i];

      for (; a < end && g_utf8_get_char (a) == g_utf8_get_char (b); b = g_utf8_next_char (b))
        a = g_utf8_next_char (a);
      end = a;
    }
  return (gsize) (end - names[0]);
}

/* Bytes of the whole characters that all NAMES end with, behind the first HEAD bytes. */
static gsize
common_tail (char **names, gsize head)
{
  const char *last = names[0] + strlen (names[0]), *begin = names[0] + head;

  for (guint i = 1; names[i] != NULL; i++)
    {
      const char *a = last, *b = names[i] + strlen (names[i]);

      while (a > begin && b > names[i] + head
             && g_utf8_get_char (g_utf8_prev_char (a)) == g_utf8_get_char (g_utf8_prev_char (b)))
        {
          a = g_utf8_prev_char (a);
          b = g_utf8_prev_char (b);
        }
      begin = a;
    }
  return (gsize) (last - begin);
}

/* Leaves out the middle of what all names begin with, and of what they end with. */
static void
shorten_common (char **names)
{
  gsize head = common_head (names), tail = common_tail (names, head);

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *whole = names[i];
      const char      *last = whole + strlen (whole) - tail;
      g_autofree char *begin = g_strndup (whole, head);
      g_autofree char *own = g_strndup (whole + head, (gsize) (last - whole) - head);
      g_autofree char *short_begin = gnuplot_plain_text (begin, MAX_COMMON);
      g_autofree char *short_end = gnuplot_plain_text (last, MAX_COMMON);

      names[i] = g_strconcat (short_begin, own, short_end, NULL);
    }
}

/* Cuts names to MAX_NAME characters; one that is then like an earlier one says its row. */
static void
cut_uniquely (char **names)
{
  g_autoptr (GHashTable) known = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; names[i] != NULL; i++)
    {
      g_autofree char *whole = names[i];

      names[i] = gnuplot_plain_text (whole, MAX_NAME);
      for (guint n = i + 1; g_hash_table_contains (known, names[i]); n++)
        {
          g_autofree char *number = g_strdup_printf (" (%u)", n);
          g_autofree char *cut = gnuplot_plain_text (whole, MAX_NAME - (glong) strlen (number));

          g_free (names[i]);
          names[i] = g_strconcat (cut, number, NULL);
        }
      g_hash_table_add (known, names[i]);
    }
}

/* The names of the first N scenarios, as the table has them, no two of them equal: strv. */
static char **
bar_names (const GPtrArray *predictions, guint n)
{
  char   **names = g_new0 (char *, n + 1);
  gboolean too_long = FALSE;

  for (guint i = 0; i < n; i++)
    {
      const Prediction *p = g_ptr_array_index (predictions, i);

      names[i] = g_utf8_make_valid (p->scenario, -1);
      too_long |= g_utf8_strlen (names[i], -1) > MAX_NAME;
    }
  if (too_long && n > 1)
    shorten_common (names);
  cut_uniquely (names);
  return names;
}

/* ---- what is drawn --------------------------------------------------------------------------- */

typedef struct
{
  const GPtrArray *predictions;
  gboolean         shown[TIME_N]; /* parts that are visible somewhere */
  guint            n;             /* bars: the first ones */
  char           **names;         /* of the bars */
  double          *places;        /* of the bars: one apart, and a gap before each group */
  guint            widest;        /* columns of the longest name */
  gboolean         one_model, one_strategy, one_cluster;
  gboolean         grouped; /* by model and cluster, where these differ and do not alternate */
  gboolean         lying;
  double           unit; /* seconds in a unit of the axis */
  const char      *unit_name;
  double           highest; /* in units */
} Picture;

static const Prediction *
prediction_at (const Picture *self, guint i)
{
  return g_ptr_array_index (self->predictions, i);
}

static gboolean
same_group (const Picture *self, guint i, guint j)
{
  const Prediction *a = prediction_at (self, i), *b = prediction_at (self, j);

  return g_str_equal (a->model, b->model) && g_str_equal (a->cluster, b->cluster);
}

/* The bar behind the last one of the group of bar I. */
static guint
group_end (const Picture *self, guint i)
{
  guint end = i + 1;

  while (end < self->n && same_group (self, i, end))
    end++;
  return end;
}

/* Whether no model and cluster comes again after others. */
static gboolean
groups_follow (const Picture *self)
{
  for (guint i = 0; i < self->n; i = group_end (self, i))
    for (guint j = group_end (self, i); j < self->n; j++)
      if (same_group (self, i, j))
        return FALSE;
  return TRUE;
}

/* "llama-3-8b, fsdp2 on 4 nodes x ...", or that of it which is wanted. */
static char *
title_of (const Prediction *p, gboolean model, gboolean strategy, gboolean cluster)
{
  g_autofree char *whole = g_strconcat (
      model ? p->model : "", model && strategy ? ", " : "", strategy ? p->strategy : "",
      (model || strategy) && cluster ? " on " : "", cluster ? p->cluster : "", NULL);

  return gnuplot_plain_text (whole, MAX_TITLE);
}

/* What tells the group of bar I from the others. */
static char *
group_title (const Picture *self, guint i)
{
  return title_of (prediction_at (self, i), !self->one_model, FALSE, !self->one_cluster);
}

/* What all bars have in common, and where they are not all. */
static char *
picture_title (const Picture *self)
{
  g_autofree char *common =
      title_of (prediction_at (self, 0), self->one_model, self->one_strategy, self->one_cluster);
  const char *title = *common != '\0' ? common : "Where the time of a step goes";

  if (self->n == self->predictions->len)
    return g_strdup (title);
  return g_strdup_printf ("%s: the first %u of %u scenarios", title, self->n,
                          self->predictions->len);
}

/* Whether names and the titles of groups have room when the bars stand side by side. */
static gboolean
fits_standing (const Picture *self)
{
  if (self->n > MAX_STANDING || self->widest > STANDING_COLUMNS)
    return FALSE;
  for (guint i = 0; self->grouped && i < self->n; i = group_end (self, i))
    {
      g_autofree char *group = group_title (self, i);

      if (text_columns (group) > STANDING_COLUMNS * (group_end (self, i) - i))
        return FALSE;
    }
  return TRUE;
}

static void
picture_init (Picture *self, const GPtrArray *predictions)
{
  const Prediction *first = g_ptr_array_index (predictions, 0);
  double            longest = 0, at, gap;

  *self = (Picture){ .predictions = predictions,
                     .n = MIN (predictions->len, MAX_LINES),
                     .one_model = TRUE,
                     .one_strategy = TRUE,
                     .one_cluster = TRUE };
  self->names = bar_names (predictions, self->n);
  self->places = g_new0 (double, self->n);
  for (guint i = 0; i < self->n; i++)
    {
      const Prediction *p = prediction_at (self, i);

      self->widest = MAX (self->widest, text_columns (self->names[i]));
      self->one_model &= g_str_equal (p->model, first->model);
      self->one_strategy &= g_str_equal (p->strategy, first->strategy);
      self->one_cluster &= g_str_equal (p->cluster, first->cluster);
      longest = MAX (longest, p->step_time_s);
      for (guint part = 0; part < TIME_N; part++)
        self->shown[part] |= p->parts[part] > 0.001 * p->step_time_s;
    }
  self->grouped = !(self->one_model && self->one_cluster) && groups_follow (self);
  self->lying = !fits_standing (self);
  self->unit = plot_time_unit (longest, &self->unit_name);
  self->highest = longest / self->unit;
  at = self->lying && self->grouped ? 1 : 0;
  gap = self->lying ? 2 : 1.6; /* where the title of lines stands */
  for (guint i = 0; i < self->n; i++)
    {
      at += i > 0 && self->grouped && !same_group (self, i - 1, i) ? gap : 1;
      self->places[i] = at;
    }
}

/* ---- data ------------------------------------------------------------------------------------ */

#define FIRST_PART_COLUMN 3
#define STEP_COLUMN       (FIRST_PART_COLUMN + TIME_N)
#define FITS_COLUMN       (STEP_COLUMN + 1)

static void
add_data (const Picture *self, Facets *facets)
{
  g_autoptr (GString) columns = g_string_new ("place name");

  for (guint part = 0; part < TIME_N; part++)
    g_string_append_printf (columns, " %s_s", time_part_key ((TimePart) part));
  g_string_append (columns, " step_time_s fits");
  facets_block (facets, columns->str);
  for (guint i = 0; i < self->n; i++)
    {
      const Prediction *p = prediction_at (self, i);

      plot_append_number (facets->data, self->places[i]);
      plot_append_text (facets->data, self->names[i]);
      for (guint part = 0; part < TIME_N; part++)
        plot_append_number (facets->data, p->parts[part]);
      plot_append_number (facets->data, p->step_time_s);
      g_string_append_printf (facets->data, "%d\n", p->fits);
    }
}

/* ---- script ---------------------------------------------------------------------------------- */

/* TEXT at PLACE, in gnuplot's words. */
static void
add_label (Facets *facets, const char *text, const char *place)
{
  g_autoptr (GString) quoted = g_string_new (NULL);

  gnuplot_append_quoted (quoted, text);
  facets_command (facets, "set label %s at %s font ',12'", quoted->str, place);
}

/* Above the bars of each group, or at the left edge of its first line. */
static void
add_group_titles (const Picture *self, Facets *facets)
{
  for (guint i = 0; self->grouped && i < self->n; i = group_end (self, i))
    {
      const double     first = self->places[i], last = self->places[group_end (self, i) - 1];
      g_autofree char *title = group_title (self, i);
      g_autofree char *place =
          self->lying ? g_strdup_printf ("first 0, first %g left", first - 0.95)
                      : g_strdup_printf ("first %g, graph 1.04 center", (first + last) / 2);

      add_label (facets, title, place);
    }
}

/* Each part from the sum of those before it; the name on the left, the step's time on the right. */
static void
add_lines (const Picture *self, Facets *facets)
{
  facets_command (facets,
                  "set xlabel 'time of a step on the critical path (%s)'\n"
                  "set tmargin 3.5\nunset ytics\nset grid noytics xtics back ls 21\n"
                  "set lmargin %u\nset style fill solid 1.0 noborder\n"
                  "set yrange [%g:%s]\nset xrange [0:%g]",
                  self->unit_name, self->widest + 2, self->places[self->n - 1] + 0.7,
                  self->grouped ? "-0.6" : "0.3", 1.4 * self->highest);
  add_group_titles (self, facets);
  for (guint part = 0; part < TIME_N; part++)
    if (self->shown[part])
      facets_draw (facets, time_part_name ((TimePart) part),
                   "data using (0):1:((sum [i=%u:%u] column(i)) / unit):((sum [i=%u:%u] "
                   "column(i)) / unit):($1 - 0.39):($1 + 0.39) with boxxyerror ls %u",
                   FIRST_PART_COLUMN, FIRST_PART_COLUMN + part - 1, FIRST_PART_COLUMN,
                   FIRST_PART_COLUMN + part, part + 1);
  facets_draw (facets, NULL, "data using (0):1:2 with labels right offset -0.6,0 font ',11'");
  facets_draw (facets, NULL,
               "data using (column(%u) / unit):1:(column(%u) > 0 ? sprintf('%%.2f', column(%u) / "
               "unit) : '') with labels left offset 0.5,0 font ',11'",
               STEP_COLUMN, FITS_COLUMN, STEP_COLUMN);
  facets_draw (facets, NULL,
               "data using (column(%u) / unit):1:(column(%u) > 0 ? '' : sprintf('%%.2f  does not "
               "fit', column(%u) / unit)) with labels left offset 0.5,0 font ',11' textcolor rgb "
               "'#882255'",
               STEP_COLUMN, FITS_COLUMN, STEP_COLUMN);
}

/* Boxes from the highest sum down, so that each leaves its part visible; the step's time above. */
static void
add_bars (const Picture *self, Facets *facets)
{
  /*
   * Names are labels, not tics, for which gnuplot looks for room by itself and may find none; so
   * the margin is set here.
   */
  facets_command (facets,
                  "set tmargin 5\nset ylabel 'time of a step on the critical path (%s)'\n"
                  "set xrange [0.4:%g]\nset yrange [0:%g]\nset boxwidth 0.78\nunset xtics\n"
                  "set bmargin 3",
                  self->unit_name, self->places[self->n - 1] + 0.6, 1.12 * self->highest);
  add_group_titles (self, facets);
  for (guint part = TIME_N; part-- > 0;)
    if (self->shown[part])
      facets_draw (facets, time_part_name ((TimePart) part),
                   "data using 1:((sum [i=%u:%u] column(i)) / unit) with boxes ls %u",
                   FIRST_PART_COLUMN, FIRST_PART_COLUMN + part, part + 1);
  facets_draw (facets, NULL, "data using 1:(0):2 with labels center offset 0,-0.9");
  facets_draw (facets, NULL,
               "data using 1:(column(%u) / unit):(sprintf('%%.2f', column(%u) / unit)) with labels "
               "offset 0,0.7 font ',11'",
               STEP_COLUMN, STEP_COLUMN);
  facets_draw (facets, NULL,
               "data using 1:(column(%u) / unit):(column(%u) > 0 ? '' : 'does not fit') with "
               "labels offset 0,1.6 font ',10' textcolor rgb '#882255'",
               STEP_COLUMN, FITS_COLUMN);
}

/* Size in the units of the fonts. */
static void
picture_size (const Picture *self, guint *width, guint *height)
{
  const double     last = self->places[self->n - 1];
  g_autofree char *title = picture_title (self);
  guint            longest = 0; /* columns of the titles of groups */

  for (guint i = 0; self->grouped && i < self->n; i = group_end (self, i))
    {
      g_autofree char *group = group_title (self, i);

      longest = MAX (longest, text_columns (group));
    }
  *width = LEGEND_PIXELS + 50 + (guint) (BAR_PIXELS * last);
  *height = 480;
  if (self->lying)
    {
      *width =
          LEGEND_PIXELS + COLUMN_PIXELS * (self->widest + 2) + MAX (520, COLUMN_PIXELS * longest);
      *height = MAX (130 + (guint) (LINE_PIXELS * last), LEAST_PIXELS);
    }
  *width = MAX (MAX (*width, 640), COLUMN_PIXELS * text_columns (title));
}

void
plot_add_time_split (GArray *pictures, const GPtrArray *predictions, const char *style)
{
  Facets          *facets = facets_new (PICTURE_TIME_SPLIT);
  g_autofree char *title = NULL;
  Picture          picture;
  guint            width, height;

  picture_init (&picture, predictions);
  title = picture_title (&picture);
  add_data (&picture, facets);
  facets_command (facets, "unit = %g", picture.unit);
  /* in the middle of the picture, not of the graph, which may be narrower */
  add_label (facets, title, "screen 0.5, screen 1 center offset 0,-1.5");
  if (picture.lying)
    add_lines (&picture, facets);
  else
    add_bars (&picture, facets);
  picture_size (&picture, &width, &height);
  facets_finish (facets, NULL, width, height, style, pictures);
  g_strfreev (picture.names);
  g_free (picture.places);
}
