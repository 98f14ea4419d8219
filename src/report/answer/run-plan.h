/* `plan`: the numbers of nodes that were tried for each type of node, and which meets the goal. */
#pragma once

#include "decide/plan/run-plan.h"
#include "report/document/page.h"

/*
 * PLANS: RunPlan*, with the goal of each in GOALS; an answer of kind run_plan_page. CSV has a row a
 * number of nodes of each type, JSON {"plans": [{"cluster", "best": nodes or null, "options"}]}.
 */
typedef struct
{
  const GPtrArray *plans;
  const RunGoal   *goals;
} RunPlanAnswer;

extern const PageKind run_plan_page;
