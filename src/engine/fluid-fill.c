/*
 * Progressive filling of one tier: the level rises from 0; at each step the lowest of the levels
 * at which something freezes, a resource that saturates or an op at its limit, is handled.
 * Freezing an op at a level can only raise the levels at which the resources that it demands
 * saturate, so a heap with stale, too low keys is enough.
 */
#include "engine/fluid-private.h"

#include <math.h>

#define LEVEL_OF_OP 0x80000000u /* marks a level that belongs to an op's limit */

/* ---- the heap of levels ---------------------------------------------------------------------- */

static inline gboolean
level_before (const FluidLevel *a, const FluidLevel *b)
{
  return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static void
level_sift_down (FluidLevel *heap, guint n, guint i)
{
  FluidLevel moved = heap[i];

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
  FluidLevel *heap = (FluidLevel *) (gpointer) self->levels->data;
  guint       n = self->levels->len - 1;

  heap[0] = heap[n];
  g_array_set_size (self->levels, n);
  if (n > 1)
    level_sift_down (heap, n, 0);
}

/* ---- progressive filling --------------------------------------------------------------------- */

/*
 * The largest rate that an op may have whatever the others do. A wave takes its time even on slots
 * to spare.
 */
static double
op_limit (const FluidFlow *op, Cause *cause, ResourceId *resource)
{
  double cap = op->cap > 0 ? op->cap : INFINITY;
  double wave = fluid_has_waves (op) ? 1 / (op->n_waves * op->waves.unit_seconds) : INFINITY;

  *cause = wave <= cap ? CAUSE_RESOURCE : CAUSE_CAP;
  *resource = wave <= cap ? op->waves.resource : ENGINE_NONE;
  return MIN (wave, cap);
}

static void
freeze (Fluid *self, FluidFlow *op, double rate, Cause cause, ResourceId resource)
{
  op->frozen = TRUE;
  op->next = (FluidRate){ rate, cause, resource };
  for (guint i = 0; i < op->n_demands; i++)
    {
      FluidResource *r = fluid_resource_at (self, op->demands[i].resource);
      r->left -= rate * op->demands[i].amount;
      r->weight -= op->share * op->demands[i].amount;
      r->n_left--;
    }
}

/* The level at which a resource saturates, summed afresh because differences carry rounding. */
static double
exact_level (const Fluid *self, FluidResource *resource, OpClass class_)
{
  guint           n;
  const FluidUse *uses = fluid_uses_of (resource, class_, &n);
  double          taken = 0, weight = 0;

  for (guint i = 0; i < n; i++)
    {
      const FluidFlow *op = fluid_flow_at (self, uses[i].op);
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
  const FluidUse *uses = fluid_uses_of (fluid_resource_at (self, id), class_, &n);

  for (guint i = 0; i < n; i++)
    {
      FluidFlow *op = fluid_flow_at (self, uses[i].op);
      if (op->stamp == self->stamp && !op->frozen)
        freeze (self, op, level * op->share, CAUSE_RESOURCE, id);
    }
}

static void
add_level (Fluid *self, double key, guint32 id)
{
  FluidLevel level = { key, id };

  g_array_append_val (self->levels, level);
}

/*
 * The heap of a tier. Resources that only one op demands cannot change before it is frozen, so of
 * those only the op's lowest goes in: a collective has many.
 */
static void
collect_levels (Fluid *self, const FluidOp *ops, guint n_ops)
{
  g_array_set_size (self->levels, 0);
  for (guint i = 0; i < self->component->len; i++)
    {
      ResourceId     id = g_array_index (self->component, ResourceId, i);
      FluidResource *resource = fluid_resource_at (self, id);
      FluidLevel     level = { MAX (0.0, resource->left) / resource->weight, id };

      if (resource->n_left > 1)
        g_array_append_val (self->levels, level);
      else if (resource->n_left == 1
               && level_before (&level, &fluid_flow_at (self, resource->one)->own))
        fluid_flow_at (self, resource->one)->own = level;
    }
  for (guint i = 0; i < n_ops; i++)
    {
      FluidFlow *op = fluid_flow_at (self, ops[i]);
      Cause      cause;
      ResourceId resource;
      double     limit = op_limit (op, &cause, &resource);

      if (isfinite (limit))
        add_level (self, limit / op->share, ops[i] | LEVEL_OF_OP);
      if (isfinite (op->own.key))
        add_level (self, op->own.key, op->own.id);
    }
  for (guint i = self->levels->len / 2; i-- > 0;)
    level_sift_down ((FluidLevel *) (gpointer) self->levels->data, self->levels->len, i);
}

static void
freeze_at_limit (Fluid *self, FluidFlow *op)
{
  Cause      cause;
  ResourceId resource;
  double     limit = op_limit (op, &cause, &resource);

  freeze (self, op, limit, cause, resource);
}

static void
raise_first_level (Fluid *self, double key)
{
  FluidLevel *first = &g_array_index (self->levels, FluidLevel, 0);

  first->key = key;
  level_sift_down (first, self->levels->len, 0);
}

/*
 * Handles the lowest level: freezes what stands there, drops what is frozen already, or moves up
 * what has risen since.
 */
static void
handle_level (Fluid *self, OpClass class_)
{
  FluidLevel first = g_array_index (self->levels, FluidLevel, 0);

  if (first.id & LEVEL_OF_OP)
    {
      FluidFlow *op = fluid_flow_at (self, first.id & ~LEVEL_OF_OP);
      level_drop_first (self);
      if (!op->frozen)
        freeze_at_limit (self, op);
      return;
    }

  FluidResource *resource = fluid_resource_at (self, first.id);
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

/*
 * Fills one tier: ops of one class and priority. Tells them from the others of the component by a
 * stamp of their own.
 */
void
fluid_fill_tier (Fluid *self, OpClass class_, const FluidOp *ops, guint n_ops)
{
  self->stamp++;
  for (guint i = 0; i < self->component->len; i++)
    {
      FluidResource *resource =
          fluid_resource_at (self, g_array_index (self->component, ResourceId, i));
      resource->left = resource->base;
      resource->weight = 0;
      resource->n_left = 0;
    }
  for (guint i = 0; i < n_ops; i++)
    {
      FluidFlow *op = fluid_flow_at (self, ops[i]);
      op->stamp = self->stamp;
      op->frozen = FALSE;
      op->own = (FluidLevel){ INFINITY, 0 };
      for (guint j = 0; j < op->n_demands; j++)
        {
          FluidResource *resource = fluid_resource_at (self, op->demands[j].resource);
          resource->weight += op->share * op->demands[j].amount;
          resource->n_left++;
          resource->one = ops[i];
        }
    }
  collect_levels (self, ops, n_ops);
  while (self->levels->len > 0)
    handle_level (self, class_);
}
