#include "strategy/sync.h"

#include "strategy/common.h"
#include "strategy/host-update.h"

/* ---- what is averaged ------------------------------------------------------------------------ */

/* Where the parameters that a rank holds live. */
static Place
home_of (const StrategyRun *run)
{
  return run->policy != NULL ? run->policy->kinds[0].states[STATE_PARAMETERS].home : PLACE_HBM;
}

/* Of an element of them. */
static guint
parameter_bytes (const StrategyRun *run)
{
  return run->policy != NULL ? element_bytes (run, STATE_PARAMETERS)
                             : dtype_bytes (run->exchange->dtype);
}

/* Where the optimizer finds its own copy of them. */
static Place
updated_in (const StrategyRun *run)
{
  return run->policy != NULL ? run->policy->kinds[0].states[STATE_OPTIMIZER].home : PLACE_HBM;
}

/* Parameters, and the fp32 copy of them that is the optimizer's, where that is there too. */
static void
use_held (StrategyRun *run, ScheduleAccess access)
{
  schedule_uses_kept (run->b, home_of (run), POOL_PARAMETER, access);
  if (updated_in (run) == home_of (run))
    schedule_uses_kept (run->b, updated_in (run), POOL_OPTIMIZER, access);
}

/*
 * Parameters that live elsewhere come to the GPU on STREAM for the end of a round, and go back.
 * SCHEDULE_NONE: they are there.
 */
static BufferRef
fetch_parameters (StrategyRun *run, StreamRef stream)
{
  guint64   bytes = strategy_trainable_share (run) * parameter_bytes (run);
  BufferRef fetched;

  if (home_of (run) == PLACE_HBM)
    return SCHEDULE_NONE;
  fetched = schedule_alloc_on (run->b, stream, PLACE_HBM, POOL_COMMUNICATION, bytes,
                               "parameters from the host");
  schedule_move (run->b, stream, home_of (run), PLACE_HBM, bytes, "to the GPU");
  schedule_uses_kept (run->b, home_of (run), POOL_PARAMETER, ACCESS_READ);
  schedule_uses (run->b, fetched, SCHEDULE_WHOLE, ACCESS_WRITE);
  return fetched;
}

