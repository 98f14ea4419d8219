/*
 * What an optimizer of matrices must compute and send whatever plan its ranks make: bounds that
 * share nothing with driver/matrix/matrix-plan.h but the FLOPs of one matrix.
 */
#pragma once

#include "random-plan.h"

/* Of what ROLE of SCHEDULE does for WORKLOAD, PLAN's or one of its stages'. FALSE: *WHY says. */
gboolean matrix_bounds_hold (const RandomPlan *plan, const Workload *workload,
                             const Schedule *schedule, guint role, char **why);
