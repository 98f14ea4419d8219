#include "strategy/replicated.h"

const char *const replicated_gradient_choices[] = { "auto", "fp32", "fp32-beside", NULL };

static guint64
parameters_of (const PlanInput *in)
{
  return workload_n_parameters (in->workload);
}

static guint64
parameters_of_kind (const PlanInput *in, guint kind)
{
  return model_padded (in->workload, padded_each, kind, 1);
}

/* The ranks that hold the same units of KIND. */
static MeshGroup
group_of (const PlanInput *in, guint kind)
{
  Mesh of = mesh_of_experts (&in->mesh);

  return mesh_all (kind == 1 ? &of : &in->mesh);
}

static gboolean
keeps_fp32 (const PlanInput *in, const ReplicatedOptions *o)
{
  return o->gradient_dtype != GRADIENT_AUTO
         && training_compute_bytes (workload_training (in->workload)) < 4;
}

/* Bytes of the gradients as computed that stay beside the others. */
static guint64
computed_bytes (const PlanInput *in, const ReplicatedOptions *o)
{
  return keeps_fp32 (in, o) && o->gradient_dtype == GRADIENT_FP32_BESIDE
             ? parameters_of (in) * training_compute_bytes (workload_training (in->workload))
             : 0;
}

static guint
gradient_bytes (const PlanInput *in, const ReplicatedOptions *o)
{
  return keeps_fp32 (in, o) ? 4 : training_compute_bytes (workload_training (in->workload));
}

static guint
wire_bytes (const PlanInput *in, const ReplicatedOptions *o)
{
  const TrainingOptions *training = workload_training (in->workload);

  return training->reduce_dtype == DTYPE_N ? gradient_bytes (in, o) : reduce_bytes (training);
}

/*
 * The part of the optimizer that a rank owns of each kind of unit: whole tensors are not respected,
 * the flat buffer is cut evenly.
 */
static guint64
owned_of_kind (const PlanInput *in, gboolean sharded, guint kind)
{
  guint m = sharded ? group_of (in, kind).size : 1;

  return padded_flat (parameters_of_kind (in, kind), m) / m;
}

static guint64
owned (const PlanInput *in, gboolean sharded)
{
  return owned_of_kind (in, sharded, 0)
         + (in->mesh.experts > 1 ? owned_of_kind (in, sharded, 1) : 0);
}

void
replicated_init (StrategyRun *run)
{
  ReplicatedState         *s = run->state;
  const ReplicatedOptions *o = run->options;
  StateBytes               bytes = state_bytes (workload_training (run->in->workload));
  guint64                  parameters = parameters_of (run->in);
  guint                    master = master_copy_bytes (workload_training (run->in->workload));

  s->stream = o->overlap_comm ? schedule_stream (run->b, "reduce", 0) : SCHEDULE_COMPUTE;
  s->computed = SCHEDULE_NONE;
  for (guint kind = 0; kind < (run->in->mesh.experts > 1 ? 2 : 1); kind++)
    s->comm[kind] = unit_comm (run->b, "data", kind, group_of (run->in, kind));
  for (guint kind = 0; kind < G_N_ELEMENTS (s->waiting); kind++)
    s->waiting[kind] = g_array_new (FALSE, FALSE, sizeof (guint));
  s->parameters =
      schedule_alloc (run->b, TIER_HBM, POOL_PARAMETER, parameters * bytes.compute, "parameters");
  s->gradients = schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT,
                                 parameters * gradient_bytes (run->in, o), "gradients");
  s->all_computed = schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, computed_bytes (run->in, o),
                                    "gradients as computed");
  schedule_alloc (run->b, TIER_HBM, POOL_OPTIMIZER,
                  owned (run->in, s->sharded_optimizer) * (master + bytes.moments),
                  "optimizer state");
  strategy_data (run, SCHEDULE_NONE, UNIT_PARAMETERS, SCHEDULE_NONE, s->parameters);
  strategy_data (run, SCHEDULE_NONE, UNIT_GRADIENT, SCHEDULE_NONE,
                 s->all_computed != SCHEDULE_NONE ? s->all_computed : s->gradients);
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->gradients);
}

void
replicated_clear (StrategyRun *run)
{
  ReplicatedState *s = run->state;

  for (guint kind = 0; kind < G_N_ELEMENTS (s->waiting); kind++)
    g_clear_pointer (&s->waiting[kind], g_array_unref);
}

/* Main gradients are set to zero; others are overwritten by the first micro-step. */
void
replicated_step_begin (StrategyRun *run)
{
  const ReplicatedState *s = run->state;

  if (!keeps_fp32 (run->in, run->options))
    return;
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "gradient_zero", DTYPE_FP32, 0,
                      4.0 * (double) parameters_of (run->in));
  schedule_uses (run->b, s->gradients, SCHEDULE_WHOLE, ACCESS_WRITE);
}

