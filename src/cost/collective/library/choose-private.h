/*
 * NCCL's own choice of algorithm and protocol: latency + S / bandwidth by its tuning tables
 * (src/graph/tuning.cc), the cheapest of what is eligible. A ranking, not a prediction.
 */
#pragma once

#include "cost/collective/layout/graph-private.h"

typedef struct _Algorithm Algorithm; /* algorithm-private.h */

typedef struct
{
  const Algorithm   *algorithm;
  CollectiveProtocol protocol;
  double             seconds; /* by NCCL's model; infinite when nothing was eligible */
} CollectiveChoice;

/*
 * ASKED restricts what is eligible; what does not exist for KIND on GRAPH does not restrict. EVEN:
 * every node has as many members.
 */
CollectiveChoice collective_choose (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                                    const CollectiveOptions *asked, gboolean even);
