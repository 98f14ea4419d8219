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
expect_modules (const PlanInput *in)
{
  double n = 0;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    n += workload_layer (in->workload, l)->n_modules;
  return n;
}

static double
sum_products (const KernelDesc *kernels, guint n)
{
  double sum = 0;

  for (guint k = 0; k < n; k++)
    if (kernel_desc_is_product (&kernels[k]))
      sum += kernels[k].flops;
  return sum;
}

/* Products of the layers of CHUNK in a micro-step of WORKLOAD; FORWARD: of that pass alone. */
static double
products_of_chunk (const Workload *workload, guint chunk, gboolean forward)
{
  double sum = 0;
  guint  i, end;

  for (workload_chunk (workload, chunk, &i, &end); i < end; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      sum += sum_products (layer->forward, layer->n_forward);
      if (!forward)
        sum += sum_products (layer->recompute, layer->n_recompute)
               + sum_products (layer->backward, layer->n_backward);
    }
  return sum;
}

static double
products_of_step (const PlanInput *in, gboolean forward)
{
  double    sum = 0;
  ExpectRun run;

  for (guint c = 0; c < workload_n_chunks (in->workload); c++)
    for (guint i = 0; expect_run (in, c, i, &run); i++)
      sum += run.times * products_of_chunk (run.workload, c, forward);
  return sum;
}

double
expect_flops (const PlanInput *in)
{
  if (in->batches != NULL)
    return products_of_step (in, FALSE);
  return workload_matrix_flops (in->workload)
         * (double) workload_training (in->workload)->grad_accum;
}

