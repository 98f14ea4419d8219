/* The closed form of fully_shard's issue, by arithmetic on the model's totals. */
#include "driver/oracle/expect.h"
#include "driver/policy/pipeline.h"
#include "strategy/compression/compressed.h"
#include "strategy/runtime/fsdp2/issue-fsdp2.h"

/* Where gradients are whole until a step's last micro-step: reduced there, or behind the chunk. */
static gboolean
is_whole (const Policy *policy)
{
  return policy->kinds[0].routes[ROUTE_REDUCE].hops[0].cadence == CADENCE_LAST;
}

/* A table that is read again stays gathered between forward and backward, whatever is said. */
static gboolean
is_shared_table (const Workload *workload, const LayerDesc *layer)
{
  for (guint l = 0; l < workload_n_layers (workload); l++)
    if (layer->kind == LAYER_EMBEDDING && workload_layer (workload, l)->reads_table)
      return TRUE;
  return FALSE;
}

/* By the root's rule the head does, too. */
static gboolean
stays (const Workload *workload, const LayerDesc *layer)
{
  return layer->kind == LAYER_HEAD || is_shared_table (workload, layer);
}

/*
 * How often a unit that does not stay is gathered: for each forward and backward pass or, where it
 * stays from a backward pass until the next forward one, for the chunk's first pass and for each
 * that follows a forward pass. A forward pass is never the chunk's last, so each has one behind it.
 */
static double
gathers (const PlanInput *in, gboolean by_chunks)
{
  return by_chunks ? 1 + expect_micro_steps (in) : 2 * expect_micro_steps (in);
}

/*
 * Of the layers [FIRST, END) elements of KIND that are a byte in what was gathered. Adds the number
 * of their weights to *TENSORS.
 */
static double
narrow_elements (const PlanInput *in, const Policy *policy, guint kind, guint first, guint end,
                 double *tensors)
{
  guint m = policy->kinds[kind].states[STATE_PARAMETERS].group.size;

  if (workload_training (in->workload)->fp8_gather == FP8_GATHER_NONE)
    return 0;
  return expect_narrow (in, first, end, kind, m, tensors);
}

/*
 * Adds weights that are gathered in fp8 so many TIMES, and the search for their scales. They are
 * blocks', of which all stay gathered or none. Returns elements of the compute type that they take
 * less.
 */
static double
add_narrow (const PlanInput *in, const Policy *policy, guint kind, guint first, guint end,
            double times, IssueForm *form)
{
  double   compute = dtype_bytes (policy->compute), tensors = 0;
  double   narrow = narrow_elements (in, policy, kind, first, end, &tensors);
  gboolean once = workload_training (in->workload)->fp8_gather == FP8_GATHER_PRECOMPUTED;

  form->narrow[ROUTE_GATHER][kind] += times * narrow;
  form->scales[kind] += tensors * (once ? 1 : times);
  return narrow * (compute - 1) / compute;
}

/*
 * Adds what CHUNK's units of KIND pass. Returns padded elements that are gathered for long. What
 * goes after a forward use leaves a slice where there is a second copy; the shards are then needed
 * once, in each micro-step or, by chunks, in a step.
 */
static double
add_chunk (const PlanInput *in, const Policy *policy, guint kind, guint chunk, IssueForm *form)
{
  const Fsdp2Issue *issue = policy->issue;
  const UnitPolicy *unit = &policy->kinds[kind];
  gboolean          chunks = is_whole (policy) && in->mesh.stages > 1;
  guint             m = unit->states[STATE_PARAMETERS].group.size, first, end;
  double            micro_steps = expect_micro_steps (in), steps = chunks ? 1 : micro_steps;
  ExpectFilter      staying = issue->reshard_root ? is_shared_table : stays;
  double            all, stay, n = gathers (in, chunks), halves;

  workload_chunk (in->workload, chunk, &first, &end);
  all = expect_padded (in, first, end, unit->format, kind, m, NULL);
  stay = policy->stays ? all : expect_padded (in, first, end, unit->format, kind, m, staying);
  if (unit->copy.group.size > 0)
    {
      form->passed[ROUTE_GATHER][kind] += steps * all;
      form->passed[ROUTE_FILL][kind] += micro_steps * (all - stay);
      form->passed[ROUTE_COPY][kind] += (n - steps) * (all - stay);
    }
  else
    form->passed[ROUTE_GATHER][kind] += steps * stay + n * (all - stay);
  halves = add_narrow (in, policy, kind, first, end, policy->stays ? steps : n, form);
  return chunks || policy->stays ? all - halves : stay;
}

/*
 * Of a chunk's gradients that are kept whole until its last one: those of the largest chunk are
 * there at once, and its parameters where they stay. Of all chunks (LARGEST FALSE): the most that
 * there can be of gradients.
 */
