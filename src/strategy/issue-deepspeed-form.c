/*
 * The closed form of DeepSpeed's coordinator, by arithmetic on the model's layers.
 *
 * A use gathers a module unless the use before kept it, which it does when fewer than
 * max_reuse_distance elements are traversed in between: from a forward use to the next one all that
 * lies behind it, in forward, recomputation and backward. Equal layers are as far from each other
 * as the elements that each adds, so how many of them are near enough is one division.
 *
 * The prefetcher keeps a module, too, when it passes over its next use while the module is there.
 * By then all modules in between are there or on their way at once, which max_live_parameters
 * bounds: uses that are too far apart for the distance, but whose modules in between fit, may be
 * kept. Only these are left open.
 */
#include <math.h>

#include "driver/expect.h"
#include "strategy/compressed.h"
#include "strategy/issue-deepspeed.h"

typedef struct
{
  double elements, cut, padded; /* of all, of the tensors that are cut, and of these padded */
} Sums;

/* Padded elements of some modules. */
typedef struct
{
  double once;            /* of each */
  double dirty;           /* of those that are trained, in part at least */
  double gathered, slack; /* in a micro-step */
} Passed;

typedef struct
{
  const PlanInput      *in;
  const Policy         *policy;
  const DeepspeedIssue *issue;
  guint                 m;       /* ranks for which gathered tensors are padded */
  double                room;    /* padded elements of copies that stay on the GPU, at most */
  Passed                all;     /* modules, */
  Passed                kept;    /* and those of them whose copies stay there */
  Passed                frozen;  /* and those whose shards rest encoded */
  double                behind;  /* elements that are traversed behind the layer, both ways */
  double                between; /* of them cut, each once */
  Sums                  table;   /* that a tied head reads again; nothing else */
} Turn;

/* A module of N equal layers in a row; the copies of the first KEPT of them stay on the GPU. */
typedef struct
{
  guint    n;
  double   kept;
  double   padded; /* of each */
  gboolean trained;
} Alike;

static Sums
sums_of (const Turn *self, const LayerDesc *layer, guint module)
{
  const ModuleDesc *desc = &layer->modules[module];
  Sums              sums = { (double) desc->elements, 0, 0 };

  for (guint t = desc->first_tensor; t < desc->first_tensor + desc->n_tensors; t++)
    if (layer->tensors[t].elements > self->policy->whole_below)
      {
        sums.cut += (double) layer->tensors[t].elements;
        sums.padded += self->policy->kinds[0].format->formula (&layer->tensors[t], 1, self->m);
      }
  return sums;
}

static gboolean
is_trained (const LayerDesc *layer, guint module)
{
  const ModuleDesc *desc = &layer->modules[module];
  gboolean          trained = FALSE;

  for (guint t = 0; t < desc->n_tensors && !trained; t++)
    trained = !layer->tensors[desc->first_tensor + t].frozen;
  return trained;
}

/* Whether recomputation of LAYER runs MODULE again. */
static gboolean
runs_again (const LayerDesc *layer, guint module)
{
  gboolean again = layer->n_recompute > 0 && layer->checkpoint == CHECKPOINT_FULL;

  for (guint k = 0; k < layer->n_recompute && !again; k++)
    again = layer->recompute[k].module == (gint) module;
  return again;
}

/* Of the modules [FIRST, END) of LAYER; AGAIN: of those only that recomputation runs. */
static Sums
sums_between (const Turn *self, const LayerDesc *layer, guint first, guint end, gboolean again)
{
  Sums all = { 0 };

  for (guint i = first; i < end; i++)
    if (!again || runs_again (layer, i))
      {
        Sums one = sums_of (self, layer, i);

        all.elements += one.elements;
        all.cut += one.cut;
        all.padded += one.padded;
      }
  return all;
}

/* How many of N values START, START + STEP, ... are below GOAL. */
static double
count_below (double start, double step, double goal, guint n)
{
  if (step == 0)
    return start < goal ? n : 0;
  return CLAMP (ceil ((goal - start) / step), 0, n);
}

/* Modules like ALIKE: their shards, where frozen ones rest encoded. */
static gboolean
rests_encoded (const Turn *self, const Alike *alike)
{
  return !alike->trained && self->policy->kinds[0].routes[ROUTE_FROZEN].n > 0;
}

/* The first uses in forward order are the farthest: what is kept ends where what is near begins. */
static void
add_uses_of (Passed *some, const Alike *alike, double kept, double near, double fits)
{
  double rest = alike->n - kept; /* of the last ones */

  some->gathered += MIN (kept, alike->n - near) * alike->padded;
  some->slack += MAX (fits - MAX (near, rest), 0) * alike->padded;
}

