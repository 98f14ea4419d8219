/* Three collectives: inside nodes, one ring per local rank across them, inside nodes. */
#include <math.h>

#include "collective/algorithm-private.h"
#include "collective/factors-private.h"

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  return even && graph->n_nodes > 1 && graph->n_ranks > graph->n_nodes;
}

/*
 * What the hops of the rings across add: those on edges that stay under a leaf are hidden as far as
 * these are faster than the ones that leave it (steps.h, with leaves for nodes).
 */
static double
hops_across (const Timed *self, double cap)
{
  const StepHop *across = &self->layout->steps[self->kind == COLLECTIVE_ALL_GATHER ? 0 : 1];
  guint          n = self->graph->n_nodes, steps = collective_ring_steps (self->kind, n);
  guint          leaves = (guint) CLAMP (lround (across->slow * n), 1, (glong) n);
  double scale = timed_wire_scale (self->protocol), channel = cap > 0 ? across->share / cap : 0;
  double spare = MAX (across->seconds * scale, channel) - MAX (across->rest * scale, channel);
  double hop = timed_hop_across (self);
  double shown =
      step_ring_exposed (leaves, n / leaves, steps, hop - self->bytes * spare / steps, hop);

  return MAX (shown, hop);
}

/* Inside, across and inside again (all-gather and reduce-scatter: inside once). */
static double
all_hops (const Timed *self, double cap)
{
  return collective_kind_rounds (self->kind) * (self->graph->per_node - 1) * self->hop_intra
         + hops_across (self, cap);
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
  return base (self) + all_hops (self, cap) + timed_steps_unlike (self, cap);
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
  return all_hops (self, cap) + timed_steps_unlike (self, cap);
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
