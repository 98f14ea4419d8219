/*
 * Published figures and predictions, drawn by gnuplot: a picture a metric, in it a line a row, with
 * a cross where the published number is and a bar from the least to the greatest prediction. Where
 * several metrics are of speed, one more picture has them all as MFU.
 */
#include "report/figures.h"
#include "report/gnuplot-private.h"

#include <math.h>

#define LINE_PIXELS  24
#define OTHER_PIXELS 150
#define PIXELS       1000
#define MAX_NAME     80
#define LOG_FROM     20 /* of the largest number over the smallest */

static const FigureRow *
row_at (const Figures *self, guint i)
{
  return &g_array_index (self->rows, FigureRow, i);
}

/* The metrics of SELF in order of appearance. */
static GPtrArray *
metrics_of (const Figures *self)
{
  GPtrArray *metrics = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    if (!g_ptr_array_find_with_equal_func (metrics, row_at (self, i)->picture, g_str_equal, NULL))
      g_ptr_array_add (metrics, (gpointer) row_at (self, i)->picture);
  return metrics;
}

/* What all metrics of speed are drawn as together. */
static const char mfu_title[] = "MFU, % of the GPUs' peak";

/* A line of a picture. */
typedef struct
{
  const FigureRow *row;
  double           published, published_high;
  double           low, high; /* with row->n_used > 0 */
} Line;

static Line
line_of (const FigureRow *row, gboolean mfu)
{
  if (mfu)
    return (Line){ row, row->mfu_published, row->mfu_published_high, row->mfu_low, row->mfu_high };
  return (Line){ row, row->published, row->published_high, row->low, row->high };
}

/* The lines of a picture. */
typedef struct
{
  GArray *lines; /* Line */
  double  least, most;
  glong   widest; /* characters of a name */
} Lines;

static void
note (Lines *self, double value)
{
  self->least = MIN (self->least, value);
  self->most = MAX (self->most, value);
}

static gboolean
is_drawn (const FigureRow *row, const char *metric)
{
  return metric == mfu_title ? row->mfu_published > 0 : g_str_equal (row->picture, metric);
}

static const Line *
line_at (const Lines *self, guint i)
{
  return &g_array_index (self->lines, Line, i);
}

static Lines
lines_of (const Figures *figures, const char *metric)
{
  Lines self = { g_array_new (FALSE, FALSE, sizeof (Line)), G_MAXDOUBLE, 0, 0 };

  for (guint i = 0; i < figures->rows->len; i++)
    {
      const FigureRow *row = row_at (figures, i);
      Line             line = line_of (row, metric == mfu_title);

      if (!is_drawn (row, metric))
        continue;
      g_array_append_val (self.lines, line);
      self.widest = MAX (self.widest, MIN (g_utf8_strlen (row->row, -1), MAX_NAME));
      if (!isnan (line.published))
        {
          note (&self, line.published);
          note (&self, line.published_high);
        }
      if (row->n_used == 0)
        continue;
      note (&self, line.low);
      note (&self, line.high);
    }
  return self;
}

static void
append_number (double value, GString *out)
{
  g_autofree char *text = number_format_exact (value);

  g_string_append_printf (out, " %s", isnan (value) ? "NaN" : text);
}

static char *
data_text (const Lines *self)
{
  GString *out = g_string_new ("# line published predicted_low predicted_high published_high\n");

  for (guint i = 0; i < self->lines->len; i++)
    {
      const Line *line = line_at (self, i);

      g_string_append_printf (out, "%u", i + 1);
      append_number (line->published, out);
      append_number (line->row->n_used > 0 ? line->low : NAN, out);
      append_number (line->row->n_used > 0 ? line->high : NAN, out);
      append_number (line->published_high, out);
      g_string_append_c (out, '\n');
    }
  return g_string_free (out, FALSE);
}

static void
append_names (const Lines *self, GString *out)
{
  g_string_append (out, "set ytics (");
  for (guint i = 0; i < self->lines->len; i++)
    {
      g_autofree char *plain = gnuplot_plain_text (line_at (self, i)->row->row, MAX_NAME);
      g_auto (GStrv)   parts = g_strsplit (plain, "%", -1);
      g_autofree char *name = g_strjoinv ("%%", parts); /* labels of tics are formats */

      g_string_append (out, i > 0 ? ", " : "");
      gnuplot_append_quoted (out, name);
      g_string_append_printf (out, " %u", i + 1);
    }
  g_string_append (out, ")\n");
}

