#include "strategy/policy/deepspeed.h"

#include "strategy/emit/common.h"
#include "strategy/shards/format.h"

const char *const deepspeed_invalidate_choices[] = { "all", "trainable", NULL };

gboolean
deepspeed_check (const PlanInput *in, const char *name, DiagList *diags)
{
  guint n_errors = diag_list_n_errors (diags);

  if (in->mesh.stages > 1)
    diag_error (diags, NULL, "take zero1, ddp, fsdp1 or fsdp2",
                "%s does not go with pipeline stages: DeepSpeed's pipelines take ZeRO-1 at most",
                name);
  if (mesh_parts_experts (&in->mesh))
    diag_error (diags, NULL, "take zero1, ddp, fsdp1 or fsdp2",
                "%s does not go with expert parallelism: it shards all parameters alike", name);
  return diag_list_n_errors (diags) == n_errors;
}

void
deepspeed_policy (const PlanInput *in, const DeepspeedOptions *options, const char *name,
                  MeshGroup group, Policy *policy)
{
  const TrainingOptions *training = workload_training (in->workload);
  UnitPolicy            *kind = &policy->kinds[0];

  policy->n_kinds = 1;
  policy->compute = training_compute_dtype (training);
  policy->whole_below = (guint64) options->param_persistence_threshold;
  policy->issue = &options->issue;
  kind->format = shard_format_find (shard_format_copied[options->format]);
  kind->states[STATE_PARAMETERS] = (PolicyState){ group, policy->compute, 1, PLACE_HBM };
  kind->states[STATE_GRADIENTS] = (PolicyState){ group, policy->compute, 1, PLACE_HBM };
  kind->states[STATE_OPTIMIZER] = optimizer_state (training, group, TRUE);
  policy_add_collective (&kind->routes[ROUTE_GATHER], COLLECTIVE_ALL_GATHER, name, group,
                         policy->compute, CADENCE_MICRO_STEP);
  policy_add_collective (&kind->routes[ROUTE_REDUCE], COLLECTIVE_REDUCE_SCATTER, name, group,
                         reduce_dtype (training), CADENCE_MICRO_STEP);
  /* tensors that are whole on every rank */
  policy_add_collective (&kind->routes[ROUTE_UPDATE], COLLECTIVE_ALL_GATHER, name, group,
                         policy->compute, CADENCE_LAST)
      ->label = "all_gather_persistent";
}

/*
 * Parameters are partitioned over the world group, on which all-gathers run. Gradients are reduced
 * over the engine's data-parallel group, which is a clone of it: a communicator of its own. Source:
 * DeepSpeed v0.16.2, partition_parameters.py (Init), utils/groups.py (_clone_world_group),
 * stage3.py.
 */
void
deepspeed_world_policy (const PlanInput *in, const DeepspeedOptions *options, Policy *policy)
{
  deepspeed_policy (in, options, "data", mesh_all (&in->mesh), policy);
  if (!workload_training (in->workload)->traits.one_communicator)
    policy->kinds[0].routes[ROUTE_REDUCE].hops[0].name = "data, cloned";
}
