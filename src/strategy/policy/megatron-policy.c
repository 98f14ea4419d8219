#include "strategy/emit/common.h"
#include "strategy/shards/format.h"
#include "strategy/shards/group.h"
#include "strategy/systems/megatron.h"

static UnitPolicy
policy_of (const PlanInput *in, const MegatronOptions *o, const ShardGroups *groups,
           gboolean outside)
{
  const TrainingOptions *training = workload_training (in->workload);
  const MeshGroup        one = { .size = 1, .stride = 1 }, shard = groups->shard_group;
  Dtype                  compute = training_compute_dtype (training);
  Dtype                  kept = o->reduce_in_fp32 ? DTYPE_FP32 : compute;
  const char            *gathers = o->own_gathering_group ? "shard all-gather" : "shard";
  UnitPolicy             kind = { .format = shard_format_find (shard_format_in_place[o->format]) };
  Dtype          wire = training->reduce_dtype == REDUCE_AUTO ? kept : reduce_dtype (training);
  PolicyRoute   *route = &kind.routes[ROUTE_REDUCE];
  PolicyCadence  cadence = o->sharding >= SHARD_GRADS ? CADENCE_MICRO_STEP : CADENCE_LAST;
  CollectiveKind reduces =
      o->sharding == SHARD_NOTHING ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_REDUCE_SCATTER;

  kind.states[STATE_PARAMETERS] =
      (PolicyState){ o->sharding >= SHARD_PARAMS ? shard : one, compute, 1, PLACE_HBM };
  kind.states[STATE_GRADIENTS] =
      (PolicyState){ o->sharding >= SHARD_GRADS ? shard : one, kept, 1, PLACE_HBM };
  kind.states[STATE_OPTIMIZER] =
      optimizer_state (training, o->sharding >= SHARD_OPTIM ? shard : one, TRUE);
  /*
   * Outside, the ranks of the shard group and of its replicas share the optimizer (HFSDP). Experts
   * without replicas go the same way, where it moves nothing.
   */
  policy_add_collective (route, reduces, "shard", groups->shard_group, wire, cadence);
  if (outside || groups->replica.size > 1)
    policy_add_collective (route, outside ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE,
                           "outer", groups->replica, wire, CADENCE_LAST);
  if (o->sharding >= SHARD_PARAMS)
    policy_add_collective (&kind.routes[ROUTE_GATHER], COLLECTIVE_ALL_GATHER, gathers, shard,
                           compute, CADENCE_MICRO_STEP);
  else if (o->sharding >= SHARD_OPTIM)
    policy_add_collective (&kind.routes[ROUTE_UPDATE], COLLECTIVE_ALL_GATHER, gathers, shard,
                           compute, CADENCE_LAST);
  if (outside)
    {
      kind.states[STATE_OPTIMIZER].group.size *= groups->replica.size;
      policy_add_collective (&kind.routes[ROUTE_UPDATE], COLLECTIVE_ALL_GATHER,
                             o->own_gathering_group ? "outer all-gather" : "outer", groups->replica,
                             compute, CADENCE_LAST);
    }
  return kind;
}

void
megatron_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const MegatronOptions *o = opt;
  ShardGroups            groups[2];

  unit_groups (&in->mesh, o->shard, groups, NULL);
  policy->n_kinds = mesh_parts_experts (&in->mesh) ? 2 : 1;
  policy->compute = training_compute_dtype (workload_training (in->workload));
  for (guint kind = 0; kind < policy->n_kinds; kind++)
    policy->kinds[kind] =
        policy_of (in, o, &groups[kind], o->outer == SHARD_OPTIM && groups[0].replica.size > 1);
  policy->issue = &o->issue;
  policy->fuses_gradients = o->issue.fused_gradients;
  compression_apply (in, &o->compression, policy);
}
