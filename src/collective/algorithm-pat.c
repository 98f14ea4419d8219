/* Parallel aggregated trees: one rank a node. */
#include "collective/algorithm-private.h"

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

const Algorithm algorithm_pat = { .id = ALGORITHM_PAT,
                                  .kinds = KIND_BIT (COLLECTIVE_ALL_GATHER)
                                           | KIND_BIT (COLLECTIVE_REDUCE_SCATTER),
                                  .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                  .exists = exists,
                                  .believed_latency = believed_latency,
                                  .believed_rate = believed_rate,
                                  .lay = lay_pat,
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
