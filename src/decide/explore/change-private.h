/*
 * A change that may be a remedy: some moves of different levers together, as a scenario and as the
 * options that ask for it; and which changes are parts of others.
 */
#pragma once

#include "decide/explore/levers.h"
#include "decide/explore/remedies.h"
#include "decide/plan/planned.h"

typedef struct
{
  const Move *moves[REMEDY_MAX_CHANGES];
  gint64      excess;      /* bytes, as simulated, else as planned, else at least (`bounded`);
                         up to 0: fits. BYTES_UNKNOWN: none */
  guint64     n_items;     /* of the planned schedule */
  guint64     n_events;    /* of its simulation */
  double      step_time_s; /* of a remedy, else 0 */
  Prediction *prediction;
  guint       n;       /* moves */
  gboolean    bounded; /* `excess` is the closed form's: planned it takes that or more */
  gboolean    chosen;  /* to be simulated */
  gboolean    ended;   /* its simulation took more than it may */
} Change;

/* SCENARIO with the moves of SELF; NULL where there is no such scenario. */
Scenario *change_scenario (const Change *self, const Scenario *scenario,
                           const StrategySet *strategies);
/*
 * "--micro-batch 1 --compile=true"; newly allocated. What SCENARIO sets and would have no effect
 * any more takes its default, so that the options do what they say and nothing is warned of.
 */
char *change_options (const Change *self, const Scenario *scenario, const StrategySet *strategies,
                      const PredictOptions *options);

/* Adds MOVE in its place: the moves stand in the order of lever_moves, whatever came first. */
void change_add (Change *self, const Move *move);

gboolean change_has_lever (const Change *self, guint lever);
gboolean change_has_move (const Change *self, const Move *move);
/* Whether a move sets KEY, which is interned. */
gboolean change_sets (const Change *self, const char *key);
/* Whether both have moves of the same levers. */
gboolean change_has_levers_of (const Change *self, const Change *other);
/* Whether the moves of PART, which are fewer, are all of WHOLE's. */
gboolean change_is_part (const Change *part, const Change *whole);

/*
 * Options that have sequences of SCENARIO on more ranks, and change nothing else, with which it
 * fits; the first of MOVES (lever_moves) that do, newly allocated: Remedies.sequence.
 */
char *remedy_of_sequence (const Scenario *scenario, const StrategySet *strategies,
                          const Prediction *prediction, const PredictOptions *options,
                          const GArray *moves);
