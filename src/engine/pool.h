/* Memory pools: a tier's capacity, what fills it, and its peaks. Plain data; the engine owns and updates it. */
#pragma once

#include "base/memory.h"
#include "base/units.h"

typedef guint32 PoolId;

typedef struct
{
  guint64 bytes;                             /* the peak */
  guint64 by_category[POOL_N_CATEGORIES];    /* at the moment of the peak */
  SimTime time;
  guint64 tag;                               /* of the allocation that made it */
} PoolPeak;

/*
 * `allocated`: everything but POOL_RUNTIME, as the framework's allocator counts it. `reserved`: what that allocator holds from
 * the device; equal to `allocated` until a caching allocator is modelled. `device`: reserved plus runtime, what the driver reports.
 */
typedef struct
{
  guint64  capacity;
  guint64  now[POOL_N_CATEGORIES];
  PoolPeak allocated, reserved, device;
  guint64  peak_by_category[POOL_N_CATEGORIES]; /* each category's own peak, at its own time */
  gboolean overflowed;                          /* device exceeded capacity */
  PoolPeak overflow;                            /* the first allocation that did */
} PoolStats;

typedef struct
{
  SimTime      time;
  PoolId       pool;
  PoolCategory category;
  guint64      bytes; /* of that category after the change */
} PoolChange;
