/* Curves, drawn by gnuplot: a panel each, a line a series, what is published as a level. */
#include <math.h>

#include "report/figure-curves.h"
#include "report/gnuplot-private.h"

#define PANEL_WIDTH  640
#define PANEL_HEIGHT 560
#define MAX_NAME     48
#define KEY_LINE     6 /* of the margin, from the axis on */
#define MAX_TITLE    96

static const CurvePanel *
panel_at (const FigureCurves *self, guint i)
{
  return &g_array_index (self->panels, CurvePanel, i);
}

/* A block a series, panel by panel. */
static char *
data_of (const FigureCurves *self)
{
  GString *out = g_string_new (NULL);

  for (guint p = 0; p < self->panels->len; p++)
    for (guint s = 0; s < panel_at (self, p)->series->len; s++)
      {
        const CurvePanel *panel = panel_at (self, p);

        g_string_append (out, "# x value\n");
        for (guint i = 0; i < panel->xs->len; i++)
          if (isnan (curve_value (panel, s, i)))
            g_string_append_printf (out, "%.6g NaN\n", g_array_index (panel->xs, double, i));
          else
            g_string_append_printf (out, "%.6g %.6g\n", g_array_index (panel->xs, double, i),
                                    curve_value (panel, s, i));
        g_string_append (out, "\n\n");
      }
  return g_string_free (out, FALSE);
}

static void
append_text (GString *out, const char *before, const char *text)
{
  g_autofree char *plain = gnuplot_plain_text (text, MAX_TITLE);

  g_string_append (out, before);
  gnuplot_append_quoted (out, plain);
  g_string_append_c (out, '\n');
}

/* FIRST: the block of the panel's first series. */
static void
append_panel (const CurvePanel *panel, guint first, GString *out)
{
  append_text (out, "set title ", panel->figure);
  append_text (out, "set xlabel ", panel->x);
  append_text (out, "set ylabel ", panel->metric);
  if (panel->over != NULL)
    g_string_append_printf (out, "set ylabel 'gain over %s'\n", panel->over);
  /* a line of the margin for two entries of the key, below the axis and its title */
  g_string_append_printf (out, "set bmargin %u\nplot ", panel->series->len / 2 + KEY_LINE);
  for (guint s = 0; s < panel->series->len; s++)
    {
      g_autofree char *name = gnuplot_plain_text (g_ptr_array_index (panel->series, s), MAX_NAME);

      g_string_append_printf (out,
                              "%sdata index %u using 1:2 with linespoints ls %u lw 2 pt 7 ps 0.5 "
                              "title ",
                              s > 0 ? ", \\\n  " : "", first + s, s % 11 + 1);
      gnuplot_append_quoted (out, name);
    }
  if (!isnan (panel->published))
    g_string_append_printf (out, ", \\\n  %g with lines ls 22 title 'published: up to %g'",
                            panel->published, panel->published);
  g_string_append_c (out, '\n');
}

static char *
plot_of (const FigureCurves *self)
{
  GString *out = g_string_new (NULL);
  guint    first = 0;

  g_string_append_printf (out,
                          "set multiplot layout 1,%u\nset logscale x 10\nset yrange [0:*]\n"
                          "set offsets 0,0,graph 0.05,0\n"
                          "set grid xtics ytics back ls 21\nset key bmargin center horizontal\n",
                          self->panels->len);
  for (guint p = 0; p < self->panels->len; p++)
    {
      append_panel (panel_at (self, p), first, out);
      first += panel_at (self, p)->series->len;
    }
  g_string_append (out, "unset multiplot\nunset logscale\nset xrange [*:*]\nset yrange [*:*]\n");
  return g_string_free (out, FALSE);
}

gboolean
report_curves_plot (const FigureCurves *self, const char *dir, const char *style_file,
                    GError **error)
{
  g_autofree char *style = NULL, *plot = plot_of (self), *data = data_of (self);
  g_autofree char *script = NULL;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  script = gnuplot_script (self->name, style, "", plot, (gint) self->panels->len * PANEL_WIDTH,
                           PANEL_HEIGHT);
  return gnuplot_draw (&(GnuplotPicture){ self->name, data, script }, 1, dir, error);
}
