/* Micro-steps of unlike sequences: what each chunk computes, and what sets of ranks send. */
#include "driver/oracle/expect-private.h"

#include <math.h>

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

/*
 * A step's numbers of sequences and lengths, the samples, the wait for all and the counts; N: data
 * ranks. Of an all-to-all's buffer a rank keeps 1 / N.
 */
static void
add_loader (const PlanInput *in, double n, double groups, double steps, PlanTotals *totals)
{
  const PlanBatches *batches = in->batches;
  const MeshGroup    all = mesh_all (&in->mesh);
  const MeshGroup    world = { .size = in->mesh.world, .stride = 1 };
  double             samples = 0;

  for (guint key = 0; key < PLAN_N_SAMPLE_KEYS; key++)
    samples += ceil ((double) batches->moved * plan_sample_keys[key].bytes * n / (n - 1));
  plan_totals_add (totals, COLLECTIVE_ALL_GATHER, all, steps * 4 * n * (1. + batches->read));
  plan_totals_add (totals, COLLECTIVE_ALL_TO_ALL, all, steps * samples);
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, world, steps * 4);
  plan_totals_add (totals, COLLECTIVE_BROADCAST, mesh_tensor (&in->mesh), steps * (8 + 4 * groups));
}

void
expect_sets (const PlanInput *in, double steps, PlanTotals *totals)
{
  const guint     n = (guint) expect_micro_steps (in);
  const MeshGroup all = mesh_all (&in->mesh);
  double          barriers = 0;

  for (guint i = 0; i < n && in->batches->barriers != NULL; i++)
    barriers += in->batches->barriers[i];
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, all, steps * 4 * barriers);
  if (in->batches->read > 0 && all.size > 1)
    add_loader (in, all.size, barriers + 1, steps, totals);
}
