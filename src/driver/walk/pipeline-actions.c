/* What pipeline stages hand to each other around their slots, and in which calls. */
#include "driver/walk/pipeline-private.h"

/*
 * What STAGE's SLOT needs (RECEIVE) or hands on. FALSE where it is the model's end, or stays on the
 * stage.
 */
static gboolean
message_of (const Pipeline *self, guint stage, const PipelineSlot *slot, ScheduleMessage way,
            PipelineMessage *message)
{
  PipelinePlace at = { stage, slot->chunk }, other;
  gboolean      forward = slot->pass == PASS_FORWARD;
  gboolean      onward = forward == (way == MESSAGE_SEND);

  if (slot->pass == PASS_WEIGHT || !(onward ? pipeline_next : pipeline_previous) (self, at, &other)
      || other.stage == stage)
    return FALSE;
  *message = (PipelineMessage){ way, !forward, other.stage, slot->chunk, slot->micro };
  return TRUE;
}

static void
add_slot (GArray *actions, const PipelineSlot *slot)
{
  PipelineAction action = { .slot = *slot };

  g_array_append_val (actions, action);
}

/* SLOT is not the first. A backward pass needs the forward pass of its micro-batch and chunk. */
static gboolean
runs_concurrently (const Pipeline *self, const PipelineSlot *slot)
{
  if (!pipeline_is_concurrent (self) || slot->pass != PASS_BACKWARD
      || slot[-1].pass != PASS_FORWARD)
    return FALSE;
  return slot[-1].chunk != slot->chunk || (self->beside && slot[-1].micro != slot->micro);
}

static void
add_call (GArray *actions, const PipelineAction *call)
{
  if (call->n_messages > 0)
    g_array_append_vals (actions, call, 1);
}

static void
add_message (const Pipeline *self, guint stage, const PipelineSlot *slot, ScheduleMessage way,
             PipelineAction *call)
{
  if (slot != NULL && message_of (self, stage, slot, way, &call->messages[call->n_messages]))
    call->n_messages++;
}

/* What arrives where SLOT is next: its own input, or what it has to make room for. */
static void
add_receive (const Pipeline *self, guint stage, const PipelineSlot *slot, PipelineAction *call)
{
  gboolean     backward = slot != NULL && slot->pass != PASS_FORWARD;
  PipelineSlot of;
  guint        k;

  if (slot == NULL || self->kind != PIPELINE_INTERLEAVED)
    {
      add_message (self, stage, slot, MESSAGE_RECEIVE, call);
      return;
    }
  k = pipeline_interleaved_arrives (self, stage, pipeline_interleaved_index (self, slot), backward);
  if (k == PIPELINE_NO_PASS)
    return;
  of = pipeline_interleaved_slot (self, k, backward);
  add_message (self, stage, &of, MESSAGE_RECEIVE, call);
}

static void
call_one (const Pipeline *self, guint stage, const PipelineSlot *slot, ScheduleMessage way,
          GArray *actions)
{
  PipelineAction call = { 0 };

  if (way == MESSAGE_RECEIVE)
    add_receive (self, stage, slot, &call);
  else
    add_message (self, stage, slot, way, &call);
  add_call (actions, &call);
}

static void
actions_direct (const Pipeline *self, guint stage, const GArray *slots, GArray *actions)
{
  call_one (self, stage, &g_array_index (slots, PipelineSlot, 0), MESSAGE_RECEIVE, actions);
  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);

      if (i + 1 < slots->len)
        call_one (self, stage, slot + 1, MESSAGE_RECEIVE, actions);
      add_slot (actions, slot);
      g_array_index (actions, PipelineAction, actions->len - 1).concurrent =
          i > 0 && runs_concurrently (self, slot);
      call_one (self, stage, slot, MESSAGE_SEND, actions);
    }
}

/*
 * gpipe and 1f1b. A pass that hands on joins its send with the receive of the slot behind it where
 * that goes the other way (send forward with receive backward, and back); passes of one direction
 * in a row take a call for each.
 */