static void
return_parameters (StrategyRun *run, StreamRef stream, BufferRef fetched)
{
  guint64 bytes = strategy_trainable_share (run) * parameter_bytes (run);

  if (fetched == SCHEDULE_NONE)
    return;
  schedule_move (run->b, stream, PLACE_HBM, home_of (run), bytes, "back to the host");
  schedule_uses (run->b, fetched, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses_kept (run->b, home_of (run), POOL_PARAMETER, ACCESS_WRITE);
  schedule_free (run->b, fetched);
}

/* The same as a closed form. */
static void
fetch_form (double times, PlanTotals *totals)
{
  double bytes = totals->resident * dtype_bytes (totals->resident_dtype);

  if (totals->resident_home == PLACE_HBM)
    return;
  totals->moves[move_kind (totals->resident_home, PLACE_HBM)] += times * bytes;
  totals->moves[move_kind (PLACE_HBM, totals->resident_home)] += times * bytes;
  totals->high[PLACE_HBM] += bytes;
}

/* ---- what the host updates ------------------------------------------------------------------- */

/* The host's fp32 copy of the own slice, from what came in compute precision. */
static void
emit_refresh (StrategyRun *run, StreamRef cpu)
{
  guint64  elements = strategy_share (run, STATE_OPTIMIZER);
  double   read = (double) (elements * parameter_bytes (run));
  Dtype    master = training_master_dtype (workload_training (run->in->workload));
  double   written = (double) (elements * dtype_bytes (master));
  HostDesc work = host_desc_stream ("refresh_master", elements, read, written);

  schedule_host_op (run->b, cpu, &work, FALSE);
  schedule_uses_kept (run->b, updated_in (run), POOL_PARAMETER, ACCESS_READ);
  schedule_uses_kept (run->b, updated_in (run), POOL_OPTIMIZER, ACCESS_READ_WRITE);
}

/*
 * Where the host updates parameters that are on the GPU, it goes on from its own copy: what STREAM
 * has made of the own slice goes there, behind an update that is still at work, which would write
 * over it.
 */
static void
refresh_host (StrategyRun *run, StreamRef stream)
{
  StreamRef cpu;

  if (home_of (run) != PLACE_HBM || updated_in (run) == PLACE_HBM)
    return;
  cpu = host_update_stream (run);
  schedule_wait_stream (run->b, stream, cpu);
  schedule_move (run->b, stream, PLACE_HBM, updated_in (run),
                 strategy_share (run, STATE_OPTIMIZER) * parameter_bytes (run),
                 "own slice to the host");
  schedule_uses_kept (run->b, PLACE_HBM, POOL_PARAMETER, ACCESS_READ);
  schedule_uses_kept (run->b, updated_in (run), POOL_PARAMETER, ACCESS_WRITE);
  schedule_wait_stream (run->b, cpu, stream);
  if (master_values (workload_training (run->in->workload)) > 0)
    emit_refresh (run, cpu);
}

/* The same as a closed form. */
static void
refresh_form (double times, PlanTotals *totals)
{
  if (totals->resident_home != PLACE_HBM || totals->updated_home == PLACE_HBM)
    return;
  totals->moves[move_kind (PLACE_HBM, totals->updated_home)] +=
      times * totals->updated * dtype_bytes (totals->resident_dtype);
  totals->host[HOST_STREAM] += times * totals->mastered;
}

/* ---- the average ----------------------------------------------------------------------------- */

/* The stream and the communicator of an average. */
typedef struct
{
  StreamRef stream;
  CommRef   comm;
  BufferRef staged; /* in pinned memory, where the hosts carry it; else SCHEDULE_NONE */
} Wire;

/* What is averaged: the op emitted last does ACCESS to it. FETCHED: parameters on the GPU. */
typedef void (*UseAveraged) (StrategyRun *run, BufferRef fetched, ScheduleAccess access);

/* Syncs stack: those around others have a number behind NAME. */
static char *
name_of (const StrategyRun *run, const char *name)
{
  guint n = 1;

  for (const StrategyRun *inner = run->inner; inner != NULL; inner = inner->inner)
    n += inner->exchange != NULL;
  return n > 1 ? g_strdup_printf ("%s %u", name, n) : g_strdup (name);
}

/* STAGES: what the hosts average comes from the GPU. */
static void
wire_init (Wire *self, StrategyRun *run, gboolean stages)
{
  const Exchange  *exchange = run->exchange;
  guint64          bytes = dtype_bytes (exchange->dtype) * strategy_trainable_share (run);
  g_autofree char *average = name_of (run, "average"), *workers = name_of (run, "workers");

  self->stream = schedule_stream (run->b, average, 0);
  self->staged = SCHEDULE_NONE;
  if (exchange->transport == TRANSPORT_GPU)
    {
      self->comm = schedule_comm (run->b, workers, exchange->across);
      return;
    }
  self->comm = schedule_host_comm (run->b, workers, exchange->across);
  if (stages)
    self->staged =
        schedule_alloc (run->b, PLACE_PINNED, POOL_COMMUNICATION, bytes, "parameters on their way");
}

/* Behind what the wire's stream holds. */
static void
emit_average (StrategyRun *run, const Wire *wire, UseAveraged use, BufferRef fetched)
{
  Payload parameters = payload_plain (strategy_trainable_share (run), run->exchange->dtype);
  guint64 bytes = payload_bytes (parameters);

  if (wire->staged != SCHEDULE_NONE)
    {
      schedule_move (run->b, wire->stream, PLACE_HBM, PLACE_PINNED, bytes, "to the host");
      use (run, fetched, ACCESS_READ);
      schedule_uses (run->b, wire->staged, SCHEDULE_WHOLE, ACCESS_WRITE);
    }
  schedule_all_reduce (run->b, wire->stream, wire->comm, parameters, "average");
  if (wire->staged == SCHEDULE_NONE)
    {
      use (run, fetched, ACCESS_READ_WRITE);
      return;
    }
  schedule_uses (run->b, wire->staged, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  schedule_move (run->b, wire->stream, PLACE_PINNED, PLACE_HBM, bytes, "from the host");
  schedule_uses (run->b, wire->staged, SCHEDULE_WHOLE, ACCESS_READ);
  use (run, fetched, ACCESS_WRITE);
}

/* One all-reduce a round, and the way to the hosts and back. STAGES: as in wire_init. */
static void
average_form (const Exchange *exchange, double times, gboolean stages, PlanTotals *totals)
{
  double bytes = dtype_bytes (exchange->dtype) * totals->resident;

  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, exchange->across, times * bytes);
  if (exchange->transport == TRANSPORT_GPU || !stages)
    return;
  totals->moves[move_kind (PLACE_HBM, PLACE_PINNED)] += times * bytes;
  totals->moves[move_kind (PLACE_PINNED, PLACE_HBM)] += times * bytes;
  totals->low[PLACE_PINNED] += bytes;
  totals->high[PLACE_PINNED] += bytes;
}

/* ---- blocking -------------------------------------------------------------------------------- */

typedef struct
{
  Wire wire;
} BlockingState;

/* The hosts average what is in their memory. */
static gboolean
averages_at_home (const StrategyRun *run)
{
  return run->exchange->transport == TRANSPORT_HOST && home_of (run) != PLACE_HBM;
}

static void
blocking_init (StrategyRun *run)
{
  wire_init (&((BlockingState *) run->state)->wire, run, !averages_at_home (run));
}

static void
use_averaged (StrategyRun *run, BufferRef fetched, ScheduleAccess access)
{
  if (fetched != SCHEDULE_NONE)
    schedule_uses (run->b, fetched, SCHEDULE_WHOLE, access);
  else
    use_held (run, access);
}

/* The sum becomes the average, where it is. */
static void
emit_scale (StrategyRun *run, StreamRef stream, BufferRef fetched)
{
  guint64  elements = strategy_trainable_share (run);
  double   bytes = (double) (dtype_bytes (run->exchange->dtype) * elements);
  HostDesc work = host_desc_stream ("scale", elements, bytes, bytes);

  if (averages_at_home (run))
    schedule_host_op (run->b, stream, &work, FALSE);
  else
    emit_stream_kernel (run->b, stream, KERNEL_ELEMENTWISE, "scale", DTYPE_FP32, bytes, bytes);
  use_averaged (run, fetched, ACCESS_READ_WRITE);
}

static void
blocking_round_end (StrategyRun *run)
{
  const Wire *wire = &((const BlockingState *) run->state)->wire;
  BufferRef   fetched = SCHEDULE_NONE;

  schedule_wait_stream (run->b, wire->stream, SCHEDULE_COMPUTE);
  if (!averages_at_home (run))
    fetched = fetch_parameters (run, wire->stream);
  emit_average (run, wire, use_averaged, fetched);
  emit_scale (run, wire->stream, fetched);
  return_parameters (run, wire->stream, fetched);
  refresh_host (run, wire->stream);
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, wire->stream);
}

