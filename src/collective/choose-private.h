/*
 * NCCL's own choice of algorithm and protocol: latency + S / bandwidth by its tuning tables
 * (src/graph/tuning.cc), the cheapest of what is eligible. A ranking, not a prediction.
 */
#pragma once

#include "collective/graph-private.h"

typedef struct
{
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
  double              seconds; /* by NCCL's model; infinite when nothing was eligible */
} CollectiveChoice;

/*
 * ASKED restricts what is eligible; what does not exist for KIND on GRAPH does not restrict.
 * COLLNET: the network's switches can reduce.
 */
CollectiveChoice collective_choose (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                                    const CollectiveOptions *asked, gboolean even);

/* Whether the algorithm exists for KIND on GRAPH, and the protocol for the algorithm. */
gboolean collective_has_algorithm (const CollectiveGraph *graph, CollectiveKind kind,
                                   CollectiveAlgorithm algorithm, gboolean even);
gboolean collective_has_protocol (const CollectiveGraph *graph, CollectiveAlgorithm algorithm,
                                  CollectiveProtocol protocol);

/* Steps of a ring: 2(n-1) for all-reduce, n-1 otherwise; and how many of them cross the network. */
guint collective_ring_steps (CollectiveKind kind, guint n_ranks);
