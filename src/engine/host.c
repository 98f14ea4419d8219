/* Issuing threads and the memory that they take. */
#include "engine/engine-private.h"
#include "engine/pool-private.h"

/* ---- hosts ----------------------------------------------------------------------------------- */

HostId
engine_add_host (Engine *self, const char *name, HostStep step, gpointer user)
{
  HostId id = self->hosts->len;
  Host   host = {
      .name = g_string_chunk_insert (self->names, name),
      .step = step,
      .user = user,
      .event = event_heap_add (self->heap),
      .blocked_on = ENGINE_NONE,
  };

  g_array_append_val (self->hosts, host);
  event_heap_set (self->heap, host.event, self->now, event_sequence (EVENT_HOST, id));
  self->n_hosts_left++;
  return id;
}

static void
block (Engine *self, HostId id, HostState state, OpId op)
{
  Host *host = engine_host_at (self, id);

  host->state = state;
  host->block_start = self->now;
  host->blocked_on = op;
}

void
engine_host_wake (Engine *self, HostId id, Cause cause, OpId op)
{
  Host     *host = engine_host_at (self, id);
  HostBlock entry = { host->block_start, self->now, cause, op };

  if (host->blocks == NULL)
    host->blocks = g_array_new (FALSE, FALSE, sizeof (HostBlock));
  if (entry.end > entry.start)
    g_array_append_val (host->blocks, entry);
  host->state = HOST_RUNNABLE;
  host->blocked_on = ENGINE_NONE;
  event_heap_set (self->heap, host->event, self->now, event_sequence (EVENT_HOST, id));
}

static gboolean alloc_or_block (Engine *self, HostId id, const HostYield *yield);

/* Does what a host asked for. TRUE when it can go on at once. */
static gboolean
obey (Engine *self, HostId id, const HostYield *yield)
{
  switch (yield->kind)
    {
    case HOST_WORK:
      if (yield->work == 0)
        return TRUE;
      engine_key_after (self, engine_host_at (self, id)->event, yield->work,
                        event_sequence (EVENT_HOST, id));
      return FALSE;
    case HOST_WAIT:
      if (engine_op_done (self, yield->wait))
        return TRUE;
      engine_op_add_waiter (self, yield->wait, &(WaiterNode){ .kind = WAITER_HOST, .id = id });
      block (self, id, HOST_BLOCKED_WAIT, yield->wait);
      return FALSE;
    case HOST_ALLOC:
      return alloc_or_block (self, id, yield);
    case HOST_END:
      engine_host_at (self, id)->state = HOST_OVER;
      self->n_hosts_left--;
      return FALSE;
    }
  g_assert_not_reached ();
}

void
engine_host_run (Engine *self, HostId id)
{
  HostYield yield;

  do
    {
      const Host *host = engine_host_at (self, id);

      self->issuing = id;
      yield = host->step (self, id, host->user);
      self->issuing = ENGINE_NONE;
    }
  while (obey (self, id, &yield));
}

const HostBlock *
engine_host_blocks (const Engine *self, HostId id, guint *n)
{
  const Host *host = engine_host_at (self, id);

  *n = host->blocks != NULL ? host->blocks->len : 0;
  return host->blocks != NULL ? (const HostBlock *) (gconstpointer) host->blocks->data : NULL;
}

gboolean
engine_describe_stuck_host (const Engine *self, HostId id, GString *text)
{
  const Host *host = engine_host_at (self, id);

  if (host->state == HOST_OVER)
    return FALSE;
  g_string_append_printf (text, "host '%s' waits for ", host->name);
  if (host->state == HOST_BLOCKED_WAIT)
    g_string_append_printf (text, "op %u", host->blocked_on);
  else
    g_string_append (text, "memory");
  return TRUE;
}

/* When nothing happens any more: one whose work has no end. */
gboolean
engine_describe_late_host (const Engine *self, HostId id, GString *text)
{
  const Host *host = engine_host_at (self, id);

  if (host->state != HOST_RUNNABLE)
    return FALSE;
  g_string_append_printf (text, "host '%s'", host->name);
  return TRUE;
}

/* ---- pools ----------------------------------------------------------------------------------- */

PoolId
engine_add_pool (Engine *self, const char *name, guint64 capacity)
{
  Pool pool = {
    .name = g_string_chunk_insert (self->names, name),
    .stats = { .capacity = capacity },
    .blocked = g_array_new (FALSE, FALSE, sizeof (BlockedAlloc)),
  };

  g_array_append_val (self->pools, pool);
  return self->pools->len - 1;
}

static void
log_change (Engine *self, PoolId id, PoolCategory category)
{
  const PoolStats *stats = &engine_pool_at (self, id)->stats;
  PoolChange       change = { self->now, id, category, pool_held (stats, category) };

  if (self->log_pools)
    g_array_append_val (self->pool_log, change);
}

void
engine_pool_take (Engine *self, PoolId id, PoolCategory category, guint64 bytes, guint64 tag)
{
  pool_take (&engine_pool_at (self, id)->stats, category, bytes, self->now, tag);
  log_change (self, id, category);
}

