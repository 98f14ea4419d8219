/*
 * Runs collectives side by side on a cluster, in the two fidelities that know contention. Both
 * start from the same plans; every item is a communicator of its own.
 */
#pragma once

#include "cost/collective/library/collective.h"
#include "engine/engine.h"

typedef struct
{
  CollectivePlan *plan;  /* on the cluster that is given beside it */
  double          bytes; /* S; see collective.h */
  double          start; /* s; >= 0 */
} CollectiveRunItem;

/*
 * `fluid`: each item is one op of the engine, a latency and then its demands. FINISH [n] is when
 * each ends, counted from 0. FALSE with ERROR set where one takes too long for the clock.
 */
gboolean collective_run_fluid (const Cluster *cluster, const CollectiveRunItem *items, guint n,
                               SimTime *finish, GError **error);

/* What held an operation back for the longest part of its run. */
typedef struct
{
  Cause   cause;    /* CAUSE_LATENCY, CAUSE_CAP (its channels) or CAUSE_RESOURCE */
  guint32 resource; /* the cluster's, of CAUSE_RESOURCE; else G_MAXUINT32 */
} CollectiveBound;

/* The same, and what bound each item [n]. */
gboolean collective_run_fluid_bound (const Cluster *cluster, const CollectiveRunItem *items,
                                     guint n, SimTime *finish, CollectiveBound *bound,
                                     GError **error);

/* `step`: every step of the algorithm as flows (step-run.h). The same contract. */
gboolean collective_run_step (const Cluster *cluster, const CollectiveRunItem *items, guint n,
                              SimTime *finish, GError **error);
