/* The closed form of DeepSpeed's coordinator: memory, routes and what lives off the GPU. */
#include <math.h>

#include "driver/oracle/expect.h"
#include "strategy/compression/compressed.h"
#include "strategy/runtime/deepspeed/issue-deepspeed-form-private.h"
#include "strategy/runtime/deepspeed/issue-deepspeed.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* The most that padding for M ranks makes of an element of a tensor larger than ABOVE. */
static double
worst_padding (const PlanInput *in, const ShardFormat *format, guint m, guint64 above)
{
  double worst = 1;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      const LayerDesc *layer = workload_layer (in->workload, l);

      for (guint t = 0; t < layer->n_tensors; t++)
        if (layer->tensors[t].elements > above)
          worst = MAX (worst, format->formula (&layer->tensors[t], 1, m)
                                  / (double) layer->tensors[t].elements);
    }
  return worst;
}

/* The same of what is gathered, from the shards or from the second copy. */
static double
gathered_padding (const PlanInput *in, const Policy *policy)
{
  const UnitPolicy *kind = &policy->kinds[0];
  guint             m = kind->states[STATE_PARAMETERS].group.size;

  return MAX (
      worst_padding (in, kind->format, m, policy->whole_below),
      worst_padding (in, kind->format, MAX (kind->copy.group.size, 1), policy->whole_below));
}

/*
 * Gathered elements at once: each module is there once at most. What reuse keeps at any time was
 * used within the distance, after at most one module more. The prefetcher gathers while fewer than
 * max_live_parameters are there, and ends with a module. Then there is the module that is used.
 */
static double
gathered_at_once (const PlanInput *in, const Policy *policy, double all, double module)
{
  const DeepspeedIssue *o = policy->issue;
  double                kept = o->reuse == REUSE_PAPER ? expect_largest (in, policy, UNIT_LAYER)
                                                       : (double) o->max_reuse_distance;
  /* beside them a table that stays */
  guint modules = workload_training (in->workload)->traits.keeps_table ? 4 : 3;

  return MIN (all, gathered_padding (in, policy)
                       * (kept + (double) o->max_live_parameters + modules * module));
}

/*
 * Elements in buffers that several tensors came in, beside the parameters that were copied out of
 * them: what is on its way is in its buffer alone. A buffer is copied out of when the first of its
 * tensors is used and goes with the last; fetches are used in order, so that one is in between, and
 * what the module that is used was gathered in. The prefetcher ends one with a module.
 */
static double
flat_at_once (const PlanInput *in, const Policy *policy, double all, double module)
{
  const DeepspeedIssue *o = policy->issue;
  double                one, slack;

  if (workload_training (in->workload)->traits.first_coordinator)
    return 0;
  one = (double) MIN (o->prefetch_bucket_size, o->max_live_parameters) + 2 * module;
  slack = all - deepspeed_gathers (in, policy, 1, 0).all.once; /* all padding that there is */
  return MIN (all, MIN (gathered_padding (in, policy) * one, one + slack));
}

static gboolean
is_of_uses (PolicyRouteKind route)
{
  return route == ROUTE_GATHER || route == ROUTE_FROZEN || route == ROUTE_COPY
         || route == ROUTE_KEPT;
}

/* Shards from drives and gradients to them pass buffers that stand for ever: add_offload. */
static gboolean
leads_to_drives (const UnitPolicy *kind, PolicyRouteKind route)
{
  return (route == ROUTE_GATHER && kind->states[STATE_PARAMETERS].home == PLACE_NVME)
         || (route == ROUTE_STORE && kind->states[STATE_OPTIMIZER].home == PLACE_NVME);
}

/* Elements of gradients that are reduced at once, at most: a bucket, or a module beyond it. */
static double
reduced_at_once (const PlanInput *in, const Policy *policy)
{
  double bucket = (double) ((const DeepspeedIssue *) policy->issue)->reduce_bucket_size;
  guint  m = policy->kinds[0].states[STATE_PARAMETERS].group.size;

  return MIN (expect_all_padded (in, &policy->kinds[0], 0, m),
              MAX (bucket, expect_largest (in, policy, UNIT_MODULE)));
}

