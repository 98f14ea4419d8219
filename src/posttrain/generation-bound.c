#include "posttrain/generation-bound.h"

#include <math.h>

#include "serve/requests.h"

/* Sums over responses, of the tokens that are decoded: all but the first of each. */
typedef struct
{
  double decoded, cached; /* tokens; those that are there before each of them, summed */
  double prompt, longest; /* tokens of the longest response */
} Written;

static Written
written_of (const GArray *responses)
{
  Written self = { 0 };

  for (guint i = 0; i < responses->len; i++)
    {
      const ServeRequest *one = &g_array_index (responses, ServeRequest, i);
      const double        decoded = one->output - 1.0;

      self.decoded += decoded;
      self.cached += decoded * (one->prompt + decoded / 2);
      if (one->output > self.longest)
        {
          self.longest = one->output;
          self.prompt = one->prompt;
        }
    }
  return self;
}

/*
 * Sequences of a stage's micro-batch that cost as much as PART of them, as batches are padded
 * (generator.c): so many write most a second.
 */
static double
full_part (double part)
{
  const double unit = part > 512 ? 128 : part > 4 ? 8 : part > 2 ? 4 : part > 1 ? 2 : 1;

  return ceil (part / unit) * unit;
}

static double
step_seconds (Generator *generator, double sequences, double cached)
{
  const SequenceGroup group = { sequences, 1, cached };
  GenerationTime      time;

  generator_step (generator, &group, 1, &time);
  return time.seconds;
}

double
generation_least_seconds (Generator *generator, const GenerationOptions *generation,
                          const ServingOptions *serving, guint n_gpus, const GArray *responses)
{
  const Written written = written_of (responses);
  const double  room = generator_cache_room (generator, (double) generation->prefill_tokens);
  const guint   instances = n_gpus / generation_ranks (generation);
  const double  replicas = (double) instances * (double) generation->dp;
  const double  queued = ceil (responses->len / replicas);
  const double  stages = (double) generation->pp;
  const double  batch = stages * full_part (MIN (queued, (double) serving->max_sequences) / stages);
  double        all, longest;

  if (generator_cache_bytes (generator, written.prompt + written.longest) > room)
    return INFINITY;
  if (written.decoded <= 0)
    return 0;
  all = written.decoded / replicas / batch
        * step_seconds (generator, batch, written.cached / written.decoded);
  longest = (written.longest - 1)
            * step_seconds (generator, 1, written.prompt + (written.longest - 1) / 2);
  return MAX (all, longest);
}
