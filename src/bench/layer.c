#ifdef BENCH_CUDA

#include "bench/layer.h"

#include <math.h>
#include <stdlib.h>

#include "bench/gemm.h"
#include "bench/layer-kernels.h"

struct Layer
{
  LayerShape    shape;
  uint64_t      rows, head; /* T; elements of a head */
  cudaStream_t  stream;
  Gemm         *gemm;
  LayerKernels *kernels;
};

/* What layer_saved_bytes holds, in its order. */
typedef struct
{
  char *input, *norm1, *q, *k, *v, *probabilities, *context, *residual, *norm2, *gate, *up, *hidden;
  float *rms1, *rms2;
} Saved;

/* What layer_work_bytes holds: five of Td, two of Tf, one of P. Forward uses the first alone. */
typedef struct
{
  char *d[5], *f[2], *p;
} Work;

static uint64_t
rows_of (const LayerShape *shape)
{
  return (uint64_t) shape->seq_len * shape->micro_batch;
}

/* Bytes of a matrix of T rows by d_model, by d_ff, and of all scores. */
static size_t
wide_bytes (const LayerShape *shape)
{
  return 2 * rows_of (shape) * shape->d_model;
}

static size_t
hidden_bytes (const LayerShape *shape)
{
  return 2 * rows_of (shape) * shape->d_ff;
}

static size_t
score_bytes (const LayerShape *shape)
{
  return 2ul * shape->micro_batch * shape->n_heads * shape->seq_len * shape->seq_len;
}

uint64_t
layer_module_elements (const LayerShape *shape, LayerModule module)
{
  uint64_t d = shape->d_model;

  switch (module)
    {
    case LAYER_NORM1:
    case LAYER_NORM2:
      return d;
    case LAYER_GATE:
    case LAYER_UP:
    case LAYER_DOWN:
      return d * shape->d_ff;
    default:
      return d * d;
    }
}

uint64_t
layer_elements (const LayerShape *shape)
{
  uint64_t sum = 0;

  for (LayerModule module = 0; module < LAYER_N_MODULES; module++)
    sum += layer_module_elements (shape, module);
  return sum;
}

size_t
layer_stream_bytes (const LayerShape *shape)
{
  return wide_bytes (shape);
}

size_t
layer_saved_bytes (const LayerShape *shape)
{
  return 8 * wide_bytes (shape) + score_bytes (shape) + 3 * hidden_bytes (shape)
         + 2 * rows_of (shape) * sizeof (float);
}

size_t
layer_work_bytes (const LayerShape *shape)
{
  return 5 * wide_bytes (shape) + 2 * hidden_bytes (shape) + score_bytes (shape);
}

static char *
take (char **at, size_t bytes)
{
  char *here = *at;

  *at += bytes;
  return here;
}

static Saved
saved_of (const LayerShape *shape, const void *memory)
{
  size_t wide = wide_bytes (shape), hidden = hidden_bytes (shape);
  char  *at = (char *) memory;
  Saved  saved;

  saved.input = take (&at, wide);
  saved.norm1 = take (&at, wide);
  saved.q = take (&at, wide);
  saved.k = take (&at, wide);
  saved.v = take (&at, wide);
  saved.probabilities = take (&at, score_bytes (shape));
  saved.context = take (&at, wide);
  saved.residual = take (&at, wide);
  saved.norm2 = take (&at, wide);
  saved.gate = take (&at, hidden);
  saved.up = take (&at, hidden);
  saved.hidden = take (&at, hidden);
  saved.rms1 = (float *) (void *) take (&at, rows_of (shape) * sizeof (float));
  saved.rms2 = (float *) (void *) at;
  return saved;
}

static Work
work_of (const LayerShape *shape, void *memory)
{
  char *at = memory;
  Work  work;

  for (unsigned i = 0; i < 5; i++)
    work.d[i] = take (&at, wide_bytes (shape));
  for (unsigned i = 0; i < 2; i++)
    work.f[i] = take (&at, hidden_bytes (shape));
  work.p = at;
  return work;
}

static bool
check_shape (const Bench *bench, const LayerShape *shape)
{
  if (shape->d_model % (16 * shape->n_heads) == 0 && shape->d_model % 32 == 0
      && shape->d_ff % 8 == 0 && shape->seq_len % 8 == 0)
    return true;
  bench_error (bench, "model",
               "d_model must be a multiple of 32 and of 16 n_heads, d_ff and seq_len of 8; they "
               "are %u, %u heads, %u and %u",
               shape->d_model, shape->n_heads, shape->d_ff, shape->seq_len);
  return false;
}

