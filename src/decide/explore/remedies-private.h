/* A search of remedies, for the parts of it: changes and their plans, simulations, the answer. */
#pragma once

#include "decide/explore/change-private.h"

#define REMEDY_BEAM 6 /* changes that are tried with a further lever */

typedef struct
{
  const Scenario       *scenario;
  const StrategySet    *strategies;
  const Prediction     *prediction;
  const PredictOptions *options;
  RemedyBudget          budget;
  GArray               *moves;   /* Move */
  GArray               *changes; /* Change */
  guint64               planned_items, n_events;
  gint64                unplanned; /* bytes that the scenario takes beyond its plan */
  gint64                unbounded; /* the most that a plan took beyond its closed form */
  Remedies             *result;
} RemedySearch;

/* Whether the search ends here, asked by who leaves something out when it does. */
static inline gboolean
remedy_is_over (const RemedySearch *self)
{
  return stop_cuts (self->options->replay.stop);
}

static inline Change *
remedy_change_at (const RemedySearch *self, guint i)
{
  return &g_array_index (self->changes, Change, i);
}

/* Adds BASE with every move of another lever. FALSE: there is no budget for all of them. */
gboolean remedy_expand (RemedySearch *self, const Change *base);

/* Says what changes from FIRST on take at least; those beyond the budget are forgotten. */
void remedy_bound_from (RemedySearch *self, guint first);

/*
 * The least excessive changes of N moves that do not fit, one a set of levers, into BEST; their
 * number.
 */
guint remedy_pick_beam (const RemedySearch *self, guint n, Change best[REMEDY_BEAM]);

/*
 * The fullest change of LIKE's levers that is not chosen and is planned to take no more than LIMIT
 * beyond what there is. NULL: none, or none that the budget lets it plan.
 */
Change *remedy_fullest (RemedySearch *self, const Change *like, gint64 limit);
