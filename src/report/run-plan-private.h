/* What the text and the page of a planned run share. Strings are newly allocated. */
#pragma once

#include "report/run-plan.h"

#define DAY 86400.0

char *run_plan_days (double seconds);       /* "0.0123", "1.23", "12.3", "123.4" */
char *run_plan_amount (double value);       /* "1234567", to three digits or more; "": not known */
char *run_plan_title (const RunPlan *plan); /* type of node, and scenario of several */
char *run_plan_verdict (const RunPlan *plan, const RunOption *option); /* "41.5 days late" */

/* "2.000T tokens in 45.0 days, for 3000000" */
void run_plan_append_goal (const RunGoal *goal, GString *out);

/* A line of which number of nodes meets the goal; nothing where nothing is asked for. */
void run_plan_append_answer (const RunPlan *plan, const RunGoal *goal, GString *out);

/* How sure it is that a searched CHOICE is the best: a sentence. */
void run_plan_append_proof (const RunChoice *choice, GString *out);

/* Lines of how often OPTION is interrupted and what its checkpoints take. */
void run_plan_append_failures (const RunOption *option, GString *out);
