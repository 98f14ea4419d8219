#include "engine/fluid-private.h"

#include <math.h>
#include <string.h>

Fluid *
fluid_new (void)
{
  Fluid *self = g_new0 (Fluid, 1);

  self->resources = g_array_new (FALSE, TRUE, sizeof (FluidResource));
  self->ops = g_array_new (FALSE, TRUE, sizeof (FluidFlow));
  self->unused = g_array_new (FALSE, FALSE, sizeof (FluidOp));
  for (guint c = 0; c < N_CLASSES; c++)
    self->dirty[c] = g_array_new (FALSE, FALSE, sizeof (ResourceId));
  self->changed = g_array_new (FALSE, FALSE, sizeof (FluidOp));
  self->component = g_array_new (FALSE, FALSE, sizeof (ResourceId));
  self->component_ops = g_array_new (FALSE, FALSE, sizeof (FluidOp));
  self->levels = g_array_new (FALSE, FALSE, sizeof (FluidLevel));
  return self;
}

void
fluid_free (Fluid *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->resources->len; i++)
    for (guint c = 0; c < N_CLASSES; c++)
      g_array_unref (fluid_resource_at (self, i)->by_class[c].uses);
  for (guint i = 0; i < self->ops->len; i++)
    g_free (fluid_flow_at (self, i)->demands);
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

/* ---- resources ------------------------------------------------------------------------------- */

void
fluid_add_resource (Fluid *self, double capacity)
{
  FluidResource resource = { .capacity = capacity };

  g_assert (isfinite (capacity) && capacity > 0);
  for (guint c = 0; c < N_CLASSES; c++)
    resource.by_class[c].uses = g_array_new (FALSE, FALSE, sizeof (FluidUse));
  g_array_append_val (self->resources, resource);
}

double
fluid_capacity (const Fluid *self, ResourceId id)
{
  return fluid_resource_at (self, id)->capacity;
}

static void
mark_dirty (Fluid *self, ResourceId id, OpClass class_)
{
  FluidClassUses *uses = &fluid_resource_at (self, id)->by_class[class_];

  if (uses->dirty)
    return;
  uses->dirty = TRUE;
  g_array_append_val (self->dirty[class_], id);
}

void
fluid_set_reserved (Fluid *self, ResourceId id, double reserved)
{
  FluidResource *resource = fluid_resource_at (self, id);

  if (reserved == resource->reserved)
    return;
  resource->reserved = reserved;
  mark_dirty (self, id, OP_KERNEL);
}

/*
 * What reservations leave to kernels. A reservation of everything is the caller's error; one slot
 * keeps it going.
 */
static double
unreserved (const FluidResource *resource)
{
  double left = resource->capacity - resource->reserved;

  return left > 0 ? left : MIN (1.0, resource->capacity);
}

static double
available (const FluidResource *resource, OpClass class_)
{
  if (class_ == OP_TRAFFIC)
    return resource->capacity;

  double left = unreserved (resource) - resource->traffic;
  return left > RESIDUE * resource->capacity ? left : 0;
}

const FluidUse *
fluid_uses (const Fluid *self, ResourceId id, OpClass class_, guint *n)
{
  GArray *uses = fluid_resource_at (self, id)->by_class[class_].uses;

  *n = uses->len;
  return (const FluidUse *) (gpointer) uses->data;
}

static guint
find_use (const FluidResource *resource, OpClass class_, FluidOp op)
{
  guint     n;
  FluidUse *uses = fluid_uses_of (resource, class_, &n);

  for (guint i = 0; i < n; i++)
    if (uses[i].op == op)
      return i;
  g_assert_not_reached ();
}

/* ---- ops ------------------------------------------------------------------------------------- */

static double
count_waves (const FluidResource *resource, const WaveDemand *waves, double *amount)
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
copy_demands (Fluid *self, FluidFlow *op, const FluidSpec *spec)
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
      op->n_waves =
          count_waves (fluid_resource_at (self, demand->resource), &op->waves, &demand->amount);
    }
}

FluidOp
fluid_add (Fluid *self, const FluidSpec *spec)
{
  FluidOp    id = take_slot (self);
  FluidFlow *op = fluid_flow_at (self, id);

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
      g_array_append_val (
          fluid_resource_at (self, op->demands[i].resource)->by_class[op->class_].uses, use);
      mark_dirty (self, op->demands[i].resource, op->class_);
    }
  return id;
}

void
fluid_remove (Fluid *self, FluidOp id)
{
  FluidFlow *op = fluid_flow_at (self, id);

  g_assert (op->live);
  for (guint i = 0; i < op->n_demands; i++)
    {
      FluidResource *resource = fluid_resource_at (self, op->demands[i].resource);
      guint          place = find_use (resource, op->class_, id);
      g_array_remove_index (resource->by_class[op->class_].uses, place);
      mark_dirty (self, op->demands[i].resource, op->class_);
    }
  op->live = FALSE;
  g_array_append_val (self->unused, id);
}

FluidRate
fluid_rate (const Fluid *self, FluidOp op)
{
  return fluid_flow_at (self, op)->rate;
}

guint32
fluid_user (const Fluid *self, FluidOp op)
{
  return fluid_flow_at (self, op)->user;
}

double
fluid_n_waves (const Fluid *self, FluidOp op)
{
  return fluid_flow_at (self, op)->n_waves;
}

