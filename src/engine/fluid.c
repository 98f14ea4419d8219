#include "engine/fluid.h"

#include <math.h>
#include <string.h>

#define N_CLASSES   2
#define LEVEL_OF_OP 0x80000000u /* marks a Level that belongs to an op's limit */
#define RESIDUE     1e-12 /* less of a capacity than this is rounding, not something to share */

typedef struct
{
  GArray  *uses; /* FluidUse */
  gboolean dirty;
} ClassUses;

typedef struct
{
  double    capacity;
  double    reserved;
  double    traffic; /* taken by traffic, per second */
  ClassUses by_class[N_CLASSES];
  /* scratch of a solve */
  guint64 stamp;
  double  base;   /* what this tier shares */
  double  left;   /* of it, not yet frozen; kept by differences */
  double  weight; /* sum of share * amount over the ops that are not frozen; kept by differences */
  guint   n_left; /* ops that are not frozen */
} Resource;

typedef struct
{
  OpClass    class_;
  gint       priority;
  gboolean   live;
  guint32    user;
  Demand    *demands; /* the one of the waves comes last */
  guint      n_demands, size;
  double     share, cap;
  WaveDemand waves;
  double     n_waves;
  FluidRate  rate;
  /* scratch of a solve */
  guint64   stamp;
  gboolean  frozen, changed;
  FluidRate next;
} Op;

/* A level at which something may freeze: a resource, or an op at its limit. */
typedef struct
{
  double  key;
  guint32 id;
} Level;

struct _Fluid
{
  GArray  *resources;        /* Resource */
  GArray  *ops;              /* Op, by FluidOp */
  GArray  *unused;           /* FluidOp */
  GArray  *dirty[N_CLASSES]; /* ResourceId */
  GArray  *changed;          /* FluidOp */
  GArray  *component;        /* ResourceId */
  GArray  *component_ops;    /* FluidOp */
  GArray  *levels;           /* Level: a binary min-heap */
  guint64  stamp;
  gboolean full;
  guint64  solves, visited;
};

static inline Resource *
resource_at (const Fluid *self, ResourceId id)
{
  return &g_array_index (self->resources, Resource, id);
}

static inline Op *
op_at (const Fluid *self, FluidOp id)
{
  return &g_array_index (self->ops, Op, id);
}

Fluid *
fluid_new (void)
{
  Fluid *self = g_new0 (Fluid, 1);

  self->resources = g_array_new (FALSE, TRUE, sizeof (Resource));
  self->ops = g_array_new (FALSE, TRUE, sizeof (Op));
  self->unused = g_array_new (FALSE, FALSE, sizeof (FluidOp));
  for (guint c = 0; c < N_CLASSES; c++)
    self->dirty[c] = g_array_new (FALSE, FALSE, sizeof (ResourceId));
  self->changed = g_array_new (FALSE, FALSE, sizeof (FluidOp));
  self->component = g_array_new (FALSE, FALSE, sizeof (ResourceId));
  self->component_ops = g_array_new (FALSE, FALSE, sizeof (FluidOp));
  self->levels = g_array_new (FALSE, FALSE, sizeof (Level));
  return self;
}

void
fluid_free (Fluid *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->resources->len; i++)
    for (guint c = 0; c < N_CLASSES; c++)
      g_array_unref (resource_at (self, i)->by_class[c].uses);
  for (guint i = 0; i < self->ops->len; i++)
    g_free (op_at (self, i)->demands);
  for (guint c = 0; c < N_CLASSES; c++)
    g_array_unref (self->dirty[c]);
  g_array_unref (self->resources);
  g_array_unref (self->ops);
  g_array_unref (self->unused);
  g_array_unref (self->changed);
  g_array_unref (self->component);
  g_array_unref (self->component_ops);
  g_array_unref (self->levels);
  g_free (self);
}

/* ---- resources ------------------------------------------------------------------------------------------------- */

