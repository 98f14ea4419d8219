/*
 * NCCL's constants: what a hop costs, how many channels (thread blocks) a ring or a point-to-point
 * operation runs on.
 *
 * Only the Simple protocol is here. LL and LL128 start faster, so for small messages the latency
 * below is an upper bound of what NCCL reaches; for messages of some MiB and more, Simple is what
 * it runs.
 */
#pragma once

#include "collective/nccl-tables-private.h"

/* Latencies of the ring and of point-to-point operations under Simple, s. */
typedef struct
{
  const char *version; /* of NCCL: the first that has these figures; the table is sorted, newest first */
  double      base; /* once an operation */
  double      hop_nvlink, hop_pcie, hop_net;
  double      post; /* floor of a hop inside a node while the network is in use (Intel hosts) */
  double      all_reduce_net_factor,
      all_reduce_net_factor_old; /* several nodes; old: below compute capability 8.0 */
  guint p2p_batch;               /* point-to-point operations that one launch runs side by side */
} NcclLatency;

/* The figures of VERSION or of the newest older one; NULL: the newest. Never NULL. */
const NcclLatency *nccl_latency (const char *version);

/* What a ring, or a set of pairwise transfers, looked like when it was laid over the cluster. */
typedef struct
{
  guint    n_ranks, n_nodes;
  guint    n_cards;       /* network cards in use, of the node with most */
  gboolean nvlink_only;   /* every hop inside a node */
  double   intra_latency; /* largest latency of the links of a hop inside a node, s */
  double   net_latency;   /* the same between nodes */
} NcclGraph;

/*
 * Ring of KIND over GRAPH (NCCL's tuning model, src/graph/tuning.cc), s:
 *   base + (T - I) * (max (intra, post) + link) + I * (net + 2 * link),  T = 2(n-1) or n-1,  I = 2(N-1) or N-1
 * times the all-reduce factor on several nodes. The network's link latency counts twice: data, then
 * the flush read.
 */
double nccl_ring_latency (const NcclLatency *table, const NcclGraph *graph, CollectiveKind kind,
                          const GpuProfile *gpu);

/* PEERS transfers side by side: base + one hop a batch, s. */
double nccl_p2p_latency (const NcclLatency *table, const NcclGraph *graph, guint peers);

/* Thread blocks of a ring; NIC is NULL on one node. */
guint nccl_ring_channels (const NcclGraph *graph, const GpuProfile *gpu, const LinkProfile *intra,
                          const LinkProfile *nic);

/*
 * Thread blocks of PEERS transfers side by side: each has as many as its links need, all together
 * the ring's number, rounded up to a power of two. N_CARDS: of a node.
 */
guint nccl_p2p_channels (const NcclGraph *graph, const GpuProfile *gpu, const LinkProfile *intra,
                         const LinkProfile *nic, guint n_cards, guint peers);
