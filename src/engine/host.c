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

  vector_push (self->hosts, host);
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
    host->blocks = vector_new (sizeof (HostBlock));
  if (entry.end > entry.start)
    vector_push (host->blocks, entry);
  host->state = HOST_RUNNABLE;
  host->blocked_on = ENGINE_NONE;
  if (cause == CAUSE_WAIT)
    host->apart = engine_op_was_apart (self, op);
  event_heap_set (self->heap, host->event, self->now, event_sequence (EVENT_HOST, id));
}

/*
 * Hosts run ahead of devices: mostly nothing happens while one works, and its next step needs no
 * event. FALSE: something does, or it is time to look at how much has been done.
 */
static gboolean
works_alone (Engine *self, SimTime work)
{
  const SimTime end = sim_time_add (self->now, work);

  if (self->events + 1 >= self->until || end >= event_heap_next_time (self->heap)
      || !engine_is_settled (self))
    return FALSE;
  self->now = end;
  self->events++; /* as if there had been one */
  return TRUE;
}

static gboolean alloc_or_block (Engine *self, HostId id, const HostYield *yield);

/* Does what a host asked for. TRUE when it can go on at once. */
static gboolean
obey (Engine *self, HostId id, const HostYield *yield)
{
  switch (yield->kind)
    {
    case HOST_WORK:
      if (yield->work == 0 || works_alone (self, yield->work))
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
  g_assert (host->state == HOST_BLOCKED_WAIT); /* who waits for memory has overflowed */
  g_string_append_printf (text, "host '%s' waits for op %u", host->name, host->blocked_on);
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
    .blocked = vector_new (sizeof (BlockedAlloc)),
  };

  vector_push (self->pools, pool);
  return self->pools->len - 1;
}

static void
log_change (Engine *self, PoolId id, PoolCategory category)
{
  const PoolStats *stats = &engine_pool_at (self, id)->stats;
  PoolChange       change = { self->now, id, category, pool_held (stats, category) };

  if (self->log_pools)
    vector_push (self->pool_log, change);
}

void
engine_pool_take (Engine *self, PoolId id, PoolCategory category, guint64 bytes, guint64 tag)
{
  pool_take (&engine_pool_at (self, id)->stats, category, bytes, self->now, tag);
  log_change (self, id, category);
}

void
engine_pool_set_allocator (Engine *self, PoolId id, const PoolAllocator *kind, gpointer allocator)
{
  Pool *pool = engine_pool_at (self, id);

  g_assert (pool->kind == NULL);
  pool->kind = kind;
  pool->allocator = allocator;
  pool->stats.caching = TRUE;
}

static PoolAdmission
pool_admits (Pool *pool, BlockedAlloc *alloc)
{
  if (pool->kind != NULL)
    return engine_allocator_admits (pool, alloc);
  return pool->n_deferred == 0 || pool_fits (&pool->stats, alloc->request.bytes) ? POOL_ADMITTED
                                                                                 : POOL_WAITS;
}

static gboolean
admits (Engine *self, Pool *pool, BlockedAlloc *alloc)
{
  const PoolAdmission admission = pool_admits (pool, alloc);

  self->pools_worst = MAX (self->pools_worst, admission);
  self->unlike |= self->twins_apart && admission != POOL_ADMITTED;
  return admission != POOL_WAITS;
}

static void
take_admitted (Engine *self, PoolId id, const BlockedAlloc *alloc)
{
  Pool *pool = engine_pool_at (self, id);

  if (pool->kind != NULL)
    pool->stats.heap = pool->kind->reserved (pool->allocator);
  engine_pool_take (self, id, alloc->category, alloc->request.bytes, alloc->tag);
  engine_pool_note (self, (PoolCall){ .kind = POOL_CALL_TAKE,
                                      .pool = id,
                                      .category = alloc->category,
                                      .request = alloc->request,
                                      .tag = alloc->tag });
}

static gboolean
alloc_or_block (Engine *self, HostId id, const HostYield *yield)
{
  Pool        *pool = engine_pool_at (self, yield->pool);
  BlockedAlloc alloc = { id, yield->category, yield->tag, yield->request, 0 };

  if (admits (self, pool, &alloc))
    {
      take_admitted (self, yield->pool, &alloc);
      return TRUE;
    }
  vector_push (pool->blocked, alloc);
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
      BlockedAlloc *waiting = &vector_at (pool->blocked, BlockedAlloc, i), alloc;

      if (!admits (self, pool, waiting))
        {
          i++;
          continue;
        }
      alloc = *waiting;
      vector_remove (pool->blocked, i, 1);
      take_admitted (self, id, &alloc);
      engine_host_wake (self, alloc.host, CAUSE_MEMORY, op);
    }
}

gboolean
engine_pools_overflow (Engine *self)
{
  for (PoolId id = 0; id < self->pools->len; id++)
    {
      Pool        *pool = engine_pool_at (self, id);
      BlockedAlloc alloc;

      if (pool->blocked->len == 0)
        continue;
      alloc = vector_at (pool->blocked, BlockedAlloc, 0);
      vector_remove (pool->blocked, 0, 1);
      if (pool->kind != NULL)
        engine_allocator_retry (pool, &alloc);
      take_admitted (self, id, &alloc);
      engine_host_wake (self, alloc.host, CAUSE_MEMORY, ENGINE_NONE);
      return TRUE;
    }
  return FALSE;
}

void
engine_pool_release (Engine *self, PoolId id, PoolCategory category, const PoolRequest *request,
                     OpId after)
{
  Pool      *pool = engine_pool_at (self, id);
  WaiterNode waiter = { .kind = WAITER_RELEASE,
                        .id = id,
                        .category = category,
                        .bytes = request->bytes,
                        .detached = POOL_DETACHED_NONE };

  if (after == ENGINE_NONE || engine_op_done (self, after))
    {
      if (pool->kind != NULL)
        pool->kind->release (pool->allocator, request->what);
      pool_release (&pool->stats, category, request->bytes);
      log_change (self, id, category);
      engine_pool_note (self, (PoolCall){ .kind = POOL_CALL_RELEASE,
                                          .pool = id,
                                          .category = category,
                                          .request = *request });
      retry_blocked (self, id, after);
      return;
    }
  if (pool->kind != NULL)
    waiter.detached = pool->kind->detach (pool->allocator, request->what);
  pool_release_later (&pool->stats, category, request->bytes);
  engine_pool_note (self, (PoolCall){ .kind = POOL_CALL_DETACH,
                                      .pool = id,
                                      .category = category,
                                      .detached = waiter.detached,
                                      .request = *request });
  pool->n_deferred++;
  engine_op_add_waiter (self, after, &waiter);
}

void
engine_pool_release_deferred (Engine *self, const WaiterNode *release, OpId op)
{
  Pool *pool = engine_pool_at (self, release->id);

  pool->n_deferred--;
  if (pool->kind != NULL)
    pool->kind->give (pool->allocator, release->detached);
  pool_give (&pool->stats, release->category, release->bytes);
  log_change (self, release->id, release->category);
  engine_pool_note (self, (PoolCall){ .kind = POOL_CALL_GIVE,
                                      .pool = release->id,
                                      .category = release->category,
                                      .detached = release->detached,
                                      .request = { .bytes = release->bytes } });
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
