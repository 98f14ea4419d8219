#include "collective/pat-private.h"

guint
pat_parts (guint distance, guint n)
{
  return ((n - 1) / distance + 1) / 2;
}

/* All ranks at once. */
static void
lay_step (const LayContext *context, const Members *members, const CardsInUse *cards,
          guint distance, gboolean reduce, guint step)
{
  guint  n = members->n_nodes;
  double bytes = (double) pat_parts (distance, n) / n / cards->n_lanes;

  for (guint slot = 0; slot < n; slot++)
    for (guint card = 0; card < cards->n_lanes; card++)
      {
        guint   far = (slot + distance) % n, from = reduce ? far : slot, to = reduce ? slot : far;
        guint32 sender = members->gpus[members->nodes[from].first],
                receiver = members->gpus[members->nodes[to].first];
        Route route;

        ring_route (context, sender, receiver, (gint) cards_in_use_get (cards, from, card),
                    (gint) cards_in_use_get (cards, to, card), &route);
        load_sum_add_route (context->sum, &route, bytes);
        if (context->edges != NULL)
          lay_edges_add (context->edges, sender, receiver, step, NULL, &route, bytes);
      }
}

void
pat_lay (const LayContext *context, const Members *members, CollectiveKind kind)
{
  gboolean   reduce = kind == COLLECTIVE_REDUCE_SCATTER;
  guint      n_steps = g_bit_storage (members->n_nodes - 1);
  CardsInUse cards;

  cards_in_use_init (&cards, context->sum->cluster, members);
  for (guint step = 0; step < n_steps; step++)
    lay_step (context, members, &cards, 1u << (reduce ? step : n_steps - 1 - step), reduce, step);
  cards_in_use_clear (&cards);
}
