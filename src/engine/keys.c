/* When what has begun ends: the keys of events, set again when a rate changes. */
#include "engine/engine-private.h"

void
engine_key_after (Engine *self, EventId event, SimTime span, guint64 sequence)
{
  SimTime time = sim_time_add (self->now, span);

  if (time < SIM_TIME_MAX)
    event_heap_set (self->heap, event, time, sequence);
  else
    event_heap_remove (self->heap, event);
}

/* ---- drains ---------------------------------------------------------------------------------- */

void
engine_mark_drain (Engine *self, StreamId id)
{
  Stream *stream = engine_stream_at (self, id);

  if (stream->drain_dirty)
    return;
  stream->drain_dirty = TRUE;
  vector_push (self->drains, id);
}

void
engine_touch_drains (Engine *self, ResourceId resource)
{
  for (StreamId id = engine_resource_at (self, resource)->first_drain; id != ENGINE_NONE;
       id = engine_stream_at (self, id)->next_drain)
    engine_mark_drain (self, id);
}

/*
 * When TARGET is reached at the present rates: computed as the op's own end is, so that a last
 * wave ends with its op.
 */
static SimTime
target_time (const Engine *self, const DrainTarget *target)
{
  const LiveOp *op = engine_live_op (self, target->op);

  if (op == NULL)
    return self->now;
  SimTime span = sim_time_span (target->target - op->progress, op->rate);
  return MAX (self->now, sim_time_add (op->settled, span));
}

/*
 * When the last target of STREAM is reached; its op is noted. Of targets that have been reached the
 * time is not known any more: the op noted before stands until another target is later.
 */
static SimTime
last_target (const Engine *self, Stream *stream)
{
  SimTime last = self->now, known = 0;
  OpId    op = ENGINE_NONE;

  for (guint i = 0; i < stream->drain_targets->len; i++)
    {
      const DrainTarget *target = &vector_at (stream->drain_targets, DrainTarget, i);
      const SimTime      time = target_time (self, target);

      if (op == ENGINE_NONE || time > last)
        op = target->op;
      last = MAX (last, time);
      if (target->op == stream->drain_op)
        known = time;
    }
  if (known < last)
    stream->drain_op = op;
  return last;
}

void
engine_key_drains (Engine *self)
{
  for (guint i = 0; i < self->drains->len; i++)
    {
      StreamId id = vector_at (self->drains, StreamId, i);
      Stream  *stream = engine_stream_at (self, id);
      SimTime  last;

      stream->drain_dirty = FALSE;
      if (stream->draining)
        {
          last = last_target (self, stream);
          if (last < SIM_TIME_MAX)
            event_heap_set (self->heap, stream->drain_event, last,
                            event_sequence (EVENT_DRAIN, id));
          else
            event_heap_remove (self->heap, stream->drain_event);
        }
    }
  vector_cut (self->drains, 0);
}
