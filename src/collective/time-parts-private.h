/*
 * The parts of collective_time (time-private.h).
 *
 *   time-hops.c   what one hop takes, and what is paid once
 *   time-rates.c  channels, and what they let through
 *   time-ring.c   rings and chains
 *   time-messages.c  the same of messages between plain hosts
 *   time-fill.c   what passes stages or steps one after another
 *   time.c        all together, its steps, its bound
 */
#pragma once

#include "collective/time-private.h"

/* The operation that is timed. */
typedef struct
{
  const CollectiveGraph  *graph;
  CollectiveKind          kind;
  CollectiveAlgorithm     algorithm;
  CollectiveProtocol      protocol;
  double                  bytes;
  const CollectiveLayout *layout;
} Timed;

/* ---- hops ------------------------------------------------------------------------------------ */

double timed_figure_or (const Figure *figure, double stock);
double timed_wire_scale (CollectiveProtocol protocol);
double timed_hop_intra (const Timed *self);
double timed_hop_net (const Timed *self);
double timed_net_start (const Timed *self);
double timed_nvls_latency (const Timed *self, const LinkProfile *link, HopClass class_);
double timed_hierarchical_hop_net (const Timed *self);
double timed_pair_hop (const Timed *self);
double timed_pat_hop (const Timed *self);

/* ---- messages -------------------------------------------------------------------------------- */

/*
 * What a message takes beyond its bytes: one way; three times that and the wait for the answer
 * where it is announced; and the reduction of what it brings.
 */
double timed_message_hop (const Timed *self);
double timed_message_chunk (const Timed *self); /* bytes of S that are passed on at once */
double timed_round_hop (const Timed *self);     /* the same of a step of an all-to-all's rounds */

/*
 * B/s of S: messages of an exchange follow each other, because the answer to the one waits behind
 * the other on their connection. 0: no exchange.
 */
double timed_message_cap (const Timed *self);
double timed_message_latency (const Timed *self, double cap); /* of all steps */
double timed_round_bound (const Timed *self, double cap);

/* ---- rates; 0 is no limit -------------------------------------------------------------------- */

guint  timed_count_channels (const Timed *self);
double timed_carried (const Timed *self);
double timed_unaligned_cap (const Timed *self, double cap);
double timed_rate_cap (const Timed *self, guint channels);

/* ---- rings and chains ------------------------------------------------------------------------ */

/* What the edges of a ring take for a byte of S, and the slowest of them; s. */
typedef struct
{
  double intra, net, slowest;
} RingPace;

/* Bytes that a channel passes along a chain at once. */
double   timed_chain_chunk (CollectiveProtocol protocol);
RingPace timed_ring_pace (const Timed *self, double cap);
RingPace timed_ring_pace_alone (const Timed *self, double cap);
double   timed_ring_spread (const Timed *self, const RingPace *pace, double cap);
double   timed_ring_hops (const Timed *self, const RingPace *pace, guint channels, double cap);
void     timed_spread_ring (const Timed *self, CollectiveCost *cost);
double   timed_ring_bound (const Timed *self, guint channels, double cap);

/* ---- fill ------------------------------------------------------------------------------------ */

double timed_steps_unlike (const Timed *self, double cap);
double timed_pat_bound (const Timed *self, double cap);
double timed_tree_hops (const Timed *self);
double timed_tree_chunk (const Timed *self, guint channels);
double timed_pipeline_fill (const Timed *self, guint channels, double cap);
double timed_nvls_chunk (const Timed *self);
double timed_nvls_fill (const Timed *self);
double timed_pipeline_bound (const Timed *self, double hops, double cap);
double timed_hierarchical_bound (const Timed *self, double cap);
double timed_fill (const Timed *self, guint channels, double cap);
