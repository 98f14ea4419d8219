/*
 * What a stretch of a run does to the pools, done once more without the ops: where a period repeats
 * in time, only its memory is still to be found out. What it uses of resources is added up again as
 * well, so that sums end in the same digits.
 */
#include "engine/engine-private.h"
#include "engine/pool-private.h"

/* A stretch begins, which may be repeated. */
static void
note_start (Pool *pool)
{
  memcpy (pool->before, pool->stats.now, sizeof pool->before);
  if (pool->kind != NULL)
    pool->kind->note (pool->allocator);
}

void
engine_pool_note_calls (Engine *self, gboolean keep)
{
  g_clear_pointer (&self->pool_calls, vector_free);
  g_clear_pointer (&self->use_calls, vector_free);
  if (keep)
    {
      self->pool_calls = vector_new (sizeof (PoolCall));
      self->use_calls = vector_new (sizeof (UseCall));
    }
  self->pools_worst = POOL_ADMITTED;
  for (PoolId id = 0; keep && id < self->pools->len; id++)
    {
      engine_pool_at (self, id)->noted = TRUE;
      note_start (engine_pool_at (self, id));
    }
}

void
engine_pool_note_calls_of (Engine *self, PoolId id)
{
  if (self->pool_calls == NULL)
    {
      self->pool_calls = vector_new (sizeof (PoolCall));
      self->pools_worst = POOL_ADMITTED;
    }
  engine_pool_at (self, id)->noted = TRUE;
}

gboolean
engine_pool_calls_within (const Engine *self, PoolAdmission worst)
{
  return self->pool_calls != NULL && self->pools_worst <= worst;
}

void
engine_pool_note (Engine *self, PoolCall call)
{
  if (self->pool_calls == NULL || !engine_pool_at (self, call.pool)->noted)
    return;
  call.time = self->now;
  vector_push (self->pool_calls, call);
}

/* What `detach` says now, by what it said then. */
static guint32 *
detached_now (Vector *numbers, guint32 then)
{
  if (then >= numbers->len)
    vector_extend (numbers, then + 1 - numbers->len);
  return &vector_at (numbers, guint32, then);
}

/* FALSE: it would have had to do more than WORST. */
static gboolean
take (Pool *pool, const PoolCall *call, SimTime span, guint64 tag, PoolAdmission worst)
{
  BlockedAlloc alloc = { .request = call->request };

  if (pool->kind == NULL && pool->n_deferred > 0 && !pool_fits (&pool->stats, call->request.bytes))
    return FALSE;
  if (pool->kind != NULL && engine_allocator_admits (pool, &alloc) > worst)
    return FALSE;
  if (pool->kind != NULL)
    pool->stats.heap = pool->kind->reserved (pool->allocator);
  pool_take (&pool->stats, call->category, call->request.bytes, call->time + span, call->tag + tag);
  return TRUE;
}

static void
give_back (Pool *pool, const PoolCall *call, Vector *numbers)
{
  gboolean known = pool->kind != NULL && call->detached != POOL_DETACHED_NONE;

  switch (call->kind)
    {
    case POOL_CALL_RELEASE:
      if (pool->kind != NULL)
        pool->kind->release (pool->allocator, call->request.what);
      pool_release (&pool->stats, call->category, call->request.bytes);
      return;
    case POOL_CALL_DETACH:
      if (known)
        *detached_now (numbers, call->detached) =
            pool->kind->detach (pool->allocator, call->request.what);
      else if (pool->kind != NULL)
        pool->kind->detach (pool->allocator, call->request.what);
      pool_release_later (&pool->stats, call->category, call->request.bytes);
      pool->n_deferred++;
      return;
    case POOL_CALL_GIVE:
      if (known)
        pool->kind->give (pool->allocator, *detached_now (numbers, call->detached));
      pool_give (&pool->stats, call->category, call->request.bytes);
      pool->n_deferred--;
      return;
    default:
      g_assert_not_reached ();
    }
}

gboolean
engine_pool_repeat_calls (Engine *self, SimTime span, guint64 tag, PoolAdmission worst)
{
  const Vector         *calls = self->pool_calls;
  StopPoll              poll = { .stop = self->stop };
  g_autoptr (GPtrArray) numbers =
      g_ptr_array_new_with_free_func ((GDestroyNotify) vector_free); /* Vector, by pool */
  gboolean ok = TRUE;

  g_assert (calls != NULL && self->n_live == 0);
  for (PoolId pool = 0; pool < self->pools->len; pool++)
    g_ptr_array_add (numbers, vector_new (sizeof (guint32)));
  for (guint i = 0; i < calls->len && ok; i++)
    {
      const PoolCall *call = &vector_at (calls, PoolCall, i);
      Pool           *pool = engine_pool_at (self, call->pool);

      if (call->kind == POOL_CALL_TAKE)
        ok = take (pool, call, span, tag, worst);
      else
        give_back (pool, call, g_ptr_array_index (numbers, call->pool));
      ok = ok && !stop_poll (&poll);
    }
  return ok;
}

void
engine_repeat_use (Engine *self)
{
  for (guint i = 0; i < self->use_calls->len; i++)
    {
      const UseCall *use = &vector_at (self->use_calls, UseCall, i);

      engine_resource_at (self, use->resource)->used += use->amount;
    }
}

gboolean
engine_pool_holds (const Engine *self, PoolId id, GArray *numbers)
{
  const Pool *pool = engine_pool_at (self, id);

  g_array_append_vals (numbers, pool->stats.now, POOL_N_CATEGORIES);
  if (pool->kind != NULL)
    pool->kind->state (pool->allocator, numbers);
  return pool->n_deferred == 0;
}

/*
 * Its peaks stay too: a stretch that ends as it began holds as much at each of its calls, and what
 * the device has given was as much as it is now when the last of it was.
 */
static gboolean
pool_repeats (Pool *pool)
{
  gboolean repeats =
      pool->n_deferred == 0 && memcmp (pool->before, pool->stats.now, sizeof pool->before) == 0;

  memcpy (pool->before, pool->stats.now, sizeof pool->before);
  if (pool->kind != NULL)
    repeats = pool->kind->repeats (pool->allocator) && repeats;
  return repeats;
}

gboolean
engine_pools_repeat (Engine *self)
{
  gboolean repeat = TRUE;

  for (PoolId id = 0; id < self->pools->len; id++)
    repeat = pool_repeats (engine_pool_at (self, id)) && repeat;
  return repeat;
}
