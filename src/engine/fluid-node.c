/* Resources as the tiers see them: nodes, who uses them, and what one tier leaves to the next. */
#include "engine/fluid-private.h"

#include <string.h>

void
fluid_add_resource (Fluid *self, double capacity)
{
  FluidResource resource = { .capacity = capacity, .first = NOBODY };

  g_assert (isfinite (capacity) && capacity > 0);
  vector_push (self->resources, resource);
}

double
fluid_capacity (const Fluid *self, ResourceId id)
{
  return fluid_resource_at (self, id)->capacity;
}

/*
 * What reservations leave to kernels. A reservation of everything is the caller's error; one slot
 * keeps it going.
 */
double
fluid_unreserved (const FluidResource *resource)
{
  double left = resource->capacity - resource->reserved;

  return left > 0 ? left : MIN (1.0, resource->capacity);
}

/* What a tier shares of a resource, below the node of the tier before it (or NOBODY). */
double
fluid_offered (const Fluid *self, const FluidResource *resource, guint32 tier, NodeId above)
{
  const FluidNode *upper = &self->nodes[above];
  double           left;

  if (tier == 0)
    return resource->capacity;
  left = above == NOBODY || upper->tier == 0 ? fluid_unreserved (resource) : upper->capacity;
  if (above != NOBODY)
    left -= isfinite (self->levels[above]) ? upper->capacity : upper->load;
  return left > RESIDUE * resource->capacity ? left : 0;
}

NodeId
fluid_new_node (Fluid *self, guint32 tier, ResourceId resource)
{
  NodeId id;

  if (resource == ENGINE_NONE && self->free_nodes->len > 0)
    {
      id = vector_at (self->free_nodes, NodeId, self->free_nodes->len - 1);
      vector_cut (self->free_nodes, self->free_nodes->len - 1);
      self->nodes[id].tier = tier;
      self->flags[id] = 0;
      return id;
    }
  if (self->n_nodes == self->nodes_size)
    {
      self->nodes_size = MAX (64, 2 * self->nodes_size);
      self->nodes = g_renew (FluidNode, self->nodes, self->nodes_size);
      self->levels = g_renew (double, self->levels, self->nodes_size);
      self->flags = g_renew (guint8, self->flags, self->nodes_size);
      self->rooms = g_renew (double, self->rooms, self->nodes_size);
    }
  id = self->n_nodes++;
  self->nodes[id] = (FluidNode){ .tier = tier, .resource = resource };
  self->levels[id] = INFINITY;
  self->flags[id] = 0;
  return id;
}

/* Keeps a node's load instead of its room from now on. */
void
fluid_close_node (Fluid *self, NodeId id)
{
  FluidNode *node = &self->nodes[id];

  if (!(self->flags[id] & FLUID_OPEN))
    return;
  self->flags[id] &= ~FLUID_OPEN;
  node->load = node->capacity * (1 + ABOVE) - self->rooms[id];
}

/* In the order of the tiers: behind ABOVE, or first where it is NOBODY. */
static NodeId
insert_node (Fluid *self, ResourceId id, guint32 tier, NodeId above)
{
  NodeId node, *link;

  if (above != NOBODY)
    fluid_close_node (self, above);
  node = fluid_new_node (self, tier, id);
  link = above != NOBODY ? &self->nodes[above].below : &fluid_resource_at (self, id)->first;
  self->nodes[node].below = *link;
  *link = node;
  self->nodes[node].capacity = fluid_offered (self, fluid_resource_at (self, id), tier, above);
  return node;
}

/* Whether tier A shares a resource before tier B: traffic does, then kernels by priority. */
static gboolean
is_above (const Fluid *self, guint32 a, guint32 b)
{
  const FluidTier *upper = fluid_tier_at (self, a), *lower = fluid_tier_at (self, b);

  return b != 0 && (upper->class_ != OP_KERNEL || upper->priority >= lower->priority);
}

/* The node of a resource in a tier; made when it is not there. */
NodeId
fluid_node_of (Fluid *self, ResourceId id, guint32 tier)
{
  const NodeId first = fluid_resource_at (self, id)->first;
  NodeId       above = NOBODY;

  for (NodeId node = first; node != NOBODY; node = self->nodes[node].below)
    if (self->nodes[node].tier == tier)
      return node;
  for (NodeId node = first; node != NOBODY && is_above (self, self->nodes[node].tier, tier);
       node = self->nodes[node].below)
    above = node;
  return insert_node (self, id, tier, above);
}

/* The next solve of its tier looks at a node. */
void
fluid_touch (Fluid *self, NodeId id)
{
  if (self->flags[id] & (FLUID_LISTED | FLUID_QUEUED))
    return;
  self->flags[id] |= FLUID_LISTED;
  vector_push (fluid_tier_at (self, self->nodes[id].tier)->dirty, id);
  self->n_dirty++;
}

