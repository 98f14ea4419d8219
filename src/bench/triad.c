/*
 * Bandwidth of device memory: a[i] = b[i] + s c[i] in fp32, two arrays read and one written.
 *
 * Each array is at least four times the L2 cache, so that of what one pass leaves there the next
 * one finds nothing useful: it comes to the array's start long after its lines were pushed out.
 * Writes of whole lines are not read first: bytes moved = 3 arrays.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include "bench/lanes.h"
#include "bench/room.h"

#define BLOCK 256

static const char source[] =
    "extern \"C\" __global__ void triad (float4 *a, const float4 *b, const float4 *c, float s,\n"
    "                                    unsigned long long n)\n"
    "{\n"
    "  unsigned long long i = (unsigned long long) blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n)\n"
    "    {\n"
    "      float4 x = b[i], y = c[i];\n"
    "      a[i] = make_float4 (x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);\n"
    "    }\n"
    "}\n";

typedef struct
{
  void        *array[3];
  uint64_t     bytes; /* of one array in this case */
  CudaModule  *module;
  cudaKernel_t kernel;
  Lanes        lanes;
} Triad;

static bool
triad (const Bench *bench, cudaStream_t stream, void *user)
{
  Triad             *self = user;
  float              s = 0.5f;
  unsigned long long n = self->bytes / 16;
  void              *args[] = { &self->array[0], &self->array[1], &self->array[2], &s, &n };

  return cuda_launch (bench, self->kernel, (unsigned) ((n + BLOCK - 1) / BLOCK), BLOCK, args,
                      stream);
}

static bool
open_triad (const Bench *bench, Triad *self, uint64_t bytes)
{
  self->module = cuda_module_open (bench, source);
  if (self->module == NULL)
    return false;
  self->kernel = cuda_module_kernel (bench, self->module, "triad");
  if (self->kernel == NULL || !lanes_open (bench, &self->lanes))
    return false;
  for (unsigned i = 0; i < 3; i++)
    {
      CUDA_TRY (cudaMalloc (&self->array[i], bytes));
      if (!cuda_fill_random (bench, self->array[i], bytes, "fp32", i + 1))
        return false;
    }
  return true;
}

static void
close_triad (Triad *self)
{
  lanes_close (&self->lanes);
  if (self->module != NULL)
    cuda_module_close (self->module);
  for (unsigned i = 0; i < 3; i++)
    if (self->array[i] != NULL)
      cudaFree (self->array[i]);
}

static bool
measure (const Bench *bench, Triad *self, const uint64_t *sizes, unsigned n)
{
  if (!open_triad (bench, self, sizes[n - 1]))
    return false;
  for (unsigned i = 0; i < n; i++)
    {
      Result result = {
        .benchmark = bench->name, .variant = "triad", .dtype = "fp32", .bytes = 3 * sizes[i]
      };

      self->bytes = sizes[i];
      if (!lanes_time (bench, &self->lanes, triad, NULL, self, 1, &result)
          || !results_add (bench->results, &result))
        return false;
    }
  return true;
}

/* Drops the sizes below LEAST. */
static unsigned
drop_small (const Bench *bench, uint64_t *sizes, unsigned n, uint64_t least)
{
  unsigned kept = 0;

  for (unsigned i = 0; i < n; i++)
    if (sizes[i] >= least)
      sizes[kept++] = sizes[i];
  if (kept < n)
    bench_note (bench, "arrays below %.0f MiB, four times the L2 cache, are left out",
                (double) least / 1048576.0);
  return kept;
}

static bool
run (Bench *bench)
{
  uint64_t sizes[BENCH_MAX_LIST], room, least;
  int      device, l2_bytes;
  unsigned n;
  Triad    self = { .module = NULL };
  bool     ok;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&l2_bytes, cudaDevAttrL2CacheSize, device));
  if (!room_device (bench, &room))
    return false;
  least = (4 * (uint64_t) l2_bytes + 15) / 16 * 16;
  room_sizes (bench, least, 16 * least, 4, 16, room / 3, sizes, &n);
  n = drop_small (bench, sizes, n, least);
  ok = n == 0 || measure (bench, &self, sizes, n);
  close_triad (&self);
  return ok;
}

const Benchmark benchmark_triad = {
  .name = "triad",
  .title = "bandwidth of device memory: a = b + s c in fp32",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
