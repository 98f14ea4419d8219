/* Micro-steps of unlike sequences: what each chunk computes, and where ranks wait for each other. */
#include "driver/oracle/expect-private.h"

/* Of a chunk; two directions have half of a step's each. */
static guint
micros_of_chunk (const PlanInput *in, const Pipeline *pipeline)
{
  const guint all = in->batches != NULL && in->batches->counts != NULL ? in->batches->counts[0]
                                                                       : pipeline->micros;

  return pipeline->kind == PIPELINE_DUALPIPE ? all / 2 : all;
}

double
expect_micro_steps (const PlanInput *in)
{
  const Pipeline pipeline = pipeline_of (in->workload);

  return micros_of_chunk (in, &pipeline);
}

gboolean
expect_run (const PlanInput *in, guint chunk, guint i, ExpectRun *run)
{
  const PlanBatches *batches = in->batches;
  const Pipeline     pipeline = pipeline_of (in->workload);
  const guint        n = micros_of_chunk (in, &pipeline);

  if (batches == NULL)
    {
      *run = (ExpectRun){ in->workload, in->stages, n };
      return i == 0;
    }
  if (i >= n)
    return FALSE;
  i += pipeline.kind == PIPELINE_DUALPIPE ? chunk * n : 0;
  run->stages = batches->workloads[batches->table[i]];
  run->workload = run->stages[workload_stage (in->workload)];
  run->times = 1;
  return TRUE;
}

void
expect_barriers (const PlanInput *in, double steps, PlanTotals *totals)
{
  const guint n = (guint) expect_micro_steps (in);

  for (guint i = 0; i < n && in->batches->barriers != NULL; i++)
    if (in->batches->barriers[i])
      plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_all (&in->mesh),
                       steps * dtype_bytes (DTYPE_FP32));
}
