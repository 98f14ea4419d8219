/*
 * Kernels of the codecs that quantised collectives send (ZeRO++'s blocks of 2048 values that share
 * a scale of fp32): bf16 values into integers of 8 or 4 bits, and back, and the step in the middle
 * of a reduction by all-to-alls, which decodes parts, adds them up and encodes the sum. BYTES is
 * what they read and write, for n values with b bits each and 4 / 2048 bytes of scale:
 *
 *   encode   2 n + n (b / 8 + 4 / 2048)
 *   decode   the same
 *   sum      (parts + 1) n (b / 8 + 4 / 2048); `batch` is the number of parts
 *
 * A thread block handles one block of values, eight a thread. Source: deepspeed/ops/csrc/
 * quantization (block size), arXiv:2306.10209.
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

#define THREADS 256
#define BLOCK   2048                   /* values: eight a thread */
#define BYTES   ((uint64_t) 2 * BLOCK) /* of its values in bf16 */
#define PARTS   8                      /* of a sum: GPUs of a node */

static const char source[] = CUDA_BF16_SOURCE
    "#define THREAD ((u64) blockIdx.x * 256 + threadIdx.x)\n"
    "__device__ float low (unsigned x) { return __uint_as_float (x << 16); }\n"
    "__device__ float high (unsigned x) { return __uint_as_float (x & 0xffff0000u); }\n"
    "__device__ float largest (const float *f)\n"
    "{\n"
    "  __shared__ float part[8];\n"
    "  float m = 0;\n"
    "  for (int i = 0; i < 8; i++)\n"
    "    m = fmaxf (m, fabsf (f[i]));\n"
    "  for (int o = 16; o > 0; o >>= 1)\n"
    "    m = fmaxf (m, __shfl_xor_sync (0xffffffffu, m, o));\n"
    "  if (threadIdx.x % 32 == 0)\n"
    "    part[threadIdx.x / 32] = m;\n"
    "  __syncthreads ();\n"
    "  for (int i = 0; i < 8; i++)\n"
    "    m = fmaxf (m, part[i]);\n"
    "  return m;\n"
    "}\n"
    "__device__ void read (float *f, const uint4 *a)\n"
    "{\n"
    "  uint4 x = a[THREAD];\n"
    "  f[0] = low (x.x), f[1] = high (x.x), f[2] = low (x.y), f[3] = high (x.y);\n"
    "  f[4] = low (x.z), f[5] = high (x.z), f[6] = low (x.w), f[7] = high (x.w);\n"
    "}\n"
    "__device__ void write (uint4 *b, const float *f)\n"
    "{\n"
    "  b[THREAD] = make_uint4 (bf16 (f[0]) | bf16 (f[1]) << 16, bf16 (f[2]) | bf16 (f[3]) << 16,\n"
    "                          bf16 (f[4]) | bf16 (f[5]) << 16, bf16 (f[6]) | bf16 (f[7]) << 16);\n"
    "}\n"
    "__device__ void pack (uint2 *q, float *scale, const float *f)\n"
    "{\n"
    "  float m = largest (f), s = m > 0 ? 127.0f / m : 0;\n"
    "  unsigned w[2] = { 0, 0 };\n"
    "  for (int i = 0; i < 8; i++)\n"
    "    w[i / 4] |= (__float2int_rn (f[i] * s) & 255u) << i % 4 * 8;\n"
    "  q[THREAD] = make_uint2 (w[0], w[1]);\n"
    "  if (threadIdx.x == 0)\n"
    "    scale[blockIdx.x] = m / 127.0f;\n"
    "}\n"
    "__device__ void pack (unsigned *q, float *scale, const float *f)\n"
    "{\n"
    "  float m = largest (f), s = m > 0 ? 7.0f / m : 0;\n"
    "  unsigned w = 0;\n"
    "  for (int i = 0; i < 8; i++)\n"
    "    w |= (__float2int_rn (f[i] * s) & 15u) << i * 4;\n"
    "  q[THREAD] = w;\n"
    "  if (threadIdx.x == 0)\n"
    "    scale[blockIdx.x] = m / 7.0f;\n"
    "}\n"
    "__device__ void add (float *f, uint2 q, float scale)\n"
    "{\n"
    "  for (int i = 0; i < 8; i++)\n"
    "    f[i] += scale * ((int) ((i < 4 ? q.x : q.y) << (24 - i % 4 * 8)) >> 24);\n"
    "}\n"
    "__device__ void add (float *f, unsigned q, float scale)\n"
    "{\n"
    "  for (int i = 0; i < 8; i++)\n"
    "    f[i] += scale * ((int) (q << (28 - i * 4)) >> 28);\n"
    "}\n"
    "#define KERNELS(N, TYPE) \\\n"
    "extern \"C\" __global__ void encode##N (TYPE *q, float *scale, const uint4 *a) \\\n"
    "{ \\\n"
    "  float f[8]; \\\n"
    "  read (f, a); \\\n"
    "  pack (q, scale, f); \\\n"
    "} \\\n"
    "extern \"C\" __global__ void decode##N (uint4 *b, const TYPE *q, const float *scale) \\\n"
    "{ \\\n"
    "  float f[8] = { 0 }; \\\n"
    "  add (f, q[THREAD], scale[blockIdx.x]); \\\n"
    "  write (b, f); \\\n"
    "} \\\n"
    "extern \"C\" __global__ void sum##N (TYPE *to, float *to_scale, const TYPE *q, \\\n"
    "                                   const float *scale, unsigned parts) \\\n"
    "{ \\\n"
    "  float f[8] = { 0 }; \\\n"
    "  for (unsigned p = 0; p < parts; p++) \\\n"
    "    add (f, q[THREAD + (u64) p * gridDim.x * 256], scale[blockIdx.x + p * gridDim.x]); \\\n"
    "  pack (to, to_scale, f); \\\n"
    "}\n"
    "KERNELS (8, uint2)\n"
    "KERNELS (4, unsigned)\n";