double
expect_forward_flops (const PlanInput *in)
{
  return products_of_step (in, TRUE);
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

/* What the first 0, 1, 2, ... micro-steps of CHUNK save together. */
static GArray *
saved_sums (const PlanInput *in, guint chunk)
{
  GArray   *sums = g_array_new (FALSE, TRUE, sizeof (Saved));
  Saved     sum = { 0 };
  ExpectRun run;

  g_array_append_val (sums, sum);
  for (guint i = 0; expect_run (in, chunk, i, &run); i++)
    {
      const Saved one = saved_by_chunk (run.workload, chunk);

      for (guint k = 0; k < (guint) run.times; k++)
        {
          sum = (Saved){ sum.stays + one.stays, sum.slices + one.slices, sum.host + one.host,
                         sum.whole + one.whole };
          g_array_append_val (sums, sum);
        }
    }
  return sums;
}

/*
 * What PASSES of a chunk have left in GPU memory and on the host, of micro-batches in turn whose
 * SUMS these are. A checkpoint that came back for one half of a split backward pass stays for the
 * other.
 */
static ExpectKept
kept_after (const GArray *sums, ExpectPasses passes)
{
  const Saved forward = g_array_index (sums, Saved, passes.forward);
  const Saved input = g_array_index (sums, Saved, passes.input);
  const Saved weight = g_array_index (sums, Saved, passes.weight);

  return (ExpectKept){ .gpu = forward.stays + forward.slices + (input.whole - input.slices)
                              - (weight.stays + weight.whole),
                       .host = forward.host - input.host };
}

static ExpectKept
kept_max (ExpectKept a, ExpectKept b)
{
  return (ExpectKept){ MAX (a.gpu, b.gpu), MAX (a.host, b.host) };
}

static ExpectKept
most_kept (const PlanInput *in, const Pipeline *pipeline)
{
  g_autofree ExpectPasses *passes = g_new (ExpectPasses, pipeline->chunks);
  g_autoptr (GPtrArray)    sums = g_ptr_array_new_with_free_func ((GDestroyNotify) g_array_unref);
  guint                    stage = workload_stage (in->workload);
  ExpectKept               most = { 0 };

  for (guint c = 0; c < pipeline->chunks; c++)
    g_ptr_array_add (sums, saved_sums (in, c));
  for (guint moment = 0; expect_passes (pipeline, stage, moment, passes); moment++)
    {
      ExpectKept now = { 0 };

      for (guint c = 0; c < pipeline->chunks; c++)
        {
          ExpectKept kept = kept_after (g_ptr_array_index (sums, c), passes[c]);

          now = (ExpectKept){ now.gpu + kept.gpu, now.host + kept.host };
        }
      most = kept_max (most, now);
    }
  return most;
}

/* A stage alone goes back as soon as a micro-batch has gone forward. */
static ExpectKept
kept_by_run (const Workload *workload)
{
  const Saved saved = saved_by_chunk (workload, 0);

  return (ExpectKept){ saved.stays + saved.slices, saved.host };
}

/* The most that the micro-batches in flight keep at the end of a pass of the stage. */
static ExpectKept
kept_by_stage (const PlanInput *in)
{
  const Pipeline pipeline = pipeline_of (in->workload);
  ExpectKept     kept = { 0 };
  ExpectRun      run;

  if (in->batches == NULL && expect_sums_find_kept (in, &kept))
    return kept;
  if (pipeline.stages > 1)
    kept = most_kept (in, &pipeline);
  else
    for (guint i = 0; expect_run (in, 0, i, &run); i++)
      kept = kept_max (kept, kept_by_run (run.workload));
  if (in->batches == NULL)
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
  const guint tp = mesh_tensor_columns (&in->mesh).size;
  double      host, moved = 0, gathered = 0;
  ExpectRun   run;

  for (guint c = 0; c < workload_n_chunks (in->workload); c++)
    for (guint i = 0; expect_run (in, c, i, &run); i++)
      {
        guint l, end;

        for (workload_chunk (run.workload, c, &l, &end); l < end; l++)
          {
            const LayerDesc *layer = workload_layer (run.workload, l);

            if (layer->offloaded)
              moved += run.times * (double) layer->kept_bytes;
            if (layer->kept_bytes < layer->saved_bytes)
              gathered += run.times * (double) layer->kept_bytes * tp;
          }
      }
  totals->moves[move_kind (PLACE_HBM, PLACE_PAGEABLE)] += moved;
  totals->moves[move_kind (PLACE_PAGEABLE, PLACE_HBM)] += moved;
  plan_totals_add (totals, COLLECTIVE_ALL_GATHER, mesh_tensor_columns (&in->mesh), gathered);
  host = kept_by_stage (in).host;
  totals->low[PLACE_PAGEABLE] += host - MIN (host, gradients);
  totals->high[PLACE_PAGEABLE] += host;
}

/*
 * The transient of one micro-batch of WORKLOAD: `kept` on top of which `low` is there at the head's
 * backward where there is one stage; `high` of a layer, and HELD on top of it.
 */
static ActivationBounds
bounds_of_run (const Workload *workload, gboolean pipelined, double *held)
{
  guint            n = workload_n_layers (workload);
  const LayerDesc *head = workload_layer (workload, n - 1);
  ActivationBounds bounds = { .low = pipelined ? 0
                                               : (double) (head->backward_bytes + head->held_bytes),
                              .kept = pipelined ? 0 : kept_by_run (workload).gpu };
  double           clipped = 0;

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
  *held =
      (double) head->held_bytes * training_held_outputs (workload_training (workload)) + clipped;
  return bounds;
}

ActivationBounds
activation_bounds (const PlanInput *in)
{
  const gboolean   pipelined = workload_mesh (in->workload)->pp > 1;
  ActivationBounds bounds = { .kept = kept_by_stage (in).gpu };
  double           low = 0, held = 0;
  ExpectRun        run;

  for (guint c = 0; c < workload_n_chunks (in->workload); c++)
    for (guint i = 0; expect_run (in, c, i, &run); i++)
      {
        double                 of_run = 0;
        const ActivationBounds one = bounds_of_run (run.workload, pipelined, &of_run);

        low = MAX (low, one.kept + one.low);
        bounds.high = MAX (bounds.high, one.high);
        held = MAX (held, of_run);
      }
  bounds.low = MAX (low - bounds.kept, 0);
  bounds.high += held;
  return bounds;
}

/*
 * A pass of a layer holds what it works on and its output; the other pass has either the output of
 * the layer before or that of this one, and of the head its logits where they are held. A loss is 4
 * bytes.
 */
static ActivationBounds
perturbed_by_run (const Workload *workload, const Policy *policy)
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

ActivationBounds
perturbed_bounds (const PlanInput *in, const Policy *policy)
{
  ActivationBounds bounds = { 0 };
  ExpectRun        run;

  for (guint i = 0; expect_run (in, 0, i, &run); i++)
    {
      const ActivationBounds one = perturbed_by_run (run.workload, policy);

      bounds.low = MAX (bounds.low, one.low);
      bounds.high = MAX (bounds.high, one.high);
    }
  return bounds;
}
