#ifdef BENCH_CUDA

#include "bench/layer-kernels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 256 /* of a block; `threads` in the kernels */

/* Columns of a block of norm_weight. */
#define WEIGHT_COLUMNS 32

/*
 * Eight values of a matrix are one 16-byte access. A row belongs to one block; its second reading
 * comes from the caches. NVRTC finds no cuda_bf16.h without a path to the toolkit, so the two
 * conversions are written out.
 */
static const char basics[] =
    "typedef unsigned long long u64;\n"
    "const unsigned threads = 256;\n"
    "struct Eight { float v[8]; };\n"
    "__device__ float low (unsigned two) { return __uint_as_float (two << 16); }\n"
    "__device__ float high (unsigned two) { return __uint_as_float (two & 0xffff0000u); }\n"
    "__device__ unsigned both (float a, float b)\n"
    "{\n"
    "  unsigned two;\n"
    "  asm (\"cvt.rn.bf16x2.f32 %0, %1, %2;\" : \"=r\"(two) : \"f\"(b), \"f\"(a));\n"
    "  return two;\n"
    "}\n"
    "__device__ Eight get (const uint4 *from, u64 i)\n"
    "{\n"
    "  uint4 x = from[i];\n"
    "  return { { low (x.x), high (x.x), low (x.y), high (x.y), low (x.z), high (x.z), low (x.w),\n"
    "             high (x.w) } };\n"
    "}\n"
    "__device__ void put (uint4 *to, u64 i, const Eight &e)\n"
    "{\n"
    "  uint4 x;\n"
    "  x.x = both (e.v[0], e.v[1]);\n"
    "  x.y = both (e.v[2], e.v[3]);\n"
    "  x.z = both (e.v[4], e.v[5]);\n"
    "  x.w = both (e.v[6], e.v[7]);\n"
    "  to[i] = x;\n"
    "}\n"
    /* Over a block; every thread gets it. */
    "__device__ float total (float x)\n"
    "{\n"
    "  __shared__ float parts[32];\n"
    "  for (int step = 16; step > 0; step /= 2)\n"
    "    x += __shfl_xor_sync (0xffffffffu, x, step);\n"
    "  __syncthreads ();\n"
    "  if (threadIdx.x % 32 == 0)\n"
    "    parts[threadIdx.x / 32] = x;\n"
    "  __syncthreads ();\n"
    "  x = 0;\n"
    "  for (unsigned i = 0; i < threads / 32; i++)\n"
    "    x += parts[i];\n"
    "  return x;\n"
    "}\n"
    "__device__ float largest (float x)\n"
    "{\n"
    "  __shared__ float parts[32];\n"
    "  for (int step = 16; step > 0; step /= 2)\n"
    "    x = fmaxf (x, __shfl_xor_sync (0xffffffffu, x, step));\n"
    "  __syncthreads ();\n"
    "  if (threadIdx.x % 32 == 0)\n"
    "    parts[threadIdx.x / 32] = x;\n"
    "  __syncthreads ();\n"
    "  x = parts[0];\n"
    "  for (unsigned i = 1; i < threads / 32; i++)\n"
    "    x = fmaxf (x, parts[i]);\n"
    "  return x;\n"
    "}\n";

