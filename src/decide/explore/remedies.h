/*
 * What makes a scenario fit that does not: options set otherwise, one or a few, with everything
 * else and the global batch kept.
 *
 * Set: levers, each an option of the option tables with the values that it can take; a change is
 * one value of each of at most REMEDY_MAX_CHANGES levers. Computed: what every change of one lever
 * takes at least, by its closed form; of the least excessive ones with a second lever, and with a
 * third. What may fit is planned (GPU and host), which takes milliseconds; what is planned to fit
 * is simulated, of each set of levers the fullest first, two at a time until one fits. One that
 * does not fit after all is over by what its simulation says, and goes on with a further lever like
 * the others. Where nothing was found, the least excessive change that was not simulated is, once,
 * whatever the budget. What the simulation says fits counts; a change of the global batch does not.
 *
 * That nothing was found proves nothing: only a part of the changes of two and three levers is
 * tried.
 */
#pragma once

#include "predict/prediction.h"

#define REMEDY_MAX_CHANGES 3
#define REMEDIES_MAX       5

/*
 * Bounds of the search, in counts: the result depends on neither the machine nor the number of
 * threads. What an item of a schedule takes to plan and an event to simulate: remedies.c.
 */
typedef struct
{
  guint   max_planned, max_simulated;
  guint64 max_planned_items; /* of schedules */
  guint64 max_events;        /* of simulations, with the plans that they need; begun with fewer */
  guint64 max_events_of_one; /* of them: a simulation that takes more is ended */
  guint   n_threads;
} RemedyBudget;

extern const RemedyBudget remedy_default_budget; /* of a scenario that takes no time itself */

/*
 * The same after a simulation of N_EVENTS: plans and simulations of the remedies take four times as
 * long, or some seconds where that is more.
 */
RemedyBudget remedy_budget_after (guint64 n_events);

typedef struct
{
  char       *options;    /* to add to the command line: "--micro-batch 1 --grad-accum 4" */
  Prediction *prediction; /* it fits */
} Remedy;

/*
 * STRATEGIES: of scenario_load. PREDICTION: of SCENARIO, which does not fit. OPTIONS->count is told
 * of plans and simulations. Never fails. The caller gives PREDICTION the result, or frees it.
 */
Remedies *remedies_find (const Scenario *scenario, const StrategySet *strategies,
                         const Prediction *prediction, const PredictOptions *options,
                         const RemedyBudget *budget);
