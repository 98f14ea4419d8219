/*
 * A layer against a forward pass in double; its gradients against differences of that: derivatives
 * of the sum of the outputs times random factors, for some weights of every module and some inputs.
 */
#ifdef BENCH_CUDA

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check.h"
#include "bench/layer.h"

#define D       64ul
#define HEADS   2ul
#define HEAD    32ul /* D / HEADS */
#define FF      96ul
#define TOKENS  24ul
#define SEQS    2ul
#define ROWS    (TOKENS * SEQS)
#define WEIGHTS (2 * D + 4 * D * D + 3 * D * FF)
#define SAMPLES 24
#define BOUND   3e-2 /* bf16's rounding of all that is kept between kernels */
#define STEP    1e-5

static const LayerShape shape = { .d_model = D,
                                  .n_heads = HEADS,
                                  .d_ff = FF,
                                  .seq_len = TOKENS,
                                  .micro_batch = SEQS };

typedef struct
{
  double weights[WEIGHTS], input[ROWS * D], factors[ROWS * D];
  double output[ROWS * D], got[ROWS * D], gradient[WEIGHTS], input_gradient[ROWS * D];
  /* of one forward pass */
  double norm[ROWS * D], q[ROWS * D], k[ROWS * D], v[ROWS * D], context[ROWS * D];
  double residual[ROWS * D], gate[ROWS * FF], up[ROWS * FF];
} Values;

typedef struct
{
  char *weights, *saved, *work, *stream, *output, *gradient;
} Buffers;

/* ---- in double ------------------------------------------------------------------------------- */

static void
linear (const double *x, const double *weight, size_t in, size_t out, double *y)
{
  for (size_t row = 0; row < ROWS; row++)
    for (size_t o = 0; o < out; o++)
      {
        double sum = 0;

        for (size_t i = 0; i < in; i++)
          sum += x[row * in + i] * weight[o * in + i];
        y[row * out + o] = sum;
      }
}

static void
norm (const double *x, const double *weight, double *y)
{
  for (size_t row = 0; row < ROWS; row++)
    {
      double sum = 0;

      for (size_t i = 0; i < D; i++)
        sum += x[row * D + i] * x[row * D + i];
      for (size_t i = 0; i < D; i++)
        y[row * D + i] = x[row * D + i] * weight[i] / sqrt (sum / D + 1e-5);
    }
}

static void
rotate (double *x)
{
  for (size_t row = 0; row < ROWS; row++)
    for (size_t head = 0; head < HEADS; head++)
      for (size_t i = 0; i < HEAD / 2; i++)
        {
          size_t  token = row / SEQS;
          double  angle = (double) token * pow (10000, -2.0 * (double) i / HEAD);
          double *first = x + row * D + head * HEAD + i, *second = first + HEAD / 2;
          double  a = *first, b = *second;

          *first = a * cos (angle) - b * sin (angle);
          *second = b * cos (angle) + a * sin (angle);
        }
}

/* One query's part of the context. */
static void
attend (Values *x, size_t sequence, size_t head, size_t query)
{
  size_t column = head * HEAD;
  double p[TOKENS], sum = 0, *to = x->context + (query * SEQS + sequence) * D + column;

  memset (to, 0, HEAD * sizeof *to);
  for (size_t key = 0; key <= query; key++)
    {
      double score = 0;

      for (size_t i = column; i < column + HEAD; i++)
        score += x->q[(query * SEQS + sequence) * D + i] * x->k[(key * SEQS + sequence) * D + i];
      sum += p[key] = exp (score / sqrt (HEAD));
    }
  for (size_t key = 0; key <= query; key++)
    for (size_t i = 0; i < HEAD; i++)
      to[i] += p[key] / sum * x->v[(key * SEQS + sequence) * D + column + i];
}