/* One all-reduce a round, of parameters where they are, or on the GPU. */
static void
blocking_form (const Exchange *exchange, double times, PlanTotals *totals)
{
  gboolean at_home = exchange->transport == TRANSPORT_HOST && totals->resident_home != PLACE_HBM;

  average_form (exchange, times, !at_home, totals);
  if (at_home)
    totals->host[HOST_STREAM] += times * totals->resident;
  else
    fetch_form (times, totals);
  refresh_form (times, totals);
}

const Sync sync_blocking = {
  .hooks = { .state_size = sizeof (BlockingState),
             .init = blocking_init,
             .round_end = blocking_round_end },
  .even_steps = TRUE,
  .form = blocking_form,
};

/* ---- one round late -------------------------------------------------------------------------- */

#define OUTER_BYTES 4 /* outer parameters and momentum are fp32 */

typedef struct
{
  Wire      wire;
  BufferRef sent;           /* what is averaged, and then the average */
  BufferRef anchor, moment; /* the outer parameters, and their momentum */
} LateState;

static void
late_init (StrategyRun *run)
{
  LateState *s = run->state;
  guint64    elements = strategy_trainable_share (run);

  wire_init (&s->wire, run, TRUE);
  s->anchor = schedule_alloc (run->b, PLACE_HBM, POOL_OPTIMIZER, elements * OUTER_BYTES,
                              "outer parameters");
  s->moment =
      schedule_alloc (run->b, PLACE_HBM, POOL_OPTIMIZER, elements * OUTER_BYTES, "outer momentum");
  s->sent = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION,
                            elements * dtype_bytes (run->exchange->dtype), "average");
  /* the first round finds what training began with */
  schedule_touches (run->b, SCHEDULE_COMPUTE, s->sent, SCHEDULE_WHOLE, ACCESS_WRITE);
}

