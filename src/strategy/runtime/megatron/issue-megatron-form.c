/* The closed form of Megatron-FSDP's issue, by arithmetic on the model's totals. */
#include "driver/oracle/expect.h"
#include "strategy/compression/compressed.h"
#include "strategy/runtime/megatron/issue-megatron.h"

static gboolean
stays (const Workload *workload, const LayerDesc *layer)
{
  (void) workload;
  return layer->kind != LAYER_BLOCK;
}

static gboolean
is_cut (const Policy *policy)
{
  return policy->kinds[0].routes[ROUTE_REDUCE].hops[0].cadence == CADENCE_MICRO_STEP;
}

/* Padded elements of layer I, its experts too: of its parameters, or of what it trains. */
static double
layer_elements (const PlanInput *in, const Policy *policy, guint i, gboolean gradients)
{
  double sum = 0;

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &policy->kinds[k];

      sum += gradients ? expect_padded_trainable (in, i, i + 1, kind->format, k,
                                                  kind->states[STATE_GRADIENTS].group.size)
                       : expect_padded (in, i, i + 1, kind->format, k,
                                        kind->states[STATE_PARAMETERS].group.size, NULL);
    }
  return sum;
}

static double
largest_layer (const PlanInput *in, const Policy *policy, gboolean gradients)
{
  double most = 0;

  for (guint i = 0; i < workload_n_layers (in->workload); i++)
    most = MAX (most, layer_elements (in, policy, i, gradients));
  return most;
}

/* Bytes of two buffers for each thing that a block has in common with most others. */
static double
double_buffers (const PlanInput *in, const Policy *policy)
{
  const Workload *workload = in->workload;
  guint           n = workload_n_layers (workload), most = 0, common = n;
  guint           wire = dtype_bytes (policy->kinds[0].routes[ROUTE_REDUCE].hops[0].dtype);
  double          bytes = 0;

  for (guint i = 0; i < n; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      guint            alike = 0;

      for (guint other = 0; other < n && layer->kind == LAYER_BLOCK; other++)
        alike += workload_layer (workload, other) == layer;
      if (alike > most)
        {
          common = i;
          most = alike;
        }
    }
  if (common == n)
    return 0;
  if (policy->kinds[0].routes[ROUTE_GATHER].n > 0)
    bytes += layer_elements (in, policy, common, FALSE) * dtype_bytes (policy->compute);
  if (is_cut (policy))
    bytes += layer_elements (in, policy, common, TRUE) * wire;
  return 2 * bytes;
}

/* Elements of a communication unit: of two blocks, a billion at least, unless it is said. */
static double
communication_unit (const PlanInput *in, const Policy *policy)
{
  const MegatronIssue *issue = policy->issue;
  double               sum = 0, n = 0;

  if (issue->communication_unit > 0)
    return (double) issue->communication_unit;
  for (guint i = 0; i < workload_n_layers (in->workload); i++)
    if (!stays (in->workload, workload_layer (in->workload, i)))
      {
        sum += (double) workload_layer (in->workload, i)->elements;
        n++;
      }
  return MAX (1e9, n > 0 ? 2 * sum / n : 0);
}

/* Where outer ranks share the optimizer: its parts, and what a first micro-step brings of them. */
static void
add_outside (const PlanInput *in, const Policy *policy, guint k, IssueForm *form)
{
  const UnitPolicy *kind = &policy->kinds[k];
  guint  o = kind->states[STATE_OPTIMIZER].group.size, n = workload_n_layers (in->workload);
  guint  kept = policy_state_bytes (&kind->states[STATE_GRADIENTS]);
  double all = expect_all_padded (in, kind, k, o);
  double once = expect_padded (in, 0, n, kind->format, k, o, stays);

  if (kind->routes[ROUTE_GATHER].n == 0 || kind->routes[ROUTE_UPDATE].n == 0)
    return;
  form->passed[ROUTE_UPDATE][k] = 2 * (all - once) + once;
  form->states +=
      all / o * dtype_bytes (policy->compute) + expect_trainable_padded (in, kind, k, o) / o * kept;
}

/*
 * A block is gathered for each forward and each backward pass, other units once a step; whole
 * parameters come once a step from the optimizer's shards. Beyond the states a rank holds, with
 * double buffers or not, at most: the units that stay; the unit that is used, half a communication
 * unit ahead of it and what the last of it has too much (pipelines: of two passes); a tensor's
 * gradient; buckets of one communication unit, of the unit that is used and of one too many, and
 * the shards that they leave.
 */
void
megatron_form (const PlanInput *in, const Policy *policy, IssueForm *form)
{
  const MegatronIssue *issue = policy->issue;
  guint                n = workload_n_layers (in->workload);
  guint                compute = dtype_bytes (policy->compute);
  guint                wire = dtype_bytes (policy->kinds[0].routes[ROUTE_REDUCE].hops[0].dtype);
  double               steps = expect_micro_steps (in), kept = 0, all = 0;
  double               unit = communication_unit (in, policy), passes = in->mesh.stages > 1 ? 2 : 1;
  double               layer = largest_layer (in, policy, FALSE);
  double               trained = largest_layer (in, policy, TRUE);

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &policy->kinds[k];
      guint             m = kind->states[STATE_PARAMETERS].group.size;
      guint             o = kind->states[STATE_OPTIMIZER].group.size;
      double            padded = expect_all_padded (in, kind, k, m);
      double            once = expect_padded (in, 0, n, kind->format, k, m, stays);

      form->passed[ROUTE_GATHER][k] = 2 * steps * (padded - once) + once;
      form->passed[ROUTE_UPDATE][k] = expect_trainable_padded (in, kind, k, o);
      form->passed[ROUTE_REDUCE][k] =
          is_cut (policy)
              ? expect_trainable_padded (in, kind, k, kind->states[STATE_GRADIENTS].group.size)
              : form->passed[ROUTE_UPDATE][k];
      add_outside (in, policy, k, form);
      form->walks[ROUTE_GATHER][k] = 2 * steps * 2 * n;
      form->walks[ROUTE_UPDATE][k] = form->walks[ROUTE_REDUCE][k] = 2 * n;
      expect_passing (kind, ROUTE_GATHER, 2 * layer, 2, TRUE, form->passing);
      expect_passing (kind, ROUTE_REDUCE, 2 * trained, 2, TRUE, form->passing);
      kept += once;
      all += padded;
    }
  if (issue->double_buffer || issue->registered)
    form->states += double_buffers (in, policy);
  form->high = trained * compute + 2 * trained * wire;
  if (policy->kinds[0].routes[ROUTE_GATHER].n > 0)
    form->high += MIN (kept + passes * (unit / 2 + 2 * layer), all) * compute;
  if (is_cut (policy))
    form->high += 2 * (MIN (unit, trained * n) + 2 * trained) * wire;
  compressed_form (in, policy, trained, form);
}
