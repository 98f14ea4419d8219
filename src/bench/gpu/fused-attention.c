#ifdef BENCH_CUDA

#include "bench/gpu/fused-attention.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the tensors of a graph that are no intermediates stand for. */
typedef enum
{
  ROLE_Q,
  ROLE_K,
  ROLE_V,
  ROLE_O,
  ROLE_STATS,
  ROLE_D_O,
  ROLE_D_Q,
  ROLE_D_K,
  ROLE_D_V,
  ROLE_ROW_SUMS,
  ROLE_D_Q_SUM,
  ROLE_SCALE,
  ROLE_MASKED,
  ROLE_ONE,
  N_ROLES,
} Role;

struct FusedAttention
{
  const Bench *bench;
  CudnnGraph  *graph;
  void        *workspace;          /* of the kernel */
  float       *row_sums;           /* backward: of dO times O */
  float       *d_q_sum;            /* backward: dQ in fp32, which thread blocks add to */
  size_t       clear_bytes;        /* of it before each run: cuDNN clears it itself since 9.6 */
  float        scale, masked, one; /* values that the graph points to */

  CudnnTensor tensors[N_ROLES];
  Role        roles[N_ROLES];
  unsigned    n_bound;
};

typedef struct
{
  FusedAttention *self;
  CudnnGraph     *graph;
  CudnnType       type;
  int64_t         b, h, s, d;
} Build;

size_t
attention_bytes (const AttentionShape *shape)
{
  return shape->batch * shape->seq * shape->heads * shape->head_size * 2;
}

size_t
attention_stats_bytes (const AttentionShape *shape)
{
  return shape->batch * shape->seq * shape->heads * sizeof (float);
}

static void
set_role (Build *build, CudnnTensor tensor, Role role)
{
  FusedAttention *self = build->self;

  self->tensors[self->n_bound] = tensor;
  self->roles[self->n_bound++] = role;
}

/*
 * Batch, heads, sequence, head size, as they lie in memory with the sequence before the heads; or
 * the same with each head's matrix transposed.
 */
static CudnnTensor
add_matrix (Build *build, Role role, bool transposed)
{
  const int64_t rows = build->s, columns = build->d, row = build->h * build->d;
  const int64_t dims[] = { build->b, build->h, transposed ? columns : rows,
                           transposed ? rows : columns };
  const int64_t strides[] = { rows * row, columns, transposed ? 1 : row, transposed ? row : 1 };
  CudnnTensor   tensor = cudnn_graph_tensor (build->graph, build->type, dims, strides, CUDNN_REAL);

  set_role (build, tensor, role);
  return tensor;
}

/* Dense rows x columns for each head. */
static CudnnTensor
add_dense (Build *build, CudnnType type, int64_t columns, CudnnKind kind)
{
  const int64_t dims[] = { build->b, build->h, build->s, columns };
  const int64_t strides[] = { build->h * build->s * columns, build->s * columns, columns, 1 };

  return cudnn_graph_tensor (build->graph, type, dims, strides, kind);
}

/* Between operations. */
static CudnnTensor
add_virtual (Build *build, int64_t columns)
{
  return add_dense (build, CUDNN_FP32, columns, CUDNN_VIRTUAL);
}

/* In memory. */
static CudnnTensor
add_float (Build *build, int64_t columns, Role role)
{
  CudnnTensor tensor = add_dense (build, CUDNN_FP32, columns, CUDNN_REAL);

  set_role (build, tensor, role);
  return tensor;
}

static CudnnTensor
add_value (Build *build, Role role)
{
  static const int64_t ones[] = { 1, 1, 1, 1 };
  CudnnTensor tensor = cudnn_graph_tensor (build->graph, CUDNN_FP32, ones, ones, CUDNN_VALUE);

  set_role (build, tensor, role);
  return tensor;
}

static CudnnTensor
unary (Build *build, CudnnPointwise mode, CudnnTensor x)
{
  return cudnn_graph_pointwise (build->graph, mode, CUDNN_FP32, x, 0, 0, 0, 0);
}

static CudnnTensor
binary (Build *build, CudnnPointwise mode, CudnnTensor x, CudnnTensor b)
{
  return cudnn_graph_pointwise (build->graph, mode, CUDNN_FP32, x, b, 0, 0, 0);
}