/* Uses are followed by others after DISTANCE elements, of which LIVE are cut, and a step more. */
static void
add_uses (Turn *self, const Alike *alike, double distance, double step, double live,
          double live_step)
{
  const DeepspeedIssue *o = self->issue;
  guint                 n = alike->n;
  double                near = count_below (distance, step, (double) o->max_reuse_distance, n);
  double                fits = count_below (live, live_step, (double) o->max_live_parameters, n);

  if (o->max_reuse_distance == 0 || o->prefetch_bucket_size == 0)
    fits = near;
  add_uses_of (&self->all, alike, n, near, fits);
  add_uses_of (&self->kept, alike, alike->kept, near, fits);
  if (rests_encoded (self, alike))
    add_uses_of (&self->frozen, alike, n, near, fits);
}

/* Uses that gather N times whatever lies between them. */
static void
add_gathers (Turn *self, const Alike *alike, guint n)
{
  self->all.gathered += n * alike->n * alike->padded;
  self->kept.gathered += n * alike->kept * alike->padded;
  if (rests_encoded (self, alike))
    self->frozen.gathered += n * alike->n * alike->padded;
}

static void
add_first_uses (Turn *self, const Alike *alike)
{
  Passed *const of[] = { &self->all, &self->kept };
  const double  n[] = { alike->n, alike->kept };

  for (guint i = 0; i < G_N_ELEMENTS (of); i++)
    {
      of[i]->once += n[i] * alike->padded;
      of[i]->dirty += alike->trained ? n[i] * alike->padded : 0;
    }
  if (rests_encoded (self, alike))
    self->frozen.once += alike->n * alike->padded;
  add_gathers (self, alike, 1);
}

/* Of all that is used before LAYER, the FIRST one. */
static double
padded_before (const Turn *self, guint first)
{
  double sum = 0;

  for (guint i = 0; i < first; i++)
    {
      const LayerDesc *layer = workload_layer (self->in->workload, i);

      sum += sums_between (self, layer, 0, layer->n_modules, FALSE).padded;
    }
  return sum;
}

/* MODULE of the N layers like LAYER from FIRST on. */
static Alike
alike_of (const Turn *self, const LayerDesc *layer, guint module, guint first, guint n)
{
  Alike  alike = { .n = n,
                   .padded = sums_of (self, layer, module).padded,
                   .trained = is_trained (layer, module) };
  double end, step;

  if (self->room == 0)
    return alike;
  end = padded_before (self, first) + sums_between (self, layer, 0, module + 1, FALSE).padded;
  step = sums_between (self, layer, 0, layer->n_modules, FALSE).padded;
  alike.kept = count_below (end, step, self->room + 1, n); /* whole elements: up to the room */
  return alike;
}

/* MODULE of the N layers like LAYER from FIRST on; the last has SELF->behind behind it. */
static void
add_module (Turn *self, const LayerDesc *layer, guint module, guint first, guint n)
{
  guint  end = layer->n_modules;
  Alike  alike = alike_of (self, layer, module, first, n);
  Sums   all = sums_between (self, layer, 0, end, FALSE);
  Sums   again = sums_between (self, layer, 0, end, TRUE);
  Sums   after = sums_between (self, layer, module + 1, end, FALSE);
  Sums   again_after = sums_between (self, layer, module + 1, end, TRUE);
  Sums   again_before = sums_between (self, layer, 0, module, TRUE);
  double tied = layer->tied_head ? self->table.elements : 0;
  double step = 2 * all.elements + again.elements;
  double forward = after.elements + tied + self->behind;

  add_first_uses (self, &alike);
  if (self->issue->reuse == REUSE_PAPER) /* forward, and backward with what it recomputes */
    add_gathers (self, &alike, 1);
  else if (runs_again (layer, module))
    {
      add_uses (self, &alike, forward + again_before.elements, step, after.cut + self->between,
                all.cut);
      add_uses (self, &alike, again_after.elements + after.elements + tied, 0, after.cut, 0);
    }
  else
    add_uses (self, &alike, forward + again.elements + after.elements + tied, step,
              after.cut + self->between, all.cut);
}

/* The module of the embedding that holds the table; its table comes first. */
#define TABLE_MODULE 0

/*
 * The table of a tied head: forward twice, backward twice, of which the middle two are neighbours.
 */
