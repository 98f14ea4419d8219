#include "strategy/shard-policy.h"

#include "strategy/common.h"

static UnitPolicy
policy_of (const PlanInput *in, const ShardGroups *groups, const ShardFormat *format)
{
  const TrainingOptions *training = workload_training (in->workload);
  Dtype      reduce = reduce_dtype (training), master = training_master_dtype (training);
  UnitPolicy policy = { .format = format };

  policy.states[STATE_PARAMETERS] = (PolicyState){ groups->shard_group, master, 1, PLACE_HBM };
  policy.states[STATE_GRADIENTS] = (PolicyState){ groups->shard_group, master, 1, PLACE_HBM };
  policy.states[STATE_OPTIMIZER] = optimizer_state (training, groups->shard_group, FALSE);
  policy_add_collective (&policy.routes[ROUTE_GATHER], COLLECTIVE_ALL_GATHER, "shard",
                         groups->shard_group, training_compute_dtype (training),
                         CADENCE_MICRO_STEP);
  policy_add_collective (&policy.routes[ROUTE_REDUCE], COLLECTIVE_REDUCE_SCATTER, "shard",
                         groups->shard_group, reduce, CADENCE_MICRO_STEP);
  if (groups->replica.size > 1)
    policy_add_collective (&policy.routes[ROUTE_REDUCE], COLLECTIVE_ALL_REDUCE, "replica",
                           groups->replica, reduce, CADENCE_MICRO_STEP);
  return policy;
}

void
shard_policy (const PlanInput *in, const char *shard, const ShardFormat *format, Policy *policy)
{
  ShardGroups groups[2];

  unit_groups (&in->mesh, shard, groups, NULL);
  policy->n_kinds = mesh_parts_experts (&in->mesh) ? 2 : 1;
  policy->compute = training_compute_dtype (workload_training (in->workload));
  for (guint kind = 0; kind < policy->n_kinds; kind++)
    policy->kinds[kind] = policy_of (in, &groups[kind], format);
}
