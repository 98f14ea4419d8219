/* A scenario's run over a trace of nodes that leave and join (decide/plan/membership.h). */
#pragma once

#include "decide/plan/membership.h"
#include "decide/plan/run-plan.h"

typedef struct
{
  char             *label; /* of the scenario; owned */
  const Membership *membership;
  GPtrArray        *predictions; /* Prediction* of each row, owned; NULL: it was not asked for */
  GArray           *spans;       /* MembershipSpan, owned */
  char             *why;         /* there is no run; owned, NULL: there is */
  gboolean          is_cut;      /* OPTIONS->replay.stop ended it: SPANS are those by then */
  double            goal_s;      /* when it has to be over; 0: whenever */
  double            wall_s, late_s, tokens, lost_tokens, mean_nodes;
  const Prediction *largest; /* of the most GPUs that were there */
} MembershipRun;

/*
 * SCENARIO, whose nodes are those of MEMBERSHIP (which outlives the run), until GOAL's tokens are
 * trained. CLUSTER: with the sites of the trace. Where its strategy stops when a node leaves there
 * is no run, and WHY says so. OPTIONS->count is told of predictions. NULL after diagnostics.
 */
MembershipRun *membership_run_new (const Scenario *scenario, const StrategySet *strategies,
                                   const Membership *membership, const Cluster *cluster,
                                   const RunGoal *goal, const PredictOptions *options,
                                   DiagList *diags);
void           membership_run_free (MembershipRun *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (MembershipRun, membership_run_free)