static void
actions_batched (const Pipeline *self, guint stage, const GArray *slots, GArray *actions)
{
  call_one (self, stage, &g_array_index (slots, PipelineSlot, 0), MESSAGE_RECEIVE, actions);
  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);
      const PipelineSlot *next = i + 1 < slots->len ? slot + 1 : NULL;
      PipelineAction      call = { 0 };

      add_slot (actions, slot);
      add_message (self, stage, slot, MESSAGE_SEND, &call);
      if (next != NULL && next->pass == slot->pass)
        {
          add_call (actions, &call);
          call.n_messages = 0;
        }
      add_message (self, stage, next, MESSAGE_RECEIVE, &call);
      add_call (actions, &call);
    }
}

/*
 * Interleaved: what an iteration hands on (a forward pass, a backward pass, or one of each) goes
 * together with what the next one needs. F and B: the passes of the iteration; PIPELINE_NO_PASS
 * where it has none.
 */
typedef struct
{
  const Pipeline *pipeline;
  guint           stage, all;
  GArray         *actions;
} RingWalk;

static void
ring_message (const RingWalk *self, guint k, gboolean backward, ScheduleMessage way,
              PipelineAction *call)
{
  PipelineSlot slot;

  if (k >= self->all)
    return;
  slot = pipeline_interleaved_slot (self->pipeline, k, backward);
  if (way == MESSAGE_RECEIVE)
    add_receive (self->pipeline, self->stage, &slot, call);
  else
    add_message (self->pipeline, self->stage, &slot, way, call);
}

static void
ring_iteration (const RingWalk *self, guint f, guint b, gboolean gradient_follows)
{
  PipelineAction call = { 0 };
  PipelineSlot   slot;

  if (f != PIPELINE_NO_PASS)
    {
      slot = pipeline_interleaved_slot (self->pipeline, f, FALSE);
      add_slot (self->actions, &slot);
      ring_message (self, f, FALSE, MESSAGE_SEND, &call);
      ring_message (self, f + 1, FALSE, MESSAGE_RECEIVE, &call);
    }
  if (b != PIPELINE_NO_PASS)
    {
      slot = pipeline_interleaved_slot (self->pipeline, b, TRUE);
      add_slot (self->actions, &slot);
      ring_message (self, b, TRUE, MESSAGE_SEND, &call);
      ring_message (self, b + 1, TRUE, MESSAGE_RECEIVE, &call);
    }
  else if (gradient_follows)
    ring_message (self, 0, TRUE, MESSAGE_RECEIVE, &call);
  add_call (self->actions, &call);
}

static void
actions_ring (const Pipeline *self, guint stage, GArray *actions)
{
  RingWalk       walk = { self, stage, self->micros * self->chunks, actions };
  guint          warm = pipeline_interleaved_warm_up (self, stage);
  PipelineAction call = { 0 };

  ring_message (&walk, 0, FALSE, MESSAGE_RECEIVE, &call);
  add_call (actions, &call);
  for (guint k = 0; k < warm; k++)
    ring_iteration (&walk, k, PIPELINE_NO_PASS, k + 1 == warm);
  for (guint k = 0; k < walk.all; k++)
    ring_iteration (&walk, k + warm < walk.all ? k + warm : PIPELINE_NO_PASS, k, FALSE);
}

GArray *
pipeline_actions (const Pipeline *self, guint stage, gboolean batched)
{
  GArray            *actions = g_array_new (FALSE, FALSE, sizeof (PipelineAction));
  g_autoptr (GArray) slots = pipeline_slots (self, stage);

  if (!batched || self->stages == 1)
    actions_direct (self, stage, slots, actions);
  else if (self->kind == PIPELINE_INTERLEAVED)
    actions_ring (self, stage, actions);
  else
    actions_batched (self, stage, slots, actions);
  return actions;
}
