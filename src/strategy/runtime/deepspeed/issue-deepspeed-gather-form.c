/*
 * What DeepSpeed's coordinator gathers, by arithmetic on the model's layers.
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

#include "driver/oracle/expect.h"
#include "strategy/runtime/deepspeed/issue-deepspeed-form-private.h"
#include "strategy/runtime/deepspeed/issue-deepspeed.h"

typedef struct
{
  double elements, cut, padded; /* of all, of the tensors that are cut, and of these padded */
} Sums;

typedef struct
{
  const PlanInput      *in;
  const Policy         *policy;
  const DeepspeedIssue *issue;
  guint                 m;       /* ranks for which gathered tensors are padded */
  double                room;    /* padded elements of copies that stay on the GPU, at most */
  DeepspeedGathers      gathers; /* in a micro-step */
  double                behind;  /* elements that are traversed behind the layer, both ways */
  double                between; /* of them cut, each once */
  Sums                  table;   /* that a tied head reads again; nothing else */
} Turn;

/* A module of N equal layers in a row; the copies of the first CACHED of them stay on the GPU. */
typedef struct
{
  guint    n;
  double   cached;
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

/* The first uses in forward order are the farthest: what is cached ends where near ones begin. */
static void
add_uses_of (Gathers *some, const Alike *alike, double cached, double near, double fits)
{
  double rest = alike->n - cached; /* of the last ones */

  some->gathered += MIN (cached, alike->n - near) * alike->padded;
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
  add_uses_of (&self->gathers.all, alike, n, near, fits);
  add_uses_of (&self->gathers.cached, alike, alike->cached, near, fits);
  if (rests_encoded (self, alike))
    add_uses_of (&self->gathers.frozen, alike, n, near, fits);
}

/* Uses that gather N times whatever lies between them. */
static void
add_gathers (Turn *self, const Alike *alike, guint n)
{
  self->gathers.all.gathered += n * alike->n * alike->padded;
  self->gathers.cached.gathered += n * alike->cached * alike->padded;
  if (rests_encoded (self, alike))
    self->gathers.frozen.gathered += n * alike->n * alike->padded;
}

static void
add_first_uses (Turn *self, const Alike *alike)
{
  Gathers *const of[] = { &self->gathers.all, &self->gathers.cached };
  const double   n[] = { alike->n, alike->cached };

  for (guint i = 0; i < G_N_ELEMENTS (of); i++)
    {
      of[i]->once += n[i] * alike->padded;
      of[i]->trained += alike->trained ? n[i] * alike->padded : 0;
    }
  if (rests_encoded (self, alike))
    self->gathers.frozen.once += alike->n * alike->padded;
  add_gathers (self, alike, 1);
}

/* MODULE of the N layers like LAYER from FIRST on. */
static Alike
alike_of (const Turn *self, const LayerDesc *layer, guint module, guint first, guint n)
{
  Alike  alike = { .n = n,
                   .padded = sums_of (self, layer, module).padded,
                   .trained = is_trained (layer, module) };
  double end, step;
  double sum = 0;

  if (self->room == 0)
    return alike;
  for (guint i = 0; i < first; i++)
    {
      const LayerDesc *layer = workload_layer (self->in->workload, i);

      sum += sums_between (self, layer, 0, layer->n_modules, FALSE).padded;
    }

  end = sum + sums_between (self, layer, 0, module + 1, FALSE).padded;
  step = sums_between (self, layer, 0, layer->n_modules, FALSE).padded;
  alike.cached = count_below (end, step, self->room + 1, n); /* whole elements: up to the room */
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
  double tied = layer->reads_table ? self->table.elements : 0;
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

DeepspeedGathers
deepspeed_gathers (const PlanInput *in, const Policy *policy, guint m, double room)
{
  Turn self = { .in = in, .policy = policy, .issue = policy->issue, .m = m, .room = room };
  const Workload  *workload = self.in->workload;
  guint            n = workload_n_layers (workload);
  const LayerDesc *head = workload_layer (workload, n - 1);
  double           forward = 0, recomputed = 0;

  if (head->reads_table)
    self.table = sums_of (&self, workload_layer (workload, 0), TABLE_MODULE);
  for (guint end = n; end > 0;)
    {
      const LayerDesc *layer = workload_layer (workload, end - 1);
      guint            first = end - 1, n_layers;
      Sums             all = sums_between (&self, layer, 0, layer->n_modules, FALSE);
      Sums             again = sums_between (&self, layer, 0, layer->n_modules, TRUE);
      double           tied = layer->reads_table ? self.table.elements : 0;

      while (first > 0 && workload_layer (workload, first - 1) == layer)
        first--;
      n_layers = end - first;
      for (guint i = 0; i < layer->n_modules; i++)
        if (!head->reads_table || first > 0 || i != TABLE_MODULE)
          add_module (&self, layer, i, first, n_layers);
      self.behind += n_layers * (2 * all.elements + again.elements) + 2 * tied;
      self.between += n_layers * all.cut + (layer->reads_table ? self.table.cut : 0);
      forward += n_layers * all.elements;
      recomputed += n_layers * again.elements;
      end = first;
    }
  if (head->reads_table)
    {
      self.between -= self.table.cut; /* once of its two places */
      add_table (&self, head, forward, recomputed);
    }
  return self.gathers;
}
