/*
 * Progressive filling of one tier from nothing: the level rises from 0; at each step the lowest of
 * the levels at which a node saturates is handled. Freezing an op at a level can only raise the
 * levels at which the nodes that it demands saturate, so a heap with stale, too low keys is enough.
 */
#include "engine/fluid-private.h"

typedef struct
{
  double key;
  NodeId id;
} Level;

typedef struct
{
  double left;   /* not yet frozen; kept by differences */
  double weight; /* of the ops that are not frozen; kept by differences */
  guint  n_left; /* ops that are not frozen */
} Fill;

typedef struct
{
  Fluid *fluid;
  Fill  *fills; /* by node */
  Level *heap;
  guint  n;
} Filling;

static inline gboolean
level_before (const Level *a, const Level *b)
{
  return a->key < b->key || (a->key == b->key && a->id < b->id);
}

static void
sift_down (Level *heap, guint n, guint i)
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
drop_first (Filling *self)
{
  self->heap[0] = self->heap[--self->n];
  if (self->n > 1)
    sift_down (self->heap, self->n, 0);
}

/* The level at which a node saturates, summed afresh because differences carry rounding. */
static double
exact_level (Filling *self, NodeId id)
{
  const Fluid     *fluid = self->fluid;
  const FluidNode *node = &fluid->nodes[id];
  double           taken = 0, weight = 0;

  for (guint i = 0; i < node->n_uses; i++)
    {
      NodeId owner = fluid->owners[node->ops[i]];
      if (owner == NOBODY)
        weight += fluid_use_weight (node, i);
      else
        taken += fluid->levels[owner] * fluid_use_weight (node, i);
    }
  self->fluid->visited += node->n_uses;
  self->fills[id].left = node->capacity - taken;
  self->fills[id].weight = weight;
  return MAX (0.0, self->fills[id].left) / weight;
}

static void
freeze (Filling *self, FluidOp op, NodeId owner, double level)
{
  const NodeId *nodes = fluid_nodes_of (self->fluid, op);

  fluid_set_owner (self->fluid, op, owner);
  for (guint i = 0; i < self->fluid->routes[op].n_links; i++)
    {
      Fill  *fill = &self->fills[nodes[i]];
      double weight = fluid_weight_of (self->fluid, op, i);
      fill->left -= level * weight;
      fill->weight -= weight;
      fill->n_left--;
    }
}

static void
saturate (Filling *self, NodeId id, double level)
{
  const FluidNode *node = &self->fluid->nodes[id];

  fluid_set_level (self->fluid, id, level);
  for (guint i = 0; i < node->n_uses; i++)
    if (self->fluid->owners[node->ops[i]] == NOBODY)
      freeze (self, node->ops[i], id, level);
}

/* Handles the lowest level: saturates its node, drops it, or moves it up if risen since. */
static void
handle_first (Filling *self)
{
  Level  first = self->heap[0];
  Fill  *fill = &self->fills[first.id];
  double level;

  if (fill->n_left == 0)
    {
      drop_first (self);
      return;
    }
  level = MAX (0.0, fill->left) / fill->weight;
  if (level <= first.key)
    level = exact_level (self, first.id);
  if (level > first.key * (1 + RESIDUE))
    {
      self->heap[0].key = level;
      sift_down (self->heap, self->n, 0);
      return;
    }
  drop_first (self);
  saturate (self, first.id, level);
}

/* Takes all ops of the tier out of their groups. */
static void
start (Filling *self, guint32 tier)
{
  Fluid *fluid = self->fluid;

  for (NodeId id = 1; id < fluid->n_nodes; id++)
    {
      FluidNode *node = &fluid->nodes[id];
      Fill      *fill = &self->fills[id];
      if (node->tier != tier)
        continue;
      fluid->flags[id] = 0;
      if (isfinite (fluid->levels[id]))
        fluid_set_level (fluid, id, INFINITY);
      if (node->n_uses == 0)
        continue;
      *fill = (Fill){ .left = node->capacity, .n_left = node->n_uses };
      fluid->visited += node->n_uses;
      for (guint i = 0; i < node->n_uses; i++)
        {
          fill->weight += fluid_use_weight (node, i);
          fluid_set_owner (fluid, node->ops[i], NOBODY);
        }
      self->heap[self->n++] = (Level){ node->capacity / fill->weight, id };
    }
  fluid_clear_dirty (fluid, tier);
  for (guint i = self->n / 2; i-- > 0;)
    sift_down (self->heap, self->n, i);
}

/* What is taken of the nodes without a group, and which have others below them. */
static void
finish (Filling *self, guint32 tier)
{
  Fluid *fluid = self->fluid;

  for (NodeId id = 1; id < fluid->n_nodes; id++)
    {
      FluidNode *node = &fluid->nodes[id];
      if (node->tier != tier)
        continue;
      node->load = 0;
      for (guint i = 0; i < node->n_uses; i++)
        node->load += fluid->levels[fluid->owners[node->ops[i]]] * fluid_use_weight (node, i);
      if (node->below != NOBODY)
        vector_push (fluid->watched, id);
    }
}

void
fluid_fill_tier (Fluid *self, guint32 tier)
{
  Filling filling = { self, g_new0 (Fill, self->n_nodes), g_new (Level, self->n_nodes), 0 };

  start (&filling, tier);
  while (filling.n > 0)
    handle_first (&filling);
  finish (&filling, tier);
  g_free (filling.fills);
  g_free (filling.heap);
}
