#ifdef BENCH_CUDA

#include "bench/gpu/streamed-attention.h"

#include <stdio.h>

#define WARP        32
#define WARPS       4
#define LEAST_KEYS  256 /* of a part */
#define BLOCKS_A_SM 2ul
#define SOURCE_SIZE 8192

/*
 * A lane has four elements of each row: 8 bytes, so that a warp reads a row at once. Scores are
 * powers of two; the largest so far is taken off before, as FlashAttention does. What a block
 * leaves of a query head is the sum of values, unscaled, and (x) that largest score and (y) the sum
 * of weights.
 */
static const char body[] =
    "#define WARP 32\n"
    "#define WARPS 4\n"
    "#define AHEAD 4\n"
    "#define ALL 0xffffffffu\n"
    "#define NONE -1e30f\n"
    "__device__ float4 widen (uint2 v)\n"
    "{\n"
    "  return make_float4 (__uint_as_float (v.x << 16), __uint_as_float (v.x & 0xffff0000u),\n"
    "                      __uint_as_float (v.y << 16), __uint_as_float (v.y & 0xffff0000u));\n"
    "}\n"
    "__device__ unsigned narrow (float x)\n"
    "{\n"
    "  unsigned bits = __float_as_uint (x);\n"
    "  return (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;\n"
    "}\n"
    "__device__ float dot (float4 a, float4 b)\n"
    "{\n"
    "  float sum = a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;\n"
    "  for (int step = WARP / 2; step > 0; step /= 2)\n"
    "    sum += __shfl_xor_sync (ALL, sum, step);\n"
    "  return sum;\n"
    "}\n"
    "__device__ void add (float4 *sum, float2 *weight, float4 value, float2 one)\n"
    "{\n"
    "  float most = fmaxf (weight->x, one.x);\n"
    "  float old = exp2f (weight->x - most), now = exp2f (one.x - most);\n"
    "  sum->x = sum->x * old + value.x * now;\n"
    "  sum->y = sum->y * old + value.y * now;\n"
    "  sum->z = sum->z * old + value.z * now;\n"
    "  sum->w = sum->w * old + value.w * now;\n"
    "  *weight = make_float2 (most, weight->y * old + one.y * now);\n"
    "}\n"
    "extern \"C\" __global__ void attend (const uint2 *q, const uint2 *k, const uint2 *v,\n"
    "                                   float4 *sums, float2 *weights, unsigned keys,\n"
    "                                   unsigned parts, float scale)\n"
    "{\n"
    "  __shared__ float4 warp_sum[WARPS][HEADS][WARP];\n"
    "  __shared__ float2 warp_weight[WARPS][HEADS];\n"
    "  unsigned lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;\n"
    "  size_t pair = blockIdx.x / parts, part = blockIdx.x % parts;\n"
    "  size_t from = keys * part / parts, to = keys * (part + 1) / parts;\n"
    "  float4 query[HEADS], sum[HEADS];\n"
    "  float2 weight[HEADS];\n"
    "  for (int h = 0; h < HEADS; h++)\n"
    "    {\n"
    "      float4 one = widen (q[(pair * HEADS + h) * WARP + lane]);\n"
    "      query[h] = make_float4 (one.x * scale, one.y * scale, one.z * scale, one.w * scale);\n"
    "      sum[h] = make_float4 (0, 0, 0, 0);\n"
    "      weight[h] = make_float2 (NONE, 0);\n"
    "    }\n"
    "  k += pair * keys * WARP + lane;\n"
    "  v += pair * keys * WARP + lane;\n"
    "  for (size_t first = from + warp * AHEAD; first < to; first += WARPS * AHEAD)\n"
    "    {\n"
    "      uint2 key[AHEAD], value[AHEAD];\n"
    "      for (int i = 0; i < AHEAD; i++)\n"
    "        {\n"
    "          size_t row = first + i < to ? first + i : to - 1;\n"
    "          key[i] = k[row * WARP];\n"
    "          value[i] = v[row * WARP];\n"
    "        }\n"
    "      for (int i = 0; i < AHEAD && first + i < to; i++)\n"
    "        for (int h = 0; h < HEADS; h++)\n"
    "          add (&sum[h], &weight[h], widen (value[i]),\n"
    "               make_float2 (dot (query[h], widen (key[i])), 1));\n"
    "    }\n"
    "  for (int h = 0; h < HEADS; h++)\n"
    "    {\n"
    "      warp_sum[warp][h][lane] = sum[h];\n"
    "      if (lane == 0)\n"
    "        warp_weight[warp][h] = weight[h];\n"
    "    }\n"
    "  __syncthreads ();\n"
    "  for (int h = warp; h < HEADS; h += WARPS)\n"
    "    {\n"
    "      size_t at = (size_t) blockIdx.x * HEADS + h;\n"
    "      float4 all = make_float4 (0, 0, 0, 0);\n"
    "      float2 of = make_float2 (NONE, 0);\n"
    "      for (int w = 0; w < WARPS; w++)\n"
    "        add (&all, &of, warp_sum[w][h][lane], warp_weight[w][h]);\n"
    "      sums[at * WARP + lane] = all;\n"
    "      if (lane == 0)\n"
    "        weights[at] = of;\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__ void join (const float4 *sums, const float2 *weights, uint2 *o,\n"
    "                                 unsigned parts)\n"
    "{\n"
    "  size_t pair = blockIdx.x / HEADS, h = blockIdx.x % HEADS;\n"
    "  float4 all = make_float4 (0, 0, 0, 0);\n"
    "  float2 of = make_float2 (NONE, 0);\n"
    "  for (size_t part = 0; part < parts; part++)\n"
    "    {\n"
    "      size_t at = (pair * parts + part) * HEADS + h;\n"
    "      add (&all, &of, sums[at * WARP + threadIdx.x], weights[at]);\n"
    "    }\n"
    "  o[blockIdx.x * WARP + threadIdx.x] = make_uint2 (\n"
    "      narrow (all.x / of.y) | narrow (all.y / of.y) << 16,\n"
    "      narrow (all.z / of.y) | narrow (all.w / of.y) << 16);\n"
    "}\n";