void
fluid_add_resource (Fluid *self, double capacity)
{
  Resource resource = { .capacity = capacity };

  g_assert (isfinite (capacity) && capacity > 0);
  for (guint c = 0; c < N_CLASSES; c++)
    resource.by_class[c].uses = g_array_new (FALSE, FALSE, sizeof (FluidUse));
  g_array_append_val (self->resources, resource);
}

double
fluid_capacity (const Fluid *self, ResourceId id)
{
  return resource_at (self, id)->capacity;
}

static void
mark_dirty (Fluid *self, ResourceId id, OpClass class_)
{
  ClassUses *uses = &resource_at (self, id)->by_class[class_];

  if (uses->dirty)
    return;
  uses->dirty = TRUE;
  g_array_append_val (self->dirty[class_], id);
}

void
fluid_set_reserved (Fluid *self, ResourceId id, double reserved)
{
  Resource *resource = resource_at (self, id);

  if (reserved == resource->reserved)
    return;
  resource->reserved = reserved;
  mark_dirty (self, id, OP_KERNEL);
}

/* What reservations leave to kernels. A reservation of everything is the caller's error; one slot keeps it going. */
static double
unreserved (const Resource *resource)
{
  double left = resource->capacity - resource->reserved;

  return left > 0 ? left : MIN (1.0, resource->capacity);
}

static double
available (const Resource *resource, OpClass class_)
{
  if (class_ == OP_TRAFFIC)
    return resource->capacity;

  double left = unreserved (resource) - resource->traffic;
  return left > RESIDUE * resource->capacity ? left : 0;
}

const FluidUse *
fluid_uses (const Fluid *self, ResourceId id, OpClass class_, guint *n)
{
  GArray *uses = resource_at (self, id)->by_class[class_].uses;

  *n = uses->len;
  return (const FluidUse *) (gpointer) uses->data;
}

static inline FluidUse *
uses_of (const Resource *resource, OpClass class_, guint *n)
{
  GArray *uses = resource->by_class[class_].uses;

  *n = uses->len;
  return (FluidUse *) (gpointer) uses->data;
}

static guint
find_use (const Resource *resource, OpClass class_, FluidOp op)
{
  guint     n;
  FluidUse *uses = uses_of (resource, class_, &n);

  for (guint i = 0; i < n; i++)
    if (uses[i].op == op)
      return i;
  g_assert_not_reached ();
}

/* ---- ops ------------------------------------------------------------------------------------------------------- */

static inline gboolean
has_waves (const Op *op)
{
  return op->n_waves > 0;
}

static double
count_waves (const Resource *resource, const WaveDemand *waves, double *amount)
{
  double slots = MAX (1.0, floor (unreserved (resource)));
  double n = ceil (waves->units / slots);

  *amount = n * slots * waves->unit_seconds;
  return n;
}

static FluidOp
take_slot (Fluid *self)
{
  if (self->unused->len == 0)
    {
      g_array_set_size (self->ops, self->ops->len + 1);
      return self->ops->len - 1;
    }
  FluidOp id = g_array_index (self->unused, FluidOp, self->unused->len - 1);
  g_array_set_size (self->unused, self->unused->len - 1);
  return id;
}

static void
copy_demands (Fluid *self, Op *op, const FluidSpec *spec)
{
  gboolean waves =
      spec->waves.resource != ENGINE_NONE && spec->waves.units > 0 && spec->waves.unit_seconds > 0;
  guint n = spec->n_demands + (waves ? 1 : 0);

  if (op->size < n)
    {
      op->demands = g_renew (Demand, op->demands, n);
      op->size = n;
    }
  if (spec->n_demands > 0)
    memcpy (op->demands, spec->demands, spec->n_demands * sizeof *spec->demands);
  op->n_demands = n;
  op->waves = spec->waves;
  op->n_waves = 0;
  if (waves)
    {
      Demand *demand = &op->demands[n - 1];
      demand->resource = spec->waves.resource;
      op->n_waves = count_waves (resource_at (self, demand->resource), &op->waves, &demand->amount);
    }
}

