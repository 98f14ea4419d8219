#include "engine/pool-private.h"

#include <string.h>

static guint64
sum (const guint64 bytes[POOL_N_CATEGORIES])
{
  guint64 total = 0;

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    total += bytes[c];
  return total;
}

guint64
pool_held (const PoolStats *self, PoolCategory category)
{
  return self->now[category] + self->waiting[category];
}

/* What is taken of the capacity outside the allocator, and by it. */
static guint64
device_bytes (const PoolStats *self)
{
  guint64 runtime = pool_held (self, POOL_RUNTIME);
  guint64 held = sum (self->now) + sum (self->waiting) - runtime;

  return runtime + (self->caching ? MAX (self->heap, held) : held);
}

guint64
pool_room (const PoolStats *self)
{
  guint64 runtime = pool_held (self, POOL_RUNTIME);

  return self->capacity > runtime ? self->capacity - runtime : 0;
}

gboolean
pool_fits (const PoolStats *self, guint64 bytes)
{
  guint64 taken = device_bytes (self);

  return taken <= self->capacity && bytes <= self->capacity - taken;
}

static void
raise_host_peak (PoolPeak *peak, const PoolStats *self, guint64 bytes, guint64 cached, SimTime now,
                 guint64 tag)
{
  if (bytes <= peak->bytes)
    return;
  *peak = (PoolPeak){ .bytes = bytes, .cached = cached, .time = now, .tag = tag };
  memcpy (peak->by_category, self->now, sizeof self->now);
}

static PoolPeak
device_now (const PoolStats *self, SimTime now, guint64 tag)
{
  PoolPeak peak = { .waiting = sum (self->waiting), .time = now, .tag = tag };

  for (guint c = 0; c < POOL_N_CATEGORIES; c++)
    peak.by_category[c] = pool_held (self, (PoolCategory) c);
  peak.bytes = device_bytes (self);
  peak.cached = peak.bytes - sum (peak.by_category);
  return peak;
}

void
pool_take (PoolStats *self, PoolCategory category, guint64 bytes, SimTime now, guint64 tag)
{
  guint64 held;

  g_assert (category < POOL_N_CATEGORIES);
  self->now[category] += bytes;
  held = pool_held (self, category);
  self->peak_by_category[category] = MAX (self->peak_by_category[category], held);

  PoolPeak device = device_now (self, now, tag);
  guint64  allocated = sum (self->now) - self->now[POOL_RUNTIME];
  raise_host_peak (&self->allocated, self, allocated, 0, now, tag);
  raise_host_peak (&self->reserved, self,
                   self->caching ? device.bytes - device.by_category[POOL_RUNTIME] : allocated,
                   device.cached, now, tag);
  if (device.bytes > self->device.bytes)
    self->device = device;
  if (device.bytes > self->capacity && !self->overflowed)
    {
      self->overflowed = TRUE;
      self->overflow = device;
    }
}

void
pool_release (PoolStats *self, PoolCategory category, guint64 bytes)
{
  g_assert (category < POOL_N_CATEGORIES);
  g_assert (self->now[category] >= bytes);
  self->now[category] -= bytes;
}

void
pool_release_later (PoolStats *self, PoolCategory category, guint64 bytes)
{
  pool_release (self, category, bytes);
  self->waiting[category] += bytes;
}

void
pool_give (PoolStats *self, PoolCategory category, guint64 bytes)
{
  g_assert (category < POOL_N_CATEGORIES);
  g_assert (self->waiting[category] >= bytes);
  self->waiting[category] -= bytes;
}
