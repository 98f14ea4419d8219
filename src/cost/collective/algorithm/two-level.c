/*
 * Tokens to their experts and back, once a node and once a GPU (dispatch.h), by a library of its
 * own (DeepEP) instead of NCCL's channels: what binds are cards and NVLink, at their own
 * efficiency. Both are crossed at the same time, since what has arrived is passed on at once.
 *
 *   card, each way     S D (N - 1) / (N G)   D of N nodes, G of all GPUs that a token reaches
 *   NVLink, each way   S (p - 1) / p         p members of a node
 */
#include "cost/collective/algorithm/algorithm-private.h"

#include "cost/collective/layout/pairs-private.h"
#include "cost/collective/layout/route-private.h"

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  return graph->dispatch.chosen > 0 && even && !graph->hosts;
}

/*
 * A byte of S is 1 / G of a token's row, G being the GPUs that the token reaches. Memory: the row
 * is read; for each other node it is written into a buffer, read by the card, written by the card
 * there, and read; for each GPU written into a buffer there, read, and written. The way back is the
 * same.
 */
static void
route (const RoutingContext *context, const Members *members, CollectiveKind kind,
       const guint32 *ranks)
{
  const Dispatch *dispatch = &members->dispatch;
  const guint     n = members->n_nodes;
  const double    gpus = dispatch_parts (dispatch, members->n_gpus),
               to_each = dispatch_nodes (dispatch, n) / n;

  (void) kind, (void) ranks;
  pairs_add_rails (context, members, to_each / gpus);
  pairs_add_inside (context, members, 1.0 / members->nodes[0].n);
  for (guint i = 0; i < members->n_gpus; i++)
    load_sum_add (context->sum,
                  cluster_gpu_resource (context->sum->cluster, members->gpus[i], RESOURCE_HBM),
                  (1 + 4 * (n - 1) * to_each) / gpus + 3);
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

/* ---- rings of keys and values ---------------------------------------------------------------- */

/*
 * A block that a ring hands to the next node goes over the cards of several GPUs (Zeppelin,
 * arXiv:2509.21841): dispatched to proxies, from card to card, combined at the receiver. What has
 * arrived is passed on at once, so the slowest of the three binds:
 *
 *   card, each way     S / x
 *   NVLink, each way   S (x - 1) / x   on the sender, and on the receiver
 */
static gboolean
has_proxies (const CollectiveGraph *graph, gboolean even)
{
  (void) even;
  return graph->dispatch.proxies > 1 && graph->n_nodes > 1 && !graph->hosts;
}

static void
route_proxied (const RoutingContext *context, const Members *members, CollectiveKind kind,
               const guint32 *ranks)
{
  pairs_add_proxied (context, members, ranks, members->dispatch.proxies, 1);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}

static guint
proxy_channels (const Timed *self)
{
  return self->graph->dispatch.proxies;
}

static double
proxied_latency (const Timed *self, guint n, double cap)
{
  return across (self, n, cap) + 2 * self->hop_intra;
}

static const Algorithm proxied = { .id = ALGORITHM_TWO_LEVEL,
                                   .kinds = KIND_BIT (COLLECTIVE_SEND_RECV),
                                   .preferred = TRUE,
                                   .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                   .exists = has_proxies,
                                   .route = route_proxied,
                                   .edges = EDGES_ARE_SUMS,
                                   .peers = timed_one_peer,
                                   .channels = proxy_channels,
                                   .rate_cap = rate_cap,
                                   .latency = proxied_latency,
                                   .stepped = across,
                                   .hops = hops,
                                   .chunk = timed_tree_chunk,
                                   .build = step_build_at_once };

const Algorithm algorithm_two_level = { .next = &proxied,
                                        .id = ALGORITHM_TWO_LEVEL,
                                        .kinds = KIND_BIT (COLLECTIVE_ALL_TO_ALL),
                                        .preferred = TRUE,
                                        .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                        .exists = exists,
                                        .route = route,
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
