/* The engine object, its resources and records, and the run loop. */
#include "base/own-memory.h"
#include "engine/engine-private.h"

#define ASKED_EVERY 1024 /* events: less than a millisecond */

/* G_DEFINE_QUARK would have threads that fail at once write a static variable without a lock. */
GQuark
engine_error_quark (void)
{
  return g_quark_from_static_string ("shardsim-engine-error-quark");
}

static Vector *
array_of (gsize size)
{
  return vector_new (size);
}

Engine *
engine_new (void)
{
  Engine *self = g_new0 (Engine, 1);

  self->fluid = fluid_new ();
  self->heap = event_heap_new ();
  self->names = g_string_chunk_new (4096);
  self->resources = array_of (sizeof (EngineResource));
  self->streams = array_of (sizeof (Stream));
  self->orders = array_of (sizeof (Order));
  self->hosts = array_of (sizeof (Host));
  self->pools = array_of (sizeof (Pool));
  self->forgotten = array_of (sizeof (SimTime));
  self->records = array_of (sizeof (OpRecord));
  self->slots = array_of (sizeof (guint32));
  self->live = array_of (sizeof (LiveOp));
  self->unused = array_of (sizeof (guint32));
  self->waiters = array_of (sizeof (WaiterNode));
  self->pending = array_of (sizeof (SegmentNode));
  self->twins = array_of (sizeof (Twin));
  self->free_waiter = self->free_pending = self->free_twin = ENGINE_NONE;
  self->segments = array_of (sizeof (TraceSegment));
  self->pool_log = array_of (sizeof (PoolChange));
  self->use_log = array_of (sizeof (UseChange));
  self->arrivals = array_of (sizeof (StreamId));
  self->drains = array_of (sizeof (StreamId));
  self->issuing = ENGINE_NONE;
  return self;
}

static void
pool_allocator_free (Pool *pool)
{
  if (pool->kind != NULL)
    pool->kind->free (pool->allocator);
}

void
engine_free (Engine *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < self->live->len; i++)
    {
      g_free (vector_at (self->live, LiveOp, i).demands);
      g_free (vector_at (self->live, LiveOp, i).streams);
    }
  engine_twins_clear (self);
  for (guint i = 0; i < self->streams->len; i++)
    engine_stream_clear (engine_stream_at (self, i));
  for (guint i = 0; i < self->hosts->len; i++)
    g_clear_pointer (&engine_host_at (self, i)->blocks, vector_free);
  for (guint i = 0; i < self->pools->len; i++)
    {
      vector_free (engine_pool_at (self, i)->blocked);
      pool_allocator_free (engine_pool_at (self, i));
    }

  Vector *arrays[] = { self->resources, self->streams, self->orders,   self->hosts,
                       self->pools,     self->records, self->slots,    self->live,
                       self->unused,    self->waiters, self->pending,  self->segments,
                       self->pool_log,  self->use_log, self->arrivals, self->drains,
                       self->forgotten };
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    vector_free (arrays[i]);
  g_clear_pointer (&self->use_notes, g_array_unref);
  engine_pool_note_calls (self, FALSE);
  fluid_free (self->fluid);
  event_heap_free (self->heap);
  g_string_chunk_free (self->names);
  g_free (self);
}

/* ---- resources ------------------------------------------------------------------------------- */

ResourceId
engine_add_resource (Engine *self, const char *name, double capacity)
{
  EngineResource resource = { .name = g_string_chunk_insert (self->names, name),
                              .first_drain = ENGINE_NONE,
                              .last_change = ENGINE_NONE };

  fluid_add_resource (self->fluid, capacity);
  vector_push (self->resources, resource);
  return self->resources->len - 1;
}

const char *
engine_resource_name (const Engine *self, ResourceId id)
{
  return engine_resource_at (self, id)->name;
}

double
engine_resource_capacity (const Engine *self, ResourceId id)
{
  return fluid_capacity (self->fluid, id);
}

void
engine_keep_use (Engine *self, ResourceId id)
{
  engine_resource_at (self, id)->kept = TRUE;
  self->log_use = TRUE;
}

const UseChange *
engine_use_log (const Engine *self, guint *n)
{
  *n = self->use_log->len;
  return (const UseChange *) (gconstpointer) self->use_log->data;
}

guint
engine_n_resources (const Engine *self)
{
  return self->resources->len;
}

/* ---- running --------------------------------------------------------------------------------- */

SimTime
engine_now (const Engine *self)
{
  return self->now;
}

/*
 * Everything that happens at the present time: events, then members that reserve, then one solve,
 * until nothing is left. The order matters: a solve sees the whole batch, and a reservation sees
 * every kernel that begins with it.
 */
static void
run_instant (Engine *self)
{
  for (;;)
    if (event_heap_next_time (self->heap) == self->now)
      {
        guint64 sequence = event_heap_pop (self->heap);
        guint32 id = (guint32) sequence;

        self->events++;
        switch ((EventKind) (sequence >> SEQUENCE_KIND_SHIFT))
          {
          case EVENT_OP:
            engine_op_event (self, id);
            break;
          case EVENT_TWIN:
            engine_twin_event (self, id);
            break;
          case EVENT_DRAIN:
            engine_drain_event (self, id);
            break;
          case EVENT_HOST:
            engine_host_run (self, id);
            break;
          }
      }
    else if (self->arrivals->len > 0)
      engine_settle_arrivals (self);
    else if (fluid_is_dirty (self->fluid))
      engine_solve (self);
    else if (self->drains->len > 0)
      engine_key_drains (self);
    else
      return;
}

