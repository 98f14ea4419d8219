/*
 * Kernels that stream through memory as an optimizer does. BYTES is what they read and write, for n
 * elements:
 *
 *   add    c = a + b      fp32   12 n   (4 + 4 read, 4 written)
 *   scale  b = s a        fp32    8 n   (4 read, 4 written)
 *   cast   b = bf16 (a)   bf16    6 n   (4 read, 2 written)
 *   adam   AdamW: fp32 gradient read (4), fp32 parameter and two moments read and written (24),
 *          bf16 copy of the
 *          parameter written (2)   fp32   30 n
 *
 * Each thread handles four elements with 16-byte accesses. Cases smaller than the L2 cache run from
 * it: the same buffers are used by every call.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check.h"
#include "bench/lanes.h"
#include "bench/room.h"

#define BLOCK 256

static const char source[] = CUDA_BF16_SOURCE
    "extern \"C\" __global__ void add (float4 *c, const float4 *a, const float4 *b, u64 n)\n"
    "{\n"
    "  u64 i = INDEX;\n"
    "  if (i >= n)\n"
    "    return;\n"
    "  float4 x = a[i], y = b[i];\n"
    "  c[i] = make_float4 (x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);\n"
    "}\n"
    "extern \"C\" __global__ void scale (float4 *b, const float4 *a, float s, u64 n)\n"
    "{\n"
    "  u64 i = INDEX;\n"
    "  if (i >= n)\n"
    "    return;\n"
    "  float4 x = a[i];\n"
    "  b[i] = make_float4 (s * x.x, s * x.y, s * x.z, s * x.w);\n"
    "}\n"
    "extern \"C\" __global__ void cast (uint2 *b, const float4 *a, u64 n)\n"
    "{\n"
    "  u64 i = INDEX;\n"
    "  if (i < n)\n"
    "    b[i] = bf16_4 (a[i]);\n"
    "}\n"
    "struct Adam\n"
    "{\n"
    "  float rate, beta1, beta2, epsilon, decay, correct1, correct2;\n"
    "};\n"
    "__device__ void adam_1 (float &p, float &m, float &v, float g, const Adam &o)\n"
    "{\n"
    "  m = o.beta1 * m + (1 - o.beta1) * g;\n"
    "  v = o.beta2 * v + (1 - o.beta2) * g * g;\n"
    "  p -= o.rate * o.decay * p;\n"
    "  p -= o.rate * (m * o.correct1) / (sqrtf (v * o.correct2) + o.epsilon);\n"
    "}\n"
    "extern \"C\" __global__ void adam (float4 *p, float4 *m, float4 *v, const float4 *g, "
    "uint2 *copy,\n"
    "                                   Adam o, u64 n)\n"
    "{\n"
    "  u64 i = INDEX;\n"
    "  if (i >= n)\n"
    "    return;\n"
    "  float4 pi = p[i], mi = m[i], vi = v[i], gi = g[i];\n"
    "  adam_1 (pi.x, mi.x, vi.x, gi.x, o);\n"
    "  adam_1 (pi.y, mi.y, vi.y, gi.y, o);\n"
    "  adam_1 (pi.z, mi.z, vi.z, gi.z, o);\n"
    "  adam_1 (pi.w, mi.w, vi.w, gi.w, o);\n"
    "  p[i] = pi;\n"
    "  m[i] = mi;\n"
    "  v[i] = vi;\n"
    "  copy[i] = bf16_4 (pi);\n"
    "}\n";

typedef struct
{
  float rate, beta1, beta2, epsilon, decay, correct1, correct2;
} Adam;

/* Parameters, moments and gradients of the optimizer; the other kernels use the same arrays. */
enum
{
  PARAMETER,
  GRADIENT,
  MOMENT1,
  MOMENT2,
  COPY,
  N_ARRAYS
};

typedef struct
{
  void              *array[N_ARRAYS];
  unsigned long long quads; /* of elements in this case */
  CudaModule        *module;
  cudaKernel_t       kernel; /* of this case */
  Lanes              lanes;
} Stream;

static bool
launch (const Bench *bench, Stream *self, void **args, cudaStream_t stream)
{
  unsigned grid = (unsigned) ((self->quads + BLOCK - 1) / BLOCK);

  return cuda_launch (bench, self->kernel, grid, BLOCK, args, stream);
}

static bool
add (const Bench *bench, cudaStream_t stream, void *user)
{
  Stream *self = user;
  void   *args[] = { &self->array[MOMENT1], &self->array[PARAMETER], &self->array[GRADIENT],
                     &self->quads };

  return launch (bench, self, args, stream);
}