/* X where the key is not after the query, else minus infinity. */
static CudnnTensor
mask_causal (Build *build, CudnnTensor x)
{
  CudnnGraph *graph = build->graph;
  CudnnTensor row = cudnn_graph_pointwise (graph, CUDNN_INDEX, CUDNN_INT32, x, 0, 0, 2, 0);
  CudnnTensor column = cudnn_graph_pointwise (graph, CUDNN_INDEX, CUDNN_INT32, x, 0, 0, 3, 0);
  CudnnTensor seen =
      cudnn_graph_pointwise (graph, CUDNN_GREATER_EQUAL, CUDNN_BOOL, row, column, 0, 0, 0);

  return cudnn_graph_pointwise (graph, CUDNN_SELECT, CUDNN_FP32, x, add_value (build, ROLE_MASKED),
                                seen, 0, 0);
}

/* Q K' times the scale. */
static CudnnTensor
scores (Build *build, CudnnTensor q, CudnnTensor k_transposed, CudnnTensor scale)
{
  CudnnTensor product = add_virtual (build, build->s);

  cudnn_graph_matmul (build->graph, q, k_transposed, product);
  return binary (build, CUDNN_MUL, product, scale);
}

static void
build_forward (Build *build)
{
  CudnnGraph *graph = build->graph;
  CudnnTensor q = add_matrix (build, ROLE_Q, false), k = add_matrix (build, ROLE_K, true);
  CudnnTensor v = add_matrix (build, ROLE_V, false), o = add_matrix (build, ROLE_O, false);
  CudnnTensor stats = add_float (build, 1, ROLE_STATS), scale = add_value (build, ROLE_SCALE);
  CudnnTensor max = add_virtual (build, 1), sum = add_virtual (build, 1);
  CudnnTensor softmax = add_dense (build, build->type, build->s, CUDNN_VIRTUAL);
  CudnnTensor masked = mask_causal (build, scores (build, q, k, scale)), e;

  cudnn_graph_reduce (graph, CUDNN_MAX, masked, max);
  e = unary (build, CUDNN_EXP, binary (build, CUDNN_SUB, masked, max));
  cudnn_graph_reduce (graph, CUDNN_SUM, e, sum);
  cudnn_graph_pointwise (graph, CUDNN_ADD, CUDNN_FP32, max, unary (build, CUDNN_LOG, sum), 0, 0,
                         stats);
  cudnn_graph_pointwise (graph, CUDNN_DIV, CUDNN_FP32, e, sum, 0, 0, softmax);
  cudnn_graph_matmul (graph, softmax, v, o);
}

/*
 * X with the last two dimensions exchanged, rows x columns by then: a matrix of scores, rounded for
 * the next product, or K, which the graph has got transposed, the right way round.
 */
static CudnnTensor
transpose (Build *build, CudnnTensor x, bool of_scores)
{
  const int64_t s = build->s, d = build->d, h = build->h;
  const int64_t dims[] = { build->b, h, s, of_scores ? s : d };
  const int64_t scores[] = { h * s * s, s * s, 1, s }, keys[] = { s * h * d, d, h * d, 1 };
  CudnnTensor   y = cudnn_graph_tensor (build->graph, build->type, dims, of_scores ? scores : keys,
                                        CUDNN_VIRTUAL);

  cudnn_graph_reshape (build->graph, x, y);
  return y;
}

/*
 *   D = rowsum (dO * O); P = exp (scale Q K' - stats), masked; dV = P' dO
 *   dS = P * (dO V' - D) scale; dK = dS' Q; dQ = dS K
 */
static void
build_backward (Build *build)
{
  CudnnGraph *graph = build->graph;
  CudnnTensor q = add_matrix (build, ROLE_Q, false), k = add_matrix (build, ROLE_K, true);
  CudnnTensor v = add_matrix (build, ROLE_V, true), o = add_matrix (build, ROLE_O, false);
  CudnnTensor d_o = add_matrix (build, ROLE_D_O, false), d_q = add_matrix (build, ROLE_D_Q, false);
  CudnnTensor d_k = add_matrix (build, ROLE_D_K, false), d_v = add_matrix (build, ROLE_D_V, false);
  CudnnTensor stats = add_float (build, 1, ROLE_STATS);
  CudnnTensor row_sums = add_float (build, 1, ROLE_ROW_SUMS);
  CudnnTensor d_q_sum = add_float (build, build->d, ROLE_D_Q_SUM);
  CudnnTensor scale = add_value (build, ROLE_SCALE), one = add_value (build, ROLE_ONE);
  CudnnTensor sum = add_virtual (build, 1), d_o_o = add_virtual (build, build->d);
  CudnnTensor d_p = add_virtual (build, build->s), p, d_s;

  cudnn_graph_pointwise (graph, CUDNN_MUL, CUDNN_FP32, d_o, o, 0, 0, d_o_o);
  cudnn_graph_reduce (graph, CUDNN_SUM, d_o_o, sum);
  cudnn_graph_pointwise (graph, CUDNN_MUL, CUDNN_FP32, sum, one, 0, 0, row_sums);

  p = binary (build, CUDNN_SUB, scores (build, q, k, scale), stats);
  p = unary (build, CUDNN_EXP, mask_causal (build, p));
  cudnn_graph_matmul (graph, transpose (build, p, true), d_o, d_v);

  cudnn_graph_matmul (graph, d_o, v, d_p);
  d_s = binary (build, CUDNN_MUL, binary (build, CUDNN_SUB, d_p, row_sums), p);
  d_s = binary (build, CUDNN_MUL, d_s, scale);
  cudnn_graph_matmul (graph, transpose (build, d_s, true), q, d_k);
  cudnn_graph_matmul (graph, d_s, transpose (build, k, false), d_q_sum);
  cudnn_graph_pointwise (graph, CUDNN_IDENTITY, CUDNN_FP32, d_q_sum, 0, 0, 0, d_q);
}

