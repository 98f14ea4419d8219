/*
 * The closed form of an optimizer: what it keeps beside its moments, the products that it makes,
 * what ranks send each other for it. Which matrices a rank has is the plan's to say
 * (driver/matrix/matrix-plan.h).
 */
#include "driver/matrix/matrix-plan.h"
#include "driver/oracle/expect-private.h"

#include <math.h>

#define SLOTS 2

/* ---- units ----------------------------------------------------------------------------------- */

/* Where what begins with tensor FIRST of LAYER ends: at its module's end, or where experts begin or
 * end. */
static guint
end_of_unit (const LayerDesc *layer, guint first, gboolean modules, gboolean spread)
{
  guint end = first + 1;

  for (guint m = 0; m < layer->n_modules && modules; m++)
    if (layer->modules[m].first_tensor == first && layer->modules[m].n_tensors > 0)
      return first + layer->modules[m].n_tensors;
  while (end < layer->n_tensors
         && (modules || !spread || layer->tensors[end].expert == layer->tensors[first].expert))
    end++;
  return end;
}

/* What the optimizer sees of units, nothing else is set. Not what emission walks: plan_units. */
static GArray *
units_new (const PlanInput *in, UnitGranularity granularity)
{
  GArray *units = g_array_new (FALSE, TRUE, sizeof (PlanUnit));

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      /* A unit is what a layer trains, apart as ranks share it. */
      const LayerDesc  *layer = workload_layer (in->workload, l);
      gboolean          spread = mesh_spreads_experts (workload_mesh (in->workload));
      const TensorDesc *trained = layer->trainable;

      for (guint t = 0, end; t < layer->n_tensors; t = end)
        {
          PlanUnit unit = { .layer = l,
                            .desc = layer,
                            .trainable = trained,
                            .expert = spread && layer->tensors[t].expert };

          end = end_of_unit (layer, t, granularity == UNIT_MODULE, spread);
          for (guint i = t; i < end; i++)
            unit.n_trainable += !layer->tensors[i].frozen;
          if (unit.n_trainable > 0) // a frozen layer has no list of what it trains
            trained += unit.n_trainable;
          g_array_append_val (units, unit);
        }
    }
  return units;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* FLOPs of the rank with most work. */
static double
flops_of (const MatrixPlan *plan, const TrainingOptions *training)
{
  double sum = 0;

  for (guint i = 0; i < plan->rounds->len; i++)
    {
      const GArray *shapes = g_array_index (plan->rounds, MatrixRound, i).shapes;

      for (guint s = 0; s < shapes->len; s++)
        {
          MatrixShape shape = g_array_index (shapes, MatrixShape, s);

          sum += (double) shape.count * optimizer_matrix_flops (training, shape);
        }
    }
  return sum;
}

/*
 * Bytes of buffers, at most: of all rounds where they are under way at once, else of as many as
 * there are slots and one.
 */
static double
buffers_of (const MatrixPlan *plan, const TrainingOptions *training)
{
  gboolean at_once = training->matrix_exchange == MATRIX_EXCHANGE_OWNER;
  double   sum = 0, most = 0;

  for (guint i = 0; i < plan->rounds->len; i++)
    {
      const MatrixRound *round = &g_array_index (plan->rounds, MatrixRound, i);
      guint64            share = matrix_plan_share (plan, round);
      double bytes = (double) round->held + (double) (plan->gathers ? round->held : share);

      sum += bytes;
      most = MAX (most, bytes);
    }
  return (at_once ? sum : MIN (sum, (SLOTS + 1) * most))
         * dtype_bytes (optimizer_exchange_dtype (training));
}

/* Bytes that products hold on their way: those of a round are over when the next one's begin. */
static double
workspace_of (const MatrixPlan *plan, const TrainingOptions *training)
{
  guint64 most = 0;

  for (guint i = 0; i < plan->rounds->len; i++)
    most = MAX (most,
                matrix_round_workspace (&g_array_index (plan->rounds, MatrixRound, i), training));
  return (double) most;
}

