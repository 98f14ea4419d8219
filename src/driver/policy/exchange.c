#include "driver/policy/exchange.h"

guint
exchange_workers (const Exchange *self)
{
  return self->owners > 0 ? self->across.size / self->worker.size : self->across.size;
}

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
exchange_n_sent (const Exchange *self)
{
  guint n = 0;

  for (guint f = 0; f < self->fragments; f++)
    n += exchange_sends (self, f);
  return n;
}

gboolean
exchange_sends (const Exchange *self, guint fragment)
{
  return self->only == 0 || (self->only >> fragment & 1) > 0;
}

guint
exchange_gap (const Exchange *self)
{
  return self->base_every > 0 ? MIN (self->base_every, self->every)
                              : self->every / exchange_n_sent (self);
}

/* Which of the fragments that are sent FRAGMENT is. */
static guint
turn_of (const Exchange *self, guint fragment)
{
  guint turn = 0;

  for (guint f = 0; f < fragment; f++)
    turn += exchange_sends (self, f);
  return turn;
}

guint
exchange_used_after (const Exchange *self, guint fragment)
{
  const guint64 n = exchange_n_sent (self);
  const guint64 twice = 2 * ((guint64) turn_of (self, fragment) + 1) * self->every;

  return (guint) ((twice + n) / (2 * n));
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
  guint64 cut = ((guint64) steps + delay) * exchange_n_sent (self);

  return (guint) MIN (self->every, cut);
}

void
exchange_cut_round (Exchange *self, guint steps, guint64 only)
{
  self->only = only;
  if (self->base_every == 0)
    self->every = exchange_cut (self, steps);
  else if (self->every > 1)
    self->every = MIN ((self->every - 1) / self->base_every, steps) * self->base_every
                  + (self->every - 1) % self->base_every + 1;
}

guint
exchange_fragment_of (const Exchange *self, const Workload *workload, guint layer)
{
  guint n_blocks = 0, block = 0;

  for (guint l = 0; l < workload_n_layers (workload); l++)
    {
      const gboolean is_block = workload_layer (workload, l)->kind == LAYER_BLOCK;

      n_blocks += is_block;
      block += is_block && l < layer;
    }
  if (n_blocks == 0)
    return workload_layer (workload, layer)->kind == LAYER_HEAD ? self->fragments - 1 : 0;
  block = MIN (block, n_blocks - 1);
  return self->strided ? block % self->fragments
                       : (guint) ((guint64) block * self->fragments / n_blocks);
}
