/*
 * Streams and what an op waits for before it begins: its turn, waits, its order, running waves,
 * its peers.
 *
 * A head that reserves is not settled when it becomes ready but at the end of that instant, after
 * every kernel that begins at the same time has begun: the outcome does not depend on the order of
 * simultaneous events.
 */
#include "engine/engine-private.h"

#include <math.h>

StreamId
engine_add_stream (Engine *self, const char *name, gint priority, guint depth)
{
  Stream stream = {
    .name = g_string_chunk_insert (self->names, name),
    .priority = priority,
    .depth = depth,
    .turns = { vector_new (sizeof (Turn)), 0 },
    .waits = { vector_new (sizeof (OpId)), 0 },
    .last = ENGINE_NONE,
    .last_done = ENGINE_NONE,
    .gate_op = ENGINE_NONE,
    .drain_event = ENGINE_NONE,
    .next_drain = ENGINE_NONE,
    .drain_op = ENGINE_NONE,
  };

  vector_push (self->streams, stream);
  return self->streams->len - 1;
}

void
engine_stream_clear (Stream *stream)
{
  vector_free (stream->turns.items);
  vector_free (stream->waits.items);
  g_clear_pointer (&stream->drain_targets, vector_free);
}

OrderId
engine_add_order (Engine *self, const char *name)
{
  Order order = { g_string_chunk_insert (self->names, name), ENGINE_NONE };

  vector_push (self->orders, order);
  return self->orders->len - 1;
}

/* ---- submission ------------------------------------------------------------------------------ */

void
engine_submit (Engine *self, OpId id, StreamId stream_id, ResourceId reserve_on, double reserve)
{
  Stream *stream = engine_stream_at (self, stream_id);
  LiveOp *op = engine_live_op (self, id);
  Turn    turn = {
       .op = id,
       .n_waits = stream->pending_waits,
       .issue = self->now,
       .host = self->issuing,
       .apart = self->issuing != ENGINE_NONE && engine_host_is_apart (self, self->issuing),
       .reserve_on = reserve_on,
       .reserve = reserve_on == ENGINE_NONE ? 0 : reserve,
  };

  g_assert (op != NULL && op->n_submitted < op->members);
  g_assert (turn.reserve >= 0);
  if (op->streams != NULL)
    op->streams[op->n_submitted] = stream_id;
  else
    op->one_member = stream_id;
  op->n_submitted++;
  engine_record_at (self, id)->issue = self->now;
  stream->pending_waits = 0;
  stream->last = id;
  vector_push (stream->turns.items, turn);
  if (fifo_length (&stream->turns) == 1)
    engine_stream_advance (self, stream_id);
}

void
engine_stream_wait (Engine *self, StreamId stream_id, OpId op)
{
  Stream *stream = engine_stream_at (self, stream_id);

  if (engine_op_done (self, op))
    return;
  vector_push (stream->waits.items, op);
  stream->pending_waits++;
}

OpId
engine_stream_last (const Engine *self, StreamId stream)
{
  return engine_stream_at (self, stream)->last;
}

OpId
engine_stream_room (const Engine *self, StreamId stream_id)
{
  const Stream *stream = engine_stream_at (self, stream_id);
  guint         n = fifo_length (&stream->turns);

  if (stream->depth == 0 || n < stream->depth)
    return ENGINE_NONE;
  return fifo_at (&stream->turns, Turn, n - stream->depth).op;
}

/* ---- the head of a stream -------------------------------------------------------------------- */

/*
 * Of the things that held a head up the last one is its gate; where one tells more, an op rather
 * than the host.
 */
static void
consider_gate (Engine *self, Stream *stream, Cause cause, OpId op)
{
  SimTime end = engine_op_end (self, op);

  if (!engine_op_was_apart (self, op))
    stream->sure_time = MAX (stream->sure_time, end);
  if (end < stream->gate_time || (end == stream->gate_time && stream->gate != CAUSE_HOST))
    return;
  stream->gate = cause;
  stream->gate_op = op;
  stream->gate_time = end;
}

/*
 * TRUE when OP has ended and been considered as the gate; else the stream is called again at its
 * end.
 */
