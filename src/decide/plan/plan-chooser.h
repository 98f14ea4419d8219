/* What runs on a number of nodes of a plan: the scenario as it is, or the winner of a search. */
#pragma once

#include "decide/plan/run-goal.h"
#include "decide/search/search-options.h"

/* Who shows how far a piece of work is. */
typedef struct
{
  /* WORK: "searching 4 x dgx-h100", UNIT: "steps"; *SHOWN is for `end` */
  WorkCount *(*begin) (gpointer user, const char *work, const char *unit, gpointer *shown);
  void (*end) (gpointer user, const char *work, gpointer shown);
  gpointer user;
} PlanProgress;

/* SELF may be NULL. */
WorkCount *plan_progress_begin (const PlanProgress *self, const char *work, const char *unit,
                                gpointer *shown);
void       plan_progress_end (const PlanProgress *self, const char *work, gpointer shown);

/* Whose plan it is. */
typedef struct
{
  const StrategySet  *strategies;
  const GArray       *overrides; /* ScenarioOverride, that the scenario was loaded with; their
                                    origin is the option, "--set", or their key */
  const char         *file;      /* of the scenario; NULL: none */
  const PlanProgress *progress;
} PlanContext;

typedef struct
{
  const PlanContext   *context;
  const Scenario      *scenario; /* names no strategy: only with SEARCHES */
  const char          *type;     /* of node; NULL: the scenario's own cluster, by its parts */
  PredictOptions       predict;
  double               slow_node_rate; /* of RunGoal */
  gboolean             loses_sites;    /* parts of a job that others may go on without are lost */
  gboolean             searches;
  const SearchWords   *words;
  const SearchOptions *search;
  GPtrArray           *winners; /* PlanWinner, of this type so far, owned by who plans */
} PlanChooser;

/* What a search has found for a number of nodes. */
typedef struct _PlanWinner PlanWinner;

GPtrArray *plan_winners_new (void);

/* The name of the type for reports. */
const char *plan_chooser_type (const PlanChooser *self);

/* FALSE after diagnostics: there is no such type of node. */
gboolean plan_chooser_check (const PlanChooser *self, DiagList *diags);

/* What the run's options need to know; DRIVES: their rate as well, which profiles need not say. */
RunFacts plan_chooser_facts (const PlanChooser *self, gboolean drives);

/*
 * Fills those fields of GOAL that say which numbers of nodes need not be searched. Nothing where
 * nothing is searched, or the cluster or model are none (which predictions tell).
 */
void plan_chooser_limit (const PlanChooser *self, RunGoal *goal);

/*
 * RunChoose; WHO: PlanChooser. Where it searches, winners of other numbers of nodes are tried as
 * well. Shows its progress there, else counts into PREDICT.
 */
Prediction *plan_choose (guint n_nodes, gpointer who, RunChoice *choice, DiagList *diags,
                         GError **error);
