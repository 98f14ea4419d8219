/*
 * What a matrix product and a copy cost each other when they run at the same time.
 *
 *   SUBJECT.alone         one call of the subject, back to back, with nothing beside it
 *   SUBJECT.beside.OTHER  the same while the other runs on a second stream for all of the time
 *
 *   matmul   a square bf16 product by cuBLAS (m, n, k)
 *   h2d d2h  copy of pinned memory by a copy engine (bytes)
 *   copy     within device memory (bytes): by cudaMemcpyAsync; with `channels`, by a kernel of so
 *            many thread blocks, each of them on an SM of its own: what a collective costs a
 *            product, without its network
 *   spin     a kernel of so many blocks that hold SMs and move nothing: only the loss of SMs
 *
 * Blocks hold more than half of an SM's shared memory: no two share an SM, and no tile of a large
 * product fits beside one. The product runs on a stream of normal priority and the other on one of
 * the highest, as frameworks give it to communication. A remark says the slowdown against alone,
 * and how much of the subject's time was covered where that was not all.
 */
#include "bench/bench.h"

#ifdef BENCH_CUDA

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gemm.h"
#include "bench/lanes.h"
#include "bench/room.h"

#define MATMUL_SIZE  8192
#define HOST_BYTES   (64u << 20)
#define DEVICE_BYTES (256u << 20)
#define BLOCK_BYTES  (8u << 20) /* of each thread block of the copy kernel and call */
#define SPIN_NS      500000ull
#define BLOCK        512
#define MAX_BLOCKS   32

/* A measurement of the subject takes about so long. */
#define WINDOW_US 20000.0

/* The other runs so much longer than the subject, by what both take alone. */
#define MARGIN 1.5

/*
 * Two 16-byte loads of each thread in flight: a block copies about as fast as a channel of a
 * collective does.
 */
static const char source[] =
    "extern \"C\" __global__ void copy (uint4 *__restrict__ to, const uint4 *__restrict__ from,\n"
    "                                   unsigned n)\n"
    "{\n"
    "  to += (unsigned long long) blockIdx.x * n;\n"
    "  from += (unsigned long long) blockIdx.x * n;\n"
    "#pragma unroll 2\n"
    "  for (unsigned i = threadIdx.x; i < n; i += blockDim.x)\n"
    "    to[i] = from[i];\n"
    "}\n"
    "extern \"C\" __global__ void spin (unsigned long long ns)\n"
    "{\n"
    "  unsigned long long start, now;\n"
    "  asm volatile (\"mov.u64 %0, %globaltimer;\" : \"=l\"(start));\n"
    "  do\n"
    "    asm volatile (\"mov.u64 %0, %globaltimer;\" : \"=l\"(now));\n"
    "  while (now - start < ns);\n"
    "}\n";

typedef struct
{
  Lanes        lanes;
  Gemm        *gemm;
  GemmShape    shape;
  void        *matrix[3];              /* a, b, c */
  void        *host[2], *host_copy[2]; /* in and out; on the device */
  void        *from, *to;              /* within the device */
  size_t       host_bytes, device_bytes, block_bytes;
  unsigned     blocks;     /* of the kernel that is measured now */
  unsigned     turn;       /* of its calls */
  int          held_bytes; /* of shared memory that each of them holds */
  CudaModule  *module;
  cudaKernel_t copy, spin;
} Overlap;

/* ---- work ------------------------------------------------------------------------------------ */

static bool
run_matmul (const Bench *bench, cudaStream_t stream, void *user)
{
  Overlap *self = user;

  return gemm_run (bench, self->gemm, stream, &self->shape, self->matrix[0], self->matrix[1],
                   self->matrix[2], 0);
}

static bool
run_to_device (const Bench *bench, cudaStream_t stream, void *user)
{
  Overlap *self = user;

  CUDA_TRY (cudaMemcpyAsync (self->host_copy[0], self->host[0], self->host_bytes,
                             cudaMemcpyHostToDevice, stream));
  return true;
}

