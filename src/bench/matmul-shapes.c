#ifdef BENCH_CUDA

#include "bench/matmul-shapes.h"

#include <stdlib.h>
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
#define MIN_SQUARE          1024u
#define MAX_SQUARE          8192u

typedef struct
{
  MatmulShapes *shapes;
  unsigned      capacity;
  const char   *dtype;
  bool          failed;
} List;

static bool
list_has (const List *list, const GemmShape *gemm)
{
  for (unsigned i = 0; i < list->shapes->n; i++)
    {
      const GemmShape *other = &list->shapes->items[i].gemm;

      if (other->layout == gemm->layout && other->m == gemm->m && other->n == gemm->n
          && other->k == gemm->k && other->batch == gemm->batch)
        return true;
    }
  return false;
}

static void
list_add (List *list, GemmLayout layout, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
          const char *model, const char *what, unsigned tensor_parallel)
{
  const GemmShape gemm = { layout, list->dtype, m, n, k, batch };
  bool            fp8 = strcmp (list->dtype, "fp8") == 0;
  MatmulShape    *items = list->shapes->items;

  if (list->failed || (fp8 && (layout != GEMM_NT || batch != 1)) || list_has (list, &gemm))
    return;
  if (list->shapes->n == list->capacity)
    {
      list->capacity = list->capacity == 0 ? 256 : 2 * list->capacity;
      items = realloc (items, list->capacity * sizeof *items);
      list->failed = items == NULL;
      if (list->failed)
        return;
      list->shapes->items = items;
    }
  items += list->shapes->n++;
  items->gemm = gemm;
  if (*model != '\0')
    snprintf (items->remark, sizeof items->remark, "%s %s tp %u", model, what, tensor_parallel);
  else
    snprintf (items->remark, sizeof items->remark, "%s", what);
}

/* A linear layer's three products. */
static void
add_linear (List *list, const char *model, const char *what, unsigned tp, uint64_t tokens,
            uint64_t in, uint64_t out)
{
  list_add (list, GEMM_NT, tokens, out, in, 1, model, what, tp);
  list_add (list, GEMM_NN, tokens, in, out, 1, model, what, tp);
  list_add (list, GEMM_TN, out, in, tokens, 1, model, what, tp);
}

/*
 * Tensor parallelism divides the columns of the first linear layer of a pair, the rows of the
 * second.
 */
static void
add_layer (List *list, const ModelShape *m, uint64_t tokens, unsigned tp)
{
  uint64_t width = (uint64_t) (m->n_heads + 2 * m->n_kv_heads) * m->head_size;

  add_linear (list, m->name, "qkv", tp, tokens, m->d_model, width / tp);
  add_linear (list, m->name, "attention output", tp, tokens, m->n_heads * m->head_size / tp,
              m->d_model);
  add_linear (list, m->name, "up", tp, tokens, m->d_model, m->d_ff / tp);
  if (m->gated)
    add_linear (list, m->name, "gate and up", tp, tokens, m->d_model, 2ul * m->d_ff / tp);
  add_linear (list, m->name, "down", tp, tokens, m->d_ff / tp, m->d_model);
  add_linear (list, m->name, "vocabulary", tp, tokens, m->d_model, m->vocabulary / tp);
}

/* Scores, their product with the values, and the gradient of the values, of one sequence. */
static void
add_attention (List *list, const ModelShape *m, uint64_t seq, unsigned tp)
{
  uint64_t heads = m->n_heads / tp, size = m->head_size;

  list_add (list, GEMM_NT, seq, seq, size, heads, m->name, "scores", tp);
  list_add (list, GEMM_NN, seq, size, seq, heads, m->name, "values", tp);
  list_add (list, GEMM_TN, seq, size, seq, heads, m->name, "values", tp);
}

bool
matmul_shapes_make (const char *dtype, bool thin, MatmulShapes *shapes)
{
  List list = { shapes, 0, dtype, false };

  *shapes = (MatmulShapes){ NULL, 0 };
  for (unsigned i = 0; i < (thin ? 1 : N_MODELS); i++)
    {
      unsigned tokens_step = i == 0 && !thin ? 2 : 4, tp_step = thin ? MAX_TENSOR_PARALLEL : 2;

      for (unsigned tp = 1; tp <= MAX_TENSOR_PARALLEL; tp *= tp_step)
        {
          for (unsigned tokens = MIN_TOKENS; tokens <= MAX_TOKENS; tokens *= tokens_step)
            add_layer (&list, &models[i], tokens, tp);
          for (unsigned seq = MIN_TOKENS; seq < MAX_TOKENS; seq *= 4)
            add_attention (&list, &models[i], seq, tp);
        }
    }
  for (unsigned size = MIN_SQUARE; size <= MAX_SQUARE; size *= 2)
    {
      list_add (&list, GEMM_NN, size, size, size, 1, "", "square", 1);
      list_add (&list, GEMM_NT, size, size, size, 1, "", "square", 1);
    }
  if (list.failed)
    free (shapes->items);
  return !list.failed;
}

#endif
