/*
 * A batch of sequences that is always full: as each one ends, the next one's prompt is computed.
 * What people ask first of a model on some GPUs.
 */
#pragma once

#include "serve/generator.h"

typedef struct
{
  double batch;          /* sequences of a replica of attention */
  double prompt, output; /* tokens of each */
} SteadyLoad;

typedef struct
{
  SteadyLoad     load;
  guint          n_ranks, n_instances, n_replicas; /* of an instance; on the cluster; of each */
  GenerationTime decode;  /* a step of the batch, half of the answers written */
  GenerationTime prefill; /* a prompt by itself */
  double         first_token_s, between_tokens_s;
  double         tokens_per_s;         /* written, by the whole cluster */
  double         tokens_per_s_per_gpu; /* the same of a GPU; and of decoding alone: */
  double         decode_tokens_per_s_per_gpu;
  double         weight_bytes, sequence_bytes, room_bytes; /* a GPU's: a sequence at its end */
  double         largest_batch; /* that the room holds; 0: the weights alone do not fit */
  gboolean       fits;
  GenerationPart binds; /* the largest part of a step */
} SteadyAnswer;

/*
 * In a cycle of `output` steps every sequence of the batch is replaced once: that takes as many
 * steps, and as many prompts, which hold the batch up: tokens a second are batch x output over
 * both. LOAD.batch 0: the largest that fits.
 */
void steady_answer (Generator *generator, const GenerationOptions *options, const Cluster *cluster,
                    SteadyLoad load, SteadyAnswer *answer);
