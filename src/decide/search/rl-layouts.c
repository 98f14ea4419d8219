#include "decide/search/rl-layouts.h"

#include <math.h>

#define MOST_STAGES 16

/* 1, 2, 4, ... up to MOST; only SET where the scenario sets KEY. */
static GArray *
degrees_of (const Scenario *scenario, const char *key, gint64 set, gint64 most)
{
  GArray *degrees = g_array_new (FALSE, FALSE, sizeof (gint64));

  if (option_marks_has (scenario_marks (scenario, generation_options), key))
    g_array_append_val (degrees, set);
  else
    for (gint64 n = 1; n <= most; n *= 2)
      g_array_append_val (degrees, n);
  return degrees;
}

static void
layout_clear (gpointer data)
{
  g_free (((RlLayout *) data)->reason);
}

GArray *
rl_layouts_list (const Scenario *scenario, const SearchRoom *room)
{
  const GenerationOptions *set = &scenario->generation;
  const gint64             replicas = MAX (MIN (room->n_experts, room->n_gpus), 1);
  g_autoptr (GArray)       tp = degrees_of (scenario, "tp", set->tp, room->gpus_per_node);
  g_autoptr (GArray)       pp = degrees_of (scenario, "pp", set->pp, MOST_STAGES);
  g_autoptr (GArray)       dp = degrees_of (scenario, "dp", set->dp, replicas);
  GArray                  *layouts = g_array_new (FALSE, FALSE, sizeof (RlLayout));

  g_array_set_clear_func (layouts, layout_clear);
  for (guint t = 0; t < tp->len; t++)
    for (guint p = 0; p < pp->len; p++)
      for (guint d = 0; d < dp->len; d++)
        {
          const RlLayout one = { .tp = g_array_index (tp, gint64, t),
                                 .pp = g_array_index (pp, gint64, p),
                                 .dp = g_array_index (dp, gint64, d),
                                 .least = INFINITY };

          if (room->n_gpus % (one.tp * one.pp * one.dp) == 0)
            g_array_append_val (layouts, one);
        }
  return layouts;
}

static gint
compare_layouts (gconstpointer a, gconstpointer b)
{
  const RlLayout *x = a, *y = b;

  if (x->least != y->least)
    return x->least < y->least ? -1 : 1;
  if (x->tp != y->tp)
    return x->tp < y->tp ? -1 : 1;
  return x->pp != y->pp ? (x->pp < y->pp ? -1 : 1) : (x->dp > y->dp) - (x->dp < y->dp);
}

void
rl_layouts_keep (GArray *layouts)
{
  guint n = 0;

  g_array_sort (layouts, compare_layouts);
  while (n < layouts->len && isfinite (g_array_index (layouts, RlLayout, n).least))
    n++;
  g_array_set_size (layouts, n);
}
