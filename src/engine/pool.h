/*
 * Memory pools: a tier's capacity, what fills it, and its peaks. Plain data; the engine owns and
 * updates it.
 */
#pragma once

#include "base/config/units.h"
#include "base/memory.h"

typedef guint32 PoolId;

/* What a host asks of a pool. */
typedef struct
{
  guint64       bytes;
  gconstpointer what; /* to the pool's allocator; without one only the bytes count */
} PoolRequest;

/*
 * Who decides in host order which part of a pool's capacity each request gets: a framework's
 * allocator. The engine knows none; it calls the functions of one with ALLOCATOR and with what
 * PoolRequest.what points to.
 */
typedef struct
{
  /*
   * Goes on with a request from step *DONE (0 at first), and counts the steps that went through.
   * FALSE when the device, which has CAPACITY for the allocator, has no room for the next one.
   */
  gboolean (*take) (gpointer allocator, gconstpointer what, guint64 capacity, guint *done);

  /* The host gives it back. */
  void (*release) (gpointer allocator, gconstpointer what);

  /* The same, but an op still uses it: what to give once that has ended. */
  guint32 (*detach) (gpointer allocator, gconstpointer what);
  void (*give) (gpointer allocator, guint32 detached);

  /* Gives the device what it caches and can give. Returns the bytes. */
  guint64 (*trim) (gpointer allocator);

  guint64 (*reserved) (gconstpointer allocator); /* bytes that the device has given */

  /*
   * Appends numbers (guint64) that say what it holds while nothing is detached: where they are the
   * same, the same requests lead to the same again.
   */
  void (*state) (gconstpointer allocator, GArray *numbers);

  /*
   * Notes what is asked from now on. `repeats`: whether the same once more, in this order, would
   * lead to the state that it has now, and need no more of the device; and notes from there on.
   * FALSE also where it does not know.
   */
  void (*note) (gpointer allocator);
  gboolean (*repeats) (gpointer allocator);

  void (*free) (gpointer allocator);
} PoolAllocator;

#define POOL_DETACHED_NONE G_MAXUINT32 /* of `detach`: nothing is left to give */

typedef struct
{
  guint64 bytes;                          /* the peak */
  guint64 by_category[POOL_N_CATEGORIES]; /* at the peak: `now`; device, overflow: + `waiting` */
  guint64 waiting; /* of device and overflow: bytes of it that waited; else 0 */
  guint64 cached;  /* of reserved, device and overflow: bytes of it that the allocator held for
                      nobody, rounding included */
  SimTime time;
  guint64 tag; /* of the allocation that made it */
} PoolPeak;

/*
 * Bytes are live (`now`) from their allocation to the host's release, and then wait (`waiting`)
 * while an op still uses them: an allocator that is told of other streams (PyTorch's record_stream)
 * counts a block as allocated until free() and hands it out again only after that stream's event.
 *   allocated = sum of `now` without POOL_RUNTIME
 *   reserved  = what the allocator holds from the device: the segments of a caching one
 *               of a framework, which keep what is given back; without one, the same as allocated
 *   device    = what is taken of `capacity`: reserved and POOL_RUNTIME of a caching one, else the
 *               sum of `now` + `waiting`
 * `allocated` thus follows the host's order alone, whatever the times.
 */
typedef struct
{
  guint64  capacity;
  gboolean caching;
  guint64  heap;      /* caching: what the allocator holds now */
  guint    n_retries; /* allocations that went through only after what was cached went back */
  guint64  now[POOL_N_CATEGORIES];
  guint64  waiting[POOL_N_CATEGORIES];
  PoolPeak allocated, reserved, device;
  guint64  peak_by_category[POOL_N_CATEGORIES]; /* of `now` + `waiting`: each category's own peak,
                                                   at its own time */
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