static double
whole_bytes (const PlanInput *in, const Policy *policy, gboolean largest)
{
  guint  reduce = dtype_bytes (policy->kinds[0].routes[ROUTE_REDUCE].hops[0].dtype);
  double most = 0, tensors = 0;

  if (!largest)
    return (double) workload_n_trainable_parameters (in->workload) * reduce;
  for (guint c = 0; c < workload_n_chunks (in->workload); c++)
    {
      double sum = 0;
      guint  first, end;

      workload_chunk (in->workload, c, &first, &end);
      for (guint i = first; i < end; i++)
        {
          const LayerDesc *layer = workload_layer (in->workload, i);

          sum += (double) layer->trainable_elements * reduce;
          sum += policy->stays ? (double) layer->elements * dtype_bytes (policy->compute)
                                     - narrow_elements (in, policy, 0, i, i + 1, &tensors)
                               : 0;
        }
      most = MAX (most, sum);
    }
  return most;
}

/*
 * Whether the replicas of KIND add up shards, all at once or, encoded, in parts that they gather
 * again; and whether they do in the last micro-step alone.
 */
static gboolean
sums_replicas (const UnitPolicy *kind, gboolean *defers)
{
  const PolicyRoute *reduce = &kind->routes[ROUTE_REDUCE];
  gboolean           sums = FALSE;

  for (guint h = 1; h < reduce->n && kind->compressor == NULL; h++)
    if (reduce->hops[h].hop == HOP_COLLECTIVE
        && (reduce->hops[h].kind == COLLECTIVE_ALL_REDUCE
            || reduce->hops[h].kind == COLLECTIVE_ALL_GATHER))
      {
        sums = TRUE;
        *defers = reduce->hops[h].cadence != reduce->hops[0].cadence;
      }
  return sums;
}

/*
 * Of what CHUNK trains: gradients, unless they are on the host, and what replicas have worked in,
 * which stays to the end of the backward pass, unless it is the gradient: of its type, and the
 * first of the step.
 */
static double
reduced_bytes_of (const PlanInput *in, const Policy *policy, guint chunk, gboolean gradients)
{
  double sum = 0;
  guint  first, end;

  workload_chunk (in->workload, chunk, &first, &end);
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const UnitPolicy  *kind = &policy->kinds[k];
      const PolicyState *state = &kind->states[STATE_GRADIENTS];
      guint              reduce = dtype_bytes (kind->routes[ROUTE_REDUCE].hops[0].dtype);
      gboolean           defers = FALSE, sums = sums_replicas (kind, &defers);
      gboolean           once = defers || is_whole (policy) || expect_micro_steps (in) == 1;
      double share = expect_padded_trainable (in, first, end, kind->format, k, state->group.size)
                     / state->group.size;

      if (gradients && state->home == PLACE_HBM)
        sum += share * policy_state_bytes (state);
      if (sums && (state->home != PLACE_HBM || reduce != policy_state_bytes (state) || !once))
        sum += share * reduce;
    }
  return sum;
}

/* The most of it when a chunk's backward pass ends; of all chunks (TOGETHER) the most there is. */
static double
reduced_bytes (const PlanInput *in, const Policy *policy, gboolean together)
{
  double most = 0, sum = 0;

  for (guint c = 0; c < workload_n_chunks (in->workload); c++)
    {
      most = MAX (most, reduced_bytes_of (in, policy, c, TRUE));
      sum += reduced_bytes_of (in, policy, c, FALSE);
    }
  return together ? sum : most;
}

/* Units that are gathered ahead of their turn at most. */
static double
depth_of (const PlanInput *in, const Policy *policy)
{
  const Fsdp2Issue *issue = policy->issue;
  gint64            depth = MAX (MAX (issue->forward_modules, issue->backward_modules), 1);

  return (double) MIN (depth, 2 * (gint64) workload_n_layers (in->workload));
}

/*
 * The shard is copied in between its way to the GPU and its gathering; the gradient is cast between
 * its reduction in the shard group, over the replicas, and its way to the host. Two units are
 * gathered, and one is reduced, at a time.
 */
static void
add_passing (const PlanInput *in, const Policy *policy, guint kind, double unit, IssueForm *form)
{
  const UnitPolicy  *of = &policy->kinds[kind];
  const PolicyRoute *reduce = &of->routes[ROUTE_REDUCE], *gather = &of->routes[ROUTE_GATHER];
  double             units = 2.0 * workload_n_layers (in->workload); /* experts part a layer's */

  for (guint h = 0; h < gather->n; h++)
    if (h > 0 && gather->hops[h].hop != gather->hops[h - 1].hop)
      form->plain_before[ROUTE_GATHER][kind] |= 1u << h;
  for (guint h = 0; h < reduce->n; h++)
    if (h > 0 && (reduce->hops[h].hop == HOP_MOVE || h == policy_n_scatters (reduce)))
      form->plain_before[ROUTE_REDUCE][kind] |= 1u << h;
  form->walks[ROUTE_GATHER][kind] = 2 * expect_micro_steps (in) * units;
  form->walks[ROUTE_COPY][kind] = form->walks[ROUTE_FILL][kind] = form->walks[ROUTE_GATHER][kind];
  form->walks[ROUTE_REDUCE][kind] = units;
  expect_passing (of, ROUTE_GATHER, 2 * unit, 2, gather->n > 2, form->passing);
  expect_passing (of, ROUTE_COPY, 2 * unit, 2, FALSE, form->passing);
  expect_passing (of, ROUTE_REDUCE, unit, 1, reduce->n > 3, form->passing);
}