static bool
scale (const Bench *bench, cudaStream_t stream, void *user)
{
  Stream *self = user;
  float   s = 0.5f;
  void   *args[] = { &self->array[MOMENT1], &self->array[GRADIENT], &s, &self->quads };

  return launch (bench, self, args, stream);
}

static bool
cast (const Bench *bench, cudaStream_t stream, void *user)
{
  Stream *self = user;
  void   *args[] = { &self->array[COPY], &self->array[PARAMETER], &self->quads };

  return launch (bench, self, args, stream);
}

static bool
adam (const Bench *bench, cudaStream_t stream, void *user)
{
  Stream *self = user;
  Adam    adam = { .rate = 1e-4f,
                   .beta1 = 0.9f,
                   .beta2 = 0.95f,
                   .epsilon = 1e-8f,
                   .decay = 0.1f,
                   .correct1 = 10.0f, /* of the first step: 1 / (1 - beta) */
                   .correct2 = 20.0f };
  void   *args[] = { &self->array[PARAMETER],
                     &self->array[MOMENT1],
                     &self->array[MOMENT2],
                     &self->array[GRADIENT],
                     &self->array[COPY],
                     &adam,
                     &self->quads };

  return launch (bench, self, args, stream);
}

static const struct
{
  const char *name, *dtype;
  CudaWork    work;
  unsigned    bytes; /* moved an element */
} cases[] = {
  { "add", "fp32", add, 12 },
  { "scale", "fp32", scale, 8 },
  { "cast", "bf16", cast, 6 },
  { "adam", "fp32", adam, 30 },
};

static bool
open_stream (const Bench *bench, Stream *self, uint64_t elements)
{
  if (!lanes_open (bench, &self->lanes))
    return false;
  self->module = cuda_module_open (bench, source);
  if (self->module == NULL)
    return false;
  for (unsigned i = 0; i < N_ARRAYS; i++)
    CUDA_TRY (cudaMalloc (&self->array[i], elements * (i == COPY ? 2 : 4)));
  return cuda_fill_random (bench, self->array[PARAMETER], 4 * elements, "fp32", 1)
         && cuda_fill_random (bench, self->array[GRADIENT], 4 * elements, "fp32", 2);
}

static void
close_stream (Stream *self)
{
  lanes_close (&self->lanes);
  if (self->module != NULL)
    cuda_module_close (self->module);
  for (unsigned i = 0; i < N_ARRAYS; i++)
    if (self->array[i] != NULL)
      cudaFree (self->array[i]);
}

static bool
measure (const Bench *bench, Stream *self, unsigned index, uint64_t elements)
{
  Result result = { .benchmark = bench->name,
                    .variant = cases[index].name,
                    .dtype = cases[index].dtype,
                    .bytes = elements * cases[index].bytes };

  self->quads = elements / 4;
  self->kernel = cuda_module_kernel (bench, self->module, cases[index].name);
  if (self->kernel == NULL)
    return false;
  /* The moments start at zero: the second one must not be negative. */
  CUDA_TRY (cudaMemset (self->array[MOMENT1], 0, 4 * elements));
  CUDA_TRY (cudaMemset (self->array[MOMENT2], 0, 4 * elements));
  CUDA_TRY (cudaDeviceSynchronize ());
  return lanes_time (bench, &self->lanes, cases[index].work, NULL, self, 1, &result)
         && results_add (bench->results, &result);
}

static bool
measure_all (const Bench *bench, Stream *self, const uint64_t *sizes, unsigned n)
{
  if (!open_stream (bench, self, sizes[n - 1] / 4))
    return false;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
    for (unsigned k = 0; k < n; k++)
      if (!measure (bench, self, i, sizes[k] / 4))
        return false;
  return true;
}

static bool
run (Bench *bench)
{
  uint64_t sizes[BENCH_MAX_LIST], room;
  unsigned n;
  Stream   self = { .module = NULL };
  bool     ok;

  if (!room_device (bench, &room))
    return false;
  /* Sizes are those of one fp32 array: four of them and a half. */
  room_sizes (bench, 1u << 20, 1u << 30, 4, 16, room / 9 * 2, sizes, &n);
  ok = n == 0 || measure_all (bench, &self, sizes, n);
  close_stream (&self);
  return ok;
}

/* ---- check ----------------------------------------------------------------------------------- */

#define N_CHECKED ((size_t) 4012) /* no multiple of what a block handles */

typedef struct
{
  double parameter[N_CHECKED], gradient[N_CHECKED], want[N_CHECKED], got[N_CHECKED];
} Values;

