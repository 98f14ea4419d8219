#include "matrix-bounds.h"

#include <string.h>

#include "model/optimizer/optimizer.h"

/* Matrices of some units. */
typedef struct
{
  double flops, elements;
  double dearest;           /* FLOPs of one */
  double densest, sparsest; /* FLOPs of an element */
} Matrices;

static void
add_tensor (const TrainingOptions *training, const TensorDesc *tensor, Matrices *sum)
{
  MatrixShape shape = optimizer_matrices (training, tensor);
  double      n = (double) shape.count, flops = optimizer_matrix_flops (training, shape);

  if (shape.count == 0)
    return;
  sum->flops += n * flops;
  sum->elements += (double) tensor->elements;
  sum->dearest = MAX (sum->dearest, flops);
  sum->densest = MAX (sum->densest, n * flops / (double) tensor->elements);
  sum->sparsest = MIN (sum->sparsest, flops / ((double) shape.rows * (double) shape.columns));
}

/* A step's least and most. */
typedef struct
{
  double low, high; /* FLOPs of products, of the rank with most */
  double sent;      /* bytes of all-to-alls, both ways, at most */
} Bounds;

/*
 * Ranks share the N units of KIND at LIST. The one with most has its part at least. Of its own it
 * has no more than its shards can hold, padding with them; of what is shared out, as longest first
 * does it, in each turn its part and the dearest one (Graham, 1969), which travel there and back.
 * Owners of whole tensors may have all that is worth anything.
 */
static void
add_kind (const PlanUnit *list, guint n, const UnitPolicy *policy, gboolean expert,
          const TrainingOptions *training, Bounds *bounds)
{
  Matrices all = { .sparsest = G_MAXDOUBLE };
  double   m = policy->states[STATE_OPTIMIZER].group.size, shard = 0, turns = 0, spread;

  for (guint u = 0; u < n; u++)
    if (list[u].expert == expert && list[u].n_trainable > 0)
      {
        for (guint t = 0; t < list[u].n_trainable; t++)
          add_tensor (training, &list[u].trainable[t], &all);
        shard +=
            (double) policy->format->padded (list[u].trainable, list[u].n_trainable, (guint) m) / m;
        turns++;
      }
  if (all.elements == 0)
    return;
  spread = all.flops / m + turns * all.dearest;
  bounds->low += all.flops / m;
  bounds->high +=
      policy->format->owned != NULL ? all.flops : MIN (shard * all.densest + spread, all.flops);
  bounds->sent += 2.0 * dtype_bytes (optimizer_exchange_dtype (training))
                  * (MAX (all.elements / m, spread / all.sparsest) + turns);
}

static Bounds
bounds_of (const PlanInput *in, const Policy *policy, const GArray *units)
{
  const TrainingOptions *training = workload_training (in->workload);
  Bounds                 bounds = { 0 };

  for (guint k = 0; k < policy->n_kinds; k++)
    add_kind ((const PlanUnit *) (gconstpointer) units->data, units->len, &policy->kinds[k], k == 1,
              training, &bounds);
  return bounds;
}

static gboolean
is_product (const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL && kernel_desc_is_product (item->kernel)
         && (g_str_has_prefix (item->kernel->name, "muon.")
             || g_str_has_prefix (item->kernel->name, "shampoo.")
             || g_str_has_prefix (item->kernel->name, "soap."));
}

static gboolean
is_exchange (const ScheduleItem *item)
{
  return item->kind == ITEM_COLLECTIVE && item->collective == COLLECTIVE_ALL_TO_ALL
         && (strcmp (item->label, "to_owners") == 0 || strcmp (item->label, "from_owners") == 0);
}

static gboolean
lies_between (const char *what, double value, double low, double high, char **why)
{
  if (value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9))
    return TRUE;
  *why = g_strdup_printf ("%s of matrices: %.9g a step, not from %.9g to %.9g", what, value, low,
                          high);
  return FALSE;
}

gboolean
matrix_bounds_hold (const RandomPlan *plan, const Workload *workload, const Schedule *schedule,
                    guint role, char **why)
{
  const Strategy        *strategy = plan->choice->strategy;
  const TrainingOptions *training = workload_training (workload);
  ScheduleItems          steady = schedule_items (schedule, role, SECTION_STEADY);
  double                 steps = schedule_steps_per_period (schedule), flops = 0, sent = 0;
  gboolean               gathers = training->matrix_exchange == MATRIX_EXCHANGE_ALL_GATHER;
  PlanInput              in = plan->in;
  Policy                 policy = { 0 };
  g_autoptr (GArray)     units = NULL;
  Bounds                 bounds;

  if (optimizer_scope (training) != SCOPE_MATRIX || strategy->policy == NULL)
    return TRUE;
  in.workload = workload;
  strategy->policy (&in, plan->choice->options, &policy);
  units = plan_units (workload, strategy_granularity (strategy));
  bounds = bounds_of (&in, &policy, units);
  for (guint i = 0; i < steady.n; i++)
    {
      flops += is_product (&steady.items[i]) ? steady.items[i].kernel->flops / steps : 0;
      sent += is_exchange (&steady.items[i]) ? (double) steady.items[i].bytes / steps : 0;
    }
  return lies_between ("FLOPs", flops, bounds.low, gathers ? G_MAXDOUBLE : bounds.high, why)
         && lies_between ("bytes", sent, 0, gathers ? 0 : bounds.sent, why);
}
