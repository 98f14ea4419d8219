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

static double
saved_by_chunk (const Workload *workload, guint chunk)
{
  double sum = 0;
  guint  first, end;

  workload_chunk (workload, chunk, &first, &end);
  for (guint i = first; i < end; i++)
    sum += (double) workload_layer (workload, i)->saved_bytes;
  return sum;
}

/* The most that the micro-batches in flight keep: after some forward pass of the stage. */
static double
kept_by_stage (const Workload *workload)
{
  Pipeline           pipeline = pipeline_of (workload);
  g_autoptr (GArray) slots = NULL;
  g_autofree double *saved = g_new (double, pipeline.chunks);
  double             now = 0, most = 0;

  for (guint c = 0; c < pipeline.chunks; c++)
    saved[c] = saved_by_chunk (workload, c);
  if (pipeline.stages == 1)
    return saved[0];
  slots = pipeline_slots (&pipeline, workload_stage (workload));
  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);

      if (slot->pass == PASS_FORWARD)
        now += saved[slot->chunk];
      else if (slot->pass != PASS_INPUT)
        now -= saved[slot->chunk];
      most = MAX (most, now);
    }
  return most;
}

ActivationBounds
activation_bounds (const Workload *workload)
{
  guint            n = workload_n_layers (workload);
  gboolean         pipelined = workload_mesh (workload)->pp > 1;
  const LayerDesc *head = workload_layer (workload, n - 1);
  ActivationBounds bounds = { .kept = kept_by_stage (workload),
                              .low = pipelined
                                         ? 0
                                         : (double) (head->backward_bytes + head->held_bytes) };
  guint            held = training_held_outputs (workload_training (workload));

  for (guint i = 0; i < n; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      bounds.high = MAX (bounds.high, (double) MAX (layer->working_bytes, layer->backward_bytes));
    }
  bounds.high += (double) head->held_bytes * held;
  return bounds;
}