/* The op emitted last touches the gradients that wait to be reduced. */
static void
use_waiting (StrategyRun *run, guint kind, ScheduleAccess access)
{
  const ReplicatedState *s = run->state;

  for (guint i = 0; i < s->waiting[kind]->len; i++)
    schedule_uses (run->b, s->gradients, g_array_index (s->waiting[kind], guint, i), access);
}

/* A cast of a bucket between the gradients' precision and the reduction's. */
static void
cast_bucket (StrategyRun *run, const char *name, guint kind, guint from, guint to, BufferRef cast,
             gboolean back)
{
  const ReplicatedState *s = run->state;

  emit_stream_kernel (run->b, s->stream, KERNEL_COPY, name, DTYPE_FP32,
                      (double) s->bucket[kind] * from, (double) s->bucket[kind] * to);
  use_waiting (run, kind, back ? ACCESS_WRITE : ACCESS_READ);
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, back ? ACCESS_READ : ACCESS_WRITE);
}

static void
reduce_bucket (StrategyRun *run, guint kind)
{
  ReplicatedState *s = run->state;
  guint            kept = gradient_bytes (run->in, run->options);
  guint            wire = wire_bytes (run->in, run->options);
  BufferRef        cast = SCHEDULE_NONE;

  if (s->bucket[kind] == 0)
    return;
  if (s->stream != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  if (wire != kept)
    {
      cast = schedule_alloc (run->b, TIER_HBM, POOL_COMMUNICATION, s->bucket[kind] * wire,
                             "bucket in the reduction's precision");
      cast_bucket (run, "gradient_cast", kind, kept, wire, cast, FALSE);
    }
  if (s->reduce == REDUCE_ALL)
    schedule_all_reduce (run->b, s->stream, s->comm[kind], s->bucket[kind] * wire, "all_reduce");
  else
    schedule_reduce_scatter (run->b, s->stream, s->comm[kind], s->bucket[kind] * wire,
                             "reduce_scatter");
  if (cast != SCHEDULE_NONE)
    schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  else
    use_waiting (run, kind, ACCESS_READ_WRITE);
  if (cast != SCHEDULE_NONE)
    {
      cast_bucket (run, "gradient_cast_back", kind, wire, kept, cast, TRUE);
      if (s->stream == SCHEDULE_COMPUTE)
        schedule_free (run->b, cast);
      else
        schedule_free_after (run->b, cast, schedule_record (run->b, s->stream));
    }
  s->bucket[kind] = 0;
}

void
replicated_backward_begin (StrategyRun *run, const UnitSlot *slot)
{
  ReplicatedState *s = run->state;
  guint            compute = state_bytes (workload_training (run->in->workload)).compute;

  if (slot->part == BACKWARD_INPUTS || !keeps_fp32 (run->in, run->options)
      || s->all_computed != SCHEDULE_NONE)
    return;
  s->computed = schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, slot->plan->own_elements * compute,
                                "computed gradient");
  strategy_data (run, slot->unit, UNIT_GRADIENT, s->computed, SCHEDULE_NONE);
}

static void
add_gradient (StrategyRun *run, const UnitSlot *slot)
{
  ReplicatedState *s = run->state;
  guint            compute = state_bytes (workload_training (run->in->workload)).compute;
  double           elements = (double) slot->plan->own_elements;

  if (keeps_fp32 (run->in, run->options))
    {
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "gradient_add", DTYPE_FP32,
                          elements * (4 + compute), elements * 4);
      strategy_uses (run, slot->unit, UNIT_GRADIENT, ACCESS_READ);
      schedule_uses (run->b, s->gradients, slot->unit, ACCESS_READ_WRITE);
      schedule_free (run->b, s->computed);
      s->computed = SCHEDULE_NONE;
    }
  else if (!slot->first_micro)
    {
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "gradient_add", DTYPE_BF16,
                          2 * elements * compute, elements * compute);
      schedule_uses (run->b, s->gradients, slot->unit, ACCESS_READ_WRITE);
    }
}

/*
 * Beside other stages nothing is reduced among the backward passes unless it overlaps them
 * (DeepSpeed's and Megatron-LM's pipelines).
 */
static gboolean
waits_for_the_end (const StrategyRun *run)
{
  return run->pipelined && !((const ReplicatedOptions *) run->options)->overlap_comm;
}

void
replicated_backward_end (StrategyRun *run, const UnitSlot *slot)
{
  ReplicatedState         *s = run->state;
  const ReplicatedOptions *o = run->options;
  guint                    kind = slot->plan->expert;

  if (slot->part == BACKWARD_INPUTS)
    return;
  if (slot->plan->own_elements > 0)
    add_gradient (run, slot);
  if (!slot->last_micro)
    return;
  if (slot->plan->own_elements > 0)
    g_array_append_val (s->waiting[kind], slot->unit);
  s->bucket[kind] += slot->plan->own_elements;
  if ((double) s->bucket[kind] * gradient_bytes (run->in, o) >= o->bucket_bytes
      && !waits_for_the_end (run))
    {
      reduce_bucket (run, kind);
      g_array_set_size (s->waiting[kind], 0);
    }
}

