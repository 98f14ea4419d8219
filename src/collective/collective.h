/*
 * What a collective costs on a cluster: service demands on every link that it crosses, a latency,
 * the SMs that it holds.
 *
 * Sizes follow nccl-tests: S is the buffer of all-reduce and broadcast; the total received by all-
 * gather (n x contribution); the total input of reduce-scatter (n x result); the whole per-rank
 * send buffer of all-to-all; one message of send/receive.
 */
#pragma once

#include "cluster/cluster.h"

typedef enum
{
  COLLECTIVE_ALL_GATHER,
  COLLECTIVE_REDUCE_SCATTER,
  COLLECTIVE_ALL_REDUCE,
  COLLECTIVE_BROADCAST,
  COLLECTIVE_ALL_TO_ALL,
  COLLECTIVE_SEND_RECV, /* every rank sends to the next of the group and receives from the previous one */
  COLLECTIVE_N_KINDS,
} CollectiveKind;

const char *collective_kind_name (CollectiveKind kind); /* "all_gather" */

typedef enum
{
  ALGORITHM_RING, /* flat: node after node */
  ALGORITHM_HIERARCHICAL, /* inside the node, then one ring per local rank across nodes, then inside the node */
  ALGORITHM_PAIRWISE, /* all-to-all, send/receive */
  ALGORITHM_N,
} CollectiveAlgorithm;

const char *collective_algorithm_name (CollectiveAlgorithm algorithm);

/* Load of the whole operation on one resource, per byte of S. */
typedef struct
{
  guint32 resource;
  double  payload; /* bytes that cross it */
  double service; /* payload over the resource's efficiency; for SM and HBM the algorithm's traffic */
} CollectiveLoad;

typedef struct
{
  CollectiveKind      kind;
  CollectiveAlgorithm algorithm;
  guint               n_ranks, n_nodes;
  CollectiveLoad     *loads; /* one entry a resource, sorted by resource */
  guint               n_loads;
  double latency; /* s: launch and hops (NCCL's ring constants, src/graph/tuning.cc), independent of S */
  double channels; /* thread blocks held on every rank while it runs: the SM reservation, and the weight in sharing */
  double link_seconds_per_byte; /* max over all loads of service / capacity: the stand-alone time a byte */
} CollectivePlan;

/*
 * Plans KIND over RANKS (GPU indices in group order; at least one; no duplicates). One rank costs
 * nothing: no loads, no latency. ALGORITHM_N picks the default: pairwise for all-to-all and
 * send/receive, otherwise flat ring; `algorithm` of the plan says which it is. Broadcasts, one
 * node, one rank a node and nodes with unequal numbers of ranks have no hierarchical form: they use
 * the flat ring. The latency is that of NCCL's Simple protocol: an upper bound below some MiB,
 * where LL and LL128 start faster. Never fails.
 */
CollectivePlan *collective_plan_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks,
                                     guint n_ranks, CollectiveAlgorithm algorithm);
void            collective_plan_free (CollectivePlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CollectivePlan, collective_plan_free)

/* Closed-form time without contention: latency + bytes x link_seconds_per_byte, s. */
double collective_plan_time (const CollectivePlan *self, double bytes);

/*
 * Bytes that one rank sends over links in total, per byte of S (ring all-gather: (n-1)/n; all-
 * reduce: 2(n-1)/n).
 */
double collective_wire_factor (CollectiveKind kind, guint n_ranks);
