/*
 * Matrix products of transformer layers through cuBLAS, alone on the device.
 *
 * Operands are random. A product whose operands would stay in the L2 cache runs on as many sets of
 * them in turn as fill the cache four times over: in training every layer has its own weights and
 * activations.
 */
#ifdef BENCH_CUDA

#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks.h"
#include "bench/gpu/lanes.h"
#include "bench/gpu/matmul-shapes.h"

#define MAX_SETS          256
#define L2_TIMES          4
#define MEMORY_SHARE      0.8
#define SUSTAINED_SIZE    8192
#define SUSTAINED_BATCH_S 0.1
#define COMMANDS          3 /* of a product at most: clearing, kernel, reduction of its parts */
#define MAX_SUSTAINED     65536

static const char *const dtypes[] = { "bf16", "fp16", "fp32", "fp8" };
#define N_DTYPES (sizeof dtypes / sizeof *dtypes)

/*
 * Operands and results lie apart, so that no result, of larger numbers, is an operand of the next
 * shape.
 */
typedef struct
{
  void (*make_shapes) (const char *dtype, bool thin, MatmulShapes *shapes);
  Gemm  *gemm;
  Lanes  lanes;
  char  *operands, *results;
  size_t l2_bytes, budget;
  bool   failed; /* a product; the others were measured */
} Matmul;

typedef struct
{
  const Matmul *matmul;
  GemmShape     shape;
  unsigned      sets, next;
} Product;

static size_t
aligned (size_t bytes)
{
  return (bytes + 255) / 256 * 256;
}

static size_t
larger (size_t a, size_t b)
{
  return a > b ? a : b;
}

static size_t
operand_bytes (const GemmShape *shape)
{
  return aligned (gemm_a_bytes (shape)) + aligned (gemm_b_bytes (shape));
}

static size_t
result_bytes (const GemmShape *shape)
{
  return aligned (gemm_c_bytes (shape));
}

static unsigned
count_sets (const Matmul *self, const GemmShape *shape)
{
  size_t set = operand_bytes (shape) + result_bytes (shape);
  size_t sets = (L2_TIMES * self->l2_bytes + set - 1) / set;

  return sets < 1 ? 1 : sets > MAX_SETS ? MAX_SETS : (unsigned) sets;
}

static bool
run_product (const Bench *bench, cudaStream_t stream, void *user)
{
  Product    *product = user;
  const char *a = product->matmul->operands + product->next * operand_bytes (&product->shape);
  char       *c = product->matmul->results + product->next * result_bytes (&product->shape);

  product->next = (product->next + 1) % product->sets;
  return gemm_run (bench, product->matmul->gemm, stream, &product->shape, a,
                   a + aligned (gemm_a_bytes (&product->shape)), c);
}

static Result
result_of (const Bench *bench, const char *variant, const GemmShape *shape, const char *remark)
{
  return (Result){
    .benchmark = bench->name,
    .variant = variant,
    .dtype = shape->dtype,
    .m = shape->m,
    .n = shape->n,
    .k = shape->k,
    .batch = shape->batch,
    .remark = remark,
  };
}

static bool
measure (Bench *bench, Matmul *self, const MatmulShape *shape)
{
  Product product = { self, shape->gemm, count_sets (self, &shape->gemm), 0 };
  Result  result =
      result_of (bench, gemm_layout_name (shape->gemm.layout), &shape->gemm, shape->remark);

  return lanes_time (bench, &self->lanes, run_product, NULL, &product, COMMANDS, &result)
         && results_add (bench->results, &result);
}

/*
 * Leaves out what the device, or the user's largest size, has no room for. *OPERANDS and *RESULTS:
 * the bytes that the others want.
 */
static void
fit_shapes (const Bench *bench, const Matmul *self, MatmulShapes *shapes, size_t *operands,
            size_t *results)
{
  const unsigned all = shapes->n;
  size_t         limit = self->budget;

  if (bench->options->max_bytes != 0 && bench->options->max_bytes < limit)
    limit = bench->options->max_bytes;
  do
    {
      unsigned n = 0;

      *operands = *results = 0;
      for (unsigned i = 0; i < shapes->n; i++)
        {
          const GemmShape *shape = &shapes->items[i].gemm;
          const size_t     sets = count_sets (self, shape);

          if (operand_bytes (shape) + result_bytes (shape) > limit)
            continue;
          *operands = larger (*operands, sets * operand_bytes (shape));
          *results = larger (*results, sets * result_bytes (shape));
          shapes->items[n++] = shapes->items[i];
        }
      shapes->n = n;
      if (*operands + *results > self->budget)
        limit -= limit / 8 + 1;
    }
  while (*operands + *results > self->budget);
  if (shapes->n < all)
    bench_note (bench, "%u of %u products are left out: more than %zu MiB of operands and result",
                all - shapes->n, all, limit >> 20);
}

static void
free_buffers (Matmul *self)
{
  cudaFree (self->operands);
  cudaFree (self->results);
  self->operands = self->results = NULL;
}

