#include "evidence/tables/kernel-work.h"

#include <math.h>
#include <string.h>

#include "evidence/tables/expert-work.h"

/* No kernel is so much faster than its GPU's peak: the time is in another unit. */
#define ABOVE_PEAK 1.5

/* How operands of a type are multiplied, and what makes them of bf16. */
typedef struct
{
  const char *name;
  Dtype       dtype;
  gboolean    blocks; /* a scale a block */
  double      bytes;  /* of an element, its share of the scales included */
  gboolean    cast, largest;
} TableType;

static const TableType types[] = {
  { "bfloat16", DTYPE_BF16, FALSE, 2, FALSE, FALSE },
  { "fp8", DTYPE_FP8, FALSE, 1, TRUE, TRUE },
  { "fp8_block", DTYPE_FP8, TRUE, 1 + 4.0 / 128, TRUE, FALSE },
  { "nvfp4", DTYPE_FP4, TRUE, 0.5 + 1.0 / 16, TRUE, FALSE },
};

struct _KernelBench
{
  const GpuProfile *gpu;
  GpuProfile        cool, graph; /* at the clock of a short measurement; inside of a CUDA graph */
  KernelModel      *model;       /* of `graph` */
};

KernelBench *
kernel_bench_new (const GpuProfile *gpu)
{
  KernelBench *self = g_new0 (KernelBench, 1);

  self->gpu = gpu;
  self->cool = *gpu;
  self->cool.sustained_clock.value = 1;
  self->cool.measured_on = NULL;
  self->graph = self->cool;
  if (gpu->graph_latency.value > 0)
    self->graph.kernel_latency = gpu->graph_latency;
  self->model = kernel_model_new (&self->graph);
  return self;
}

void
kernel_bench_free (KernelBench *self)
{
  if (self == NULL)
    return;
  kernel_model_free (self->model);
  g_free (self);
}

static const TableType *
find_type (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (types); i++)
    if (strcmp (types[i].name, name) == 0)
      return &types[i];
  return NULL;
}

/* BATCH products of m rows and n columns over an inner dimension of k, by one kernel. */
static KernelDesc
product_desc (const TableType *type, double batch, double m, double n, double k)
{
  return (KernelDesc){ .kind = KERNEL_MATMUL,
                       .dtype = type->dtype,
                       .block_scaled = type->blocks,
                       .batch = (guint64) batch,
                       .m = (guint64) m,
                       .n = (guint64) n,
                       .k = (guint64) k,
                       .launches = 1,
                       .flops = 2 * batch * m * n * k,
                       .read_bytes = type->bytes * batch * (m + n) * k,
                       .write_bytes = 2 * batch * m * n,
                       .module = -1 };
}

gboolean
kernel_row_product (const KernelRow *row, KernelDesc *product)
{
  const TableType *type = find_type (row->dtype);

  g_assert (row->kind == KERNEL_TABLE_PRODUCTS);
  if (type != NULL)
    *product = product_desc (type, 1, (double) row->size[PRODUCT_M], (double) row->size[PRODUCT_N],
                             (double) row->size[PRODUCT_K]);
  return type != NULL;
}

static double
stream_seconds (const GpuProfile *gpu, KernelKind kind, double read_bytes, double write_bytes)
{
  const KernelDesc desc = kernel_desc_stream (kind, "cast", DTYPE_BF16, read_bytes, write_bytes, 1);
  KernelCost       cost;

  kernel_cost (gpu, &desc, &cost);
  return cost.alone;
}

/* Of ELEMENTS in bf16 to TYPE; the largest magnitude is set to zero, found, and made a scale. */
static double
cast_seconds (const KernelBench *self, const TableType *type, double elements)
{
  double seconds = 0;

  if (type->largest)
    seconds = stream_seconds (&self->cool, KERNEL_COPY, 2 * elements, 0)
              + self->cool.kernel_latency.value;
  if (type->cast)
    seconds += stream_seconds (&self->cool, KERNEL_COPY, 2 * elements, type->bytes * elements);
  return seconds;
}

static double
main_seconds (const KernelBench *self, const KernelDesc *desc)
{
  KernelCost cost;

  kernel_model_cost (self->model, desc, &cost);
  return cost.alone;
}