static void
forward (Values *x, double *output)
{
  const double *w = x->weights;

  norm (x->input, w, x->norm);
  w += D;
  linear (x->norm, w, D, D, x->q);
  linear (x->norm, w + D * D, D, D, x->k);
  linear (x->norm, w + 2 * D * D, D, D, x->v);
  w += 3 * D * D;
  rotate (x->q);
  rotate (x->k);
  for (size_t sequence = 0; sequence < SEQS; sequence++)
    for (size_t head = 0; head < HEADS; head++)
      for (size_t query = 0; query < TOKENS; query++)
        attend (x, sequence, head, query);
  linear (x->context, w, D, D, x->residual);
  w += D * D;
  for (size_t i = 0; i < ROWS * D; i++)
    x->residual[i] += x->input[i];
  norm (x->residual, w, x->norm);
  w += D;
  linear (x->norm, w, D, FF, x->gate);
  linear (x->norm, w + D * FF, D, FF, x->up);
  for (size_t i = 0; i < ROWS * FF; i++)
    x->up[i] *= x->gate[i] / (1 + exp (-x->gate[i]));
  linear (x->up, w + 2 * D * FF, FF, D, output);
  for (size_t i = 0; i < ROWS * D; i++)
    output[i] += x->residual[i];
}

static double
loss (Values *x)
{
  double sum = 0;

  forward (x, x->got);
  for (size_t i = 0; i < ROWS * D; i++)
    sum += x->got[i] * x->factors[i];
  return sum;
}

static double
derivative (Values *x, double *variable)
{
  double kept = *variable, high, low;

  *variable = kept + STEP;
  high = loss (x);
  *variable = kept - STEP;
  low = loss (x);
  *variable = kept;
  return (high - low) / (2 * STEP);
}

/* ---- on the device --------------------------------------------------------------------------- */

static bool
run_layer (const Bench *bench, Layer *layer, const Buffers *at)
{
  bool     ran = true;
  uint64_t offset = 0;

  for (LayerModule module = 0; ran && module < LAYER_N_MODULES; module++)
    {
      ran = layer_forward (layer, bench, module, at->weights + 2 * offset, at->saved, at->work,
                           at->output);
      offset += layer_module_elements (&shape, module);
    }
  for (LayerModule module = LAYER_N_MODULES; ran && module > 0; module--)
    {
      offset -= layer_module_elements (&shape, module - 1);
      ran = layer_backward (layer, bench, module - 1, at->weights + 2 * offset, at->saved, at->work,
                            at->stream, at->gradient + 2 * offset);
    }
  if (ran)
    CUDA_TRY (cudaDeviceSynchronize ());
  return ran;
}

/*
 * Weights: of norms around 1, of products small enough that no row of the softmax is all in one
 * place. Rounded by cutting off, so that the device and the host have the same.
 */
static bool
put_weights (const Bench *bench, void *device, double *weights)
{
  uint16_t   *bits = malloc (WEIGHTS * sizeof *bits);
  uint64_t    seed = 3, second_norm = D + 4 * D * D;
  cudaError_t copied;

  if (bits == NULL)
    {
      bench_error (bench, "malloc", "out of memory");
      return false;
    }
  for (uint64_t i = 0; i < WEIGHTS; i++)
    {
      bool     is_norm = i < D || (i >= second_norm && i < second_norm + D);
      double   random = (double) (int64_t) bench_random (&seed) * 0x1p-63;
      float    value = (float) (is_norm ? 1 + 0.3 * random : 0.2 * random);
      uint32_t word;

      memcpy (&word, &value, sizeof word);
      word &= 0xffff0000;
      memcpy (&value, &word, sizeof value);
      bits[i] = (uint16_t) (word >> 16);
      weights[i] = (double) value;
    }
  copied = cudaMemcpy (device, bits, WEIGHTS * sizeof *bits, cudaMemcpyHostToDevice);
  free (bits);
  CUDA_TRY (copied);
  return true;
}

