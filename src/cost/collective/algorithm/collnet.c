/*
 * CollNet: the network's switches reduce. Of an all-reduce each node's cards carry S up and S down.
 * Chain: the members form a chain from the one at the card. Direct: every member hands each member
 * at a card its part, and gets the result back.
 */
#include "cost/collective/algorithm/algorithm-private.h"

#include "cost/collective/layout/trees-private.h"

#define PORT_DIRECT 0.4e-6 /* s: a further peer of CollNet direct */

static gboolean
exists_chain (const CollectiveGraph *graph, gboolean even)
{
  return graph->n_nodes > 1 && even;
}

static gboolean
exists_direct (const CollectiveGraph *graph, gboolean even)
{
  return exists_chain (graph, even) && graph->intra->kind == LINK_SWITCH;
}

/* ---- the library's model; the hops' latencies are what is taken, too ------------------------- */

/* Half of bus bandwidth as for trees. At full speed only where every GPU has a card of its own. */
static double
believed_direct_rate (const CollectiveGraph *graph, CollectiveKind kind,
                      CollectiveProtocol protocol, double bytes)
{
  double each = (double) graph->per_node / collective_graph_heads (graph); /* GPUs a card */

  (void) kind, (void) protocol, (void) bytes;
  return graph->searched * graph->speed * graph->raised / ((each + 1) / 2)
         * graph->generation->collnet_direct / 2;
}

static double
believed_chain_rate (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
                     double bytes)
{
  (void) kind, (void) protocol, (void) bytes;
  return graph->searched * graph->speed * graph->raised / 2;
}

static double
believed_direct_latency (const CollectiveGraph *graph, CollectiveKind kind,
                         CollectiveProtocol protocol, double bytes)
{
  double intra = graph->library->hop[graph->hop][ALGORITHM_COLLNET_DIRECT][protocol];
  double inter = collective_graph_net_hop (graph, ALGORITHM_COLLNET_DIRECT, protocol);

  (void) kind, (void) bytes;
  return 2 * (MIN (1, graph->per_node - 1) * intra + (graph->per_node - 1) * PORT_DIRECT) + inter;
}

static double
believed_chain_latency (const CollectiveGraph *graph, CollectiveKind kind,
                        CollectiveProtocol protocol, double bytes)
{
  double intra = graph->library->hop[graph->hop][ALGORITHM_COLLNET_CHAIN][protocol];
  double inter = collective_graph_net_hop (graph, ALGORITHM_COLLNET_CHAIN, protocol);

  (void) kind, (void) bytes;
  return 2 * (graph->per_node - 1) * intra + inter;
}

/* ---- time ------------------------------------------------------------------------------------ */

static double
latency (const Timed *self, guint channels, double cap)
{
  (void) channels, (void) cap;
  return timed_base (self)
         + self->algorithm->believed_latency (self->graph, self->kind, self->protocol, self->bytes);
}

static double
chain_fill (const Timed *self, guint channels, double cap)
{
  const Stages stages = { 2 * (self->graph->per_node - 1), 1, 0 };

  return timed_pipeline_fill (self, stages, timed_tree_chunk (self, channels), cap);
}

static double
direct_fill (const Timed *self, guint channels, double cap)
{
  const Stages stages = { self->graph->per_node > 1 ? 2 : 0, 1, 0 };

  return timed_direct_fill (self, stages, timed_tree_chunk (self, channels), cap);
}

static double
bound (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return timed_pipeline_bound (self, 0, cap);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* In tree LANE; cards A and B where not -1. */
static void
add_edge (const RoutingContext *context, guint32 from, guint32 to, gint a, gint b, guint lane,
          guint8 phase, double bytes)
{
  RoutedJoin join = { .source = tree_place (context, lane, from),
                      .target = tree_place (context, lane, to),
                      .phase = phase,
                      .until = phase - 1 };
  Route      route;

  ring_route (context, from, to, a, b, &route);
  load_sum_add_route (context->sum, &route, bytes);
  if (context->edges != NULL)
    routed_edges_add_stage (context->edges, from, to, &join, &route, bytes);
}

/* Between the head and every other member of its node. */
static void
add_direct (const RoutingContext *context, const Members *members, guint slot, guint head,
            guint lane, double bytes)
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

/*
 * What a node sends up is taken to come down at the next one. Summed over nodes every card carries
 * S up and S down, and because neighbours share a leaf, every leaf S up and S down: it has reduced
 * what its nodes sent.
 */
static void
add_traffic (const RoutingContext *context, const Members *members, gboolean chain)
{
  guint             n = members->n_nodes;
  g_autofree guint *slots = g_new (guint, members->n_nodes);
  CardsInUse        cards;

  for (guint i = 0; i < members->n_nodes; i++)
    slots[i] = i;
  g_qsort_with_data (slots, (gint) members->n_nodes, sizeof *slots, compare_slots,
                     (gpointer) members);
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
          add_direct (context, members, slot, head, lane, 1.0 / cards.n_lanes);
      }
  cards_in_use_clear (&cards);
  if (chain)
    tree_add_chains (context, members, 1, 1);
}

static void
route_collnet_direct (const RoutingContext *context, const Members *members, CollectiveKind kind,
                      const guint32 *ranks)
{
  (void) ranks;
  add_traffic (context, members, FALSE);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}

static void
route_collnet_chain (const RoutingContext *context, const Members *members, CollectiveKind kind,
                     const guint32 *ranks)
{
  (void) ranks;
  add_traffic (context, members, TRUE);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}

#define BOTH                                                                                    \
  .kinds = KIND_BIT (COLLECTIVE_ALL_REDUCE), .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),       \
  .in_switches = TRUE, .edges = EDGES_ARE_RINGS, .channels = timed_channels,                    \
  .rate_cap = timed_channel_cap, .latency = latency, .bound = bound, .chunk = timed_tree_chunk, \
  .build = step_build_pipeline

const Algorithm algorithm_collnet_direct = { BOTH,
                                             .id = ALGORITHM_COLLNET_DIRECT,
                                             .exists = exists_direct,
                                             .believed_latency = believed_direct_latency,
                                             .believed_rate = believed_direct_rate,
                                             .route = route_collnet_direct,
                                             .fill = direct_fill,
                                             .stepped = direct_fill };

const Algorithm algorithm_collnet_chain = { BOTH,
                                            .id = ALGORITHM_COLLNET_CHAIN,
                                            .exists = exists_chain,
                                            .believed_latency = believed_chain_latency,
                                            .believed_rate = believed_chain_rate,
                                            .route = route_collnet_chain,
                                            .fill = chain_fill,
                                            .stepped = chain_fill };
