/*
 * A scenario with a figure of its hardware or one of its options another: what every what-if
 * question simulates, and what `--set` of the same name does. Independent of each other, so they
 * run in any number of threads.
 */
#pragma once

#include "analysis/prediction.h"

/* A figure and its value, or an option and its text. */
typedef struct
{
  const HardwareFigure *figure; /* NULL: an option */
  double                value;
  const char           *key, *text; /* "training.micro_batch", "4" */
} Variation;

/*
 * SCENARIO, of which STRATEGIES are known, with N VARIATIONS of different things (at most
 * VARIATIONS_MAX). Where an option among them makes it another cluster, a figure is the one that
 * has its name there. OPTIONS as of predict; without its interval, pools and count. NULL where it
 * cannot be, with why in DIAGS (may be NULL). Thread-safe as predict.
 */
#define VARIATIONS_MAX 4
Prediction *predict_varied (const Scenario *scenario, const StrategySet *strategies,
                            const Variation *variations, guint n, const PredictOptions *options,
                            DiagList *diags);

/* hardware_figures of SCENARIO, with the profiles of OPTIONS; NULL after diagnostics. */
GArray *scenario_figures (const Scenario *scenario, const PredictOptions *options, DiagList *diags);
