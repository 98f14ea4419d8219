/* The scenarios of a figure, predicted in threads: what came out of each, or why nothing did. */
#pragma once

#include "predict/prediction.h"

/* What SCENARIO has for KEY ("cluster.nic"); NULL: nothing. Newly allocated. */
char *figure_setting (const Scenario *scenario, const char *key);

typedef struct
{
  const GPtrArray *scenarios;   /* Scenario *, the caller's */
  Prediction     **predictions; /* NULL: there is none */
  char           **reasons;     /* NULL where there is one */
} FigureRuns;

/* The results do not depend on N_THREADS. */
FigureRuns *figure_runs_new (const GPtrArray *scenarios, const PredictOptions *options,
                             guint n_threads);
void        figure_runs_free (FigureRuns *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FigureRuns, figure_runs_free)
