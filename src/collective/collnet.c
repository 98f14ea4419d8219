#include "collective/collnet-private.h"

/* In tree LANE; cards A and B where not -1. */
static void
add_edge (const LayContext *context, guint32 from, guint32 to, gint a, gint b, guint lane,
          guint8 phase, double bytes)
{
  LayJoin join = { .source = tree_place (context, lane, from),
                   .target = tree_place (context, lane, to),
                   .phase = phase,
                   .until = phase - 1 };
  Route   route;

  ring_route (context, from, to, a, b, &route);
  load_sum_add_route (context->sum, &route, bytes);
  if (context->edges != NULL)
    lay_edges_add_stage (context->edges, from, to, &join, &route, bytes);
}

/* Between the head and every other member of its node. */
static void
lay_direct (const LayContext *context, const Members *members, guint slot, guint head, guint lane,
            double bytes)
{
  const MemberNode *node = &members->nodes[slot];
  const guint32    *gpus = members->gpus + node->first;

  for (guint i = 1; i < node->n; i++)
    {
      guint32 other = gpus[(head + i) % node->n];

      add_edge (context, other, gpus[head], -1, -1, lane, TREE_UP, bytes);
      add_edge (context, gpus[head], other, -1, -1, lane, TREE_DOWN, bytes);
    }
}

static gint
compare_slots (gconstpointer a, gconstpointer b, gpointer data)
{
  const Members *members = data;
  guint32        x = members->nodes[*(const guint *) a].node;
  guint32        y = members->nodes[*(const guint *) b].node;

  return (x > y) - (x < y);
}

/* Slots by the number of their node: those under one leaf, and under one group, are neighbours. */
static guint *
sort_slots (const Members *members)
{
  guint *slots = g_new (guint, members->n_nodes);

  for (guint i = 0; i < members->n_nodes; i++)
    slots[i] = i;
  g_qsort_with_data (slots, (gint) members->n_nodes, sizeof *slots, compare_slots,
                     (gpointer) members);
  return slots;
}

/*
 * What a node sends up is taken to come down at the next one. Summed over nodes every card carries
 * S up and S down, and because neighbours share a leaf, every leaf S up and S down: it has reduced
 * what its nodes sent.
 */
void
collnet_lay (const LayContext *context, const Members *members, gboolean chain)
{
  guint             n = members->n_nodes;
  g_autofree guint *slots = sort_slots (members);
  CardsInUse        cards;

  context->sum->reduced = TRUE;
  cards_in_use_init (&cards, context->sum->cluster, members);
  for (guint lane = 0; lane < cards.n_lanes; lane++)
    for (guint i = 0; i < n; i++)
      {
        guint slot = slots[i], next = slots[(i + 1) % n];
        guint card = cards_in_use_get (&cards, slot, lane);
        guint there = cards_in_use_get (&cards, next, lane);
        guint head = tree_head (context, members, slot, card);

        add_edge (
            context, members->gpus[members->nodes[slot].first + head],
            members->gpus[members->nodes[next].first + tree_head (context, members, next, there)],
            (gint) card, (gint) there, lane, TREE_ACROSS, 1.0 / cards.n_lanes);
        if (!chain)
          lay_direct (context, members, slot, head, lane, 1.0 / cards.n_lanes);
      }
  cards_in_use_clear (&cards);
  if (chain)
    tree_lay_chains (context, members, 1, 1);
}
