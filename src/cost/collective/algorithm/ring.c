/* Rings over all members, node after node; and chains, which are rings of one way. */
#include "cost/collective/algorithm/algorithm-private.h"

#include "cost/collective/library/factors-private.h"

/* Of Simple, which carries what links hold back (ALLREDUCE_SLICESTEPS and its like). */
#define RING_SLICE_STEPS 2

/* ---- the library's model --------------------------------------------------------------------- */

static double
believed_rate (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
               double bytes)
{
  double bus = graph->searched * graph->speed;

  (void) bytes;
  if (protocol == PROTOCOL_LL)
    bus = MIN (collective_graph_ll_rate (graph), bus / 2);
  if (protocol == PROTOCOL_LL128)
    bus = MIN (0.92 * bus,
               graph->searched * graph->generation->ring_ll128[collective_graph_case (graph)]);
  return bus * collective_graph_per_bus (graph, kind);
}

static double
hop (const CollectiveGraph *graph, CollectiveProtocol protocol)
{
  double intra = graph->library->hop[graph->hop][ALGORITHM_RING][protocol];

  return graph->n_nodes > 1 ? MAX (intra, graph->library->post[protocol]) : intra;
}

static double
believed_chain_latency (const CollectiveGraph *graph, CollectiveKind kind,
                        CollectiveProtocol protocol, double bytes)
{
  double intra = hop (graph, protocol);

  (void) kind, (void) bytes;
  return graph->library->base[ALGORITHM_RING][protocol]
         + (graph->n_nodes == 1 ? intra : graph->n_ranks * intra);
}

static double
believed_ring_latency (const CollectiveGraph *graph, CollectiveKind kind,
                       CollectiveProtocol protocol, double bytes)
{
  const LibraryProfile *library = graph->library;
  double                inter = collective_graph_net_hop (
                     graph, graph->per_node == 1 ? ALGORITHM_TREE : ALGORITHM_RING, protocol);
  double steps = collective_ring_steps (kind, graph->n_ranks);
  double net_steps =
      graph->n_nodes > 1 ? (double) collective_kind_rounds (kind) * (graph->n_nodes - 1) : 0;
  double latency = library->base[ALGORITHM_RING][protocol];

  latency += (steps - net_steps) * hop (graph, protocol) + net_steps * inter;
  if (kind != COLLECTIVE_ALL_REDUCE || protocol != PROTOCOL_SIMPLE || graph->n_nodes == 1
      || bytes / (graph->searched * (double) graph->n_ranks) < 64)
    return latency;
  return latency * graph->generation->all_reduce_net_factor;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void
route_ring (const RoutingContext *context, const Members *members, CollectiveKind kind,
            const guint32 *ranks)
{
  (void) ranks;
  route_rings (context, members, kind, 1, RING_CLOSED);
}

/* ---- time ------------------------------------------------------------------------------------ */

static guint
channels (const Timed *self)
{
  double floor_bytes = self->graph->library->thread_bytes[self->protocol];

  if (self->protocol == PROTOCOL_LL)
    floor_bytes *= self->graph->n_ranks;
  return timed_channels_of (self, floor_bytes, self->graph->channels);
}

static double
ring_latency (const Timed *self, guint n_channels, double cap)
{
  RingPace pace = timed_ring_pace (self, cap);

  (void) n_channels;
  return timed_base (self) + timed_ring_hops (self, &pace, cap);
}

static double
ring_stepped (const Timed *self, guint n_channels, double cap)
{
  RingPace pace = timed_ring_pace (self, cap);

  (void) n_channels;
  return timed_ring_hops (self, &pace, cap) - timed_ring_spread (self, &pace, cap);
}

static StepParameters
ring_hops (const Timed *self)
{
  return (StepParameters){ .hop_intra = timed_ring_hop_intra (self),
                           .hop_net = self->hop_net,
                           .credits = timed_ring_credits (self) };
}

static double
chain_latency (const Timed *self, guint n_channels, double cap)
{
  return timed_base (self) + timed_chain_hops (self, n_channels, cap);
}

static double
chunk (const Timed *self, guint n_channels)
{
  return n_channels * timed_chain_chunk (self->protocol);
}

/* ---- between plain hosts: whole messages ----------------------------------------------------- */

static double
message_latency (const Timed *self, guint channels, double cap)
{
  RingPace pace = timed_ring_pace (self, cap);

  (void) channels;
  return timed_ring_hops (self, &pace, cap);
}

static const Algorithm host_chain = { BETWEEN_HOSTS,
                                      .id = ALGORITHM_RING,
                                      .kinds = KINDS_OF_CHAINS,
                                      .route = route_chain,
                                      .edges = EDGES_ARE_RINGS,
                                      .connects_rings = TRUE,
                                      .latency = timed_chain_hops,
                                      .bound = timed_chain_bound,
                                      .stepped = timed_chain_hops,
                                      .hops = timed_message_hops,
                                      .build = step_build_chain };

static const Algorithm host_ring = { BETWEEN_HOSTS,
                                     .next = &host_chain,
                                     .id = ALGORITHM_RING,
                                     .kinds = KINDS_OF_RINGS,
                                     .route = route_ring,
                                     .edges = EDGES_ARE_RINGS,
                                     .connects_rings = TRUE,
                                     .latency = message_latency,
                                     .bound = timed_ring_bound,
                                     .stepped = message_latency,
                                     .hops = timed_message_hops,
                                     .build = step_build_ring };

/* ---- between GPUs ---------------------------------------------------------------------------- */

#define BOTH                                                                                       \
  .id = ALGORITHM_RING,                                                                            \
  .protocols =                                                                                     \
      PROTOCOL_BIT (PROTOCOL_LL) | PROTOCOL_BIT (PROTOCOL_LL128) | PROTOCOL_BIT (PROTOCOL_SIMPLE), \
  .believed_rate = believed_rate, .edges = EDGES_ARE_RINGS, .connects_rings = TRUE,                \
  .slice_steps = RING_SLICE_STEPS, .channels = channels, .carried = timed_passed_on,               \
  .rate_cap = timed_channel_cap, .chunk = chunk

static const Algorithm chain = { BOTH,
                                 .next = &host_ring,
                                 .kinds = KINDS_OF_CHAINS,
                                 .believed_latency = believed_chain_latency,
                                 .route = route_chain,
                                 .latency = chain_latency,
                                 .bound = timed_chain_bound,
                                 .stepped = timed_chain_hops,
                                 .hops = timed_link_hops,
                                 .build = step_build_chain };

const Algorithm algorithm_ring = { BOTH,
                                   .next = &chain,
                                   .kinds = KINDS_OF_RINGS,
                                   .believed_latency = believed_ring_latency,
                                   .route = route_ring,
                                   .latency = ring_latency,
                                   .spread = timed_spread_ring,
                                   .bound = timed_ring_bound,
                                   .stepped = ring_stepped,
                                   .hops = ring_hops,
                                   .build = step_build_ring };