void
engine_set_too_long (GError **error, const char *where)
{
  g_set_error (error, ENGINE_ERROR, ENGINE_ERROR_TOO_LONG,
               "the simulated time passes %" G_GUINT64_FORMAT
               " days at %s: the scenario is too large or a rate too small",
               SIM_TIME_MAX / SIM_TIME_PER_SECOND / 86400, where);
}

/* FALSE when nothing that is left has begun: a deadlock. */
static gboolean
set_too_long (const Engine *self, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean            found = engine_describe_late_op (self, text);

  for (HostId id = 0; id < self->hosts->len && !found; id++)
    found = engine_describe_late_host (self, id, text);
  if (!found)
    return FALSE;
  engine_set_too_long (error, text->str);
  return TRUE;
}

static void
set_deadlock (const Engine *self, GError **error)
{
  g_autoptr (GString) text = g_string_new (NULL);
  gboolean            found = FALSE;

  g_string_append_printf (text, "deadlock after %" G_GUINT64_FORMAT " ps: ", self->now);
  for (StreamId id = 0; id < self->streams->len && !found; id++)
    found = engine_describe_stuck_stream (self, id, text);
  if (found)
    g_string_append (text, "; ");
  gsize length = text->len;
  found = FALSE;
  for (HostId id = 0; id < self->hosts->len && !found; id++)
    found = engine_describe_stuck_host (self, id, text);
  if (text->len == length)
    g_string_append_printf (text, "%u ops have not ended", self->n_live);
  g_set_error_literal (error, ENGINE_ERROR, ENGINE_ERROR_DEADLOCK, text->str);
}

gboolean
engine_work_is_over (const EngineWork *work)
{
  return work != NULL && work->most > 0 && work->done >= work->most;
}

void
engine_set_over (Stop *stop, GError **error)
{
  g_set_error_literal (error, ENGINE_ERROR, ENGINE_ERROR_OVER,
                       stop_is_due (stop)
                           ? STOP_LEFT_OUT
                           : "it was stopped before its end, as it takes more than it may");
}

void
engine_set_work (Engine *self, EngineWork *work)
{
  self->work = work;
}

void
engine_set_stop (Engine *self, Stop *stop)
{
  self->stop = stop;
}

/* The events since BEFORE, of the engine, are done. FALSE: no more may be. */
static gboolean
count_work (Engine *self, guint64 before)
{
  if (self->work != NULL)
    self->work->done += self->events - before;
  if (self->events - self->asked >= ASKED_EVERY)
    {
      self->asked = self->events;
      if ((self->stop != NULL && stop_cuts (self->stop)) || own_memory_is_over ())
        return FALSE;
    }
  return !engine_work_is_over (self->work);
}

/* How many events there may be before count_work must look again. */
static guint64
count_until (const Engine *self)
{
  guint64 until = self->asked + ASKED_EVERY;

  if (self->work != NULL && self->work->most > 0)
    until = MIN (until, self->events + self->work->most - self->work->done);
  return until;
}

void
engine_set_unlike (GError **error)
{
  g_set_error_literal (error, ENGINE_ERROR, ENGINE_ERROR_UNLIKE, "what was to run alike does not");
}

gboolean
engine_run (Engine *self, GError **error)
{
  gboolean may = !engine_work_is_over (self->work) && !stop_cuts (self->stop);

  do
    {
      self->until = self->events; /* hosts wait for the loop, which counts */
      if (may)
        run_instant (self);
      while (may && !event_heap_is_empty (self->heap))
        {
          const guint64 before = self->events;

          self->now = event_heap_time (self->heap);
          self->until = count_until (self);
          run_instant (self);
          may = count_work (self, before);
          if (self->unlike)
            {
              engine_set_unlike (error);
              return FALSE;
            }
        }
    }
  while (may && engine_pools_overflow (self));
  if (!may)
    {
      engine_set_over (self->stop, error);
      return FALSE;
    }
  if (self->n_live == 0 && self->n_hosts_left == 0)
    return TRUE;
  if (!set_too_long (self, error))
    set_deadlock (self, error);
  return FALSE;
}

gboolean
engine_is_idle (const Engine *self)
{
  return self->n_live == 0;
}

/* ---- trace ----------------------------------------------------------------------------------- */

const char *
cause_name (Cause cause)
{
  static const char *const names[CAUSE_N] = {
    [CAUSE_HOST] = "host",       [CAUSE_STREAM] = "stream",     [CAUSE_WAIT] = "wait",
    [CAUSE_ORDER] = "order",     [CAUSE_PEER] = "peer",         [CAUSE_DRAIN] = "drain",
    [CAUSE_LATENCY] = "latency", [CAUSE_RESOURCE] = "resource", [CAUSE_CAP] = "cap",
    [CAUSE_MEMORY] = "memory",
  };

  g_assert (cause < CAUSE_N);
  return names[cause];
}

EngineCounters
engine_counters (const Engine *self)
{
  EngineCounters counters = { .events = self->events };

  fluid_counters (self->fluid, &counters.solves, &counters.visited);
  return counters;
}

void
engine_set_apart (Engine *self, gboolean apart)
{
  fluid_set_apart (self->fluid, apart);
}

void
engine_set_full_resolve (Engine *self, gboolean full)
{
  fluid_set_full (self->fluid, full);
}
