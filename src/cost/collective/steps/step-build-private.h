/* From the edges of a layout to the steps of an algorithm. */
#pragma once

#include "cost/collective/layout/routed-edges-private.h"
#include "cost/collective/steps/steps.h"

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
  const RoutedEdges    *edges;
  void (*build) (StepBuild *build); /* one of those below, or the algorithm's own */
} StepSource;

struct _StepBuild
{
  const StepSource *source;
  StepProgram      *program;
  double           *touched; /* [gpu] payload of all edges there, per byte of S */
  GArray           *loads;   /* StepLoad: scratch */
};

/*
 * Edges carry their bytes over all the links that they cross, and a part of the HBM traffic of both
 * ends, in proportion to the bytes of all edges there.
 */
StepProgram *step_build (const StepSource *source);

StepProgram *step_build_nothing (double launch); /* one rank */

void step_build_ring (StepBuild *self);      /* every rank begins with a chunk of its own */
void step_build_chain (StepBuild *self);     /* chunks come from one end */
void step_build_at_once (StepBuild *self);   /* all edges side by side */
void step_build_rounds (StepBuild *self);    /* every lane waits for the one before */
void step_build_exchanges (StepBuild *self); /* and a message for its receiver as well */
void step_build_pipeline (StepBuild *self);  /* chunk by chunk, as joins say */

/* ---- what these are made of ------------------------------------------------------------------ */

/* AT_ONCE: of what a rank sends in all, the part that it sends while EDGE does. */
void step_build_edge (StepBuild *self, const RoutedEdge *edge, guint n_items, double at_once);

/* Where the edges of the ring end that begin at FIRST. */
guint step_build_ring_end (const GArray *edges, guint first);

/*
 * Edges of a lane in the order in which the ring visits them: each waits for the one before it.
 * LAG: 1 where every rank has a chunk of its own to begin with, 0 where chunks come from one end.
 */
void step_build_ring_waits (StepBuild *self, guint lag);

/* Every edge waits for what its join says: chunk by chunk, or (LAG STEP_AFTER) for all of it. */
void step_build_join_waits (StepBuild *self, guint lag);
