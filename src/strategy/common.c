#include "strategy/common.h"

#include "strategy/route.h"

guint
moment_values (const TrainingOptions *training)
{
  return training->optimizer == OPTIMIZER_SGD || training->optimizer == OPTIMIZER_NONE ? 0 : 2;
}

guint
master_values (const TrainingOptions *training)
{
  return training->optimizer != OPTIMIZER_NONE && training_has_master (training);
}

PolicyState
optimizer_state (const TrainingOptions *training, MeshGroup group, gboolean copies)
{
  guint moments = moment_values (training), copy = copies ? master_values (training) : 0;
  Dtype master = training_master_dtype (training);
  Dtype dtype = moments > 0 ? training_moment_dtype (training) : master;

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
held_bytes (const StrategyRun *run, PolicyStateKind state)
{
  guint64 sum = 0;

  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    sum += strategy_share_of (run, kind, state)
           * policy_state_bytes (&run->policy->kinds[kind].states[state]);
  return state == STATE_PARAMETERS ? sum - frozen_saving (run) : sum;
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

/*
 * Groups whose ranks hold different parts of the gradient. Experts that nobody shards differ within
 * their group, and within the ranks that divide them where those are not the tensor ranks.
 */
static guint
norm_groups (const Mesh *mesh, MeshGroup norm, NormGroup groups[5])
{
  guint n = 0;

  groups[n++] = (NormGroup){ "norm", norm };
  if (norm.size == 1)
    groups[n++] = (NormGroup){ "norm_expert", mesh_experts (mesh) };
  if (norm.size == 1 && mesh->expert_tensor > 0)
    groups[n++] = (NormGroup){ "norm_expert_tensor", mesh_expert_tensor (mesh) };
  groups[n++] = (NormGroup){ "norm_tensor", mesh_tensor (mesh) };
  groups[n++] = (NormGroup){ "norm_stages", mesh_stages (mesh) };
  return n;
}

void
emit_norm (StrategyRun *run, MeshGroup norm, StreamRef stream, Transport transport)
{
  NormGroup groups[5];
  guint     n = norm_groups (&run->in->mesh, norm, groups);

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

static void
use_reduced (StrategyRun *run, ScheduleAccess access)
{
  for (guint u = 0; u < run->n_units; u++)
    if (run->units[u].trainable_elements > 0)
      strategy_uses (run, u, UNIT_REDUCED, access);
}

/*
 * BYTES for each of ELEMENTS, tensor by tensor: as many blocks as a framework's lists have. Adds
 * the buffers to TAKEN.
 */
static void
take_lists (StrategyRun *run, guint64 elements, guint bytes, PoolCategory category,
            const char *label, GArray *taken)
{
  double  all = 0, at = 0;
  guint64 had = 0;

  for (guint u = 0; u < run->n_units; u++)
    all += (double) run->shares[u].updated;
  for (guint u = 0; u < run->n_units; u++)
    for (guint t = 0; t < run->units[u].n_trainable; t++)
      {
        double  of = (double) run->units[u].trainable[t].elements;
        guint64 end;

        at += (double) run->shares[u].updated * of / (double) run->units[u].trainable_elements;
        end = (guint64) (at / all * (double) elements + 0.5);
        if (end > had)
          {
            BufferRef buffer =
                schedule_alloc (run->b, PLACE_HBM, category, (end - had) * bytes, label);

            g_array_append_val (taken, buffer);
            had = end;
          }
      }
}

/* What the update of ELEMENTS holds beside the states. */
static void
take_temporaries (StrategyRun *run, guint64 elements, guint gradient_bytes, GArray *taken)
{
  OptimizerTemporaries bytes =
      workload_optimizer_temporaries (workload_training (run->in->workload), gradient_bytes);

  if (bytes.gradients > 0)
    take_lists (run, elements, bytes.gradients, POOL_GRADIENT, "gradients for the update", taken);
  if (bytes.denominators > 0)
    take_lists (run, elements, bytes.denominators, POOL_WORKSPACE, "denominators of AdamW", taken);
}

void
emit_optimizer (StrategyRun *run, MeshGroup norm, guint64 elements, guint gradient_bytes,
                guint parameter_bytes)
{
  const TrainingOptions *training = workload_training (run->in->workload);
  g_autoptr (GArray)     kernels = g_array_new (FALSE, FALSE, sizeof (KernelDesc));
  g_autoptr (GArray)     taken = g_array_new (FALSE, FALSE, sizeof (BufferRef));

  take_temporaries (run, elements, gradient_bytes, taken);
  workload_optimizer_kernels (training, elements, dtype_bytes (training_master_dtype (training)),
                              gradient_bytes, parameter_bytes, kernels);
  if (kernels->len == 0) /* who trains without an optimizer has the gradients: a copy of nothing */
    {
      schedule_move (run->b, SCHEDULE_COMPUTE, PLACE_HBM, PLACE_PINNED, 0, NULL);
      use_reduced (run, ACCESS_READ);
    }
  for (guint i = 0; i < kernels->len; i++)
    {
      schedule_kernel (run->b, SCHEDULE_COMPUTE, &g_array_index (kernels, KernelDesc, i));
      use_reduced (run, ACCESS_READ_WRITE);
      if (i + 1 == kernels->len)
        {
          schedule_uses_kept (run->b, PLACE_HBM, POOL_PARAMETER, ACCESS_READ_WRITE);
          schedule_uses_kept (run->b, PLACE_HBM, POOL_OPTIMIZER, ACCESS_READ_WRITE);
        }
      /* A clipped step's first kernel is the local norm; its square is summed over the parts. */
      if (i == 0 && training->clip_gradients && norm.size > 0)
        emit_norm (run, norm, SCHEDULE_COMPUTE, TRANSPORT_GPU);
    }
  for (guint i = 0; i < taken->len; i++)
    schedule_free (run->b, g_array_index (taken, BufferRef, i));
}

/* Each owner of whole tensors sends what it has updated to all others, one after another. */
static void
broadcast_updated (StrategyRun *run, guint kind, BufferRef parameters)
{
  const PolicyHop    *hop = &run->policy->kinds[kind].routes[ROUTE_UPDATE].hops[0];
  g_autofree guint64 *owned = g_new (guint64, hop->group.size);

  strategy_owned (run, kind, owned);
  for (guint owner = 0; owner < hop->group.size; owner++)
    {
      if (owned[owner] == 0)
        continue;
      schedule_collective (run->b, SCHEDULE_COMPUTE, strategy_comm (run, kind, ROUTE_UPDATE, 0),
                           COLLECTIVE_BROADCAST, payload_plain (owned[owner], hop->dtype),
                           hop->label);
      schedule_uses (run->b, parameters, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
    }
}

void
emit_gather_updated (StrategyRun *run, BufferRef parameters)
{
  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    {
      const PolicyRoute *route = &run->policy->kinds[kind].routes[ROUTE_UPDATE];

      if (run->policy->kinds[kind].format->owned != NULL && route->n > 0)
        {
          broadcast_updated (run, kind, parameters);
          continue;
        }
      emit_route (run, &(RouteWalk){ .kind = kind,
                                     .route = ROUTE_UPDATE,
                                     .first = policy_next (route, 0, HOP_COLLECTIVE),
                                     .end = route->n,
                                     .last_micro = TRUE,
                                     .held = strategy_share_of (run, kind, STATE_OPTIMIZER),
                                     .collectives = SCHEDULE_COMPUTE,
                                     .from = route_whole (parameters),
                                     .to = route_whole (parameters),
                                     .passing = "updated parameters on their way" });
    }
}

void
emit_update (StrategyRun *run, BufferRef parameters)
{
  gboolean copies = training_has_master (workload_training (run->in->workload));

  emit_optimizer (run, run->policy->kinds[0].states[STATE_OPTIMIZER].group,
                  strategy_share (run, STATE_OPTIMIZER), element_bytes (run, STATE_GRADIENTS),
                  copies ? compute_bytes (run->policy) : 0);
  emit_gather_updated (run, parameters);
}
