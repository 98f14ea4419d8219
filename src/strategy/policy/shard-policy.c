#include "strategy/policy/shard-policy.h"

#include "strategy/emit/common.h"

void
shard_policy (const PlanInput *in, const char *shard, const ShardFormat *format, Policy *policy)
{
  ShardGroups groups[2];

  unit_groups (&in->mesh, shard, groups, NULL);
  policy->n_kinds = mesh_parts_experts (&in->mesh) ? 2 : 1;
  policy->compute = training_compute_dtype (workload_training (in->workload));
  for (guint kind = 0; kind < policy->n_kinds; kind++)
    {
      const TrainingOptions *training = workload_training (in->workload);
      Dtype      reduce = reduce_dtype (training), master = training_master_dtype (training);
      UnitPolicy unit = { .format = format };

      unit.states[STATE_PARAMETERS] =
          (PolicyState){ groups[kind].shard_group, master, 1, PLACE_HBM };
      unit.states[STATE_GRADIENTS] =
          (PolicyState){ groups[kind].shard_group, master, 1, PLACE_HBM };
      unit.states[STATE_OPTIMIZER] = optimizer_state (training, groups[kind].shard_group, FALSE);
      policy_add_collective (&unit.routes[ROUTE_GATHER], COLLECTIVE_ALL_GATHER, "shard",
                             groups[kind].shard_group, training_compute_dtype (training),
                             CADENCE_MICRO_STEP);
      policy_add_collective (&unit.routes[ROUTE_REDUCE], COLLECTIVE_REDUCE_SCATTER, "shard",
                             groups[kind].shard_group, reduce, CADENCE_MICRO_STEP);
      if (groups[kind].replica.size > 1)
        policy_add_collective (&unit.routes[ROUTE_REDUCE], COLLECTIVE_ALL_REDUCE, "replica",
                               groups[kind].replica, reduce, CADENCE_MICRO_STEP);
      policy->kinds[kind] = unit;
    }
}
