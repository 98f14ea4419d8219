/*
 * The parts of the closed forms:
 *
 *   expect.c            of nested strategies
 *   expect-policy.c     of a policy under an issue
 *   expect-route.c      of one of its routes
 *   expect-mesh.c       of the axes of the mesh
 *   expect-batches.c    of micro-batches that differ
 *   expect-pipeline.c   of the passes of a pipeline's stage
 *   expect-parts.c      of activations
 *   expect-optimizer.c  of what optimizers keep, compute and send
 *
 * They share no arithmetic with what emits schedules (tests/layers holds that), so that a mistake
 * on either side shows as a difference between the two.
 */
#pragma once

#include "driver/oracle/expect.h"
#include "driver/policy/input.h"
#include "driver/policy/pipeline.h"

/*
 * Micro-steps of a chunk that are alike. IN's batches, where it has any, begin with the rank's own
 * row.
 */
typedef struct
{
  const Workload        *workload; /* of IN's stage */
  const Workload *const *stages;   /* of all */
  double                 times;
} ExpectRun;

/* The I-th run of CHUNK, in the order of the step; FALSE: there are fewer. */
gboolean expect_run (const PlanInput *in, guint chunk, guint i, ExpectRun *run);

/* Adds what ranks that share sequences in sets send before and between groups in so many STEPS. */
void expect_sets (const PlanInput *in, double steps, PlanTotals *totals);

/* Adds a period of ISSUE under POLICY, and to `resident` what a rank holds. */
void plan_expect_policy (const PlanInput *in, const Policy *policy, const Issue *issue,
                         PlanTotals *totals);

/* What passes a route in a step, or (reductions) in a micro-step: IssueForm says it. */
typedef struct
{
  double   elements, slack, walks, narrow, wide;
  gboolean uneven;
  guint    plain_before;
} RoutePass;

/* Adds what the hops of WHICH carry, encode and decode (expect-route.c). */
void expect_route (const PlanInput *in, const UnitPolicy *policy, PolicyRouteKind which,
                   const RoutePass *pass, PlanTotals *totals);

/*
 * Adds what checkpoints in host memory move and take there, beside GRADIENTS bytes
 * of gradients.
 */
void plan_expect_checkpoints (const PlanInput *in, double gradients, PlanTotals *totals);

/*
 * Adds what the axes of the mesh move in a step of a rank of IN's workload; HELD: its gradients as
 * the strategy leaves them; PASSES: as the policy's.
 */
void plan_expect_mesh (const PlanInput *in, PlanGradient held, guint passes, PlanTotals *totals);

/* Passes of a chunk that are over; of a backward pass that is not split both halves are. */
typedef struct
{
  guint forward, input, weight;
} ExpectPasses;

/*
 * PASSES of each chunk of STAGE at its MOMENT-th moment (from 0) of those that have all in which a
 * stage can hold most. FALSE: there are fewer.
 */
gboolean expect_passes (const Pipeline *pipeline, guint stage, guint moment, ExpectPasses *passes);

/* Most micro-batches of a chunk of STAGE between forward and last backward pass. */
guint expect_in_flight (const Pipeline *pipeline, guint stage);
