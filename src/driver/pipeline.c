#include "driver/pipeline.h"

Pipeline
pipeline_of (const Workload *workload)
{
  const MeshOptions *mesh = workload_mesh (workload);

  return (Pipeline){ mesh_pipeline (mesh), (guint) MAX (mesh->pp, 1), workload_n_chunks (workload),
                     (guint) workload_training (workload)->grad_accum, mesh->moe_overlap };
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void
add (GArray *slots, PipelinePass pass, guint chunk, guint micro)
{
  PipelineSlot slot = { pass, chunk, micro };

  g_array_append_val (slots, slot);
}

static void
slots_gpipe (const Pipeline *self, GArray *slots)
{
  for (guint m = 0; m < self->micros; m++)
    add (slots, PASS_FORWARD, 0, m);
  for (guint m = 0; m < self->micros; m++)
    add (slots, PASS_BACKWARD, 0, m);
}

static guint
warm_up_1f1b (const Pipeline *self, guint stage)
{
  return MIN (self->stages - stage - 1, self->micros);
}

static void
slots_1f1b (const Pipeline *self, guint stage, GArray *slots)
{
  guint warm = warm_up_1f1b (self, stage);

  for (guint m = 0; m < warm; m++)
    add (slots, PASS_FORWARD, 0, m);
  for (guint m = 0; m < self->micros; m++)
    {
      if (m + warm < self->micros)
        add (slots, PASS_FORWARD, 0, m + warm);
      add (slots, PASS_BACKWARD, 0, m);
    }
}

/*
 * The K-th forward (backward) pass of a stage: groups of p micro-batches go through the chunks one
 * after another.
 */
static PipelineSlot
interleaved_slot (const Pipeline *self, guint k, gboolean backward)
{
  guint p = self->stages, v = self->chunks, chunk = k % (p * v) / p;

  return (PipelineSlot){ backward ? PASS_BACKWARD : PASS_FORWARD, backward ? v - 1 - chunk : chunk,
                         k / (p * v) * p + k % p };
}

/*
 * With as many micro-batches as stages Megatron-LM runs all forward passes first. A forward pass
 * beside a backward pass comes one earlier, so that the last stage's do not wait for each other.
 */
static guint
warm_up_interleaved (const Pipeline *self, guint stage)
{
  guint all = self->micros * self->chunks;

  if (self->micros == self->stages)
    return all;
  return MIN ((self->stages - stage - 1) * 2 + (self->chunks - 1) * self->stages + self->beside,
              all);
}

static void
slots_interleaved (const Pipeline *self, guint stage, GArray *slots)
{
  guint all = self->micros * self->chunks, warm = warm_up_interleaved (self, stage);

  for (guint k = 0; k < all + warm; k++)
    {
      PipelineSlot forward = interleaved_slot (self, k, FALSE);
      PipelineSlot backward = interleaved_slot (self, k >= warm ? k - warm : 0, TRUE);

      if (k < all)
        g_array_append_val (slots, forward);
      if (k >= warm)
        g_array_append_val (slots, backward);
    }
}

/*
 * ZB-H1 (reach 1) and ZB-H2 (reach 2): stage s starts reach * (p - 1 - s) micro-batches ahead of
 * its first backward pass and lags reach * s behind with the weights, so that every stage holds
 * reach * (p - 1) + 1 micro-batches.
 */
static void
slots_zero_bubble (const Pipeline *self, guint stage, guint reach, GArray *slots)
{
  guint warm = MIN (reach * (self->stages - stage - 1), self->micros);
  guint lag = reach * stage;

  for (guint m = 0; m < warm; m++)
    add (slots, PASS_FORWARD, 0, m);
  for (guint m = 0; m < self->micros + lag; m++)
    {
      if (m + warm < self->micros)
        add (slots, PASS_FORWARD, 0, m + warm);
      if (m < self->micros)
        add (slots, PASS_INPUT, 0, m);
      if (m >= lag && m - lag < self->micros)
        add (slots, PASS_WEIGHT, 0, m - lag);
    }
}

/* Passes done so far, by chunk. Micro-batches beyond the last are planned, but do not run. */
typedef struct
{
  GArray *slots;
  guint   micros;
  guint   done[PASS_WEIGHT + 1][2];
} VWalk;

static void
v_add (VWalk *self, PipelinePass pass, guint chunk)
{
  guint micro = self->done[pass][chunk]++;

  if (micro < self->micros)
    add (self->slots, pass, chunk, micro);
}

static void
v_add_backward (VWalk *self, guint chunk)
{
  v_add (self, PASS_INPUT, chunk);
  v_add (self, PASS_WEIGHT, chunk);
}

static void
slots_zbv (const Pipeline *self, guint stage, GArray *slots)
{
  guint p = self->stages, planned = MAX (2 * p - 1, self->micros);
  VWalk walk = { slots, self->micros, { { 0 } } };

  for (guint i = 0; i < 2 * (p - stage) - 1; i++)
    v_add (&walk, PASS_FORWARD, 0);
  for (guint i = 0; i < stage; i++)
    {
      v_add (&walk, PASS_FORWARD, 1);
      v_add (&walk, PASS_FORWARD, 0);
    }
  for (guint i = 0; i < p - stage; i++)
    {
      v_add (&walk, PASS_FORWARD, 1);
      v_add_backward (&walk, 1);
    }
  while (walk.done[PASS_FORWARD][1] < planned)
    {
      if (walk.done[PASS_FORWARD][0] < planned)
        v_add (&walk, PASS_FORWARD, 0);
      v_add_backward (&walk, 0);
      v_add (&walk, PASS_FORWARD, 1);
      v_add_backward (&walk, 1);
    }
  for (guint i = 0; i < stage; i++)
    {
      v_add (&walk, PASS_INPUT, 0);
      v_add (&walk, PASS_INPUT, 1);
    }
  for (guint i = 0; i < p - stage; i++)
    {
      v_add (&walk, PASS_INPUT, 0);
      v_add (&walk, PASS_WEIGHT, 0);
    }
  while (walk.done[PASS_WEIGHT][1] < planned)
    v_add (&walk, PASS_WEIGHT, 1);
  while (walk.done[PASS_WEIGHT][0] < planned)
    v_add (&walk, PASS_WEIGHT, 0);
}

/*
 * The two directions of dualpipe, seen from the half of the stages where direction 0 starts: `turn`
 * swaps them for the other half.
 */
typedef struct
{
  GArray *slots;
  guint   turn;
  guint   done[PASS_WEIGHT + 1][2];
  GQueue  weights; /* chunks whose weights are put off, in order */
} DualWalk;

static void
dual_forward (DualWalk *self, guint direction)
{
  guint chunk = direction ^ self->turn;

  add (self->slots, PASS_FORWARD, chunk, self->done[PASS_FORWARD][chunk]++);
}

static void
dual_backward (DualWalk *self, guint direction, gboolean split)
{
  guint chunk = direction ^ self->turn;

  add (self->slots, split ? PASS_INPUT : PASS_BACKWARD, chunk, self->done[PASS_BACKWARD][chunk]++);
  if (split)
    g_queue_push_tail (&self->weights, GUINT_TO_POINTER (chunk));
  else
    self->done[PASS_WEIGHT][chunk]++;
}

static void
dual_weight (DualWalk *self)
{
  guint chunk = GPOINTER_TO_UINT (g_queue_pop_head (&self->weights));

  add (self->slots, PASS_WEIGHT, chunk, self->done[PASS_WEIGHT][chunk]++);
}

/* The cool-down: from its middle on weights are put off. RANK counts from the nearer end. */
static void
dual_cool_down (DualWalk *self, guint half, guint rank)
{
  guint n = rank + 1;

  for (guint i = 0; i < n; i++)
    {
      dual_backward (self, 1, i > n / 2 || (i == n / 2 && rank % 2 == 1));
      dual_backward (self, 0, i >= n / 2);
    }
  for (guint i = 0; i < half - n; i++)
    {
      dual_weight (self);
      dual_backward (self, 0, TRUE);
    }
  while (!g_queue_is_empty (&self->weights))
    dual_weight (self);
}

static void
slots_dualpipe (const Pipeline *self, guint stage, GArray *slots)
{
  guint    half = self->stages / 2, rank = MIN (stage, self->stages - 1 - stage);
  DualWalk walk = { .slots = slots, .turn = stage >= half, .weights = G_QUEUE_INIT };

  for (guint i = 0; i < 2 * (half - rank - 1); i++)
    dual_forward (&walk, 0);
  for (guint i = 0; i < rank + 1; i++)
    {
      dual_forward (&walk, 0);
      dual_forward (&walk, 1);
    }
  for (guint i = 0; i < half - rank - 1; i++)
    {
      dual_backward (&walk, 1, TRUE);
      dual_weight (&walk);
      dual_forward (&walk, 1);
    }
  for (guint i = 0; i < self->micros / 2 + rank + 1 - self->stages; i++)
    {
      dual_forward (&walk, 0);
      dual_backward (&walk, 1, FALSE);
      dual_forward (&walk, 1);
      dual_backward (&walk, 0, FALSE);
    }
  for (guint i = 0; i < half - rank - 1; i++)
    {
      dual_backward (&walk, 1, FALSE);
      dual_forward (&walk, 1);
      dual_backward (&walk, 0, FALSE);
    }
  dual_cool_down (&walk, half, rank);
}

GArray *
pipeline_slots (const Pipeline *self, guint stage)
{
  GArray *slots = g_array_new (FALSE, FALSE, sizeof (PipelineSlot));

  g_assert (stage < self->stages);
  switch (self->kind)
    {
    case PIPELINE_GPIPE:
      slots_gpipe (self, slots);
      break;
    case PIPELINE_AUTO:
    case PIPELINE_1F1B:
      slots_1f1b (self, stage, slots);
      break;
    case PIPELINE_INTERLEAVED:
      slots_interleaved (self, stage, slots);
      break;
    case PIPELINE_ZB_H1:
      slots_zero_bubble (self, stage, 1, slots);
      break;
    case PIPELINE_ZB_H2:
      slots_zero_bubble (self, stage, 2, slots);
      break;
    case PIPELINE_ZBV:
      slots_zbv (self, stage, slots);
      break;
    case PIPELINE_DUALPIPE:
      slots_dualpipe (self, stage, slots);
      break;
    }
  return slots;
}

guint
pipeline_chunk_micros (const Pipeline *self)
{
  return self->kind == PIPELINE_DUALPIPE ? self->micros / 2 : self->micros;
}

guint
pipeline_in_flight (const GArray *slots)
{
  g_autoptr (GArray) held = g_array_new (FALSE, TRUE, sizeof (guint));
  guint              most = 0;

  for (guint i = 0; i < slots->len; i++)
    {
      const PipelineSlot *slot = &g_array_index (slots, PipelineSlot, i);

      if (held->len <= slot->chunk)
        g_array_set_size (held, slot->chunk + 1);
      if (slot->pass == PASS_FORWARD)
        g_array_index (held, guint, slot->chunk)++;
      else if (slot->pass != PASS_INPUT)
        g_array_index (held, guint, slot->chunk)--;
      most = MAX (most, g_array_index (held, guint, slot->chunk));
    }
  return most;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* One step on from AT along the model, or back. */
static gboolean
step_from (const Pipeline *self, PipelinePlace at, gboolean back, PipelinePlace *to)
{
  gboolean up = (self->kind == PIPELINE_ZBV || self->kind == PIPELINE_DUALPIPE) && at.chunk == 1;
  gboolean down = up == back; /* towards later stages */
  gboolean last = down ? at.stage + 1 == self->stages : at.stage == 0;

  *to = at;
  if (!last)
    to->stage = down ? at.stage + 1 : at.stage - 1;
  else if (self->kind == PIPELINE_ZBV && at.chunk == (back ? 1 : 0) && at.stage + 1 == self->stages)
    to->chunk = back ? 0 : 1;
  else if (self->kind == PIPELINE_INTERLEAVED
           && (back ? at.chunk > 0 : at.chunk + 1 < self->chunks))
    *to = (PipelinePlace){ back ? self->stages - 1 : 0, back ? at.chunk - 1 : at.chunk + 1 };
  else
    return FALSE;
  return TRUE;
}

gboolean
pipeline_next (const Pipeline *self, PipelinePlace at, PipelinePlace *next)
{
  return step_from (self, at, FALSE, next);
}

gboolean
pipeline_previous (const Pipeline *self, PipelinePlace at, PipelinePlace *previous)
{
  return step_from (self, at, TRUE, previous);
}

/* ---- messages -------------------------------------------------------------------------------- */

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

gboolean
pipeline_is_concurrent (const Pipeline *self)
{
  return self->kind == PIPELINE_DUALPIPE || self->beside;
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

static void
call_one (const Pipeline *self, guint stage, const PipelineSlot *slot, ScheduleMessage way,
          GArray *actions)
{
  PipelineAction call = { 0 };

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
#define PIPELINE_NO_PASS G_MAXUINT

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
  slot = interleaved_slot (self->pipeline, k, backward);
  add_message (self->pipeline, self->stage, &slot, way, call);
}

static void
ring_iteration (const RingWalk *self, guint f, guint b, gboolean gradient_follows)
{
  PipelineAction call = { 0 };
  PipelineSlot   slot;

  if (f != PIPELINE_NO_PASS)
    {
      slot = interleaved_slot (self->pipeline, f, FALSE);
      add_slot (self->actions, &slot);
      ring_message (self, f, FALSE, MESSAGE_SEND, &call);
      ring_message (self, f + 1, FALSE, MESSAGE_RECEIVE, &call);
    }
  if (b != PIPELINE_NO_PASS)
    {
      slot = interleaved_slot (self->pipeline, b, TRUE);
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
  guint          warm = warm_up_interleaved (self, stage);
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
