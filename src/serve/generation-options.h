/* How a model generates: the mesh of one instance, its cache, how its kernels are launched. */
#pragma once

#include "base/config/option.h"
#include "hardware/profile/profile.h"
#include "model/mesh/parallel.h"
#include "model/step/training.h"

/* What weights and their products are in. */
typedef enum
{
  SERVE_WEIGHTS_16BIT,
  SERVE_WEIGHTS_FP8,       /* a scale a tensor */
  SERVE_WEIGHTS_FP8_BLOCK, /* a scale a block of 128 x 128: DeepSeek-V3 as it is published */
  SERVE_WEIGHTS_INT4,      /* AWQ, GPTQ: a scale and a zero point for 128 of an output's weights */
  SERVE_WEIGHTS_NVFP4,     /* a scale in fp8 for 16 of them */
} ServeWeights;

/* What keys and values are cached in. */
typedef enum
{
  SERVE_CACHE_16BIT,
  SERVE_CACHE_FP8,       /* a scale a tensor */
  SERVE_CACHE_FP8_HEADS, /* one in fp32 for each token's key, and value, of each head */
} ServeCache;

/* What sums the partial results of tensor ranks. */
typedef enum
{
  SERVE_ALL_REDUCE_AUTO, /* the fastest of the three below that runs */
  SERVE_ALL_REDUCE_LIBRARY,
  SERVE_ALL_REDUCE_ONE_SHOT, /* small-all-reduce.h */
  SERVE_ALL_REDUCE_TWO_SHOT,
} ServeAllReduce;

typedef struct
{
  gint64   tp, pp; /* ranks that share a layer, and stages */
  gint64   dp;     /* replicas of attention that share the experts: expert ranks */
  gint     weights, cache_dtype, all_reduce; /* ServeWeights; ServeCache; ServeAllReduce */
  gboolean enforce_eager;          /* decoding steps are no graphs either: the host launches all */
  double   memory_utilization;     /* share of a GPU's memory that is used in all */
  gint64   prefill_tokens;         /* of prompts that one step takes at most */
  double   issue_s;                /* of a kernel on the host, where it is not in a graph */
  double   step_overhead_s;        /* of the host between two steps: scheduling, the drawn tokens */
  double   sequence_overhead_s;    /* the same for each sequence of a step */
  gboolean enable_expert_parallel; /* tensor ranks have whole experts, not slices of each */
  gboolean widens_weights;         /* no option, generation_take_gpu: products are in 16 bits */
} GenerationOptions;

extern const OptionSpec generation_options[];

/* Ranks of one instance. */
guint generation_ranks (const GenerationOptions *self);

/* Bytes of an element of the blocks' matrices, their share of the scales included. */
double generation_weight_bytes (const GenerationOptions *self);

/* The mesh of one instance, of SHAPE: MESH is zeroed. */
MeshOptions generation_mesh (const GenerationOptions *self);

/*
 * Products are in the weights' type where GPU multiplies that, else they widen weights to 16 bits
 * on their way from memory (Marlin's kernels): as those of 4-bit integers do anywhere.
 */
void generation_take_gpu (GenerationOptions *self, const GpuProfile *gpu);

/*
 * TRAINING, with its defaults, as the kernels of PASS run under SELF: fused as serving engines fuse
 * them; no gradients, no losses.
 */
void generation_set_training (const GenerationOptions *self, ModelPass pass,
                              TrainingOptions *training);
