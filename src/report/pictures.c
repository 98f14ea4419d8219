/* Which pictures there are of predictions. */
#include "report/plot-private.h"

#define MAX_RANKS  8
#define MAX_SLICES 400000

gboolean
report_plot_check (const char *dir, GError **error)
{
  return gnuplot_check (dir, error);
}

static gboolean
add_replay (GArray *pictures, const PlotScripts *scripts, const Prediction *p, const Replay *replay,
            GError **error)
{
  g_autoptr (Timeline) timeline = timeline_new (replay, MAX_RANKS, MAX_SLICES);
  g_autoptr (Roofline) roofline = roofline_new (replay);
  g_autofree char     *title = g_strdup_printf ("%s, %s", p->model, p->strategy);

  return plot_add_streams (pictures, scripts, timeline, title, error)
         && plot_add_memory (pictures, scripts, timeline, title, error)
         && plot_add_roofline (pictures, scripts, roofline, title, error);
}

GArray *
plot_pictures (const GPtrArray *predictions, const Replay *const *replays, const char *style_file,
               GError **error)
{
  g_autoptr (GArray)   pictures = gnuplot_pictures_new ();
  g_auto (PlotScripts) scripts = { 0 };
  GnuplotPicture       split;

  if (predictions->len == 0)
    return g_steal_pointer (&pictures);
  if (!plot_scripts_read (&scripts, style_file, error))
    return NULL;
  split = plot_time_split (predictions, scripts.style);
  g_array_append_val (pictures, split);
  if (predictions->len == 1 && replays != NULL && replays[0] != NULL
      && !add_replay (pictures, &scripts, g_ptr_array_index (predictions, 0), replays[0], error))
    return NULL;
  if (!plot_add_comparison (pictures, &scripts, predictions, error))
    return NULL;
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
