/*
 * Copies within the device's memory by cudaMemcpyAsync: bytes copied; reading and writing move
 * twice that.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include "bench/lanes.h"
#include "bench/room.h"

typedef struct
{
  void  *from, *to;
  size_t bytes;
  Lanes  lanes;
} Buffers;

static bool
copy (const Bench *bench, cudaStream_t stream, void *user)
{
  Buffers *self = user;

  CUDA_TRY (cudaMemcpyAsync (self->to, self->from, self->bytes, cudaMemcpyDeviceToDevice, stream));
  return true;
}

static bool
measure (const Bench *bench, Buffers *buffers, const uint64_t *sizes, unsigned n)
{
  if (!lanes_open (bench, &buffers->lanes))
    return false;
  CUDA_TRY (cudaMalloc (&buffers->from, sizes[n - 1]));
  CUDA_TRY (cudaMalloc (&buffers->to, sizes[n - 1]));
  if (!cuda_fill_random (bench, buffers->from, sizes[n - 1], NULL, 1))
    return false;
  for (unsigned i = 0; i < n; i++)
    {
      Result result = { .benchmark = bench->name, .variant = "d2d", .bytes = sizes[i] };

      buffers->bytes = sizes[i];
      if (!lanes_time (bench, &buffers->lanes, copy, NULL, buffers, 1, &result)
          || !results_add (bench->results, &result))
        return false;
    }
  return true;
}

static bool
run (Bench *bench)
{
  uint64_t sizes[BENCH_MAX_LIST], room;
  unsigned n;
  Buffers  buffers = { .from = NULL };
  bool     ok;

  if (!room_device (bench, &room))
    return false;
  room_sizes (bench, 4096, (uint64_t) 4 << 30, 4, 8, room / 2, sizes, &n);
  ok = n == 0 || measure (bench, &buffers, sizes, n);
  lanes_close (&buffers.lanes);
  if (buffers.from != NULL)
    cudaFree (buffers.from);
  if (buffers.to != NULL)
    cudaFree (buffers.to);
  return ok;
}

const Benchmark benchmark_device_copy = {
  .name = "device_copy",
  .title = "copies within device memory",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
