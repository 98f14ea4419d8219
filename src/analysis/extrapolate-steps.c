/*
 * Equal steps of a long round: few are replayed, the rest follows.
 *
 * Set: a round of H steps that are alike but for the exchange at its end (Sync.even_steps).
 * F (n): what is said of a round of n steps, its time, where it goes, traffic. Where the last two
 * steps before the one that closes the round were alike, in time and in what was in flight at their
 * ends, any number of such steps may stand between them and it: each two add F (n + 2) - F (n).
 * Computed: F (n) and F (n + 2) for n = 4, 8, 16, ... until their steps are alike; then F (H). What
 * an exchange of the round before still sends slows steps down until it is there: more are replayed
 * than those. Where that takes a quarter of the round, all are replayed; and so they are
 * where rounds stand in rounds.
 */
#include "analysis/growth.h"

#define FEWEST 4
#define MORE   2 /* an inner strategy may have something of even and odd steps */

/* RESOLVED with N steps a round; NULL where there is no such schedule. */
static ReplayPlan *
plan_round (const ResolvedScenario *resolved, guint n)
{
  g_autoptr (DiagList) diags = diag_list_new ();

  return replay_plan_new (resolved, n, diags);
}

/* Of PLAN, which is consumed: it goes before the next one comes. */
static Prediction *
predict_round (ReplayPlan *plan, const PredictOptions *options)
{
  g_autoptr (ReplayPlan)  own = plan;
  g_autoptr (ReplayBound) bound = predict_bind (own, options);
  g_autoptr (GError)      error = NULL;
  ReplayOptions           quick = options->replay;

  quick.min_periods = 1;
  return predict_bound (bound, &quick, options->stages, NULL, &error);
}

/* The outermost strategy exchanges, and no other one does. */
static gboolean
has_even_steps (const Scenario *scenario)
{
  const StrategyConfig *outer = scenario->strategy;

  if (outer->strategy->sync == NULL || !outer->strategy->sync->even_steps)
    return FALSE;
  for (const StrategyConfig *c = outer->inner; c != NULL; c = c->inner)
    if (c->strategy->outer)
      return FALSE;
  return TRUE;
}

/* Steps of a round, without a plan; 0 where they are not alike, or the outermost does not fit. */
static guint
steps_of_round (const ResolvedScenario *resolved)
{
  const StrategyChoice *outer = resolved->strategy;
  g_autoptr (DiagList)  diags = diag_list_new ();

  if (!has_even_steps (resolved->scenario)
      || (outer->strategy->check != NULL
          && !outer->strategy->check (&resolved->input, outer->options, diags)))
    return 0;
  return strategy_round_steps (&resolved->input, outer);
}

/* Per step, from A of N steps and B of N + MORE: of ALL steps. B is consumed. */
static Prediction *
follow_steps (Prediction *a, Prediction *b, guint n, double all)
{
  growth_scale (a, n);
  growth_scale (b, n + MORE);
  growth_follow (b, a, b, (all - (n + MORE)) / MORE);
  growth_scale (b, 1 / all);
  b->n_steps_replayed = n + MORE;
  b->n_steps = (guint) all;
  return b;
}

/*
 * What F (n) and F (n + MORE) say of a round of ALL steps; NULL where theirs are not alike. PLAN,
 * of N steps, is consumed.
 */
static Prediction *
predict_from (const ResolvedScenario *resolved, ReplayPlan *plan, const PredictOptions *options,
              guint n, guint all)
{
  g_autoptr (Prediction) a = predict_round (plan, options), b = NULL;

  if (a == NULL || !a->steady || !a->even_steps)
    return NULL;
  plan = plan_round (resolved, n + MORE);
  b = plan != NULL ? predict_round (plan, options) : NULL;
  if (b == NULL || !b->steady || !b->even_steps || !growth_is_alike (a, b))
    return NULL;
  return follow_steps (a, g_steal_pointer (&b), n, all);
}

Prediction *
predict_few_steps (const ResolvedScenario *resolved, const PredictOptions *options)
{
  guint       all = steps_of_round (resolved);
  Prediction *self = NULL;

  for (guint n = FEWEST; self == NULL && 4 * n < all; n *= 2)
    {
      g_autoptr (ReplayPlan) plan = plan_round (resolved, n);

      if (plan == NULL || schedule_steps_per_period (replay_plan_schedule (plan)) != n)
        break;
      self = predict_from (resolved, g_steal_pointer (&plan), options, n, all);
    }
  return self;
}