/*
 * Each use brings a tensor by one route alone: at most what the route that needs most holds for
 * ELEMENTS, and for what is not full at the ends of all walks.
 */
static void
add_uses_passing (const PlanInput *in, const Policy *policy, double elements, double *passing,
                  double *buffered)
{
  const UnitPolicy *kind = &policy->kinds[0];
  double            most[2][2][PLACE_N] = { 0 }; /* by buffers that stand; of elements, of walks */

  for (guint r = 0; r < ROUTE_N; r++)
    for (guint of = 0; of < 2 && is_of_uses ((PolicyRouteKind) r); of++)
      {
        double  held[PLACE_N] = { 0 };
        double *largest = most[leads_to_drives (kind, (PolicyRouteKind) r)][of];

        expect_passing (kind, (PolicyRouteKind) r, of == 0 ? elements : 0,
                        of == 0 ? 0 : expect_modules (in), TRUE, held);
        for (Place place = 0; place < PLACE_N; place++)
          largest[place] = MAX (largest[place], held[place]);
      }
  for (Place place = 0; place < PLACE_N; place++)
    {
      passing[place] += most[FALSE][0][place] + most[FALSE][1][place];
      buffered[place] += most[TRUE][0][place] + most[TRUE][1][place];
    }
}

/*
 * Beyond the states: what is gathered, and the buffers that it came in (encoded, too; and its
 * slices on their way from the second copy); the
 * gradient of the module that is used, one that was too large for the bucket, and the reduction's
 * input, padded. Or, in the optimizer, a sub-group's gradient in fp32.
 */
static double
most_bytes (const PlanInput *in, const Policy *policy, double once, IssueForm *form)
{
  const DeepspeedIssue *o = policy->issue;
  const UnitPolicy     *kind = &policy->kinds[0];
  guint                 m = kind->states[STATE_PARAMETERS].group.size;
  double                all = expect_all_padded (in, kind, 0, m), shard_elements = all / m;
  double                module = expect_largest (in, policy, UNIT_MODULE);
  double                gathered = gathered_at_once (in, policy, once, module);
  double                padding = worst_padding (in, kind->format, m, 0);
  double                bucket = MIN (all, padding * reduced_at_once (in, policy));
  guint                 layers = workload_n_layers (in->workload);
  guint  tied = workload_layer (in->workload, layers - 1)->reads_table ? 1 : 0; /* its gradient */
  double flat = flat_at_once (in, policy, once, module);
  double backward = (gathered + flat + (2 + tied) * module) * dtype_bytes (policy->compute)
                    + bucket * dtype_bytes (kind->routes[ROUTE_REDUCE].hops[0].dtype);
  double passing[PLACE_N] = { 0 };
  double buffered[PLACE_N] = { 0 }; /* by buffers that stand: what is in pinned memory is there */

  for (guint r = 0; r < ROUTE_N; r++)
    if (!is_of_uses ((PolicyRouteKind) r))
      expect_passing (kind, (PolicyRouteKind) r,
                      r == ROUTE_REDUCE || r == ROUTE_REST ? bucket
                      : r == ROUTE_FILL || r == ROUTE_KEEP ? padding * module
                                                           : all,
                      expect_modules (in), TRUE,
                      leads_to_drives (kind, (PolicyRouteKind) r) ? buffered : passing);
  add_uses_passing (in, policy, gathered + flat, passing, buffered);
  passing[PLACE_HBM] += buffered[PLACE_HBM];
  for (Place place = PLACE_PINNED; place < PLACE_N; place++)
    form->passing[place] = passing[place];
  backward += passing[PLACE_HBM];
  for (guint h = 1; h < kind->routes[ROUTE_REDUCE].n; h++) /* shards that are cast to be added up */
    if (kind->routes[ROUTE_REDUCE].hops[h].cadence == CADENCE_LAST)
      {
        backward += bucket / m * dtype_bytes (kind->routes[ROUTE_REDUCE].hops[h].dtype);
        break;
      }
  return MAX (backward, MIN (shard_elements, (double) o->sub_group_size) * 4);
}

