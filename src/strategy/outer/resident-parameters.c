#include "strategy/outer/resident-parameters.h"

#include "strategy/emit/common.h"
#include "strategy/emit/host-update.h"

Place
resident_home (const StrategyRun *run)
{
  return run->policy != NULL ? run->policy->kinds[0].states[STATE_PARAMETERS].home : PLACE_HBM;
}

guint
resident_bytes_each (const StrategyRun *run)
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
resident_use (StrategyRun *run, ScheduleAccess access)
{
  schedule_uses_kept (run->b, resident_home (run), POOL_PARAMETER, access);
  if (updated_in (run) == resident_home (run))
    schedule_uses_kept (run->b, updated_in (run), POOL_OPTIMIZER, access);
}

/* ---- on the GPU for the end of a round ------------------------------------------------------- */

BufferRef
resident_fetch (StrategyRun *run, guint64 elements, gboolean loads)
{
  Place     home = resident_home (run);
  guint64   bytes = elements * resident_bytes_each (run);
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
resident_return (StrategyRun *run, BufferRef fetched, guint64 elements, gboolean stores)
{
  Place home = resident_home (run);

  if (fetched == SCHEDULE_NONE)
    return;
  if (stores)
    {
      schedule_move (run->b, SCHEDULE_COMPUTE, PLACE_HBM, home,
                     elements * resident_bytes_each (run), "back to the host");
      schedule_uses (run->b, fetched, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses_kept (run->b, home, POOL_PARAMETER, ACCESS_WRITE);
    }
  schedule_free (run->b, fetched);
}

/* ---- what the host updates ------------------------------------------------------------------- */

void
resident_refresh_host (StrategyRun *run, StreamRef stream, guint64 elements)
{
  StreamRef cpu;

  if (resident_home (run) != PLACE_HBM || updated_in (run) == PLACE_HBM)
    return;
  cpu = host_update_stream (run);
  schedule_wait_stream (run->b, stream, cpu);
  schedule_move (run->b, stream, PLACE_HBM, updated_in (run), elements * resident_bytes_each (run),
                 "own slice to the host");
  schedule_uses_kept (run->b, PLACE_HBM, POOL_PARAMETER, ACCESS_READ);
  schedule_uses_kept (run->b, updated_in (run), POOL_PARAMETER, ACCESS_WRITE);
  schedule_wait_stream (run->b, cpu, stream);
  if (master_values (workload_training (run->in->workload)) > 0)
    {
      /* The host's fp32 copy of the own slice is made of what came in compute precision. */
      double   read = (double) (elements * resident_bytes_each (run));
      Dtype    master = training_master_dtype (workload_training (run->in->workload));
      double   written = (double) (elements * dtype_bytes (master));
      HostDesc work = host_desc_stream ("refresh_master", elements, read, written);

      schedule_host_op (run->b, cpu, &work, FALSE);
      schedule_uses_kept (run->b, updated_in (run), POOL_PARAMETER, ACCESS_READ);
      schedule_uses_kept (run->b, updated_in (run), POOL_OPTIMIZER, ACCESS_READ_WRITE);
    }
}
