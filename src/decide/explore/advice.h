/*
 * What would make a scenario faster: the options, and the figures of its hardware, whose change
 * gains most, each simulated again.
 *
 * Set: the levers of levers.h for advice, one value at a time; rates of the hardware times
 * ADVICE_FACTOR, times divided by it (efficiencies, which nobody can buy, are left out). Computed:
 * the throughput of each. The best value of each lever counts that fits and gains ADVICE_LEAST.
 */
#pragma once

#include "decide/explore/option-effects.h"

#define ADVICE_OPTIONS 5 /* at most */
#define ADVICE_FIGURES 3
#define ADVICE_FACTOR  1.25
#define ADVICE_LEAST   0.002 /* of the throughput */

/* Bounds in counts, as of RemedyBudget: the result depends on neither machine nor threads. */
typedef struct
{
  guint   max_simulated;
  guint64 max_simulated_items; /* of schedules: an item takes about ten microseconds */
  guint   n_threads;
} AdviceBudget;

/* 120 simulations of 6 million items, one thread: a minute at most. */
extern const AdviceBudget advice_default_budget;

typedef struct
{
  HardwareFigure figure;
  double         value; /* that was simulated */
  double         gain;  /* of the throughput */
  double         step_time_s;
} FigureAdvice;

/*
 * Of SCENARIO, whose prediction is GIVEN and fits. STRATEGIES: of scenario_load. OPTIONS->count is
 * told of simulations. Never fails. The caller gives GIVEN the result, or frees it.
 */
Advice *advice_find (const Scenario *scenario, const StrategySet *strategies,
                     const Prediction *given, const PredictOptions *options,
                     const AdviceBudget *budget);
