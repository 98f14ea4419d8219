/* Three collectives: inside nodes, one ring per local rank across them, inside nodes. */
#include "collective/algorithm-private.h"

#include "collective/factors-private.h"

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  return even && graph->n_nodes > 1 && graph->n_ranks > graph->n_nodes;
}

/* Inside, across and inside again (all-gather and reduce-scatter: inside once). */
static double
all_hops (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;

  return collective_kind_rounds (self->kind) * (graph->per_node - 1) * self->hop_intra
         + collective_ring_steps (self->kind, graph->n_nodes) * timed_hop_across (self);
}

static double
base (const Timed *self)
{
  double one = self->graph->library->base[ALGORITHM_RING][self->protocol];

  return (self->kind == COLLECTIVE_ALL_REDUCE ? 3 : 2) * one;
}

static double
latency (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return base (self) + all_hops (self) + timed_steps_unlike (self, cap);
}

/* Phase after phase, each as long as its fastest edge takes with every link to itself. */
static double
bound (const Timed *self, guint channels, double cap)
{
  double links = self->layout->link_seconds_per_byte * timed_wire_scale (self->protocol);

  (void) channels;
  return MAX (self->bytes * links, timed_steps_alone (self, cap));
}

static double
stepped (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return all_hops (self) + timed_steps_unlike (self, cap);
}

static StepParameters
hops (const Timed *self)
{
  return (StepParameters){ .hop_intra = self->hop_intra, .hop_net = timed_hop_across (self) };
}

const Algorithm algorithm_hierarchical = { .id = ALGORITHM_HIERARCHICAL,
                                           .kinds = KINDS_OF_RINGS,
                                           .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                           .exists = exists,
                                           .on_request = TRUE,
                                           .lay = lay_hierarchical,
                                           .edges = EDGES_ARE_STEPS,
                                           .channels = timed_channels,
                                           .carried = timed_passed_on,
                                           .rate_cap = timed_channel_cap,
                                           .latency = latency,
                                           .bound = bound,
                                           .stepped = stepped,
                                           .hops = hops,
                                           .chunk = timed_tree_chunk,
                                           .build = step_build_hierarchical };