static void
add_table (Turn *self, const LayerDesc *head, double forward, double recomputed)
{
  Sums   table = self->table;
  Alike  alike = alike_of (self, workload_layer (self->in->workload, 0), TABLE_MODULE, 0, 1);
  Sums   again = sums_between (self, head, 0, head->n_modules, TRUE);
  double others = forward - table.elements;
  double live = self->between - table.cut;

  add_first_uses (self, &alike);
  if (self->issue->reuse == REUSE_PAPER)
    {
      add_gathers (self, &alike, 3);
      return;
    }
  if (workload_training (self->in->workload)->traits.keeps_table)
    return;
  add_uses (self, &alike, others, 0, live, 0);
  add_uses (self, &alike, again.elements, 0, 0, 0);
  add_uses (self, &alike, others + recomputed - again.elements, 0, live, 0);
}

static void
add_layers (Turn *self)
{
  const Workload  *workload = self->in->workload;
  guint            n = workload_n_layers (workload);
  const LayerDesc *head = workload_layer (workload, n - 1);
  double           forward = 0, recomputed = 0;

  if (head->tied_head)
    self->table = sums_of (self, workload_layer (workload, 0), TABLE_MODULE);
  for (guint end = n; end > 0;)
    {
      const LayerDesc *layer = workload_layer (workload, end - 1);
      guint            first = end - 1, n_layers;
      Sums             all = sums_between (self, layer, 0, layer->n_modules, FALSE);
      Sums             again = sums_between (self, layer, 0, layer->n_modules, TRUE);
      double           tied = layer->tied_head ? self->table.elements : 0;

      while (first > 0 && workload_layer (workload, first - 1) == layer)
        first--;
      n_layers = end - first;
      for (guint i = 0; i < layer->n_modules; i++)
        if (!head->tied_head || first > 0 || i != TABLE_MODULE)
          add_module (self, layer, i, first, n_layers);
      self->behind += n_layers * (2 * all.elements + again.elements) + 2 * tied;
      self->between += n_layers * all.cut + (layer->tied_head ? self->table.cut : 0);
      forward += n_layers * all.elements;
      recomputed += n_layers * again.elements;
      end = first;
    }
  if (head->tied_head)
    {
      self->between -= self->table.cut; /* once of its two places */
      add_table (self, head, forward, recomputed);
    }
}

/* What a micro-step gathers where tensors are padded for M ranks; copies stay in ROOM elements. */
static Turn
turn_of (const PlanInput *in, const Policy *policy, guint m, double room)
{
  Turn self = { .in = in, .policy = policy, .issue = policy->issue, .m = m, .room = room };

  add_layers (&self);
  return self;
}

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

/*
 * Gathered elements at once: each module is there once at most. What reuse keeps at any time was
 * used within the distance, after at most one module more. The prefetcher gathers while fewer than
 * max_live_parameters are there, and ends with a module. Then there is the module that is used.
 */
