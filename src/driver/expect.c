/*
 * Closed forms of nested strategies: an outer one adds to what its inner one states for the outer's
 * period. The axes of the mesh add theirs to the innermost.
 */
#include "driver/driver-private.h"

guint
strategy_own_period (const Strategy *strategy, const PlanInput *in, gconstpointer options)
{
  return strategy->period != NULL ? MAX (strategy->period (in, options), 1) : 1;
}

void
strategy_narrow_input (const Strategy *strategy, const PlanInput *in, gconstpointer options,
                       PlanInput *inner)
{
  *inner = *in;
  if (strategy->narrow != NULL)
    strategy->narrow (in, options, inner);
}

PlanGradient
strategy_gradient (const Strategy *strategy, const PlanInput *in, gconstpointer options)
{
  if (strategy->gradient != NULL)
    return strategy->gradient (in, options);
  return (PlanGradient){ training_compute_bytes (workload_training (in->workload)), 1 };
}

gboolean
strategy_expect (const PlanInput *in, const StrategyChoice *choice, PlanTotals *totals)
{
  const Strategy *strategy = choice->strategy;

  *totals = (PlanTotals){ 0 };
  if (strategy->expect == NULL || in->batches != NULL) /* the forms take one micro-batch for all */
    return FALSE;
  if (choice->inner != NULL)
    {
      guint     period = strategy_own_period (strategy, in, choice->options);
      PlanInput inner;

      strategy_narrow_input (strategy, in, choice->options, &inner);
      if (!strategy_expect (&inner, choice->inner, totals))
        return FALSE;
      for (guint i = 0; i < totals->n_traffic; i++)
        {
          totals->traffic[i].bytes *= period;
          totals->traffic[i].slack *= period;
        }
      for (guint c = 0; c < COPY_N; c++)
        {
          totals->copies[c] *= period;
          totals->copies_slack[c] *= period;
        }
      totals->flops *= period;
    }
  else
    totals->resident = strategy->resident != NULL
                           ? (double) strategy->resident (in, choice->options)
                           : (double) workload_n_parameters (in->workload);
  if (!strategy->expect (in, choice->options, totals))
    return FALSE;
  if (choice->inner == NULL)
    plan_expect_mesh (in, strategy_gradient (strategy, in, choice->options), totals);
  return TRUE;
}
