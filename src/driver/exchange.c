#include "driver/exchange.h"

MeshGroup
exchange_owners (const Exchange *self)
{
  return mesh_group_every (self->across, MAX (self->slices, 1));
}

MeshGroup
exchange_peers (const Exchange *self)
{
  return mesh_group_part (self->across, MAX (self->slices, 1));
}

guint
exchange_gap (const Exchange *self)
{
  return self->every / self->fragments;
}

guint
exchange_used_after (const Exchange *self, guint fragment)
{
  guint64 twice = 2 * (guint64) (fragment + 1) * self->every;

  return (guint) ((twice + self->fragments) / (2 * (guint64) self->fragments));
}

guint
exchange_sent_after (const Exchange *self, guint fragment)
{
  guint used = exchange_used_after (self, fragment);

  return self->delay == EXCHANGE_ROUND_LATE ? used : used - self->delay;
}

guint
exchange_cut (const Exchange *self, guint steps)
{
  guint   delay = self->delay == EXCHANGE_ROUND_LATE ? 0 : self->delay;
  guint64 cut = ((guint64) steps + delay) * self->fragments;

  return (guint) MIN (self->every, cut);
}

gboolean
exchange_has_even_steps (const Exchange *self)
{
  return self->base_every == 0;
}