/* Bytes of slices when a backward pass begins: of all units, a part on each rank. */
static double
slice_bytes (const PlanInput *in, const Policy *policy, const IssueForm *form)
{
  double sum = 0;

  for (guint k = 0; k < policy->n_kinds; k++)
    if (policy->kinds[k].copy.group.size > 0)
      sum += form->passed[ROUTE_FILL][k] / expect_micro_steps (in)
             / policy->kinds[k].copy.group.size * policy_state_bytes (&policy->kinds[k].copy);
  return sum;
}

/*
 * With shards on the host: those that come and one that goes are on the GPU. Gradients of later
 * micro-steps come to memory of their own on the host, a unit's at a time, which then adds them up:
 * the largest unit's, which experts that are spread over ranks part.
 */
static void
add_offload (const PlanInput *in, const Policy *policy, double unit, IssueForm *form)
{
  const PolicyState *home = &policy->kinds[0].states[STATE_PARAMETERS];
  double             trained = expect_largest_trainable (in, policy), most = 0;

  form->high += (2 + depth_of (in, policy)) * unit / home->group.size * policy_state_bytes (home);
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      const PolicyState *gradients = &policy->kinds[k].states[STATE_GRADIENTS];
      const PolicyRoute *reduce = &policy->kinds[k].routes[ROUTE_REDUCE];
      gboolean           last = reduce->hops[reduce->n - 1].cadence == CADENCE_LAST;
      double             later = last ? 0 : expect_micro_steps (in) - 1;

      if (later == 0)
        continue;
      form->host_sums += later * form->passed[ROUTE_REDUCE][k] / gradients->group.size;
      most = MAX (most, trained / gradients->group.size * policy_state_bytes (gradients));
    }
  if (home->home == PLACE_PINNED && policy->n_kinds == 1)
    form->host += most;
  else
    form->passing[home->home] += most;
}

/*
 * Bytes: Zhao et al., arXiv:2304.11277, 3.2.2. Peak: what stays, with its padding, and slices of
 * what does not, all of it when the last unit's backward pass begins; beyond it, in host order,
 * units in compute precision (the one that is used, those gathered ahead and, forward, the one
 * before held until it is copied out; shards that the copy puts together aside; the gradient of the
 * one that is used) and of two others the reduction's input and output. When the backward pass
 * ends, all gradients are there, and what replicas have worked in.
 */
void
fsdp2_form (const PlanInput *in, const Policy *policy, IssueForm *form)
{
  const PolicyRoute *reduce = &policy->kinds[0].routes[ROUTE_REDUCE];
  const PolicyState *home = &policy->kinds[0].states[STATE_PARAMETERS];
  double             unit = expect_largest (in, policy, UNIT_LAYER), kept = 0;
  double             depth = depth_of (in, policy), slices;
  const ShardFormat *format = policy->kinds[0].format;
  double             in_place = shard_format_is_in_place (format) ? 1 : 0;
  double             aside = format->strided != NULL ? 1 : 0;

  for (guint k = 0; k < policy->n_kinds; k++)
    {
      for (guint c = 0; c < workload_n_chunks (in->workload); c++)
        kept += add_chunk (in, policy, k, c, form);
      form->passed[ROUTE_REDUCE][k] = expect_trainable_padded (
          in, &policy->kinds[k], k, policy->kinds[k].states[STATE_PARAMETERS].group.size);
      add_passing (in, policy, k, unit, form);
    }
  slices = slice_bytes (in, policy, form);
  form->high = (kept + (3 + depth + aside - in_place) * unit) * dtype_bytes (policy->compute)
               + (4 - in_place) * unit * dtype_bytes (reduce->hops[0].dtype) + slices;
  form->low = in->mesh.stages > 1 ? 0 : kept * dtype_bytes (policy->compute) + slices;
  if (is_whole (policy) && (in->mesh.stages > 1 || expect_micro_steps (in) > 1))
    {
      form->low = MAX (form->low, whole_bytes (in, policy, TRUE));
      form->high += whole_bytes (in, policy, FALSE);
    }
  form->low = MAX (form->low, reduced_bytes (in, policy, FALSE));
  form->high += reduced_bytes (in, policy, TRUE);
  form->clip_passes = 2; /* the norm, then the scaling */
  if (home->home != PLACE_HBM)
    add_offload (in, policy, unit, form);
  compressed_form (in, policy, unit, form);
}
