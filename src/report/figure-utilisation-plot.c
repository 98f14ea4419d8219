/* Utilisation over bandwidth: a panel a model, drawn by gnuplot. */
#include <string.h>

#include "report/figure-utilisation.h"
#include "report/gnuplot-private.h"

#define WIDTH    1250
#define HEIGHT   420
#define MAX_NAME 40

static const UtilisationRow *
row_at (const FigureUtilisation *self, guint i)
{
  return &g_array_index (self->rows, UtilisationRow, i);
}

static GPtrArray *
models_of (const FigureUtilisation *self)
{
  GPtrArray *models = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    if (!g_ptr_array_find_with_equal_func (models, row_at (self, i)->model, g_str_equal, NULL))
      g_ptr_array_add (models, (gpointer) row_at (self, i)->model);
  return models;
}

/* Two blocks a row: the line, and the published points. */
static char *
data_of (const FigureUtilisation *self)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < self->rows->len; i++)
    {
      const UtilisationRow *row = row_at (self, i);

      g_string_append (out, "# gbit_per_s utilisation_percent\n");
      for (guint r = 0; r < UTILISATION_N_RATES; r++)
        g_string_append_printf (out, "%.6g %.6g\n", utilisation_rate (r) / 1e9,
                                100 * row->of_rate[r]);
      g_string_append (out, "\n\n# published\n0 NaN\n");
      for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
        if (row->published[t] > 0)
          g_string_append_printf (out, "%.6g %.6g\n", row->published[t] / 1e9,
                                  100 * utilisation_targets[t]);
      g_string_append (out, "\n\n");
    }
  return g_string_free (out, FALSE);
}

/* The methods of MODEL, in order: with their data, or (KEY) their names alone. */
static void
append_lines (const FigureUtilisation *self, const char *model, gboolean key, GString *out)
{
  guint n = 0;

  g_string_append (out, "plot ");
  for (guint i = 0; i < self->rows->len; i++)
    {
      const UtilisationRow *row = row_at (self, i);
      g_autofree char      *name = gnuplot_plain_text (row->method, MAX_NAME);

      if (!g_str_equal (row->model, model))
        continue;
      n++;
      g_string_append (out, n > 1 ? ", \\\n  " : "");
      if (key)
        {
          g_string_append_printf (out, "NaN with lines ls %u lw 2 title ", n);
          gnuplot_append_quoted (out, name);
          continue;
        }
      g_string_append_printf (out,
                              "data index %u using 1:2 with lines ls %u lw 2 notitle, \\\n"
                              "  data index %u using 1:2 with points ls %u pt 2 ps 0.9 lw 1.5 "
                              "notitle",
                              2 * i, n, 2 * i + 1, n);
    }
  g_string_append (out,
                   key ? ", NaN with points ls 20 pt 2 ps 0.9 lw 1.5 title 'published'\n" : "\n");
}

static char *
plot_of (const FigureUtilisation *self)
{
  g_autoptr (GPtrArray) models = models_of (self);
  GString              *out = g_string_new (NULL);

  g_string_append_printf (out,
                          "set multiplot layout 1,%u\nset logscale x 10\nset xrange [0.1:1000]\n"
                          "set yrange [0:100]\nset xlabel 'Gbit/s between replicas'\n"
                          "set ylabel 'time in which a replica computes, %%'\n"
                          "set grid xtics ytics back ls 21\n",
                          models->len + 1);
  for (guint m = 0; m < models->len; m++)
    {
      g_string_append (out, "set title ");
      gnuplot_append_quoted (out, g_ptr_array_index (models, m));
      g_string_append_c (out, '\n');
      append_lines (self, g_ptr_array_index (models, m), FALSE, out);
    }
  g_string_append (out, "unset title\nunset xlabel\nunset ylabel\nunset tics\nunset grid\n"
                        "unset border\nset key inside left center\n");
  append_lines (self, g_ptr_array_index (models, 0), TRUE, out);
  g_string_append (out, "unset multiplot\nunset logscale\nset xrange [*:*]\nset yrange [*:*]\n");
  return g_string_free (out, FALSE);
}

gboolean
report_utilisation_plot (const FigureUtilisation *self, const char *dir, const char *style_file,
                         GError **error)
{
  g_autofree char *style = NULL, *plot = plot_of (self), *data = data_of (self);
  g_autofree char *name = g_strdup_printf ("%s-utilisation", self->name), *script = NULL;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  script = gnuplot_script (name, style, "", plot, WIDTH, HEIGHT);
  return gnuplot_draw (&(GnuplotPicture){ name, data, script }, 1, dir, error);
}
