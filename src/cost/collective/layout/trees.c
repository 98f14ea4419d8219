#include "cost/collective/layout/trees-private.h"

/*
 * A node's level is its lowest set bit; its parent has that bit cleared and the next one set, or,
 * where there is no such node, only cleared. Node 0 is the root.
 */
static guint
first_tree_parent (guint node, guint n)
{
  guint bit = node & -node, up;

  if (node == 0)
    return n;
  up = (node ^ bit) | (bit << 1);
  return up < n ? up : node ^ bit;
}

/*
 * The second tree is the first one mirrored (even N), or moved on by one (odd N): leaves and inner
 * nodes change places.
 */
guint
tree_parent (guint tree, guint node, guint n)
{
  guint parent;

  if (tree == 0)
    return first_tree_parent (node, n);
  if (n % 2 == 0)
    {
      parent = first_tree_parent (n - 1 - node, n);
      return parent == n ? n : n - 1 - parent;
    }
  parent = first_tree_parent ((node + n - 1) % n, n);
  return parent == n ? n : (parent + 1) % n;
}

guint
tree_head (const RoutingContext *context, const Members *members, guint slot, guint card)
{
  const MemberNode *node = &members->nodes[slot];
  const Proximity  *near = cluster_proximity (context->sum->cluster, node->node);
  guint first = cluster_first_gpu (context->sum->cluster, node->node), head = 0, best = G_MAXUINT;

  for (guint i = 0; near != NULL && i < node->n; i++)
    {
      guint at = (members->gpus[node->first + i] - first) * near->n_cards + card;
      guint cost = 2 * near->distance[at] + (near->serves[at] ? 0 : 1);

      if (cost < best)
        {
          best = cost;
          head = i;
        }
    }
  return head;
}

/* Every tree that shares the data moves chunks of its own. */
guint32
tree_place (const RoutingContext *context, guint tree, guint32 gpu)
{
  return tree * cluster_n_gpus (context->sum->cluster) + gpu;
}

/* BYTES each way between BELOW and ABOVE of TREE. */
static void
add_both_ways (const RoutingContext *context, guint32 below, gint card_below, guint32 above,
               gint card_above, guint tree, double bytes)
{
  for (guint way = 0; way < 2; way++)
    {
      guint32    from = way == 0 ? below : above, to = way == 0 ? above : below;
      RoutedJoin join = { .source = tree_place (context, tree, from),
                          .target = tree_place (context, tree, to),
                          .phase = way == 0 ? TREE_UP : TREE_DOWN,
                          .until = way == 0 ? TREE_UP : TREE_DOWN };
      Route      route;

      ring_route (context, from, to, way == 0 ? card_below : card_above,
                  way == 0 ? card_above : card_below, &route);
      load_sum_add_route (context->sum, &route, bytes);
      if (context->edges != NULL)
        routed_edges_add_stage (context->edges, from, to, &join, &route, bytes);
    }
}

static void
add_tree (const RoutingContext *context, const Members *members, const CardsInUse *cards,
          guint lane, guint tree, double bytes)
{
  for (guint slot = 0; slot < members->n_nodes && !context->sum->poll.cut; slot++)
    {
      guint parent = tree_parent (tree, slot, members->n_nodes), card, upper;

      if (parent == members->n_nodes)
        continue;
      card = cards_in_use_get (cards, slot, lane);
      upper = cards_in_use_get (cards, parent, lane);
      add_both_ways (
          context,
          members->gpus[members->nodes[slot].first + tree_head (context, members, slot, card)],
          (gint) card,
          members->gpus[members->nodes[parent].first + tree_head (context, members, parent, upper)],
          (gint) upper, 2 * lane + tree, bytes);
    }
}

void
tree_add_nodes (const RoutingContext *context, const Members *members, double bytes)
{
  CardsInUse cards;

  if (members->n_nodes == 1)
    return;
  cards_in_use_init (&cards, context->sum->cluster, members);
  for (guint lane = 0; lane < cards.n_lanes; lane++)
    for (guint tree = 0; tree < 2; tree++)
      add_tree (context, members, &cards, lane, tree, bytes / (2 * cards.n_lanes));
  cards_in_use_clear (&cards);
}

/* The chain of LANE through a node, from position HEAD on, below TREE. */
static void
add_chain (const RoutingContext *context, NodeCycles *cycles, const Members *members, guint slot,
           guint head, guint lane, guint tree, double bytes)
{
  const MemberNode *node = &members->nodes[slot];
  const guint32    *gpus = members->gpus + node->first;
  g_autofree guint *order = g_new (guint, node->n);
  guint             start = 0;

  node_cycles_write (cycles, context->sum->cluster, members, node, lane, order);
  while (order[start] != head)
    start++;
  for (guint i = 1; i < node->n; i++)
    add_both_ways (context, gpus[order[(start + i) % node->n]], -1,
                   gpus[order[(start + i - 1) % node->n]], -1, tree, bytes);
}

void
tree_add_chains (const RoutingContext *context, const Members *members, guint trees, double bytes)
{
  CardsInUse cards;
  NodeCycles cycles = { 0 };

  cards_in_use_init (&cards, context->sum->cluster, members);
  for (guint lane = 0; lane < cards.n_lanes; lane++)
    for (guint slot = 0; slot < members->n_nodes && !context->sum->poll.cut; slot++)
      for (guint tree = 0; tree < trees; tree++)
        add_chain (context, &cycles, members, slot,
                   tree_head (context, members, slot, cards_in_use_get (&cards, slot, lane)), lane,
                   trees * lane + tree, bytes / (trees * cards.n_lanes));
  cards_in_use_clear (&cards);
}

void
tree_add_traffic (const RoutingContext *context, const Members *members, double bytes)
{
  if (members->n_nodes == 1)
    {
      guint      n = members->n_gpus;
      LinkKind   kind = cluster_intra_profile (context->sum->cluster, members->nodes[0].node)->kind;
      NodeCycles cycles = { 0 };
      guint      n_cycles =
          node_cycles_count (&cycles, context->sum->cluster, members, &members->nodes[0]);
      guint heads = kind == LINK_MESH || kind == LINK_SWITCH || kind == LINK_GRAPH ? n : 1;

      /*
       * On one node as many chains as it has members (a mesh or graph: as it has cycles, too) share
       * the data, each with another head.
       */
      for (guint lane = 0; lane < n_cycles; lane++)
        for (guint head = 0; head < heads; head++)
          add_chain (context, &cycles, members, 0, head, lane, lane * heads + head,
                     bytes / (n_cycles * heads));
      return;
    }
  tree_add_nodes (context, members, bytes);
  tree_add_chains (context, members, 2, bytes);
}