/* N: columns / 8. */
static const char norms[] =
    "extern \"C\" __global__ void norm_forward (const uint4 *x, const uint4 *weight, uint4 *y, "
    "float *rms,\n"
    "                                 unsigned n)\n"
    "{\n"
    "  u64 row = (u64) blockIdx.x * n;\n"
    "  float sum = 0, scale;\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (x, row + i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        sum += e.v[j] * e.v[j];\n"
    "    }\n"
    "  scale = rsqrtf (total (sum) / (8 * n) + 1e-5f);\n"
    "  if (threadIdx.x == 0)\n"
    "    rms[blockIdx.x] = scale;\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (x, row + i), w = get (weight, i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        e.v[j] *= scale * w.v[j];\n"
    "      put (y, row + i, e);\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void add_norm (const uint4 *a, const uint4 *b, const uint4 *weight,\n"
    "                                     uint4 *sums, uint4 *y, float *rms, unsigned n)\n"
    "{\n"
    "  u64 row = (u64) blockIdx.x * n;\n"
    "  float sum = 0, scale;\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (a, row + i), f = get (b, row + i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        {\n"
    "          e.v[j] += f.v[j];\n"
    "          sum += e.v[j] * e.v[j];\n"
    "        }\n"
    "      put (sums, row + i, e);\n"
    "    }\n"
    "  scale = rsqrtf (total (sum) / (8 * n) + 1e-5f);\n"
    "  if (threadIdx.x == 0)\n"
    "    rms[blockIdx.x] = scale;\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (sums, row + i), w = get (weight, i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        e.v[j] *= scale * w.v[j];\n"
    "      put (y, row + i, e);\n"
    "    }\n"
    "}\n"
    /* dx = (w dy - x' mean (w dy x')) / rms with x' = x / rms */
    "extern \"C\" __global__ void norm_backward (uint4 *dy, const uint4 *other, const uint4 *x,\n"
    "                                          const uint4 *weight, const float *rms, uint4 *dx,\n"
    "                                          unsigned n)\n"
    "{\n"
    "  u64 row = (u64) blockIdx.x * n;\n"
    "  float scale = rms[blockIdx.x], sum = 0, mean;\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (dy, row + i), o = get (other, row + i), r = get (x, row + i);\n"
    "      Eight w = get (weight, i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        {\n"
    "          e.v[j] += o.v[j];\n"
    "          sum += e.v[j] * w.v[j] * r.v[j] * scale;\n"
    "        }\n"
    "      put (dy, row + i, e);\n"
    "    }\n"
    "  mean = total (sum) / (8 * n);\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (dy, row + i), r = get (x, row + i), w = get (weight, i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        e.v[j] = scale * (w.v[j] * e.v[j] - r.v[j] * scale * mean);\n"
    "      put (dx, row + i, e);\n"
    "    }\n"
    "}\n"
    /*
     * A block has 32 columns, two a thread, over all rows: 16 rows at a time, then the threads'
     * sums.
     */
    "extern \"C\" __global__ void norm_weight (const unsigned *dy, const unsigned *x, "
    "const float *rms,\n"
    "                                        unsigned *gradient, unsigned rows, unsigned pairs)\n"
    "{\n"
    "  __shared__ float2 parts[threads];\n"
    "  unsigned column = blockIdx.x * 16 + threadIdx.x % 16;\n"
    "  float2 sum = { 0, 0 };\n"
    "#pragma unroll 8\n"
    "  for (unsigned r = threadIdx.x / 16; r < rows; r += threads / 16)\n"
    "    {\n"
    "      unsigned a = dy[(u64) r * pairs + column], b = x[(u64) r * pairs + column];\n"
    "      float scale = rms[r];\n"
    "      sum.x += low (a) * low (b) * scale;\n"
    "      sum.y += high (a) * high (b) * scale;\n"
    "    }\n"
    "  parts[threadIdx.x] = sum;\n"
    "  __syncthreads ();\n"
    "  if (threadIdx.x >= 16)\n"
    "    return;\n"
    "  for (unsigned i = threadIdx.x + 16; i < threads; i += 16)\n"
    "    {\n"
    "      sum.x += parts[i].x;\n"
    "      sum.y += parts[i].y;\n"
    "    }\n"
    "  gradient[column] = both (sum.x, sum.y);\n"
    "}\n";