/* fp32 values that passes add up of the tensors of KIND. */
static double
summed (const TrainingOptions *training, const GArray *units, guint kind)
{
  guint64 sum = 0;

  for (guint u = 0; u < units->len; u++)
    {
      const PlanUnit *unit = &g_array_index (units, PlanUnit, u);

      for (guint t = 0; t < unit->n_trainable && plan_unit_is (unit, kind); t++)
        {
          sum += optimizer_sum (training, SUM_TENSORS, &unit->trainable[t]);
          if (training->optimizer == OPTIMIZER_ADAFACTOR)
            sum += optimizer_sum (training, SUM_COLUMNS, &unit->trainable[t]);
        }
    }
  return (double) sum;
}

/* Ranks that share tensors add up what a pass has of each. */
static void
add_sums (const PlanInput *in, const Policy *policy, const GArray *units, PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);

  if (optimizer_scope (training) != SCOPE_TENSOR)
    return;
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      double bytes = 4 * summed (training, units, k);

      if (policy->kinds[k].format->owned == NULL)
        plan_totals_add (totals, COLLECTIVE_ALL_REDUCE,
                         policy->kinds[k].states[STATE_OPTIMIZER].group, bytes);
      if (k == 0)
        plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_tensor (&in->mesh), bytes);
    }
}

static void
add_rounds (const MatrixPlan *plan, const UnitPolicy *kind, const TrainingOptions *training,
            PlanTotals *totals)
{
  double size = dtype_bytes (optimizer_exchange_dtype (training));

  for (guint i = 0; i < plan->rounds->len; i++)
    {
      const MatrixRound *round = &g_array_index (plan->rounds, MatrixRound, i);

      if (round->travels)
        plan_totals_add (totals, plan->gathers ? COLLECTIVE_ALL_GATHER : COLLECTIVE_ALL_TO_ALL,
                         kind->states[STATE_OPTIMIZER].group,
                         (plan->returns ? 2 : 1) * size * (double) round->sent);
    }
  totals->flops += flops_of (plan, training);
  totals->high[PLACE_HBM] += buffers_of (plan, training) + workspace_of (plan, training);
}

/* Bytes of the moments in unified memory of a rank that shares tensors of KIND with M. */
static double
paged_of (const TrainingOptions *training, const GArray *units, guint kind, guint m)
{
  double each = training->optimizer == OPTIMIZER_ADAMW_8BIT
                    ? 2
                    : 2 * dtype_bytes (training_moment_dtype (training));
  double sum = 0;

  for (guint u = 0; u < units->len; u++)
    {
      const PlanUnit *unit = &g_array_index (units, PlanUnit, u);

      for (guint t = 0; t < unit->n_trainable && plan_unit_is (unit, kind); t++)
        {
          double share = floor ((double) unit->trainable[t].elements / m);

          sum += share >= 100e3 ? share * each : 0;
        }
    }
  return sum;
}

/* They live on the host, and go both ways in a step. */
static void
add_pages (const PlanInput *in, const Policy *policy, const GArray *units, PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);
  double                 sum = 0;

  if (!optimizer_is_paged (training) || in->pages_stay)
    return;
  for (guint k = 0; k < policy->n_kinds; k++)
    sum += paged_of (training, units, k, policy->kinds[k].states[STATE_OPTIMIZER].group.size);
  totals->states -= sum;
  totals->low[PLACE_HBM] -= sum;
  totals->high[PLACE_HBM] -= sum;
  totals->low[PLACE_PINNED] += sum;
  totals->high[PLACE_PINNED] += sum;
  totals->moves[move_kind (PLACE_HBM, PLACE_PINNED)] += sum;
  totals->moves[move_kind (PLACE_PINNED, PLACE_HBM)] += sum;
}

void
expect_optimizer (const PlanInput *in, const Policy *policy, const Issue *issue, PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);
  g_autoptr (GArray)     units = units_new (in, issue->hooks.granularity);
  const PlanUnit        *list = (const PlanUnit *) (gpointer) units->data;

  add_sums (in, policy, units, totals);
  add_pages (in, policy, units, totals);
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy      *kind = &policy->kinds[k];
      g_autoptr (MatrixPlan) plan = matrix_plan_new (in, kind, list, units->len, k);
      double                 kept = (double) matrix_plan_kept (plan, in, kind, list, units->len, k);
      Place                  home = kind->states[STATE_OPTIMIZER].home;

      totals->states += home == PLACE_HBM ? kept : 0;
      totals->low[home] += kept;
      totals->high[home] += kept;
      if (plan != NULL)
        add_rounds (plan, kind, training, totals);
    }
}
