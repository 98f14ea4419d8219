#include "serve/steady.h"

#include <math.h>

/* A prompt alone, in parts of as many tokens as a step takes. */
static void
time_prompt (Generator *generator, gint64 prompt, gint64 most, GenerationTime *time)
{
  *time = (GenerationTime){ 0 };
  for (gint64 done = 0; done < prompt; done += most)
    {
      const SequenceGroup part = { 1, (double) MIN (most, prompt - done), (double) done };
      GenerationTime      one;

      generator_step (generator, &part, 1, &one);
      time->seconds += one.seconds;
      for (guint p = 0; p < GENERATION_N_PARTS; p++)
        time->parts[p] += one.parts[p];
    }
}

static GenerationPart
largest_part (const GenerationTime *time)
{
  guint largest = 0;

  for (guint p = 1; p < GENERATION_N_PARTS; p++)
    if (time->parts[p] > time->parts[largest])
      largest = p;
  return (GenerationPart) largest;
}

static void
fill_memory (Generator *generator, const GenerationOptions *options, SteadyAnswer *self)
{
  const double length = self->load.prompt + self->load.output;
  const double step = MIN (self->load.prompt, (double) options->prefill_tokens);

  self->weight_bytes = generator_weight_bytes (generator);
  self->sequence_bytes = generator_cache_bytes (generator, length);
  self->room_bytes = generator_cache_room (generator, MAX (step, 1));
  self->largest_batch = floor (MAX (self->room_bytes, 0) / self->sequence_bytes);
  if (self->load.batch == 0)
    self->load.batch = self->largest_batch;
  self->fits = self->load.batch > 0 && self->load.batch <= self->largest_batch;
}

static void
fill_speed (SteadyAnswer *self)
{
  const double sequences = self->load.batch * self->n_replicas * self->n_instances;
  const double gpus = (double) self->n_ranks * self->n_instances;
  const double written = sequences * self->load.output;
  const double decoding = self->load.output * self->decode.seconds;

  self->first_token_s = self->prefill.seconds;
  self->between_tokens_s = self->decode.seconds;
  self->tokens_per_s = written / (decoding + self->load.batch * self->prefill.seconds);
  self->tokens_per_s_per_gpu = self->tokens_per_s / gpus;
  self->decode_tokens_per_s_per_gpu = written / decoding / gpus;
}

void
steady_answer (Generator *generator, const GenerationOptions *options, const Cluster *cluster,
               SteadyLoad load, SteadyAnswer *self)
{
  SequenceGroup batch;

  *self = (SteadyAnswer){ .load = load,
                          .n_ranks = generation_ranks (options),
                          .n_replicas = (guint) options->dp };
  self->n_instances = cluster_n_gpus (cluster) / self->n_ranks;
  fill_memory (generator, options, self);
  if (self->load.batch == 0)
    return;
  batch = (SequenceGroup){ self->load.batch, 1, load.prompt + (load.output - 1) / 2 };
  generator_step (generator, &batch, 1, &self->decode);
  time_prompt (generator, (gint64) load.prompt, options->prefill_tokens, &self->prefill);
  fill_speed (self);
  self->binds = largest_part (&self->decode);
}
