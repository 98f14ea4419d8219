/*
 * Requests served by the instances of a cluster, step by step, as vLLM schedules them.
 *
 * Set: queues of requests in order of arrival, one a replica of attention, dealt in turn; a cache
 * in blocks of so many tokens; a step that takes at most so many tokens of at most so many
 * sequences. Computed, of each queue: in each step first what runs (a token each of those that
 * write, and the rest of prompts), then, while there are tokens, sequences and blocks left, who
 * waits. Where no block is left for a token, the sequence that came last gives all of its own back
 * and is computed anew later, what it has written included. A step takes what generator_step says
 * of its sequences: those that write together, each part of a prompt by itself. Without chunks a
 * prompt is computed whole, in a step without sequences that write (vLLM's first scheduler).
 *
 * With instances for prompts alone, these compute the first token of each request; its keys and
 * values travel to another instance, which writes the rest. Nobody waits for room there before a
 * prompt is computed.
 *
 * The replicas of an instance run in lock-step; each is taken as if all had its sequences.
 */
#pragma once

#include "serve/generator.h"
#include "serve/requests.h"
#include "serve/serving-options.h"

/* Half of all are below, nine of ten, ninety-nine of a hundred; and the mean. */
typedef struct
{
  double p50, p90, p99, mean;
} ServingQuantiles;

typedef struct
{
  guint            n_requests, n_preempted;
  guint64          n_steps;
  double           seconds; /* from the first arrival to the end of the last request */
  double           input_tokens, output_tokens, tokens_per_s, tokens_per_s_per_gpu; /* written */
  ServingQuantiles wait, first_token, between_tokens, latency;                      /* s */
  double           good_share, goodput;          /* of requests within both limits; a second */
  double           offered_rate, sustained_rate; /* requests a second: that arrive, that begin */
  double           mean_batch, busy;       /* sequences that run, in a step; share of the time */
  double           handed_over_bytes;      /* a rank's, of all requests: from prompts to decoding */
  double           mean_cache, peak_cache; /* of the room */
  gboolean overloaded; /* a twentieth still waits as the last one arrives: the queue grows */
} ServingAnswer;

/*
 * Serves REQUESTS (ServeRequest) on all instances of a cluster of N_GPUS. FALSE after a diagnostic:
 * one of them never fits.
 */
gboolean serving_run (Generator *generator, const GenerationOptions *generation,
                      const ServingOptions *options, guint n_gpus, const GArray *requests,
                      ServingAnswer *answer, DiagList *diags);
