#include "strategy/emit/common.h"

#include "driver/matrix/matrix-plan.h"
#include "strategy/emit/route.h"

guint
master_values (const TrainingOptions *training)
{
  return training->optimizer != OPTIMIZER_NONE && training_has_master (training);
}

PolicyState
optimizer_state (const TrainingOptions *training, MeshGroup group, gboolean copies)
{
  guint moments = optimizer_moments (training), copy = copies ? master_values (training) : 0;
  Dtype master = training_master_dtype (training);
  Dtype dtype = moments > 0 ? optimizer_moment_dtype (training) : master;

  /* a copy of the weights takes as many values of the moments' type as hold its bits */
  return (PolicyState){ group, dtype, moments + copy * dtype_bits (master) / dtype_bits (dtype),
                        PLACE_HBM };
}

Dtype
reduce_dtype (const TrainingOptions *training)
{
  return training->reduce_dtype == REDUCE_AUTO ? training_compute_dtype (training)
                                               : (Dtype) training->reduce_dtype;
}

guint
compute_bytes (const Policy *policy)
{
  return dtype_bytes (policy->compute);
}

guint
element_bytes (const StrategyRun *run, PolicyStateKind state)
{
  return policy_state_bytes (&run->policy->kinds[0].states[state]);
}

Dtype
reduced_dtype (const StrategyRun *run)
{
  return run->policy->kinds[0].routes[ROUTE_REDUCE].hops[0].dtype;
}

guint
reduced_bytes (const StrategyRun *run)
{
  return dtype_bytes (reduced_dtype (run));
}

/* What the shards of frozen units take less, where they rest encoded. */
static guint64
frozen_saving (const StrategyRun *run)
{
  guint64 sum = 0;

  for (guint u = 0; u < run->n_units; u++)
    {
      const PlanUnit    *unit = &run->units[u];
      const UnitPolicy  *kind = &run->policy->kinds[unit->expert ? 1 : 0];
      const PolicyState *state = &kind->states[STATE_PARAMETERS];
      Payload            plain = { run->shares[u].padded / state->group.size, state->dtype, NULL };
      Payload            encoded = plain;

      encoded.codec = policy_frozen_codec (kind);
      if (encoded.codec != NULL && unit->own_elements > 0 && unit->trainable_elements == 0)
        sum += payload_bytes (plain) - payload_bytes (encoded);
    }
  return sum;
}

guint64
kept_beside (const StrategyRun *run)
{
  guint64 sum = 0;

  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    sum += matrix_plan_kept (run->matrices[kind], run->in, &run->policy->kinds[kind], run->units,
                             run->n_units, kind);
  return sum;
}

guint64
narrow_trainable (const PlanUnit *unit)
{
  guint64 sum = 0;

  for (guint t = 0; t < unit->n_trainable; t++)
    sum += unit->trainable[t].narrow ? unit->trainable[t].elements : 0;
  return sum;
}

guint64
held_bytes (const StrategyRun *run, PolicyStateKind state)
{
  guint64 sum = 0;

  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    sum += strategy_share_of (run, kind, state)
           * policy_state_bytes (&run->policy->kinds[kind].states[state]);
  sum += state == STATE_OPTIMIZER ? kept_beside (run) : 0;
  return state == STATE_PARAMETERS ? sum - frozen_saving (run) : sum;
}

guint64
paged_bytes (const StrategyRun *run)
{
  const TrainingOptions *training = workload_training (run->in->workload);
  guint64                sum = 0;

  for (guint u = 0; u < run->n_units && !run->in->pages_stay; u++)
    for (guint t = 0; t < run->units[u].n_trainable; t++)
      sum += optimizer_paged_bytes (
          training, &run->units[u].trainable[t],
          run->policy->kinds[run->units[u].expert ? 1 : 0].states[STATE_OPTIMIZER].group.size);
  return sum;
}

void
hold_optimizer (StrategyRun *run)
{
  guint64 paged = paged_bytes (run);

  schedule_alloc (run->b, run->policy->kinds[0].states[STATE_OPTIMIZER].home, POOL_OPTIMIZER,
                  held_bytes (run, STATE_OPTIMIZER) - paged, "optimizer state");
  if (paged > 0)
    schedule_alloc (run->b, PLACE_PINNED, POOL_OPTIMIZER, paged, "paged optimizer state");
}

guint64
pinned_rounding (const StrategyRun *run, guint64 bytes)
{
  guint64 block = 1;

  if (!run->policy->host_copies || bytes == 0)
    return 0;
  while (block < bytes)
    block *= 2;
  return block - bytes;
}

void
emit_stream_kernel (ScheduleBuilder *b, StreamRef stream, KernelKind kind, const char *name,
                    Dtype dtype, double read, double write)
{
  KernelDesc kernel = kernel_desc_stream (kind, name, dtype, read, write, 1);

  schedule_kernel (b, stream, &kernel);
}

typedef struct
{
  const char *name;
  MeshGroup   group;
} NormGroup;

void
emit_norm (StrategyRun *run, MeshGroup norm, StreamRef stream, Transport transport)
{
  NormGroup groups[5];
  guint     n = 0;

  /*
   * These groups' ranks hold different parts of the gradient. Experts that nobody shards differ
   * within their group, and within the ranks that divide them where those are not the tensor ranks.
   */
  groups[n++] = (NormGroup){ "norm", norm };
  if (norm.size == 1)
    groups[n++] = (NormGroup){ "norm_expert", mesh_experts (&run->in->mesh) };
  if (norm.size == 1 && run->in->mesh.expert_tensor > 0)
    groups[n++] = (NormGroup){ "norm_expert_tensor", mesh_expert_tensor (&run->in->mesh) };
  groups[n++] = (NormGroup){ "norm_tensor", mesh_tensor (&run->in->mesh) };
  groups[n++] = (NormGroup){ "norm_stages", mesh_stages (&run->in->mesh) };
  for (guint i = 0; i < n; i++)
    {
      CommRef comm;

      if (groups[i].group.size == 1)
        continue;
      comm = transport == TRANSPORT_HOST
                 ? schedule_host_comm (run->b, groups[i].name, groups[i].group)
                 : schedule_comm (run->b, groups[i].name, groups[i].group);
      schedule_all_reduce (run->b, stream, comm, payload_plain (1, DTYPE_FP32), "gradient_norm");
    }
}
