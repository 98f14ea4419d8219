/* Plans over a trace of nodes that leave and join: the run of each scenario as it is. */
#pragma once

#include "decide/plan/membership-run.h"
#include "decide/plan/plans.h"

typedef struct
{
  ProfileSet *profiles; /* of the cluster */
  Cluster    *cluster;  /* with the sites of the trace */
  Membership *membership;
  GPtrArray  *runs; /* MembershipRun, of each scenario; one that was cut is the last */
} MembershipPlan;

void membership_plan_clear (MembershipPlan *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (MembershipPlan, membership_plan_clear)

/*
 * The run of each of SCENARIOS over the trace FILE. FALSE after diagnostics: WORDS ask for more
 * than that, or there is no run at all.
 */
gboolean membership_plan_make (MembershipPlan *self, const GPtrArray *scenarios,
                               const PlanWords *words, const char *file,
                               const PredictOptions *predict, const PlanContext *context,
                               DiagList *diags);
