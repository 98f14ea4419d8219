#include "serve/serving-run.h"

#include <math.h>

#define OPTION(member) .offset = G_STRUCT_OFFSET (ServingOptions, member)
#define OVERLOAD       0.05 /* of all requests, that still wait as the last one arrives */

const OptionSpec serving_options[] = {
  { .key = "max_sequences",
    .type = OPTION_INT,
    OPTION (max_sequences),
    .fallback = "256",
    .min = 1,
    .max = 1 << 20,
    .help = "of requests, that run at a time on a replica",
    .source = "vLLM, max_num_seqs" },
  { .key = "whole_prompts",
    .type = OPTION_BOOL,
    OPTION (whole_prompts),
    .fallback = "false",
    .help = "prompts are computed whole, while sequences that write wait; else in parts beside "
            "these",
    .source = "vLLM, enable_chunked_prefill" },
  { .key = "prefix_reuse",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_RATIO,
    OPTION (prefix_reuse),
    .fallback = "0",
    .min = 0,
    .max = 1,
    .or_zero = TRUE,
    .help = "share of a prompt whose keys and values are in the cache already" },
  { .key = "block_tokens",
    .type = OPTION_INT,
    OPTION (block_tokens),
    .fallback = "16",
    .min = 1,
    .max = 1 << 16,
    .help = "of a block of the cache",
    .source = "vLLM, block_size" },
  { .key = "first_token_limit",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (first_token_limit_s),
    .optional = TRUE,
    .help = "requests whose first token comes later are not good" },
  { .key = "between_tokens_limit",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_TIME,
    OPTION (between_tokens_limit_s),
    .optional = TRUE,
    .help = "requests whose mean time between tokens is longer are not good" },
  { 0 },
};

/* A request on its way: of its prompt and of what it has written so much is in the cache. */
typedef struct
{
  const ServeRequest *request;
  double              cached, written;
  double              bytes;                      /* of its blocks */
  double              started_s, first_s, done_s; /* started_s < 0: not yet */
} Sequence;

/* One replica. */
typedef struct
{
  Generator               *generator;
  const GenerationOptions *generation;
  const ServingOptions    *options;
  double                   room;
  GArray                  *block_bytes; /* double: of a sequence of so many blocks */
  GPtrArray               *all;         /* Sequence, by arrival */
  GQueue                   waiting;     /* those that lost their blocks first */
  GPtrArray               *running;     /* by the time that they began to run */
  guint                    next;        /* of `all`, to arrive */
  double                   now, used;
  GArray                  *groups; /* SequenceGroup, of a step */
  /* sums */
  guint   n_preempted;
  guint64 n_steps;
  double  busy_s, batch_s, cache_s, peak;
} Queue;

/* ---- the cache ------------------------------------------------------------------------------- */

/* Bytes of a sequence of TOKENS, in whole blocks. */
static double
bytes_of (Queue *self, double tokens)
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
  const double bytes = bytes_of (self, tokens);

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

      sequence->cached = MIN (floor (self->options->prefix_reuse * sequence->request->prompt),
                              sequence->request->prompt + sequence->written - 1);
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
      if (sequence->written < sequence->request->output)
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

      if (sequence->request->arrival_s > self->now)
        return;
      g_queue_push_tail (&self->waiting, sequence);
      self->next++;
    }
}

/* Serves all of the queue's requests. */
static void
run_queue (Queue *self)
{
  for (;;)
    {
      let_arrive (self);
      if (!g_queue_is_empty (&self->waiting) || self->running->len > 0)
        run_step (self);
      else if (self->next < self->all->len)
        self->now = ((Sequence *) g_ptr_array_index (self->all, self->next))->request->arrival_s;
      else
        return;
    }
}

static void
queue_init (Queue *self, Generator *generator, const GenerationOptions *generation,
            const ServingOptions *options)
{
  *self = (Queue){ .generator = generator, .generation = generation, .options = options };
  self->room = generator_cache_room (generator, (double) generation->prefill_tokens);
  self->block_bytes = g_array_new (FALSE, FALSE, sizeof (double));
  self->all = g_ptr_array_new_with_free_func (g_free);
  self->running = g_ptr_array_new ();
  self->groups = g_array_new (FALSE, FALSE, sizeof (SequenceGroup));
  g_queue_init (&self->waiting);
}

static void
queue_clear (Queue *self)
{
  g_array_unref (self->block_bytes);
  g_ptr_array_unref (self->all);
  g_ptr_array_unref (self->running);
  g_array_unref (self->groups);
  g_queue_clear (&self->waiting);
}