/*
 * All that waits, a bucket at a time; one holds a module at least, as buckets that fill up among
 * the backward passes do.
 */
static void
reduce_all (StrategyRun *run, guint kind)
{
  ReplicatedState         *s = run->state;
  const ReplicatedOptions *o = run->options;
  guint64                  left = s->bucket[kind];
  guint64                  most = MAX ((guint64) (o->bucket_bytes / gradient_bytes (run->in, o)),
                                       largest_unit (run->in->workload, UNIT_MODULE));

  while (left > 0)
    {
      s->bucket[kind] = waits_for_the_end (run) ? MIN (left, most) : left;
      left -= s->bucket[kind];
      reduce_bucket (run, kind);
    }
  g_array_set_size (s->waiting[kind], 0);
}

void
replicated_micro_step_end (StrategyRun *run)
{
  ReplicatedState *s = run->state;

  if (run->pipelined && !run->last_backward)
    return;
  reduce_all (run, 0);
  if (run->in->mesh.experts > 1)
    reduce_all (run, 1);
  if (s->stream != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->stream);
}

void
replicated_step_end (StrategyRun *run)
{
  ReplicatedState *s = run->state;
  StateBytes       bytes = state_bytes (workload_training (run->in->workload));
  gboolean         sharded = s->sharded_optimizer;

  emit_optimizer (run, sharded ? mesh_all (&run->in->mesh) : (MeshGroup){ 1, 1 },
                  owned (run->in, sharded), gradient_bytes (run->in, run->options),
                  bytes.compute < bytes.master ? bytes.compute : 0);
  for (guint kind = 0; sharded && kind < (run->in->mesh.experts > 1 ? 2 : 1); kind++)
    {
      schedule_all_gather (
          run->b, SCHEDULE_COMPUTE, s->comm[kind],
          owned_of_kind (run->in, TRUE, kind) * group_of (run->in, kind).size * bytes.compute,
          "all_gather_updated");
      schedule_uses (run->b, s->parameters, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
    }
}

guint64
replicated_resident (const PlanInput *in, gconstpointer opt)
{
  (void) opt;
  return parameters_of (in);
}

/* A reduce-scatter leaves a rank its part; an all-reduce all. */
PlanGradient
replicated_gradient (const PlanInput *in, gconstpointer opt)
{
  return (PlanGradient){ gradient_bytes (in, opt), 1 };
}

/*
 * 2 W on the wire of an all-reduce, or W + W for reduce-scatter and all-gather; 16 bytes a
 * parameter, or 4 + 12 / R with a sharded optimizer (Rajbhandari et al., arXiv:1910.02054, 3.1 and
 * 7); 2 more for fp32 gradients.
 */
gboolean
replicated_expect (const PlanInput *in, gconstpointer opt, ReplicatedReduce reduce,
                   gboolean sharded_optimizer, PlanTotals *totals)
{
  const ReplicatedOptions *o = opt;
  StateBytes               bytes = state_bytes (workload_training (in->workload));
  guint                    wire = wire_bytes (in, o), kept = gradient_bytes (in, o);
  guint                    master = master_copy_bytes (workload_training (in->workload));
  ActivationBounds         activations = activation_bounds (in->workload);
  double                   parameters = (double) parameters_of (in);
  double                   part = (double) owned (in, sharded_optimizer);
  double                   computed = (double) computed_bytes (in, o);
  double states = parameters * (bytes.compute + kept) + computed + part * (master + bytes.moments);
  /* A bucket closes with the module that fills it. */
  double unit = (double) largest_unit (in->workload, UNIT_MODULE), bucket = o->bucket_bytes + unit;

  for (guint kind = 0; kind < (in->mesh.experts > 1 ? 2 : 1); kind++)
    {
      plan_totals_add (totals,
                       reduce == REDUCE_ALL ? COLLECTIVE_ALL_REDUCE : COLLECTIVE_REDUCE_SCATTER,
                       group_of (in, kind), (double) parameters_of_kind (in, kind) * wire);
      if (sharded_optimizer)
        plan_totals_add (
            totals, COLLECTIVE_ALL_GATHER, group_of (in, kind),
            (double) owned_of_kind (in, TRUE, kind) * group_of (in, kind).size * bytes.compute);
    }
  expect_optimizer (in, sharded_optimizer ? mesh_all (&in->mesh) : (MeshGroup){ 1, 1 }, totals);
  totals->flops += expected_flops (in);
  totals->states += states;
  totals->hbm_low += states + activations.kept + activations.low;
  totals->hbm_high += states + activations.kept + activations.high
                      + (wire == kept ? 0 : 2 * wire * MIN (parameters, bucket))
                      + (keeps_fp32 (in, o) && computed == 0 ? unit * bytes.compute : 0);
  return TRUE;
}
