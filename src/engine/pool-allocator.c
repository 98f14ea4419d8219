/* What a pool's allocator is asked for, and what it does where there is no room. */
#include "engine/engine-private.h"
#include "engine/pool-private.h"

void
engine_allocator_retry (Pool *pool, BlockedAlloc *alloc)
{
  guint64 room = pool_room (&pool->stats);

  if (pool->kind->trim (pool->allocator) > 0)
    pool->stats.n_retries++;
  if (!pool->kind->take (pool->allocator, alloc->request.what, room, &alloc->done))
    pool->kind->take (pool->allocator, alloc->request.what, G_MAXUINT64, &alloc->done);
}

/*
 * An allocation goes through when it fits, and also when waiting would not help: then it overflows.
 * A caching allocator that finds no room first waits for all that other streams still use, then
 * gives what is cached back to the device, and tries again.
 */
PoolAdmission
engine_allocator_admits (Pool *pool, BlockedAlloc *alloc)
{
  guint64 room = pool_room (&pool->stats);

  if (pool->kind->take (pool->allocator, alloc->request.what, room, &alloc->done))
    return POOL_ADMITTED;
  if (pool->n_deferred > 0)
    return POOL_WAITS;
  engine_allocator_retry (pool, alloc);
  return POOL_TRIMMED;
}
