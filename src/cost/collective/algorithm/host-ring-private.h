/*
 * What a collective of the hosts costs (Gloo, MPI between CPUs): one ring of the ranks, from host
 * memory to host memory, over each rank's nearest card between nodes. All-to-all and send/receive
 * are messages of each pair.
 *
 * A ring passes 2 (n - 1) / n S of an all-reduce over every edge, (n - 1) / n S of all-gather and
 * reduce-scatter (Patarasuk and Yuan, 2009), a chain S of broadcast and reduce; each byte is read
 * from the sender's memory and written to the receiver's. Between sites its edges are unlike: the
 * longest path through its steps counts (step_ring_unlike). No GPU takes part. Not modelled: what a
 * core copies or reduces, links between sockets.
 *
 * A codec that is decoded, added and encoded again at every hop moves memory beside that. Of an
 * element that takes 4 bytes as it is kept and e on the wire, an all-reduce quantises all n chunks
 * once (4 + e), adds what it gets to n - 1 of them (e + 4 + 4) and writes n - 1 that come back (e +
 * 4). Chunks are worked on while others are on the wire (PRIME has two in flight), so the slower of
 * the two sets the pace; the work is bound by memory (host-cost.h says the same of streams),
 * over the sockets of the node evenly.
 */
#pragma once

#include "cost/collective/layout/layout-private.h"
#include "cost/collective/steps/steps.h"

typedef struct _HostRing HostRing;

/* RANKS: GPU indices, whose nodes and sockets count. At least two. */
HostRing *host_ring_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks,
                         guint n_ranks, const CollectiveOptions *options);
void      host_ring_free (HostRing *self);

/* What BYTES (S) cost. COST's loads are SELF's. */
void host_ring_cost (const HostRing *self, double bytes, CollectiveCost *cost);

/*
 * The same step by step: of rings each edge's chunks, of send/receive each message, of the others
 * one step that takes all.
 */
StepProgram *host_ring_steps (const HostRing *self, double bytes);
