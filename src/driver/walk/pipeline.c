#include "driver/walk/pipeline-private.h"

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

static void
slots_1f1b (const Pipeline *self, guint stage, GArray *slots)
{
  guint warm = MIN (self->stages - stage - 1, self->micros);

  for (guint m = 0; m < warm; m++)
    add (slots, PASS_FORWARD, 0, m);
  for (guint m = 0; m < self->micros; m++)
    {
      if (m + warm < self->micros)
        add (slots, PASS_FORWARD, 0, m + warm);
      add (slots, PASS_BACKWARD, 0, m);
    }
}

/* The group of micro-batches that the K-th pass of a stage belongs to. */
typedef struct
{
  guint first, size; /* micro-batches; the last group may have fewer */
  guint begin;       /* its first pass */
} MicroGroup;

static MicroGroup
group_of_pass (const Pipeline *self, guint k)
{
  guint n = pipeline_group_size (self), first = k / (n * self->chunks) * n;

  return (MicroGroup){ first, MIN (n, self->micros - first), first * self->chunks };
}

/* All micro-batches of a group go through a chunk, then through the next one. */
PipelineSlot
pipeline_interleaved_slot (const Pipeline *self, guint k, gboolean backward)
{
  MicroGroup group = group_of_pass (self, k);
  guint      chunk = (k - group.begin) / group.size, v = self->chunks;

  return (PipelineSlot){ backward ? PASS_BACKWARD : PASS_FORWARD, backward ? v - 1 - chunk : chunk,
                         group.first + (k - group.begin) % group.size };
}

guint
pipeline_interleaved_index (const Pipeline *self, const PipelineSlot *slot)
{
  gboolean   backward = slot->pass != PASS_FORWARD;
  guint      n = pipeline_group_size (self);
  MicroGroup group = group_of_pass (self, slot->micro / n * n * self->chunks);
  guint      chunk = backward ? self->chunks - 1 - slot->chunk : slot->chunk;

  return group.begin + chunk * group.size + slot->micro - group.first;
}

guint
pipeline_interleaved_arrives (const Pipeline *self, guint stage, guint k, gboolean backward)
{
  MicroGroup group = group_of_pass (self, k);
  gboolean   wraps = stage == (backward ? self->stages - 1 : 0);
  guint      waits = wraps && group.size > self->stages ? group.size - self->stages : 0;

  return k + waits < group.begin + group.size * self->chunks ? k + waits : PIPELINE_NO_PASS;
}

/*
 * With as many micro-batches as stages Megatron-LM runs all forward passes first. A forward pass
 * beside a backward pass comes one earlier, so that the last stage's do not wait for each other.
 */
guint
pipeline_interleaved_warm_up (const Pipeline *self, guint stage)
{
  guint all = self->micros * self->chunks, n = pipeline_group_size (self);

  if (self->micros == self->stages)
    return all;
  return MIN ((self->stages - stage - 1) * 2 + (self->chunks - 1) * n + self->beside, all);
}

static void
slots_interleaved (const Pipeline *self, guint stage, GArray *slots)
{
  guint all = self->micros * self->chunks, warm = pipeline_interleaved_warm_up (self, stage);

  for (guint k = 0; k < all + warm; k++)
    {
      PipelineSlot slot;

      if (k < all)
        {
          slot = pipeline_interleaved_slot (self, k, FALSE);
          g_array_append_val (slots, slot);
        }
      if (k >= warm)
        {
          slot = pipeline_interleaved_slot (self, k - warm, TRUE);
          g_array_append_val (slots, slot);
        }
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
