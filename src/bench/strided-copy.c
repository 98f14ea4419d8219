/*
 * Copies between the tensors of a transformer layer and one flat buffer of interleaved shards
 * (shard-runs.h), as FSDP2 does around its collectives.
 *
 *   in    tensors into the buffer (before a reduce-scatter)
 *   out   the buffer into tensors (after an all-gather)
 *
 * BYTES is what is copied: traffic is twice that. One kernel a copy; a block copies one run of at
 * most 32 KiB, as a table made beforehand says. All types copy alike; the tensors are bf16.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include <stdlib.h>
#include <string.h>

#include "bench/check.h"
#include "bench/lanes.h"
#include "bench/room.h"
#include "bench/shard-runs.h"

#define BLOCK     256
#define N_TENSORS 9

/* Run is a ShardRun. */
static const char source[] = "struct Run\n"
                             "{\n"
                             "  uint4 *to;\n"
                             "  const uint4 *from;\n"
                             "  unsigned long long n;\n"
                             "};\n"
                             "extern \"C\" __global__ void copy_runs (const Run *runs)\n"
                             "{\n"
                             "  Run run = runs[blockIdx.x];\n"
                             "  uint4 *__restrict__ to = run.to;\n"
                             "  const uint4 *__restrict__ from = run.from;\n"
                             "#pragma unroll 4\n"
                             "  for (unsigned i = threadIdx.x; i < run.n; i += blockDim.x)\n"
                             "    to[i] = from[i];\n"
                             "}\n";

typedef struct
{
  void        *tensor[N_TENSORS], *flat;
  ShardRun    *host_runs;
  void        *runs[2]; /* in, out; on the device */
  unsigned     n_runs;
  CudaModule  *module;
  cudaKernel_t kernel;
  const void  *table; /* that is being timed */
  Lanes        lanes;
} Layer;

/*
 * Bytes in bf16 of a layer with a gated feed-forward part: four attention matrices, three of d x
 * 8/3 d, two norms.
 */
static void
tensor_bytes (uint64_t d, uint64_t bytes[N_TENSORS])
{
  uint64_t wide = (8 * d / 3 + 255) / 256 * 256;

  for (unsigned i = 0; i < N_TENSORS; i++)
    bytes[i] = 2 * d * (i < 4 ? d : i < 7 ? wide : 1);
}

static uint64_t
layer_bytes (uint64_t d)
{
  uint64_t bytes[N_TENSORS], sum = 0;

  tensor_bytes (d, bytes);
  for (unsigned i = 0; i < N_TENSORS; i++)
    sum += bytes[i];
  return sum;
}

static bool
copy_table (const Bench *bench, Layer *self, const uint64_t *bytes, unsigned ranks)
{
  size_t size;

  self->n_runs = shard_runs_list (self->flat, self->tensor, bytes, N_TENSORS, ranks, false, NULL);
  size = self->n_runs * sizeof (ShardRun);
  self->host_runs = calloc (self->n_runs + 1, sizeof (ShardRun)); /* never of nothing */
  if (self->host_runs == NULL)
    {
      bench_error (bench, "calloc", "%zu bytes: out of memory", size);
      return false;
    }
  for (unsigned out = 0; out < 2; out++)
    {
      shard_runs_list (self->flat, self->tensor, bytes, N_TENSORS, ranks, out, self->host_runs);
      CUDA_TRY (cudaMalloc (&self->runs[out], size));
      CUDA_TRY (cudaMemcpy (self->runs[out], self->host_runs, size, cudaMemcpyHostToDevice));
    }
  /*
   * From ordinary memory it may return before the data has arrived, and the lanes wait for nothing
   * of the default stream's.
   */
  CUDA_TRY (cudaDeviceSynchronize ());
  return true;
}

static bool
open_layer (const Bench *bench, Layer *self, uint64_t d, unsigned ranks)
{
  uint64_t bytes[N_TENSORS];

  tensor_bytes (d, bytes);
  if (!lanes_open (bench, &self->lanes))
    return false;
  self->module = cuda_module_open (bench, source);
  if (self->module == NULL)
    return false;
  self->kernel = cuda_module_kernel (bench, self->module, "copy_runs");
  if (self->kernel == NULL)
    return false;
  CUDA_TRY (cudaMalloc (&self->flat, layer_bytes (d)));
  for (unsigned i = 0; i < N_TENSORS; i++)
    {
      CUDA_TRY (cudaMalloc (&self->tensor[i], bytes[i]));
      if (!cuda_fill_random (bench, self->tensor[i], bytes[i], "bf16", i + 1))
        return false;
    }
  return copy_table (bench, self, bytes, ranks);
}

static void
close_layer (Layer *self)
{
  void *const on_device[] = { self->flat, self->runs[0], self->runs[1] };

  lanes_close (&self->lanes);
  if (self->module != NULL)
    cuda_module_close (self->module);
  for (unsigned i = 0; i < N_TENSORS; i++)
    if (self->tensor[i] != NULL)
      cudaFree (self->tensor[i]);
  for (unsigned i = 0; i < sizeof on_device / sizeof on_device[0]; i++)
    if (on_device[i] != NULL)
      cudaFree (on_device[i]);
  free (self->host_runs);
}