static bool
run_to_host (const Bench *bench, cudaStream_t stream, void *user)
{
  Overlap *self = user;

  CUDA_TRY (cudaMemcpyAsync (self->host[1], self->host_copy[1], self->host_bytes,
                             cudaMemcpyDeviceToHost, stream));
  return true;
}

static bool
run_device_copy (const Bench *bench, cudaStream_t stream, void *user)
{
  Overlap *self = user;

  CUDA_TRY (
      cudaMemcpyAsync (self->to, self->from, self->device_bytes, cudaMemcpyDeviceToDevice, stream));
  return true;
}

static bool
launch (const Bench *bench, const Overlap *self, cudaKernel_t kernel, void **args,
        cudaStream_t stream)
{
  dim3 grid = { self->blocks, 1, 1 }, block = { BLOCK, 1, 1 };

  CUDA_TRY (cudaLaunchKernel ((const void *) kernel, grid, block, args, (size_t) self->held_bytes,
                              stream));
  return true;
}

static bool
run_copy_kernel (const Bench *bench, cudaStream_t stream, void *user)
{
  Overlap *self = user;
  unsigned n = (unsigned) (self->block_bytes / 16);
  /* From call to call through all buffers: what few blocks copy would stay in the L2 cache. */
  size_t call_bytes = self->blocks * self->block_bytes;
  size_t shift = self->turn++ % (MAX_BLOCKS / self->blocks) * call_bytes;
  char  *to = (char *) self->to + shift, *from = (char *) self->from + shift;
  void  *args[] = { &to, &from, &n };

  return launch (bench, self, self->copy, args, stream);
}

static bool
run_spin_kernel (const Bench *bench, cudaStream_t stream, void *user)
{
  Overlap           *self = user;
  unsigned long long ns = SPIN_NS;
  void              *args[] = { &ns };

  return launch (bench, self, self->spin, args, stream);
}

typedef struct
{
  const char *name;
  CudaWork    work;
} Part;

static const Part matmul = { "matmul", run_matmul };
static const Part copies[] = {
  { "h2d", run_to_device },
  { "d2h", run_to_host },
  { "copy", run_device_copy },
};
static const Part copy_kernel = { "copy", run_copy_kernel };
static const Part spin_kernel = { "spin", run_spin_kernel };

/* ---- buffers --------------------------------------------------------------------------------- */

static void
release (Overlap *self)
{
  void *const on_device[] = {
    self->matrix[0],    self->matrix[1], self->matrix[2], self->host_copy[0],
    self->host_copy[1], self->from,      self->to
  };

  lanes_close (&self->lanes);
  gemm_close (self->gemm);
  if (self->module != NULL)
    cuda_module_close (self->module);
  for (unsigned i = 0; i < sizeof on_device / sizeof on_device[0]; i++)
    if (on_device[i] != NULL)
      cudaFree (on_device[i]);
  for (unsigned i = 0; i < 2; i++)
    if (self->host[i] != NULL)
      cudaFreeHost (self->host[i]);
}

static bool
allocate (const Bench *bench, Overlap *self)
{
  const size_t sizes[] = { gemm_a_bytes (&self->shape), gemm_b_bytes (&self->shape),
                           gemm_c_bytes (&self->shape) };

  for (unsigned i = 0; i < 3; i++)
    {
      CUDA_TRY (cudaMalloc (&self->matrix[i], sizes[i]));
      if (!cuda_fill_random (bench, self->matrix[i], sizes[i], self->shape.dtype, i + 1))
        return false;
    }
  for (unsigned i = 0; i < 2; i++)
    {
      CUDA_TRY (cudaMalloc (&self->host_copy[i], self->host_bytes));
      CUDA_TRY (cudaMallocHost (&self->host[i], self->host_bytes));
      if (!cuda_fill_random (bench, self->host_copy[i], self->host_bytes, NULL, i + 4))
        return false;
      /* Random on the host too. */
      CUDA_TRY (
          cudaMemcpy (self->host[i], self->host_copy[i], self->host_bytes, cudaMemcpyDeviceToHost));
    }
  CUDA_TRY (cudaMalloc (&self->from, self->device_bytes));
  CUDA_TRY (cudaMalloc (&self->to, self->device_bytes));
  return cuda_fill_random (bench, self->from, self->device_bytes, NULL, 6);
}

