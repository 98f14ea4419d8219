/*
 * Plan: the schedule that a resolved scenario's strategies emit, found sound, and possible on the
 * cluster. It knows no times. Read-only; may be bound and run any number of times.
 */
#pragma once

#include "scenario/resolved.h"
#include "schedule/schedule.h"

typedef struct _ReplayPlan ReplayPlan;

/*
 * RESOLVED's, to which it refers; with at most ROUND_STEPS steps of a round whose steps are alike
 * (0: all of them). NULL after diagnostics.
 */
ReplayPlan *replay_plan_new (const ResolvedScenario *resolved, guint round_steps, DiagList *diags);

/* The same of a round that exchanges ONLY those fragments (PlanInput.round_only). */
ReplayPlan *replay_plan_new_round (const ResolvedScenario *resolved, guint round_steps,
                                   guint64 only, DiagList *diags);

/* The same with a first step of FIRST_MICROS micro-batches, steady ones of all. */
ReplayPlan *replay_plan_new_after (const ResolvedScenario *resolved, guint first_micros,
                                   DiagList *diags);

/* Adds what such a plan warns of, without a schedule: of those that follow from other ones. */
void replay_plan_warn (const ResolvedScenario *resolved, DiagList *diags);

/* A plan from the options, as resolved_new takes them: whole rounds. */
ReplayPlan *replay_plan_scenario (const Scenario *scenario, ProfileSet *profiles, DiagList *diags);

const ReplayPlan *replay_plan_ref (const ReplayPlan *self);
void              replay_plan_unref (const ReplayPlan *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (ReplayPlan, replay_plan_unref)

const ResolvedScenario *replay_plan_resolved (const ReplayPlan *self);
const Schedule         *replay_plan_schedule (const ReplayPlan *self);

/* The closed forms of the scenario's strategies for a period; FALSE when one of them has none. */
gboolean replay_plan_expect (const ReplayPlan *self, PlanTotals *totals);