static const char elements[] =
    "extern \"C\" __global__ void add (const uint4 *a, const uint4 *b, uint4 *y, u64 n)\n"
    "{\n"
    "  u64 i = (u64) blockIdx.x * threads + threadIdx.x;\n"
    "  if (i >= n)\n"
    "    return;\n"
    "  Eight e = get (a, i), f = get (b, i);\n"
    "  for (int j = 0; j < 8; j++)\n"
    "    e.v[j] += f.v[j];\n"
    "  put (y, i, e);\n"
    "}\n"
    "__device__ float sigmoid (float x) { return 1 / (1 + __expf (-x)); }\n"
    "extern \"C\" __global__ void silu (const uint4 *gate, const uint4 *up, uint4 *hidden, u64 n)\n"
    "{\n"
    "  u64 i = (u64) blockIdx.x * threads + threadIdx.x;\n"
    "  if (i >= n)\n"
    "    return;\n"
    "  Eight g = get (gate, i), u = get (up, i);\n"
    "  for (int j = 0; j < 8; j++)\n"
    "    u.v[j] *= g.v[j] * sigmoid (g.v[j]);\n"
    "  put (hidden, i, u);\n"
    "}\n"
    "extern \"C\" __global__ void silu_backward (const uint4 *gate, const uint4 *up, "
    "uint4 *d_hidden,\n"
    "                                          uint4 *d_up, u64 n)\n"
    "{\n"
    "  u64 i = (u64) blockIdx.x * threads + threadIdx.x;\n"
    "  if (i >= n)\n"
    "    return;\n"
    "  Eight g = get (gate, i), u = get (up, i), h = get (d_hidden, i), d;\n"
    "  for (int j = 0; j < 8; j++)\n"
    "    {\n"
    "      float s = sigmoid (g.v[j]);\n"
    "      d.v[j] = h.v[j] * g.v[j] * s;\n"
    "      h.v[j] *= u.v[j] * s * (1 + g.v[j] * (1 - s));\n"
    "    }\n"
    "  put (d_hidden, i, h);\n"
    "  put (d_up, i, d);\n"
    "}\n"
    /*
     * TABLE: (position, pair) cosine and sine. A thread turns eight pairs of one head, an element
     * of its first half with one of the second. EIGHTHS: d / 8; HALF: of a head, in eights; the
     * second half of the grid's threads has K.
     */
    "extern \"C\" __global__ void rotary (uint4 *q, uint4 *k, const float2 *table, u64 n,\n"
    "                                   unsigned eighths, unsigned half, unsigned micro_batch,\n"
    "                                   float direction)\n"
    "{\n"
    "  u64 i = (u64) blockIdx.x * threads + threadIdx.x;\n"
    "  if (i >= 2 * n)\n"
    "    return;\n"
    "  uint4 *x = i < n ? q : k;\n"
    "  i = i < n ? i : i - n;\n"
    "  unsigned pairs = eighths / 2, row = i / pairs, in_row = i % pairs;\n"
    "  unsigned head = in_row / half, pair = in_row % half;\n"
    "  u64 first = (u64) row * eighths + head * 2 * half + pair, second = first + half;\n"
    "  const float2 *angles = table + ((u64) (row / micro_batch) * half + pair) * 8;\n"
    "  Eight a = get (x, first), b = get (x, second);\n"
    "  for (int j = 0; j < 8; j++)\n"
    "    {\n"
    "      float c = angles[j].x, s = direction * angles[j].y, u = a.v[j], v = b.v[j];\n"
    "      a.v[j] = u * c - v * s;\n"
    "      b.v[j] = v * c + u * s;\n"
    "    }\n"
    "  put (x, first, a);\n"
    "  put (x, second, b);\n"
    "}\n";

