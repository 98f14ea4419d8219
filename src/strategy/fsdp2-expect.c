/* Closed forms of FSDP2, by arithmetic on the model's totals. */
#include "strategy/fsdp2.h"

/*
 * Padded elements of what stays gathered between forward and backward in FIRST to END, so that no
 * backward all-gather is due.
 */
static guint64
expect_stays (const Workload *workload, guint first, guint end, guint m)
{
  guint64 sum = 0;

  for (guint i = first; i < end; i++)
    {
      const LayerDesc *layer = workload_layer (workload, i);

      if (fsdp2_stays (workload, layer))
        sum += padded_rows (layer->tensors, layer->n_tensors, m);
    }
  return sum;
}

/*
 * How often a unit that does not stay is gathered: for each forward and backward pass or, on a
 * pipeline stage, for each that follows a forward pass of its chunk.
 */
static guint
expect_gathers (const Workload *workload, guint chunk)
{
  Pipeline           pipeline = pipeline_of (workload);
  g_autoptr (GArray) slots = NULL;
  gboolean           there = FALSE;
  guint              n = 0;

  if (pipeline.stages == 1)
    return 2 * pipeline.micros;
  slots = pipeline_slots (&pipeline, workload_stage (workload));
  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);

      if (slot->chunk != chunk || slot->pass == PASS_WEIGHT)
        continue;
      n += !there;
      there = slot->pass != PASS_FORWARD;
    }
  return n;
}

/* Bytes of one kind of unit, each tensor padded. Adds its elements to PADDED and KEPT. */
static void
expect_traffic (const PlanInput *in, const Fsdp2Options *o, const ShardGroups *groups, guint kind,
                PlanTotals *totals, double *padded, double *kept)
{
  const TrainingOptions *training = workload_training (in->workload);
  guint                  m = groups->shard.size, first, end;
  guint                  compute = state_bytes (training).compute, reduce = reduce_bytes (training);
  gboolean               pipelined = in->mesh.stages > 1;
  double                 reductions = pipelined ? 1 : (double) training->grad_accum;
  double                 master = o->cpu_offload ? (double) state_bytes (training).master / m : 0;

  for (guint c = 0; c < workload_n_chunks (in->workload); c++)
    {
      double all, stay, gathered;

      workload_chunk (in->workload, c, &first, &end);
      all = (double) layers_padded (in->workload, first, end, padded_rows, kind, m);
      stay = !fsdp2_reshards (in, o) ? all
             : kind == 0             ? (double) expect_stays (in->workload, first, end, m)
                                     : 0;
      gathered = reductions * stay + expect_gathers (in->workload, c) * (all - stay);
      plan_totals_add (totals, COLLECTIVE_ALL_GATHER, groups->shard, compute * gathered);
      plan_totals_add (totals, COLLECTIVE_REDUCE_SCATTER, groups->shard, reductions * reduce * all);
      plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, groups->replica,
                       reductions * reduce * all / m);
      /* A shard comes from the host before it is gathered, and goes there when it is reduced. */
      totals->copies[COPY_FROM_HOST] += master * gathered;
      totals->copies[COPY_TO_HOST] += master * reductions * all;
      *padded += all;
      *kept += pipelined ? all : stay;
    }
}

/*
 * A stage holds a chunk's gradients whole before they are reduced, and its parameters where they
 * stay.
 */
static double
expect_whole (const PlanInput *in, const Fsdp2Options *o, gboolean largest)
{
  const TrainingOptions *training = workload_training (in->workload);
  guint                  held = reduce_bytes (training), first, end;
  double                 most = 0;

  if (in->mesh.stages <= 1)
    return 0;
  if (largest)
    return (double) workload_n_parameters (in->workload) * held;
  held += fsdp2_reshards (in, o) ? 0 : state_bytes (training).compute;
  for (guint c = 0; c < workload_n_chunks (in->workload); c++)
    {
      double sum = 0;

      workload_chunk (in->workload, c, &first, &end);
      for (guint i = first; i < end; i++)
        sum += (double) workload_layer (in->workload, i)->elements;
      most = MAX (most, sum);
    }
  return most * held;
}

/* Room for the padding of rows: a row of each tensor of a unit for each member. */
static double
expect_slack (const Workload *workload, guint m)
{
  guint most = 0;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    most = MAX (most, workload_layer (workload, i)->n_tensors);
  return (double) m * most;
}

/* Bytes: Zhao et al., arXiv:2304.11277, 3.2.2; memory: the lifetimes of the runtime's buffers. */
gboolean
fsdp2_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  const Fsdp2Options    *o = opt;
  const TrainingOptions *training = workload_training (in->workload);
  StateBytes             bytes = state_bytes (training);
  ActivationBounds       activations = activation_bounds (in->workload);
  double                 shard = (double) fsdp2_resident (in, opt), padded = 0, kept = 0, unit;
  double      states = shard * (bytes.master + bytes.moments), gradients = shard * bytes.master;
  ShardGroups groups[2];

  unit_groups (&in->mesh, o->shard, groups, NULL);
  for (guint kind = 0; kind < (in->mesh.experts > 1 ? 2 : 1); kind++)
    expect_traffic (in, o, &groups[kind], kind, totals, &padded, &kept);
  if (!o->cpu_offload)
    expect_optimizer (in, groups[0].shard, totals);
  totals->flops += expected_flops (in);
  /*
   * Shards of parameters and optimizer are always there; gradients and two or three units' buffers
   * come on top.
   */
  unit = (double) largest_unit (in->workload, UNIT_LAYER)
         + expect_slack (in->workload, groups[0].shard.size);
  if (o->cpu_offload)
    {
      totals->host_low += states + gradients;
      totals->host_high += states + gradients;
      states = 0;
      gradients = 3 * unit * bytes.master; /* on their way: two shards that come, one that goes */
    }
  totals->states += states;
  totals->hbm_low += states + MAX (activations.kept + activations.low, expect_whole (in, o, FALSE));
  totals->hbm_high +=
      states + gradients + activations.kept + activations.high + expect_whole (in, o, TRUE)
      + (kept + 4 * (padded - (double) workload_n_parameters (in->workload) + unit)) * bytes.compute
      + 4 * unit * reduce_bytes (training);
  return TRUE;
}