void
engine_pool_set_allocator (Engine *self, PoolId id, AllocatorKind kind)
{
  Pool *pool = engine_pool_at (self, id);

  g_assert (pool->heap == NULL && kind != ALLOCATOR_IDEAL);
  pool->heap = heap_new (kind);
  pool->stats.caching = TRUE;
}

/*
 * An allocation goes through when it fits, and also when waiting would not help: then it overflows.
 * A caching allocator that finds no room first waits for all that other streams still use, then
 * gives what is cached back to the device, and tries again.
 */
static gboolean
heap_admits (Pool *pool, BlockedAlloc *alloc)
{
  guint64 room = pool_room (&pool->stats);

  if (heap_take (pool->heap, &alloc->request, room, &alloc->done))
    return TRUE;
  if (pool->n_deferred > 0)
    return FALSE;
  if (heap_trim (pool->heap) > 0)
    pool->stats.n_retries++;
  if (!heap_take (pool->heap, &alloc->request, room, &alloc->done))
    heap_take (pool->heap, &alloc->request, G_MAXUINT64, &alloc->done);
  return TRUE;
}

static gboolean
admits (Pool *pool, BlockedAlloc *alloc)
{
  if (pool->heap != NULL)
    return heap_admits (pool, alloc);
  return pool->n_deferred == 0 || pool_fits (&pool->stats, alloc->request.bytes);
}

static void
take_admitted (Engine *self, PoolId id, const BlockedAlloc *alloc)
{
  Pool *pool = engine_pool_at (self, id);

  if (pool->heap != NULL)
    pool->stats.heap = heap_reserved (pool->heap);
  engine_pool_take (self, id, alloc->category, alloc->request.bytes, alloc->tag);
}

static gboolean
alloc_or_block (Engine *self, HostId id, const HostYield *yield)
{
  Pool        *pool = engine_pool_at (self, yield->pool);
  BlockedAlloc alloc = { id, yield->category, yield->tag, yield->request, 0 };

  if (admits (pool, &alloc))
    {
      take_admitted (self, yield->pool, &alloc);
      return TRUE;
    }
  g_array_append_val (pool->blocked, alloc);
  block (self, id, HOST_BLOCKED_ALLOC, ENGINE_NONE);
  return FALSE;
}

/*
 * Bytes came back at the end of OP: lets through those blocked allocations that may go now, in
 * order of arrival.
 */
static void
retry_blocked (Engine *self, PoolId id, OpId op)
{
  Pool *pool = engine_pool_at (self, id);

  for (guint i = 0; i < pool->blocked->len;)
    {
      BlockedAlloc *waiting = &g_array_index (pool->blocked, BlockedAlloc, i), alloc;

      if (!admits (pool, waiting))
        {
          i++;
          continue;
        }
      alloc = *waiting;
      g_array_remove_index (pool->blocked, i);
      take_admitted (self, id, &alloc);
      engine_host_wake (self, alloc.host, CAUSE_MEMORY, op);
    }
}

void
engine_pool_release (Engine *self, PoolId id, PoolCategory category, const HeapRequest *request,
                     OpId after)
{
  Pool      *pool = engine_pool_at (self, id);
  WaiterNode waiter = { .kind = WAITER_RELEASE,
                        .id = id,
                        .category = category,
                        .bytes = request->bytes,
                        .detached = HEAP_NONE };

  if (after == ENGINE_NONE || engine_op_done (self, after))
    {
      if (pool->heap != NULL)
        heap_release (pool->heap, request);
      pool_release (&pool->stats, category, request->bytes);
      log_change (self, id, category);
      retry_blocked (self, id, after);
      return;
    }
  if (pool->heap != NULL)
    waiter.detached = heap_detach (pool->heap, request);
  pool_release_later (&pool->stats, category, request->bytes);
  pool->n_deferred++;
  engine_op_add_waiter (self, after, &waiter);
}

void
engine_pool_release_deferred (Engine *self, const WaiterNode *release, OpId op)
{
  Pool *pool = engine_pool_at (self, release->id);

  pool->n_deferred--;
  if (pool->heap != NULL)
    heap_give (pool->heap, release->detached);
  pool_give (&pool->stats, release->category, release->bytes);
  log_change (self, release->id, release->category);
  retry_blocked (self, release->id, op);
}

const PoolStats *
engine_pool_stats (const Engine *self, PoolId pool)
{
  return &engine_pool_at (self, pool)->stats;
}

guint
engine_n_pools (const Engine *self)
{
  return self->pools->len;
}

const char *
engine_pool_name (const Engine *self, PoolId pool)
{
  return engine_pool_at (self, pool)->name;
}

void
engine_keep_pool_log (Engine *self, gboolean keep)
{
  self->log_pools = keep;
}

const PoolChange *
engine_pool_log (const Engine *self, guint *n)
{
  *n = self->pool_log->len;
  return (const PoolChange *) (gconstpointer) self->pool_log->data;
}