/* Runs case INDEX and compares array OUT, of DTYPE, with what is wanted. */
static bool
check_case (const Bench *bench, Stream *self, unsigned index, unsigned out, const char *dtype,
            double bound, Values *values)
{
  cudaStream_t stream = self->lanes.stream[0];
  char         what[64];

  snprintf (what, sizeof what, "kernel %s", cases[index].name);
  self->kernel = cuda_module_kernel (bench, self->module, cases[index].name);
  if (self->kernel == NULL || !cases[index].work (bench, stream, self))
    return false;
  CUDA_TRY (cudaStreamSynchronize (stream));
  return check_read (bench, self->array[out], dtype, N_CHECKED, values->got)
         && check_close (bench, what, values->want, values->got, N_CHECKED, bound);
}

/*
 * The first step, from moments of zero: corrected for their start they are the gradient and its
 * square.
 */
static bool
check_adam (const Bench *bench, Stream *self, Values *v)
{
  static const struct
  {
    const char *what, *dtype;
    unsigned    array;
    double      bound;
  } results[] = {
    { "kernel adam, first moment", "fp32", MOMENT1, 1e-6 },
    { "kernel adam, second moment", "fp32", MOMENT2, 1e-6 },
    { "kernel adam, bf16 copy", "bf16", COPY, 5e-3 },
  };
  bool good;

  CUDA_TRY (cudaMemset (self->array[MOMENT1], 0, 4 * N_CHECKED));
  CUDA_TRY (cudaMemset (self->array[MOMENT2], 0, 4 * N_CHECKED));
  CUDA_TRY (cudaMemset (self->array[COPY], 0, 2 * N_CHECKED));
  CUDA_TRY (cudaDeviceSynchronize ());
  for (size_t i = 0; i < N_CHECKED; i++)
    v->want[i] =
        v->parameter[i] * (1 - 1e-4 * 0.1) - 1e-4 * v->gradient[i] / (fabs (v->gradient[i]) + 1e-8);
  good = check_case (bench, self, 3, PARAMETER, "fp32", 1e-6, v);
  for (unsigned k = 0; k < sizeof results / sizeof results[0]; k++)
    {
      for (size_t i = 0; i < N_CHECKED && k < 2; i++)
        v->want[i] = k == 0 ? 0.1 * v->gradient[i] : 0.05 * v->gradient[i] * v->gradient[i];
      /* The copy is one of the parameters as the device has them now. */
      if (k == 2 && !check_read (bench, self->array[PARAMETER], "fp32", N_CHECKED, v->want))
        return false;
      if (!check_read (bench, self->array[results[k].array], results[k].dtype, N_CHECKED, v->got))
        return false;
      good = check_close (bench, results[k].what, v->want, v->got, N_CHECKED, results[k].bound)
             && good;
    }
  return good;
}

static bool
check_all (const Bench *bench, Stream *self, Values *v)
{
  bool good = true;

  if (!open_stream (bench, self, N_CHECKED)
      || !check_read (bench, self->array[PARAMETER], "fp32", N_CHECKED, v->parameter)
      || !check_read (bench, self->array[GRADIENT], "fp32", N_CHECKED, v->gradient))
    return false;
  CUDA_TRY (cudaMemset (self->array[MOMENT1], 0, 4 * N_CHECKED));
  CUDA_TRY (cudaMemset (self->array[COPY], 0, 2 * N_CHECKED));
  CUDA_TRY (cudaDeviceSynchronize ());
  self->quads = N_CHECKED / 4;
  for (size_t i = 0; i < N_CHECKED; i++)
    v->want[i] = v->parameter[i] + v->gradient[i];
  good = check_case (bench, self, 0, MOMENT1, "fp32", 1e-6, v) && good;
  for (size_t i = 0; i < N_CHECKED; i++)
    v->want[i] = 0.5 * v->gradient[i];
  good = check_case (bench, self, 1, MOMENT1, "fp32", 1e-6, v) && good;
  memcpy (v->want, v->parameter, sizeof v->want);
  good = check_case (bench, self, 2, COPY, "bf16", 5e-3, v) && good;
  return check_adam (bench, self, v) && good;
}

bool
check_streams (const Bench *bench)
{
  Values *values = malloc (sizeof *values);
  Stream  self = { .module = NULL };
  bool    good;

  if (values == NULL)
    {
      bench_error (bench, "malloc", "out of memory");
      return false;
    }
  good = check_all (bench, &self, values);
  close_stream (&self);
  free (values);
  return good;
}

const Benchmark benchmark_stream_kernel = {
  .name = "stream_kernel",
  .title = "kernels of an optimizer: add, scale, cast to bf16, AdamW",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