double
fluid_wave_amount (const Fluid *self, FluidOp id)
{
  const FluidFlow *op = fluid_flow_at (self, id);

  return fluid_has_waves (op) ? op->demands[op->n_demands - 1].amount : 0;
}

/* Counts an op's waves again, after the slots left to it changed. */
static void
update_waves (Fluid *self, FluidOp id, FluidFlow *op)
{
  Demand        *demand = &op->demands[op->n_demands - 1];
  FluidResource *resource = fluid_resource_at (self, demand->resource);
  double         amount;
  double         n = count_waves (resource, &op->waves, &amount);
  guint          n_uses;

  if (n == op->n_waves && amount == demand->amount)
    return;
  op->n_waves = n;
  op->changed = TRUE;
  demand->amount = amount;
  guint place = find_use (resource, op->class_, id);
  fluid_uses_of (resource, op->class_, &n_uses)[place].amount = amount;
}

/* ---- tiers ----------------------------------------------------------------------------------- */

/* Takes what a tier was given from what the next one shares. */
static void
take_from_base (Fluid *self, const FluidOp *ops, guint n_ops)
{
  for (guint i = 0; i < n_ops; i++)
    {
      const FluidFlow *op = fluid_flow_at (self, ops[i]);
      for (guint j = 0; j < op->n_demands; j++)
        fluid_resource_at (self, op->demands[j].resource)->base -=
            op->next.rate * op->demands[j].amount;
    }
  for (guint i = 0; i < self->component->len; i++)
    {
      FluidResource *resource =
          fluid_resource_at (self, g_array_index (self->component, ResourceId, i));
      if (resource->base < RESIDUE * resource->capacity)
        resource->base = 0;
    }
}

/* ---- components ------------------------------------------------------------------------------ */

static void
reach_resource (Fluid *self, ResourceId id)
{
  FluidResource *resource = fluid_resource_at (self, id);

  if (resource->stamp == self->stamp)
    return;
  resource->stamp = self->stamp;
  g_array_append_val (self->component, id);
}

/*
 * Collects into `component` and `component_ops` all that START is connected with by ops of CLASS_.
 */
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
      const FluidUse *uses = fluid_uses_of (fluid_resource_at (self, id), class_, &n);

      for (guint j = 0; j < n; j++)
        {
          FluidFlow *op = fluid_flow_at (self, uses[j].op);
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
    if (fluid_flow_at (self, id)->live && fluid_flow_at (self, id)->class_ == class_)
      g_array_append_val (self->component_ops, id);
}

static gint
compare_priority (gconstpointer a, gconstpointer b, gpointer user)
{
  const FluidOp *x = a, *y = b;
  const Fluid   *self = user;
  gint           p = fluid_flow_at (self, *x)->priority, q = fluid_flow_at (self, *y)->priority;

  return p != q ? (p > q ? -1 : 1) : (*x > *y) - (*x < *y);
}

static gboolean
priorities_differ (const Fluid *self, const FluidOp *ops, guint n)
{
  for (guint i = 1; i < n; i++)
    if (fluid_flow_at (self, ops[i])->priority != fluid_flow_at (self, ops[0])->priority)
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
      FluidResource *resource =
          fluid_resource_at (self, g_array_index (self->component, ResourceId, i));
      resource->base = available (resource, class_);
    }
  if (priorities_differ (self, ops, n))
    g_array_sort_with_data (self->component_ops, compare_priority, self);
  for (guint first = 0, end; first < n; first = end)
    {
      gint priority = fluid_flow_at (self, ops[first])->priority;
      for (end = first; end < n && fluid_flow_at (self, ops[end])->priority == priority;)
        end++;
      fluid_fill_tier (self, class_, ops + first, end - first);
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
      FluidFlow *op = fluid_flow_at (self, id);
      FluidRate *old = &op->rate, *next = &op->next;

      if (op->changed || old->rate != next->rate || old->cause != next->cause
          || old->resource != next->resource)
        g_array_append_val (self->changed, id);
      op->changed = FALSE;
      *old = *next;
    }
}

/*
 * What traffic takes of each resource; where that changed, the kernels there must be solved again.
 */
static void
sum_traffic (Fluid *self)
{
  for (guint i = 0; i < self->component->len; i++)
    {
      guint           n;
      ResourceId      id = g_array_index (self->component, ResourceId, i);
      FluidResource  *resource = fluid_resource_at (self, id);
      const FluidUse *uses = fluid_uses_of (resource, OP_TRAFFIC, &n);
      double          sum = 0;

      for (guint j = 0; j < n; j++)
        sum += fluid_flow_at (self, uses[j].op)->rate.rate * uses[j].amount;
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
      if (fluid_has_waves (fluid_flow_at (self, id)))
        update_waves (self, id, fluid_flow_at (self, id));
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
  /* Tiers stamp their ops anew, so what was reached in this call is told by the resources. */
  guint64 first_stamp = self->stamp + 1;

  if (self->full)
    {
      self->stamp++;
      collect_everything (self, class_);
      solve_component (self, class_);
    }
  for (guint i = 0; i < dirty->len; i++)
    {
      ResourceId     id = g_array_index (dirty, ResourceId, i);
      FluidResource *resource = fluid_resource_at (self, id);

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
