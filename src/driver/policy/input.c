/*
 * What a plan's input says of groups, messages and gradients. Who emits and the closed forms both
 * read it, so it holds no sum.
 */
#include "driver/policy/input.h"

const PlanSampleKey plan_sample_keys[PLAN_N_SAMPLE_KEYS] = { { "tokens", 8 },
                                                             { "labels", 8 },
                                                             { "loss_mask", 4 },
                                                             { "position_ids", 8 } };

MeshGroup
plan_axis_group (const PlanInput *in, MeshAxis axis)
{
  switch (axis)
    {
    case MESH_CONTEXT:
      return mesh_context (&in->mesh, (guint) workload_mesh (in->workload)->cp);
    case MESH_EXPERT:
      return mesh_experts (&in->mesh);
    case MESH_EXPERT_TENSOR:
      return mesh_expert_tensor (&in->mesh);
    case MESH_TENSOR_ROWS:
      return mesh_tensor_rows (&in->mesh);
    case MESH_TENSOR:
    case MESH_N_AXES:
      break;
    }
  return mesh_tensor_columns (&in->mesh);
}

MeshGroup
plan_kernel_group (const PlanInput *in, const KernelDesc *kernel)
{
  const guint every = MAX (kernel->every, 1);

  if (kernel->axis != MESH_CONTEXT || kernel->ranks == 0)
    return plan_axis_group (in, kernel->axis);
  return mesh_group_every (mesh_context (&in->mesh, kernel->ranks * every), every);
}

gboolean
plan_scatters (const Workload *workload)
{
  const MeshOptions *mesh = workload_mesh (workload);

  return mesh->pp > 1 && mesh->scatter_gather && mesh->tp > 1 && !mesh->sp;
}

PlanGradient
plan_gradient (const PlanInput *in, const Policy *policy)
{
  const PolicyState *state = policy != NULL ? &policy->kinds[0].states[STATE_GRADIENTS] : NULL;

  if (state != NULL)
    return (PlanGradient){ state->dtype, state->group.size };
  return (PlanGradient){ training_compute_dtype (workload_training (in->workload)), 1 };
}