/* Operands first, then the passes, then all that they have made. */
static bool
run_and_read (const Bench *bench, const Buffers *at, Values *x)
{
  Layer *layer = NULL;
  bool   good = put_weights (bench, at->weights, x->weights)
              && cuda_fill_random (bench, at->saved, layer_stream_bytes (&shape), "bf16", 5)
              && cuda_fill_random (bench, at->stream, layer_stream_bytes (&shape), "bf16", 7)
              && check_read (bench, at->saved, "bf16", (size_t) ROWS * D, x->input)
              && check_read (bench, at->stream, "bf16", (size_t) ROWS * D, x->factors);

  if (good)
    layer = layer_open (bench, &shape, NULL);
  good = layer != NULL && run_layer (bench, layer, at)
         && check_read (bench, at->output, "bf16", (size_t) ROWS * D, x->output)
         && check_read (bench, at->stream, "bf16", (size_t) ROWS * D, x->input_gradient)
         && check_read (bench, at->gradient, "bf16", WEIGHTS, x->gradient);
  layer_close (layer);
  return good;
}

/* Some of N VARIABLES: the derivative in double against what the device GOT. */
static bool
compare_some (const Bench *bench, const char *what, Values *x, double *variables, const double *got,
              uint64_t n, uint64_t *seed)
{
  double want[SAMPLES], have[SAMPLES];

  for (unsigned i = 0; i < SAMPLES; i++)
    {
      uint64_t at = bench_random (seed) % n;

      want[i] = derivative (x, &variables[at]);
      have[i] = got[at];
    }
  return check_close (bench, what, want, have, SAMPLES, BOUND);
}

static bool
compare_all (const Bench *bench, Values *x)
{
  static const char *const names[LAYER_N_MODULES] = { "layer, gradient of the first norm",
                                                      "layer, gradient of q",
                                                      "layer, gradient of k",
                                                      "layer, gradient of v",
                                                      "layer, gradient of out",
                                                      "layer, gradient of the second norm",
                                                      "layer, gradient of gate",
                                                      "layer, gradient of up",
                                                      "layer, gradient of down" };
  uint64_t                 seed = 1, offset = 0;
  bool                     good;

  forward (x, x->got);
  good = check_close (bench, "layer, output", x->got, x->output, (size_t) ROWS * D, BOUND);
  for (LayerModule module = 0; module < LAYER_N_MODULES; module++)
    {
      uint64_t n = layer_module_elements (&shape, module);

      good = compare_some (bench, names[module], x, x->weights + offset, x->gradient + offset, n,
                           &seed)
             && good;
      offset += n;
    }
  return compare_some (bench, "layer, gradient of the input", x, x->input, x->input_gradient,
                       (uint64_t) ROWS * D, &seed)
         && good;
}

/* Parts of MEMORY, which begin on 256 bytes; its size where it is NULL. */
static size_t
lay_out (char *memory, Buffers *at)
{
  const struct
  {
    char **part;
    size_t bytes;
  } parts[] = {
    { &at->weights, 2 * WEIGHTS },
    { &at->saved, layer_saved_bytes (&shape) },
    { &at->work, layer_work_bytes (&shape) },
    { &at->stream, layer_stream_bytes (&shape) },
    { &at->output, layer_stream_bytes (&shape) },
    { &at->gradient, 2 * WEIGHTS },
  };
  size_t end = 0;

  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    {
      if (memory != NULL)
        *parts[i].part = memory + end;
      end += (parts[i].bytes + 255) / 256 * 256;
    }
  return end;
}

bool
check_layer (const Bench *bench)
{
  Values *values;
  Buffers at;
  char   *memory;
  int     device, major;
  bool    good;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&major, cudaDevAttrComputeCapabilityMajor, device));
  if (major < 8)
    return true;
  CUDA_TRY (cudaMalloc ((void **) &memory, lay_out (NULL, &at)));
  lay_out (memory, &at);
  values = malloc (sizeof *values);
  if (values == NULL)
    bench_error (bench, "malloc", "out of memory");
  good = values != NULL && run_and_read (bench, &at, values) && compare_all (bench, values);
  cudaFree (memory);
  free (values);
  return good;
}

#endif
