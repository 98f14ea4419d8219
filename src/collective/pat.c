#include "collective/pat-private.h"

void
pat_lay (const LayContext *context, const Members *members)
{
  guint      n = members->n_nodes, lane_of_step = 0;
  CardsInUse cards;

  cards_in_use_init (&cards, context->sum->cluster, members, context->proximity);
  for (guint distance = 1; distance < n; distance *= 2, lane_of_step++)
    for (guint slot = 0; slot < n; slot++)
      for (guint lane = 0; lane < cards.n_lanes; lane++)
        {
          guint   to = (slot + distance) % n;
          guint32 sender = members->gpus[members->nodes[slot].first],
                  receiver = members->gpus[members->nodes[to].first];
          double bytes = (double) MIN (distance, n - distance) / n / cards.n_lanes;
          Route  route;

          ring_route (context->sum->cluster, sender, receiver,
                      (gint) cards_in_use_get (&cards, slot, lane),
                      (gint) cards_in_use_get (&cards, to, lane), &route);
          load_sum_add_route (context->sum, &route, bytes);
          if (context->edges != NULL)
            lay_edges_add (context->edges, sender, receiver, lane_of_step, NULL, &route, bytes);
        }
  cards_in_use_clear (&cards);
}
