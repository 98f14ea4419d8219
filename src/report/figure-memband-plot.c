/*
 * The series of the closed form, a picture each, and what is simulated and measured against it,
 * drawn by gnuplot.
 */
#include <math.h>
#include <string.h>

#include "report/figure-memband.h"
#include "report/gnuplot-private.h"

#define WIDTH     900
#define HEIGHT    520
#define MAX_NAME  40
#define MAX_TITLE 110
#define N_STYLES  11
#define BEYOND    1.25 /* of an axis over its points */

static const struct
{
  const char *word, *axis;
} axes[] = {
  { "n_ranks", "GPUs" },
  { "gbit_per_s", "Gbit/s at which a GPU receives" },
  { "memory_gb", "memory, GB a GPU" },
  { "seq_len", "tokens of a sequence" },
  { "mfu", "MFU of the closed form, %" },
  { "hfu", "HFU of the closed form, %" },
  { "longest", "longest sequence, tokens" },
  { "tokens_per_s", "tokens/s/GPU of the closed form" },
};

static const char *
axis_of (const char *word)
{
  for (guint i = 0; i < G_N_ELEMENTS (axes); i++)
    if (g_str_equal (axes[i].word, word))
      return axes[i].axis;
  return word;
}

static const MembandRow *
row_at (const FigureMemband *self, guint i)
{
  return &g_array_index (self->rows, MembandRow, i);
}

/* Takes PLOT. */
static GnuplotPicture
picture_new (const FigureMemband *self, const char *figure, char *data, char *plot,
             const char *style)
{
  g_autofree char *own = plot;
  char            *name = g_strdup_printf ("%s-%s", self->name, figure);
  GnuplotPicture   picture = { .name = name, .data = data };

  picture.script = gnuplot_script (name, style, "", own, WIDTH, HEIGHT);
  return picture;
}

/* ---- series ---------------------------------------------------------------------------------- */

/* The lines of FIGURE: their titles, in order. */
static GPtrArray *
lines_of (const FigureMemband *self, const char *figure, const MembandRow **first)
{
  GPtrArray *lines = g_ptr_array_new ();

  *first = NULL;
  for (guint i = 0; i < self->rows->len; i++)
    {
      const MembandRow *row = row_at (self, i);

      if (row->part != MEMBAND_SERIES || !g_str_equal (row->figure, figure))
        continue;
      *first = *first != NULL ? *first : row;
      if (!g_ptr_array_find_with_equal_func (lines, row->title, g_str_equal, NULL))
        g_ptr_array_add (lines, (gpointer) row->title);
    }
  return lines;
}

/* A block a line; where nothing fits there is no point. */
static char *
series_data (const FigureMemband *self, const char *figure, const GPtrArray *lines)
{
  GString *out = g_string_new (NULL);

  for (guint l = 0; l < lines->len; l++)
    {
      g_string_append (out, "# x closed_form\n0 NaN\n");
      for (guint i = 0; i < self->rows->len; i++)
        {
          const MembandRow *row = row_at (self, i);
          g_autofree char  *at = number_format_exact (row->at);
          g_autofree char  *value = number_format_exact (row->closed);

          if (row->part == MEMBAND_SERIES && isfinite (row->closed)
              && g_str_equal (row->figure, figure)
              && g_str_equal (row->title, g_ptr_array_index (lines, l)))
            g_string_append_printf (out, "%s %s\n", at, value);
        }
      g_string_append (out, "\n\n");
    }
  return g_string_free (out, FALSE);
}