Layer *
layer_open (const Bench *bench, const LayerShape *shape, cudaStream_t stream)
{
  const LayerRows rows = { (unsigned) rows_of (shape), shape->d_model, shape->n_heads,
                           shape->seq_len, shape->micro_batch };
  Layer          *self;

  if (!check_shape (bench, shape))
    return NULL;
  self = calloc (1, sizeof *self);
  if (self == NULL)
    {
      bench_error (bench, "calloc", "out of memory");
      return NULL;
    }
  self->shape = *shape;
  self->rows = rows_of (shape);
  self->head = shape->d_model / shape->n_heads;
  self->stream = stream;
  self->gemm = gemm_open (bench);
  if (self->gemm != NULL && !gemm_has_dtype (self->gemm, "bf16"))
    bench_error (bench, "model", "bf16 needs compute capability 8.0");
  else if (self->gemm != NULL)
    self->kernels = layer_kernels_open (bench, &rows, stream);
  if (self->kernels == NULL)
    {
      layer_close (self);
      self = NULL;
    }
  return self;
}

void
layer_close (Layer *self)
{
  if (self == NULL)
    return;
  layer_kernels_close (self->kernels);
  gemm_close (self->gemm);
  free (self);
}

static bool
product (Layer *self, const Bench *bench, GemmLayout layout, uint64_t m, uint64_t n, uint64_t k,
         const void *a, const void *b, void *c)
{
  const GemmShape shape = { layout, "bf16", m, n, k, 1 };

  return gemm_run (bench, self->gemm, self->stream, &shape, a, b, c, 0);
}

/* Y (T x OUT) = X (T x IN) times the transpose of WEIGHT (OUT x IN). */
static bool
linear (Layer *self, const Bench *bench, uint64_t in, uint64_t out, const void *x,
        const void *weight, void *y)
{
  return product (self, bench, GEMM_NT, self->rows, out, in, x, weight, y);
}

/* DX = DY WEIGHT and GRADIENT = the transpose of DY times X. */
static bool
linear_backward (Layer *self, const Bench *bench, uint64_t in, uint64_t out, const void *dy,
                 const void *x, const void *weight, void *dx, void *gradient)
{
  return product (self, bench, GEMM_NN, self->rows, in, out, dy, weight, dx)
         && product (self, bench, GEMM_TN, out, in, self->rows, dy, x, gradient);
}

/* How an operand of the products of all heads lies. */
typedef enum
{
  BY_SCORES, /* token x token, dense */
  BY_HEADS,  /* token x head, dense */
  BY_ROWS,   /* token x head, within rows of d_model */
} HeadLayout;

static void
head_strides (const Layer *self, HeadLayout layout, uint64_t *lead, uint64_t *stride)
{
  uint64_t seq = self->shape.seq_len;

  *lead = layout == BY_SCORES  ? seq
          : layout == BY_HEADS ? self->head
                               : (uint64_t) self->shape.micro_batch * self->shape.d_model;
  *stride = layout == BY_SCORES ? seq * seq : layout == BY_HEADS ? seq * self->head : self->head;
}

/* One of a product's operands: where it is, and how it lies. */
typedef struct
{
  void      *at;
  HeadLayout layout;
} Heads;

/*
 * The product of every head of every sequence; C is of scores (N and K: the tokens and a head) or
 * of heads.
 */
static bool
product_of_heads (Layer *self, const Bench *bench, GemmLayout layout, Heads a, Heads b, Heads c)
{
  uint64_t        seq = self->shape.seq_len;
  bool            scores = c.layout == BY_SCORES;
  const GemmShape shape = { .layout = layout,
                            .dtype = "bf16",
                            .m = seq,
                            .n = scores ? seq : self->head,
                            .k = scores ? self->head : seq,
                            .batch = (uint64_t) self->shape.micro_batch * self->shape.n_heads };
  GemmStrides     strides;

  head_strides (self, a.layout, &strides.lead_a, &strides.stride_a);
  head_strides (self, b.layout, &strides.lead_b, &strides.stride_b);
  head_strides (self, c.layout, &strides.lead_c, &strides.stride_c);
  return gemm_run_strided (bench, self->gemm, self->stream, &shape, &strides, a.at, b.at, c.at, 0);
}

static float
score_scale (const Layer *self)
{
  return 1 / sqrtf ((float) self->head);
}

/* From q, k and v to the context. */
static bool
attend (Layer *self, const Bench *bench, const Saved *saved, const Work *work)
{
  Heads q = { saved->q, BY_ROWS }, k = { saved->k, BY_ROWS }, v = { saved->v, BY_ROWS };
  Heads p = { saved->probabilities, BY_SCORES }, context = { work->d[0], BY_HEADS };

  return layer_rotary (self->kernels, bench, saved->q, saved->k, false)
         && product_of_heads (self, bench, GEMM_NT, q, k, p)
         && layer_softmax (self->kernels, bench, saved->probabilities, score_scale (self))
         && product_of_heads (self, bench, GEMM_NN, p, v, context)
         && layer_heads_to_rows (self->kernels, bench, work->d[0], saved->context);
}

