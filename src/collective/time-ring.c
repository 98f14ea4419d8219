#include <math.h>

#include "collective/algorithm-private.h"
#include "collective/factors-private.h"

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
                     MAX (layout->link_seconds_per_byte * scale, channel) };
}

/* The same with every link to itself. */
RingPace
timed_ring_pace_alone (const Timed *self, double cap)
{
  const CollectiveLayout *layout = self->layout;
  double   scale = timed_wire_scale (self->protocol), channel = cap > 0 ? 1 / cap : 0;
  RingPace pace = { MAX (layout->ring.intra_alone * scale, channel),
                    MAX (layout->ring.net_alone * scale, channel), 0 };

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

/* The hop of the slowest edge, which follows the last byte whatever else runs. */
static double
last_hop (const Timed *self, const RingPace *pace)
{
  return is_slowest_net (self, pace) ? self->hop_net : timed_ring_hop_intra (self);
}

/*
 * What the hops of a ring add, one a step, along the run of edges that gains most (steps.h).
 *
 * Between GPUs a connection holds two chunks at most (NCCL_STEPS slots of its buffer, four a
 * chunk), and a chunk is passed on when it is there: ranks that could be faster keep the pace of
 * the slowest edge, so no edge has time to spare in which a hop could hide. Public runs show it: 2
 * to 64 nodes of 8 pay some 8 us a step at every size, where channels bind as where cards do
 * (docs/collectives.md). The next loop's chunks follow without a pause: the hops are paid once.
 *
 * Between plain hosts every message has a buffer of its own, and a hop is hidden as far as its edge
 * has time to spare.
 */
static double
ring_hops (const Timed *self, const RingPace *pace)
{
  const CollectiveGraph *graph = self->graph;
  guint                  steps = collective_ring_steps (self->kind, graph->n_ranks);
  double                 each = self->algorithm->hosts ? self->bytes / steps : 0;
  double hop = self->algorithm->hosts ? self->hop_intra : timed_ring_hop_intra (self);
  double intra = hop - each * (pace->slowest - pace->intra);
  double net = self->hop_net - each * (pace->slowest - pace->net);

  return MAX (step_ring_exposed (graph->n_nodes, graph->per_node, steps, intra, net),
              last_hop (self, pace));
}

/* S's bytes with every link to itself, and the hops. */
static double
alone_seconds (const Timed *self, double cap)
{
  RingPace pace = timed_ring_pace_alone (self, cap);

  return self->bytes * pace.slowest + ring_hops (self, &pace);
}

/*
 * What hops add. Rings in step with each other meet on every link that they share, and PACE holds.
 * Where they share unevenly they fall out of step and meet now and then: halfway between PACE and
 * links to themselves.
 */
double
timed_ring_hops (const Timed *self, const RingPace *pace, double cap)
{
  double shown = ring_hops (self, pace);

  if (!self->layout->ring.uneven)
    return shown;
  return (shown
          + MAX (alone_seconds (self, cap) - self->bytes * pace->slowest, last_hop (self, pace)))
         / 2;
}

/*
 * How much longer than its slowest resource takes a ring is spread out, s. When another operation
 * takes half of the slowest edges, the others get time to spare, and their hops hide in it.
 * Flowing for these hops' time too, at a lower rate, instead of waiting first and flowing then,
 * gives just that.
 */
double
timed_ring_spread (const Timed *self, const RingPace *pace, double cap)
{
  const CollectiveGraph *graph = self->graph;
  guint                  steps = collective_ring_steps (self->kind, graph->n_ranks);
  StepRun                run;

  if (graph->n_nodes == 1 || graph->per_node == 1)
    return 0;
  run = step_ring_run (graph->n_nodes, graph->per_node, steps, timed_ring_hop_intra (self),
                       self->hop_net);
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

/* The first chunk takes every hop and edge one after another; the others follow the slowest. */
static double
chain_hops (const Timed *self, const RingPace *pace, guint net, guint channels)
{
  guint  intra = self->graph->n_ranks - 1 - net;
  double chunk = MIN (self->bytes, self->algorithm->chunk (self, channels));
  double items = MAX (ceil (self->bytes / MAX (chunk, 1)), 1);

  return MAX (intra * self->hop_intra + net * self->hop_net
                  + self->bytes / items * (intra * pace->intra + net * pace->net - pace->slowest),
              0);
}

double
timed_chain_hops (const Timed *self, guint channels, double cap)
{
  RingPace pace = timed_ring_pace (self, cap);

  return chain_hops (self, &pace, self->layout->ring.n_net, channels);
}

double
timed_chain_bound (const Timed *self, guint channels, double cap)
{
  RingPace alone = timed_ring_pace_alone (self, cap);

  return bound_with (self, cap,
                     self->bytes * alone.slowest
                         + chain_hops (self, &alone, self->layout->ring.n_net_least, channels));
}
