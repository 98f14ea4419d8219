#include "strategy/replicated.h"

static guint64
parameters_of (const PlanInput *in)
{
  return workload_n_parameters (in->workload);
}

/* The part of the optimizer that a rank owns: whole tensors are not respected, the flat buffer is cut evenly. */
static guint64
owned (const PlanInput *in, gboolean sharded)
{
  guint m = sharded ? in->mesh.n_ranks : 1;

  return padded_flat (parameters_of (in), m) / m;
}

void
replicated_init (StrategyRun *run)
{
  ReplicatedState         *s = run->state;
  const ReplicatedOptions *o = run->options;
  StateBytes               bytes = state_bytes (workload_training (run->in->workload));
  guint64                  parameters = parameters_of (run->in);
  guint                    master = bytes.compute < bytes.master ? bytes.master : 0;

  s->stream = o->overlap_comm ? schedule_stream (run->b, "reduce", 0) : SCHEDULE_COMPUTE;
  s->comm = schedule_comm (run->b, "data", mesh_all (&run->in->mesh));
  schedule_alloc (run->b, TIER_HBM, POOL_PARAMETER, parameters * bytes.compute, "parameters");
  schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, parameters * bytes.compute, "gradients");
  schedule_alloc (run->b, TIER_HBM, POOL_OPTIMIZER,
                  owned (run->in, s->sharded_optimizer) * (master + bytes.moments),
                  "optimizer state");
}

/* A cast of BUCKET elements between the gradients' precision and the reduction's. */
static void
cast_bucket (StrategyRun *run, const char *name, guint from, guint to, BufferRef wide)
{
  const ReplicatedState *s = run->state;

  emit_stream_kernel (run->b, s->stream, KERNEL_COPY, name, DTYPE_FP32, (double) s->bucket * from,
                      (double) s->bucket * to);
  schedule_uses (run->b, wide);
}

static void
reduce_bucket (StrategyRun *run)
{
  ReplicatedState       *s = run->state;
  const TrainingOptions *training = workload_training (run->in->workload);
  guint                  compute = state_bytes (training).compute, reduce = reduce_bytes (training);
  BufferRef              cast = SCHEDULE_NONE;

  if (s->bucket == 0)
    return;
  if (s->stream != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  if (reduce != compute)
    {
      cast = schedule_alloc (run->b, TIER_HBM, POOL_COMMUNICATION, s->bucket * reduce,
                             "bucket in the reduction's precision");
      cast_bucket (run, "gradient_cast", compute, reduce, cast);
    }
  if (s->reduce == REDUCE_ALL)
    schedule_all_reduce (run->b, s->stream, s->comm, s->bucket * reduce, "all_reduce");
  else
    schedule_reduce_scatter (run->b, s->stream, s->comm, s->bucket * reduce, "reduce_scatter");
  if (cast != SCHEDULE_NONE)
    {
      cast_bucket (run, "gradient_cast_back", reduce, compute, cast);
      if (s->stream == SCHEDULE_COMPUTE)
        schedule_free (run->b, cast);
      else
        schedule_free_after (run->b, cast, schedule_record (run->b, s->stream));
    }
  s->bucket = 0;
}

void
replicated_backward_end (StrategyRun *run, const UnitSlot *slot)
{
  ReplicatedState         *s = run->state;
  const ReplicatedOptions *o = run->options;
  guint                    compute = state_bytes (workload_training (run->in->workload)).compute;
  double                   bytes = (double) slot->plan->own_elements * compute;

  if (!slot->first_micro && slot->plan->own_elements > 0)
    emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "gradient_add", DTYPE_BF16,
                        2 * bytes, bytes);
  if (!slot->last_micro)
    return;
  s->bucket += slot->plan->own_elements;
  if ((double) s->bucket * compute >= o->bucket_bytes)
    reduce_bucket (run);
}

void
replicated_micro_step_end (StrategyRun *run)
{
  ReplicatedState *s = run->state;

  reduce_bucket (run);
  if (s->stream != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->stream);
}

void
replicated_step_end (StrategyRun *run)
{
  ReplicatedState *s = run->state;
  StateBytes       bytes = state_bytes (workload_training (run->in->workload));
  guint64          part = owned (run->in, s->sharded_optimizer);

  emit_optimizer (run, s->sharded_optimizer ? mesh_all (&run->in->mesh) : (MeshGroup){ 1, 1 }, part,
                  bytes.compute, bytes.compute < bytes.master ? bytes.compute : 0);
  if (s->sharded_optimizer)
    schedule_all_gather (run->b, SCHEDULE_COMPUTE, s->comm,
                         part * run->in->mesh.n_ranks * bytes.compute, "all_gather_updated");
}

guint64
replicated_resident (const PlanInput *in, gconstpointer opt)
{
  (void) opt;
  return parameters_of (in);
}

/*
 * 2 W on the wire of an all-reduce, or W + W for reduce-scatter and all-gather; 16 bytes a parameter, or 4 + 12 / R with a sharded
 * optimizer (Rajbhandari et al., arXiv:1910.02054, 3.1 and 7).
 */
gboolean
replicated_expect (const PlanInput *in, gconstpointer opt, ReplicatedReduce reduce,
                   gboolean sharded_optimizer, PlanTotals *totals)
{
  const ReplicatedOptions *o = opt;
  const TrainingOptions   *training = workload_training (in->workload);
  StateBytes               bytes = state_bytes (training);
  guint                    wire = reduce_bytes (training);
  guint                    master = bytes.compute < bytes.master ? bytes.master : 0;
  MeshGroup                all = mesh_all (&in->mesh);
  ActivationBounds         activations = activation_bounds (in->workload);
  double                   parameters = (double) parameters_of (in);
  double                   part = (double) owned (in, sharded_optimizer);
  double states = 2.0 * parameters * bytes.compute + part * (master + bytes.moments);
  /* A bucket closes with the module that fills it. */
  double bucket = o->bucket_bytes + (double) largest_unit (in->workload, UNIT_MODULE);

  plan_totals_add (totals, reduce == REDUCE_ALL ? SCHEDULE_ALL_REDUCE : SCHEDULE_REDUCE_SCATTER,
                   all, parameters * wire);
  if (sharded_optimizer)
    plan_totals_add (totals, SCHEDULE_ALL_GATHER, all, part * in->mesh.n_ranks * bytes.compute);
  expect_optimizer (in, sharded_optimizer ? all : (MeshGroup){ 1, 1 }, totals);
  totals->flops += expected_flops (in);
  totals->states += states;
  totals->hbm_low += states + activations.kept + activations.low;
  totals->hbm_high += states + activations.kept + activations.high
                      + (wire == bytes.compute ? 0 : wire * MIN (parameters, bucket));
  return TRUE;
}