/* From the context's gradient in work's d[0] to those of q (d[3]), k (d[4]) and v (d[2]). */
static bool
attend_backward (Layer *self, const Bench *bench, const Saved *saved, const Work *work)
{
  Heads q = { saved->q, BY_ROWS }, k = { saved->k, BY_ROWS }, v = { saved->v, BY_ROWS };
  Heads p = { saved->probabilities, BY_SCORES }, d_p = { work->p, BY_SCORES };
  Heads d_context = { work->d[1], BY_HEADS }, d_v = { work->d[2], BY_ROWS };
  Heads d_q = { work->d[3], BY_ROWS }, d_k = { work->d[4], BY_ROWS };

  return layer_rows_to_heads (self->kernels, bench, work->d[0], work->d[1])
         && product_of_heads (self, bench, GEMM_NT, d_context, v, d_p)
         && product_of_heads (self, bench, GEMM_TN, p, d_context, d_v)
         && layer_softmax_backward (self->kernels, bench, saved->probabilities, work->p,
                                    score_scale (self))
         && product_of_heads (self, bench, GEMM_NN, d_p, k, d_q)
         && product_of_heads (self, bench, GEMM_TN, d_p, q, d_k)
         && layer_rotary (self->kernels, bench, work->d[3], work->d[4], true);
}

bool
layer_forward (Layer *self, const Bench *bench, LayerModule module, const void *weight,
               void *saved_memory, void *work_memory, void *output)
{
  const Saved saved = saved_of (&self->shape, saved_memory);
  const Work  work = work_of (&self->shape, work_memory);
  uint64_t    d = self->shape.d_model, f = self->shape.d_ff;

  switch (module)
    {
    case LAYER_NORM1:
      return layer_norm (self->kernels, bench, saved.input, weight, saved.norm1, saved.rms1);
    case LAYER_Q:
      return linear (self, bench, d, d, saved.norm1, weight, saved.q);
    case LAYER_K:
      return linear (self, bench, d, d, saved.norm1, weight, saved.k);
    case LAYER_V:
      return linear (self, bench, d, d, saved.norm1, weight, saved.v)
             && attend (self, bench, &saved, &work);
    case LAYER_OUT:
      return linear (self, bench, d, d, saved.context, weight, work.d[0]);
    case LAYER_NORM2:
      return layer_add_norm (self->kernels, bench, saved.input, work.d[0], weight, saved.residual,
                             saved.norm2, saved.rms2);
    case LAYER_GATE:
      return linear (self, bench, d, f, saved.norm2, weight, saved.gate);
    case LAYER_UP:
      return linear (self, bench, d, f, saved.norm2, weight, saved.up)
             && layer_silu (self->kernels, bench, self->rows * f, saved.gate, saved.up,
                            saved.hidden);
    case LAYER_DOWN:
      return linear (self, bench, f, d, saved.hidden, weight, work.d[0])
             && layer_add (self->kernels, bench, self->rows * d, saved.residual, work.d[0], output);
    default:
      return false;
    }
}

/* Gradients of a norm's result lie in d[0], d[1]; what was normed joins the stream's gradient. */
static bool
norm_backward (Layer *self, const Bench *bench, const void *x, const void *weight, const float *rms,
               const Work *work, void *stream, void *gradient)
{
  return layer_norm_backward (self->kernels, bench, work->d[0], work->d[1], x, weight, rms,
                              work->d[1])
         && layer_norm_weight (self->kernels, bench, work->d[0], x, rms, gradient)
         && layer_add (self->kernels, bench, self->rows * self->shape.d_model, stream, work->d[1],
                       stream);
}

bool
layer_backward (Layer *self, const Bench *bench, LayerModule module, const void *weight,
                const void *saved_memory, void *work_memory, void *stream, void *gradient)
{
  const Saved saved = saved_of (&self->shape, saved_memory);
  const Work  work = work_of (&self->shape, work_memory);
  uint64_t    d = self->shape.d_model, f = self->shape.d_ff;

  switch (module)
    {
    case LAYER_DOWN:
      return linear_backward (self, bench, f, d, stream, saved.hidden, weight, work.f[0], gradient)
             && layer_silu_backward (self->kernels, bench, self->rows * f, saved.gate, saved.up,
                                     work.f[0], work.f[1]);
    case LAYER_UP:
      return linear_backward (self, bench, d, f, work.f[1], saved.norm2, weight, work.d[0],
                              gradient);
    case LAYER_GATE:
      return linear_backward (self, bench, d, f, work.f[0], saved.norm2, weight, work.d[1],
                              gradient);
    case LAYER_NORM2:
      return norm_backward (self, bench, saved.residual, weight, saved.rms2, &work, stream,
                            gradient);
    case LAYER_OUT:
      return linear_backward (self, bench, d, d, stream, saved.context, weight, work.d[0], gradient)
             && attend_backward (self, bench, &saved, &work);
    case LAYER_V:
      return linear_backward (self, bench, d, d, work.d[2], saved.norm1, weight, work.d[0],
                              gradient);
    case LAYER_K:
      return linear_backward (self, bench, d, d, work.d[4], saved.norm1, weight, work.d[1],
                              gradient)
             && layer_add (self->kernels, bench, self->rows * d, work.d[0], work.d[1], work.d[0]);
    case LAYER_Q:
      return linear_backward (self, bench, d, d, work.d[3], saved.norm1, weight, work.d[1],
                              gradient);
    case LAYER_NORM1:
      return norm_backward (self, bench, saved.input, weight, saved.rms1, &work, stream, gradient);
    default:
      return false;
    }
}

#endif