/* Row = blockIdx.x, query = row % (8 n); maximum and sum in one reading. */
static const char attention[] =
    "extern \"C\" __global__ void softmax (uint4 *scores, float scale, unsigned n)\n"
    "{\n"
    "  u64 row = (u64) blockIdx.x * n;\n"
    "  unsigned query = blockIdx.x % (8 * n);\n"
    "  float max = -1e30f, sum = 0, all;\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (scores, row + i);\n"
    "      float here = max;\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        if (8 * i + j <= query)\n"
    "          here = fmaxf (here, e.v[j] * scale);\n"
    "      sum *= __expf (max - here);\n"
    "      max = here;\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        if (8 * i + j <= query)\n"
    "          sum += __expf (e.v[j] * scale - max);\n"
    "    }\n"
    "  all = largest (max);\n"
    "  sum = 1 / total (sum * __expf (max - all));\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (scores, row + i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        e.v[j] = 8 * i + j <= query ? __expf (e.v[j] * scale - all) * sum : 0;\n"
    "      put (scores, row + i, e);\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void softmax_backward (const uint4 *p, uint4 *dp, float scale, "
    "unsigned n)\n"
    "{\n"
    "  u64 row = (u64) blockIdx.x * n;\n"
    "  float sum = 0;\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (p, row + i), d = get (dp, row + i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        sum += e.v[j] * d.v[j];\n"
    "    }\n"
    "  sum = total (sum);\n"
    "  for (unsigned i = threadIdx.x; i < n; i += threads)\n"
    "    {\n"
    "      Eight e = get (p, row + i), d = get (dp, row + i);\n"
    "      for (int j = 0; j < 8; j++)\n"
    "        d.v[j] = scale * e.v[j] * (d.v[j] - sum);\n"
    "      put (dp, row + i, d);\n"
    "    }\n"
    "}\n"
    /* Element of HEADS by thread; HEAD: d / n_heads / 8. */
    "__device__ u64 in_rows (u64 i, unsigned seq_len, unsigned micro_batch, unsigned n_heads,\n"
    "                        unsigned head)\n"
    "{\n"
    "  unsigned at = i % head, token = i / head % seq_len, which = i / head / seq_len;\n"
    "  unsigned sequence = which / n_heads;\n"
    "  return (((u64) token * micro_batch + sequence) * n_heads + which % n_heads) * head + at;\n"
    "}\n"
    "extern \"C\" __global__ void heads_to_rows (const uint4 *heads, uint4 *rows, u64 n, "
    "unsigned seq_len,\n"
    "                                          unsigned micro_batch, unsigned n_heads, unsigned "
    "head)\n"
    "{\n"
    "  u64 i = (u64) blockIdx.x * threads + threadIdx.x;\n"
    "  if (i < n)\n"
    "    rows[in_rows (i, seq_len, micro_batch, n_heads, head)] = heads[i];\n"
    "}\n"
    "extern \"C\" __global__ void rows_to_heads (const uint4 *rows, uint4 *heads, u64 n, "
    "unsigned seq_len,\n"
    "                                          unsigned micro_batch, unsigned n_heads, unsigned "
    "head)\n"
    "{\n"
    "  u64 i = (u64) blockIdx.x * threads + threadIdx.x;\n"
    "  if (i < n)\n"
    "    heads[i] = rows[in_rows (i, seq_len, micro_batch, n_heads, head)];\n"
    "}\n";

typedef enum
{
  NORM,
  ADD_NORM,
  NORM_BACKWARD,
  NORM_WEIGHT,
  ADD,
  SILU,
  SILU_BACKWARD,
  ROTARY,
  SOFTMAX,
  SOFTMAX_BACKWARD,
  HEADS_TO_ROWS,
  ROWS_TO_HEADS,
  N_KERNELS,
} KernelId;

static const char *const names[N_KERNELS] = {
  "norm_forward",  "add_norm", "norm_backward", "norm_weight",      "add",           "silu",
  "silu_backward", "rotary",   "softmax",       "softmax_backward", "heads_to_rows", "rows_to_heads"
};

struct LayerKernels
{
  LayerRows    shape;
  cudaStream_t stream;
  CudaModule  *module;
  cudaKernel_t kernels[N_KERNELS];
  float       *angles; /* (seq_len, head size / 2): cosine and sine */
};

/* Angle of pair I of a head of HEAD elements: the position over 10000^(2 I / HEAD). */
static void
fill_angles (float *angles, unsigned seq_len, unsigned head)
{
  unsigned pairs = head / 2;

  for (unsigned position = 0; position < seq_len; position++)
    for (unsigned i = 0; i < pairs; i++)
      {
        double angle = position * pow (10000, -2.0 * i / head);
        float *to = angles + 2 * ((size_t) position * pairs + i);

        to[0] = (float) cos (angle);
        to[1] = (float) sin (angle);
      }
}

