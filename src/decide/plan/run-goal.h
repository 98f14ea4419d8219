/* The options of a planned run: what the command line says of a RunGoal. */
#pragma once

#include "base/config/option.h"
#include "decide/plan/run-plan.h"

typedef struct
{
  RunGoal goal;
  double  days;
  char   *price, *power; /* "2.5", or "TYPE=2.5,TYPE=1.2" */
  gint64  n_spares, n_runs, seed;
  gint    checkpoint_tier; /* RunTier */
} RunOptions;

/* Where checkpoints go. */
typedef enum
{
  RUN_TIER_GIVEN, /* at the bandwidth that is given */
  RUN_TIER_NVME,  /* each node's part to its drives, at their profile's rate */
} RunTier;

/* What the options need to know of the scenario. */
typedef struct
{
  const char *type;                /* of node, for prices */
  double      bytes_per_parameter; /* that training keeps */
  double      drive_write_bps;     /* of a node; 0: not known */
  gboolean    has_sites;           /* the nodes are at several */
  gboolean    has_trace;           /* of nodes that leave and join */
} RunFacts;

extern const OptionSpec run_options[];

/*
 * SELF->goal for what FACTS say. FALSE after diagnostics: rates of failures without what a
 * checkpoint and a restart take, bad prices, a budget without a price.
 */
gboolean run_options_goal (const RunOptions *self, const RunFacts *facts, RunGoal *goal,
                           DiagList *diags);

/* TYPES: those of the plan, then NULL. FALSE after diagnostics: another has a price or a power. */
gboolean run_options_check_types (const RunOptions *self, const char *const *types,
                                  DiagList *diags);