/* ---- host memory and drives ------------------------------------------------------------------ */

/* What each tensor's shard takes as a pinned block of its own; those that are whole have none. */
static double
first_shards (const PlanInput *in, const Policy *policy)
{
  const UnitPolicy *kind = &policy->kinds[0];
  guint             m = kind->states[STATE_PARAMETERS].group.size;
  double            sum = 0;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      const LayerDesc *layer = workload_layer (in->workload, l);

      for (guint t = 0; t < layer->n_tensors; t++)
        if (layer->tensors[t].elements > policy->whole_below)
          {
            double bytes = kind->format->formula (&layer->tensors[t], 1, m) / m
                           * dtype_bytes (policy->compute);

            sum += expect_block (bytes);
          }
    }
  return sum;
}

/*
 * Pinned memory beyond the states: gradients of the rank's SHARE as they were reduced, shards as
 * they were made, and what blocks are larger than what is in them; TILE: of AWAY in a sub-group.
 */
static double
pinned_bytes (const PlanInput *in, const Policy *policy, double share, double away, double tile)
{
  const DeepspeedIssue *o = policy->issue;
  const PolicyState    *states = policy->kinds[0].states;
  double                compute = dtype_bytes (policy->compute);
  gboolean              off_gpu = states[STATE_OPTIMIZER].home != PLACE_HBM;
  gboolean              drives = states[STATE_OPTIMIZER].home == PLACE_NVME;
  double held = expect_state_bytes (in, policy, STATE_PARAMETERS, PLACE_PINNED), sum = 0;
  double ring = (double) o->params_buffer_count * (double) o->params_buffer_size * compute;
  double full = tile > 0 ? floor (away / tile) : 0, rest = away - full * tile;
  double updates = workload_training (in->workload)->optimizer != OPTIMIZER_NONE;

  if (!policy->host_copies)
    return 0;
  if (states[STATE_PARAMETERS].home == PLACE_PINNED)
    sum += first_shards (in, policy);
  sum += expect_block (held) - held;
  if (states[STATE_PARAMETERS].home == PLACE_NVME)
    sum += expect_block (ring) - ring;
  if (off_gpu)
    sum += expect_block (share * compute);
  if (off_gpu && !drives)
    sum += full * (expect_block (4 * tile) - 4 * tile) + expect_block (4 * rest) - 4 * rest;
  if (drives)
    sum += (double) o->optimizer_buffer_count * (expect_block (4 * tile) - 4 * tile)
           * (updates > 0 && (o->pipeline_read || o->pipeline_write) ? 2 : 1);
  return sum;
}

/* ELEMENTS, or as few as SLACK fewer, pass ROUTE in a step. */
static void
set_route (IssueForm *form, PolicyRouteKind route, double elements, double slack)
{
  form->passed[route][0] = elements;
  form->slack[route][0] = slack;
}

/*
 * Rajbhandari et al., arXiv:2104.07857, 5.2: a shard's gradient goes where the optimizer is, whose
 * SHARE elements come to the host and go back, sub-group by sub-group, and the new parameters go
 * where they live. Pinned buffers: of shards that come from drives, of a sub-group's fp32 values
 * (two sets where something overlaps), of its new parameters.
 */
