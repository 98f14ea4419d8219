/* Memory pools: a tier's capacity, what fills it, and its peaks. Plain data; the engine owns and updates it. */
#pragma once

#include "base/memory.h"
#include "base/units.h"

typedef guint32 PoolId;

typedef struct
{
  guint64 bytes;                          /* the peak */
  guint64 by_category[POOL_N_CATEGORIES]; /* at the peak: `now`; of device and overflow with `waiting` */
  guint64 waiting; /* of device and overflow: bytes of it that waited; else 0 */
  SimTime time;
  guint64 tag; /* of the allocation that made it */
} PoolPeak;

/*
 * Bytes are live (`now`) from their allocation to the host's release, and then wait (`waiting`) while an op still uses them: an
 * allocator that is told of other streams (PyTorch's record_stream) counts a block as allocated until free() and hands it out
 * again only after that stream's event.
 *   allocated = reserved = sum of `now` without POOL_RUNTIME
 *   device               = sum of `now` + `waiting`: what is taken of `capacity`
 * `allocated` thus follows the host's order alone, whatever the times. `reserved` (what the allocator holds from the device) equals
 * `allocated` until a caching allocator is modelled.
 */
typedef struct
{
  guint64  capacity;
  guint64  now[POOL_N_CATEGORIES];
  guint64  waiting[POOL_N_CATEGORIES];
  PoolPeak allocated, reserved, device;
  guint64  peak_by_category[POOL_N_CATEGORIES]; /* of `now` + `waiting`: each category's own peak, at its own time */
  gboolean overflowed;                          /* device exceeded capacity */
  PoolPeak overflow;                            /* the first allocation that did */
} PoolStats;

typedef struct
{
  SimTime      time;
  PoolId       pool;
  PoolCategory category;
  guint64      bytes; /* of that category after the change, those that wait included */
} PoolChange;