static gboolean
pass_gate (Engine *self, StreamId id, Cause cause, OpId op)
{
  if (!engine_op_done (self, op))
    {
      engine_op_add_waiter (self, op, &(WaiterNode){ .kind = WAITER_STREAM, .id = id });
      return FALSE;
    }
  consider_gate (self, engine_stream_at (self, id), cause, op);
  return TRUE;
}

static void
reserve (Engine *self, ResourceId id, double amount, gint count)
{
  EngineResource *resource = engine_resource_at (self, id);

  resource->n_reserved += count;
  resource->reserved = resource->n_reserved == 0 ? 0 : resource->reserved + count * amount;
  fluid_set_reserved (self->fluid, id, resource->reserved);
}

static void
arrive (Engine *self, StreamId id)
{
  Stream        *stream = engine_stream_at (self, id);
  Turn           turn = fifo_at (&stream->turns, Turn, 0);
  LiveOp        *op = engine_live_op (self, turn.op);
  OpRecord      *record = engine_record_at (self, turn.op);
  const gboolean sure = stream->sure_time == self->now;

  if (turn.reserve > 0)
    reserve (self, turn.reserve_on, turn.reserve, 1);
  if (op->n_arrived == 0)
    record->first_arrival = self->now;
  op->sure = sure || (op->sure && self->now == op->last_arrival);
  if (op->n_arrived == 0 || self->now > op->last_arrival)
    {
      op->last_arrival = self->now;
      record->gate = stream->gate;
      record->gate_op = stream->gate_op;
      record->gate_host = stream->gate == CAUSE_HOST ? turn.host : ENGINE_NONE;
      record->drain = self->now - stream->ready_time;
      record->drain_op = record->drain > 0 ? stream->drain_op : ENGINE_NONE;
      record->stream = id;
    }
  op->n_arrived++;
  if (op->n_arrived == op->members)
    engine_op_begin (self, turn.op);
}

void
engine_stream_advance (Engine *self, StreamId id)
{
  Stream *stream = engine_stream_at (self, id);

  if (stream->ready || fifo_length (&stream->turns) == 0)
    return;
  Turn *turn = &fifo_at (&stream->turns, Turn, 0);
  if (!stream->started)
    {
      stream->started = TRUE;
      stream->gate = CAUSE_HOST;
      stream->gate_op = ENGINE_NONE;
      stream->gate_time = turn->issue;
      stream->sure_time = turn->apart ? 0 : turn->issue;
      if (stream->last_done != ENGINE_NONE)
        consider_gate (self, stream, CAUSE_STREAM, stream->last_done);
    }
  for (; turn->n_waits > 0; turn->n_waits--)
    {
      if (!pass_gate (self, id, CAUSE_WAIT, fifo_at (&stream->waits, OpId, 0)))
        return;
      fifo_drop (&stream->waits);
    }
  OpId before = engine_live_op (self, turn->op)->order_prev;
  if (before != ENGINE_NONE && !pass_gate (self, id, CAUSE_ORDER, before))
    return;
  stream->ready = TRUE;
  stream->ready_time = self->now;
  if (turn->reserve > 0)
    vector_push (self->arrivals, id);
  else
    arrive (self, id);
}

void
engine_stream_finish (Engine *self, StreamId id, OpId op)
{
  Stream *stream = engine_stream_at (self, id);
  Turn    turn = fifo_at (&stream->turns, Turn, 0);

  g_assert (turn.op == op);
  if (turn.reserve > 0)
    reserve (self, turn.reserve_on, turn.reserve, -1);
  fifo_drop (&stream->turns);
  stream->started = stream->ready = FALSE;
  stream->last_done = op;
}

/* ---- draining -------------------------------------------------------------------------------- */

/* Slots that a kernel's waves take at most, of SLOTS: all where it does not run in waves. */
static double
widest_wave (const LiveOp *op, double slots)
{
  if (op->waves.resource == ENGINE_NONE)
    return slots;
  double units = op->n_wave_parts == 0 ? op->waves.units : 0;

  for (guint i = 0; i < op->n_wave_parts; i++)
    units = MAX (units, op->wave_parts[i].units);
  return MIN (units, slots);
}

