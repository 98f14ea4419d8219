/*
 * Closed forms of what the axes of the mesh add to a strategy's own: a layer's collectives once for
 * each pass of a micro-batch, the messages at both ends of each chunk, and gradients that several
 * ranks share.
 */
#include "driver/oracle/expect-private.h"

/* ---- collectives of layers ------------------------------------------------------------------- */

static void
add_kernels (const PlanInput *in, const KernelDesc *kernels, guint n, double times,
             PlanTotals *totals)
{
  for (guint k = 0; k < n; k++)
    if (kernels[k].kind == KERNEL_COMMUNICATION)
      plan_totals_add (totals, kernels[k].comm, plan_kernel_group (in, &kernels[k]),
                       times * (double) (guint64) kernels[k].read_bytes);
}

/*
 * Of the layers of CHUNK in RUN. PASSES: of perturbed steps, which are forward passes alone; else
 * 0.
 */
static void
add_layers (const PlanInput *in, const ExpectRun *run, guint chunk, guint passes,
            PlanTotals *totals)
{
  guint i, end;

  workload_chunk (run->workload, chunk, &i, &end);
  while (i < end)
    {
      const LayerDesc *layer = workload_layer (run->workload, i);
      const guint      first = i;

      while (i < end && workload_layer (run->workload, i) == layer)
        i++;
      add_kernels (in, layer->forward, layer->n_forward, MAX (passes, 1) * run->times * (i - first),
                   totals);
      if (passes > 0)
        continue;
      add_kernels (in, layer->recompute, layer->n_recompute, run->times * (i - first), totals);
      add_kernels (in, layer->backward, layer->n_backward, run->times * (i - first), totals);
    }
}

/* ---- messages -------------------------------------------------------------------------------- */

static double
boundary_bytes (const Workload *const *stages, PipelinePlace place)
{
  const Workload *workload = stages[place.stage];
  guint           first, end;

  workload_chunk (workload, place.chunk, &first, &end);
  return (double) workload_layer (workload, end - 1)->output_bytes;
}

/* BYTES pass TIMES each way: a part of them where tensor ranks share them out. */
static void
add_message (const PlanInput *in, double bytes, double times, PlanTotals *totals)
{
  guint   tp = plan_scatters (in->workload) ? mesh_tensor_columns (&in->mesh).size : 1;
  guint64 share = ((guint64) bytes + tp - 1) / tp;
  double  part = (double) share;

  plan_totals_add (totals, COLLECTIVE_SEND_RECV, mesh_stages (&in->mesh), times * part);
  if (plan_scatters (in->workload))
    plan_totals_add (totals, COLLECTIVE_ALL_GATHER, mesh_tensor_columns (&in->mesh),
                     times * part * tp);
}

/* One end of CHUNK, where the outputs of PLACE pass, its own or those of the chunk before. */
static void
add_boundary (const PlanInput *in, guint chunk, PipelinePlace place, PlanTotals *totals)
{
  ExpectRun run;

  for (guint i = 0; expect_run (in, chunk, i, &run); i++)
    add_message (in, boundary_bytes (run.stages, place), run.times, totals);
  /* received, put together, and two on their way out */
  totals->high[PLACE_HBM] += 4 * boundary_bytes (in->stages, place);
}

/*
 * What comes from the other end of an interleaved pipeline waits until the rest of its group has
 * gone through the chunk before: activations on the first stage, gradients on the last.
 */
static void
add_waiting (const PlanInput *in, const Pipeline *pipeline, PlanTotals *totals)
{
  guint stage = workload_stage (in->workload), last = pipeline->stages - 1;
  guint n = pipeline_group_size (pipeline);

  if (pipeline->kind == PIPELINE_INTERLEAVED && n > pipeline->stages
      && (stage == 0 || stage == last))
    totals->high[PLACE_HBM] +=
        (n - pipeline->stages) * boundary_bytes (in->stages, (PipelinePlace){ last, 0 });
}

static void
add_messages (const PlanInput *in, const Pipeline *pipeline, PlanTotals *totals)
{
  guint stage = workload_stage (in->workload);

  add_waiting (in, pipeline, totals);
  for (guint c = 0; c < pipeline->chunks; c++)
    {
      PipelinePlace at = { stage, c }, other;

      if (pipeline_next (pipeline, at, &other) && other.stage != stage)
        {
          add_boundary (in, c, at, totals);
          /* Outputs stay until their backward pass: as many as micro-batches in flight. */
          if (!workload_mesh (in->workload)->deallocate_pipeline_outputs)
            totals->high[PLACE_HBM] +=
                expect_in_flight (pipeline, at.stage) * boundary_bytes (in->stages, at);
        }
      if (pipeline_previous (pipeline, at, &other) && other.stage != stage)
        add_boundary (in, c, other, totals);
    }
}

/* ---- shared gradients ------------------------------------------------------------------------ */

static double
shared_bytes (guint64 elements, PlanGradient held)
{
  guint64 part = (elements + held.ranks - 1) / held.ranks;

  return (double) (part * dtype_bytes (held.dtype));
}

static void
add_exchange (const PlanInput *in, double bytes, PlanTotals *totals)
{
  plan_totals_add (totals, COLLECTIVE_SEND_RECV, mesh_stages (&in->mesh), bytes);
  totals->high[PLACE_HBM] += bytes;
}

/*
 * With sequence parallelism each tensor rank sees a part of the tokens, so what is whole on all of
 * them has partial gradients there. Equal layers are counted once.
 */
static double
partial_elements (const Workload *workload)
{
  guint  n = workload_n_layers (workload);
  double sum = 0;

  if (!workload_mesh (workload)->sp)
    return 0;
  for (guint i = 0, end; i < n; i = end)
    {
      const LayerDesc *layer = workload_layer (workload, i);
      double           of_layer = 0;

      for (end = i + 1; end < n && workload_layer (workload, end) == layer; end++)
        ;
      for (const TensorDesc *t = layer->tensors; t < layer->tensors + layer->n_tensors; t++)
        of_layer += t->replicated && !t->frozen ? (double) t->elements : 0;
      sum += (end - i) * of_layer;
    }
  return sum;
}

void
plan_expect_mesh (const PlanInput *in, PlanGradient held, guint passes, PlanTotals *totals)
{
  Pipeline  pipeline = pipeline_of (in->workload);
  ExpectRun run;

  for (guint c = 0; c < pipeline.chunks; c++)
    for (guint i = 0; expect_run (in, c, i, &run); i++)
      add_layers (in, &run, c, passes, totals);
  if (pipeline.stages > 1)
    add_messages (in, &pipeline, totals);
  if (passes == 0)
    {
      plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, mesh_tensor_columns (&in->mesh),
                       shared_bytes ((guint64) partial_elements (in->workload), held));
      if (pipeline.stages != 1)
        {
          for (guint l = 0; l < workload_n_layers (in->workload); l++)
            add_exchange (in, shared_bytes (workload_layer (in->workload, l)->tied_elements, held),
                          totals);
          if (pipeline.kind == PIPELINE_DUALPIPE)
            add_exchange (in, shared_bytes (workload_n_trainable_parameters (in->workload), held),
                          totals);
        }
    }
}
