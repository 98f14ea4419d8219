/* What the search for what fits has to try: the levers of a scenario (remedy-levers.c). */
#pragma once

#include "scenario/scenario.h"

/* One value of one lever. */
typedef struct
{
  guint       lever;
  const char *key, *value, *also_key, *also_value; /* interned; the second pair may be NULL */
  gint64      micro_steps; /* so many times more of them keep the global batch */
  gboolean    is_switch;
} Move;

/*
 * Every value of every lever that SCENARIO, on N_GPUS, does not have: newly allocated array of
 * Move, lever by lever. The option tables bound their number. STRATEGIES: of scenario_load; NULL:
 * those of the program.
 */
GArray *remedy_moves (const Scenario *scenario, const StrategySet *strategies, guint n_gpus);
