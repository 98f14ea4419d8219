/* What bind.c leaves: its life, and what is asked of it. */
#include "replay/run/replay-private.h"

Binding *
binding_empty (void)
{
  Binding *self = g_atomic_rc_box_new0 (Binding);

  self->ranks = g_array_new (FALSE, FALSE, sizeof (BoundRank));
  self->nodes = g_array_new (FALSE, FALSE, sizeof (BoundThing));
  self->resources = g_array_new (FALSE, FALSE, sizeof (BoundThing));
  self->groups = g_array_new (FALSE, FALSE, sizeof (BoundGroup));
  self->members = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->pairs = g_array_new (FALSE, FALSE, sizeof (BoundPair));
  self->ends = g_array_new (FALSE, FALSE, sizeof (BoundEnd));
  self->plans = g_array_new (FALSE, FALSE, sizeof (BoundPlan));
  self->costs = g_array_new (FALSE, FALSE, sizeof (BoundCost));
  self->loads = g_array_new (FALSE, FALSE, sizeof (BoundLoad));
  return self;
}

static void
binding_clear (gpointer data)
{
  Binding *self = data;

  g_array_unref (self->ranks);
  g_array_unref (self->nodes);
  g_array_unref (self->resources);
  g_array_unref (self->groups);
  g_array_unref (self->members);
  g_array_unref (self->pairs);
  g_array_unref (self->ends);
  g_array_unref (self->plans);
  g_array_unref (self->costs);
  g_array_unref (self->loads);
  g_free (self->group_of);
}

Binding *
binding_ref (Binding *self)
{
  return g_atomic_rc_box_acquire (self);
}

void
binding_unref (Binding *self)
{
  g_atomic_rc_box_release_full (self, binding_clear);
}

static const BoundCost *
find_cost (const Binding *self, BoundCosts costs, guint64 bytes)
{
  const BoundCost *all = &g_array_index (self->costs, BoundCost, costs.first);
  guint            low = 0, high = costs.n;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (all[middle].bytes < bytes)
        low = middle + 1;
      else
        high = middle;
    }
  g_assert (low < costs.n && all[low].bytes == bytes);
  return &all[low];
}

const BoundCost *
binding_cost (const Binding *self, const BoundGroup *group, CollectiveKind kind, guint64 bytes)
{
  return find_cost (self, group->collectives[kind], bytes);
}

const BoundCost *
binding_pair_cost (const Binding *self, const BoundPair *pair, guint64 bytes)
{
  return find_cost (self, pair->costs, bytes);
}

guint
binding_end (const Binding *self, guint rank, const ScheduleItem *item)
{
  const BoundRank *bound = binding_rank (self, rank);

  for (guint i = bound->first_end; i < bound->first_end + bound->n_ends; i++)
    {
      const BoundEnd *end = &g_array_index (self->ends, BoundEnd, i);

      if (end->comm == item->ref && end->peer == item->peer && end->way == item->collective)
        return i;
    }
  g_assert_not_reached ();
}
