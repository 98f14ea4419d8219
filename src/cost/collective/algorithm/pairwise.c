/* Messages between pairs: of GPUs all at once, of plain hosts round after round. */
#include "cost/collective/algorithm/algorithm-private.h"

#include <math.h>

#include "cost/collective/layout/pairs-private.h"

#define MAX_P2P 32
#define LL_STEP 65536.0 /* bytes of a slot of a channel's buffer under LL */

/* ---- messages: channels ---------------------------------------------------------------------- */

/*
 * Channels of a pair of one node that exchanges BYTES (src/enqueue.cc, addP2pToPlan): as many as
 * leave one to each rank of the communicator, fewer where each would get less than an eighth of a
 * step of its buffer; more, as far as the pair has them, where it would get more than 32 steps.
 */
static guint
pair_channels_inside (const Timed *self, double bytes)
{
  const CollectiveGraph *graph = self->graph;
  const double           step = self->protocol == PROTOCOL_LL ? LL_STEP : timed_pair_chunk (self);
  const guint            most = collective_graph_pair_channels (graph);
  guint                  n = most;

  while (n > 1 && n * graph->n_ranks > collective_graph_all_pairs_channels (graph))
    n /= 2;
  n = (guint) CLAMP (ceil (bytes / (step / 8)), 1, n);
  while (n <= most / 2 && bytes / n > step * 32)
    n *= 2;
  return n;
}

/* The same between nodes: few while each gets little, all for large messages. */
static guint
pair_channels (const Timed *self, double bytes)
{
  const CollectiveGraph *graph = self->graph;
  const LibraryProfile  *library = graph->library;
  guint                  most = collective_graph_pair_channels (graph), n = 1;

  if (graph->n_nodes == 1)
    return pair_channels_inside (self, bytes);
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

  return MIN (pair_channels (self, self->bytes / graph->n_ranks) * (graph->n_ranks - 1), MAX_P2P);
}

static guint
send_recv_channels (const Timed *self)
{
  return pair_channels (self, self->bytes);
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

static void
route_send_recv (const RoutingContext *context, const Members *members, CollectiveKind kind,
                 const guint32 *ranks)
{
  pairs_add_send_recv (context, members, ranks, 1);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}

/* ---- between plain hosts: round after round -------------------------------------------------- */

typedef struct
{
  const RoutingContext *context;
  const Members        *members;
  CardsInUse            cards;
  double                bytes; /* of one message over one card */
  guint                 lane;  /* that is laid at present */
} Rounds;

static void
add_message (const Rounds *self, guint from, guint to)
{
  guint32 sender = self->members->gpus[from], receiver = self->members->gpus[to];

  for (guint card = 0; card < self->cards.n_lanes; card++)
    {
      Route route;

      ring_route (self->context, sender, receiver,
                  (gint) cards_in_use_get (&self->cards, from, card),
                  (gint) cards_in_use_get (&self->cards, to, card), &route);
      load_sum_add_route (self->context->sum, &route, self->bytes);
      if (self->context->edges != NULL)
        routed_edges_add (self->context->edges, sender, receiver, self->lane, NULL, &route,
                          self->bytes);
    }
}

static void
add_exchange (Rounds *self)
{
  guint half = self->members->n_gpus / 2;

  for (guint way = 0; way < 2; way++, self->lane++)
    for (guint i = 0; i < half; i++)
      if (i % 2 == way)
        add_message (self, i, i + half);
      else
        add_message (self, i + half, i);
}

/*
 * Every member sends BYTES to every other, a lane of edges a round. Between an even number of
 * members one round joins each rank with one that also sends to it. Where exchanges are serial
 * (LinkProfile) it takes two lanes, one way and then the other: of pairs that are laid next to each
 * other one begins at this end and the next at that.
 */
static void
add_rounds (const RoutingContext *context, const Members *members, double bytes)
{
  Rounds             self = { .context = context, .members = members };
  const LinkProfile *nic = cluster_nic_profile (context->sum->cluster, members->nodes[0].node);

  g_assert (members->n_nodes == members->n_gpus);
  cards_in_use_init (&self.cards, context->sum->cluster, members);
  self.bytes = bytes / self.cards.n_lanes;
  for (guint distance = 1; distance < members->n_gpus; distance++)
    if (2 * distance == members->n_gpus && nic->serial_exchange)
      add_exchange (&self);
    else
      {
        guint n = self.members->n_gpus;

        for (guint i = 0; i < n; i++)
          add_message (&self, i, (i + distance) % n);
        self.lane++;
      }
  cards_in_use_clear (&self.cards);
}

static void
route_rounds (const RoutingContext *context, const Members *members, CollectiveKind kind,
              const guint32 *ranks)
{
  (void) ranks;
  add_rounds (context, members, 1.0 / members->n_gpus);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}

static double
round_hop (const Timed *self)
{
  return (self->hop_net - self->way) * (self->graph->n_ranks - 1) / self->layout->n_steps
         + self->way;
}

static double
rounds_latency (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return self->layout->n_steps * round_hop (self) + timed_steps_unlike (self, cap);
}

static double
rounds_bound (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return timed_steps_bound (self, round_hop (self), cap);
}

static StepParameters
round_hops (const Timed *self)
{
  return (StepParameters){ .hop_net = round_hop (self) };
}

static const Algorithm host_exchange = { BETWEEN_HOSTS,
                                         .id = ALGORITHM_PAIRWISE,
                                         .kinds = KIND_BIT (COLLECTIVE_SEND_RECV),
                                         .route = route_send_recv,
                                         .edges = EDGES_ARE_SUMS,
                                         .peers = timed_one_peer,
                                         .latency = timed_message_latency,
                                         .stepped = timed_message_latency,
                                         .hops = timed_message_hops,
                                         .build = step_build_at_once };

static const Algorithm host_rounds = { BETWEEN_HOSTS,
                                       .next = &host_exchange,
                                       .id = ALGORITHM_PAIRWISE,
                                       .kinds = KIND_BIT (COLLECTIVE_ALL_TO_ALL),
                                       .route = route_rounds,
                                       .edges = EDGES_ARE_STEPS,
                                       .peers = timed_all_peers,
                                       .latency = rounds_latency,
                                       .bound = rounds_bound,
                                       .stepped = rounds_latency,
                                       .hops = round_hops,
                                       .build = step_build_exchanges };

/* ---- between GPUs ---------------------------------------------------------------------------- */

#define PAIRWISE                                                                                 \
  .id = ALGORITHM_PAIRWISE,                                                                      \
  .protocols = PROTOCOL_BIT (PROTOCOL_LL) | PROTOCOL_BIT (PROTOCOL_SIMPLE),                      \
  .edges = EDGES_ARE_SUMS, .carried = timed_passed_on, .rate_cap = timed_channel_cap,            \
  .latency = latency, .fill = fill, .stepped = stepped, .hops = hops, .chunk = timed_tree_chunk, \
  .build = step_build_at_once, .connections = pair_connections

static const Algorithm send_recv = { PAIRWISE,
                                     .next = &host_rounds,
                                     .kinds = KIND_BIT (COLLECTIVE_SEND_RECV),
                                     .route = route_send_recv,
                                     .peers = timed_one_peer,
                                     .channels = send_recv_channels };

const Algorithm algorithm_pairwise = { PAIRWISE,
                                       .next = &send_recv,
                                       .kinds = KIND_BIT (COLLECTIVE_ALL_TO_ALL),
                                       .route = route_all_to_all,
                                       .peers = timed_all_peers,
                                       .channels = all_to_all_channels };
