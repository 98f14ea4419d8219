#include "evidence/tables/expert-work.h"

#include <math.h>

/* Kernels of a layer where no figure says what they take together. */
#define KERNELS 10

/* Of L2, what repetitions find: L40S's 96 MB and RTX PRO 6000's 128 MB both end there. */
#define KEPT (2.0 / 3)

static const double columns[] = { 64, 128, 256 };

/* The figures that one type of operands has. */
typedef struct
{
  double rate; /* FLOP/s of an SM's tiles */
  double fast; /* of its peak against that of 16 bits */
  double latency;
} TypeFigures;

static double
first_of (double own, double other)
{
  return own > 0 ? own : other;
}

static TypeFigures
figures_of (const GpuProfile *gpu, const ExpertWork *work)
{
  double peak = gpu->matmul_16bit.value, own = gpu->experts_efficiency.value,
         other = gpu->matmul_efficiency.value, latency = gpu->experts_latency.value;

  if (work->dtype == DTYPE_FP8)
    {
      peak = gpu->matmul_fp8.value;
      own = work->block_scaled ? gpu->experts_fp8_block_efficiency.value
                               : gpu->experts_fp8_efficiency.value;
      other = work->block_scaled ? gpu->matmul_fp8_block_efficiency.value
                                 : gpu->matmul_fp8_efficiency.value;
      latency = work->block_scaled ? gpu->experts_fp8_block_latency.value
                                   : gpu->experts_fp8_latency.value;
    }
  else if (work->dtype == DTYPE_FP4)
    {
      peak = gpu->matmul_fp4.value;
      own = gpu->experts_fp4_efficiency.value;
      other = gpu->matmul_fp4_efficiency.value;
      latency = gpu->experts_fp4_latency.value;
    }
  return (TypeFigures){ .rate = peak / gpu->sms.value
                                * first_of (own, first_of (other, gpu->matmul_efficiency.value)),
                        .fast = peak / gpu->matmul_16bit.value,
                        .latency = first_of (latency, KERNELS * gpu->kernel_latency.value) };
}

double
repeated_bandwidth (const GpuProfile *gpu, double all)
{
  const double cache = KEPT * gpu->l2_bytes.value,
               hbm = gpu->hbm_bandwidth.value * gpu->stream_efficiency.value;
  const double found = cache > 0 ? CLAMP (2 - all / cache, 0, 1) : 0;

  return 1 / ((1 - found) / hbm + found / MAX (gpu->l2_bandwidth.value, hbm));
}

/* A tile of M rows and N columns, DEPTH deep: the slower of its products and their operands. */
static double
tile_seconds (const GpuProfile *gpu, const ExpertWork *work, const TypeFigures *type, double m,
              double n, double depth)
{
  const double feed =
      first_of (gpu->experts_operand_bandwidth.value, gpu->matmul_operand_bandwidth.value);
  const double multiply = 2 * m * n / type->rate, overhead = gpu->experts_k_overhead.value > 0
                                                                 ? gpu->experts_k_overhead.value
                                                                 : gpu->matmul_k_overhead.value;
  const double operands = feed > 0 ? (m + n) * work->bytes / feed : 0;

  return MAX (multiply, operands) * depth + multiply * overhead * type->fast;
}

/* One grouped product of N columns and K deep, by the tile that suits it; ALL: as below. */
static double
product_seconds (const GpuProfile *gpu, const ExpertWork *work, const TypeFigures *type, double n,
                 double k, double all)
{
  const ExpertLoads *loads = work->loads;
  const double bytes = loads->used * n * k * work->bytes + loads->rows * (k * work->bytes + n * 2);
  const double memory = bytes / repeated_bandwidth (gpu, all),
               most = gpu->tile_m.value * gpu->tile_n.value;
  double best = INFINITY;

  for (guint i = 0; i < EXPERT_N_SIDES; i++)
    for (guint j = 0; j < G_N_ELEMENTS (columns); j++)
      {
        const double m = EXPERT_LEAST_SIDE << i,
                     waves = ceil (loads->tiles[i] * ceil (n / columns[j]) / gpu->sms.value);

        if (m * columns[j] <= most)
          best = MIN (best, waves * tile_seconds (gpu, work, type, m, columns[j], k));
      }
  return cbrt (best * best * best + memory * memory * memory);
}

double
expert_seconds (const GpuProfile *gpu, const ExpertWork *work)
{
  const ExpertLoads *loads = work->loads;
  const TypeFigures  type = figures_of (gpu, work);
  const double       hidden = work->hidden, inter = work->inter, up = work->gates * inter;
  const double       activations = loads->rows * (2 * hidden + inter) * 2;
  const double       all = loads->used * hidden * (inter + up) * work->bytes + activations;
  const double       moved = loads->rows
                       * ((2 + work->bytes) * hidden     /* sorted, */
                          + 2 * up + work->bytes * inter /* activated, */
                          + 4 * hidden);                 /* and summed */

  return type.latency + moved / repeated_bandwidth (gpu, activations)
         + product_seconds (gpu, work, &type, up, hidden, all)
         + product_seconds (gpu, work, &type, hidden, inter, all);
}
