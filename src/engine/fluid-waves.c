#include "engine/fluid-private.h"

void
fluid_set_reserved (Fluid *self, ResourceId id, double reserved)
{
  FluidResource *resource = fluid_resource_at (self, id);

  if (reserved == resource->reserved || self->apart)
    return;
  resource->reserved = reserved;
  if (resource->reserved_changed)
    return;
  resource->reserved_changed = TRUE;
  vector_push (self->reservation, id);
}

double
fluid_slots (const Fluid *self, ResourceId id)
{
  return fluid_unreserved (fluid_resource_at (self, id));
}

/*
 * Several parts: the time is exact; a wave's length is the mean over that time, for members that
 * wait for one to end.
 */
static void
count_parts (FluidFlow *flow, double slots)
{
  double seconds = 0, weighted = 0;

  for (guint i = 0; i < flow->n_wave_parts; i++)
    {
      const WavePart *part = &flow->wave_parts[i];
      double          time = part->count * ceil (part->units / slots) * part->unit_seconds;

      seconds += time;
      weighted += time * part->unit_seconds;
    }
  flow->wave_seconds = seconds;
  flow->n_waves = seconds * seconds / weighted;
}

double
fluid_count_waves (FluidFlow *flow, const FluidResource *resource)
{
  double slots = MAX (1.0, floor (fluid_unreserved (resource)));

  if (flow->n_wave_parts > 0)
    {
      count_parts (flow, slots);
      return flow->wave_seconds * slots;
    }
  flow->n_waves = ceil (flow->waves.units / slots);
  flow->wave_seconds = flow->n_waves * flow->waves.unit_seconds;
  return flow->n_waves * slots * flow->waves.unit_seconds;
}

double
fluid_op_limit (FluidFlow *flow)
{
  double cap = flow->cap > 0 ? flow->cap : INFINITY;
  double wave = flow->n_waves > 0 ? 1 / flow->wave_seconds : INFINITY;

  flow->limit_on = cap < wave ? ENGINE_NONE : flow->waves.resource;
  return isfinite (MIN (wave, cap)) ? MIN (wave, cap) : 0;
}

static void
update_waves (Fluid *self, FluidOp op)
{
  FluidFlow *flow = &self->flows[op];
  NodeId     id = fluid_nodes_of (self, op)[flow->wave_link];
  FluidNode *node = &self->nodes[id];
  double    *kept = &self->routes[op].amounts[flow->wave_link];
  double     n = flow->n_waves;
  double     amount = fluid_count_waves (flow, fluid_resource_at (self, node->resource));
  double     before = fluid_weight_of (self, op, flow->wave_link);

  if (n == flow->n_waves && amount == *kept)
    return;
  *kept = amount;
  if (node->weights == NULL)
    fluid_keep_weights (self, id);
  g_assert (node->weights != NULL);
  node->weights[fluid_find_use (node, op)] = fluid_weight_of (self, op, flow->wave_link);
  node->weight += fluid_weight_of (self, op, flow->wave_link) - before;
  fluid_close_node (self, flow->limit);
  self->nodes[flow->limit].capacity = fluid_op_limit (flow);
  fluid_touch (self, id);
  fluid_touch (self, flow->limit);
  fluid_report (self, op);
}

void
fluid_apply_reservation (Fluid *self, ResourceId id)
{
  NodeId above = NOBODY, node = fluid_resource_at (self, id)->first;

  fluid_resource_at (self, id)->reserved_changed = FALSE;
  if (node != NOBODY && self->nodes[node].tier == 0)
    {
      above = node;
      node = self->nodes[node].below;
    }
  if (node == NOBODY)
    return;
  self->nodes[node].capacity =
      fluid_offered (self, fluid_resource_at (self, id), self->nodes[node].tier, above);
  fluid_touch (self, node);
  for (; node != NOBODY; node = self->nodes[node].below)
    for (guint i = 0; i < self->nodes[node].n_uses; i++)
      {
        FluidOp op = self->nodes[node].ops[i];
        if (self->flows[op].n_waves > 0 && self->flows[op].waves.resource == id)
          update_waves (self, op);
      }
}