/* Values, and PARTS encoded copies of them behind each other; the sum is a part of its own. */
typedef struct
{
  void        *values, *encoded, *scales, *total, *total_scales;
  unsigned     blocks; /* of values in this case */
  unsigned     bits;
  CudaModule  *module;
  cudaKernel_t kernel; /* of this case */
  Lanes        lanes;
} Codec;

static bool
encode (const Bench *bench, cudaStream_t stream, void *user)
{
  Codec *self = user;
  void  *args[] = { &self->encoded, &self->scales, &self->values };

  return cuda_launch (bench, self->kernel, self->blocks, THREADS, args, stream);
}

static bool
decode (const Bench *bench, cudaStream_t stream, void *user)
{
  Codec *self = user;
  void  *args[] = { &self->values, &self->encoded, &self->scales };

  return cuda_launch (bench, self->kernel, self->blocks, THREADS, args, stream);
}

static bool
sum (const Bench *bench, cudaStream_t stream, void *user)
{
  Codec   *self = user;
  unsigned parts = PARTS;
  void    *args[] = { &self->total, &self->total_scales, &self->encoded, &self->scales, &parts };

  return cuda_launch (bench, self->kernel, self->blocks, THREADS, args, stream);
}

static const struct
{
  const char *name;
  CudaWork    work;
  unsigned    values, parts; /* of 2 bytes, and encoded, that it moves an element */
} cases[] = {
  { "encode", encode, 1, 1 },
  { "decode", decode, 1, 1 },
  { "sum", sum, 0, PARTS + 1 },
};

static const unsigned widths[] = { 8, 4 };

static uint64_t
moved_bytes (const Codec *self, unsigned index)
{
  uint64_t encoded = (uint64_t) self->blocks * (BLOCK * self->bits / 8 + sizeof (float));

  return (uint64_t) self->blocks * BLOCK * 2 * cases[index].values + encoded * cases[index].parts;
}

static bool
open_codec (const Bench *bench, Codec *self, unsigned blocks)
{
  size_t part = (size_t) blocks * BLOCK, scales = blocks * sizeof (float);

  if (!lanes_open (bench, &self->lanes))
    return false;
  self->module = cuda_module_open (bench, source);
  if (self->module == NULL)
    return false;
  CUDA_TRY (cudaMalloc (&self->values, 2 * part));
  CUDA_TRY (cudaMalloc (&self->encoded, PARTS * part));
  CUDA_TRY (cudaMalloc (&self->scales, PARTS * scales));
  CUDA_TRY (cudaMalloc (&self->total, part));
  CUDA_TRY (cudaMalloc (&self->total_scales, scales));
  return cuda_fill_random (bench, self->values, 2 * part, "bf16", 1)
         && cuda_fill_random (bench, self->encoded, PARTS * part, NULL, 2)
         && cuda_fill_random (bench, self->scales, PARTS * scales, "fp32", 3);
}

static void
close_codec (Codec *self)
{
  void *memory[] = { self->values, self->encoded, self->scales, self->total, self->total_scales };

  lanes_close (&self->lanes);
  if (self->module != NULL)
    cuda_module_close (self->module);
  for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
    if (memory[i] != NULL)
      cudaFree (memory[i]);
}

static bool
choose (const Bench *bench, Codec *self, unsigned index, unsigned bits)
{
  char name[16];

  self->bits = bits;
  snprintf (name, sizeof name, "%s%u", cases[index].name, bits);
  self->kernel = cuda_module_kernel (bench, self->module, name);
  return self->kernel != NULL;
}

static bool
measure (const Bench *bench, Codec *self, unsigned index, unsigned bits)
{
  Result result = { .benchmark = bench->name,
                    .variant = cases[index].name,
                    .dtype = bits == 8 ? "int8-block" : "int4-block",
                    .batch = cases[index].work == sum ? PARTS : 0 };

  if (!choose (bench, self, index, bits))
    return false;
  result.bytes = moved_bytes (self, index);
  return lanes_time (bench, &self->lanes, cases[index].work, NULL, self, 1, &result)
         && results_add (bench->results, &result);
}

