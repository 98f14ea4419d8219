#include <math.h>

#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/library/factors-private.h"
#include "cost/collective/time/ring-fold-private.h"

/*
 * Bytes that a channel passes along a chain at once: what its threads read before they write, 512
 * threads of 8 bytes (LL) or 64 (Simple), 640 of 60 (LL128).
 */
static const double chain_chunk[PROTOCOL_N] = { 512 * 8, 640 * 60, 512 * 64 };

double
timed_chain_chunk (CollectiveProtocol protocol)
{
  return chain_chunk[protocol];
}

/* CAP: B/s of S that the channels let through; 0: no limit. */
RingPace
timed_ring_pace (const Timed *self, double cap)
{
  const CollectiveLayout *layout = self->layout;
  double scale = timed_wire_scale (self->protocol), channel = cap > 0 ? 1 / cap : 0;

  return (RingPace){ MAX (layout->ring.intra * scale, channel),
                     MAX (layout->ring.net * scale, channel),
                     MAX (layout->link_seconds_per_byte * scale, channel),
                     MAX (layout->ring.intra_most * scale, channel) };
}

/* The same with every link to itself. */
RingPace
timed_ring_pace_alone (const Timed *self, double cap)
{
  const CollectiveLayout *layout = self->layout;
  double   scale = timed_wire_scale (self->protocol), channel = cap > 0 ? 1 / cap : 0;
  RingPace pace = { MAX (layout->ring.intra_alone * scale, channel),
                    MAX (layout->ring.net_alone * scale, channel), 0,
                    MAX (layout->ring.intra_most_alone * scale, channel) };

  pace.slowest = self->graph->per_node == 1  ? pace.net
                 : self->graph->n_nodes == 1 ? pace.intra
                                             : MAX (pace.intra, pace.net);
  return pace;
}

/* Whether the slowest edges are those between nodes. */
static gboolean
is_slowest_net (const Timed *self, const RingPace *pace)
{
  const CollectiveGraph *graph = self->graph;

  return graph->n_nodes > 1 && (graph->per_node == 1 || pace->net >= pace->intra);
}

static double
ring_hop_intra (const Timed *self)
{
  return self->algorithm->hosts ? self->hop_intra : timed_ring_hop_intra (self);
}

/* The hop of the slowest edge, which follows the last byte whatever else runs. */
static double
last_hop (const Timed *self, const RingPace *pace)
{
  return is_slowest_net (self, pace) ? self->hop_net : ring_hop_intra (self);
}

/*
 * Chunks that a connection holds: eight slots of its buffer, of which a chunk takes four under
 * Simple and one under LL and LL128, where eight are never too few (src/include/device.h; ring
 * chunks of src/enqueue.cc). Messages of plain hosts have buffers of their own, and between sites
 * the sockets' hold what is on its way.
 */
guint
timed_ring_credits (const Timed *self)
{
  return self->protocol == PROTOCOL_SIMPLE && !self->algorithm->hosts && self->layout->edges == NULL
             ? 2
             : 0;
}

/* The longest path between the slowest edge and its neighbour, where credits bind. */
static double
credit_seconds (const Timed *self, const RingPace *pace)
{
  const CollectiveGraph *graph = self->graph;
  const guint            steps = collective_ring_steps (self->kind, graph->n_ranks);
  const double           each = self->bytes / steps;
  const gboolean         by_net = is_slowest_net (self, pace);
  const StepClass intra = { each * (by_net ? pace->inside : pace->slowest), ring_hop_intra (self) };
  const StepClass net = { each * (by_net ? pace->slowest : pace->net), self->hop_net };

  return step_ring_credits (graph->n_nodes, graph->per_node, steps, intra, net);
}

/*
 * What the hops of a ring add (steps.h): along the chunks' way around it, hidden as far as an edge
 * has time to spare; or where a connection waits for its credits, which come back when the receiver
 * has passed on. 64 nodes of 8 pay 8 to 9 us a step at every size (docs/collectives.md): half of
 * a hop between nodes and one inside, not an eighth and seven eighths.
 */
static double
ring_hops (const Timed *self, const RingPace *pace)
{
  const CollectiveGraph *graph = self->graph;
  const guint            steps = collective_ring_steps (self->kind, graph->n_ranks);
  const double           each = self->bytes / steps;
  const double           intra = ring_hop_intra (self) - each * (pace->slowest - pace->intra);
  const double           net = self->hop_net - each * (pace->slowest - pace->net);
  double shown = step_ring_exposed (graph->n_nodes, graph->per_node, steps, intra, net);

  if (timed_ring_credits (self) == 2)
    shown = MAX (shown, credit_seconds (self, pace) - self->bytes * pace->slowest);
  return MAX (shown, last_hop (self, pace));
}

/* S's bytes with every link to itself, and the hops. */
static double
alone_seconds (const Timed *self, double cap)
{
  RingPace pace = timed_ring_pace_alone (self, cap);

  if (self->layout->edges != NULL)
    return timed_unlike_seconds (self, cap, TRUE);
  return self->bytes * pace.slowest + ring_hops (self, &pace);
}

/* Whether links inside nodes hold back rings that meet there at all places of their ways alike. */
static gboolean
is_folded (const Timed *self, const RingPace *pace, double cap)
{
  return self->layout->ring.meet > 0 && !self->algorithm->hosts
         && pace->intra > timed_ring_pace_alone (self, cap).intra * (1 + 1e-9);
}

/*
 * Such rings start in step. Edges next to the slow ones fall behind, and then meet fewer others:
 * their hops are hidden by what others send, as far as the link has time for both.
 */
