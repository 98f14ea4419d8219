/*
 * Equal steps of a long round: few are replayed, the rest follows.
 *
 * Set: a round of H steps that are alike but for the exchange at its end (Sync.even_steps), or but
 * for those at the ends of its P fragments, whose gaps are then what is cut: each to as many steps.
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

/* Of the outermost, without a plan; FALSE where steps are not alike, or it does not fit. */
static gboolean
exchange_of (const ResolvedScenario *resolved, Exchange *exchange)
{
  const StrategyChoice *outer = resolved->strategy;
  g_autoptr (DiagList)  diags = diag_list_new ();

  return has_even_steps (resolved->scenario)
         && (outer->strategy->check == NULL
             || outer->strategy->check (&resolved->input, outer->options, diags))
         && strategy_whole_exchange (&resolved->input, outer, exchange)
         && exchange_has_even_steps (exchange);
}

/* Per step, from A of N steps and B of N + MORE: of ALL steps. B is consumed. */
static Prediction *
follow_steps (Prediction *a, Prediction *b, guint n, guint more, double all)
{
  growth_scale (a, n);
  growth_scale (b, n + more);
  growth_follow (b, a, b, (all - (n + more)) / more);
  growth_scale (b, 1 / all);
  b->n_steps_replayed = n + more;
  b->n_steps = (guint) all;
  return b;
}

/*
 * What rounds of N and of N + MORE steps a fragment say of the whole one; NULL where their steps
 * are not alike. PLAN, of N steps a fragment, is consumed.
 */
static Prediction *
predict_from (const ResolvedScenario *resolved, ReplayPlan *plan, const PredictOptions *options,
              const Exchange *exchange, guint n)
{
  guint                  steps = schedule_steps_per_period (replay_plan_schedule (plan));
  g_autoptr (Prediction) a = predict_round (plan, options), b = NULL;

  if (a == NULL || !a->steady || !a->even_steps)
    return NULL;
  plan = plan_round (resolved, n + MORE);
  b = plan != NULL ? predict_round (plan, options) : NULL;
  if (b == NULL || !b->steady || !b->even_steps || !growth_is_alike (a, b))
    return NULL;
  return follow_steps (a, g_steal_pointer (&b), steps, MORE * exchange->fragments, exchange->every);
}

Prediction *
predict_few_steps (const ResolvedScenario *resolved, const PredictOptions *options)
{
  Exchange    exchange = { 0 };
  Prediction *self = NULL;

  if (!exchange_of (resolved, &exchange))
    return NULL;
  for (guint n = FEWEST; self == NULL && 4 * exchange_cut (&exchange, n) < exchange.every; n *= 2)
    {
      g_autoptr (ReplayPlan) plan = plan_round (resolved, n);

      if (plan == NULL
          || schedule_steps_per_period (replay_plan_schedule (plan)) != exchange_cut (&exchange, n))
        break;
      self = predict_from (resolved, g_steal_pointer (&plan), options, &exchange, n);
    }
  return self;
}
