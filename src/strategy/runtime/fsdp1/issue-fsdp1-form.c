/* The closed form of issue-fsdp1.c. */
#include "driver/oracle/expect.h"
#include "strategy/compression/compressed.h"
#include "strategy/emit/common.h"
#include "strategy/runtime/fsdp1/issue-fsdp1.h"

static gboolean
is_root_layer (const Workload *workload, const LayerDesc *layer)
{
  (void) workload;
  return layer->kind == LAYER_EMBEDDING || layer->kind == LAYER_HEAD;
}

/*
 * A unit is gathered for each forward and each backward pass, but once where it stays; every
 * backward pass reduces it (Zhao et al., arXiv:2304.11277, 3.2.2). At its peak a rank holds, in
 * host order, what stays; three units beyond that (the one that is used, the one that is gathered
 * ahead and its shard in low precision, a tied table); one gradient as computed, and put together;
 * and of one more the reduction's input and output.
 */
void
fsdp1_form (const PlanInput *in, const Policy *policy, IssueForm *form)
{
  guint  n = workload_n_layers (in->workload);
  double steps = expect_micro_steps (in), unit = expect_largest (in, policy, UNIT_LAYER), kept = 0;

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &policy->kinds[k];
      guint             m = kind->states[STATE_PARAMETERS].group.size;
      double            all = expect_all_padded (in, kind, k, m);
      double            stays = all;

      if (!policy->stays)
        stays = expect_padded (in, 0, n, kind->format, k, m, is_root_layer);
      form->passed[ROUTE_GATHER][k] = steps * (2 * all - stays);
      form->passed[ROUTE_REDUCE][k] = expect_trainable_padded (in, kind, k, m);
      form->walks[ROUTE_GATHER][k] = 2 * steps * 2 * n; /* experts part a layer's units in two */
      form->walks[ROUTE_REDUCE][k] = 2 * n;
      form->plain_before[ROUTE_REDUCE][k] = 1u << policy_n_scatters (&kind->routes[ROUTE_REDUCE]);
      expect_passing (kind, ROUTE_GATHER, 2 * unit, 2, TRUE, form->passing);
      expect_passing (kind, ROUTE_REDUCE, unit, 1, TRUE, form->passing);
      kept += stays;
    }
  form->high = (kept + 5 * unit) * dtype_bytes (policy->compute)
               + 2 * unit * dtype_bytes (policy->kinds[0].routes[ROUTE_REDUCE].hops[0].dtype);
  compressed_form (in, policy, unit, form);
}
