#include "kernel/kernel.h"

#include <math.h>

/*
 * Share of the SMs that a streaming kernel keeps busy while it runs at full HBM speed. A core moves
 * several times its share of the HBM bandwidth, so a collective that takes a fifth of the SMs does
 * not slow a copy down. [estimate]
 */
#define STREAM_SM_SHARE 0.5

/*
 * Deep products with fewer output tiles than SMs are cut along k; each part is at least this deep.
 */
#define MIN_SPLIT_DEPTH 1024
#define MAX_SPLIT       16

/* An output tile a thread block, and in how many parts the inner dimension is cut. */
typedef struct
{
  double m, n;
  guint  split;
} TileChoice;

/* FLOP/s of the units that multiply matrices of DTYPE. */
static double
matmul_rate (const GpuProfile *gpu, Dtype dtype)
{
  if (dtype == DTYPE_FP32 || (dtype == DTYPE_BF16 && !gpu->bf16))
    return gpu->matmul_fp32.value;
  return gpu->matmul_16bit.value;
}

static double
hbm_seconds (const GpuProfile *gpu, const KernelCost *cost)
{
  return cost->hbm_bytes / gpu->hbm_bandwidth.value;
}

/*
 * FLOPs between two reads of an operand's element from the cache, up to a factor: what a tile's
 * shape is good for.
 */
static double
tile_intensity (double m, double n)
{
  return m * n / (m + n);
}

/* Fills COST for one tile choice; `alone` leaves out the latency. */
static void
matmul_try (const GpuProfile *gpu, const KernelDesc *kernel, const TileChoice *tile, KernelCost *cost)
{
  double sms = gpu->sms.value;
  double rate = matmul_rate (gpu, kernel->dtype) * gpu->matmul_efficiency.value / sms;
  double relative =
      tile_intensity (tile->m, tile->n) / tile_intensity (gpu->tile_m.value, gpu->tile_n.value);
  double partials = tile->split > 1 ? 8.0 * tile->split * kernel->m * kernel->n * kernel->batch
                                    : 0; /* fp32, written and read */

  cost->wave_units =
      ceil (kernel->m / tile->m) * ceil (kernel->n / tile->n) * kernel->batch * tile->split;
  cost->wave_seconds = 2 * tile->m * tile->n * kernel->k / tile->split / (rate * MIN (relative, 1));
  cost->hbm_bytes = (cost->bytes + partials) / gpu->stream_efficiency.value;
  cost->alone = MAX (ceil (cost->wave_units / sms) * cost->wave_seconds, hbm_seconds (gpu, cost));
}

/*
 * Tries one tile shape with the inner dimension whole and, while that leaves SMs idle, cut in 2, 4,
 * .. parts.
 */
static void
matmul_try_splits (const GpuProfile *gpu, const KernelDesc *kernel, const double shape[2],
                   KernelCost *best)
{
  for (guint split = 1; split <= MAX_SPLIT; split *= 2)
    {
      TileChoice tile = { shape[0], shape[1], split };
      KernelCost trial = *best;

      if (split > 1 && kernel->k / split < MIN_SPLIT_DEPTH)
        return;
      matmul_try (gpu, kernel, &tile, &trial);
      if (trial.alone < best->alone)
        *best = trial;
      if (trial.wave_units >= gpu->sms.value)
        return;
    }
}

/*
 * The fastest of the profile's tile, upright and lying, its halves and its quarter: what a
 * library's heuristics come to. Ties keep the earlier, larger one.
 */
static void
matmul_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  double     m = gpu->tile_m.value, n = gpu->tile_n.value;
  double     shapes[][2] = { { m, n },     { n, m },     { m / 2, n },    { m, n / 2 },
                             { n / 2, m }, { n, m / 2 }, { m / 2, n / 2 } };
  KernelCost best = *cost;

  best.alone = INFINITY;
  for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
    matmul_try_splits (gpu, kernel, shapes[i], &best);
  *cost = best;
}

static void
attention_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  double efficiency = kernel->kind == KERNEL_ATTENTION ? gpu->attention_efficiency.value
                                                       : gpu->attention_backward_efficiency.value;

  cost->sm_seconds = cost->flops * gpu->sms.value / (matmul_rate (gpu, kernel->dtype) * efficiency);
  cost->hbm_bytes = cost->bytes / gpu->stream_efficiency.value;
  cost->alone = MAX (cost->sm_seconds / gpu->sms.value, hbm_seconds (gpu, cost));
}

static void
stream_cost (const GpuProfile *gpu, KernelCost *cost)
{
  cost->hbm_bytes = cost->bytes / gpu->stream_efficiency.value;
  cost->alone = hbm_seconds (gpu, cost);
  cost->sm_seconds = STREAM_SM_SHARE * gpu->sms.value * cost->alone;
}

void
kernel_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  *cost = (KernelCost){
    .flops = kernel->flops,
    .bytes = kernel->read_bytes + kernel->write_bytes,
    .latency = gpu->kernel_latency.value * kernel->launches,
    .launches = kernel->launches,
  };
  switch (kernel->kind)
    {
    case KERNEL_MATMUL:
      matmul_cost (gpu, kernel, cost);
      break;
    case KERNEL_ATTENTION:
    case KERNEL_ATTENTION_BACKWARD:
      attention_cost (gpu, kernel, cost);
      break;
    default:
      stream_cost (gpu, cost);
      break;
    }
  cost->alone += cost->latency;
}