/* More than half of an SM's shared memory; a kernel has to ask for what is above 48 KiB. */
static bool
hold_shared_memory (const Bench *bench, Overlap *self)
{
  const cudaKernel_t kernels[] = { self->copy, self->spin };
  int                device, all, most;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device));
  CUDA_TRY (cudaDeviceGetAttribute (&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
  self->held_bytes = all / 2 + 1024 < most ? all / 2 + 1024 : most;
  for (unsigned i = 0; i < 2; i++)
    CUDA_TRY (cudaFuncSetAttribute ((const void *) kernels[i],
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, self->held_bytes));
  return true;
}

static bool
open_overlap (const Bench *bench, Overlap *self)
{
  self->gemm = gemm_open (bench);
  if (self->gemm == NULL || !lanes_open (bench, &self->lanes))
    return false;
  self->shape.dtype = gemm_has_dtype (self->gemm, "bf16")   ? "bf16"
                      : gemm_has_dtype (self->gemm, "fp16") ? "fp16"
                                                            : "fp32";
  self->module = cuda_module_open (bench, source);
  if (self->module == NULL)
    return false;
  self->copy = cuda_module_kernel (bench, self->module, "copy");
  self->spin = cuda_module_kernel (bench, self->module, "spin");
  return self->copy != NULL && self->spin != NULL && hold_shared_memory (bench, self)
         && allocate (bench, self);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* Part of the subject's time in which the other ran. */
static double
covered (const Lane *subject, const Lane *other)
{
  double from = subject->from > other->from ? subject->from : other->from;
  double to = subject->to < other->to ? subject->to : other->to;
  double span = subject->to - subject->from;

  return span <= 0 ? 1 : to > from ? (to - from) / span : 0;
}

static unsigned
clamp_calls (double calls)
{
  const unsigned most = LANES_MAX_COMMANDS / 2;

  return calls < 1 ? 1 : calls < most ? (unsigned) calls : most;
}

/*
 * Chooses how often each runs, so that the other lasts longer. Lane SUBJECT is the subject's; us
 * are those of one call alone.
 */
static bool
cover (const Bench *bench, Overlap *self, Lane lanes[2], unsigned subject, double subject_us,
       double other_us)
{
  Lane  *mine = &lanes[subject], *other = &lanes[1 - subject];
  double longest = other_us * LANES_MAX_COMMANDS / 2 / MARGIN;
  double span = longest > 0 && longest < WINDOW_US ? longest : WINDOW_US;

  for (unsigned attempt = 0; attempt < 5; attempt++)
    {
      mine->calls = clamp_calls (subject_us > 0 ? span / subject_us : 1);
      other->calls =
          clamp_calls (other_us > 0 ? MARGIN * mine->calls * subject_us / other_us + 1 : 1);
      if (!lanes_run (bench, &self->lanes, lanes))
        return false;
      if (covered (mine, other) > 0.99)
        return true;
      /* It takes longer than alone, and more so with more beside it. */
      subject_us = MARGIN * (mine->to - mine->from) / mine->calls;
    }
  return true;
}

/* Half a second of products, so that the clock has settled before anything is compared. */
static bool
settle (const Bench *bench, Overlap *self)
{
  Lane   lanes[2] = { { .work = run_matmul, .user = self, .calls = 20 } };
  double us = 0;

  for (unsigned i = 0; i < 50 && us < 5e5; i++)
    {
      if (!lanes_run (bench, &self->lanes, lanes))
        return false;
      us += lanes[0].to - lanes[0].from;
    }
  return true;
}

static Result
result_of (const Bench *bench, const Overlap *self, const Part *part)
{
  Result result = { .benchmark = bench->name };

  if (part == &matmul)
    {
      result.dtype = self->shape.dtype;
      result.m = self->shape.m;
      result.n = self->shape.n;
      result.k = self->shape.k;
    }
  else if (part == &copy_kernel)
    result.bytes = self->blocks * self->block_bytes;
  else if (part != &spin_kernel)
    result.bytes = strcmp (part->name, "copy") == 0 ? self->device_bytes : self->host_bytes;
  return result;
}

/* *US: the median. */
static bool
measure_alone (const Bench *bench, Overlap *self, const Part *part, unsigned channels, double *us,
               bool shown)
{
  Result result = result_of (bench, self, part);
  char   variant[64];

  snprintf (variant, sizeof variant, "%s.alone", part->name);
  result.variant = variant;
  result.channels = channels;
  if (!lanes_time (bench, &self->lanes, part->work, NULL, self, 1, &result))
    return false;
  *us = result.value;
  return !shown || results_add (bench->results, &result);
}

/* Lanes: products on the first stream, what is beside them on the second. */
static bool
sample_beside (const Bench *bench, Overlap *self, Lane lanes[2], unsigned subject, Result *result,
               double *least)
{
  double      samples[LANES_MAX_REPEATS];
  unsigned    repeats = lanes_repeats (bench);
  const Lane *mine = &lanes[subject], *other = &lanes[1 - subject];

  *least = 1;
  for (unsigned i = 0; i < repeats; i++)
    {
      if (!lanes_run (bench, &self->lanes, lanes))
        return false;
      samples[i] = (mine->to - mine->from) * 1e-6 / mine->calls;
      *least = covered (mine, other) < *least ? covered (mine, other) : *least;
    }
  result_set_times (result, samples, repeats);
  return true;
}

/* SUBJECT_US and OTHER_US: of a call alone. */
static bool
measure_beside (const Bench *bench, Overlap *self, const Part *subject, const Part *other,
                unsigned channels, double subject_us, double other_us)
{
  unsigned    index = subject == &matmul ? 0 : 1;
  const Part *parts[2] = { index == 0 ? subject : other, index == 0 ? other : subject };
  Lane        lanes[2] = { { .work = parts[0]->work, .user = self },
                           { .work = parts[1]->work, .user = self } };
  Result      result = result_of (bench, self, subject);
  char        variant[64], remark[96];
  double      least;
  int         used;

  if (!cover (bench, self, lanes, index, subject_us, other_us)
      || !sample_beside (bench, self, lanes, index, &result, &least))
    return false;
  snprintf (variant, sizeof variant, "%s.beside.%s", subject->name, other->name);
  used = snprintf (remark, sizeof remark, "slowdown %.3f", result.value / subject_us);
  if (least < 0.99)
    snprintf (remark + used, sizeof remark - (size_t) used, "; covered %.0f %% of the time",
              100 * least);
  result.variant = variant;
  result.remark = remark;
  result.channels = channels;
  return results_add (bench->results, &result);
}

static bool
measure_copies (const Bench *bench, Overlap *self, double matmul_us)
{
  for (unsigned i = 0; i < sizeof copies / sizeof copies[0]; i++)
    {
      double copy_us;

      if (!measure_alone (bench, self, &copies[i], 0, &copy_us, true)
          || !measure_beside (bench, self, &matmul, &copies[i], 0, matmul_us, copy_us)
          || !measure_beside (bench, self, &copies[i], &matmul, 0, copy_us, matmul_us))
        return false;
    }
  return true;
}

static bool
measure_blocks (const Bench *bench, Overlap *self, unsigned blocks, double matmul_us)
{
  double copy_us, spin_us;

  self->blocks = blocks;
  return measure_alone (bench, self, &copy_kernel, blocks, &copy_us, true)
         && measure_beside (bench, self, &matmul, &copy_kernel, blocks, matmul_us, copy_us)
         && measure_beside (bench, self, &copy_kernel, &matmul, blocks, copy_us, matmul_us)
         && measure_alone (bench, self, &spin_kernel, blocks, &spin_us, false)
         && measure_beside (bench, self, &matmul, &spin_kernel, blocks, matmul_us, spin_us);
}

/* The numbers in TEXT that a kernel can have blocks of; without one, those that NCCL uses. */
static unsigned
list_blocks (const Bench *bench, unsigned *blocks, unsigned max)
{
  static const unsigned usual[] = { 1, 2, 4, 8, 12, 16, 20, 24, 28, 32 };
  const char           *text = bench->options->channels;
  unsigned              n = 0;

  if (text == NULL)
    {
      memcpy (blocks, usual, sizeof usual);
      return sizeof usual / sizeof usual[0];
    }
  while (*text != '\0' && n < max)
    {
      char         *end;
      unsigned long count = strtoul (text, &end, 10);

      if (end == text)
        break;
      if (count > 0 && count <= MAX_BLOCKS)
        blocks[n++] = (unsigned) count;
      else
        bench_note (bench, "%lu channels are left out: 1 to %d are measured here", count,
                    MAX_BLOCKS);
      text = *end == ',' ? end + 1 : end;
    }
  return n;
}

static bool
measure (const Bench *bench, Overlap *self)
{
  unsigned blocks[BENCH_MAX_LIST], n;
  double   matmul_us;

  if (!open_overlap (bench, self) || !run_matmul (bench, self->lanes.stream[0], self)
      || !settle (bench, self) || !measure_alone (bench, self, &matmul, 0, &matmul_us, true)
      || !measure_copies (bench, self, matmul_us))
    return false;
  n = list_blocks (bench, blocks, BENCH_MAX_LIST);
  for (unsigned i = 0; i < n; i++)
    if (!measure_blocks (bench, self, blocks[i], matmul_us))
      return false;
  return true;
}

/* Sizes by what is free and what was asked for: -e bounds every buffer. */
static bool
choose_sizes (const Bench *bench, Overlap *self)
{
  uint64_t room, most = bench->options->max_bytes > 0 ? bench->options->max_bytes : UINT64_MAX;
  uint64_t size = MATMUL_SIZE;

  if (!room_device (bench, &room))
    return false;
  most = room / 8 < most ? room / 8 : most; /* three matrices, two and two copies, workspace */
  while (size > 64 && 4 * size * size > most)
    size /= 2;
  self->shape = (GemmShape){ .layout = GEMM_NT, .m = size, .n = size, .k = size, .batch = 1 };
  self->device_bytes = most < DEVICE_BYTES ? most / 1024 * 1024 : DEVICE_BYTES;
  most = room_host () / 2 < most ? room_host () / 2 : most;
  self->host_bytes = most < HOST_BYTES ? most / 1024 * 1024 : HOST_BYTES;
  self->block_bytes = self->device_bytes / MAX_BLOCKS < BLOCK_BYTES
                          ? self->device_bytes / MAX_BLOCKS / 16 * 16
                          : BLOCK_BYTES;
  if (self->host_bytes > 0 && self->block_bytes > 0)
    return true;
  bench_error (bench, "memory", "too little is free");
  return false;
}

static bool
run (Bench *bench)
{
  Overlap self = { .gemm = NULL };
  bool    ok = choose_sizes (bench, &self) && measure (bench, &self);

  release (&self);
  return ok;
}

const Benchmark benchmark_overlap = {
  .name = "overlap",
  .title = "a matrix product beside copies, and beside kernels that take SMs",
  .needs = NEEDS_CUDA,
  .in_all = true,
  .run = run,
};

#endif
