/*
 * Tokens to their experts and back, once a node and once a GPU (op/dispatch.h), by a library of its
 * own (DeepEP) instead of NCCL's channels: what binds are cards and NVLink, at their own
 * efficiency. Both are crossed at the same time, since what has arrived is passed on at once.
 *
 *   card, each way     S D (N - 1) / (N G)   D of N nodes, G of all GPUs that a token reaches
 *   NVLink, each way   S (p - 1) / p         p members of a node
 */
#include "collective/algorithm-private.h"

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  return graph->dispatch.chosen > 0 && even && !graph->hosts;
}

static guint
channels (const Timed *self)
{
  return MAX (self->graph->dispatch.sms, 1);
}

/* Two SMs a channel (one sends, one passes on), each with connections of its own. */
static guint
connections (const CollectiveGraph *graph)
{
  return graph->dispatch.sms / 2;
}

/* Nothing but cards and links: "only 20 SMs are sufficient to fully utilize" them (3.2.2). */
static double
rate_cap (const Timed *self, guint n)
{
  (void) self, (void) n;
  return 0;
}

static double
across (const Timed *self, guint n, double cap)
{
  const CollectiveGraph *graph = self->graph;

  (void) n, (void) cap;
  return graph->n_nodes > 1 ? graph->hops * 2 * graph->nic->latency.value : 0;
}

static double
latency (const Timed *self, guint n, double cap)
{
  return across (self, n, cap) + self->hop_intra;
}

static StepParameters
hops (const Timed *self)
{
  return (StepParameters){ .hop_net = across (self, 0, 0) };
}

const Algorithm algorithm_two_level = { .id = ALGORITHM_TWO_LEVEL,
                                        .kinds = KIND_BIT (COLLECTIVE_ALL_TO_ALL),
                                        .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                        .exists = exists,
                                        .lay = lay_two_level,
                                        .edges = EDGES_ARE_SUMS,
                                        .connections = connections,
                                        .whole_rows = TRUE,
                                        .channels = channels,
                                        .rate_cap = rate_cap,
                                        .latency = latency,
                                        .stepped = across,
                                        .hops = hops,
                                        .chunk = timed_tree_chunk,
                                        .build = step_build_at_once };
