/* `plan`: the numbers of nodes that were tried for each type of node, and which meets the goal. */
#pragma once

#include "analysis/run-plan.h"
#include "report/page.h"

/* PLANS: RunPlan*, with the goal of each in GOALS. */
void report_run_plan_text (const GPtrArray *plans, const RunGoal *goals, GString *out);

/* A planned run as a page and as pictures: an answer of kind run_plan_page. */
typedef struct
{
  const GPtrArray *plans;
  const RunGoal   *goals;
} RunPlanAnswer;

extern const PageKind run_plan_page;

/* A row a number of nodes of each type. */
void report_run_plan_csv (const GPtrArray *plans, GString *out);

/* {"schema": 1, "plans": [{"cluster": ..., "best": nodes or null, "options": [...]}]} */
void report_run_plan_json (const GPtrArray *plans, GString *out);