static void
add_offload (const PlanInput *in, const Policy *policy, double share, IssueForm *form)
{
  const DeepspeedIssue *o = policy->issue;
  const UnitPolicy     *kind = &policy->kinds[0];
  const PolicyState    *states = kind->states;
  double                m = states[STATE_OPTIMIZER].group.size;
  double                away = expect_off_gpu (policy, share);
  double                tile = MIN (away, MAX ((double) o->sub_group_size, ceil (away / 64)));
  guint                 compute = dtype_bytes (policy->compute);
  double                updates = workload_training (in->workload)->optimizer != OPTIMIZER_NONE;

  set_route (form, ROUTE_RENEW, updates * away * m, 0);
  form->walks[ROUTE_RENEW][0] = form->walks[ROUTE_LOAD][0] = form->walks[ROUTE_SAVE][0] = 64;
  form->host += pinned_bytes (in, policy, share, away, tile);
  if (states[STATE_PARAMETERS].home == PLACE_NVME)
    form->host += (double) o->params_buffer_count * (double) o->params_buffer_size * compute;
  if (states[STATE_OPTIMIZER].home == PLACE_HBM)
    {
      if (states[STATE_PARAMETERS].home != PLACE_HBM)
        form->high += updates * tile * compute;
      return;
    }
  form->uneven = TRUE;
  form->clip_passes = 1;
  set_route (form, ROUTE_STORE, away * m, 0);
  form->walks[ROUTE_STORE][0] = expect_modules (in) + 1;
  form->high += (reduced_at_once (in, policy) / m + 1) * 4;
  if (states[STATE_PARAMETERS].home != PLACE_PINNED)
    form->host += updates * tile * compute;
  if (states[STATE_OPTIMIZER].home != PLACE_NVME)
    return;
  set_route (form, ROUTE_LOAD, updates * away * m * (states[STATE_OPTIMIZER].values + 1), 0);
  set_route (form, ROUTE_SAVE, updates * away * m * states[STATE_OPTIMIZER].values, 0);
  form->host += (double) o->optimizer_buffer_count * tile * 4
                * (updates > 0 && (o->pipeline_read || o->pipeline_write) ? 2 : 1);
}

/*
 * Each tensor on its own, the ones that the rule takes by one route and all others by another: they
 * are so many walks.
 */
static void
add_tensor_reductions (const PlanInput *in, const UnitPolicy *kind, IssueForm *form)
{
  double m = kind->states[STATE_PARAMETERS].group.size;

  for (guint l = 0; l < workload_n_layers (in->workload); l++)
    {
      const LayerDesc *layer = workload_layer (in->workload, l);

      for (guint t = 0; t < layer->n_tensors; t++)
        {
          const TensorDesc *tensor = &layer->tensors[t];
          gboolean          takes =
              tensor->n_dims >= kind->reduced.dims
              && fmod ((double) tensor->elements, MAX ((double) kind->reduced.divisor, 1)) == 0;
          PolicyRouteKind route = takes ? ROUTE_REDUCE : ROUTE_REST;

          if (tensor->frozen)
            continue;
          form->passed[route][0] += kind->format->formula (tensor, 1, m);
          form->walks[route][0]++;
        }
    }
}

/*
 * What the first use in a step gathers from the primary shards: the secondary ones are invalidated,
 * all of them or those of modules that are trained.
 */
static double
invalidated (const UnitPolicy *kind, const Gathers *some)
{
  return kind->invalidate == INVALIDATE_ALL ? some->once : some->trained;
}

static Gathers
difference (const Gathers *all, const Gathers *some)
{
  return (Gathers){ all->once - some->once, all->trained - some->trained,
                    all->gathered - some->gathered, all->slack - some->slack };
}

/* Secondary shards of the modules SOME are filled once, and read by all other uses that gather. */
static void
add_secondary (const UnitPolicy *kind, const Gathers *some, double steps, PolicyRouteKind fill,
               PolicyRouteKind read, IssueForm *form)
{
  set_route (form, fill, invalidated (kind, some), 0);
  set_route (form, read, steps * some->gathered - invalidated (kind, some), steps * some->slack);
}

