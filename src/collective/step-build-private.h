/* From the edges of a layout to the steps of an algorithm. */
#pragma once

#include "collective/lay-edges-private.h"
#include "collective/steps.h"

typedef struct
{
  const Cluster        *cluster;
  CollectiveKind        kind;
  guint                 n_ranks;
  double                payload; /* collective_plan_payload */
  double                bytes;   /* S */
  const CollectiveCost *cost;
  const StepParameters *parameters;
  gboolean              rounds;     /* every lane waits for the one before */
  gboolean              rendezvous; /* and a message for its receiver as well */
  const LayEdges       *edges;      /* NULL: one rank */
} StepSource;

/*
 * Edges carry their bytes over all the links that they cross, and a part of the HBM traffic of both
 * ends, in proportion to the bytes of all edges there.
 */
StepProgram *step_build (const StepSource *source);
