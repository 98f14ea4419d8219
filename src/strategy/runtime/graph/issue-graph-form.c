/* The closed form of issue-graph.c. */
#include "driver/oracle/expect.h"
#include "strategy/compression/compressed.h"
#include "strategy/emit/common.h"
#include "strategy/runtime/graph/issue-graph.h"

static gboolean
is_shared_table (const Workload *workload, const LayerDesc *layer)
{
  gboolean read = FALSE;

  for (guint l = 1; l < workload_n_layers (workload); l++)
    read |= workload_layer (workload, l)->reads_table;
  return read && layer->kind == LAYER_EMBEDDING;
}

/*
 * Every graph gathers what it uses, the backward one not what stays, and reduces all. At the peak a
 * rank holds, beyond the states and what stays: the bucket that is used as gathered and as copied
 * out, the next one, and the shards of both; a bucket's gradients; of two buckets what is reduced.
 */
void
graph_form (const PlanInput *in, const Policy *policy, IssueForm *form)
{
  guint  n = workload_n_layers (in->workload);
  guint  reduce = dtype_bytes (policy->kinds[0].routes[ROUTE_REDUCE].hops[0].dtype);
  double steps = expect_micro_steps (in), kept = 0;
  double layer = expect_largest (in, policy, UNIT_LAYER);

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &policy->kinds[k];
      guint             m = kind->states[STATE_PARAMETERS].group.size;
      double            all = expect_all_padded (in, kind, k, m), there = all;

      if (!policy->stays)
        there = expect_padded (in, 0, n, kind->format, k, m, is_shared_table);
      form->passed[ROUTE_GATHER][k] = steps * (2 * all - there);
      form->passed[ROUTE_REDUCE][k] = expect_trainable_padded (in, kind, k, m);
      form->walks[ROUTE_GATHER][k] = 2 * steps * expect_modules (in);
      form->walks[ROUTE_REDUCE][k] = expect_modules (in);
      form->plain_before[ROUTE_REDUCE][k] =
          1u << policy_n_scatters (&kind->routes[ROUTE_REDUCE]); /* a stream of its own */
      expect_passing (kind, ROUTE_GATHER, 2 * layer, 2, TRUE, form->passing);
      expect_passing (kind, ROUTE_REDUCE, layer, 1, TRUE, form->passing);
      kept += there;
    }
  form->high = (kept + 6 * layer) * dtype_bytes (policy->compute) + 4 * layer * reduce;
  compressed_form (in, policy, layer, form);
}