FluidOp
fluid_add (Fluid *self, const FluidSpec *spec)
{
  FluidOp id = take_slot (self);
  Op     *op = op_at (self, id);

  op->class_ = spec->class_;
  op->priority = spec->class_ == OP_KERNEL ? spec->priority : 0;
  op->live = TRUE;
  op->user = spec->user;
  op->share = spec->share;
  op->cap = spec->cap;
  op->rate = (FluidRate){ 0, CAUSE_N, ENGINE_NONE };
  op->changed = FALSE;
  copy_demands (self, op, spec);
  g_assert (op->n_demands > 0 && op->share > 0);
  for (guint i = 0; i < op->n_demands; i++)
    {
      FluidUse use = { id, op->demands[i].amount };
      g_assert (use.amount > 0);
      g_array_append_val (resource_at (self, op->demands[i].resource)->by_class[op->class_].uses, use);
      mark_dirty (self, op->demands[i].resource, op->class_);
    }
  return id;
}

void
fluid_remove (Fluid *self, FluidOp id)
{
  Op *op = op_at (self, id);

  g_assert (op->live);
  for (guint i = 0; i < op->n_demands; i++)
    {
      Resource *resource = resource_at (self, op->demands[i].resource);
      g_array_remove_index (resource->by_class[op->class_].uses, find_use (resource, op->class_, id));
      mark_dirty (self, op->demands[i].resource, op->class_);
    }
  op->live = FALSE;
  g_array_append_val (self->unused, id);
}

FluidRate
fluid_rate (const Fluid *self, FluidOp op)
{
  return op_at (self, op)->rate;
}

guint32
fluid_user (const Fluid *self, FluidOp op)
{
  return op_at (self, op)->user;
}

double
fluid_n_waves (const Fluid *self, FluidOp op)
{
  return op_at (self, op)->n_waves;
}

double
fluid_wave_amount (const Fluid *self, FluidOp id)
{
  const Op *op = op_at (self, id);

  return has_waves (op) ? op->demands[op->n_demands - 1].amount : 0;
}

/* Counts an op's waves again, after the slots left to it changed. */
static void
update_waves (Fluid *self, FluidOp id, Op *op)
{
  Demand   *demand = &op->demands[op->n_demands - 1];
  Resource *resource = resource_at (self, demand->resource);
  double    amount;
  double    n = count_waves (resource, &op->waves, &amount);
  guint     n_uses;

  if (n == op->n_waves && amount == demand->amount)
    return;
  op->n_waves = n;
  op->changed = TRUE;
  demand->amount = amount;
  uses_of (resource, op->class_, &n_uses)[find_use (resource, op->class_, id)].amount = amount;
}

/* ---- the heap of levels ------------------------------------------------------------------------------------------ */

