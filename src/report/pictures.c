/* Which pictures there are of predictions. */
#include "report/plot-private.h"

gboolean
report_plot_check (const char *dir, GError **error)
{
  return gnuplot_check (dir, error);
}

GArray *
plot_pictures (const GPtrArray *predictions, const Replay *const *replays, const char *style_file,
               GError **error)
{
  g_autoptr (GArray) pictures = gnuplot_pictures_new ();
  g_autofree char   *style = NULL;
  GnuplotPicture     split;

  (void) replays;
  if (predictions->len == 0)
    return g_steal_pointer (&pictures);
  if (!g_file_get_contents (style_file, &style, NULL, error))
    return NULL;
  split = plot_time_split (predictions, style);
  g_array_append_val (pictures, split);
  return g_steal_pointer (&pictures);
}

gboolean
report_plot_write (const GPtrArray *predictions, const Replay *const *replays, const char *dir,
                   const char *style_file, GError **error)
{
  g_autoptr (GArray) pictures = plot_pictures (predictions, replays, style_file, error);

  return pictures != NULL
         && (pictures->len == 0
             || gnuplot_draw (&g_array_index (pictures, GnuplotPicture, 0), pictures->len, dir,
                              error));
}
