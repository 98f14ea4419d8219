/* What figures of the hardware do to the step, drawn by gnuplot: a bar to each side a figure. */
#include <math.h>

#include "report/answer/sensitivity.h"
#include "report/plot/facets-private.h"

#define MAX_FIGURES 24
#define MAX_NAME    60

/* The figures that are drawn: those that matter most. */
static GPtrArray *
figures_of (const Sensitivity *self)
{
  GPtrArray *list = g_ptr_array_new ();

  for (guint i = 0; i < self->figures->len && list->len < MAX_FIGURES; i++)
    {
      FigureEffect *effect = &g_array_index (self->figures, FigureEffect, i);

      if (effect->matters)
        g_ptr_array_add (list, effect);
    }
  return list;
}

/* Per cent of the step time. */
static double
change_of (const Sensitivity *self, const FigureSample *sample)
{
  return isnan (sample->value) ? 0
                               : 100 * (sample->step_time_s / self->prediction->step_time_s - 1);
}

gboolean
report_sensitivity_plot (const Sensitivity *self, const char *dir, const char *style_file,
                         GError **error)
{
  g_autoptr (GPtrArray) figures = figures_of (self);
  g_autoptr (GPtrArray) names = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GArray)    pictures = gnuplot_pictures_new ();
  const Prediction     *given = self->prediction;
  g_autofree char      *what = g_strdup_printf ("%s: %s", given->strategy, given->model);
  g_autofree char      *style = NULL, *less = g_strdup_printf ("1/%g as much", self->factor);
  g_autofree char      *more = g_strdup_printf ("%g times as much", self->factor);
  static const char     box[] = ":($1-0.38):($1+0.38) with boxxyerror ls";
  Facets               *facets;

  if (figures->len == 0)
    return TRUE;
  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  facets = facets_new ("sensitivity");
  facets_block (facets, "line less more: per cent of the step time");
  for (guint i = 0; i < figures->len; i++)
    {
      const FigureEffect *effect = g_ptr_array_index (figures, i);
      g_autofree char    *value = hardware_figure_format (&effect->figure, effect->figure.value);

      facets_line (facets, i, change_of (self, &effect->down), change_of (self, &effect->up));
      g_ptr_array_add (names, g_strdup_printf ("%s, %s", effect->figure.name, value));
    }
  g_string_append (facets->head, "set title ");
  gnuplot_append_quoted (facets->head, what);
  g_string_append (facets->head, " . \"\\n\" . ");
  gnuplot_append_quoted (facets->head, given->cluster);
  g_string_append_printf (facets->head,
                          "\nset xlabel 'step time, %%' noenhanced\nset yrange [%u.5:-0.5]\n"
                          "set grid noytics xtics back ls 21\nset format x '%%g'\n"
                          "set key outside center bottom horizontal\nset tics scale 0\n"
                          "set yzeroaxis ls 20\n",
                          figures->len - 1);
  gnuplot_append_tics (facets->head, 'y', (const char *const *) names->pdata, names->len, MAX_NAME);
  facets_draw (facets, less, "data using (0):1:(0):2%s 4", box);
  facets_draw (facets, more, "data using (0):1:(0):3%s 2", box);
  facets_finish (facets, NULL, 820, 150 + 24 * figures->len, style, pictures);
  return gnuplot_draw (&g_array_index (pictures, GnuplotPicture, 0), 1, dir, error);
}