static bool
copy (const Bench *bench, cudaStream_t stream, void *user)
{
  Layer *self = user;
  void  *args[] = { &self->table };

  return cuda_launch (bench, self->kernel, self->n_runs, BLOCK, args, stream);
}

static bool
measure (const Bench *bench, Layer *self, uint64_t d, unsigned ranks)
{
  if (!open_layer (bench, self, d, ranks))
    return false;
  /* In first: it fills the buffer with the tensors' data. */
  for (unsigned out = 0; out < 2; out++)
    {
      Result result = { .benchmark = bench->name,
                        .variant = out ? "out" : "in",
                        .dtype = "bf16",
                        .bytes = layer_bytes (d),
                        .ranks = ranks };

      self->table = self->runs[out];
      if (!lanes_time (bench, &self->lanes, copy, NULL, self, 1, &result)
          || !results_add (bench->results, &result))
        return false;
    }
  return true;
}

static bool
run (Bench *bench)
{
  static const uint64_t widths[] = { 512, 1024, 2048, 4096, 8192 };
  static const unsigned ranks[] = { 8, 64 };
  const BenchOptions   *options = bench->options;
  uint64_t              room;

  if (!room_device (bench, &room))
    return false;
  for (unsigned i = 0; i < sizeof widths / sizeof widths[0]; i++)
    for (unsigned k = 0; k < sizeof ranks / sizeof ranks[0]; k++)
      {
        uint64_t bytes = layer_bytes (widths[i]);
        Layer    self = { .module = NULL };
        bool     ok;

        if (bytes < options->min_bytes || (options->max_bytes > 0 && bytes > options->max_bytes))
          continue;
        if (bytes > room / 3)
          {
            bench_note (bench, "layers of width %u are left out: too little memory is free",
                        (unsigned) widths[i]);
            continue;
          }
        ok = measure (bench, &self, widths[i], ranks[k]);
        close_layer (&self);
        if (!ok)
          return false;
      }
  return true;
}

/* ---- check ----------------------------------------------------------------------------------- */

#define CHECKED_WIDTH 512u
#define CHECKED_RANKS 8u

/*
 * Where each tensor's bytes belong in the buffer, by its definition. FIRST: the tensors, one behind
 * the other.
 */
static bool
same_bytes (const char *first, const char *flat, const uint64_t *bytes)
{
  const char *at = flat;

  for (unsigned rank = 0; rank < CHECKED_RANKS; rank++)
    {
      const char *tensor = first;

      for (unsigned i = 0; i < N_TENSORS; tensor += bytes[i++])
        {
          uint64_t shard = bytes[i] / CHECKED_RANKS;

          if (memcmp (at, tensor + rank * shard, shard) != 0)
            return false;
          at += shard;
        }
    }
  return true;
}

/* All tensors, one behind the other. */
static bool
read_tensors (const Bench *bench, const Layer *self, const uint64_t *bytes, char *all)
{
  for (unsigned i = 0; i < N_TENSORS; all += bytes[i++])
    CUDA_TRY (cudaMemcpy (all, self->tensor[i], bytes[i], cudaMemcpyDeviceToHost));
  return true;
}

static bool
copy_once (const Bench *bench, Layer *self, bool out)
{
  self->table = self->runs[out];
  if (!copy (bench, self->lanes.stream[0], self))
    return false;
  CUDA_TRY (cudaStreamSynchronize (self->lanes.stream[0]));
  return true;
}

static bool
verdict (const Bench *bench, const char *what, bool good)
{
  if (good)
    bench_note (bench, "%s: every byte in its place", what);
  else
    bench_error (bench, what, "bytes are not where they belong");
  return good;
}

/* MEMORY: three times the layer. */
static bool
check_layer_copies (const Bench *bench, Layer *self, char *memory)
{
  uint64_t bytes[N_TENSORS], all = layer_bytes (CHECKED_WIDTH);
  char    *before = memory, *flat = memory + all, *after = memory + 2 * all;
  bool     good;

  tensor_bytes (CHECKED_WIDTH, bytes);
  if (!open_layer (bench, self, CHECKED_WIDTH, CHECKED_RANKS)
      || !read_tensors (bench, self, bytes, before) || !copy_once (bench, self, false))
    return false;
  CUDA_TRY (cudaMemcpy (flat, self->flat, all, cudaMemcpyDeviceToHost));
  for (unsigned i = 0; i < N_TENSORS; i++)
    CUDA_TRY (cudaMemset (self->tensor[i], 0, bytes[i]));
  CUDA_TRY (cudaDeviceSynchronize ());
  if (!copy_once (bench, self, true) || !read_tensors (bench, self, bytes, after))
    return false;
  good = verdict (bench, "strided copy in", same_bytes (before, flat, bytes));
  return verdict (bench, "strided copy out", memcmp (before, after, all) == 0) && good;
}

bool
check_strided_copy (const Bench *bench)
{
  char *memory = malloc (3 * layer_bytes (CHECKED_WIDTH));
  Layer self = { .module = NULL };
  bool  good;

  if (memory == NULL)
    {
      bench_error (bench, "malloc", "out of memory");
      return false;
    }
  good = check_layer_copies (bench, &self, memory);
  close_layer (&self);
  free (memory);
  return good;
}

const Benchmark benchmark_strided_copy = {
  .name = "strided_copy",
  .title = "a layer's tensors into one buffer of interleaved shards, and back",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
