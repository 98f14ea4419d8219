/* Three collectives: inside nodes, one ring per local rank across them, inside nodes. */
#include <math.h>

#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/library/factors-private.h"

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  return even && graph->n_nodes > 1 && graph->n_ranks > graph->n_nodes;
}

/* Inside, across and inside again (all-gather and reduce-scatter: inside once). */
static double
all_hops (const Timed *self, double cap)
{
  const StepHop *across = &self->layout->steps[self->kind == COLLECTIVE_ALL_GATHER ? 0 : 1];
  guint          n = self->graph->n_nodes, steps = collective_ring_steps (self->kind, n);
  guint          leaves = (guint) CLAMP (lround (across->slow * n), 1, (glong) n);
  double scale = timed_wire_scale (self->protocol), channel = cap > 0 ? across->share / cap : 0;
  double spare = MAX (across->seconds * scale, channel) - MAX (across->rest * scale, channel);
  double hop = timed_hop_across (self);
  double shown =
      step_ring_exposed (leaves, n / leaves, steps, hop - self->bytes * spare / steps, hop);

  return collective_kind_rounds (self->kind) * (self->graph->per_node - 1) * self->hop_intra
         + MAX (shown, hop);
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

/* ---- links ----------------------------------------------------------------------------------- */

/* One phase of a hierarchical collective: the members of each node among themselves. */
static void
plan_inside (const RoutingContext *context, const Members *members, CollectiveKind kind,
             guint8 phase)
{
  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      MemberNode node = members->nodes[slot];
      Members    inside = {
           .gpus = members->gpus + node.first, .n_gpus = node.n, .nodes = &node, .n_nodes = 1
      };

      node.first = 0;
      route_begin_section (context, phase);
      route_rings (context, &inside, kind, 1, RING_CLOSED);
    }
}

/* The other phase: the i-th members of all nodes, for every i, each set on its part of S. */
static void
plan_across (const RoutingContext *context, const Members *members, CollectiveKind kind,
             guint8 phase)
{
  guint                  n = members->n_nodes, each = members->nodes[0].n;
  g_autofree guint32    *gpus = g_new (guint32, n);
  g_autofree MemberNode *nodes = g_new (MemberNode, n);
  Members                across = { .gpus = gpus, .n_gpus = n, .nodes = nodes, .n_nodes = n };

  for (guint i = 0; i < each; i++)
    {
      for (guint slot = 0; slot < n; slot++)
        {
          gpus[slot] = members->gpus[members->nodes[slot].first + i];
          nodes[slot] = (MemberNode){ members->nodes[slot].node, slot, 1 };
        }
      route_begin_section (context, phase);
      route_rings (context, &across, kind, 1.0 / each, RING_CLOSED);
    }
}

static void
route (const RoutingContext *context, const Members *members, CollectiveKind kind,
       const guint32 *ranks)
{
  (void) ranks;
  switch (kind)
    {
    case COLLECTIVE_ALL_GATHER:
      plan_across (context, members, kind, 1);
      plan_inside (context, members, kind, 2);
      break;
    case COLLECTIVE_REDUCE_SCATTER:
      plan_inside (context, members, kind, 1);
      plan_across (context, members, kind, 2);
      break;
    default: /* all-reduce */
      plan_inside (context, members, COLLECTIVE_REDUCE_SCATTER, 1);
      plan_across (context, members, COLLECTIVE_ALL_REDUCE, 2);
      plan_inside (context, members, COLLECTIVE_ALL_GATHER, 3);
      break;
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Of what a rank sends in all, the part of PHASE. */
static double
phase_share (const StepSource *source, guint8 phase)
{
  double bytes = 0;

  for (guint i = 0; i < source->edges->edges->len; i++)
    if (g_array_index (source->edges->edges, RoutedEdge, i).join.phase == phase)
      bytes += g_array_index (source->edges->edges, RoutedEdge, i).bytes;
  return bytes / source->n_ranks / source->payload;
}

/* Rings of sections, each of which begins when what arrived in the phase before is complete. */
static void
build (StepBuild *self)
{
  const GArray *edges = self->source->edges->edges;
  double        shares[4] = { 0 };

  for (guint phase = 1; phase < G_N_ELEMENTS (shares); phase++)
    shares[phase] = phase_share (self->source, (guint8) phase);
  for (guint first = 0, end; first < edges->len; first = end)
    {
      const RoutedEdge *ring = &g_array_index (edges, RoutedEdge, first);
      gboolean twice = self->source->kind == COLLECTIVE_ALL_REDUCE && ring->join.phase == 2;
      guint    steps;

      end = step_build_ring_end (edges, first);
      steps = (twice ? 2 : 1) * (end - first - 1);
      for (guint i = first; i < end; i++)
        step_build_edge (self, &g_array_index (edges, RoutedEdge, i), steps,
                         shares[ring->join.phase]);
    }
  step_build_ring_waits (self, 1);
  step_build_join_waits (self, STEP_AFTER);
}

const Algorithm algorithm_hierarchical = { .id = ALGORITHM_HIERARCHICAL,
                                           .kinds = KINDS_OF_RINGS,
                                           .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                           .exists = exists,
                                           .on_request = TRUE,
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
                                           .build = build };
