/* What closed forms are made of: the norm, FLOPs, activations, the largest unit. */
#include "driver/expect.h"

#include "driver/pipeline.h"

void
expect_norm (const PlanInput *in, MeshGroup optimizer, PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);

  if (training->optimizer == OPTIMIZER_NONE || !training->clip_gradients)
    return;
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, optimizer, 4);
  if (optimizer.size == 1) /* experts that nobody shards differ within their group */
    plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_experts (&in->mesh), 4);
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_tensor (&in->mesh), 4);
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_stages (&in->mesh), 4);
}

double
expect_micro_steps (const PlanInput *in)
{
  Pipeline pipeline = pipeline_of (in->workload);

  return pipeline_chunk_micros (&pipeline);
}

double
expect_modules (const PlanInput *in)
{
  double n = 0;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    n += workload_layer (in->workload, l)->n_modules;
  return n;
}

double
expect_flops (const PlanInput *in)
{
  return workload_matrix_flops (in->workload)
         * (double) workload_training (in->workload)->grad_accum;
}

/* What the layers of CHUNK save that live on the host between the passes, or that do not. */
static double
saved_by_chunk (const Workload *workload, guint chunk, gboolean offloaded)
{
  double sum = 0;
  guint  first, end;

  workload_chunk (workload, chunk, &first, &end);
  for (guint i = first; i < end; i++)
    if (workload_layer (workload, i)->offloaded == offloaded)
      sum += (double) workload_layer (workload, i)->saved_bytes;
  return sum;
}

/*
 * What a pass adds to what a stage keeps in GPU memory and on the host. A checkpoint that came back
 * for one half of a split backward pass stays for the other.
 */
static void
keep (const PipelineSlot *slot, double resident, double offloaded, double *gpu, double *host)
{
  switch (slot->pass)
    {
    case PASS_FORWARD:
      *gpu += resident;
      *host += offloaded;
      break;
    case PASS_BACKWARD:
      *gpu -= resident;
      *host -= offloaded;
      break;
    case PASS_INPUT:
      *gpu += offloaded;
      *host -= offloaded;
      break;
    case PASS_WEIGHT:
      *gpu -= resident + offloaded;
      break;
    }
}

/* The most that the micro-batches in flight keep at the end of a pass of the stage. */
static void
kept_by_stage (const Workload *workload, double *most_gpu, double *most_host)
{
  Pipeline           pipeline = pipeline_of (workload);
  g_autoptr (GArray) slots = NULL;
  double             gpu = 0, host = 0;

  *most_gpu = saved_by_chunk (workload, 0, FALSE);
  *most_host = saved_by_chunk (workload, 0, TRUE);
  if (pipeline.stages == 1)
    return;
  *most_gpu = *most_host = 0;
  slots = pipeline_slots (&pipeline, workload_stage (workload));
  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);

      keep (slot, saved_by_chunk (workload, slot->chunk, FALSE),
            saved_by_chunk (workload, slot->chunk, TRUE), &gpu, &host);
      *most_gpu = MAX (*most_gpu, gpu);
      *most_host = MAX (*most_host, host);
    }
}

/* arXiv:2104.07857, 5.1.3: each checkpoint crosses the host link once each way. */
void
plan_expect_checkpoints (const PlanInput *in, PlanTotals *totals)
{
  Pipeline pipeline = pipeline_of (in->workload);
  double   kept, host, moved = 0;

  for (guint c = 0; c < pipeline.chunks; c++)
    moved += pipeline_chunk_micros (&pipeline) * saved_by_chunk (in->workload, c, TRUE);
  totals->moves[move_kind (PLACE_HBM, PLACE_PINNED)] += moved;
  totals->moves[move_kind (PLACE_PINNED, PLACE_HBM)] += moved;
  kept_by_stage (in->workload, &kept, &host);
  totals->low[PLACE_PINNED] += host;
  totals->high[PLACE_PINNED] += host;
}

ActivationBounds
activation_bounds (const Workload *workload)
{
  guint            n = workload_n_layers (workload);
  gboolean         pipelined = workload_mesh (workload)->pp > 1;
  const LayerDesc *head = workload_layer (workload, n - 1);
  ActivationBounds bounds = { .low = pipelined
                                         ? 0
                                         : (double) (head->backward_bytes + head->held_bytes) };
  guint            held = training_held_outputs (workload_training (workload));
  double           host;

  kept_by_stage (workload, &bounds.kept, &host);
  for (guint i = 0; i < n; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      bounds.high = MAX (bounds.high, (double) MAX (layer->working_bytes, layer->backward_bytes)
                                          + (layer->offloaded ? (double) layer->saved_bytes : 0));
    }
  bounds.high += (double) head->held_bytes * held;
  return bounds;
}
