#include "strategy/emit/host-update.h"

#include "model/optimizer/optimizer.h"

static HostDesc
work_of (const StrategyRun *run, guint64 elements, guint copy_bytes)
{
  const TrainingOptions *training = workload_training (run->in->workload);
  guint                  master = dtype_bytes (training_master_dtype (training));
  guint  moments = optimizer_moments (training) * dtype_bytes (optimizer_moment_dtype (training));
  guint  gradient = policy_state_bytes (&run->policy->kinds[0].states[STATE_GRADIENTS]);
  double n = (double) elements;

  switch ((OptimizerKind) training->optimizer)
    {
    case OPTIMIZER_NONE:
      return host_desc_stream ("cpu_optimizer", 0, 0, 0);
    case OPTIMIZER_SGD: /* parameter and gradient, and the parameter back */
      return host_desc_stream ("cpu_sgd", elements, (master + gradient) * n,
                               (master + copy_bytes) * n);
    default:
      return host_desc_adam ("cpu_adam", elements, master + moments, gradient, copy_bytes);
    }
}

StreamRef
host_update_stream (StrategyRun *run)
{
  return schedule_stream (run->b, "cpu", 0);
}

gboolean
host_updates (const StrategyRun *run)
{
  return workload_training (run->in->workload)->optimizer != OPTIMIZER_NONE;
}

gboolean
host_update_clips (const StrategyRun *run)
{
  const TrainingOptions *training = workload_training (run->in->workload);

  return training->clip_gradients && host_updates (run);
}

void
emit_host_norm (StrategyRun *run, StreamRef stream, guint64 elements, guint gradient_bytes)
{
  HostDesc work =
      host_desc_stream ("cpu_grad_norm", elements, (double) elements * gradient_bytes, 0);

  schedule_host_op (run->b, stream, &work, TRUE);
}

void
emit_host_clip (StrategyRun *run, StreamRef stream, guint64 elements, guint gradient_bytes,
                gboolean blocks)
{
  double   bytes = (double) elements * gradient_bytes;
  HostDesc work = host_desc_stream ("cpu_clip", elements, bytes, bytes);

  schedule_host_op (run->b, stream, &work, blocks);
}

void
emit_host_update (StrategyRun *run, StreamRef stream, guint copy_bytes, gboolean blocks)
{
  emit_host_update_of (run, stream, strategy_share (run, STATE_OPTIMIZER), copy_bytes, blocks);
}

void
emit_host_update_of (StrategyRun *run, StreamRef stream, guint64 elements, guint copy_bytes,
                     gboolean blocks)
{
  HostDesc work = work_of (run, elements, copy_bytes);
  Place    home = run->policy->kinds[0].states[STATE_OPTIMIZER].home;

  schedule_host_op (run->b, stream, &work, blocks);
  schedule_uses_kept (run->b, place_is_host (home) ? home : PLACE_PINNED, POOL_OPTIMIZER,
                      ACCESS_READ_WRITE);
}
