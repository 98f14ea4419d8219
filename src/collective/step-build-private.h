/* From the edges of a layout to the steps of an algorithm. */
#pragma once

#include "collective/lay-edges-private.h"
#include "collective/steps.h"

typedef struct _StepBuild StepBuild;

typedef struct
{
  const Cluster        *cluster;
  CollectiveKind        kind;
  guint                 n_ranks;
  double                payload; /* collective_plan_payload */
  double                bytes;   /* S */
  const CollectiveCost *cost;
  const StepParameters *parameters;
  const LayEdges       *edges;
  void (*build) (StepBuild *build); /* one of those below */
} StepSource;

/*
 * Edges carry their bytes over all the links that they cross, and a part of the HBM traffic of both
 * ends, in proportion to the bytes of all edges there.
 */
StepProgram *step_build (const StepSource *source);

StepProgram *step_build_nothing (double launch); /* one rank */

void step_build_ring (StepBuild *self);         /* every rank begins with a chunk of its own */
void step_build_chain (StepBuild *self);        /* chunks come from one end */
void step_build_at_once (StepBuild *self);      /* all edges side by side */
void step_build_rounds (StepBuild *self);       /* every lane waits for the one before */
void step_build_exchanges (StepBuild *self);    /* and a message for its receiver as well */
void step_build_pipeline (StepBuild *self);     /* chunk by chunk, as joins say */
void step_build_all_pairs (StepBuild *self);    /* both phases of all pairs */
void step_build_hierarchical (StepBuild *self); /* rings, phase after phase */
