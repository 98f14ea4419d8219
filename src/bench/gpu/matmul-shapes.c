#ifdef BENCH_CUDA

#include "bench/gpu/matmul-shapes.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/*
 * After Llama 3 (8B, 1B, 70B: gated, 8 key-value heads) and GPT-3 (2.7B, 13B), vocabularies padded
 * to 64.
 */
typedef struct
{
  const char *name;
  unsigned    d_model, n_heads, n_kv_heads, head_size, d_ff, vocabulary;
  bool        gated;
} ModelShape;

static const ModelShape models[] = {
  { "8B", 4096, 32, 8, 128, 14336, 128256, true },
  { "1B", 2048, 32, 8, 64, 8192, 128256, true },
  { "2.7B", 2560, 32, 32, 80, 10240, 50304, false },
  { "13B", 5120, 40, 40, 128, 20480, 50304, false },
  { "70B", 8192, 64, 8, 128, 28672, 128256, true },
};
#define N_MODELS (sizeof models / sizeof *models)

#define MIN_TOKENS          1024u
#define MAX_TOKENS          16384u
#define MAX_TENSOR_PARALLEL 8u
#define MAX_DECODING        256u /* tokens: sequences of a decoding batch */
#define LEAST_FP8_ROWS      16u
#define MIN_SQUARE          1024u
#define MAX_SQUARE          8192u

/* Adds GEMM, once. WHAT is the product's name in MODEL; "" is none. */
static void
add (MatmulShapes *shapes, const GemmShape *gemm, const char *model, const char *what,
     unsigned tensor_parallel)
{
  MatmulShape *item = &shapes->items[shapes->n];

  if (strcmp (gemm->dtype, "fp8") == 0 && (gemm->layout != GEMM_NT || gemm->batch != 1))
    return;
  for (unsigned i = 0; i < shapes->n; i++)
    {
      const GemmShape *other = &shapes->items[i].gemm;

      if (other->layout == gemm->layout && other->m == gemm->m && other->n == gemm->n
          && other->k == gemm->k && other->batch == gemm->batch)
        return;
    }
  assert (shapes->n < MATMUL_MAX_SHAPES);
  shapes->n++;
  item->gemm = *gemm;
  if (*model != '\0')
    snprintf (item->remark, sizeof item->remark, "%s %s tp %u", model, what, tensor_parallel);
  else
    snprintf (item->remark, sizeof item->remark, "%s", what);
}

/*
 * A layer's products of TOKENS, the first N (1: forward, 3: all) of each linear layer. Tensor
 * parallelism divides the columns of the first linear layer of a pair, the rows of the second.
 */
static void
add_layer (MatmulShapes *shapes, const char *dtype, const ModelShape *m, uint64_t tokens,
           unsigned tp, unsigned n)
{
  const uint64_t heads = (uint64_t) m->n_heads * m->head_size;
  const uint64_t keys = 2ul * m->n_kv_heads * m->head_size;
  const struct
  {
    const char *what;
    uint64_t    in, out;
  } linears[] = {
    { "qkv", m->d_model, (heads + keys) / tp }, { "attention output", heads / tp, m->d_model },
    { "up", m->d_model, m->d_ff / tp },         { "gate and up", m->d_model, 2ul * m->d_ff / tp },
    { "down", m->d_ff / tp, m->d_model },       { "vocabulary", m->d_model, m->vocabulary / tp },
  };

  for (size_t i = 0; i < sizeof linears / sizeof *linears; i++)
    {
      const uint64_t  in = linears[i].in, out = linears[i].out;
      const GemmShape products[] = { { GEMM_NT, dtype, tokens, out, in, 1 },
                                     { GEMM_NN, dtype, tokens, in, out, 1 },
                                     { GEMM_TN, dtype, out, in, tokens, 1 } };

      for (unsigned k = 0; k < n; k++)
        if (m->gated || strcmp (linears[i].what, "gate and up") != 0)
          add (shapes, &products[k], m->name, linears[i].what, tp);
    }
}

/* Scores, their product with the values, and the gradient of the values, of one sequence. */
static void
add_attention (MatmulShapes *shapes, const char *dtype, const ModelShape *m, uint64_t seq,
               unsigned tp)
{
  const uint64_t heads = m->n_heads / tp, size = m->head_size;

  add (shapes, &(GemmShape){ GEMM_NT, dtype, seq, seq, size, heads }, m->name, "scores", tp);
  add (shapes, &(GemmShape){ GEMM_NN, dtype, seq, size, seq, heads }, m->name, "values", tp);
  add (shapes, &(GemmShape){ GEMM_TN, dtype, seq, size, seq, heads }, m->name, "values", tp);
}

void
matmul_shapes_make (const char *dtype, bool thin, MatmulShapes *shapes)
{
  shapes->n = 0;
  for (unsigned i = 0; i < (thin ? 1 : N_MODELS); i++)
    {
      unsigned tokens_step = i == 0 && !thin ? 2 : 4, tp_step = thin ? MAX_TENSOR_PARALLEL : 2;

      for (unsigned tp = 1; tp <= MAX_TENSOR_PARALLEL; tp *= tp_step)
        {
          for (unsigned tokens = MIN_TOKENS; tokens <= MAX_TOKENS; tokens *= tokens_step)
            add_layer (shapes, dtype, &models[i], tokens, tp, 3);
          for (unsigned seq = MIN_TOKENS; seq < MAX_TOKENS; seq *= 4)
            add_attention (shapes, dtype, &models[i], seq, tp);
        }
    }
  for (unsigned size = MIN_SQUARE; size <= MAX_SQUARE; size *= 2)
    for (GemmLayout layout = GEMM_NT; layout <= GEMM_NN; layout++)
      add (shapes, &(GemmShape){ layout, dtype, size, size, size, 1 }, "", "square", 1);
}

void
matmul_shapes_make_decoding (const char *dtype, bool thin, MatmulShapes *shapes)
{
  const unsigned least = strcmp (dtype, "fp8") == 0 ? LEAST_FP8_ROWS : 1;

  shapes->n = 0;
  for (unsigned i = 0; i < (thin ? 1 : N_MODELS); i++)
    for (unsigned tp = 1; tp <= MAX_TENSOR_PARALLEL; tp *= thin ? MAX_TENSOR_PARALLEL : 2)
      for (unsigned tokens = least; tokens <= MAX_DECODING; tokens *= thin ? 4 : 2)
        add_layer (shapes, dtype, &models[i], tokens, tp, 1);
}

#endif
