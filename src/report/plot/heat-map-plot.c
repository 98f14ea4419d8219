/* A heat map, drawn by gnuplot: tokens/s/GPU as colours, each cell with its number. */
#include <math.h>

#include "report/answer/heat-map.h"
#include "report/plot/plot-private.h"

/* NULL-terminated; the strings stay TEXTS'. */
static const char **
names_of (const GPtrArray *texts)
{
  const char **names = g_new0 (const char *, texts->len + 1);

  for (guint i = 0; i < texts->len; i++)
    names[i] = g_ptr_array_index (texts, i);
  return names;
}

gboolean
report_heat_map_plot (const HeatMap *self, const char *dir, const char *style_file, GError **error)
{
  g_autofree double      *values = g_new (double, self->cells->len);
  g_autofree const char **words = g_new (const char *, self->cells->len);
  g_autofree const char **x_names = names_of (self->x.texts), **y_names = names_of (self->y.texts);
  g_autofree char        *title =
      g_strdup_printf ("%s: %s on %s", self->strategy, self->model, self->cluster);
  g_autoptr (GArray)   pictures = gnuplot_pictures_new ();
  g_auto (PlotScripts) scripts = { 0 };
  const PlotMatrix     matrix = { .title = title,
                                  .x_title = self->x.name,
                                  .y_title = self->y.name,
                                  .z_title = "tokens/s/GPU",
                                  .x_names = x_names,
                                  .y_names = y_names,
                                  .values = values,
                                  .words = words };

  for (guint i = 0; i < self->cells->len; i++) /* what does not fit, or cannot be, has no value */
    {
      const HeatCell *cell = &g_array_index (self->cells, HeatCell, i);

      values[i] = cell->possible && cell->fits ? cell->tokens_per_s_per_gpu : NAN;
      words[i] = cell->possible ? PLOT_TOO_BIG : "-";
    }
  return plot_scripts_read (&scripts, style_file, error)
         && plot_add_heat_map (pictures, &scripts, PICTURE_HEAT_MAP, &matrix, error)
         && gnuplot_draw (&g_array_index (pictures, GnuplotPicture, 0), 1, dir, error);
}
