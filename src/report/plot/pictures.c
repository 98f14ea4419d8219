/* Which pictures there are of predictions. */
#include "report/plot/plot-private.h"

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

gboolean
plot_add_predictions (GArray *pictures, const PlotScripts *scripts, const GPtrArray *predictions,
                      const Replay *const *replays, GError **error)
{
  if (predictions->len == 0)
    return TRUE;
  plot_add_time_split (pictures, predictions, scripts->style);
  if (predictions->len == 1 && replays != NULL && replays[0] != NULL
      && !add_replay (pictures, scripts, g_ptr_array_index (predictions, 0), replays[0], error))
    return FALSE;
  return plot_add_comparison (pictures, scripts, predictions, error);
}