/* The momentum takes in how far the average of the round before is from the outer parameters. */
static void
emit_momentum (StrategyRun *run, double elements)
{
  const LateState *s = run->state;

  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "outer_momentum", DTYPE_FP32,
                      elements * (2 * OUTER_BYTES + dtype_bytes (run->exchange->dtype)),
                      elements * OUTER_BYTES);
  schedule_uses (run->b, s->sent, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->anchor, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->moment, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

static void
use_sent (StrategyRun *run, BufferRef fetched, ScheduleAccess access)
{
  (void) fetched;
  schedule_uses (run->b, ((const LateState *) run->state)->sent, SCHEDULE_WHOLE, access);
}

/* The op emitted last does ACCESS to the parameters, where kernels find them. */
static void
use_parameters (StrategyRun *run, BufferRef fetched, ScheduleAccess access)
{
  if (fetched != SCHEDULE_NONE)
    schedule_uses (run->b, fetched, SCHEDULE_WHOLE, access);
  else
    schedule_uses_kept (run->b, PLACE_HBM, POOL_PARAMETER, access);
}

/* What the round has learned is copied, and sent while the next round trains. */
static void
send_parameters (StrategyRun *run, guint64 elements, BufferRef fetched)
{
  const LateState *s = run->state;
  g_autofree char *name = name_of (run, "average");

  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "outer_copy", DTYPE_FP32,
                      (double) elements * parameter_bytes (run),
                      (double) elements * dtype_bytes (run->exchange->dtype));
  use_parameters (run, fetched, ACCESS_READ);
  schedule_uses (run->b, s->sent, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_wait_stream (run->b, s->wire.stream, SCHEDULE_COMPUTE);
  emit_average (run, &s->wire, use_sent, SCHEDULE_NONE);
  schedule_carry (run->b, name, schedule_record (run->b, s->wire.stream));
}

/* The outer step, and the next round's parameters from it. */
static void
emit_outer_step (StrategyRun *run, double elements, BufferRef fetched)
{
  const LateState *s = run->state;

  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "outer_step", DTYPE_FP32,
                      elements * 2 * OUTER_BYTES, elements * (OUTER_BYTES + parameter_bytes (run)));
  schedule_uses (run->b, s->moment, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->anchor, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  use_parameters (run, fetched, ACCESS_WRITE);
}

static void
late_round_end (StrategyRun *run)
{
  guint64          elements = strategy_trainable_share (run);
  g_autofree char *name = name_of (run, "average");
  BufferRef        fetched;

  schedule_wait (run->b, SCHEDULE_COMPUTE, schedule_carried (run->b, name));
  emit_momentum (run, (double) elements);
  fetched = fetch_parameters (run, SCHEDULE_COMPUTE);
  send_parameters (run, elements, fetched);
  emit_outer_step (run, (double) elements, fetched);
  return_parameters (run, SCHEDULE_COMPUTE, fetched);
  refresh_host (run, SCHEDULE_COMPUTE);
}

/* One all-reduce a round; the outer parameters, their momentum, and what is on its way. */
static void
late_form (const Exchange *exchange, double times, PlanTotals *totals)
{
  double held = totals->resident * (2 * OUTER_BYTES + dtype_bytes (exchange->dtype));

  average_form (exchange, times, TRUE, totals);
  fetch_form (times, totals);
  refresh_form (times, totals);
  totals->states += held;
  totals->low[PLACE_HBM] += held;
  totals->high[PLACE_HBM] += held;
}

const Sync sync_late = {
  .hooks = { .state_size = sizeof (LateState), .init = late_init, .round_end = late_round_end },
  .even_steps = TRUE,
  .form = late_form,
};
