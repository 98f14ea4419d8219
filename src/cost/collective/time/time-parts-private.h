/*
 * The parts of collective_time (time-private.h), that algorithms are made of.
 *
 *   time-hops.c      what one hop takes, and what is paid once
 *   time-rates.c     channels, and what they let through
 *   time-ring.c      rings and chains
 *   time-pipeline.c  trees: what passes stages one after another
 *   ring-fold.c      rings that share links alike, folded to one
 *   time-steps.c     steps that all ranks make one after another
 *   time-messages.c  messages between plain hosts
 *   time-sites.c     what lies between sites
 *   time.c           all together, its steps, its bound
 */
#pragma once

#include "cost/collective/time/time-private.h"

/* The operation that is timed. */
typedef struct
{
  const CollectiveGraph  *graph;
  CollectiveKind          kind;
  const Algorithm        *algorithm;
  CollectiveProtocol      protocol;
  double                  bytes;
  const CollectiveLayout *layout;
  double                  hop_intra, hop_net; /* s: of a hop of either kind; hosts: of a message */
  double way;   /* s: of hop_net, between sites; rings have each edge's own instead */
  guint  ways;  /* between sites that a message makes: announced ones three */
  double flows; /* of two neighbours on one lane, between sites: timed_flows */
} Timed;

/* ---- hops ------------------------------------------------------------------------------------ */

double timed_figure_or (const Figure *figure, double fallback);
double timed_wire_scale (CollectiveProtocol protocol);
double timed_base (const Timed *self); /* paid once, by the library's tables */
double timed_link_hop_intra (const Timed *self);
double timed_link_hop_net (const Timed *self);
double timed_ring_hop_intra (const Timed *self); /* of a ring: no less than the cards' posting */
double timed_hop_across (const Timed *self);     /* between nodes, of rings with one rank a node */
StepParameters timed_link_hops (const Timed *self);

/* ---- rates; 0 is no limit -------------------------------------------------------------------- */

/* As many channels as get FLOOR_BYTES each, at most MOST. */
guint    timed_channels_of (const Timed *self, double floor_bytes, guint most);
guint    timed_channels (const Timed *self); /* by the protocol's threads, on all that are there */
guint    timed_all_peers (const Timed *self);
guint    timed_one_peer (const Timed *self);
double   timed_pair_chunk (const Timed *self); /* bytes that a pair's channel passes on at once */
double   timed_pair_copy_rate (const Timed *self); /* B/s at which it copies them */
double   timed_passed_on (const Timed *self);      /* bytes that a rank passes on, per byte of S */
double   timed_unaligned_cap (const Timed *self, double cap);
gboolean timed_is_unaligned (const Timed *self);
double   timed_channel_cap (const Timed *self, guint channels);

/* ---- rings and chains ------------------------------------------------------------------------ */

/* What the edges of a ring take for a byte of S, and the slowest of them; s. */
typedef struct
{
  double intra, net, slowest, inside; /* inside: the slowest of those inside nodes */
} RingPace;

/* Bytes that a channel passes along a chain at once. */
double   timed_chain_chunk (CollectiveProtocol protocol);
RingPace timed_ring_pace (const Timed *self, double cap);
RingPace timed_ring_pace_alone (const Timed *self, double cap);
double   timed_ring_spread (const Timed *self, const RingPace *pace, double cap);
double   timed_ring_hops (const Timed *self, const RingPace *pace, double cap);
double   timed_chain_hops (const Timed *self, guint channels, double cap);
guint    timed_ring_credits (const Timed *self); /* chunks that a connection holds; 0: any */
void     timed_spread_ring (const Timed *self, CollectiveCost *cost);
double   timed_ring_bound (const Timed *self, guint channels, double cap);
double   timed_chain_bound (const Timed *self, guint channels, double cap);

/* ---- between sites --------------------------------------------------------------------------- */

double timed_flows (const Timed *self, guint channels);
double timed_flow_cap (const Timed *self);
double timed_site_hop (const Timed *self);
double timed_unlike_seconds (const Timed *self, double cap, gboolean alone);
double timed_chain_ways (const Timed *self);

/* ---- pipelines ------------------------------------------------------------------------------- */

/* Edges that a chunk passes one after another; of `pairs` two meet on a card of their receiver. */
typedef struct
{
  double intra, net, pairs;
} Stages;

guint  timed_tree_levels (const Timed *self); /* of the trees between nodes */
Stages timed_tree_stages (const Timed *self); /* their edges, up and down; none inside nodes */
double timed_pair_pace (const Timed *self, double cap); /* of one of `pairs`; s per byte of S */
/* Bytes of S that pass a tree at once. */
double timed_tree_chunk (const Timed *self, guint channels);
double timed_pipeline_fill (const Timed *self, Stages stages, double chunk, double cap);
/* The same where all members of a node send to a head at once. */
double timed_direct_fill (const Timed *self, Stages stages, double chunk, double cap);
double timed_pipeline_bound (const Timed *self, double hops, double cap);

/* ---- steps ----------------------------------------------------------------------------------- */

double timed_steps_unlike (const Timed *self, double cap);
double timed_steps_alone (const Timed *self, double cap); /* each edge with its links to itself */
double timed_steps_bound (const Timed *self, double hop, double cap); /* HOP: of a step */