static bool
prepare (const Bench *bench, Cudnn *library, const AttentionShape *shape, bool backward,
         FusedAttention *self)
{
  Build build = {
    .self = self,
    .graph = self->graph,
    .type = strcmp (shape->dtype, "fp16") == 0 ? CUDNN_FP16 : CUDNN_BF16,
    .b = (int64_t) shape->batch,
    .h = (int64_t) shape->heads,
    .s = (int64_t) shape->seq,
    .d = (int64_t) shape->head_size,
  };

  self->scale = 1 / sqrtf ((float) shape->head_size);
  self->masked = cudnn_version (library) < 91000 ? -FLT_MAX : -INFINITY;
  self->one = 1;
  if (backward)
    {
      CUDA_TRY (cudaMalloc ((void **) &self->row_sums, attention_stats_bytes (shape)));
      CUDA_TRY (cudaMalloc ((void **) &self->d_q_sum, 2 * attention_bytes (shape)));
      self->clear_bytes = cudnn_version (library) < 90600 ? 2 * attention_bytes (shape) : 0;
      build_backward (&build);
    }
  else
    build_forward (&build);
  if (!cudnn_graph_plan (self->graph))
    return false;
  if (cudnn_graph_workspace (self->graph) > 0)
    CUDA_TRY (cudaMalloc (&self->workspace, cudnn_graph_workspace (self->graph)));
  return true;
}

FusedAttention *
fused_attention_new (const Bench *bench, Cudnn *library, const AttentionShape *shape, bool backward)
{
  FusedAttention *self = calloc (1, sizeof *self);

  if (self == NULL)
    {
      bench_error (bench, "calloc", "out of memory");
      return NULL;
    }
  self->bench = bench;
  self->graph = cudnn_graph_new (bench, library);
  if (self->graph == NULL || !prepare (bench, library, shape, backward, self))
    {
      fused_attention_free (self);
      self = NULL;
    }
  return self;
}

void
fused_attention_free (FusedAttention *self)
{
  if (self == NULL)
    return;
  cudnn_graph_free (self->graph);
  cudaFree (self->workspace);
  cudaFree (self->row_sums);
  cudaFree (self->d_q_sum);
  free (self);
}

bool
fused_attention_bind (FusedAttention *self, const AttentionBuffers *buffers)
{
  void *const all[N_ROLES] = {
    [ROLE_Q] = buffers->q,          [ROLE_K] = buffers->k,
    [ROLE_V] = buffers->v,          [ROLE_O] = buffers->o,
    [ROLE_STATS] = buffers->stats,  [ROLE_D_O] = buffers->d_o,
    [ROLE_D_Q] = buffers->d_q,      [ROLE_D_K] = buffers->d_k,
    [ROLE_D_V] = buffers->d_v,      [ROLE_ROW_SUMS] = self->row_sums,
    [ROLE_D_Q_SUM] = self->d_q_sum, [ROLE_SCALE] = &self->scale,
    [ROLE_MASKED] = &self->masked,  [ROLE_ONE] = &self->one,
  };
  void *pointers[N_ROLES];

  for (unsigned i = 0; i < self->n_bound; i++)
    pointers[i] = all[self->roles[i]];
  return cudnn_graph_bind (self->graph, self->n_bound, self->tensors, pointers, self->workspace);
}

bool
fused_attention_run (FusedAttention *self, unsigned set, cudaStream_t stream)
{
  const Bench *bench = self->bench;

  if (self->clear_bytes > 0)
    CUDA_TRY (cudaMemsetAsync (self->d_q_sum, 0, self->clear_bytes, stream));
  return cudnn_graph_run (self->graph, set, stream);
}

#endif
