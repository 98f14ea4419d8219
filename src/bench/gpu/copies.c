/*
 * Bytes that move: copies between host and device, within the device's memory, and the triad
 * a[i] = b[i] + s c[i] in fp32, which reads two arrays and writes one.
 *
 * Host memory is page-locked, so the time is that of the copy engines and the link. Each array of a
 * triad is at least four times the L2 cache: of what one pass leaves there the next one finds
 * nothing useful, as it comes to the array's start long after its lines were pushed out. Writes of
 * whole lines are not read first.
 */
#ifdef BENCH_CUDA

#include "bench/benchmarks.h"
#include "bench/gpu/lanes.h"
#include "bench/room.h"

#define BLOCK    256
#define L2_TIMES 4

enum
{
  TO_DEVICE,
  TO_HOST
};

/* One row a size: work on a stream, or on two at once. */
typedef struct
{
  const char *variant, *dtype;
  unsigned    arrays; /* of a case's size that its bytes are */
  CudaWork    work, other;
} Case;

/* A benchmark: its cases over sizes FROM..TO of one array, and what they need. */
typedef struct
{
  const Case *cases;
  unsigned    n_cases;
  uint64_t    from, to, unit, room; /* bytes; ROOM: an array has at most */
  uint64_t    least;                /* smaller arrays are left out; 0: none */
  unsigned    n_device, n_host;     /* arrays */
  const char *kernel, *source;      /* NULL: copies alone */
} Sweep;

typedef struct
{
  void      *device[3], *host[2];
  uint64_t   bytes; /* of an array in the case that runs */
  CudaKernel kernel;
  Lanes      lanes;
} Buffers;

static bool
open_buffers (const Bench *bench, Buffers *self, const Sweep *sweep, size_t bytes)
{
  uint64_t seed = 1;

  if (!lanes_open (bench, &self->lanes)
      || (sweep->kernel != NULL
          && !cuda_kernel_open (bench, &self->kernel, sweep->source, sweep->kernel)))
    return false;
  for (unsigned i = 0; i < sweep->n_device; i++)
    {
      CUDA_TRY (cudaMalloc (&self->device[i], bytes));
      if (!cuda_fill_random (bench, self->device[i], bytes, sweep->cases->dtype, i + 1))
        return false;
    }
  for (unsigned i = 0; i < sweep->n_host; i++)
    {
      CUDA_TRY (cudaMallocHost (&self->host[i], bytes));
      for (size_t at = 0; at + sizeof (uint64_t) <= bytes; at += sizeof (uint64_t))
        *(uint64_t *) ((char *) self->host[i] + at) = bench_random (&seed);
    }
  return true;
}

static void
close_buffers (Buffers *self)
{
  lanes_close (&self->lanes);
  cuda_kernel_close (&self->kernel);
  for (unsigned i = 0; i < sizeof self->device / sizeof *self->device; i++)
    cudaFree (self->device[i]);
  for (unsigned i = 0; i < sizeof self->host / sizeof *self->host; i++)
    if (self->host[i] != NULL)
      cudaFreeHost (self->host[i]);
}

static bool
measure (const Bench *bench, Buffers *self, const Sweep *sweep, const uint64_t *sizes, unsigned n)
{
  for (unsigned i = 0; i < sweep->n_cases; i++)
    for (unsigned k = 0; k < n; k++)
      {
        const Case *one = &sweep->cases[i];
        Result      result = { .benchmark = bench->name,
                               .variant = one->variant,
                               .dtype = one->dtype,
                               .bytes = one->arrays * sizes[k] };

        self->bytes = sizes[k];
        if (!lanes_time (bench, &self->lanes, one->work, one->other, self, 1, &result)
            || !results_add (bench->results, &result))
          return false;
      }
  return true;
}