static bool
run_dtype (Bench *bench, Matmul *self, const char *dtype, bool thin)
{
  size_t              operands, results;
  static MatmulShapes shapes;
  unsigned            n_failed = 0;

  self->make_shapes (dtype, thin, &shapes);
  fit_shapes (bench, self, &shapes, &operands, &results);
  if (shapes.n == 0)
    return true;
  CUDA_TRY (cudaMalloc ((void **) &self->operands, operands));
  CUDA_TRY (cudaMalloc ((void **) &self->results, results));
  if (!cuda_fill_random (bench, self->operands, operands, dtype, 1))
    return false;
  for (unsigned i = 0; i < shapes.n; i++)
    if (!measure (bench, self, &shapes.items[i])
        && (++n_failed == CUDA_MAX_FAILURES || !cuda_recovers ()))
      return false;
  self->failed |= n_failed > 0;
  free_buffers (self);
  return true;
}

/* Seconds of one product, over as many as take about SUSTAINED_BATCH_S. */
static bool
time_batch (const Bench *bench, Product *product, cudaEvent_t *events, unsigned calls,
            double *seconds)
{
  float milliseconds;

  CUDA_TRY (cudaEventRecord (events[0], product->matmul->lanes.stream[0]));
  for (unsigned i = 0; i < calls; i++)
    if (!run_product (bench, product->matmul->lanes.stream[0], product))
      return false;
  CUDA_TRY (cudaEventRecord (events[1], product->matmul->lanes.stream[0]));
  CUDA_TRY (cudaEventSynchronize (events[1]));
  CUDA_TRY (cudaEventElapsedTime (&milliseconds, events[0], events[1]));
  *seconds = milliseconds * 1e-3 / calls;
  return true;
}

/* The second half of the time counts: the first warms the device up and lets its clock settle. */
static bool
sustain (Bench *bench, Product *product, cudaEvent_t *events)
{
  static double samples[MAX_SUSTAINED];
  double        once = 0, began = bench_now (), span = bench->options->sustained_s;
  unsigned      n = 0, calls;
  char          remark[48];
  Result        result = result_of (bench, "nn.sustained", &product->shape, remark);

  snprintf (remark, sizeof remark, "second half of %.0f s", span);
  if (!time_batch (bench, product, events, 3, &once))
    return false;
  calls = once > 0 && once < SUSTAINED_BATCH_S ? (unsigned) (SUSTAINED_BATCH_S / once) + 1 : 1;
  while (bench_now () - began < span && n < MAX_SUSTAINED)
    {
      double seconds = 0;

      if (!time_batch (bench, product, events, calls, &seconds))
        return false;
      if (bench_now () - began >= span / 2)
        samples[n++] = seconds;
    }
  if (n == 0)
    samples[n++] = once;
  result_set_times (&result, samples, n);
  return results_add (bench->results, &result);
}

static bool
run_sustained (Bench *bench, Matmul *self)
{
  const char *dtype = gemm_has_dtype (self->gemm, "bf16") ? "bf16" : "fp32";
  Product     product = {
        self, { GEMM_NN, dtype, SUSTAINED_SIZE, SUSTAINED_SIZE, SUSTAINED_SIZE, 1 }, 1, 0
  };
  cudaEvent_t events[2];
  bool        ran;

  CUDA_TRY (cudaMalloc ((void **) &self->operands, operand_bytes (&product.shape)));
  CUDA_TRY (cudaMalloc ((void **) &self->results, result_bytes (&product.shape)));
  CUDA_TRY (cudaEventCreate (&events[0]));
  CUDA_TRY (cudaEventCreate (&events[1]));
  ran = cuda_fill_random (bench, self->operands, operand_bytes (&product.shape), dtype, 1)
        && sustain (bench, &product, events);
  cudaEventDestroy (events[0]);
  cudaEventDestroy (events[1]);
  free_buffers (self);
  return ran;
}

/*
 * All shapes in the first type that the device has and in those that are asked for by name, a few
 * in the others.
 */
static bool
run_all (Bench *bench, Matmul *self)
{
  bool   ran = true, first = true;
  size_t free_bytes, total_bytes;
  int    device, l2_bytes;

  CUDA_TRY (cudaGetDevice (&device));
  CUDA_TRY (cudaDeviceGetAttribute (&l2_bytes, cudaDevAttrL2CacheSize, device));
  self->gemm = gemm_open (bench);
  if (self->gemm == NULL || !lanes_open (bench, &self->lanes))
    return false;
  CUDA_TRY (cudaMemGetInfo (&free_bytes, &total_bytes));
  self->l2_bytes = (size_t) l2_bytes;
  self->budget = (size_t) (MEMORY_SHARE * (double) free_bytes);
  for (unsigned i = 0; ran && i < N_DTYPES; i++)
    {
      if (!bench_list_has (bench->options->dtypes, dtypes[i]))
        continue;
      if (!gemm_has_dtype (self->gemm, dtypes[i]))
        {
          bench_note (bench, "this device has no %s products", dtypes[i]);
          continue;
        }
      ran = run_dtype (bench, self, dtypes[i], !first && bench->options->dtypes == NULL);
      first = false;
    }
  return ran;
}

static void
close_matmul (Matmul *self)
{
  free_buffers (self);
  lanes_close (&self->lanes);
  gemm_close (self->gemm);
}

bool
bench_matmul (Bench *bench)
{
  Matmul self = { .make_shapes = matmul_shapes_make };
  bool   ran =
      run_all (bench, &self) && (bench->options->sustained_s == 0 || run_sustained (bench, &self));

  close_matmul (&self);
  return ran && !self.failed;
}

bool
bench_decode_matmul (Bench *bench)
{
  Matmul self = { .make_shapes = matmul_shapes_make_decoding };
  bool   ran = run_all (bench, &self);

  close_matmul (&self);
  return ran && !self.failed;
}

#endif
