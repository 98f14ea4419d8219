/*
 * Plans as they are asked for: words to a goal and a plan for each type of node and each scenario.
 */
#pragma once

#include "decide/plan/plan-chooser.h"

typedef struct
{
  RunOptions  run;      /* of run_options */
  char       *counts;   /* of plan_options, like the next one; NULL: as many as are needed */
  gboolean    searches; /* around a strategy that the scenario names, too */
  SearchWords search;   /* of search_options */
  char      **types;    /* of nodes, in the place of the scenario's cluster; NULL: the scenario's */
} PlanWords;

extern const OptionSpec plan_options[]; /* into a PlanWords */

void plan_words_clear (PlanWords *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlanWords, plan_words_clear)

/* FALSE after diagnostics: what stands in the words alone. */
gboolean plan_words_check (const PlanWords *self, DiagList *diags);

/*
 * What the scenarios are to be loaded with beside CONTEXT's overrides, appended to these: the first
 * type of node.
 */
void plan_words_add_override (const PlanWords *self, GArray *overrides);

/* Whether SCENARIOS are searched from: then there may be one only. */
gboolean plan_words_search (const PlanWords *self, const GPtrArray *scenarios);

typedef struct
{
  GPtrArray *plans; /* RunPlan */
  RunGoal   *goals; /* of each */
} Plans;

void plans_clear (Plans *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Plans, plans_clear)

/*
 * A plan for each of WORDS' types, on it each of SCENARIOS. SEARCH: with the fields that no word
 * says. FALSE after diagnostics: also where no number of nodes has an answer.
 */
gboolean plans_make (Plans *self, const GPtrArray *scenarios, const PlanWords *words,
                     const SearchOptions *search, const PredictOptions *predict,
                     const PlanContext *context, DiagList *diags);