static inline gboolean
level_before (const Level *a, const Level *b)
{
  return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static void
level_sift_down (Level *heap, guint n, guint i)
{
  Level moved = heap[i];

  for (guint child; (child = 2 * i + 1) < n; i = child)
    {
      if (child + 1 < n && level_before (&heap[child + 1], &heap[child]))
        child++;
      if (!level_before (&heap[child], &moved))
        break;
      heap[i] = heap[child];
    }
  heap[i] = moved;
}

static void
level_drop_first (Fluid *self)
{
  Level *heap = (Level *) (gpointer) self->levels->data;
  guint  n = self->levels->len - 1;

  heap[0] = heap[n];
  g_array_set_size (self->levels, n);
  if (n > 1)
    level_sift_down (heap, n, 0);
}

/* ---- progressive filling ----------------------------------------------------------------------------------------- */

/* The largest rate that an op may have whatever the others do. A wave takes its time even on slots to spare. */
static double
op_limit (const Op *op, Cause *cause, ResourceId *resource)
{
  double cap = op->cap > 0 ? op->cap : INFINITY;
  double wave = has_waves (op) ? 1 / (op->n_waves * op->waves.unit_seconds) : INFINITY;

  *cause = wave <= cap ? CAUSE_RESOURCE : CAUSE_CAP;
  *resource = wave <= cap ? op->waves.resource : ENGINE_NONE;
  return MIN (wave, cap);
}

static void
freeze (Fluid *self, Op *op, double rate, Cause cause, ResourceId resource)
{
  op->frozen = TRUE;
  op->next = (FluidRate){ rate, cause, resource };
  for (guint i = 0; i < op->n_demands; i++)
    {
      Resource *r = resource_at (self, op->demands[i].resource);
      r->left -= rate * op->demands[i].amount;
      r->weight -= op->share * op->demands[i].amount;
      r->n_left--;
    }
}

/* The level at which a resource saturates, summed afresh because differences carry rounding. */
static double
exact_level (const Fluid *self, Resource *resource, OpClass class_)
{
  guint           n;
  const FluidUse *uses = uses_of (resource, class_, &n);
  double          taken = 0, weight = 0;

  for (guint i = 0; i < n; i++)
    {
      const Op *op = op_at (self, uses[i].op);
      if (op->stamp != self->stamp)
        continue; /* of another tier */
      if (op->frozen)
        taken += op->next.rate * uses[i].amount;
      else
        weight += op->share * uses[i].amount;
    }
  resource->left = resource->base - taken;
  resource->weight = weight;
  return MAX (0.0, resource->left) / weight;
}

static void
saturate (Fluid *self, ResourceId id, OpClass class_, double level)
{
  guint           n;
  const FluidUse *uses = uses_of (resource_at (self, id), class_, &n);

  for (guint i = 0; i < n; i++)
    {
      Op *op = op_at (self, uses[i].op);
      if (op->stamp == self->stamp && !op->frozen)
        freeze (self, op, level * op->share, CAUSE_RESOURCE, id);
    }
}

static void
collect_levels (Fluid *self, const FluidOp *ops, guint n_ops)
{
  g_array_set_size (self->levels, 0);
  for (guint i = 0; i < n_ops; i++)
    {
      Op        *op = op_at (self, ops[i]);
      Cause      cause;
      ResourceId resource;
      double     limit = op_limit (op, &cause, &resource);

      if (isfinite (limit))
        {
          Level level = { limit / op->share, ops[i] | LEVEL_OF_OP };
          g_array_append_val (self->levels, level);
        }
    }
  for (guint i = 0; i < self->component->len; i++)
    {
      ResourceId id = g_array_index (self->component, ResourceId, i);
      Resource  *resource = resource_at (self, id);

      if (resource->n_left > 0)
        {
          Level level = { MAX (0.0, resource->left) / resource->weight, id };
          g_array_append_val (self->levels, level);
        }
    }
  for (guint i = self->levels->len / 2; i-- > 0;)
    level_sift_down ((Level *) (gpointer) self->levels->data, self->levels->len, i);
}

static void
freeze_at_limit (Fluid *self, Op *op)
{
  Cause      cause;
  ResourceId resource;
  double     limit = op_limit (op, &cause, &resource);

  freeze (self, op, limit, cause, resource);
}

static void
raise_first_level (Fluid *self, double key)
{
  Level *first = &g_array_index (self->levels, Level, 0);

  first->key = key;
  level_sift_down (first, self->levels->len, 0);
}

/* Handles the lowest level: freezes what stands there, drops what is frozen already, or moves up what has risen since. */
static void
handle_level (Fluid *self, OpClass class_)
{
  Level first = g_array_index (self->levels, Level, 0);

  if (first.id & LEVEL_OF_OP)
    {
      Op *op = op_at (self, first.id & ~LEVEL_OF_OP);
      level_drop_first (self);
      if (!op->frozen)
        freeze_at_limit (self, op);
      return;
    }

  Resource *resource = resource_at (self, first.id);
  if (resource->n_left == 0)
    {
      level_drop_first (self);
      return;
    }
  double level = MAX (0.0, resource->left) / resource->weight;
  if (level > first.key)
    {
      raise_first_level (self, level);
      return;
    }
  level = exact_level (self, resource, class_);
  if (level > first.key * (1 + RESIDUE))
    {
      raise_first_level (self, level);
      return;
    }
  level_drop_first (self);
  saturate (self, first.id, class_, level);
}

/* Fills one tier: ops of one class and priority. Tells them from the others of the component by a stamp of their own. */
static void
fill_tier (Fluid *self, OpClass class_, const FluidOp *ops, guint n_ops)
{
  self->stamp++;
  for (guint i = 0; i < self->component->len; i++)
    {
      Resource *resource = resource_at (self, g_array_index (self->component, ResourceId, i));
      resource->left = resource->base;
      resource->weight = 0;
      resource->n_left = 0;
    }
  for (guint i = 0; i < n_ops; i++)
    {
      Op *op = op_at (self, ops[i]);
      op->stamp = self->stamp;
      op->frozen = FALSE;
      for (guint j = 0; j < op->n_demands; j++)
        {
          Resource *resource = resource_at (self, op->demands[j].resource);
          resource->weight += op->share * op->demands[j].amount;
          resource->n_left++;
        }
    }
  collect_levels (self, ops, n_ops);
  while (self->levels->len > 0)
    handle_level (self, class_);
}

/* Takes what a tier was given from what the next one shares. */
static void
take_from_base (Fluid *self, const FluidOp *ops, guint n_ops)
{
  for (guint i = 0; i < n_ops; i++)
    {
      const Op *op = op_at (self, ops[i]);
      for (guint j = 0; j < op->n_demands; j++)
        resource_at (self, op->demands[j].resource)->base -= op->next.rate * op->demands[j].amount;
    }
  for (guint i = 0; i < self->component->len; i++)
    {
      Resource *resource = resource_at (self, g_array_index (self->component, ResourceId, i));
      if (resource->base < RESIDUE * resource->capacity)
        resource->base = 0;
    }
}

/* ---- components ------------------------------------------------------------------------------------------------ */

static void
reach_resource (Fluid *self, ResourceId id)
{
  Resource *resource = resource_at (self, id);

  if (resource->stamp == self->stamp)
    return;
  resource->stamp = self->stamp;
  g_array_append_val (self->component, id);
}

/* Collects into `component` and `component_ops` all that START is connected with by ops of CLASS_. */
static void
collect_component (Fluid *self, ResourceId start, OpClass class_)
{
  g_array_set_size (self->component, 0);
  g_array_set_size (self->component_ops, 0);
  reach_resource (self, start);
  for (guint i = 0; i < self->component->len; i++)
    {
      guint           n;
      ResourceId      id = g_array_index (self->component, ResourceId, i);
      const FluidUse *uses = uses_of (resource_at (self, id), class_, &n);

      for (guint j = 0; j < n; j++)
        {
          Op *op = op_at (self, uses[j].op);
          if (op->stamp == self->stamp)
            continue;
          op->stamp = self->stamp;
          g_array_append_val (self->component_ops, uses[j].op);
          for (guint k = 0; k < op->n_demands; k++)
            reach_resource (self, op->demands[k].resource);
        }
    }
}

static void
collect_everything (Fluid *self, OpClass class_)
{
  g_array_set_size (self->component, 0);
  g_array_set_size (self->component_ops, 0);
  for (ResourceId id = 0; id < self->resources->len; id++)
    reach_resource (self, id);
  for (FluidOp id = 0; id < self->ops->len; id++)
    if (op_at (self, id)->live && op_at (self, id)->class_ == class_)
      g_array_append_val (self->component_ops, id);
}

static gint
compare_priority (gconstpointer a, gconstpointer b, gpointer user)
{
  const FluidOp *x = a, *y = b;
  const Fluid   *self = user;
  gint           p = op_at (self, *x)->priority, q = op_at (self, *y)->priority;

  return p != q ? (p > q ? -1 : 1) : (*x > *y) - (*x < *y);
}

static gboolean
priorities_differ (const Fluid *self, const FluidOp *ops, guint n)
{
  for (guint i = 1; i < n; i++)
    if (op_at (self, ops[i])->priority != op_at (self, ops[0])->priority)
      return TRUE;
  return FALSE;
}

static void
fill_tiers (Fluid *self, OpClass class_)
{
  FluidOp *ops = (FluidOp *) (gpointer) self->component_ops->data;
  guint    n = self->component_ops->len;

  for (guint i = 0; i < self->component->len; i++)
    {
      Resource *resource = resource_at (self, g_array_index (self->component, ResourceId, i));
      resource->base = available (resource, class_);
    }
  if (priorities_differ (self, ops, n))
    g_array_sort_with_data (self->component_ops, compare_priority, self);
  for (guint first = 0, end; first < n; first = end)
    {
      gint priority = op_at (self, ops[first])->priority;
      for (end = first; end < n && op_at (self, ops[end])->priority == priority;)
        end++;
      fill_tier (self, class_, ops + first, end - first);
      if (end < n)
        take_from_base (self, ops + first, end - first);
    }
}

/* Puts the new rates in place and notes whose changed. */
static void
publish (Fluid *self)
{
  for (guint i = 0; i < self->component_ops->len; i++)
    {
      FluidOp    id = g_array_index (self->component_ops, FluidOp, i);
      Op        *op = op_at (self, id);
      FluidRate *old = &op->rate, *next = &op->next;

      if (op->changed || old->rate != next->rate || old->cause != next->cause
          || old->resource != next->resource)
        g_array_append_val (self->changed, id);
      op->changed = FALSE;
      *old = *next;
    }
}

/* What traffic takes of each resource; where that changed, the kernels there must be solved again. */
static void
sum_traffic (Fluid *self)
{
  for (guint i = 0; i < self->component->len; i++)
    {
      guint           n;
      ResourceId      id = g_array_index (self->component, ResourceId, i);
      Resource       *resource = resource_at (self, id);
      const FluidUse *uses = uses_of (resource, OP_TRAFFIC, &n);
      double          sum = 0;

      for (guint j = 0; j < n; j++)
        sum += op_at (self, uses[j].op)->rate.rate * uses[j].amount;
      if (sum == resource->traffic)
        continue;
      resource->traffic = sum;
      if (resource->by_class[OP_KERNEL].uses->len > 0)
        mark_dirty (self, id, OP_KERNEL);
    }
}

static void
solve_component (Fluid *self, OpClass class_)
{
  self->solves++;
  self->visited += self->component_ops->len;
  for (guint i = 0; class_ == OP_KERNEL && i < self->component_ops->len; i++)
    {
      FluidOp id = g_array_index (self->component_ops, FluidOp, i);
      if (has_waves (op_at (self, id)))
        update_waves (self, id, op_at (self, id));
    }
  fill_tiers (self, class_);
  publish (self);
  if (class_ == OP_TRAFFIC)
    sum_traffic (self);
}

static void
solve_class (Fluid *self, OpClass class_)
{
  GArray *dirty = self->dirty[class_];
  /* Tiers stamp their ops anew, so components are told apart by resources: those reached in this call. */
  guint64 first_stamp = self->stamp + 1;

  if (self->full)
    {
      self->stamp++;
      collect_everything (self, class_);
      solve_component (self, class_);
    }
  for (guint i = 0; i < dirty->len; i++)
    {
      ResourceId id = g_array_index (dirty, ResourceId, i);
      Resource  *resource = resource_at (self, id);

      resource->by_class[class_].dirty = FALSE;
      if (resource->stamp >= first_stamp)
        continue;
      self->stamp++;
      collect_component (self, id, class_);
      solve_component (self, class_);
    }
  g_array_set_size (dirty, 0);
}

gboolean
fluid_is_dirty (const Fluid *self)
{
  return self->dirty[OP_TRAFFIC]->len > 0 || self->dirty[OP_KERNEL]->len > 0;
}

const FluidOp *
fluid_solve (Fluid *self, guint *n_changed)
{
  g_array_set_size (self->changed, 0);
  solve_class (self, OP_TRAFFIC);
  solve_class (self, OP_KERNEL);
  *n_changed = self->changed->len;
  return (const FluidOp *) (gpointer) self->changed->data;
}

void
fluid_set_full (Fluid *self, gboolean full)
{
  self->full = full;
}

void
fluid_counters (const Fluid *self, guint64 *solves, guint64 *visited)
{
  *solves = self->solves;
  *visited = self->visited;
}