static double
gathered_at_once (const PlanInput *in, const Policy *policy, double all, double module)
{
  const DeepspeedIssue *o = policy->issue;
  const UnitPolicy     *kind = &policy->kinds[0];
  guint                 m = kind->states[STATE_PARAMETERS].group.size;
  double                padding =
      MAX (worst_padding (in, kind->format, m, policy->whole_below),
           worst_padding (in, kind->format, MAX (kind->copy.group.size, 1), policy->whole_below));

  double kept = o->reuse == REUSE_PAPER ? expect_largest (in, policy, UNIT_LAYER)
                                        : (double) o->max_reuse_distance;
  /* beside them a table that stays */
  guint modules = workload_training (in->workload)->traits.keeps_table ? 4 : 3;

  return MIN (all, padding * (kept + (double) o->max_live_parameters + modules * module));
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
  double                one, slack;
  const DeepspeedIssue *o = policy->issue;
  const UnitPolicy     *kind = &policy->kinds[0];
  guint                 m = kind->states[STATE_PARAMETERS].group.size;
  double                padding =
      MAX (worst_padding (in, kind->format, m, policy->whole_below),
           worst_padding (in, kind->format, MAX (kind->copy.group.size, 1), policy->whole_below));

  if (workload_training (in->workload)->traits.first_coordinator)
    return 0;
  one = (double) MIN (o->prefetch_bucket_size, o->max_live_parameters) + 2 * module;
  slack = all - turn_of (in, policy, 1, 0).all.once; /* all padding that there is */
  return MIN (all, MIN (padding * one, one + slack));
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
  guint  tied = workload_layer (in->workload, layers - 1)->tied_head ? 1 : 0; /* its gradient */
  double flat = flat_at_once (in, policy, once, module);
  double backward = (gathered + flat + (2 + tied) * module) * dtype_bytes (policy->compute)
                    + bucket * dtype_bytes (kind->routes[ROUTE_REDUCE].hops[0].dtype);
  double passing[PLACE_N] = { 0 };
  double buffered[PLACE_N] = { 0 }; /* by buffers that stand: what is in pinned memory is there */

  for (guint r = 0; r < ROUTE_N; r++)
    expect_passing (kind, (PolicyRouteKind) r,
                    is_of_uses ((PolicyRouteKind) r)       ? gathered + flat
                    : r == ROUTE_REDUCE || r == ROUTE_REST ? bucket
                    : r == ROUTE_FILL || r == ROUTE_KEEP   ? padding * module
                                                           : all,
                    expect_modules (in), TRUE,
                    leads_to_drives (kind, (PolicyRouteKind) r) ? buffered : passing);
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

  form->passed[ROUTE_RENEW][0] = updates * away * m;
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
  form->passed[ROUTE_STORE][0] = away * m;
  form->walks[ROUTE_STORE][0] = expect_modules (in) + 1;
  form->high += (reduced_at_once (in, policy) / m + 1) * 4;
  if (states[STATE_PARAMETERS].home != PLACE_PINNED)
    form->host += updates * tile * compute;
  if (states[STATE_OPTIMIZER].home != PLACE_NVME)
    return;
  form->passed[ROUTE_LOAD][0] = updates * away * m * (states[STATE_OPTIMIZER].values + 1);
  form->passed[ROUTE_SAVE][0] = updates * away * m * states[STATE_OPTIMIZER].values;
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

/* What the first use in a step brings from the shards. */
static double
dirty (const UnitPolicy *kind, const Passed *some)
{
  return kind->invalidate == INVALIDATE_ALL ? some->once : some->dirty;
}

static Passed
all_but (const Passed *all, const Passed *some)
{
  return (Passed){ all->once - some->once, all->dirty - some->dirty, all->gathered - some->gathered,
                   all->slack - some->slack };
}

/* Copies of the modules SOME: each is filled once, and read by all other uses that gather. */
static void
add_copies (const UnitPolicy *kind, const Passed *some, double steps, PolicyRouteKind fill,
            PolicyRouteKind read, IssueForm *form)
{
  form->passed[fill][0] = dirty (kind, some);
  form->passed[read][0] = steps * some->gathered - dirty (kind, some);
  form->slack[read][0] = steps * some->slack;
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
  Turn                  shards = turn_of (in, policy, m, 0), copies = { 0 };

  if (kind->copy.group.size == 0)
    {
      form->passed[ROUTE_GATHER][0] = steps * (shards.all.gathered - shards.frozen.gathered);
      form->slack[ROUTE_GATHER][0] = steps * (shards.all.slack - shards.frozen.slack);
      form->passed[ROUTE_FROZEN][0] = steps * shards.frozen.gathered;
      form->slack[ROUTE_FROZEN][0] = steps * shards.frozen.slack;
    }
  else
    {
      guint  ranks = kind->copy.group.size;
      double bytes = dtype_bits (kind->copy.dtype) / 8.0 * kind->copy.values;
      Passed gone;

      copies = turn_of (in, policy, ranks, floor ((double) kind->kept_copies / bytes) * ranks);
      gone = all_but (&copies.all, &copies.kept);
      form->passed[ROUTE_FROZEN][0] = dirty (kind, &shards.frozen);
      form->passed[ROUTE_GATHER][0] = dirty (kind, &shards.all) - form->passed[ROUTE_FROZEN][0];
      add_copies (kind, &copies.kept, steps, ROUTE_KEEP, ROUTE_KEPT, form);
      add_copies (kind, &gone, steps, ROUTE_FILL, ROUTE_COPY, form);
      form->copied[0] = copies.all.once;
      form->kept[0] = copies.kept.once;
    }
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
      form->passed[ROUTE_REDUCE][0] = expect_trainable_padded (in, kind, 0, m);
    }
  form->passed[ROUTE_UPDATE][0] = all - shards.all.once;
  add_offload (in, policy, expect_trainable_padded (in, kind, 0, m) / m, form);
  cut = turn_of (in, policy, 1, 0).all.once;
  form->states = (parameters - cut + MIN ((double) o->reduce_bucket_size, parameters))
                 * dtype_bytes (policy->compute);
  form->low = m > 1 ? least_bytes (in, policy, cut) : 0;
  form->high += most_bytes (in, policy, shards.all.once + copies.all.once, form);
  compressed_form (in, policy, reduced_at_once (in, policy), form);
}