static GnuplotPicture
series_picture (const FigureMemband *self, const char *figure, const char *style)
{
  const MembandRow     *first;
  g_autoptr (GPtrArray) lines = lines_of (self, figure, &first);
  GString              *plot = g_string_new (NULL);
  g_autofree char      *whole = NULL, *title = NULL;
  const char           *more;
  gboolean              share;

  g_assert (first != NULL); /* the figure is one of theirs */
  more = strchr (first->assumptions, ';');
  whole = g_strconcat (self->name, ": ", figure, more != NULL ? more : "", NULL);
  title = gnuplot_plain_text (whole, MAX_TITLE);
  share = g_str_equal (first->y, "mfu") || g_str_equal (first->y, "hfu");
  g_string_append (plot, "set title ");
  gnuplot_append_quoted (plot, title);
  g_string_append_printf (plot,
                          "\nset xlabel '%s'\nset ylabel '%s'\n"
                          "set logscale x 2\nset grid xtics ytics back ls 21\n%s\nplot ",
                          axis_of (first->x), axis_of (first->y),
                          share ? "set yrange [0:100]" : "set logscale y 10");
  for (guint l = 0; l < lines->len; l++)
    {
      g_autofree char *name = gnuplot_plain_text (g_ptr_array_index (lines, l), MAX_NAME);

      g_string_append_printf (
          plot, "%sdata index %u using 1:2 with linespoints ls %u lw 2 pt 7 ps 0.6%s title ",
          l > 0 ? ", \\\n  " : "", l, l % (N_STYLES - 1) + 1,
          l >= lines->len / 2 && lines->len > 7 ? " dt 2" : "");
      gnuplot_append_quoted (plot, name);
    }
  g_string_append_c (plot, '\n');
  return picture_new (self, figure, series_data (self, figure, lines), g_string_free (plot, FALSE),
                      style);
}

/* ---- beside each other ----------------------------------------------------------------------- */

/* Three blocks: runs of searched points, measured steps over the closed form, over the runs. */
static char *
beside_data (const FigureMemband *self)
{
  GString *searched =
      g_string_new ("# closed_form_at_run_gamma simulated, of what fits, %\n0 NaN\n");
  GString *unfit = g_string_new ("# the same of what does not fit\n0 NaN\n");
  GString *closed = g_string_new ("# measured_s closed_form_s\n0 NaN\n");
  GString *runs = g_string_new ("# measured_s simulated_s\n0 NaN\n");

  for (guint i = 0; i < self->rows->len; i++)
    {
      const MembandRow *row = row_at (self, i);
      g_autofree char  *same = number_format_exact (row->same);
      g_autofree char  *form = number_format_exact (row->closed);
      g_autofree char  *simulated = number_format_exact (row->simulated);
      g_autofree char  *measured = number_format_exact (row->measured);

      if (row->part == MEMBAND_SEARCH && isfinite (row->simulated))
        g_string_append_printf (row->fits ? searched : unfit, "%s %s\n", same, simulated);
      if (row->part == MEMBAND_MEASURED && row->measured > 0)
        g_string_append_printf (closed, "%s %s\n", measured, form);
      if (row->part == MEMBAND_MEASURED && row->measured > 0 && isfinite (row->simulated))
        g_string_append_printf (runs, "%s %s\n", measured, simulated);
    }
  g_string_append_printf (searched, "\n\n%s\n\n%s\n\n%s", unfit->str, closed->str, runs->str);
  g_string_free (unfit, TRUE);
  g_string_free (closed, TRUE);
  g_string_free (runs, TRUE);
  return g_string_free (searched, FALSE);
}

/* The ends of an axis of all steps, a little beyond them; of none 1 and 10. */
static void
find_range (const FigureMemband *self, double *least, double *most)
{
  *least = INFINITY;
  *most = 0;
  for (guint i = 0; i < self->rows->len; i++)
    {
      const MembandRow *row = row_at (self, i);
      const double      steps[] = { row->measured, row->closed, row->simulated };

      for (guint s = 0; s < G_N_ELEMENTS (steps) && row->part == MEMBAND_MEASURED; s++)
        if (isfinite (steps[s]) && steps[s] > 0)
          {
            *least = MIN (*least, steps[s] / BEYOND);
            *most = MAX (*most, steps[s] * BEYOND);
          }
    }
  if (*most > 0)
    return;
  *least = 1;
  *most = 10;
}

