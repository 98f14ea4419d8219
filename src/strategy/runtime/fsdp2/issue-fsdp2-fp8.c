/*
 * torchao's weights under fully_shard (enable_fsdp_float8_all_gather): a rank casts its shard,
 * which is gathered as a byte an element; what else a unit has comes in 16 bits, in the same
 * all-gather (of bytes, where types are mixed). A weight has one scale, so the largest value is one
 * of all shards: searched weight by weight in each gathering or, precomputed, of all at once behind
 * the update. Nothing of it is compiled. Sources: torchao/float8/fsdp_utils.py
 * (fsdp_pre_all_gather, precompute_float8_dynamic_scale_for_fsdp), float8_utils.py
 * (tensor_to_scale, to_fp8_saturated); torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py.
 */
#include "strategy/emit/common.h"
#include "strategy/runtime/fsdp2/issue-fsdp2-private.h"

static gint
gather_of (const StrategyRun *run)
{
  return workload_training (run->in->workload)->fp8_gather;
}

guint64
fsdp2_narrow_elements (const StrategyRun *run, guint unit)
{
  const UnitPolicy *policy = run->shares[unit].policy;

  if (gather_of (run) == FP8_GATHER_NONE)
    return 0;
  return run->units[unit].narrow / policy->states[STATE_PARAMETERS].group.size;
}

guint64
fsdp2_gathered_bytes (const StrategyRun *run, guint unit)
{
  guint   compute = compute_bytes (run->policy);
  guint64 ranks = run->shares[unit].policy->states[STATE_PARAMETERS].group.size;

  return run->shares[unit].padded * compute
         - fsdp2_narrow_elements (run, unit) * ranks * (compute - 1);
}

/* The largest of N values of all shards of units of KIND. */
static void
reduce_scales (StrategyRun *run, guint kind, StreamRef stream, guint64 n)
{
  static const char *const names[] = { "scales", "scales of experts" };
  MeshGroup                group = run->policy->kinds[kind].states[STATE_PARAMETERS].group;

  if (group.size > 1)
    schedule_all_reduce (run->b, stream, schedule_comm (run->b, names[kind], group),
                         payload_plain (n, DTYPE_FP32), "amax");
}

/* Absolute values, their largest; then, of all ranks, three kernels make a factor of it. */
static void
search_scales (StrategyRun *run, guint unit, BufferRef staged)
{
  const Fsdp2State *s = run->state;
  guint             n = run->units[unit].n_narrow;
  const double      bytes =
      (double) fsdp2_narrow_elements (run, unit) * element_bytes (run, STATE_PARAMETERS);
  KernelDesc amax =
      kernel_desc_stream (KERNEL_REDUCTION, "amax", DTYPE_FP32, 2 * bytes, bytes, 2 * n);
  KernelDesc scale = kernel_desc_stream (KERNEL_ELEMENTWISE, "scale", DTYPE_FP32, 4, 4, 3);

  schedule_kernel (run->b, s->copy_in, &amax);
  fsdp2_read_shard (run, unit, staged);
  for (guint t = 0; t < n; t++)
    {
      reduce_scales (run, run->units[unit].expert, s->copy_in, 1);
      schedule_kernel (run->b, s->copy_in, &scale);
    }
}

/* Scaled, clamped and cast by kernels of their own, weight by weight. */
BufferRef
fsdp2_cast_shard (StrategyRun *run, guint unit, BufferRef staged)
{
  const Fsdp2State *s = run->state;
  const double      n = (double) fsdp2_narrow_elements (run, unit);
  const double      master = element_bytes (run, STATE_PARAMETERS);
  KernelDesc cast = kernel_desc_stream (KERNEL_ELEMENTWISE, "cast_fp8", DTYPE_FP32, n * 3 * master,
                                        n * (2 * master + 1), 3 * run->units[unit].n_narrow);
  BufferRef  made;

  if (n == 0)
    return SCHEDULE_NONE;
  if (gather_of (run) == FP8_GATHER_SEARCHED)
    search_scales (run, unit, staged);
  made =
      schedule_alloc_on (run->b, s->copy_in, PLACE_HBM, POOL_GATHERED, (guint64) n, "shard in fp8");
  schedule_kernel (run->b, s->copy_in, &cast);
  fsdp2_read_shard (run, unit, staged);
  schedule_uses (run->b, made, SCHEDULE_WHOLE, ACCESS_WRITE);
  return made;
}

/* One list of norms, one all-reduce of as many values as there are weights, their factors. */
void
fsdp2_precompute_scales (StrategyRun *run)
{
  const Fsdp2State *s = run->state;
  guint64           elements[2] = { 0 }, n[2] = { 0 };

  for (guint u = 0; u < run->n_units && gather_of (run) == FP8_GATHER_PRECOMPUTED; u++)
    {
      elements[run->units[u].expert] += fsdp2_narrow_elements (run, u);
      n[run->units[u].expert] += run->units[u].n_narrow;
    }
  for (guint kind = 0; kind < MIN (run->policy->n_kinds, G_N_ELEMENTS (n)); kind++)
    {
      KernelDesc norms = kernel_desc_stream (
          KERNEL_REDUCTION, "amax", DTYPE_FP32,
          (double) elements[kind] * element_bytes (run, STATE_PARAMETERS), 4 * (double) n[kind], 2);
      KernelDesc scales = kernel_desc_stream (KERNEL_ELEMENTWISE, "scale", DTYPE_FP32,
                                              4 * (double) n[kind], 4 * (double) n[kind], 3);

      if (elements[kind] == 0)
        continue;
      schedule_kernel (run->b, SCHEDULE_COMPUTE, &norms);
      for (guint u = 0; u < run->n_units; u++)
        if (plan_unit_is (&run->units[u], kind) && run->units[u].narrow > 0)
          schedule_uses (run->b, s->shards, u, ACCESS_READ);
      reduce_scales (run, kind, SCHEDULE_COMPUTE, n[kind]);
      schedule_kernel (run->b, SCHEDULE_COMPUTE, &scales);
    }
}