/*
 * Notes the running wave or piece of every kernel with some on a resource. FALSE when none is in
 * the way: there is none, or all of them have one wave that leaves enough slots besides what is
 * reserved already.
 */
static gboolean
collect_targets (Engine *self, Stream *stream, ResourceId resource)
{
  guint          n;
  const FluidOp *users = fluid_users (self->fluid, resource, OP_KERNEL, &n);
  double         slots = floor (fluid_slots (self->fluid, resource) + 1e-9), taken = 0;

  if (stream->drain_targets == NULL)
    stream->drain_targets = vector_new (sizeof (DrainTarget));
  vector_cut (stream->drain_targets, 0);
  for (guint i = 0; i < n; i++)
    {
      const LiveOp *op = engine_live_op (self, fluid_user (self->fluid, users[i]));
      double        waves = op->pieces > 0 ? op->pieces : fluid_n_waves (self->fluid, users[i]);

      if (op->drain_on != resource)
        continue;
      DrainTarget target = { op->id,
                             (floor (engine_op_progress (self, op) * waves + 1e-9) + 1) / waves };
      target.target = MIN (1.0, target.target);
      vector_push (stream->drain_targets, target);
      taken += widest_wave (op, slots);
    }
  return stream->drain_targets->len > 0
         && taken + fifo_at (&stream->turns, Turn, 0).reserve > slots;
}

static void
start_drain (Engine *self, StreamId id, ResourceId resource_id)
{
  Stream         *stream = engine_stream_at (self, id);
  EngineResource *resource = engine_resource_at (self, resource_id);

  self->unlike |= self->twins_apart;
  if (stream->drain_event == ENGINE_NONE)
    stream->drain_event = event_heap_add (self->heap);
  stream->draining = TRUE;
  stream->drain_op = ENGINE_NONE;
  stream->next_drain = resource->first_drain;
  resource->first_drain = id;
  engine_mark_drain (self, id);
}

void
engine_settle_arrivals (Engine *self)
{
  g_autoptr (Vector) ready = g_steal_pointer (&self->arrivals);

  self->arrivals = vector_new (sizeof (StreamId));
  for (guint i = 0; i < ready->len; i++)
    {
      StreamId   id = vector_at (ready, StreamId, i);
      Stream    *stream = engine_stream_at (self, id);
      ResourceId resource = fifo_at (&stream->turns, Turn, 0).reserve_on;

      if (collect_targets (self, stream, resource))
        start_drain (self, id, resource);
      else
        arrive (self, id);
    }
}

void
engine_drain_event (Engine *self, StreamId id)
{
  Stream    *stream = engine_stream_at (self, id);
  ResourceId resource = fifo_at (&stream->turns, Turn, 0).reserve_on;
  StreamId  *link = &engine_resource_at (self, resource)->first_drain;

  while (*link != id)
    link = &engine_stream_at (self, *link)->next_drain;
  *link = stream->next_drain;
  stream->draining = FALSE;
  arrive (self, id);
}

/* ---- deadlock -------------------------------------------------------------------------------- */

gboolean
engine_describe_stuck_stream (const Engine *self, StreamId id, GString *text)
{
  const Stream *stream = engine_stream_at (self, id);

  if (fifo_length (&stream->turns) == 0)
    return FALSE;
  const Turn   *turn = &fifo_at (&stream->turns, Turn, 0);
  const LiveOp *op = engine_live_op (self, turn->op);
  g_string_append_printf (text, "stream '%s' stands at op %u", stream->name, turn->op);
  if (turn->n_waits > 0)
    g_string_append_printf (text, ", which waits for op %u", fifo_at (&stream->waits, OpId, 0));
  else if (!stream->ready)
    g_string_append_printf (text, ", which waits for op %u of '%s'", op->order_prev,
                            vector_at (self->orders, Order, op->order).name);
  else if (op->n_arrived < op->members)
    g_string_append_printf (text, ", where %u of %u members have arrived", op->n_arrived,
                            op->members);
  return TRUE;
}
