#include "engine/pool-private.h"

#include <string.h>

guint64
pool_device_bytes (const PoolStats *self)
{
  guint64 sum = 0;

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    sum += self->now[c];
  return sum;
}

gboolean
pool_fits (const PoolStats *self, guint64 bytes)
{
  guint64 taken = pool_device_bytes (self);

  return taken <= self->capacity && bytes <= self->capacity - taken;
}

static void
set_peak (PoolPeak *peak, const PoolStats *self, guint64 bytes, SimTime now, guint64 tag)
{
  peak->bytes = bytes;
  memcpy (peak->by_category, self->now, sizeof self->now);
  peak->time = now;
  peak->tag = tag;
}

static void
raise_peak (PoolPeak *peak, const PoolStats *self, guint64 bytes, SimTime now, guint64 tag)
{
  if (bytes > peak->bytes)
    set_peak (peak, self, bytes, now, tag);
}

void
pool_take (PoolStats *self, PoolCategory category, guint64 bytes, SimTime now, guint64 tag)
{
  g_assert (category < POOL_N_CATEGORIES);
  self->now[category] += bytes;
  self->peak_by_category[category] = MAX (self->peak_by_category[category], self->now[category]);

  guint64 device = pool_device_bytes (self);
  guint64 allocated = device - self->now[POOL_RUNTIME];
  raise_peak (&self->allocated, self, allocated, now, tag);
  raise_peak (&self->reserved, self, allocated, now, tag);
  raise_peak (&self->device, self, device, now, tag);
  if (device > self->capacity && !self->overflowed)
    {
      self->overflowed = TRUE;
      set_peak (&self->overflow, self, device, now, tag);
    }
}

void
pool_give (PoolStats *self, PoolCategory category, guint64 bytes)
{
  g_assert (category < POOL_N_CATEGORIES);
  g_assert (self->now[category] >= bytes);
  self->now[category] -= bytes;
}
