/* Messages between pairs of GPUs; and all-reduce as two hops of every pair of a mesh. */
#include "collective/algorithm-private.h"

#define MAX_P2P 32

/* ---- messages: channels ---------------------------------------------------------------------- */

/* Channels of a pair that exchanges BYTES: few while each gets little, all for large messages. */
static guint
pair_channels (const CollectiveGraph *graph, double bytes)
{
  const LibraryProfile *library = graph->library;
  guint                 most = collective_graph_pair_channels (graph), n = 1;

  while (n < MIN (library->p2p_small.value, most) && bytes / n >= library->p2p_part.value)
    n *= 2;
  while (n < most && bytes / n >= library->p2p_part_big.value)
    n *= 2;
  return MIN (n, most);
}

static guint
all_to_all_channels (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;

  return MIN (pair_channels (graph, self->bytes / graph->n_ranks) * (graph->n_ranks - 1), MAX_P2P);
}

static guint
send_recv_channels (const Timed *self)
{
  return pair_channels (self->graph, self->bytes);
}

/* ---- messages: time -------------------------------------------------------------------------- */

/*
 * Between nodes, of a pair. Under Simple what is calibrated on rings holds more than a hop (the
 * chunk that a card waits for in each step), so the library's own figure stands here.
 */
static double
net_hop (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;

  if (self->protocol == PROTOCOL_LL)
    return self->hop_net;
  return graph->hops
             * (graph->library->hop[HOP_NET][ALGORITHM_RING][PROTOCOL_SIMPLE]
                + 2 * graph->nic->latency.value)
         + self->way;
}

static double
latency (const Timed *self, guint channels, double cap)
{
  const CollectiveGraph *graph = self->graph;
  guint                  peers = self->algorithm->peers (self);
  guint batches = (peers + graph->library->p2p_batch.value - 1) / graph->library->p2p_batch.value;

  (void) channels, (void) cap;
  if (graph->n_nodes == 1)
    return timed_base (self) + (batches - 1) * self->hop_intra;
  if (graph->nic->peer_latency.value > 0)
    return timed_base (self) + net_hop (self)
           + (peers > 1 ? (graph->n_ranks - graph->per_node) * graph->nic->peer_latency.value : 0);
  return timed_base (self) + batches * net_hop (self);
}

/*
 * A pair's chunk is copied into a buffer and out of it again. Over the network a channel's first
 * chunk is copied before its card begins, while other pairs' are on their way.
 */
static double
fill (const Timed *self, guint channels, double cap)
{
  double part = self->bytes * timed_passed_on (self) / channels;
  double chunk = timed_pair_chunk (self), rate = timed_pair_copy_rate (self);

  (void) cap;
  if (self->graph->nic != NULL && rate > 0)
    return MIN (part, chunk) / rate;
  return MIN (part, chunk) / MAX (part, 1) * self->bytes * self->layout->link_seconds_per_byte;
}

static double
stepped (const Timed *self, guint channels, double cap)
{
  (void) channels, (void) cap;
  return self->graph->n_nodes > 1 ? net_hop (self) : 0;
}

static StepParameters
hops (const Timed *self)
{
  return (StepParameters){ .hop_net = stepped (self, 0, 0) };
}

/* What the channels of a pair share of the cards that a GPU has. */
static guint
pair_connections (const CollectiveGraph *graph)
{
  return collective_graph_pair_channels (graph) / MAX (graph->n_cards / graph->per_node, 1);
}

#define PAIRWISE                                                                                 \
  .id = ALGORITHM_PAIRWISE,                                                                      \
  .protocols = PROTOCOL_BIT (PROTOCOL_LL) | PROTOCOL_BIT (PROTOCOL_SIMPLE),                      \
  .edges = EDGES_ARE_SUMS, .carried = timed_passed_on, .rate_cap = timed_channel_cap,            \
  .latency = latency, .fill = fill, .stepped = stepped, .hops = hops, .chunk = timed_tree_chunk, \
  .build = step_build_at_once, .connections = pair_connections

const Algorithm algorithm_all_to_all = { PAIRWISE, .kinds = KIND_BIT (COLLECTIVE_ALL_TO_ALL),
                                         .lay = lay_all_to_all, .peers = timed_all_peers,
                                         .channels = all_to_all_channels };

const Algorithm algorithm_send_recv = { PAIRWISE, .kinds = KIND_BIT (COLLECTIVE_SEND_RECV),
                                        .lay = lay_send_recv, .peers = timed_one_peer,
                                        .channels = send_recv_channels };

/* ---- all pairs of a mesh --------------------------------------------------------------------- */

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  (void) even;
  return graph->generation->all_pairs > 0 && graph->n_nodes == 1 && graph->intra->kind == LINK_MESH
         && graph->n_ranks > 2;
}

static double
most (const CollectiveGraph *graph)
{
  return graph->generation->all_pairs;
}

static double
two_hops (const Timed *self, guint channels, double cap)
{
  (void) channels, (void) cap;
  return 2 * self->hop_intra;
}

static double
all_pairs_latency (const Timed *self, guint channels, double cap)
{
  return timed_base (self) + two_hops (self, channels, cap);
}

const Algorithm algorithm_all_pairs = { .id = ALGORITHM_ALL_PAIRS,
                                        .kinds = KIND_BIT (COLLECTIVE_ALL_REDUCE),
                                        .protocols = PROTOCOL_BIT (PROTOCOL_LL),
                                        .exists = exists,
                                        .most = most,
                                        .lay = lay_all_pairs,
                                        .edges = EDGES_ARE_SUMS,
                                        .channels = timed_channels,
                                        .carried = timed_passed_on,
                                        .rate_cap = timed_channel_cap,
                                        .latency = all_pairs_latency,
                                        .stepped = two_hops,
                                        .hops = timed_link_hops,
                                        .chunk = timed_tree_chunk,
                                        .build = step_build_all_pairs };
