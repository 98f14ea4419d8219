/*
 * Host time of one allocation and of one release, of blocks of one size.
 *
 *   malloc, free              cudaMalloc, cudaFree on an idle device
 *   malloc_async, free_async  cudaMallocFromPoolAsync, cudaFreeAsync: from a pool that keeps what
 *                             is released and has served these sizes before, so no call reaches the
 *                             driver's mapping of memory
 *   malloc_host, free_host    cudaMallocHost, cudaFreeHost: page-locked memory
 *
 * A measurement allocates several blocks, then releases them all.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include "bench/lanes.h"
#include "bench/room.h"

#define MAX_BLOCKS 16

/* A size is given up after this many seconds: page-locking takes long. */
#define LONGEST_S 5.0

typedef struct
{
  cudaMemPool_t pool;
  cudaStream_t  stream;
  void         *blocks[MAX_BLOCKS];
  unsigned      n; /* allocated */
} Blocks;

typedef struct
{
  const char *allocate, *release; /* variants */
  bool        on_host;
  bool (*get) (const Bench *bench, Blocks *self, uint64_t bytes);
  bool (*put) (const Bench *bench, Blocks *self); /* the last block */
} Kind;

static bool
get_plain (const Bench *bench, Blocks *self, uint64_t bytes)
{
  CUDA_TRY (cudaMalloc (&self->blocks[self->n], bytes));
  self->n++;
  return true;
}

static bool
put_plain (const Bench *bench, Blocks *self)
{
  CUDA_TRY (cudaFree (self->blocks[--self->n]));
  return true;
}

static bool
get_async (const Bench *bench, Blocks *self, uint64_t bytes)
{
  CUDA_TRY (cudaMallocFromPoolAsync (&self->blocks[self->n], bytes, self->pool, self->stream));
  self->n++;
  return true;
}

static bool
put_async (const Bench *bench, Blocks *self)
{
  CUDA_TRY (cudaFreeAsync (self->blocks[--self->n], self->stream));
  return true;
}

static bool
get_host (const Bench *bench, Blocks *self, uint64_t bytes)
{
  CUDA_TRY (cudaMallocHost (&self->blocks[self->n], bytes));
  self->n++;
  return true;
}

static bool
put_host (const Bench *bench, Blocks *self)
{
  CUDA_TRY (cudaFreeHost (self->blocks[--self->n]));
  return true;
}

static const Kind kinds[] = {
  { "malloc", "free", false, get_plain, put_plain },
  { "malloc_async", "free_async", false, get_async, put_async },
  { "malloc_host", "free_host", true, get_host, put_host },
};

/* One measurement: *GET and *PUT are seconds of one call. */
static bool
round_of (const Bench *bench, const Kind *kind, Blocks *self, uint64_t bytes, unsigned blocks,
          double *get, double *put)
{
  double start = bench_now (), middle;

  while (self->n < blocks)
    if (!kind->get (bench, self, bytes))
      return false;
  middle = bench_now ();
  *get = (middle - start) / blocks;
  CUDA_TRY (cudaStreamSynchronize (self->stream));
  middle = bench_now ();
  while (self->n > 0)
    if (!kind->put (bench, self))
      return false;
  *put = (bench_now () - middle) / blocks;
  CUDA_TRY (cudaStreamSynchronize (self->stream));
  return true;
}

static bool
measure (const Bench *bench, const Kind *kind, Blocks *self, uint64_t bytes, unsigned blocks)
{
  double   gets[LANES_MAX_REPEATS], puts[LANES_MAX_REPEATS], get = 0, put = 0;
  unsigned repeats = lanes_repeats (bench), n = 0;
  double   start = bench_now ();
  Result   result = { .benchmark = bench->name, .bytes = bytes };

  /* Fills the pool. */
  if (!round_of (bench, kind, self, bytes, blocks, &get, &put))
    return false;
  while (n < repeats && (n == 0 || bench_now () - start < LONGEST_S))
    {
      if (!round_of (bench, kind, self, bytes, blocks, &get, &put))
        return false;
      gets[n] = get;
      puts[n++] = put;
    }
  result.variant = kind->allocate;
  result_set_times (&result, gets, n);
  if (!results_add (bench->results, &result))
    return false;
  result.variant = kind->release;
  result_set_times (&result, puts, n);
  return results_add (bench->results, &result);
}

static bool
measure_kind (const Bench *bench, const Kind *kind, Blocks *self)
{
  uint64_t sizes[BENCH_MAX_LIST], room;
  unsigned n;

  if (!room_device (bench, &room))
    return false;
  if (kind->on_host)
    room = room_host ();
  room_sizes (bench, 4096, 1u << 30, 16, 1, room / 2, sizes, &n);
  for (unsigned i = 0; i < n; i++)
    {
      uint64_t blocks = room / 2 / sizes[i];

      /* Page-locking a GiB takes about half a second: as many bytes in all are enough. */
      if (kind->on_host && blocks > (1u << 30) / sizes[i])
        blocks = (1u << 30) / sizes[i];
      blocks = blocks < 1 ? 1 : blocks < MAX_BLOCKS ? blocks : MAX_BLOCKS;
      if (!measure (bench, kind, self, sizes[i], (unsigned) blocks))
        return false;
    }
  return true;
}

/* A pool of its own: the device's is left as it is. */
static bool
open_pool (const Bench *bench, Blocks *self)
{
  uint64_t                keep = UINT64_MAX;
  struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned,
                                    .location = { .type = cudaMemLocationTypeDevice } };
  int                     device, has_pools;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&has_pools, cudaDevAttrMemoryPoolsSupported, device));
  if (!has_pools)
    return true;
  props.location.id = device;
  CUDA_TRY (cudaMemPoolCreate (&self->pool, &props));
  CUDA_TRY (cudaMemPoolSetAttribute (self->pool, cudaMemPoolAttrReleaseThreshold, &keep));
  return true;
}

static void
release (const Bench *bench, const Kind *kind, Blocks *self)
{
  while (self->n > 0)
    kind->put (bench, self); /* counts down also where it fails */
  if (self->stream != NULL)
    {
      cudaStreamSynchronize (self->stream);
      cudaStreamDestroy (self->stream);
    }
  if (self->pool != NULL)
    cudaMemPoolDestroy (self->pool);
}

static bool
run_kind (const Bench *bench, const Kind *kind, Blocks *self)
{
  CUDA_TRY (cudaStreamCreateWithFlags (&self->stream, cudaStreamNonBlocking));
  if (kind->get == get_async)
    {
      if (!open_pool (bench, self))
        return false;
      if (self->pool == NULL)
        {
          bench_note (bench, "'malloc_async' is left out: the device has no memory pools");
          return true;
        }
    }
  return measure_kind (bench, kind, self);
}

static bool
run (Bench *bench)
{
  for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
    {
      Blocks self = { .n = 0 };
      bool   ok = run_kind (bench, &kinds[i], &self);

      release (bench, &kinds[i], &self);
      if (!ok)
        return false;
    }
  return true;
}

const Benchmark benchmark_allocation = {
  .name = "allocation",
  .title = "cudaMalloc, stream-ordered and page-locked allocation and release",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
