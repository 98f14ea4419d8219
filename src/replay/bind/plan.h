/*
 * Plan: the schedule that a resolved scenario's strategies emit, found sound, and possible on the
 * cluster. It knows no times. Read-only; may be bound and run any number of times.
 */
#pragma once

#include "scenario/resolved.h"
#include "schedule/schedule.h"

typedef struct _ReplayPlan ReplayPlan;

/* What a plan leaves out, and when it is not wanted any more; zeroed: nothing, and never. */
typedef struct
{
  guint          round_steps, first_micros; /* of PlanInput */
  guint64        round_only;
  Stop          *stop;  /* or NULL */
  SoundPrograms *sound; /* that other plans left, or NULL */
} PlanOptions;

/*
 * RESOLVED's, to which it refers. NULL after diagnostics; without one where its stop came first, or
 * this process may take no more memory (own-memory.h).
 */
ReplayPlan *replay_plan_new (const ResolvedScenario *resolved, PlanOptions options,
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
