/* What closed forms are made of: the norm, FLOPs, activations, the largest unit. */
#include "driver/oracle/expect-private.h"
#include "driver/oracle/expect-sums.h"

void
expect_norm (const PlanInput *in, MeshGroup optimizer, PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);

  if (training->optimizer == OPTIMIZER_NONE || !training->clip_gradients)
    return;
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, optimizer, 4);
  if (optimizer.size == 1) /* experts that nobody shards differ within their group */
    {
      plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_experts (&in->mesh), 4);
      if (in->mesh.expert_tensor > 0)
        plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_expert_tensor (&in->mesh), 4);
    }
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

double
expect_forward_flops (const PlanInput *in)
{
  double sum = 0;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      const LayerDesc *layer = workload_layer (in->workload, l);

      for (guint k = 0; k < layer->n_forward; k++)
        if (kernel_desc_is_product (&layer->forward[k]))
          sum += layer->forward[k].flops;
    }
  return sum * (double) workload_training (in->workload)->grad_accum;
}

/* What the layers of a chunk save: bytes between the passes and, of what leaves, in a pass. */
typedef struct
{
  double stays;  /* whole on the GPU */
  double slices; /* on the GPU, of checkpoints that tensor ranks share */
  double host;
  double whole; /* of these two, as the passes use them */
} Saved;

static gboolean
leaves (const LayerDesc *layer)
{
  return layer->offloaded || layer->kept_bytes < layer->saved_bytes;
}

static Saved
saved_by_chunk (const Workload *workload, guint chunk)
{
  Saved sum = { 0 };
  guint first, end;

  workload_chunk (workload, chunk, &first, &end);
  for (guint i = first; i < end; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      sum.stays += leaves (layer) ? 0 : (double) layer->saved_bytes;
      sum.slices += leaves (layer) && !layer->offloaded ? (double) layer->kept_bytes : 0;
      sum.host += layer->offloaded ? (double) layer->kept_bytes : 0;
      sum.whole += leaves (layer) ? (double) layer->saved_bytes : 0;
    }
  return sum;
}

/*
 * What passes of a chunk have left in GPU memory and on the host. A checkpoint that came back for
 * one half of a split backward pass stays for the other.
 */
static ExpectKept
kept_after (Saved saved, ExpectPasses passes)
{
  return (ExpectKept){ .gpu = passes.forward * (saved.stays + saved.slices)
                              + passes.input * (saved.whole - saved.slices)
                              - passes.weight * (saved.stays + saved.whole),
                       .host = ((double) passes.forward - passes.input) * saved.host };
}

static ExpectKept
most_kept (const Workload *workload, const Pipeline *pipeline)
{
  g_autofree Saved        *saved = g_new (Saved, pipeline->chunks);
  g_autofree ExpectPasses *passes = g_new (ExpectPasses, pipeline->chunks);
  guint                    stage = workload_stage (workload);
  ExpectKept               most = { 0 };

  for (guint c = 0; c < pipeline->chunks; c++)
    saved[c] = saved_by_chunk (workload, c);
  for (guint moment = 0; expect_passes (pipeline, stage, moment, passes); moment++)
    {
      ExpectKept now = { 0 };

      for (guint c = 0; c < pipeline->chunks; c++)
        {
          ExpectKept kept = kept_after (saved[c], passes[c]);

          now = (ExpectKept){ now.gpu + kept.gpu, now.host + kept.host };
        }
      most = (ExpectKept){ MAX (most.gpu, now.gpu), MAX (most.host, now.host) };
    }
  return most;
}

/* The most that the micro-batches in flight keep at the end of a pass of the stage. */
static ExpectKept
kept_by_stage (const PlanInput *in)
{
  const Pipeline pipeline = pipeline_of (in->workload);
  ExpectKept     kept = { 0 };

  if (expect_sums_find_kept (in, &kept))
    return kept;
  if (pipeline.stages == 1)
    kept = kept_after (saved_by_chunk (in->workload, 0), (ExpectPasses){ .forward = 1 });
  else
    kept = most_kept (in->workload, &pipeline);
  expect_sums_keep_kept (in, kept);
  return kept;
}

/*
 * arXiv:2104.07857, 5.1.2: each checkpoint, or the slice of it, crosses the host link once each
 * way; arXiv:1910.02054, 8: what is shared is gathered once over the tensor ranks. Where gradients
 * come to the host only as checkpoints leave it, the two need not be there at once.
 */
void
plan_expect_checkpoints (const PlanInput *in, double gradients, PlanTotals *totals)
{
  const Workload *workload = in->workload;
  Pipeline        pipeline = pipeline_of (workload);
  double          host, moved = 0, gathered = 0, micros = pipeline_chunk_micros (&pipeline);

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      if (layer->offloaded)
        moved += micros * (double) layer->kept_bytes;
      if (layer->kept_bytes < layer->saved_bytes)
        gathered += micros * (double) layer->kept_bytes * mesh_tensor_columns (&in->mesh).size;
    }
  totals->moves[move_kind (PLACE_HBM, PLACE_PAGEABLE)] += moved;
  totals->moves[move_kind (PLACE_PAGEABLE, PLACE_HBM)] += moved;
  plan_totals_add (totals, COLLECTIVE_ALL_GATHER, mesh_tensor_columns (&in->mesh), gathered);
  host = kept_by_stage (in).host;
  totals->low[PLACE_PAGEABLE] += host - MIN (host, gradients);
  totals->high[PLACE_PAGEABLE] += host;
}

ActivationBounds
activation_bounds (const PlanInput *in)
{
  const Workload  *workload = in->workload;
  guint            n = workload_n_layers (workload);
  gboolean         pipelined = workload_mesh (workload)->pp > 1;
  const LayerDesc *head = workload_layer (workload, n - 1);
  ActivationBounds bounds = { .low = pipelined
                                         ? 0
                                         : (double) (head->backward_bytes + head->held_bytes) };
  guint            held = training_held_outputs (workload_training (workload));
  double           clipped = 0;

  bounds.kept = kept_by_stage (in).gpu;
  for (guint i = 0; i < n; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      double           most = (double) MAX (layer->working_bytes, layer->backward_bytes);

      if (leaves (layer)) /* the slice, and what comes of it */
        most += (double) layer->saved_bytes + (double) layer->kept_bytes;
      bounds.high = MAX (bounds.high, most);
      clipped += (double) layer->clipped_bytes;
    }
  bounds.low = MAX (bounds.low, clipped - bounds.kept);
  bounds.high += (double) head->held_bytes * held + clipped;
  return bounds;
}

/*
 * A pass of a layer holds what it works on and its output; the other pass has either the output of
 * the layer before or that of this one, and of the head its logits where they are held. A loss is 4
 * bytes.
 */
ActivationBounds
perturbed_bounds (const Workload *workload, const Policy *policy)
{
  ActivationBounds bounds = { 0 };
  double           before = 4, others = policy->passes - 1.0;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      double           output = layer->kind == LAYER_HEAD ? 4 : (double) layer->output_bytes;
      double           pass = (double) layer->inference_bytes + output;

      if (layer->kind == LAYER_HEAD)
        pass += others * policy->held_logits * (double) layer->head_bytes;
      bounds.low = MAX (bounds.low, pass);
      bounds.high = MAX (bounds.high, pass + others * MAX (before, output));
      before = output;
    }
  return bounds;
}
