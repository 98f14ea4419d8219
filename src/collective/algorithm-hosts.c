/* Between plain hosts: MPI's messages over sockets, by forced algorithm (docs/collectives.md). */
#include "collective/algorithm-private.h"

#include "collective/time-messages-private.h"

#define SEGMENT ((double) (64 << 10)) /* of a pipeline; what the library is told to take */

/* ---- rings and chains ------------------------------------------------------------------------ */

static double
ring_latency (const Timed *self, guint channels, double cap)
{
  RingPace pace = timed_ring_pace (self, cap);

  (void) channels;
  return timed_ring_hops (self, &pace, cap);
}

static double
chunk (const Timed *self, guint channels)
{
  (void) channels;
  return self->algorithm->segment > 0 ? self->algorithm->segment : MAX (self->bytes, 1);
}

static StepParameters
message_hops (const Timed *self)
{
  return (StepParameters){ .hop_net = self->hop_net };
}

/* ---- rounds of an all-to-all ----------------------------------------------------------------- */

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

/* ---- messages at once ------------------------------------------------------------------------ */

static double
one_hop (const Timed *self, guint channels, double cap)
{
  (void) channels, (void) cap;
  return self->hop_net;
}

/* ---- the algorithms -------------------------------------------------------------------------- */

#define HOSTS                                                                 \
  .hosts = TRUE, .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE), .chunk = chunk, \
  .rate_cap = timed_message_cap

const Algorithm algorithm_host_ring = { HOSTS,
                                        .id = ALGORITHM_RING,
                                        .kinds = KINDS_OF_RINGS,
                                        .lay = lay_ring,
                                        .edges = EDGES_ARE_RINGS,
                                        .connects_rings = TRUE,
                                        .latency = ring_latency,
                                        .bound = timed_ring_bound,
                                        .stepped = ring_latency,
                                        .hops = message_hops,
                                        .build = step_build_ring };

/* Whole messages are passed on. */
const Algorithm algorithm_host_chain = { HOSTS,
                                         .id = ALGORITHM_RING,
                                         .kinds = KINDS_OF_CHAINS,
                                         .lay = lay_chain,
                                         .edges = EDGES_ARE_RINGS,
                                         .connects_rings = TRUE,
                                         .latency = timed_chain_hops,
                                         .bound = timed_chain_bound,
                                         .stepped = timed_chain_hops,
                                         .hops = message_hops,
                                         .build = step_build_chain };

const Algorithm algorithm_host_pipeline = { HOSTS,
                                            .id = ALGORITHM_PIPELINE,
                                            .kinds = KINDS_OF_CHAINS,
                                            .lay = lay_chain,
                                            .edges = EDGES_ARE_RINGS,
                                            .segment = SEGMENT,
                                            .latency = timed_chain_hops,
                                            .bound = timed_chain_bound,
                                            .stepped = timed_chain_hops,
                                            .hops = message_hops,
                                            .build = step_build_chain };

const Algorithm algorithm_host_rounds = { HOSTS,
                                          .id = ALGORITHM_PAIRWISE,
                                          .kinds = KIND_BIT (COLLECTIVE_ALL_TO_ALL),
                                          .lay = lay_rounds,
                                          .edges = EDGES_ARE_STEPS,
                                          .peers = timed_all_peers,
                                          .latency = rounds_latency,
                                          .bound = rounds_bound,
                                          .stepped = rounds_latency,
                                          .hops = round_hops,
                                          .build = step_build_exchanges };

const Algorithm algorithm_host_exchange = { HOSTS,
                                            .id = ALGORITHM_PAIRWISE,
                                            .kinds = KIND_BIT (COLLECTIVE_SEND_RECV),
                                            .lay = lay_send_recv,
                                            .edges = EDGES_ARE_SUMS,
                                            .peers = timed_one_peer,
                                            .latency = one_hop,
                                            .stepped = one_hop,
                                            .hops = message_hops,
                                            .build = step_build_at_once };

const Algorithm algorithm_host_linear = { HOSTS,
                                          .id = ALGORITHM_LINEAR,
                                          .kinds = KIND_BIT (COLLECTIVE_ALL_TO_ALL),
                                          .lay = lay_all_to_all,
                                          .edges = EDGES_ARE_SUMS,
                                          .latency = one_hop,
                                          .stepped = one_hop,
                                          .hops = message_hops,
                                          .build = step_build_at_once };
