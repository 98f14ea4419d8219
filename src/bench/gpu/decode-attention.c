/*
 * Attention of decoding batches over their caches, by the runner's own kernel
 * (streamed-attention.h). Caches are random; sets of them rotate where one would stay in the L2
 * cache, as with matrix products.
 */
#ifdef BENCH_CUDA

#include <stdio.h>

#include "bench/benchmarks.h"
#include "bench/gpu/lanes.h"
#include "bench/gpu/streamed-attention.h"
#include "bench/room.h"

#define L2_TIMES 4
#define MAX_SETS 64
#define COMMANDS 2

static const uint64_t pairs[] = { 1, 4, 16, 64, 256, 1024 };
static const unsigned heads[] = { 1, 4, 8 }; /* none shared, an 8B's, a 70B's */
static const uint64_t keys[] = { 512, 2048, 8192, 32768 };

#define N(array) (sizeof (array) / sizeof *(array))

/* Queries and caches lie apart from what is written, so that no result is read as an operand. */
typedef struct
{
  StreamedAttention kernels;
  Lanes             lanes;
  char             *operands, *results;
  uint64_t          l2_bytes, room;
  unsigned          sms, n_failed; /* shapes; the others were measured */
} DecodeAttention;

/* One shape, on sets of queries, keys and values in turn. */
typedef struct
{
  const DecodeAttention *of;
  StreamedShape          shape;
  unsigned               sets, next;
} Case;

static size_t
aligned (size_t bytes)
{
  return (bytes + 255) / 256 * 256;
}

static size_t
set_bytes (const StreamedShape *shape)
{
  return aligned (streamed_query_bytes (shape)) + 2 * streamed_cache_bytes (shape);
}

static size_t
result_bytes (const StreamedShape *shape)
{
  return aligned (streamed_part_bytes (shape)) + streamed_query_bytes (shape);
}

static Case
case_of (const DecodeAttention *of, unsigned n_heads, unsigned i, unsigned j)
{
  Case     self = { .of = of, .shape = { .pairs = pairs[i], .heads = n_heads, .keys = keys[j] } };
  uint64_t sets;

  self.shape.parts = streamed_parts (&self.shape, of->sms);
  sets = (L2_TIMES * of->l2_bytes + set_bytes (&self.shape) - 1) / set_bytes (&self.shape);
  self.sets = sets < 1 ? 1 : sets > MAX_SETS ? MAX_SETS : (unsigned) sets;
  return self;
}

static bool
fits (const Bench *bench, const Case *self)
{
  const uint64_t limit = bench->options->max_bytes;

  return self->sets * set_bytes (&self->shape) + result_bytes (&self->shape) <= self->of->room
         && (limit == 0 || 2 * streamed_cache_bytes (&self->shape) <= limit);
}

static bool
run_set (const Bench *bench, cudaStream_t stream, void *user)
{
  Case *self = user;
  char *q = self->of->operands + self->next * set_bytes (&self->shape),
       *k = q + aligned (streamed_query_bytes (&self->shape));
  StreamedBuffers buffers = { .q = q,
                              .k = k,
                              .v = k + streamed_cache_bytes (&self->shape),
                              .parts = self->of->results,
                              .o = self->of->results
                                   + aligned (streamed_part_bytes (&self->shape)) };

  self->next = (self->next + 1) % self->sets;
  return streamed_run (bench, &self->of->kernels, &self->shape, &buffers, stream);
}

static bool
measure (Bench *bench, DecodeAttention *attention, Case *self)
{
  char   remark[48];
  Result result = { .benchmark = bench->name,
                    .variant = "streamed",
                    .dtype = "bf16",
                    .m = self->shape.heads,
                    .n = self->shape.keys,
                    .k = STREAMED_HEAD_SIZE,
                    .batch = self->shape.pairs,
                    .remark = remark };

  snprintf (remark, sizeof remark, "plain kernel of the runner; parts %u", self->shape.parts);
  return lanes_time (bench, &attention->lanes, run_set, NULL, self, COMMANDS, &result)
         && results_add (bench->results, &result);
}

/* Of one number of query heads, for which the kernels are compiled. */
static bool
run_heads (Bench *bench, DecodeAttention *self, unsigned n_heads)
{
  bool ran = streamed_open (bench, &self->kernels, n_heads);

  for (unsigned i = 0; ran && i < N (pairs); i++)
    for (unsigned j = 0; ran && j < N (keys); j++)
      {
        Case one = case_of (self, n_heads, i, j);

        ran = !fits (bench, &one) || measure (bench, self, &one)
              || (++self->n_failed < CUDA_MAX_FAILURES && cuda_recovers ());
      }
  streamed_close (&self->kernels);
  return ran;
}

/* Room for the largest of all cases that fit. */
static bool
open_buffers (const Bench *bench, DecodeAttention *self)
{
  size_t operands = 0, results = 0;

  for (unsigned h = 0; h < N (heads); h++)
    for (unsigned i = 0; i < N (pairs); i++)
      for (unsigned j = 0; j < N (keys); j++)
        {
          const Case   one = case_of (self, heads[h], i, j);
          const size_t read = one.sets * set_bytes (&one.shape);

          if (!fits (bench, &one))
            continue;
          operands = operands > read ? operands : read;
          results = results > result_bytes (&one.shape) ? results : result_bytes (&one.shape);
        }
  if (operands == 0)
    return true;
  CUDA_TRY (cudaMalloc ((void **) &self->operands, operands));
  CUDA_TRY (cudaMalloc ((void **) &self->results, results));
  return cuda_fill_random (bench, self->operands, operands, "bf16", 1);
}

static bool
open_device (const Bench *bench, DecodeAttention *self)
{
  int device, l2_bytes, sms;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&l2_bytes, cudaDevAttrL2CacheSize, device));
  CUDA_TRY (cudaDeviceGetAttribute (&sms, cudaDevAttrMultiProcessorCount, device));
  self->l2_bytes = (uint64_t) l2_bytes;
  self->sms = (unsigned) sms;
  return lanes_open (bench, &self->lanes) && room_device (bench, &self->room)
         && open_buffers (bench, self);
}

bool
bench_decode_attention (Bench *bench)
{
  DecodeAttention self = { 0 };
  bool            ran = open_device (bench, &self);

  for (unsigned i = 0; ran && i < N (heads); i++)
    ran = run_heads (bench, &self, heads[i]);
  cudaFree (self.operands);
  cudaFree (self.results);
  lanes_close (&self.lanes);
  return ran && self.n_failed == 0;
}

#endif