static bool
measure_all (const Bench *bench, Codec *self, const uint64_t *sizes, unsigned n)
{
  if (!open_codec (bench, self, (unsigned) (sizes[n - 1] / BYTES)))
    return false;
  for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++)
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++)
      for (unsigned k = 0; k < n; k++)
        {
          self->blocks = (unsigned) (sizes[k] / BYTES);
          if (!measure (bench, self, i, widths[w]))
            return false;
        }
  return true;
}

static bool
run (Bench *bench)
{
  uint64_t sizes[BENCH_MAX_LIST], room;
  unsigned n;
  Codec    self = { .module = NULL };
  bool     ok;

  if (!room_device (bench, &room))
    return false;
  /* Sizes are those of the bf16 values; the encoded parts take half as much each. */
  room_sizes (bench, 1u << 20, 1u << 30, 4, BYTES, room / (PARTS + 4) * 2, sizes, &n);
  ok = n == 0 || measure_all (bench, &self, sizes, n);
  close_codec (&self);
  return ok;
}

/* ---- check ----------------------------------------------------------------------------------- */

#define CHECKED_BLOCKS 3
#define CHECKED        ((size_t) CHECKED_BLOCKS * BLOCK)

typedef struct
{
  double values[CHECKED], want[CHECKED], got[CHECKED];
} Values;

static bool
run_case (const Bench *bench, Codec *self, unsigned index, unsigned bits)
{
  cudaStream_t stream = self->lanes.stream[0];

  if (!choose (bench, self, index, bits) || !cases[index].work (bench, stream, self))
    return false;
  CUDA_TRY (cudaStreamSynchronize (stream));
  return true;
}

/* What each value is after encoding: the nearest of the steps that its block's largest spans. */
static void
quantise (const double *values, double *want, unsigned bits)
{
  double steps = bits == 8 ? 127 : 7;

  for (size_t block = 0; block < CHECKED_BLOCKS; block++)
    {
      const double *from = values + block * BLOCK;
      double        largest = 0;

      for (size_t i = 0; i < BLOCK; i++)
        largest = fmax (largest, fabs (from[i]));
      for (size_t i = 0; i < BLOCK; i++)
        want[block * BLOCK + i] = nearbyint (from[i] * steps / largest) * largest / steps;
    }
}

/*
 * Encoded and decoded again; then PARTS equal parts added up, which is PARTS times that and meets
 * the steps of the sum's own scale, so that encoding it again changes nothing.
 */
static bool
check_width (const Bench *bench, Codec *self, unsigned bits, Values *v)
{
  size_t part = CHECKED * bits / 8, scales = CHECKED_BLOCKS * sizeof (float);
  char   what[32];
  bool   good;

  if (!cuda_fill_random (bench, self->values, 2 * CHECKED, "bf16", bits)
      || !check_read (bench, self->values, "bf16", CHECKED, v->values)
      || !run_case (bench, self, 0, bits) || !run_case (bench, self, 1, bits)
      || !check_read (bench, self->values, "bf16", CHECKED, v->got))
    return false;
  quantise (v->values, v->want, bits);
  snprintf (what, sizeof what, "codec of %u bits", bits);
  good = check_close (bench, what, v->want, v->got, CHECKED, 5e-3);
  for (unsigned p = 1; p < PARTS; p++)
    {
      CUDA_TRY (cudaMemcpy ((char *) self->encoded + p * part, self->encoded, part,
                            cudaMemcpyDeviceToDevice));
      CUDA_TRY (cudaMemcpy ((char *) self->scales + p * scales, self->scales, scales,
                            cudaMemcpyDeviceToDevice));
    }
  if (!run_case (bench, self, 2, bits))
    return false;
  CUDA_TRY (cudaMemcpy (self->encoded, self->total, part, cudaMemcpyDeviceToDevice));
  CUDA_TRY (cudaMemcpy (self->scales, self->total_scales, scales, cudaMemcpyDeviceToDevice));
  if (!run_case (bench, self, 1, bits)
      || !check_read (bench, self->values, "bf16", CHECKED, v->got))
    return false;
  for (size_t i = 0; i < CHECKED; i++)
    v->want[i] *= PARTS;
  snprintf (what, sizeof what, "sum of parts of %u bits", bits);
  return check_close (bench, what, v->want, v->got, CHECKED, 5e-3) && good;
}

bool
check_codecs (const Bench *bench)
{
  Values *values = malloc (sizeof *values);
  Codec   self = { .module = NULL };
  bool    good = values != NULL;

  if (values == NULL)
    bench_error (bench, "malloc", "out of memory");
  else if (open_codec (bench, &self, CHECKED_BLOCKS))
    {
      self.blocks = CHECKED_BLOCKS;
      for (unsigned w = 0; w < sizeof widths / sizeof *widths; w++)
        good = check_width (bench, &self, widths[w], values) && good;
    }
  else
    good = false;
  close_codec (&self);
  free (values);
  return good;
}

const Benchmark benchmark_codec_kernel = {
  .name = "codec_kernel",
  .title = "kernels of int8 and int4 blocks: encode, decode, add parts up",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
