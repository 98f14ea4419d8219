#include "strategy/held.h"

#include "strategy/common.h"
#include "strategy/host-update.h"

Place
held_home (const StrategyRun *run)
{
  return run->policy != NULL ? run->policy->kinds[0].states[STATE_PARAMETERS].home : PLACE_HBM;
}

guint
held_bytes_each (const StrategyRun *run)
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

void
held_use (StrategyRun *run, ScheduleAccess access)
{
  schedule_uses_kept (run->b, held_home (run), POOL_PARAMETER, access);
  if (updated_in (run) == held_home (run))
    schedule_uses_kept (run->b, updated_in (run), POOL_OPTIMIZER, access);
}

/* ---- on the GPU for the end of a round ------------------------------------------------------- */

BufferRef
held_fetch (StrategyRun *run, guint64 elements, gboolean loads)
{
  Place     home = held_home (run);
  guint64   bytes = elements * held_bytes_each (run);
  BufferRef fetched;

  if (home == PLACE_HBM)
    return SCHEDULE_NONE;
  fetched =
      schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, bytes, "parameters from the host");
  if (!loads)
    return fetched;
  schedule_move (run->b, SCHEDULE_COMPUTE, home, PLACE_HBM, bytes, "to the GPU");
  schedule_uses_kept (run->b, home, POOL_PARAMETER, ACCESS_READ);
  schedule_uses (run->b, fetched, SCHEDULE_WHOLE, ACCESS_WRITE);
  return fetched;
}

void
held_return (StrategyRun *run, BufferRef fetched, guint64 elements, gboolean stores)
{
  Place home = held_home (run);

  if (fetched == SCHEDULE_NONE)
    return;
  if (stores)
    {
      schedule_move (run->b, SCHEDULE_COMPUTE, PLACE_HBM, home, elements * held_bytes_each (run),
                     "back to the host");
      schedule_uses (run->b, fetched, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses_kept (run->b, home, POOL_PARAMETER, ACCESS_WRITE);
    }
  schedule_free (run->b, fetched);
}

void
held_fetch_form (double loads, double stores, double elements, double peak, PlanTotals *totals)
{
  double bytes = dtype_bytes (totals->resident_dtype);
  Place  home = totals->resident_home;

  if (home == PLACE_HBM)
    return;
  totals->moves[move_kind (home, PLACE_HBM)] += loads * elements * bytes;
  totals->moves[move_kind (PLACE_HBM, home)] += stores * elements * bytes;
  totals->high[PLACE_HBM] += peak * bytes;
}

/* ---- what the host updates ------------------------------------------------------------------- */

/* The host's fp32 copy of the own slice, from what came in compute precision. */
static void
emit_refresh (StrategyRun *run, StreamRef cpu, guint64 elements)
{
  double   read = (double) (elements * held_bytes_each (run));
  Dtype    master = training_master_dtype (workload_training (run->in->workload));
  double   written = (double) (elements * dtype_bytes (master));
  HostDesc work = host_desc_stream ("refresh_master", elements, read, written);

  schedule_host_op (run->b, cpu, &work, FALSE);
  schedule_uses_kept (run->b, updated_in (run), POOL_PARAMETER, ACCESS_READ);
  schedule_uses_kept (run->b, updated_in (run), POOL_OPTIMIZER, ACCESS_READ_WRITE);
}

void
held_refresh_host (StrategyRun *run, StreamRef stream, guint64 elements)
{
  StreamRef cpu;

  if (held_home (run) != PLACE_HBM || updated_in (run) == PLACE_HBM)
    return;
  cpu = host_update_stream (run);
  schedule_wait_stream (run->b, stream, cpu);
  schedule_move (run->b, stream, PLACE_HBM, updated_in (run), elements * held_bytes_each (run),
                 "own slice to the host");
  schedule_uses_kept (run->b, PLACE_HBM, POOL_PARAMETER, ACCESS_READ);
  schedule_uses_kept (run->b, updated_in (run), POOL_PARAMETER, ACCESS_WRITE);
  schedule_wait_stream (run->b, cpu, stream);
  if (master_values (workload_training (run->in->workload)) > 0)
    emit_refresh (run, cpu, elements);
}

void
held_refresh_form (double times, PlanTotals *totals)
{
  if (totals->resident_home != PLACE_HBM || totals->updated_home == PLACE_HBM)
    return;
  totals->moves[move_kind (PLACE_HBM, totals->updated_home)] +=
      times * totals->updated * dtype_bytes (totals->resident_dtype);
  totals->host[HOST_STREAM] += times * totals->mastered;
}
