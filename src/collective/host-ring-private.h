/*
 * What a collective of the hosts costs (Gloo, MPI between CPUs): one ring of the ranks in their
 * order, from host memory to host memory, over each rank's nearest card between nodes. All-to-all
 * and send/receive are messages of each pair.
 *
 * A ring passes 2 (n - 1) / n S of an all-reduce over every edge, (n - 1) / n S of all-gather and
 * reduce-scatter, S of broadcast and reduce (Patarasuk and Yuan, 2009); each byte is read from the
 * sender's memory and written to the receiver's. No GPU takes part. Not modelled: what a core
 * copies or reduces, links between sockets.
 */
#pragma once

#include "collective/layout-private.h"

/* RANKS: GPU indices, whose nodes and sockets count. At least two. */
CollectiveLayout *host_ring_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks,
                                 guint n_ranks);

/* What BYTES (S) cost over LAYOUT. */
void host_ring_cost (const Cluster *cluster, const CollectiveLayout *layout, CollectiveKind kind,
                     const guint32 *ranks, guint n_ranks, double bytes, CollectiveCost *cost);
