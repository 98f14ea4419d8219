/*
 * A scenario with a figure of its hardware or one of its options another: what every what-if
 * question simulates, and what `--set` of the same name does. Independent of each other, so they
 * run in any number of threads.
 */
#pragma once

#include "predict/prediction.h"

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
 * has its name there. NULL after diagnostics.
 */
#define VARIATIONS_MAX 4
Scenario *scenario_varied (const Scenario *scenario, const StrategySet *strategies,
                           const Variation *variations, guint n, DiagList *diags);

/* OPTIONS for what is compared and not shown: without interval, band, pools and idle figures. */
PredictOptions predict_what_if (const PredictOptions *options);

/* Predicts both; NULL where it cannot be. Thread-safe as predict. */
Prediction *predict_varied (const Scenario *scenario, const StrategySet *strategies,
                            const Variation *variations, guint n, const PredictOptions *options);

/* hardware_figures of SCENARIO, with the profiles of OPTIONS; NULL after diagnostics. */
GArray *scenario_figures (const Scenario *scenario, const PredictOptions *options, DiagList *diags);