static bool
run_sweep (const Bench *bench, const Sweep *sweep)
{
  uint64_t sizes[BENCH_MAX_LIST];
  unsigned n, first = 0;
  Buffers  buffers = { .bytes = 0 };
  bool     ok;

  room_sizes (bench, sweep->from, sweep->to, 4, sweep->unit, sweep->room, sizes, &n);
  while (first < n && sizes[first] < sweep->least)
    first++;
  if (first > 0)
    bench_note (bench, "arrays below %.0f MiB, four times the L2 cache, are left out",
                (double) sweep->least / 1048576.0);
  if (first == n)
    return true;
  ok = open_buffers (bench, &buffers, sweep, sizes[n - 1])
       && measure (bench, &buffers, sweep, sizes + first, n - first);
  close_buffers (&buffers);
  return ok;
}

/* ---- between host and device ----------------------------------------------------------------- */

static bool
copy_to_device (const Bench *bench, cudaStream_t stream, void *user)
{
  Buffers *self = user;

  CUDA_TRY (cudaMemcpyAsync (self->device[TO_DEVICE], self->host[TO_DEVICE], self->bytes,
                             cudaMemcpyHostToDevice, stream));
  return true;
}

static bool
copy_to_host (const Bench *bench, cudaStream_t stream, void *user)
{
  Buffers *self = user;

  CUDA_TRY (cudaMemcpyAsync (self->host[TO_HOST], self->device[TO_HOST], self->bytes,
                             cudaMemcpyDeviceToHost, stream));
  return true;
}

bool
bench_host_copy (Bench *bench)
{
  static const Case cases[] = {
    { "h2d.pinned", NULL, 1, copy_to_device, NULL },
    { "d2h.pinned", NULL, 1, copy_to_host, NULL },
    { "both.pinned", NULL, 1, copy_to_device, copy_to_host },
  };
  uint64_t room;

  if (!room_device (bench, &room))
    return false;
  if (room_host () < room)
    room = room_host ();
  return run_sweep (bench, &(Sweep){ .cases = cases,
                                     .n_cases = 3,
                                     .from = 4096,
                                     .to = 1u << 30,
                                     .unit = 8,
                                     .room = room / 2,
                                     .n_device = 2,
                                     .n_host = 2 });
}

/* ---- within the device's memory -------------------------------------------------------------- */

static bool
copy_within (const Bench *bench, cudaStream_t stream, void *user)
{
  Buffers *self = user;

  CUDA_TRY (cudaMemcpyAsync (self->device[1], self->device[0], self->bytes,
                             cudaMemcpyDeviceToDevice, stream));
  return true;
}

bool
bench_device_copy (Bench *bench)
{
  static const Case copy = { "d2d", NULL, 1, copy_within, NULL };
  uint64_t          room;

  return room_device (bench, &room)
         && run_sweep (bench, &(Sweep){ .cases = &copy,
                                        .n_cases = 1,
                                        .from = 4096,
                                        .to = (uint64_t) 4 << 30,
                                        .unit = 8,
                                        .room = room / 2,
                                        .n_device = 2 });
}

static const char triad_source[] =
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

static bool
triad (const Bench *bench, cudaStream_t stream, void *user)
{
  Buffers           *self = user;
  float              s = 0.5f;
  unsigned long long n = self->bytes / 16;
  void              *args[] = { &self->device[0], &self->device[1], &self->device[2], &s, &n };

  return cuda_kernel_launch (bench, &self->kernel, (unsigned) ((n + BLOCK - 1) / BLOCK), BLOCK,
                             args, stream);
}

bool
bench_triad (Bench *bench)
{
  static const Case pass = { "triad", "fp32", 3, triad, NULL };
  int               device, l2_bytes;
  uint64_t          room, least;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&l2_bytes, cudaDevAttrL2CacheSize, device));
  least = (L2_TIMES * (uint64_t) l2_bytes + 15) / 16 * 16;
  return room_device (bench, &room)
         && run_sweep (bench, &(Sweep){ .cases = &pass,
                                        .n_cases = 1,
                                        .from = least,
                                        .to = 16 * least,
                                        .unit = 16,
                                        .room = room / 3,
                                        .least = least,
                                        .n_device = 3,
                                        .kernel = "triad",
                                        .source = triad_source });
}

#endif
