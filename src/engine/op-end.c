/* What follows an op: its streams go on, and those who waited for its end. */
#include "engine/engine-private.h"

/* Calls everybody who waited for the end of an op, in the order in which they came. */
static void
run_waiters (Engine *self, guint32 first, OpId op)
{
  for (guint32 i = first; i != ENGINE_NONE;)
    {
      WaiterNode waiter = vector_at (self->waiters, WaiterNode, i);

      vector_at (self->waiters, WaiterNode, i).next = self->free_waiter;
      self->free_waiter = i;
      i = waiter.next;
      switch (waiter.kind)
        {
        case WAITER_STREAM:
          engine_stream_advance (self, waiter.id);
          break;
        case WAITER_HOST:
          engine_host_wake (self, waiter.id, CAUSE_WAIT, op);
          break;
        case WAITER_RELEASE:
          engine_pool_release_deferred (self, &waiter, op);
          break;
        case WAITER_USE_NOTE:
          engine_take_use_note (self, waiter.id);
          break;
        }
    }
}

static void
finish (Engine *self, LiveOp *op)
{
  const OpId           id = op->id;
  guint32              first_waiter = op->waiters.first;
  guint                members = op->members;
  StreamId             one_member = op->one_member;
  g_autofree StreamId *streams = g_steal_pointer (&op->streams);

  engine_op_close (self, op);
  for (guint i = 0; i < members; i++)
    engine_stream_finish (self, streams != NULL ? streams[i] : one_member, id);
  for (guint i = 0; i < members; i++)
    engine_stream_advance (self, streams != NULL ? streams[i] : one_member);
  run_waiters (self, first_waiter, id);
}

void
engine_op_event (Engine *self, OpId id)
{
  LiveOp *op = engine_live_op (self, id);

  if (engine_op_flow (self, op))
    return;
  if (op->n_flowing == 0)
    finish (self, op);
  else
    {
      engine_op_end_flow (self, op);
      op->state = OP_FLOWN;
      op->first_over = MIN (op->first_over, self->now);
    }
}

void
engine_twin_event (Engine *self, guint32 twin)
{
  LiveOp *op = engine_twin_end_apart (self, twin);

  if (op->n_flowing == 0 && op->state == OP_FLOWN)
    finish (self, op);
}