/* What uses gather from PRIMARY shards, and from SECONDARY ones where the policy has any. */
static void
add_gather_routes (const PlanInput *in, const Policy *policy, const DeepspeedGathers *primary,
                   const DeepspeedGathers *secondary, IssueForm *form)
{
  const UnitPolicy *kind = &policy->kinds[0];
  const double      steps = expect_micro_steps (in);
  const Gathers    *all = &primary->all, *frozen = &primary->frozen;

  if (kind->copy.group.size > 0)
    {
      const double  of_frozen = invalidated (kind, frozen);
      const Gathers uncached = difference (&secondary->all, &secondary->cached);

      set_route (form, ROUTE_FROZEN, of_frozen, 0);
      set_route (form, ROUTE_GATHER, invalidated (kind, all) - of_frozen, 0);
      add_secondary (kind, &secondary->cached, steps, ROUTE_KEEP, ROUTE_KEPT, form);
      add_secondary (kind, &uncached, steps, ROUTE_FILL, ROUTE_COPY, form);
      form->copied[0] = secondary->all.once;
      form->kept[0] = secondary->cached.once;
      return;
    }
  set_route (form, ROUTE_FROZEN, steps * frozen->gathered, steps * frozen->slack);
  set_route (form, ROUTE_GATHER, steps * (all->gathered - frozen->gathered),
             steps * (all->slack - frozen->slack));
}

/*
 * Between forward and backward pass all that is CUT is there, unless uses are so far apart as the
 * distance: less than that is traversed forward, again and backward.
 */
static double
least_bytes (const PlanInput *in, const Policy *policy, double cut)
{
  const DeepspeedIssue *o = policy->issue;
  ActivationBounds      activations = activation_bounds (in);
  double                traversed = 5 * (double) workload_n_parameters (in->workload);

  if (o->reuse == REUSE_PAPER || traversed >= (double) o->max_reuse_distance)
    return 0;
  return activations.kept + activations.low + cut * dtype_bytes (policy->compute);
}

/*
 * Rajbhandari et al., arXiv:1910.02054, 5.3 and 7.2 (3 W a micro-step, 16 P / R bytes); with a
 * second copy 2 W and W of host memory a node (arXiv:2602.06499): the first use of a step comes
 * from the shards, every later one from the copy; where frozen modules stay valid, of those that
 * are trained, and of the others every use comes from the copy once the first step is over. Where
 * copies stay on the GPU (FCDP-Cache), the first modules' do, whose sum has room.
 */
void
deepspeed_form (const PlanInput *in, const Policy *policy, IssueForm *form)
{
  const DeepspeedIssue *o = policy->issue;
  const UnitPolicy     *kind = &policy->kinds[0];
  guint                 m = kind->states[STATE_PARAMETERS].group.size;
  double                steps = expect_micro_steps (in), modules = expect_modules (in) + 1;
  double                all = expect_all_padded (in, kind, 0, m), cut;
  double                parameters = (double) workload_n_parameters (in->workload);
  DeepspeedGathers      primary = deepspeed_gathers (in, policy, m, 0), secondary = { 0 };

  if (kind->copy.group.size > 0)
    {
      const guint  ranks = kind->copy.group.size;
      const double bytes = dtype_bits (kind->copy.dtype) / 8.0 * kind->copy.values;

      secondary =
          deepspeed_gathers (in, policy, ranks, floor ((double) kind->kept_copies / bytes) * ranks);
    }
  add_gather_routes (in, policy, &primary, &secondary, form);
  for (guint r = 0; r < ROUTE_N; r++)
    if (is_of_uses ((PolicyRouteKind) r))
      form->walks[r][0] = 3 * steps * modules;
  form->walks[ROUTE_FILL][0] = form->walks[ROUTE_KEEP][0] = modules;
  form->walks[ROUTE_UPDATE][0] = 1;
  if (kind->reduced.dims > 0)
    add_tensor_reductions (in, kind, form);
  else
    {
      form->walks[ROUTE_REDUCE][0] = modules;
      set_route (form, ROUTE_REDUCE, expect_trainable_padded (in, kind, 0, m), 0);
    }
  set_route (form, ROUTE_UPDATE, all - primary.all.once, 0);
  add_offload (in, policy, expect_trainable_padded (in, kind, 0, m) / m, form);
  cut = deepspeed_gathers (in, policy, 1, 0).all.once;
  form->states = (parameters - cut + MIN ((double) o->reduce_bucket_size, parameters))
                 * dtype_bytes (policy->compute);
  form->low = m > 1 ? least_bytes (in, policy, cut) : 0;
  form->high += most_bytes (in, policy, primary.all.once + secondary.all.once, form);
  compressed_form (in, policy, reduced_at_once (in, policy), form);
}