static bool
load_angles (const Bench *bench, LayerKernels *self)
{
  unsigned    head = self->shape.d / self->shape.n_heads;
  size_t      bytes = (size_t) self->shape.seq_len * head * sizeof (float);
  float      *angles;
  cudaError_t copied;

  CUDA_TRY (cudaMalloc ((void **) &self->angles, bytes));
  angles = malloc (bytes);
  if (angles == NULL)
    {
      bench_error (bench, "malloc", "out of memory");
      return false;
    }
  fill_angles (angles, self->shape.seq_len, head);
  copied = cudaMemcpy (self->angles, angles, bytes, cudaMemcpyHostToDevice);
  free (angles);
  CUDA_TRY (copied);
  CUDA_TRY (cudaDeviceSynchronize ()); /* it may return before the data has arrived */
  return true;
}

static bool
load_kernels (const Bench *bench, LayerKernels *self)
{
  char *source;

  if (asprintf (&source, "%s%s%s%s", basics, norms, elements, attention) < 0)
    {
      bench_error (bench, "asprintf", "out of memory");
      return false;
    }
  self->module = cuda_module_open (bench, source);
  free (source);
  for (unsigned i = 0; self->module != NULL && i < N_KERNELS; i++)
    {
      self->kernels[i] = cuda_module_kernel (bench, self->module, names[i]);
      if (self->kernels[i] == NULL)
        return false;
    }
  return self->module != NULL;
}

LayerKernels *
layer_kernels_open (const Bench *bench, const LayerRows *shape, cudaStream_t stream)
{
  LayerKernels *self = calloc (1, sizeof *self);

  if (self == NULL)
    {
      bench_error (bench, "calloc", "out of memory");
      return NULL;
    }
  self->shape = *shape;
  self->stream = stream;
  if (!load_kernels (bench, self) || !load_angles (bench, self))
    {
      layer_kernels_close (self);
      self = NULL;
    }
  return self;
}

void
layer_kernels_close (LayerKernels *self)
{
  if (self == NULL)
    return;
  cuda_module_close (self->module);
  cudaFree (self->angles);
  free (self);
}

/* A block a row. */
static bool
launch_rows (LayerKernels *self, const Bench *bench, KernelId kernel, uint64_t rows, void **args)
{
  return cuda_launch (bench, self->kernels[kernel], (unsigned) rows, THREADS, args, self->stream);
}

/* A thread an element of 16 bytes. */
static bool
launch_flat (LayerKernels *self, const Bench *bench, KernelId kernel, uint64_t n, void **args)
{
  return cuda_launch (bench, self->kernels[kernel], (unsigned) ((n + THREADS - 1) / THREADS),
                      THREADS, args, self->stream);
}

bool
layer_norm (LayerKernels *self, const Bench *bench, const void *x, const void *weight, void *y,
            float *inverse_rms)
{
  unsigned n = self->shape.d / 8;
  void    *args[] = { &x, &weight, &y, &inverse_rms, &n };

  return launch_rows (self, bench, NORM, self->shape.rows, args);
}

bool
layer_add_norm (LayerKernels *self, const Bench *bench, const void *a, const void *b,
                const void *weight, void *sum, void *y, float *inverse_rms)
{
  unsigned n = self->shape.d / 8;
  void    *args[] = { &a, &b, &weight, &sum, &y, &inverse_rms, &n };

  return launch_rows (self, bench, ADD_NORM, self->shape.rows, args);
}

bool
layer_norm_backward (LayerKernels *self, const Bench *bench, void *dy, const void *other,
                     const void *x, const void *weight, const float *inverse_rms, void *dx)
{
  unsigned n = self->shape.d / 8;
  void    *args[] = { &dy, &other, &x, &weight, &inverse_rms, &dx, &n };

  return launch_rows (self, bench, NORM_BACKWARD, self->shape.rows, args);
}

