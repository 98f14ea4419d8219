/* How strategies nest: what the inner one spans, and after how many steps all repeats. */
#include "driver/policy/input.h"

void
strategy_exchange (const Strategy *strategy, const PlanInput *in, gconstpointer options,
                   Exchange *exchange)
{
  *exchange = (Exchange){ .fragments = 1 };
  strategy->exchange (in, options, exchange);
  if (in->round_steps > 0 && strategy->sync != NULL && strategy->sync->even_steps)
    exchange_cut_round (exchange, in->round_steps, in->round_only);
  exchange->every = MAX (exchange->every, 1);
}

guint
strategy_own_period (const Strategy *strategy, const PlanInput *in, gconstpointer options)
{
  Exchange exchange;

  if (strategy->exchange == NULL)
    return strategy->period != NULL ? MAX (strategy->period (in, options), 1) : 1;
  strategy_exchange (strategy, in, options, &exchange);
  return exchange.every;
}

guint64
strategy_join_periods (const Strategy *strategy, guint own, guint64 inner)
{
  guint64 steps = inner;

  if (strategy->exchange == NULL)
    return own * inner;
  while (steps % own > 0)
    steps += inner;
  return steps;
}

guint64
strategy_period_steps (const PlanInput *in, const StrategyChoice *choice)
{
  guint     own = strategy_own_period (choice->strategy, in, choice->options);
  PlanInput inner;

  if (choice->inner == NULL)
    return own;
  strategy_narrow_input (choice->strategy, in, choice->options, &inner);
  return strategy_join_periods (choice->strategy, own,
                                strategy_period_steps (&inner, choice->inner));
}

gboolean
strategy_whole_exchange (const PlanInput *in, const StrategyChoice *choice, Exchange *exchange)
{
  PlanInput whole = *in;

  whole.round_steps = 0;
  if (choice->strategy->exchange == NULL)
    return FALSE;
  strategy_exchange (choice->strategy, &whole, choice->options, exchange);
  return TRUE;
}

void
strategy_narrow_input (const Strategy *strategy, const PlanInput *in, gconstpointer options,
                       PlanInput *inner)
{
  Exchange exchange;

  *inner = *in;
  if (strategy->narrow != NULL)
    strategy->narrow (in, options, inner);
  if (strategy->exchange == NULL)
    return;
  strategy_exchange (strategy, in, options, &exchange);
  inner->mesh.n_ranks = exchange.worker.size;
}
