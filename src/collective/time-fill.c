#include "collective/time-parts-private.h"

#include <math.h>

/*
 * Of what a tree passes on line by line, under LL and LL128: what `step` moves at once, and in how
 * many chunks.
 */
#define LINES       (32 << 10)
#define LEAST_LINES 256
#define MOST_LINES  4096

/*
 * One step after another, with all that runs in it or each edge ALONE, or what the channels let
 * through.
 */
static double
sum_steps (const Timed *self, gboolean alone, double cap)
{
  double sum = 0;

  for (guint i = 0; i < self->layout->n_steps; i++)
    {
      const StepHop *step = &self->layout->steps[i];

      sum += MAX ((alone ? step->alone : step->seconds) * timed_wire_scale (self->protocol),
                  cap > 0 ? step->share / cap : 0);
    }
  return self->bytes * sum;
}

/*
 * The steps do not all wait for the same link (far ones cross the leaves, near ones the cards):
 * what they take one by one beyond the link that is busy longest.
 */
double
timed_steps_unlike (const Timed *self, double cap)
{
  double links = self->layout->link_seconds_per_byte * timed_wire_scale (self->protocol);

  return MAX (sum_steps (self, FALSE, cap) - self->bytes * MAX (links, cap > 0 ? 1 / cap : 0), 0);
}

double
timed_pat_bound (const Timed *self, double cap)
{
  return MAX (self->bytes * self->layout->link_seconds_per_byte * timed_wire_scale (self->protocol)
                  + timed_pat_hop (self),
              sum_steps (self, TRUE, cap) + self->layout->n_steps * timed_pat_hop (self));
}

double
timed_round_bound (const Timed *self, double cap)
{
  return MAX (self->bytes * self->layout->link_seconds_per_byte + timed_round_hop (self),
              sum_steps (self, TRUE, cap) + self->layout->n_steps * timed_round_hop (self));
}

/* Levels of the trees between nodes. */
static guint
tree_levels (const CollectiveGraph *graph)
{
  return graph->n_nodes > 1 ? g_bit_storage (graph->n_nodes - 1) : 0;
}

/* Up and down again. */
double
timed_tree_hops (const Timed *self)
{
  guint levels = tree_levels (self->graph);

  return 2
         * ((self->graph->per_node - 1) * timed_hop_intra (self)
            + (levels > 0 ? levels * timed_hop_net (self) : 0));
}

/* Edges that a chunk passes one after another. */
typedef struct
{
  double intra, net;
} Stages;

static Stages
count_stages (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  double                 chain = 2 * (graph->per_node - 1), levels = 2 * tree_levels (graph);

  if (graph->n_nodes >= 4) /* above the leaves two children share a card */
    levels = 2 * levels - 2;

  switch (self->algorithm)
    {
    case ALGORITHM_TREE:
      return (Stages){ chain, levels };
    case ALGORITHM_NVLS_TREE:
      return (Stages){ 0, levels };
    case ALGORITHM_COLLNET_CHAIN:
      return (Stages){ chain, 1 };
    case ALGORITHM_COLLNET_DIRECT:
      return (Stages){ graph->per_node > 1 ? 2 : 0, 1 };
    default:
      return (Stages){ 0, 0 };
    }
}

/*
 * Bytes of S that pass a tree at once: a step of every channel's buffer. Under LL and LL128 lines
 * are passed on one by one; `step` takes enough chunks to come near.
 */
double
timed_tree_chunk (const Timed *self, guint channels)
{
  double most = channels * self->graph->tables->chunk_tree;

  if (self->protocol == PROTOCOL_SIMPLE)
    return self->bytes / MAX (ceil (self->bytes / most), 1);
  return self->bytes / CLAMP (ceil (self->bytes / LINES), LEAST_LINES, MOST_LINES);
}

/*
 * What a pipeline takes beyond the time that the slowest resource is busy: the first chunk passes
 * its stages one after another, the others follow at the pace of the slowest stage, or of the
 * resource that the stages at work share. Few chunks never have all stages inside nodes at work.
 */
