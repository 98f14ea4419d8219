#include "collective/collnet-private.h"

static void
add_edge (const LayContext *context, guint32 from, guint32 to, gint a, gint b, guint lane, double bytes)
{
  Route route;

  ring_route (context->sum->cluster, from, to, a, b, &route);
  load_sum_add_route (context->sum, &route, bytes);
  if (context->edges != NULL)
    lay_edges_add (context->edges, from, to, lane, NULL, &route, bytes);
}

/* Between the head and every other member of its node. */
static void
lay_inside (const LayContext *context, const Members *members, guint slot, guint head, guint lane,
            gboolean chain, double bytes)
{
  const MemberNode *node = &members->nodes[slot];
  const guint32    *gpus = members->gpus + node->first;

  for (guint i = 1; i < node->n; i++)
    {
      guint32 other = gpus[(head + i) % node->n];
      guint32 upper = chain ? gpus[(head + i - 1) % node->n] : gpus[head];

      add_edge (context, other, upper, -1, -1, lane, bytes);
      add_edge (context, upper, other, -1, -1, lane, bytes);
    }
}

/*
 * What a node sends up comes down at the next one: summed over nodes every card carries S up and S
 * down, and every leaf what its nodes do.
 */
void
collnet_lay (const LayContext *context, const Members *members, gboolean chain)
{
  guint      n = members->n_nodes;
  CardsInUse cards;

  cards_in_use_init (&cards, context->sum->cluster, members, context->proximity);
  for (guint lane = 0; lane < cards.n_lanes; lane++)
    for (guint slot = 0; slot < n; slot++)
      {
        guint next = (slot + 1) % n, card = cards_in_use_get (&cards, slot, lane);
        guint there = cards_in_use_get (&cards, next, lane);
        guint head = tree_head (context, members, slot, card);

        add_edge (
            context, members->gpus[members->nodes[slot].first + head],
            members->gpus[members->nodes[next].first + tree_head (context, members, next, there)],
            (gint) card, (gint) there, lane, 1.0 / cards.n_lanes);
        lay_inside (context, members, slot, head, lane, chain, 1.0 / cards.n_lanes);
      }
  cards_in_use_clear (&cards);
}