static double
folded_seconds (const Timed *self, double cap)
{
  const CollectiveGraph *graph = self->graph;
  const RingHops        *ring = &self->layout->ring;
  const guint            steps = collective_ring_steps (self->kind, graph->n_ranks);
  const guint            places = graph->n_ranks / graph->n_nodes;
  const double           scale = timed_wire_scale (self->protocol), each = self->bytes / steps;
  const double           channel = cap > 0 ? 1 / cap : 0;

  return ring_fold_seconds (&(RingFold){ .places = places,
                                         .steps = steps,
                                         .meet = ring->meet,
                                         .meet_net = ring->meet_net,
                                         .link = each * scale * ring->intra
                                                 / (ring->meet * (places - 1) + ring->meet_net),
                                         .inside = each * MAX (ring->intra_alone * scale, channel),
                                         .net = each * MAX (ring->net_own * scale, channel),
                                         .hop_intra = ring_hop_intra (self),
                                         .hop_net = self->hop_net,
                                         .credits = timed_ring_credits (self) == 2 });
}

/*
 * What hops add. Rings in step with each other meet on every link that they share, and PACE holds.
 * Where all places of a node meet alike, one ring stands for all (ring-fold-private.h). Where they
 * share unevenly they fall out of step and meet now and then: halfway between PACE and links to
 * themselves.
 */
double
timed_ring_hops (const Timed *self, const RingPace *pace, double cap)
{
  double shown = ring_hops (self, pace), limit = timed_flow_cap (self);

  if (self->layout->edges != NULL)
    return MAX (timed_unlike_seconds (self, cap, FALSE)
                    - self->bytes * MAX (pace->slowest, limit > 0 ? 1 / limit : 0),
                0);
  if (is_folded (self, pace, cap))
    return MAX (
        MAX (folded_seconds (self, cap), alone_seconds (self, cap)) - self->bytes * pace->slowest,
        last_hop (self, pace));
  if (!self->layout->ring.uneven)
    return shown;
  return (shown
          + MAX (alone_seconds (self, cap) - self->bytes * pace->slowest, last_hop (self, pace)))
         / 2;
}

/*
 * How much longer than its slowest resource takes a ring is spread out, s. The longest path through
 * its steps uses the slowest edges in some of them only, so when another operation takes half of
 * those, it grows by these steps' time and not by all transfers. Flowing for STEPS + (steps on the
 * other edges) times an item, instead of waiting first and flowing then, gives just that.
 */
double
timed_ring_spread (const Timed *self, const RingPace *pace, double cap)
{
  const CollectiveGraph *graph = self->graph;
  guint                  steps = collective_ring_steps (self->kind, graph->n_ranks);
  StepRun                run;

  if (graph->n_nodes == 1 || graph->per_node == 1 || self->layout->edges != NULL)
    return 0;
  run =
      step_ring_run (graph->n_nodes, graph->per_node, steps, ring_hop_intra (self), self->hop_net);
  return CLAMP (timed_ring_hops (self, pace, cap) - last_hop (self, pace), 0,
                (is_slowest_net (self, pace) ? run.intra : run.net) * self->bytes * pace->slowest
                    / MAX (steps, 1));
}

void
timed_spread_ring (const Timed *self, CollectiveCost *cost)
{
  RingPace pace = timed_ring_pace (self, cost->rate_cap);
  double   spread = timed_ring_spread (self, &pace, cost->rate_cap);

  if (spread <= 0)
    return;
  cost->latency -= spread;
  cost->rate_cap = self->bytes / (self->bytes * pace.slowest + spread);
}

/*
 * Whatever else runs, the slowest resource is busy for its time and then a hop follows; and the
 * longest path through the steps takes what it takes with every link to itself.
 */
static double
bound_with (const Timed *self, double cap, double alone)
{
  const CollectiveGraph *graph = self->graph;
  RingPace               shared = timed_ring_pace (self, cap);
  double                 hop = graph->n_nodes == 1    ? self->hop_intra
                               : graph->per_node == 1 ? self->hop_net
                                                      : MIN (self->hop_intra, self->hop_net);

  return MAX (self->bytes * shared.slowest + hop, alone);
}

double
timed_ring_bound (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return bound_with (self, cap, alone_seconds (self, cap));
}

/* ---- chains ---------------------------------------------------------------------------------- */

/* Of the first chunk, which finds nothing on the links but other chains' first ones. */
static RingPace
first_pace (const Timed *self, double cap)
{
  const CollectiveLayout *layout = self->layout;
  double scale = timed_wire_scale (self->protocol), channel = cap > 0 ? 1 / cap : 0;

  return (RingPace){ .intra = MAX (layout->ring.intra_first * scale, channel),
                     .net = MAX (layout->ring.net_first * scale, channel) };
}

/* The FIRST chunk takes every hop and edge one after another; the others follow the SLOWEST. */
static double
chain_hops (const Timed *self, const RingPace *first, double slowest, guint net, guint channels)
{
  guint  intra = self->graph->n_ranks - 1 - net;
  double chunk = MIN (self->bytes, self->algorithm->chunk (self, channels));
  double items = MAX (ceil (self->bytes / MAX (chunk, 1)), 1);

  return MAX (intra * self->hop_intra + net * self->hop_net + timed_chain_ways (self)
                  + self->bytes / items * (intra * first->intra + net * first->net - slowest),
              0);
}

double
timed_chain_hops (const Timed *self, guint channels, double cap)
{
  const RingPace pace = timed_ring_pace (self, cap), first = first_pace (self, cap);

  return chain_hops (self, &first, pace.slowest, self->layout->ring.n_net, channels);
}

double
timed_chain_bound (const Timed *self, guint channels, double cap)
{
  RingPace alone = timed_ring_pace_alone (self, cap);

  return bound_with (
      self, cap,
      self->bytes * alone.slowest
          + chain_hops (self, &alone, alone.slowest, self->layout->ring.n_net_least, channels));
}
