#include "strategy/policy/replicated.h"

#include "strategy/emit/common.h"
#include "strategy/shards/format.h"

const char *const replicated_gradient_choices[] = { "auto", "fp32", "fp32-beside", NULL };

Dtype
replicated_kept (const PlanInput *in, const BucketsIssue *issue)
{
  return issue->gradient_dtype != GRADIENT_AUTO
             ? DTYPE_FP32
             : training_compute_dtype (workload_training (in->workload));
}

void
replicated_policy (const PlanInput *in, Dtype kept, CollectiveKind kind, gboolean sharded,
                   Policy *policy)
{
  policy->n_kinds = mesh_parts_experts (&in->mesh) ? 2 : 1;
  policy->compute = training_compute_dtype (workload_training (in->workload));
  policy->settles_last = in->mesh.stages > 1;
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      /*
       * Whole tensors are not respected: the part of the optimizer that a rank owns is cut from one
       * flat buffer. Gradients are reduced as they are kept unless `reduce_dtype` says otherwise.
       */
      Mesh                   experts = mesh_of_experts (&in->mesh);
      MeshGroup              all = mesh_all (k == 1 ? &experts : &in->mesh);
      const MeshGroup        one = { .size = 1, .stride = 1 };
      const TrainingOptions *training = workload_training (in->workload);
      Dtype                  compute = training_compute_dtype (training);
      UnitPolicy             unit = { .format = &format_flat, .joined = TRUE };
      Dtype wire = training->reduce_dtype == REDUCE_AUTO ? kept : reduce_dtype (training);

      unit.states[STATE_PARAMETERS] = (PolicyState){ one, compute, 1, PLACE_HBM };
      unit.states[STATE_GRADIENTS] = (PolicyState){ one, kept, 1, PLACE_HBM };
      unit.states[STATE_OPTIMIZER] = optimizer_state (training, sharded ? all : one, TRUE);
      policy_add_collective (&unit.routes[ROUTE_REDUCE], kind, "data", all, wire, CADENCE_LAST);
      if (sharded)
        policy_add_collective (&unit.routes[ROUTE_UPDATE], COLLECTIVE_ALL_GATHER, "data", all,
                               compute, CADENCE_LAST)
            ->label = "all_gather_updated";
      policy->kinds[k] = unit;
    }
}

gboolean
replicated_check (const BucketsIssue *issue, DiagList *diags)
{
  if (!issue->fused_gradients || issue->gradient_dtype != GRADIENT_FP32_BESIDE)
    return TRUE;
  return diag_option_error (
      diags, "gradient_accumulation_fusion", "take 'gradient_dtype: fp32'",
      "where products add to the kept gradients no computed ones stay beside them");
}

void
replicated_set_issue (const BucketsIssue *issue, Policy *policy)
{
  policy->issue = issue;
  policy->fuses_gradients = issue->fused_gradients;
  if (issue->fused_gradients)
    policy->accumulates = policy_state_bytes (&policy->kinds[0].states[STATE_GRADIENTS]);
}
