/* Whether an optimizer can do what a policy asks of it, and what shards that cut too much cost. */
#include "base/units.h"
#include "driver/driver-private.h"
#include "driver/matrix-plan.h"

/* Bytes that a rank sends in a step, there and back. */
static double
sent_bytes (const MatrixPlan *plan, const TrainingOptions *training)
{
  double sum = 0, m = plan->members;

  for (guint i = 0; i < plan->rounds->len; i++)
    {
      const MatrixRound *round = &g_array_index (plan->rounds, MatrixRound, i);

      if (round->travels)
        sum += (double) round->sent * (m - 1) / m;
    }
  return sum * dtype_bytes (optimizer_exchange_dtype (training)) * (plan->returns ? 2 : 1);
}

static void
warn_of_cuts (const UnitPolicy *kind, const MatrixPlan *plan, const TrainingOptions *training,
              DiagList *diags)
{
  gboolean         blocks = optimizer_scope (training) == SCOPE_BLOCK;
  g_autofree char *price = quantity_format (QUANTITY_BYTES, sent_bytes (plan, training), 3);
  g_autofree char *tile =
      g_strdup_printf ("ragged shards with 'training.shard_block: %" G_GUINT64_FORMAT
                       "x%" G_GUINT64_FORMAT "' cut none, where that divides the tensors",
                       optimizer_tile_side (training), optimizer_tile_side (training));

  if (plan->travelled == 0)
    return;
  diag_list_set_key (diags, "optimizer");
  diag_warning (diags, NULL,
                blocks ? tile
                       : "'training.matrix_exchange' says how; shards that are whole matrices, as "
                         "of experts, send nothing",
                "'%s' needs whole %s, and shards of format '%s' over %u ranks cut %u of %u "
                "tensors: a rank sends up to %s a step for it",
                optimizer_name (training), blocks ? "blocks" : "matrices", kind->format->name,
                plan->members, plan->n_cut, plan->n_tensors, price);
  diag_list_set_key (diags, NULL);
}

static gboolean
check_home (const Strategy *strategy, const Policy *policy, const TrainingOptions *training,
            DiagList *diags)
{
  Place home = policy->kinds[0].states[STATE_OPTIMIZER].home;

  if (optimizer_runs_on_host (training) || (home == PLACE_HBM && policy->passes == 0))
    return TRUE;
  diag_list_set_key (diags, "optimizer");
  if (policy->passes > 0)
    diag_error (diags, NULL, "take adamw or sgd: neither is run",
                "strategy '%s' has no gradients that '%s' could work on", strategy->name,
                optimizer_name (training));
  else
    diag_error (diags, NULL, "take adamw or sgd, or a strategy that keeps optimizer states on GPUs",
                "'%s' runs on GPUs, and strategy '%s' keeps its states in %s",
                optimizer_name (training), strategy->name, place_title (home));
  diag_list_set_key (diags, NULL);
  return FALSE;
}

gboolean
policy_check_optimizer (const Strategy *strategy, const Policy *policy, const PlanInput *in,
                        DiagList *diags)
{
  const TrainingOptions *training = workload_training (in->workload);
  g_autoptr (GArray)     units = NULL;

  if (!check_home (strategy, policy, training, diags))
    return FALSE;
  if (optimizer_scope (training) != SCOPE_BLOCK && optimizer_scope (training) != SCOPE_MATRIX)
    return TRUE;
  units = plan_units (in->workload, strategy_granularity (strategy));
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      g_autoptr (MatrixPlan) plan = matrix_plan_new (
          in, &policy->kinds[k], (const PlanUnit *) (gpointer) units->data, units->len, k);

      warn_of_cuts (&policy->kinds[k], plan, training, diags);
    }
  return TRUE;
}