void
fluid_clear_dirty (Fluid *self, guint32 tier)
{
  Vector *dirty = fluid_tier_at (self, tier)->dirty;

  self->n_dirty -= dirty->len;
  vector_cut (dirty, 0);
}

/* Passes on what a tier has left of a resource to the next one. */
void
fluid_offer_below (Fluid *self, NodeId above)
{
  NodeId     below = self->nodes[above].below;
  FluidNode *node = &self->nodes[below];
  double     capacity;

  if (below == NOBODY)
    return;
  capacity = fluid_offered (self, fluid_resource_at (self, node->resource), node->tier, above);
  if (capacity == node->capacity)
    return;
  fluid_close_node (self, below);
  node->capacity = capacity;
  fluid_touch (self, below);
}

void
fluid_keep_weights (Fluid *self, NodeId id)
{
  FluidNode *node = &self->nodes[id];

  fluid_close_node (self, id);
  node->weights = g_new (double, node->size);
  for (guint i = 0; i < node->n_uses; i++)
    node->weights[i] = 1;
}

void
fluid_add_use (Fluid *self, NodeId id, FluidOp op, double weight)
{
  FluidNode *node = &self->nodes[id];

  if (node->n_uses == node->size)
    {
      node->size = MAX (4, 2 * node->size);
      node->ops = g_renew (FluidOp, node->ops, node->size);
      if (node->weights != NULL)
        node->weights = g_renew (double, node->weights, node->size);
    }
  if (weight != 1 && node->weights == NULL)
    fluid_keep_weights (self, id);
  if (node->weights != NULL)
    node->weights[node->n_uses] = weight;
  node->ops[node->n_uses++] = op;
  node->weight += weight;
  self->n_links++;
  fluid_touch (self, id);
}

guint
fluid_find_use (const FluidNode *node, FluidOp op)
{
  guint i = node->n_uses;

  while (i > 0 && node->ops[i - 1] != op)
    i--;
  g_assert (i > 0);
  return i - 1;
}

/*
 * The last kernel has gone from a node whose rest no other tier shares: nobody is left to tell, so
 * that no solve has to find out.
 */
static void
empty_node (Fluid *self, NodeId id)
{
  FluidNode *node = &self->nodes[id];

  node->top = 0;
  self->levels[id] = INFINITY;
  if (node->weights != NULL)
    return;
  self->flags[id] |= FLUID_OPEN;
  self->rooms[id] = node->capacity * (1 + ABOVE);
}

/* LEVEL: of the op's group, 0 without one. */
void
fluid_remove_use (Fluid *self, NodeId id, FluidOp op, double level)
{
  FluidNode *node = &self->nodes[id];
  guint      place = fluid_find_use (node, op), n_behind = node->n_uses - place - 1;
  double     weight = fluid_use_weight (node, place);

  node->n_uses--;
  self->n_links--;
  if (n_behind > 0)
    memmove (node->ops + place, node->ops + place + 1, n_behind * sizeof *node->ops);
  if (n_behind > 0 && node->weights != NULL)
    memmove (node->weights + place, node->weights + place + 1, n_behind * sizeof *node->weights);
  node->weight = node->n_uses > 0 ? node->weight - weight : 0;
  node->load = node->n_uses > 0 ? node->load - level * weight : 0;
  if (self->flags[id] & FLUID_OPEN)
    self->rooms[id] = node->n_uses > 0 ? self->rooms[id] + level : node->capacity * (1 + ABOVE);
  if (node->n_uses == 0 && node->tier > 0 && node->below == NOBODY)
    empty_node (self, id);
  else if (node->below != NOBODY || isfinite (self->levels[id]))
    fluid_touch (self, id);
}

/* ---- groups -------------------------------------------------------------------------------- */

void
fluid_set_level (Fluid *self, NodeId id, double level)
{
  FluidNode *node = &self->nodes[id];

  if (node->stamp != self->stamp)
    {
      node->stamp = self->stamp;
      node->before = self->levels[id];
      vector_push (self->groups, id);
    }
  self->levels[id] = level;
  if (isfinite (level))
    self->flags[id] &= ~FLUID_OPEN;
}

void
fluid_set_owner (Fluid *self, FluidOp op, NodeId owner)
{
  FluidFlow *flow = &self->flows[op];

  if (flow->stamp != self->stamp)
    {
      flow->stamp = self->stamp;
      flow->before = self->owners[op];
      vector_push (self->moved, op);
    }
  self->owners[op] = owner;
}

void
fluid_report (Fluid *self, FluidOp op)
{
  if (self->flows[op].reported == self->stamp)
    return;
  self->flows[op].reported = self->stamp;
  vector_push (self->changed, op);
}