/* "(0.2, 0.5, 1, 2, 5)": 1, 2 and 5 of each power of ten from LEAST to MOST. Newly allocated. */
static char *
tics_between (double least, double most)
{
  static const double digits[] = { 1, 2, 5 };
  GString            *out = g_string_new ("(");

  for (int exponent = (int) floor (log10 (least)); exponent <= (int) floor (log10 (most));
       exponent++)
    for (guint i = 0; i < G_N_ELEMENTS (digits); i++)
      {
        const double tic = digits[i] * pow (10, exponent);

        if (tic >= least && tic <= most)
          g_string_append_printf (out, "%s%g", out->len > 1 ? ", " : "", tic);
      }
  g_string_append_c (out, ')');
  return g_string_free (out, FALSE);
}

/* What the measured steps are of: the first row says it. */
static const char *
measured_on (const FigureMemband *self)
{
  for (guint i = 0; i < self->rows->len; i++)
    if (row_at (self, i)->part == MEMBAND_MEASURED)
      return row_at (self, i)->title;
  return "none";
}

static char *
beside_plot (const FigureMemband *self)
{
  GString *out = g_string_new (
      "set multiplot layout 1,2\nset key inside left top opaque\n"
      "set title 'grid search: the same tokens, stage and gamma'\n"
      "set xrange [0:100]\nset yrange [0:100]\n"
      "set xlabel 'MFU of the closed form, %'\nset ylabel 'MFU simulated, %'\n"
      "plot x with lines ls 21 lw 1.5 notitle, \\\n"
      "  data index 0 using 1:2 with points ls 1 pt 7 ps 0.8 title 'fits', \\\n"
      "  data index 1 using 1:2 with points ls 4 pt 6 ps 0.8 title 'does not fit, simulated'\n"
      "set title ");
  g_autofree char *whole = g_strdup_printf ("measured steps, %s", measured_on (self));
  g_autofree char *title = gnuplot_plain_text (whole, MAX_NAME), *tics = NULL;
  double           least, most;

  find_range (self, &least, &most);
  tics = tics_between (least, most);
  gnuplot_append_quoted (out, title);
  g_string_append_printf (out,
                          "\nset logscale xy\nset xrange [%.3g:%.3g]\nset yrange [%.3g:%.3g]\n"
                          "set xtics %s\nset ytics %s\n",
                          least, most, least, most, tics, tics);
  g_string_append (
      out, "set xlabel 'measured, s'\nset ylabel 'predicted, s'\n"
           "plot x with lines ls 21 lw 1.5 notitle, \\\n"
           "  data index 2 using 1:2 with points ls 3 pt 6 ps 0.9 lw 1.5 title 'closed form', \\\n"
           "  data index 3 using 1:2 with points ls 1 pt 7 ps 0.8 title 'simulated'\n"
           "unset multiplot\nunset logscale\nset xrange [*:*]\nset yrange [*:*]\nset xtics auto\n"
           "set ytics auto\n");
  return g_string_free (out, FALSE);
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The figures of the series, in order. */
static GPtrArray *
figures_of (const FigureMemband *self)
{
  GPtrArray *figures = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    if (row_at (self, i)->part == MEMBAND_SERIES
        && !g_ptr_array_find_with_equal_func (figures, row_at (self, i)->figure, g_str_equal, NULL))
      g_ptr_array_add (figures, (gpointer) row_at (self, i)->figure);
  return figures;
}

gboolean
report_memband_plot (const FigureMemband *self, const char *dir, const char *style_file,
                     GError **error)
{
  g_autoptr (GPtrArray)      figures = figures_of (self);
  g_autofree char           *style = NULL;
  g_autofree GnuplotPicture *pictures = g_new0 (GnuplotPicture, figures->len + 1);
  gboolean                   drawn;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  for (guint i = 0; i < figures->len; i++)
    pictures[i] = series_picture (self, g_ptr_array_index (figures, i), style);
  pictures[figures->len] =
      picture_new (self, "beside", beside_data (self), beside_plot (self), style);
  drawn = gnuplot_draw (pictures, figures->len + 1, dir, error);
  for (guint i = 0; i <= figures->len; i++)
    {
      g_free (pictures[i].name);
      g_free (pictures[i].data);
      g_free (pictures[i].script);
    }
  return drawn;
}
