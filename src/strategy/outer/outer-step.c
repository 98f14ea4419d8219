/*
 * The outer step of an exchange: a step with momentum on outer parameters, both fp32, from an
 * average (SlowMo, CO2) or from averaged differences (DiLoCo). On the GPU it is streaming passes
 * over memory; on the host its cores read and write theirs.
 */
#include "strategy/emit/common.h"
#include "strategy/outer/resident-parameters.h"
#include "strategy/outer/sync-private.h"

void
outer_init (StrategyRun *run)
{
  SyncState      *s = sync_state (run);
  const Exchange *exchange = run->exchange;
  guint           owners = MAX (exchange->owners, 1);
  guint64         all = 0, bytes;
  Place           place = exchange->on_host ? exchange->outer_home : PLACE_HBM;

  for (guint f = 0; f < exchange->fragments; f++)
    all += s->whole[f];
  bytes = (all + owners - 1) / owners * OUTER_BYTES;
  s->anchor = s->moment = SCHEDULE_NONE;
  if (exchange->outer == OUTER_NONE)
    return;
  s->anchor = schedule_alloc (run->b, exchange->outer_home, POOL_OUTER, bytes, "outer parameters");
  s->moment = schedule_alloc (run->b, place, POOL_OUTER, bytes, "outer momentum");
}

/* ---- outer parameters that live on the host -------------------------------------------------- */

static gboolean
is_away (const StrategyRun *run)
{
  return !run->exchange->on_host && run->exchange->outer_home != PLACE_HBM;
}

static void
lift_anchor (StrategyRun *run, guint64 elements)
{
  SyncState *s = sync_state (run);
  guint64    bytes = elements * OUTER_BYTES;

  if (!is_away (run) || s->lifted != SCHEDULE_NONE)
    return;
  s->lifted =
      schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, bytes, "outer parameters on the GPU");
  schedule_move (run->b, SCHEDULE_COMPUTE, run->exchange->outer_home, PLACE_HBM, bytes,
                 "outer parameters");
  schedule_uses (run->b, s->anchor, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->lifted, SCHEDULE_WHOLE, ACCESS_WRITE);
}

static void
drop_anchor (StrategyRun *run)
{
  SyncState *s = sync_state (run);

  schedule_free (run->b, s->lifted);
  s->lifted = SCHEDULE_NONE;
}

static void
use_anchor (StrategyRun *run, ScheduleAccess access)
{
  const SyncState *s = sync_state (run);

  schedule_uses (run->b, s->lifted != SCHEDULE_NONE ? s->lifted : s->anchor, SCHEDULE_WHOLE,
                 access);
}

void
outer_vote (StrategyRun *run, guint64 elements)
{
  lift_anchor (run, elements);
  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
}

/* ---- what is sent ---------------------------------------------------------------------------- */

/* The parameters go to the host, whose cores subtract. */
static void
subtract_on_host (StrategyRun *run, guint64 elements)
{
  const SyncState *s = sync_state (run);
  guint            each = resident_bytes_each (run);
  double           n = (double) elements;
  Place            place = run->exchange->outer_home;
  HostDesc         work = host_desc_stream ("outer_difference", elements, n * (each + OUTER_BYTES),
                                            n * sync_bytes_each (run));

  if (resident_home (run) == PLACE_HBM)
    {
      schedule_move (run->b, s->stream, PLACE_HBM, place, elements * each, "to the host");
      resident_use (run, ACCESS_READ);
      schedule_uses (run->b, s->flying, SCHEDULE_WHOLE, ACCESS_WRITE);
    }
  schedule_host_op (run->b, s->stream, &work, FALSE);
  if (resident_home (run) != PLACE_HBM)
    resident_use (run, ACCESS_READ);
  schedule_uses (run->b, s->anchor, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->flying, SCHEDULE_WHOLE,
                 resident_home (run) == PLACE_HBM ? ACCESS_READ_WRITE : ACCESS_WRITE);
}

void
outer_difference (StrategyRun *run, guint fragment)
{
  SyncState *s = sync_state (run);
  guint64    elements = s->shares[fragment];
  double     n = (double) elements;

  if (run->exchange->on_host)
    {
      subtract_on_host (run, elements);
      return;
    }
  lift_anchor (run, run->exchange->delay > 0 ? elements : s->whole[fragment]);
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "outer_difference", DTYPE_FP32,
                      n * (resident_bytes_each (run) + OUTER_BYTES), n * sync_bytes_each (run));
  sync_use_parameters (run, ACCESS_READ);
  use_anchor (run, ACCESS_READ);
  schedule_uses (run->b, s->flying, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_uses (run->b, s->own, SCHEDULE_WHOLE, ACCESS_WRITE);
  if (run->exchange->delay > 0)
    drop_anchor (run);
}

void
outer_copy (StrategyRun *run, guint fragment)
{
  SyncState *s = sync_state (run);
  double     n = (double) s->shares[fragment];

  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "outer_copy", DTYPE_FP32,
                      n * resident_bytes_each (run), n * sync_bytes_each (run));
  sync_use_parameters (run, ACCESS_READ);
  schedule_uses (run->b, s->sent, SCHEDULE_WHOLE, ACCESS_WRITE);
}