/* FLOP/s of TYPE's units; 0: the GPU has none. */
static double
peak_of (const GpuProfile *gpu, const TableType *type)
{
  return type->dtype == DTYPE_FP8   ? gpu->matmul_fp8.value
         : type->dtype == DTYPE_FP4 ? gpu->matmul_fp4.value
                                    : gpu->matmul_16bit.value;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

static double
products_seconds (const KernelBench *self, const KernelRow *row, const TableType *type,
                  double *casts, double *flops)
{
  KernelDesc product = { 0 };

  kernel_row_product (row, &product);
  *flops = product.flops;
  *casts = cast_seconds (self, type, (double) product.m * (double) product.k);
  return *casts + main_seconds (self, &product);
}

/* Pairs of a query and a key of one head that mask and window leave. */
static double
pairs_of (double length, double window)
{
  const double full = window > 0 ? MIN (window, length) : length;

  return full * (full + 1) / 2 + (length - full) * full;
}

gboolean
kernel_row_is_fp8_attention (const KernelRow *row)
{
  return strcmp (row->dtype, "fp8") == 0 || strcmp (row->variant, "fp8") == 0;
}

/* Kernels before the fused one: positions of the sequences, rotation, what writes the cache. */
#define CACHE_KERNELS 3

/*
 * Queries, keys and values are read together, and written: rotated, and as the kernel and the cache
 * take them.
 */
static double
prefill_seconds (const KernelBench *self, const KernelRow *row,
                 __attribute__ ((unused)) const TableType *type, double *casts, double *flops)
{
  const double batch = (double) row->size[ATTENTION_BATCH],
               length = (double) row->size[ATTENTION_LENGTH],
               heads = (double) row->size[ATTENTION_HEADS],
               kv_heads = (double) row->size[ATTENTION_KV_HEADS],
               d = (double) row->size[ATTENTION_HEAD_DIM],
               pairs = pairs_of (length, (double) row->size[ATTENTION_WINDOW]),
               rows = batch * length * d, all = rows * (heads + 2 * kv_heads);
  const gboolean   fp8 = kernel_row_is_fp8_attention (row);
  const double     bytes = fp8 ? 1 : 2;
  const KernelDesc desc = { .kind = KERNEL_ATTENTION,
                            .dtype = fp8 ? DTYPE_FP8 : DTYPE_BF16,
                            .batch = (guint64) (batch * heads),
                            .m = (guint64) length,
                            .n = (guint64) length,
                            .k = (guint64) d,
                            .launches = 1,
                            .flash = FLASH_TRTLLM,
                            .flops = 4 * pairs * d * batch * heads,
                            .read_bytes = bytes * all,
                            .write_bytes = 2 * rows * heads,
                            .module = -1 };

  GpuProfile gpu = self->cool;
  KernelCost cost;

  gpu.hbm_bandwidth.value =
      repeated_bandwidth (&gpu, (2 + bytes) * all + 2 * rows * heads) / gpu.stream_efficiency.value;
  *casts = stream_seconds (&gpu, KERNEL_ELEMENTWISE, 2 * all, 2 * rows * heads + bytes * all)
           + (CACHE_KERNELS - 1) * gpu.kernel_latency.value;
  *flops = desc.flops;
  if (self->gpu->graph_latency.value > 0)
    gpu.kernel_latency = self->gpu->graph_latency;
  kernel_cost (&gpu, &desc, &cost);
  return *casts + cost.alone;
}

/* A query a sequence; its own key is in the cache when it attends. */
static double
decode_seconds (const KernelBench *self, const KernelRow *row,
                __attribute__ ((unused)) const TableType *type, double *casts, double *flops)
{
  const guint64 batch = row->size[ATTENTION_BATCH], heads = row->size[ATTENTION_HEADS],
                kv_heads = row->size[ATTENTION_KV_HEADS], window = row->size[ATTENTION_WINDOW],
                cached = row->size[ATTENTION_LENGTH] + 1,
                keys = window > 0 ? MIN (window, cached) : cached;
  const gboolean   fp8 = kernel_row_is_fp8_attention (row);
  const KernelDesc desc =
      kernel_desc_decode ("decode", fp8 ? DTYPE_FP8 : DTYPE_BF16, batch, heads, kv_heads,
                          row->size[ATTENTION_HEAD_DIM], row->size[ATTENTION_HEAD_DIM], keys);
  KernelCost cost;

  kernel_cost (&self->cool, &desc, &cost);
  *casts = 0;
  *flops = desc.flops;
  return cost.alone;
}

/* NAN where how tokens are routed is not known; its casts are among the experts' kernels. */
static double
experts_seconds (const KernelBench *self, const KernelRow *row, const TableType *type,
                 double *casts, double *flops)
{
  const ExpertWork work = { .loads = &row->loads,
                            .hidden = (double) row->size[EXPERTS_HIDDEN],
                            .inter = (double) row->size[EXPERTS_INTER]
                                     / (double) row->size[EXPERTS_TENSOR_RANKS],
                            .gates = row->ungated ? 1 : 2,
                            .dtype = type->dtype,
                            .block_scaled = type->blocks,
                            .bytes = type->bytes };

  *flops = 0; /* how many rows there were is not known so well */
  *casts = 0;
  return row->loads.rows > 0 ? expert_seconds (&self->cool, &work) : NAN;
}

double
kernel_bench_seconds (const KernelBench *self, const KernelRow *row, double *casts,
                      const char **reason)
{
  static double (*const seconds_of[KERNEL_TABLE_N_KINDS]) (
      const KernelBench *, const KernelRow *, const TableType *, double *,
      double *) = { [KERNEL_TABLE_PRODUCTS] = products_seconds,
                    [KERNEL_TABLE_PREFILL] = prefill_seconds,
                    [KERNEL_TABLE_DECODE] = decode_seconds,
                    [KERNEL_TABLE_EXPERTS] = experts_seconds };
  const TableType *type = find_type (row->dtype);
  double           part = 0, flops = 0, seconds;

  *reason = NULL;
  if (type == NULL)
    *reason = "its type has no kernel of training";
  else if (peak_of (self->gpu, type) == 0)
    *reason = "the GPU's profile has no matrix units of its type";
  if (*reason != NULL)
    return NAN;
  seconds = seconds_of[row->kind](self, row, type, &part, &flops);
  if (flops / row->seconds > ABOVE_PEAK * peak_of (self->gpu, type))
    {
      *reason = "faster than the GPU's peak: 'time_us' is in microseconds";
      return NAN;
    }
  if (isnan (seconds))
    *reason = "how its tokens are routed is not known";
  if (casts != NULL)
    *casts = part;
  return seconds;
}
