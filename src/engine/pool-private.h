/* The bookkeeping of one pool: taking, giving back, and the three peaks. */
#pragma once

#include "engine/pool.h"

/* Bytes that the device has given out: the framework's allocator plus runtime. */
guint64 pool_device_bytes (const PoolStats *self);

gboolean pool_fits (const PoolStats *self, guint64 bytes);
void pool_take (PoolStats *self, PoolCategory category, guint64 bytes, SimTime now, guint64 tag);

/* BYTES must have been taken. */
void pool_give (PoolStats *self, PoolCategory category, guint64 bytes);