static void
append_axes (const Lines *self, const char *title, const char *metric, GString *out)
{
  g_string_append (out, "set title ");
  gnuplot_append_quoted (out, title);
  g_string_append_printf (out,
                          "\nset xlabel \"%s\" noenhanced\n"
                          "set yrange [%u.6:0.4]\nset grid noytics xtics back ls 21\n"
                          "set key outside center top horizontal\nset bars 0\n"
                          "set lmargin %ld\nset format x '%%g'\n",
                          metric, self->lines->len, self->widest + 2);
  if (self->least > 0 && self->most > LOG_FROM * self->least)
    g_string_append_printf (out, "set logscale x\nset xrange [%g/1.2:%g*1.2]\n", self->least,
                            self->most);
  else
    g_string_append (out, "set xrange [0:*]\n");
  append_names (self, out);
}

/*
 * A thin line from what was published, or its nearer end, to the nearer end of what is predicted:
 * the error. One in the colour of crosses between the ends of a published range.
 */
static const char plot_text[] =
    "far(p, q, low, high) = low > q ? low - q : high < p ? high - p : 0\n"
    "plot data using ($3 > $5 ? $5 : $2):1:(far($2, $5, $3, $4)):(0) with vectors nohead \\\n"
    "  ls 10 lw 2 notitle, \\\n"
    "  data using 2:1:($5 - $2):(0) with vectors nohead ls 1 lw 2 notitle, \\\n"
    "  data using 3:1:($4 - $3):(0) with vectors nohead ls 4 lw 6 notitle, \\\n"
    "  data using 3:1 with points ls 4 pt 7 ps 1 title 'predicted', \\\n"
    "  data using 4:1 with points ls 4 pt 7 ps 1 notitle, \\\n"
    "  data using 2:1 with points ls 1 pt 2 lw 2 ps 1 title 'published', \\\n"
    "  data using 5:1 with points ls 1 pt 2 lw 2 ps 1 notitle\n";

static GnuplotPicture
picture_of (const Figures *figures, const char *metric, const char *style)
{
  Lines               lines = lines_of (figures, metric);
  g_autofree char    *title = g_strdup_printf ("%s: published and predicted", figures->name);
  g_autoptr (GString) axes = g_string_new (NULL);
  g_auto (GStrv)      words = g_strsplit (metric, ", ", -1); /* "step_time_s, ratio" */
  g_autofree char    *word = metric == mfu_title ? g_strdup ("mfu") : g_strjoinv ("-", words);
  char               *name = g_strdup_printf ("%s-%s", figures->name, word);
  guint               height = OTHER_PIXELS + LINE_PIXELS * lines.lines->len;
  GnuplotPicture      self = { .name = name, .data = data_text (&lines) };

  append_axes (&lines, title, metric, axes);
  self.script = gnuplot_script (name, style, axes->str, plot_text, PIXELS, height);
  g_array_unref (lines.lines);
  return self;
}

/* Metrics of SELF that are of speed. */
static guint
n_speeds (const Figures *self)
{
  g_autoptr (GPtrArray) speeds = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const FigureRow *row = row_at (self, i);

      if (row->mfu_published > 0
          && !g_ptr_array_find_with_equal_func (speeds, row->picture, g_str_equal, NULL))
        g_ptr_array_add (speeds, (gpointer) row->picture);
    }
  return speeds->len;
}

gboolean
report_figures_plot (const Figures *self, const char *dir, const char *style_file, GError **error)
{
  g_autoptr (GPtrArray)      metrics = metrics_of (self);
  g_autofree char           *style = NULL;
  g_autofree GnuplotPicture *pictures = NULL;
  gboolean                   drawn;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  if (n_speeds (self) > 1)
    g_ptr_array_add (metrics, (gpointer) mfu_title);
  pictures = g_new0 (GnuplotPicture, metrics->len);
  for (guint i = 0; i < metrics->len; i++)
    pictures[i] = picture_of (self, g_ptr_array_index (metrics, i), style);
  drawn = gnuplot_draw (pictures, metrics->len, dir, error);
  for (guint i = 0; i < metrics->len; i++)
    {
      g_free (pictures[i].name);
      g_free (pictures[i].data);
      g_free (pictures[i].script);
    }
  return drawn;
}
