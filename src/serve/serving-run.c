#include <math.h>

#include "base/compare.h"
#include "base/quantile.h"
#include "serve/serving-queue.h"

#define OVERLOAD 0.05 /* of all requests, that still wait as the last one arrives */

/* ---- the answer ------------------------------------------------------------------------------ */

/* What is measured of each request. */
typedef struct
{
  GArray *wait, *first_token, *between_tokens, *latency; /* double */
  guint   good, late; /* within the limits; that begin after the LAST arrival */
  double  last;
} Samples;

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
      const double *sorted = (const double *) (gconstpointer) samples->data;

      quantiles.p50 = quantile_of_sorted (sorted, samples->len, 0.5);
      quantiles.p90 = quantile_of_sorted (sorted, samples->len, 0.9);
      quantiles.p99 = quantile_of_sorted (sorted, samples->len, 0.99);
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
add_samples (const GArray *sequences, const ServingOptions *options, Samples *samples)
{
  for (guint i = 0; i < sequences->len; i++)
    {
      const Sequence     *sequence = &g_array_index (sequences, Sequence, i);
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
          is_within (first, options->first_token_limit_s)
          && (request->output == 1 || is_within (between, options->between_tokens_limit_s));
    }
}

static Samples
samples_new (const GArray *requests)
{
  return (Samples){ .wait = g_array_new (FALSE, FALSE, sizeof (double)),
                    .first_token = g_array_new (FALSE, FALSE, sizeof (double)),
                    .between_tokens = g_array_new (FALSE, FALSE, sizeof (double)),
                    .latency = g_array_new (FALSE, FALSE, sizeof (double)),
                    .last = g_array_index (requests, ServeRequest, requests->len - 1).arrival_s };
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
finish_answer (ServingAnswer *self, const GArray *requests, const GArray *sequences,
               const ServingOptions *options, guint n_queues, guint n_gpus)
{
  Samples             sums = samples_new (requests), *samples = &sums;
  const ServeRequest *first = &g_array_index (requests, ServeRequest, 0);
  const ServeRequest *last = &g_array_index (requests, ServeRequest, requests->len - 1);
  const double        arriving = last->arrival_s - first->arrival_s;

  add_samples (sequences, options, samples);
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

/* ---- replicas -------------------------------------------------------------------------------- */

/* What all replicas share. */
typedef struct
{
  Generator               *generator;
  const GenerationOptions *generation;
  const ServingOptions    *options;
  GArray                  *sequences; /* Sequence, of all requests */
  ServingAnswer           *answer;
} Run;

/* Whether each of REQUESTS fits a cache that has nothing else. */
static gboolean
check_requests (const Run *self, const GArray *requests, DiagList *diags)
{
  gboolean ok = TRUE;
  Queue    queue;

  serving_queue_init (&queue, ROLE_ALL, self->generator, self->generation, self->options);
  for (guint i = 0; ok && i < requests->len; i++)
    {
      const ServeRequest *request = &g_array_index (requests, ServeRequest, i);
      const double        tokens = (double) request->prompt + request->output;
      const double        bytes = serving_queue_bytes (&queue, tokens);

      ok = bytes <= queue.room;
      if (!ok)
        diag_error (diags, NULL, "more ranks, weights or a cache in fp8",
                    "request %u of %.0f tokens never fits: its cache takes %.3g GB, there is room "
                    "for %.3g GB",
                    i + 1, tokens, bytes / 1e9, MAX (queue.room, 0) / 1e9);
    }
  serving_queue_clear (&queue);
  return ok;
}

static gint
compare_arrivals (gconstpointer a, gconstpointer b)
{
  const Sequence *x = *(const Sequence *const *) a, *y = *(const Sequence *const *) b;

  return x->arrival_s != y->arrival_s ? (x->arrival_s > y->arrival_s ? 1 : -1)
                                      : (x->request > y->request) - (x->request < y->request);
}

/* Deals all sequences that have not ended, by arrival, to N replicas of ROLE, and lets them run. */
static void
run_replicas (const Run *self, QueueRole role, guint n)
{
  g_autoptr (GPtrArray) order = g_ptr_array_sized_new (self->sequences->len);

  for (guint i = 0; i < self->sequences->len; i++)
    {
      Sequence *sequence = &g_array_index (self->sequences, Sequence, i);

      if (sequence->written < sequence->request->output)
        g_ptr_array_add (order, sequence);
    }
  g_ptr_array_sort (order, compare_arrivals);
  for (guint q = 0; q < n; q++)
    {
      Queue queue;

      serving_queue_init (&queue, role, self->generator, self->generation, self->options);
      for (guint i = q; i < order->len; i += n)
        serving_queue_add (&queue, g_ptr_array_index (order, i));
      serving_queue_run (&queue);
      add_queue (&queue, self->answer);
      serving_queue_clear (&queue);
    }
}

/* ---- prompts on replicas of their own -------------------------------------------------------- */

/*
 * Keys and values travel from each rank of the replica that computed them to its like of the one
 * that goes on, all ranks at once, once the prompt is over. Those with no token left to write stay.
 */
static void
hand_over (const Run *self)
{
  for (guint i = 0; i < self->sequences->len; i++)
    {
      Sequence    *sequence = &g_array_index (self->sequences, Sequence, i);
      const double bytes = generator_cache_bytes (self->generator, sequence->request->prompt + 1.0);

      sequence->arrival_s = sequence->done_s + generator_hand_over_seconds (self->generator, bytes);
      sequence->is_handed_over = TRUE;
      if (sequence->written < sequence->request->output)
        self->answer->handed_over_bytes += bytes;
    }
}

static void
run_apart (const Run *self, guint n_prefill, guint n_decode)
{
  run_replicas (self, ROLE_PREFILL, n_prefill);
  hand_over (self);
  run_replicas (self, ROLE_DECODE, n_decode);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static GArray *
new_sequences (const GArray *requests)
{
  GArray *sequences = g_array_sized_new (FALSE, TRUE, sizeof (Sequence), requests->len);

  for (guint i = 0; i < requests->len; i++)
    {
      const ServeRequest *request = &g_array_index (requests, ServeRequest, i);
      const Sequence      sequence = { .request = request,
                                       .arrival_s = request->arrival_s,
                                       .started_s = -1 };

      g_array_append_val (sequences, sequence);
    }
  return sequences;
}

gboolean
serving_run (Generator *generator, const GenerationOptions *generation,
             const ServingOptions *options, guint n_gpus, const GArray *requests,
             ServingAnswer *answer, DiagList *diags)
{
  const guint        n_instances = n_gpus / generation_ranks (generation);
  const guint        per_instance = (guint) generation->dp, n = n_instances * per_instance;
  const guint        apart = (guint) options->prefill_instances;
  g_autoptr (GArray) sequences = new_sequences (requests);
  const Run          run = { generator, generation, options, sequences, answer };

  *answer = (ServingAnswer){ 0 };
  if (apart >= n_instances)
    {
      diag_error (diags, NULL, "leave at least one that decodes",
                  "'prefill_instances' of %u leaves none of the cluster's %u instances to decode",
                  apart, n_instances);
      return FALSE;
    }
  if (!check_requests (&run, requests, diags))
    return FALSE;
  if (apart > 0)
    run_apart (&run, apart * per_instance, n - apart * per_instance);
  else
    run_replicas (&run, ROLE_ALL, n);
  finish_answer (answer, requests, sequences, options, n, n_gpus);
  return TRUE;
}
