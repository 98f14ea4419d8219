/* "time-split": stacked bars of where a step's time goes. */
#include "report/plot-private.h"

#include <string.h>

#define NAME       "time-split"
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
same_group (const Prediction *a, const Prediction *b)
{
  return g_str_equal (a->model, b->model) && g_str_equal (a->cluster, b->cluster);
}

/* Whether no model and cluster comes again after others. */
static gboolean
groups_follow (const Picture *self)
{
  for (guint i = 1; i < self->n; i++)
    for (guint j = 0; j + 1 < i; j++)
      if (same_group (prediction_at (self, i), prediction_at (self, j))
          && !same_group (prediction_at (self, i), prediction_at (self, i - 1)))
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

/* The bar behind the last one of the group of bar I. */
static guint
group_end (const Picture *self, guint i)
{
  guint end = i + 1;

  while (end < self->n && same_group (prediction_at (self, i), prediction_at (self, end)))
    end++;
  return end;
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
  double            longest = 0;

  *self = (Picture){ .predictions = predictions,
                     .n = MIN (predictions->len, MAX_LINES),
                     .one_model = TRUE,
                     .one_strategy = TRUE,
                     .one_cluster = TRUE };
  self->names = bar_names (predictions, self->n);
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
  self->unit = longest >= 1 ? 1 : longest >= 1e-3 ? 1e-3 : 1e-6;
  self->unit_name = longest >= 1 ? "s" : longest >= 1e-3 ? "ms" : "us";
  self->highest = longest / self->unit;
}

/* Whether a group begins at bar I: it has a title. */
static gboolean
begins_group (const Picture *self, guint i)
{
  return self->grouped
         && (i == 0 || !same_group (prediction_at (self, i - 1), prediction_at (self, i)));
}

/* Places of the bars: one apart, and a gap before each group, where the title of lines stands. */
static double *
bar_places (const Picture *self)
{
  double *places = g_new0 (double, MAX (self->n, 1));
  double  gap = self->lying ? 2 : 1.6, at = self->lying && self->grouped ? 1 : 0;

  for (guint i = 0; i < self->n; i++)
    {
      at += i > 0 && begins_group (self, i) ? gap : 1;
      places[i] = at;
    }
  return places;
}

static void
append_number (GString *out, double value)
{
  g_autofree char *text = number_format_exact (value);

  g_string_append (out, text);
}

/* ---- data ------------------------------------------------------------------------------------ */

static void
append_data_row (const Picture *self, guint i, double place, GString *out)
{
  const Prediction *p = prediction_at (self, i);

  append_number (out, place);
  g_string_append_printf (out, " \"%s\"", self->names[i]);
  for (guint part = 0; part < TIME_N; part++)
    {
      g_string_append_c (out, ' ');
      append_number (out, p->parts[part]);
    }
  g_string_append_c (out, ' ');
  append_number (out, p->step_time_s);
  g_string_append_printf (out, " %d\n", p->fits);
}

static char *
data_text (const Picture *self, const double *places)
{
  GString *out = g_string_new ("# place name");

  for (guint part = 0; part < TIME_N; part++)
    g_string_append_printf (out, " %s_s", time_part_key ((TimePart) part));
  g_string_append (out, " step_time_s fits\n");
  for (guint i = 0; i < self->n; i++)
    append_data_row (self, i, places[i], out);
  return g_string_free (out, FALSE);
}

/* ---- script ---------------------------------------------------------------------------------- */

#define FIRST_PART_COLUMN 3
#define STEP_COLUMN       (FIRST_PART_COLUMN + TIME_N)
#define FITS_COLUMN       (STEP_COLUMN + 1)

/* Above the bars of each group. */
static void
append_group_titles (const Picture *self, const double *places, GString *out)
{
  for (guint i = 0; i < self->n; i = group_end (self, i))
    {
      g_autofree char *title = group_title (self, i);

      g_string_append (out, "set label ");
      gnuplot_append_quoted (out, title);
      g_string_append (out, " at first ");
      append_number (out, (places[i] + places[group_end (self, i) - 1]) / 2);
      g_string_append (out, ", graph 1.04 center font ',12'\n");
    }
}

/* In the middle of the picture, not of the graph, which may be narrower. */
static void
append_title (const Picture *self, GString *out)
{
  g_autofree char *title = picture_title (self);

  g_string_append (out, "set label ");
  gnuplot_append_quoted (out, title);
  g_string_append (out, " at screen 0.5, screen 1 center offset 0,-1.5 font ',12'\n");
}

static void
append_axes (const Picture *self, const double *places, GString *out)
{
  append_title (self, out);
  g_string_append_printf (out,
                          "set tmargin 5\nset ylabel 'time of a step on the critical path (%s)'\n",
                          self->unit_name);
  g_string_append (out, "set xrange [0.4:");
  append_number (out, places[self->n - 1] + 0.6);
  g_string_append (out, "]\nset yrange [0:");
  append_number (out, 1.12 * self->highest);
  g_string_append (out, "]\nset boxwidth 0.78\n");
  /*
   * Names are labels, not tics, for which gnuplot looks for room by itself and may find none; so
   * the margin is set here.
   */
  g_string_append (out, "unset xtics\nset bmargin 3\n");
  if (self->grouped)
    append_group_titles (self, places, out);
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Above the first line of each group, at the left edge of the bars. */
static void
append_line_titles (const Picture *self, const double *places, GString *out)
{
  for (guint i = 0; i < self->n; i = group_end (self, i))
    {
      g_autofree char *title = group_title (self, i);

      g_string_append (out, "set label ");
      gnuplot_append_quoted (out, title);
      g_string_append (out, " at first 0, first ");
      append_number (out, places[i] - 0.95);
      g_string_append (out, " left font ',12'\n");
    }
}

static void
append_line_axes (const Picture *self, const double *places, GString *out)
{
  append_title (self, out);
  g_string_append_printf (
      out,
      "set xlabel 'time of a step on the critical path (%s)'\n"
      "set tmargin 3.5\nunset ytics\nset grid noytics xtics back ls 21\nset lmargin %u\n"
      "set style fill solid 1.0 noborder\n"
      "set yrange [",
      self->unit_name, self->widest + 2);
  append_number (out, places[self->n - 1] + 0.7);
  g_string_append_printf (out, ":%s]\nset xrange [0:", self->grouped ? "-0.6" : "0.3");
  append_number (out, 1.4 * self->highest);
  g_string_append (out, "]\n");
  if (self->grouped)
    append_line_titles (self, places, out);
}

/* Each part from the sum of those before it; the name on the left, the step's time on the right. */
static void
append_lines (const Picture *self, GString *out)
{
  g_string_append (out, "plot \\\n");
  for (guint part = 0; part < TIME_N; part++)
    if (self->shown[part])
      {
        g_string_append_printf (
            out,
            "  data using (0):1:((sum [i=%u:%u] column(i)) / unit):((sum [i=%u:%u] column(i)) / "
            "unit):($1 - 0.39):($1 + 0.39) with boxxyerror ls %u title ",
            FIRST_PART_COLUMN, FIRST_PART_COLUMN + part - 1, FIRST_PART_COLUMN,
            FIRST_PART_COLUMN + part, part + 1);
        gnuplot_append_quoted (out, time_part_name ((TimePart) part));
        g_string_append (out, ", \\\n");
      }
  g_string_append_printf (
      out,
      "  data using (0):1:2 with labels right offset -0.6,0 font ',11' notitle, \\\n"
      "  data using (column(%u) / unit):1:(column(%u) > 0 ? sprintf('%%.2f', column(%u) / unit) : "
      "'') with labels left offset 0.5,0 font ',11' notitle, \\\n"
      "  data using (column(%u) / unit):1:(column(%u) > 0 ? '' : sprintf('%%.2f  does not fit', "
      "column(%u) / unit)) with labels left offset 0.5,0 font ',11' textcolor rgb '#882255' "
      "notitle\n",
      STEP_COLUMN, FITS_COLUMN, STEP_COLUMN, STEP_COLUMN, FITS_COLUMN, STEP_COLUMN);
}

/* ---- bars ------------------------------------------------------------------------------------ */

/* Boxes from the highest sum down, so that each leaves its part visible; the step's time above. */
static void
append_plot (const Picture *self, GString *out)
{
  g_string_append (out, "plot \\\n");
  for (guint part = TIME_N; part-- > 0;)
    if (self->shown[part])
      {
        g_string_append_printf (
            out, "  data using 1:((sum [i=%u:%u] column(i)) / unit) with boxes ls %u title ",
            FIRST_PART_COLUMN, FIRST_PART_COLUMN + part, part + 1);
        gnuplot_append_quoted (out, time_part_name ((TimePart) part));
        g_string_append (out, ", \\\n");
      }
  g_string_append_printf (
      out,
      "  data using 1:(0):2 with labels center offset 0,-0.9 notitle, \\\n"
      "  data using 1:(column(%u) / unit):(sprintf('%%.2f', column(%u) / unit)) with labels "
      "offset 0,0.7 font ',11' notitle, \\\n"
      "  data using 1:(column(%u) / unit):(column(%u) > 0 ? '' : 'does not fit') with labels "
      "offset 0,1.6 font ',10' textcolor rgb '#882255' notitle\n",
      STEP_COLUMN, STEP_COLUMN, STEP_COLUMN, FITS_COLUMN);
}

/* Columns of the longest title of a group. */
static guint
group_columns (const Picture *self)
{
  guint columns = 0;

  for (guint i = 0; self->grouped && i < self->n; i = group_end (self, i))
    {
      g_autofree char *title = group_title (self, i);

      columns = MAX (columns, text_columns (title));
    }
  return columns;
}

/* Size in the units of the fonts. */
static void
picture_size (const Picture *self, const double *places, guint *width, guint *height)
{
  g_autofree char *title = picture_title (self);

  if (self->lying)
    {
      *width = LEGEND_PIXELS + COLUMN_PIXELS * (self->widest + 2)
               + MAX (520, COLUMN_PIXELS * group_columns (self));
      *height = MAX (130 + (guint) (LINE_PIXELS * places[self->n - 1]), LEAST_PIXELS);
    }
  else
    {
      *width = LEGEND_PIXELS + 50 + (guint) (BAR_PIXELS * places[self->n - 1]);
      *height = 480;
    }
  *width = MAX (MAX (*width, 640), COLUMN_PIXELS * text_columns (title));
}

static char *
script_text (const Picture *self, const double *places, const char *style)
{
  GString *out = g_string_new ("# Draws " NAME ".png and " NAME ".svg from " NAME
                               ".dat: gnuplot " NAME ".gp\n");
  guint    width, height;

  picture_size (self, places, &width, &height);
  g_string_append_printf (out, "%s\ndata = '" NAME ".dat'\nunit = ", style);
  append_number (out, self->unit);
  g_string_append_c (out, '\n');
  if (self->lying)
    append_line_axes (self, places, out);
  else
    append_axes (self, places, out);
  g_string_append_printf (
      out,
      "\nset terminal pngcairo noenhanced font 'Liberation Sans,12' fontscale 1.6 size %u,%u\n",
      8 * width / 5, 8 * height / 5);
  g_string_append (out, "set output '" NAME ".png'\n");
  if (self->lying)
    append_lines (self, out);
  else
    append_plot (self, out);
  g_string_append_printf (
      out,
      "\nset terminal svg noenhanced font 'Liberation Sans,12' size %u,%u background '#ffffff'\n"
      "set output '" NAME ".svg'\nreplot\n",
      width, height);
  return g_string_free (out, FALSE);
}

GnuplotPicture
plot_time_split (const GPtrArray *predictions, const char *style)
{
  g_autofree double *places = NULL;
  GnuplotPicture     drawn = { .name = g_strdup (NAME) };
  Picture            picture;

  picture_init (&picture, predictions);
  places = bar_places (&picture);
  drawn.data = data_text (&picture, places);
  drawn.script = script_text (&picture, places, style);
  g_strfreev (picture.names);
  return drawn;
}