/* ---- what arrived is used -------------------------------------------------------------------- */

/* Where what has arrived is: in the buffer that was sent, or in the parameters themselves. */
static void
use_arrived (StrategyRun *run)
{
  const SyncState *s = sync_state (run);

  if (s->flying != SCHEDULE_NONE)
    schedule_uses (run->b, s->flying, SCHEDULE_WHOLE, ACCESS_READ);
  else
    sync_use_parameters (run, ACCESS_READ);
}

void
outer_momentum (StrategyRun *run, guint64 elements)
{
  const SyncState *s = sync_state (run);
  gboolean         differs = run->exchange->what == EXCHANGE_DIFFERENCES;
  double           n = (double) elements;
  guint            read = sync_bytes_each (run) + (differs ? 0 : OUTER_BYTES)
               + (run->exchange->eager ? sync_bytes_each (run) : 0);

  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "outer_momentum", DTYPE_FP32,
                      n * (OUTER_BYTES + read), n * OUTER_BYTES);
  use_arrived (run);
  schedule_uses (run->b, s->own, SCHEDULE_WHOLE, ACCESS_READ);
  if (!differs)
    use_anchor (run, ACCESS_READ);
  schedule_uses (run->b, s->moment, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

/* A copy of what the worker has learned, from which the parameters take their part (torchft). */
static BufferRef
clone_parameters (StrategyRun *run, guint64 elements)
{
  guint64   bytes = elements * resident_bytes_each (run);
  BufferRef clone;

  if (!run->exchange->clones)
    return SCHEDULE_NONE;
  clone = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, bytes, "own parameters");
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "clone", DTYPE_FP32, (double) bytes,
                      (double) bytes);
  sync_use_parameters (run, ACCESS_READ);
  schedule_uses (run->b, clone, SCHEDULE_WHOLE, ACCESS_WRITE);
  return clone;
}

static void
step_on_gpu (StrategyRun *run, guint64 elements, guint64 merged)
{
  const SyncState *s = sync_state (run);
  gboolean         differs = run->exchange->what == EXCHANGE_DIFFERENCES;
  double           n = (double) elements;
  guint            each = resident_bytes_each (run);
  double           mixed = run->exchange->merges ? (double) merged * each : 0;
  BufferRef        clone = clone_parameters (run, merged);

  lift_anchor (run, elements);
  /* Nesterov's step looks ahead by the gradient itself */
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "outer_step", DTYPE_FP32,
                      n * (2 * OUTER_BYTES + (differs ? sync_bytes_each (run) : 0)) + mixed,
                      n * (OUTER_BYTES + each));
  schedule_uses (run->b, s->moment, SCHEDULE_WHOLE, ACCESS_READ);
  if (run->exchange->eager)
    schedule_uses (run->b, s->own, SCHEDULE_WHOLE, ACCESS_READ);
  else if (differs)
    use_arrived (run);
  use_anchor (run, ACCESS_READ_WRITE);
  if (clone != SCHEDULE_NONE)
    schedule_uses (run->b, clone, SCHEDULE_WHOLE, ACCESS_READ);
  sync_use_parameters (run, run->exchange->merges && clone == SCHEDULE_NONE ? ACCESS_READ_WRITE
                                                                            : ACCESS_WRITE);
  schedule_free (run->b, clone);
  if (!is_away (run))
    return;
  schedule_move (run->b, SCHEDULE_COMPUTE, PLACE_HBM, run->exchange->outer_home,
                 elements * OUTER_BYTES, "new outer parameters");
  schedule_uses (run->b, s->lifted, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->anchor, SCHEDULE_WHOLE, ACCESS_WRITE);
  drop_anchor (run);
}

static void
step_on_host (StrategyRun *run, guint64 elements)
{
  const SyncState *s = sync_state (run);
  guint            each = resident_bytes_each (run);
  double           n = (double) elements, arrived = n * sync_bytes_each (run);
  HostDesc         work =
      host_desc_stream ("outer_step", elements, n * 2 * OUTER_BYTES + arrived, n * 2 * OUTER_BYTES);

  schedule_host_op (run->b, s->stream, &work, FALSE);
  schedule_uses (run->b, s->flying, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->moment, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  schedule_uses (run->b, s->anchor, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  if (resident_home (run) == PLACE_HBM)
    {
      schedule_move (run->b, s->stream, run->exchange->outer_home, PLACE_HBM, elements * each,
                     "to the GPU");
      schedule_uses (run->b, s->anchor, SCHEDULE_WHOLE, ACCESS_READ);
    }
  resident_use (run, ACCESS_WRITE);
}

void
outer_step (StrategyRun *run, guint64 elements, guint64 merged)
{
  if (run->exchange->on_host)
    step_on_host (run, elements);
  else
    step_on_gpu (run, elements, merged);
}
