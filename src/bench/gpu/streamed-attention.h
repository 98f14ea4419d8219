/*
 * Attention of one new token of each sequence over its cache, by a kernel of the runner's own.
 *
 * A thread block streams the keys and values of one key-value head of one sequence, or of a part of
 * its keys where there are fewer heads than keep the device busy: a warp takes every fourth group
 * of keys, and holds a sum of values for each query head of the group. Another kernel adds the
 * parts up. It has no page table, no tensor cores and no asynchronous copies: what an engine's
 * kernel needs at most, not what the best one does.
 */
#pragma once

#ifdef BENCH_CUDA

#include "bench/gpu/cuda.h"

#define STREAMED_HEAD_SIZE  128 /* elements, bf16 */
#define STREAMED_MOST_HEADS 8   /* query heads of a key-value head */

typedef struct
{
  uint64_t pairs; /* sequences x key-value heads */
  uint64_t heads; /* query heads of each: 1, 2, 4 or 8 */
  uint64_t keys;
  unsigned parts; /* that the keys of a pair are cut into: streamed_parts */
} StreamedShape;

typedef struct
{
  CudaKernel attend, join;
} StreamedAttention;

/* Q, K, V and O in bf16: pairs x heads, pairs x keys (both) and pairs x heads rows of a head. */
typedef struct
{
  const void *q, *k, *v;
  void       *parts; /* streamed_part_bytes: of one call */
  void       *o;
} StreamedBuffers;

/* So many parts that all SMS have two thread blocks, each of 256 keys at least. */
unsigned streamed_parts (const StreamedShape *shape, unsigned sms);

size_t streamed_query_bytes (const StreamedShape *shape); /* of Q, and of O */
size_t streamed_cache_bytes (const StreamedShape *shape); /* of K, and of V */
size_t streamed_part_bytes (const StreamedShape *shape);

/* Compiles it for HEADS query heads. After a failure too, streamed_close releases what there is. */
bool streamed_open (const Bench *bench, StreamedAttention *self, unsigned heads);
void streamed_close (StreamedAttention *self);

/* Two kernels on STREAM: two of lanes_time's commands. */
bool streamed_run (const Bench *bench, const StreamedAttention *self, const StreamedShape *shape,
                   const StreamedBuffers *buffers, cudaStream_t stream);

#endif
