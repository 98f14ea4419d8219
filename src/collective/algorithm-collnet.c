/* Reduction in the network's switches. */
#include "collective/algorithm-private.h"

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
                                             .lay = lay_collnet_direct,
                                             .fill = direct_fill,
                                             .stepped = direct_fill };

const Algorithm algorithm_collnet_chain = { BOTH,
                                            .id = ALGORITHM_COLLNET_CHAIN,
                                            .exists = exists_chain,
                                            .believed_latency = believed_chain_latency,
                                            .believed_rate = believed_chain_rate,
                                            .lay = lay_collnet_chain,
                                            .fill = chain_fill,
                                            .stepped = chain_fill };