/* Every N-th of REQUESTS from FIRST on. */
static void
deal_requests (Queue *self, const GArray *requests, guint first, guint n)
{
  for (guint i = first; i < requests->len; i += n)
    {
      Sequence *sequence = g_new0 (Sequence, 1);

      sequence->request = &g_array_index (requests, ServeRequest, i);
      sequence->started_s = -1;
      g_ptr_array_add (self->all, sequence);
    }
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* What is measured of each request. */
typedef struct
{
  GArray *wait, *first_token, *between_tokens, *latency; /* double */
  guint   good, late; /* within the limits; that begin after the LAST arrival */
  double  last;
} Samples;

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static double
quantile (const GArray *sorted, double share)
{
  const guint last = sorted->len - 1;

  return g_array_index (sorted, double, (guint) MIN (ceil (share * sorted->len), last + 1.0) - 1);
}

/* Of SAMPLES, which are sorted and freed. */
static ServingQuantiles
quantiles_of (GArray *samples)
{
  ServingQuantiles quantiles = { 0 };

  g_array_sort (samples, compare_doubles);
  for (guint i = 0; i < samples->len; i++)
    quantiles.mean += g_array_index (samples, double, i) / samples->len;
  if (samples->len > 0)
    {
      quantiles.p50 = quantile (samples, 0.5);
      quantiles.p90 = quantile (samples, 0.9);
      quantiles.p99 = quantile (samples, 0.99);
    }
  g_array_unref (samples);
  return quantiles;
}

static gboolean
is_within (double value, double limit)
{
  return limit == 0 || value <= limit;
}

static void
add_samples (const Queue *queue, Samples *samples)
{
  for (guint i = 0; i < queue->all->len; i++)
    {
      const Sequence     *sequence = g_ptr_array_index (queue->all, i);
      const ServeRequest *request = sequence->request;
      const double        wait = sequence->started_s - request->arrival_s,
                   first = sequence->first_s - request->arrival_s,
                   latency = sequence->done_s - request->arrival_s,
                   between = (sequence->done_s - sequence->first_s) / (request->output - 1.0);

      g_array_append_val (samples->wait, wait);
      g_array_append_val (samples->first_token, first);
      g_array_append_val (samples->latency, latency);
      if (request->output > 1)
        g_array_append_val (samples->between_tokens, between);
      samples->late += sequence->started_s > samples->last;
      samples->good +=
          is_within (first, queue->options->first_token_limit_s)
          && (request->output == 1 || is_within (between, queue->options->between_tokens_limit_s));
    }
}

/* Adds what QUEUE did to the sums of SELF. */
static void
add_queue (const Queue *queue, ServingAnswer *self)
{
  self->n_preempted += queue->n_preempted;
  self->n_steps += queue->n_steps;
  self->seconds = MAX (self->seconds, queue->now);
  self->busy += queue->busy_s;
  self->mean_batch += queue->batch_s;
  self->mean_cache += queue->cache_s / queue->room;
  self->peak_cache = MAX (self->peak_cache, queue->peak / queue->room);
}

static void
finish_answer (ServingAnswer *self, const GArray *requests, Samples *samples, guint n_queues,
               guint n_gpus)
{
  const ServeRequest *first = &g_array_index (requests, ServeRequest, 0);
  const ServeRequest *last = &g_array_index (requests, ServeRequest, requests->len - 1);
  const double        arriving = last->arrival_s - first->arrival_s;

  self->n_requests = requests->len;
  self->seconds -= first->arrival_s;
  for (guint i = 0; i < requests->len; i++)
    {
      self->input_tokens += g_array_index (requests, ServeRequest, i).prompt;
      self->output_tokens += g_array_index (requests, ServeRequest, i).output;
    }
  self->tokens_per_s = self->output_tokens / self->seconds;
  self->tokens_per_s_per_gpu = self->tokens_per_s / n_gpus;
  self->overloaded = arriving > 0 && samples->late > OVERLOAD * requests->len;
  self->offered_rate = arriving > 0 ? requests->len / arriving : requests->len / self->seconds;
  self->sustained_rate =
      self->overloaded ? (requests->len - samples->late) / arriving : self->offered_rate;
  self->good_share = (double) samples->good / requests->len;
  self->goodput = samples->good / self->seconds;
  self->mean_batch /= self->busy;
  self->mean_cache /= self->busy;
  self->busy /= self->seconds * n_queues;
  self->wait = quantiles_of (samples->wait);
  self->first_token = quantiles_of (samples->first_token);
  self->between_tokens = quantiles_of (samples->between_tokens);
  self->latency = quantiles_of (samples->latency);
}

/* Whether each of REQUESTS fits a cache that has nothing else. */
static gboolean
check_requests (Queue *queue, const GArray *requests, DiagList *diags)
{
  for (guint i = 0; i < requests->len; i++)
    {
      const ServeRequest *request = &g_array_index (requests, ServeRequest, i);
      const double        tokens = (double) request->prompt + request->output;

      if (bytes_of (queue, tokens) <= queue->room)
        continue;
      diag_error (diags, NULL, "more ranks, weights or a cache in fp8",
                  "request %u of %.0f tokens never fits: its cache takes %.3g GB, there is room "
                  "for %.3g GB",
                  i + 1, tokens, bytes_of (queue, tokens) / 1e9, MAX (queue->room, 0) / 1e9);
      return FALSE;
    }
  return TRUE;
}

gboolean
serving_run (Generator *generator, const GenerationOptions *generation,
             const ServingOptions *options, guint n_gpus, const GArray *requests,
             ServingAnswer *answer, DiagList *diags)
{
  const guint n_queues = n_gpus / generation_ranks (generation) * (guint) generation->dp;
  Samples     samples = { .wait = g_array_new (FALSE, FALSE, sizeof (double)),
                          .first_token = g_array_new (FALSE, FALSE, sizeof (double)),
                          .between_tokens = g_array_new (FALSE, FALSE, sizeof (double)),
                          .latency = g_array_new (FALSE, FALSE, sizeof (double)) };
  gboolean    ok = TRUE;

  samples.last = g_array_index (requests, ServeRequest, requests->len - 1).arrival_s;
  *answer = (ServingAnswer){ 0 };
  for (guint q = 0; ok && q < n_queues; q++)
    {
      Queue queue;

      queue_init (&queue, generator, generation, options);
      ok = q > 0 || check_requests (&queue, requests, diags);
      deal_requests (&queue, requests, q, n_queues);
      if (ok)
        {
          run_queue (&queue);
          add_queue (&queue, answer);
          add_samples (&queue, &samples);
        }
      queue_clear (&queue);
    }
  finish_answer (answer, requests, &samples, n_queues, n_gpus);
  return ok;
}