unsigned
streamed_parts (const StreamedShape *shape, unsigned sms)
{
  const uint64_t wanted = (BLOCKS_A_SM * sms + shape->pairs - 1) / shape->pairs,
                 most = shape->keys / LEAST_KEYS;

  return (unsigned) (wanted < most ? wanted : most > 0 ? most : 1);
}

size_t
streamed_query_bytes (const StreamedShape *shape)
{
  return shape->pairs * shape->heads * STREAMED_HEAD_SIZE * sizeof (uint16_t);
}

size_t
streamed_cache_bytes (const StreamedShape *shape)
{
  return shape->pairs * shape->keys * STREAMED_HEAD_SIZE * sizeof (uint16_t);
}

/* Of all parts, query heads: sums of values. */
static size_t
sum_bytes (const StreamedShape *shape)
{
  return shape->pairs * shape->parts * shape->heads * STREAMED_HEAD_SIZE * sizeof (float);
}

size_t
streamed_part_bytes (const StreamedShape *shape)
{
  return sum_bytes (shape) + shape->pairs * shape->parts * shape->heads * 2 * sizeof (float);
}

bool
streamed_open (const Bench *bench, StreamedAttention *self, unsigned heads)
{
  char source[SOURCE_SIZE];

  *self = (StreamedAttention){ 0 };
  snprintf (source, sizeof source, "#define HEADS %u\n%s", heads, body);
  return cuda_kernel_open (bench, &self->attend, source, "attend")
         && cuda_kernel_open (bench, &self->join, source, "join");
}

void
streamed_close (StreamedAttention *self)
{
  cuda_kernel_close (&self->attend);
  cuda_kernel_close (&self->join);
}

/* Scores are powers of two: softmax's e^(s / sqrt (head size)). */
#define SCALE 0.127517431f /* log2 (e) / sqrt (128) */

bool
streamed_run (const Bench *bench, const StreamedAttention *self, const StreamedShape *shape,
              const StreamedBuffers *buffers, cudaStream_t stream)
{
  const void *q = buffers->q, *k = buffers->k, *v = buffers->v;
  void       *sums = buffers->parts, *weights = (char *) sums + sum_bytes (shape), *o = buffers->o;
  unsigned    keys = (unsigned) shape->keys, parts = shape->parts;
  float       scale = SCALE;
  void       *attend[] = { &q, &k, &v, &sums, &weights, &keys, &parts, &scale };
  void       *join[] = { &sums, &weights, &o, &parts };
  const unsigned blocks = (unsigned) (shape->pairs * parts),
                 rows = (unsigned) (shape->pairs * shape->heads);

  return cuda_kernel_launch (bench, &self->attend, blocks, WARP * WARPS, attend, stream)
         && cuda_kernel_launch (bench, &self->join, rows, WARP, join, stream);
}

#endif
