#include "serve/serving-queue.h"

#include <math.h>

/* ---- the cache ------------------------------------------------------------------------------- */

double
serving_queue_bytes (Queue *self, double tokens)
{
  const double block = (double) self->options->block_tokens;
  const guint  n = (guint) ceil (tokens / block);

  while (self->block_bytes->len <= n)
    {
      const double bytes = generator_cache_bytes (self->generator, self->block_bytes->len * block);

      g_array_append_val (self->block_bytes, bytes);
    }
  return g_array_index (self->block_bytes, double, n);
}

/* Whether SEQUENCE may hold TOKENS; then it does. */
static gboolean
take_blocks (Queue *self, Sequence *sequence, double tokens)
{
  const double bytes = serving_queue_bytes (self, tokens);

  if (self->used - sequence->bytes + bytes > self->room)
    return FALSE;
  self->used += bytes - sequence->bytes;
  sequence->bytes = bytes;
  self->peak = MAX (self->peak, self->used);
  return TRUE;
}

static void
give_blocks_back (Queue *self, Sequence *sequence)
{
  self->used -= sequence->bytes;
  sequence->bytes = 0;
}

/* The last one that began waits again, before all others, and is computed anew. */
static void
preempt_last (Queue *self)
{
  Sequence *last = g_ptr_array_steal_index (self->running, self->running->len - 1);

  give_blocks_back (self, last);
  last->cached = 0;
  last->is_handed_over = FALSE;
  g_queue_push_head (&self->waiting, last);
  self->n_preempted++;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Tokens of SEQUENCE that are not in the cache. */
static double
left_of (const Sequence *sequence)
{
  return sequence->request->prompt + sequence->written - sequence->cached;
}

/* It has but its last token to compute, which it wrote itself. */
static gboolean
writes (const Sequence *sequence)
{
  return sequence->written > 0 && left_of (sequence) <= 1;
}

/* What of SEQUENCE a step computes that has BUDGET tokens left; 0: nothing. */
static double
tokens_of (const Queue *self, const Sequence *sequence, double budget)
{
  const double   left = left_of (sequence);
  const gboolean whole = self->options->whole_prompts && !writes (sequence);
  const gboolean untouched = budget >= (double) self->generation->prefill_tokens;

  if (whole) /* one that is longer than a step takes has a step of its own */
    return left <= budget || untouched ? left : 0;
  return MIN (budget, left);
}

/* The step computes TOKENS of SEQUENCE, which has blocks for them. */
static void
schedule (Queue *self, Sequence *sequence, double tokens)
{
  const SequenceGroup part = { 1, tokens, sequence->cached };

  if (writes (sequence))
    {
      SequenceGroup *together = &g_array_index (self->groups, SequenceGroup, 0);

      together->cached += sequence->cached; /* the sum, until all are known */
      together->sequences++;
    }
  else
    g_array_append_val (self->groups, part);
  sequence->cached += tokens;
}

/* Blocks for TOKENS more of running sequence I, which others that came later may have to give. */
static gboolean
make_room (Queue *self, guint i, double tokens)
{
  Sequence *sequence = g_ptr_array_index (self->running, i);

  while (!take_blocks (self, sequence, sequence->cached + tokens))
    {
      preempt_last (self);
      if (i == self->running->len) /* it was the last one itself */
        return FALSE;
    }
  return TRUE;
}

/* What runs already, in order. Returns the tokens that are left. */
static double
schedule_running (Queue *self, double budget)
{
  for (guint i = 0; i < self->running->len; i++)
    {
      Sequence    *sequence = g_ptr_array_index (self->running, i);
      const double tokens = tokens_of (self, sequence, budget);

      if (tokens == 0)
        continue;
      if (!make_room (self, i, tokens))
        break;
      schedule (self, sequence, tokens);
      budget -= tokens;
    }
  return budget;
}

/* Tokens of SEQUENCE that are in the cache as it begins. What lost its blocks is computed anew. */
static double
cached_of (const Queue *self, const Sequence *sequence)
{
  const double prompt = sequence->request->prompt;

  if (sequence->is_handed_over)
    return prompt;
  return MIN (floor (self->options->prefix_reuse * prompt), prompt + sequence->written - 1);
}

/* Who waits and fits. Returns whether anybody began. */
static gboolean
schedule_waiting (Queue *self, double budget)
{
  gboolean began = FALSE;

  while (!g_queue_is_empty (&self->waiting)
         && self->running->len < (guint) self->options->max_sequences)
    {
      Sequence *sequence = g_queue_peek_head (&self->waiting);
      double    tokens;

      sequence->cached = cached_of (self, sequence);
      tokens = tokens_of (self, sequence, budget);
      if (tokens == 0 || !take_blocks (self, sequence, sequence->cached + tokens))
        break;
      g_queue_pop_head (&self->waiting);
      g_ptr_array_add (self->running, sequence);
      if (sequence->started_s < 0)
        sequence->started_s = self->now;
      schedule (self, sequence, tokens);
      budget -= tokens;
      began = TRUE;
    }
  return began;
}

/* Fills the groups of the next step. Whole prompts go before what writes. */
static void
schedule_step (Queue *self)
{
  const double   budget = (double) self->generation->prefill_tokens;
  SequenceGroup *together;

  g_array_set_size (self->groups, 0);
  g_array_append_vals (self->groups, &(SequenceGroup){ .tokens = 1 }, 1);
  if (!self->options->whole_prompts)
    schedule_waiting (self, schedule_running (self, budget));
  else if (!schedule_waiting (self, budget))
    schedule_running (self, budget);
  together = &g_array_index (self->groups, SequenceGroup, 0);
  if (together->sequences > 0)
    together->cached /= together->sequences;
}

/* Whoever has all of its tokens in the cache writes one; who has written all leaves. */
static void
write_tokens (Queue *self)
{
  guint kept = 0;

  for (guint i = 0; i < self->running->len; i++)
    {
      Sequence *sequence = g_ptr_array_index (self->running, i);

      if (left_of (sequence) <= 0 && sequence->written++ == 0)
        sequence->first_s = self->now;
      if (sequence->written < (self->role == ROLE_PREFILL ? 1 : sequence->request->output))
        {
          self->running->pdata[kept++] = sequence;
          continue;
        }
      sequence->done_s = self->now;
      give_blocks_back (self, sequence);
    }
  g_ptr_array_set_size (self->running, (gint) kept);
}

static void
run_step (Queue *self)
{
  GenerationTime time;

  schedule_step (self);
  generator_step (self->generator, (const SequenceGroup *) (gconstpointer) self->groups->data,
                  self->groups->len, &time);
  self->n_steps++;
  self->busy_s += time.seconds;
  self->batch_s += time.seconds * self->running->len;
  self->cache_s += time.seconds * self->used;
  self->now += time.seconds;
  write_tokens (self);
}

/* ---- a queue --------------------------------------------------------------------------------- */

static void
let_arrive (Queue *self)
{
  while (self->next < self->all->len)
    {
      Sequence *sequence = g_ptr_array_index (self->all, self->next);

      if (sequence->arrival_s > self->now)
        return;
      g_queue_push_tail (&self->waiting, sequence);
      self->next++;
    }
}

void
serving_queue_run (Queue *self)
{
  for (;;)
    {
      let_arrive (self);
      if (!g_queue_is_empty (&self->waiting) || self->running->len > 0)
        run_step (self);
      else if (self->next < self->all->len)
        self->now = ((Sequence *) g_ptr_array_index (self->all, self->next))->arrival_s;
      else
        return;
    }
}

void
serving_queue_init (Queue *self, QueueRole role, Generator *generator,
                    const GenerationOptions *generation, const ServingOptions *options)
{
  *self =
      (Queue){ .role = role, .generator = generator, .generation = generation, .options = options };
  self->room = generator_cache_room (generator, (double) generation->prefill_tokens);
  self->block_bytes = g_array_new (FALSE, FALSE, sizeof (double));
  self->all = g_ptr_array_new ();
  self->running = g_ptr_array_new ();
  self->groups = g_array_new (FALSE, FALSE, sizeof (SequenceGroup));
  g_queue_init (&self->waiting);
}

void
serving_queue_clear (Queue *self)
{
  g_array_unref (self->block_bytes);
  g_ptr_array_unref (self->all);
  g_ptr_array_unref (self->running);
  g_array_unref (self->groups);
  g_queue_clear (&self->waiting);
}

void
serving_queue_add (Queue *self, Sequence *sequence)
{
  g_ptr_array_add (self->all, sequence);
}