bool
layer_norm_weight (LayerKernels *self, const Bench *bench, const void *dy, const void *x,
                   const float *inverse_rms, void *gradient)
{
  unsigned rows = self->shape.rows, pairs = self->shape.d / 2;
  void    *args[] = { &dy, &x, &inverse_rms, &gradient, &rows, &pairs };

  return launch_rows (self, bench, NORM_WEIGHT, self->shape.d / WEIGHT_COLUMNS, args);
}

bool
layer_add (LayerKernels *self, const Bench *bench, uint64_t elements, const void *a, const void *b,
           void *y)
{
  unsigned long long n = elements / 8;
  void              *args[] = { &a, &b, &y, &n };

  return launch_flat (self, bench, ADD, n, args);
}

bool
layer_silu (LayerKernels *self, const Bench *bench, uint64_t elements, const void *gate,
            const void *up, void *hidden)
{
  unsigned long long n = elements / 8;
  void              *args[] = { &gate, &up, &hidden, &n };

  return launch_flat (self, bench, SILU, n, args);
}

bool
layer_silu_backward (LayerKernels *self, const Bench *bench, uint64_t elements, const void *gate,
                     const void *up, void *d_hidden, void *d_up)
{
  unsigned long long n = elements / 8;
  void              *args[] = { &gate, &up, &d_hidden, &d_up, &n };

  return launch_flat (self, bench, SILU_BACKWARD, n, args);
}

bool
layer_rotary (LayerKernels *self, const Bench *bench, void *q, void *k, bool back)
{
  const LayerRows   *shape = &self->shape;
  unsigned long long n = (unsigned long long) shape->rows * shape->d / 16;
  unsigned           eighths = shape->d / 8, half = shape->d / shape->n_heads / 16;
  unsigned           micro_batch = shape->micro_batch;
  float              direction = back ? -1 : 1;
  void *args[] = { &q, &k, &self->angles, &n, &eighths, &half, &micro_batch, &direction };

  return launch_flat (self, bench, ROTARY, 2 * n, args);
}

static uint64_t
score_rows (const LayerRows *shape)
{
  return (uint64_t) shape->micro_batch * shape->n_heads * shape->seq_len;
}

bool
layer_softmax (LayerKernels *self, const Bench *bench, void *scores, float scale)
{
  unsigned n = self->shape.seq_len / 8;
  void    *args[] = { &scores, &scale, &n };

  return launch_rows (self, bench, SOFTMAX, score_rows (&self->shape), args);
}

bool
layer_softmax_backward (LayerKernels *self, const Bench *bench, const void *probabilities,
                        void *d_probabilities, float scale)
{
  unsigned n = self->shape.seq_len / 8;
  void    *args[] = { &probabilities, &d_probabilities, &scale, &n };

  return launch_rows (self, bench, SOFTMAX_BACKWARD, score_rows (&self->shape), args);
}

static bool
permute (LayerKernels *self, const Bench *bench, KernelId kernel, const void *from, void *to)
{
  const LayerRows   *shape = &self->shape;
  unsigned long long n = (unsigned long long) shape->rows * shape->d / 8;
  unsigned           seq_len = shape->seq_len, micro_batch = shape->micro_batch;
  unsigned           n_heads = shape->n_heads, head = shape->d / shape->n_heads / 8;
  void              *args[] = { &from, &to, &n, &seq_len, &micro_batch, &n_heads, &head };

  return launch_flat (self, bench, kernel, n, args);
}

bool
layer_heads_to_rows (LayerKernels *self, const Bench *bench, const void *heads, void *rows)
{
  return permute (self, bench, HEADS_TO_ROWS, heads, rows);
}

bool
layer_rows_to_heads (LayerKernels *self, const Bench *bench, const void *rows, void *heads)
{
  return permute (self, bench, ROWS_TO_HEADS, rows, heads);
}

#endif