double
timed_pipeline_fill (const Timed *self, guint channels, double cap)
{
  Stages   stages = count_stages (self);
  RingPace alone = timed_ring_pace_alone (self, cap), all = timed_ring_pace (self, cap);
  double   chunk = timed_tree_chunk (self, channels), n = self->bytes / MAX (chunk, 1);
  double   at_work = MIN (n / MAX (stages.intra + stages.net, 1), 1);
  double   scale = timed_wire_scale (self->protocol);
  double   pace = MAX (self->layout->intra_seconds_per_byte * at_work * scale,
                       self->layout->net_seconds_per_byte * scale);

  if (self->algorithm == ALGORITHM_COLLNET_DIRECT)
    {
      /* all send to a head at once; ports are at work from the first stage to the last */
      alone.intra = MAX (alone.intra, self->layout->intra_seconds_per_byte / 2);
      pace = self->layout->net_seconds_per_byte;
    }
  return MAX (chunk
                      * (stages.intra * alone.intra + stages.net * alone.net
                         + (n - 1) * MAX (pace, MAX (alone.intra, alone.net)))
                  - self->bytes * all.slowest,
              0);
}

/*
 * While the first chunks are on their way only one of the stages works at a time: what is in flight
 * then takes the sum of the stages' times, of which the slowest is in the bandwidth term already.
 */
double
timed_nvls_chunk (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  gboolean               one = graph->n_nodes == 1;
  guint  channels = one ? graph->generation->nvls_channels : graph->generation->nvls_channels_net;
  double chunk = graph->n_nodes >= 4 ? graph->tables->chunk_nvls_wide : graph->tables->chunk_nvls;

  return MIN (self->bytes, (double) channels * graph->per_node * chunk);
}

/* All of S one way over a port, while S/p go the other, s per byte of S. */
static double
nvls_port (const Timed *self)
{
  guint p = self->graph->per_node;

  return self->layout->intra_seconds_per_byte * p / (p + 1.0);
}

/* The first chunk passes the switches' two stages and the levels of the trees between them. */
double
timed_nvls_fill (const Timed *self)
{
  Stages   stages = count_stages (self);
  RingPace alone = timed_ring_pace_alone (self, 0);

  if (self->kind != COLLECTIVE_ALL_REDUCE)
    return 0;
  return self->bytes / MAX (ceil (self->bytes / MAX (timed_nvls_chunk (self), 1)), 1)
         * MAX (2 * nvls_port (self) + stages.net * alone.net - self->layout->link_seconds_per_byte,
                0);
}

/* A pair's chunk is copied into a buffer and out of it again. */
static double
pairwise_fill (const Timed *self, guint channels)
{
  double part = self->bytes * timed_carried (self) / channels;
  double chunk = self->graph->nic != NULL || self->graph->hop != HOP_NVLINK
                     ? self->graph->tables->chunk_p2p_net
                     : self->graph->tables->chunk_p2p;

  return MIN (part, chunk) / MAX (part, 1) * self->bytes * self->layout->link_seconds_per_byte;
}

double
timed_fill (const Timed *self, guint channels, double cap)
{
  switch (self->algorithm)
    {
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
      return timed_nvls_fill (self);
    case ALGORITHM_PAIRWISE:
      return pairwise_fill (self, channels);
    case ALGORITHM_TREE:
    case ALGORITHM_COLLNET_CHAIN:
    case ALGORITHM_COLLNET_DIRECT:
      return self->protocol == PROTOCOL_SIMPLE ? timed_pipeline_fill (self, channels, cap) : 0;
    default:
      return 0;
    }
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

/* Phase after phase, each as long as its fastest edge takes with every link to itself. */
double
timed_hierarchical_bound (const Timed *self, double cap)
{
  double links = self->layout->link_seconds_per_byte * timed_wire_scale (self->protocol);

  return MAX (self->bytes * links, sum_steps (self, TRUE, cap));
}
