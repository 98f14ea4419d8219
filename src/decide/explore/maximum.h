/*
 * The largest value of an option that fits, everything else being what it is: micro_batch, seq_len
 * or n_layers.
 *
 * Set: the values that can be, in steps that the mesh divides, up to a bound. Computed: by doubling
 * and halving, first the largest that is planned to fit (milliseconds a value), from there the
 * largest that a simulation says fits, and the next one, which does not. Memory is taken to grow
 * with the value. The simulation counts; the plan only says where to begin.
 */
#pragma once

#include "decide/explore/levers.h"
#include "predict/prediction.h"

/*
 * The lever of KEY or SECTION.KEY, in either case, with '-' for '_' too. NULL after a diagnostic:
 * it is none that has a maximum.
 */
const Lever *maximum_find_key (const char *word, DiagList *diags);

/* Appends what a scenario may be loaded with so that KEY's own option need not be set. */
void maximum_add_override (const Lever *key, GArray *overrides);

typedef struct
{
  const Lever *key;
  gint64       step;       /* between values that can be */
  gint64       value;      /* the largest that fits; 0: none does, or is known to */
  gint64       next;       /* the smallest that was found not to fit; 0: the bound ended it */
  Prediction  *prediction; /* of VALUE; where none fits of NEXT; NULL: none was simulated by then */
  Prediction  *beyond;     /* of NEXT; NULL: the bound ended it, or that is the above */
  char        *bound;      /* why there is none beyond VALUE; NULL: it does not fit */
  gboolean     is_cut;     /* OPTIONS->replay.stop ended it: there may be larger ones that fit */
  guint        n_planned, n_simulated;
} Maximum;

/*
 * STRATEGIES: of scenario_load. OPTIONS->count is told of plans and simulations. DIAGS gets the
 * warnings of `prediction`, and none of other values. NULL after diagnostics, or with ERROR set:
 * the smallest value cannot be. Thread-safe as predict.
 */
Maximum *maximum_find (const Scenario *scenario, const StrategySet *strategies, const Lever *key,
                       const PredictOptions *options, DiagList *diags, GError **error);
void     maximum_free (Maximum *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Maximum, maximum_free)
