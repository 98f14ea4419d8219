/*
 * PAT (parallel aggregated trees): all-gather and reduce-scatter in log2 N steps over one rank a
 * node. Each rank's part goes down a binomial tree, the farthest rank first: rank x hands it on to
 * x + d with d halved from step to step, so that few bytes go far and many go near; (N-1)/N S a
 * rank in all. A reduction takes the same edges the other way. (Jeaugey, "PAT: a new algorithm for
 * all-gather and reduce-scatter operations at scale", arXiv:2506.20252; NCCL 2.23.)
 */
#include "cost/collective/algorithm/algorithm-private.h"

#include <math.h>

#define PAT_RANK 2.8e-6 /* s a rank */

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  (void) even;
  return graph->n_nodes > 1 && graph->per_node == 1;
}

/* ---- the library's model --------------------------------------------------------------------- */

static double
believed_rate (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
               double bytes)
{
  (void) kind, (void) protocol, (void) bytes;
  return 0.75 * (graph->searched * graph->speed);
}

static double
believed_latency (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
                  double bytes)
{
  (void) kind, (void) bytes;
  return graph->library->base[ALGORITHM_PAT][protocol]
         + log2 (graph->n_nodes) * collective_graph_net_hop (graph, ALGORITHM_PAT, protocol) / 3.5
         + PAT_RANK * graph->n_ranks;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Sites count in full, in every step. */
static double
step_hop (const Timed *self)
{
  return log2 (self->graph->n_nodes) * (self->hop_net - self->way) / 3.5
             / MAX (self->layout->n_steps, 1)
         + self->way;
}

static double
latency (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return timed_base (self) + MAX (self->layout->n_steps, 1) * step_hop (self)
         + PAT_RANK * self->graph->n_ranks + timed_steps_unlike (self, cap);
}

static double
bound (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return timed_steps_bound (self, step_hop (self), cap);
}

static double
stepped (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return self->layout->n_steps * step_hop (self) + timed_steps_unlike (self, cap);
}

static StepParameters
hops (const Timed *self)
{
  return (StepParameters){ .hop_net = step_hop (self) };
}

/* ---- links ----------------------------------------------------------------------------------- */

guint
pat_parts (guint distance, guint n)
{
  return ((n - 1) / distance + 1) / 2;
}

/* All ranks at once. */
static void
add_step (const RoutingContext *context, const Members *members, const CardsInUse *cards,
          guint distance, gboolean reduce, guint step)
{
  guint  n = members->n_nodes;
  double bytes = (double) pat_parts (distance, n) / n / cards->n_lanes;

  for (guint slot = 0; slot < n && !context->sum->poll.cut; slot++)
    for (guint card = 0; card < cards->n_lanes; card++)
      {
        guint   far = (slot + distance) % n, from = reduce ? far : slot, to = reduce ? slot : far;
        guint32 sender = members->gpus[members->nodes[from].first],
                receiver = members->gpus[members->nodes[to].first];
        Route route;

        ring_route (context, sender, receiver, (gint) cards_in_use_get (cards, from, card),
                    (gint) cards_in_use_get (cards, to, card), &route);
        load_sum_add_route (context->sum, &route, bytes);
        if (context->edges != NULL)
          routed_edges_add (context->edges, sender, receiver, step, NULL, &route, bytes);
      }
}

void
pat_add_traffic (const RoutingContext *context, const Members *members, CollectiveKind kind)
{
  gboolean   reduce = kind == COLLECTIVE_REDUCE_SCATTER;
  guint      n_steps = g_bit_storage (members->n_nodes - 1);
  CardsInUse cards;

  cards_in_use_init (&cards, context->sum->cluster, members);
  for (guint step = 0; step < n_steps; step++)
    add_step (context, members, &cards, 1u << (reduce ? step : n_steps - 1 - step), reduce, step);
  cards_in_use_clear (&cards);
}

static void
route (const RoutingContext *context, const Members *members, CollectiveKind kind,
       const guint32 *ranks)
{
  (void) ranks;
  pat_add_traffic (context, members, kind);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}

const Algorithm algorithm_pat = { .id = ALGORITHM_PAT,
                                  .kinds = KIND_BIT (COLLECTIVE_ALL_GATHER)
                                           | KIND_BIT (COLLECTIVE_REDUCE_SCATTER),
                                  .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                  .exists = exists,
                                  .believed_latency = believed_latency,
                                  .believed_rate = believed_rate,
                                  .route = route,
                                  .edges = EDGES_ARE_STEPS,
                                  .channels = timed_channels,
                                  .carried = timed_passed_on,
                                  .rate_cap = timed_channel_cap,
                                  .latency = latency,
                                  .bound = bound,
                                  .stepped = stepped,
                                  .hops = hops,
                                  .chunk = timed_tree_chunk,
                                  .build = step_build_rounds };
