#include <math.h>

#include "cost/collective/time/time-parts-private.h"

/*
 * Of what a tree passes on line by line, under LL and LL128: what `step` moves at once, and in how
 * many chunks.
 */
#define LINES       (32 << 10)
#define LEAST_LINES 256
#define MOST_LINES  4096
#define STAGE_LINES 8 /* chunks a stage at least: the first one's way is no eighth of the time */

/*
 * The longest way to the root is by the powers of two: 1, 2, 4, ... and from the last one to 0. All
 * of them but 1 have two children; the last one, if nothing comes after the node behind it, has
 * one.
 */
Stages
timed_tree_stages (const Timed *self)
{
  const guint nodes = self->graph->n_nodes, levels = timed_tree_levels (self);
  guint       pairs = MAX (levels, 1) - 1;

  if (levels > 1 && nodes == (1U << (levels - 1)) + 1)
    pairs--;
  return (Stages){ .net = 2.0 * (levels - pairs), .pairs = 2.0 * pairs };
}

/* Two edges share a card, but each has channels of its own. */
double
timed_pair_pace (const Timed *self, double cap)
{
  return MAX (2 * self->layout->ring.net_alone * timed_wire_scale (self->protocol),
              cap > 0 ? 1 / cap : 0);
}

/*
 * Bytes of S that pass a tree at once: a step of every channel's buffer. Under LL and LL128 lines
 * are passed on one by one; `step` takes enough chunks to come near.
 */
double
timed_tree_chunk (const Timed *self, guint channels)
{
  double most = channels * self->graph->library->chunk_tree.value;
  double stages = 2.0 * (self->graph->per_node - 1 + timed_tree_levels (self));
  double least = CLAMP (STAGE_LINES * stages, LEAST_LINES, MOST_LINES);

  if (self->protocol == PROTOCOL_SIMPLE)
    return self->bytes / MAX (ceil (self->bytes / most), 1);
  return self->bytes / CLAMP (ceil (self->bytes / LINES), least, MOST_LINES);
}

/* The STAGES one after another for the first chunk; PACE and ALONE for each of the others. */
static double
fill_of (const Timed *self, Stages stages, const RingPace *alone, double pace, double chunk,
         double cap)
{
  RingPace all = timed_ring_pace (self, cap);
  double   n = self->bytes / MAX (chunk, 1);

  return MAX (chunk
                      * (stages.intra * alone->intra + stages.net * alone->net
                         + stages.pairs * timed_pair_pace (self, cap)
                         + (n - 1) * MAX (pace, MAX (alone->intra, alone->net)))
                  - self->bytes * all.slowest,
              0);
}

/*
 * What a pipeline takes beyond the time that the slowest resource is busy: the first chunk passes
 * its stages one after another, the others follow at the pace of the slowest stage, or of the
 * resource that the stages at work share. Few chunks never have all stages inside nodes at work.
 */
double
timed_pipeline_fill (const Timed *self, Stages stages, double chunk, double cap)
{
  RingPace alone = timed_ring_pace_alone (self, cap);
  double   n = self->bytes / MAX (chunk, 1);
  double   at_work = MIN (n / MAX (stages.intra + stages.net + 2 * stages.pairs, 1), 1);
  double   scale = timed_wire_scale (self->protocol);
  double   pace = MAX (self->layout->intra_seconds_per_byte * at_work * scale,
                       self->layout->net_seconds_per_byte * scale);

  return fill_of (self, stages, &alone, pace, chunk, cap);
}

/* Ports are at work from the first stage to the last. */
double
timed_direct_fill (const Timed *self, Stages stages, double chunk, double cap)
{
  RingPace alone = timed_ring_pace_alone (self, cap);

  alone.intra = MAX (alone.intra, self->layout->intra_seconds_per_byte / 2);
  return fill_of (self, stages, &alone, self->layout->net_seconds_per_byte, chunk, cap);
}

/*
 * Chunks leave the slowest edge of their way one after another, and each pays its hops; and the
 * slowest resource is busy for its time.
 */
double
timed_pipeline_bound (const Timed *self, double hops, double cap)
{
  double scale = timed_wire_scale (self->protocol), channel = cap > 0 ? 1 / cap : 0;
  double edge = MAX (self->layout->ring.least * scale, channel);
  double links = MAX (self->layout->link_seconds_per_byte * scale, channel);

  return MAX (self->bytes * links, self->bytes * edge + hops);
}
