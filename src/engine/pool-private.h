/* The bookkeeping of one pool: taking, releasing, giving back, and the three peaks. */
#pragma once

#include "engine/pool.h"

/* Bytes of CATEGORY that the device has given out: those that live and those that wait. */
guint64 pool_held (const PoolStats *self, PoolCategory category);

/* What the capacity leaves to the allocator. */
guint64 pool_room (const PoolStats *self);

gboolean pool_fits (const PoolStats *self, guint64 bytes);
void pool_take (PoolStats *self, PoolCategory category, guint64 bytes, SimTime now, guint64 tag);

/* The host releases BYTES that live: they are gone, or wait for an op. */
void pool_release (PoolStats *self, PoolCategory category, guint64 bytes);
void pool_release_later (PoolStats *self, PoolCategory category, guint64 bytes);

/* BYTES that waited are gone. */
void pool_give (PoolStats *self, PoolCategory category, guint64 bytes);
