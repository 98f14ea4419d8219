/*
 * Closed forms of nested strategies: an outer one adds to what its inner one states for the outer's
 * period. The axes of the mesh add theirs to the innermost.
 */
#include "driver/oracle/expect-private.h"

#include <math.h>

/*
 * A period of the inner strategy becomes one of the outer: PERIOD times as much of all but peaks.
 */
static void
repeat (PlanTotals *totals, guint period)
{
  for (guint i = 0; i < totals->n_traffic; i++)
    {
      totals->traffic[i].bytes *= period;
      totals->traffic[i].slack *= period;
    }
  for (guint c = 0; c < MOVE_N; c++)
    {
      totals->moves[c] *= period;
      totals->moves_slack[c] *= period;
    }
  for (guint h = 0; h < HOST_N_KINDS; h++)
    {
      totals->host[h] *= period;
      totals->host_slack[h] *= period;
    }
  totals->coded *= period;
  totals->coded_slack *= period;
  totals->flops *= period;
}

/*
 * Scales of weights in 4 bits lie whole on every rank, whatever the strategy divides: of each
 * matrix 4 bytes for 64 values, or 1, 4 for 256 of these, and 4 (arXiv:2305.14314, 3).
 */
static void
expect_scales (const PlanInput *in, PlanTotals *totals)
{
  gboolean nested = workload_training (in->workload)->bnb_4bit_use_double_quant;
  double   bytes = 0;

  if (!workload_training (in->workload)->load_in_4bit)
    return;
  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      const LayerDesc *layer = workload_layer (in->workload, l);

      for (guint t = 0; t < layer->n_tensors; t++)
        {
          const TensorDesc *tensor = &layer->tensors[t];
          const gboolean    narrow = tensor->packed > tensor->elements; /* in 4 bits, not in fp32 */
          double            blocks = narrow ? ceil ((double) tensor->packed / 64) : 0;

          if (blocks > 0)
            bytes += nested ? blocks + 4 * ceil (blocks / 256) + 4 : 4 * blocks;
        }
    }
  totals->states += bytes;
  totals->low[PLACE_HBM] += bytes;
  totals->high[PLACE_HBM] += bytes;
}

static gboolean
expect_innermost (const PlanInput *in, const StrategyChoice *choice, PlanTotals *totals)
{
  const Strategy *strategy = choice->strategy;
  Policy          policy = { 0 };
  gboolean        has_policy = strategy->policy != NULL;
  double          bytes = (double) workload_cached_bytes (in->workload);

  totals->resident = (double) workload_n_trainable_parameters (in->workload);
  if (strategy->issue == NULL && strategy->expect == NULL)
    return FALSE;
  if (has_policy)
    strategy->policy (in, choice->options, &policy);
  if (strategy->issue != NULL)
    plan_expect_policy (in, &policy, strategy->issue, totals);
  if (strategy->expect != NULL && !strategy->expect (in, choice->options, totals))
    return FALSE;
  plan_expect_mesh (in, plan_gradient (in, has_policy ? &policy : NULL), policy.passes, totals);
  plan_expect_checkpoints (
      in, has_policy ? expect_state_bytes (in, &policy, STATE_GRADIENTS, PLACE_PAGEABLE) : 0,
      totals);
  expect_scales (in, totals);
  /* Copies of weights in fp8 that stay lie there once, however many micro-batches are in flight. */
  totals->states += bytes;
  totals->low[PLACE_HBM] += bytes;
  totals->high[PLACE_HBM] += bytes;
  if (strategy->issue != NULL) /* its form is of a step; who states all of it states a period */
    repeat (totals, strategy_own_period (strategy, in, choice->options));
  return TRUE;
}

static gboolean expect_choice (const PlanInput *in, const StrategyChoice *choice,
                               PlanTotals *totals);

static gboolean
expect_outer (const PlanInput *in, const StrategyChoice *choice, PlanTotals *totals)
{
  const Strategy *strategy = choice->strategy;
  PlanInput       inner;
  Exchange        exchange;
  guint64         period;

  if (strategy->expect == NULL && strategy->sync == NULL)
    return FALSE;
  strategy_narrow_input (strategy, in, choice->options, &inner);
  if (!expect_choice (&inner, choice->inner, totals))
    return FALSE;
  period = strategy_period_steps (in, choice);
  repeat (totals, (guint) (period / strategy_period_steps (&inner, choice->inner)));
  if (strategy->sync != NULL)
    {
      strategy_exchange (strategy, in, choice->options, &exchange);
      strategy->sync->form (in, &exchange, (double) period / exchange.every, totals);
    }
  return strategy->expect == NULL || strategy->expect (in, choice->options, totals);
}

static gboolean
expect_choice (const PlanInput *in, const StrategyChoice *choice, PlanTotals *totals)
{
  *totals = (PlanTotals){ 0 };
  return choice->inner != NULL ? expect_outer (in, choice, totals)
                               : expect_innermost (in, choice, totals);
}

gboolean
strategy_expect (const PlanInput *in, const StrategyChoice *choice, PlanTotals *totals)
{
  *totals = (PlanTotals){ 0 };
  if (in->batches != NULL || in->round_only != 0) /* forms take all fragments */
    return FALSE;
  return expect_choice (in, choice, totals);
}

gboolean
strategy_expect_row (const PlanInput *in, const StrategyChoice *choice, guint row,
                     PlanTotals *totals)
{
  PlanInput   mine = *in;
  PlanBatches own = *in->batches;

  *totals = (PlanTotals){ 0 };
  if (in->round_only != 0)
    return FALSE;
  own.table += (gsize) row * own.width;
  if (own.counts != NULL)
    own.counts += row;
  if (own.barriers != NULL)
    own.barriers += (gsize) row * own.width;
  mine.batches = &own;
  if (!expect_choice (&mine, choice, totals))
    return FALSE;
  expect_sets (&mine, (double) strategy_period_steps (in, choice), totals);
  return TRUE;
}
