/* The options of a planned run: what the command line says of a RunGoal. */
#pragma once

#include "analysis/run-plan.h"
#include "base/option.h"

typedef struct
{
  RunGoal goal;
  double  days;
  char   *price, *power; /* "2.5", or "TYPE=2.5,TYPE=1.2" */
  gint64  n_spares, n_runs, seed;
} RunOptions;

extern const OptionSpec run_options[];

/*
 * SELF->goal for nodes of TYPE, of a model whose training keeps BYTES_PER_PARAMETER. FALSE after
 * diagnostics: rates of failures without what a checkpoint and a restart take, bad prices,
 * a budget without a price.
 */
gboolean run_options_goal (const RunOptions *self, const char *type, double bytes_per_parameter,
                           RunGoal *goal, DiagList *diags);
