#include "cost/kernel/kernel.h"

#include <math.h>

#include "cost/kernel/decode-private.h"
#include "hardware/profile/kernel-release.h"

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

/*
 * The same where operands' way to an SM is known, which says what a small tile costs: libraries cut
 * thin products this finely.
 */
#define MIN_FED_DEPTH 128
#define MAX_FED_SPLIT 32

/* A tile's narrow side, for products of few rows or columns, and the sides of the others. */
#define LEAST_SIDE 8
static const double sides[] = { 64, 128, 256 };

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
  if (dtype == DTYPE_FP8)
    return gpu->matmul_fp8.value;
  return dtype == DTYPE_FP4 ? gpu->matmul_fp4.value : gpu->matmul_16bit.value;
}

/* What a tile's main loop reaches of that, under the release that runs. */
static double
matmul_efficiency (const GpuProfile *gpu, const KernelDesc *kernel)
{
  double own = 0, todays;

  if (kernel->dtype == DTYPE_FP8)
    own = kernel->block_scaled && gpu->matmul_fp8_block_efficiency.value > 0
              ? gpu->matmul_fp8_block_efficiency.value
              : gpu->matmul_fp8_efficiency.value;
  else if (kernel->dtype == DTYPE_FP4)
    own = gpu->matmul_fp4_efficiency.value;
  todays = own > 0 ? own : gpu->matmul_efficiency.value;
  return gpu->release != NULL ? todays * gpu->release->matmul.value : todays;
}

/*
 * A tile's start and end take their time whatever the type of the operands: in elements of the
 * inner dimension that is more where those are multiplied faster.
 */
static double
k_overhead (const GpuProfile *gpu, Dtype dtype)
{
  const gboolean narrow = dtype == DTYPE_FP8 || dtype == DTYPE_FP4;
  const double   faster = narrow ? matmul_rate (gpu, dtype) / gpu->matmul_16bit.value : 1;

  return gpu->matmul_k_overhead.value * faster;
}

static double
hbm_seconds (const GpuProfile *gpu, const KernelCost *cost)
{
  return cost->hbm_bytes / gpu->hbm_bandwidth.value;
}

/*
 * A tile's rate against the profile's full tile: it does m n / (m + n) FLOPs, up to a factor,
 * between two reads of an operand's element; the power says how much of those reads is not hidden.
 */
static double
tile_rate (const GpuProfile *gpu, double m, double n)
{
  double full_m = gpu->tile_m.value, full_n = gpu->tile_n.value;
  double relative = MIN (m * n / (m + n) * (full_m + full_n) / (full_m * full_n), 1);

  if (gpu->small_tile_power.value == 1)
    return relative;
  return gpu->small_tile_power.value == 0.5 ? sqrt (relative) /* exact everywhere */
                                            : pow (relative, gpu->small_tile_power.value);
}

/* FLOP/s of the matrix units under hours of load, against DTYPE's peak. */
static double
sustained_rate (const GpuProfile *gpu, Dtype dtype)
{
  return matmul_rate (gpu, dtype) * gpu->sustained_clock.value;
}

/* The profile says how fast operands come to an SM, and so what a small tile costs. */
static gboolean
is_fed (const GpuProfile *gpu)
{
  return gpu->matmul_operand_bandwidth.value > 0;
}

/* What all tiles of one product share. */
typedef struct
{
  double rate;     /* FLOP/s of an SM's main loop */
  double element;  /* bytes of an operand's, */
  double weight;   /* and of the k x n operand's */
  double overhead; /* of a tile, in inner-dimension elements */
} TileUnits;

static TileUnits
tile_units (const GpuProfile *gpu, const KernelDesc *kernel)
{
  const double element = dtype_bits (kernel->dtype) / 8.0;

  return (TileUnits){
    .rate = sustained_rate (gpu, kernel->dtype) * matmul_efficiency (gpu, kernel) / gpu->sms.value,
    .element = element,
    .weight = kernel->weight_bytes > 0 ? kernel->weight_bytes : element,
    .overhead = k_overhead (gpu, kernel->dtype),
  };
}

/*
 * Seconds of one tile, DEPTH deep. Its operands come from L2 while it multiplies, the slower of
 * both binds; where the profile does not say how fast they come, a smaller tile is slower by what
 * it reuses less.
 */
static double
tile_seconds (const GpuProfile *gpu, const TileUnits *units, const TileChoice *tile, double depth)
{
  const double flops = 2 * tile->m * tile->n,
               bytes = tile->m * units->element + tile->n * units->weight;

  if (!is_fed (gpu))
    return flops * (depth + units->overhead) / (units->rate * tile_rate (gpu, tile->m, tile->n));
  return MAX (flops / units->rate, bytes / gpu->matmul_operand_bandwidth.value) * depth
         + flops * units->overhead / units->rate;
}

/*
 * What both take together: a tile waits for memory while its pipeline fills and ends, so neither
 * hides the other wholly where they are alike. The cubes' sum is their maximum where they are not.
 */
static double
overlap (const GpuProfile *gpu, double a, double b)
{
  return is_fed (gpu) ? cbrt (a * a * a + b * b * b) : MAX (a, b);
}

/*
 * Puts one tile choice into BEST where it is faster, and returns its thread blocks; `alone` leaves
 * out START, the latency of a product that is whole. Of one in parts, another kernel adds these up.
 */
static double
matmul_try (const GpuProfile *gpu, const KernelDesc *kernel, const TileUnits *units,
            const TileChoice *tile, double start, KernelCost *best)
{
  const double sms = gpu->sms.value, least = is_fed (gpu) ? MIN_FED_DEPTH : MIN_SPLIT_DEPTH;
  const double depth =
      tile->split > 1 ? MAX ((double) kernel->k / tile->split, least) : (double) kernel->k;
  const double partials = tile->split > 1
                              ? 8.0 * tile->split * kernel->m * kernel->n * kernel->batch
                              : 0; /* fp32, written and read */
  const double sum = tile->split > 1 && is_fed (gpu) ? gpu->kernel_latency.value : 0;
  const double blocks =
      ceil (kernel->m / tile->m) * ceil (kernel->n / tile->n) * kernel->batch * tile->split;
  const double one = tile_seconds (gpu, units, tile, depth);
  const double hbm_bytes = (best->bytes + partials) / gpu->stream_efficiency.value;
  const double seconds = ceil (blocks / sms) * one, memory = hbm_bytes / gpu->hbm_bandwidth.value;
  const double longer = MAX (seconds, memory);
  double       together;

  if (sum + longer > best->alone)
    return blocks; /* both together take no less than the longer */
  together = overlap (gpu, seconds, memory);
  if (sum + together < best->alone)
    {
      best->wave_units = blocks;
      best->wave_seconds = one * (together / longer);
      best->hbm_bytes = hbm_bytes * (together / longer);
      best->latency = start + sum;
      best->alone = sum + together;
    }
  return blocks;
}

/*
 * Tries one tile shape with the inner dimension whole and, while that leaves SMs idle, cut in 2, 4,
 * .. parts. A part of less than the least depth takes as long as one of it, so that no deeper
 * product takes less.
 */
static void
matmul_try_splits (const GpuProfile *gpu, const KernelDesc *kernel, const TileUnits *units,
                   double m, double n, double start, KernelCost *best)
{
  const guint least = is_fed (gpu) ? MIN_FED_DEPTH : MIN_SPLIT_DEPTH,
              most = is_fed (gpu) ? MAX_FED_SPLIT : MAX_SPLIT;

  for (guint split = 1; split <= most; split *= 2)
    {
      const TileChoice tile = { m, n, split };

      if (split > 1 && 2 * kernel->k <= (guint64) least * split)
        return; /* half as many parts are as deep as they may be */
      if (matmul_try (gpu, kernel, units, &tile, start, best) >= gpu->sms.value)
        return;
    }
}

/* Every tile up to the profile's, and one as narrow as the product is. */
static void
matmul_try_fed (const GpuProfile *gpu, const KernelDesc *kernel, const TileUnits *units,
                double start, KernelCost *best)
{
  const double  most = gpu->tile_m.value * gpu->tile_n.value;
  const guint64 thin = MIN (kernel->m, kernel->n);
  double        narrow = LEAST_SIDE;

  for (guint i = G_N_ELEMENTS (sides); i-- > 0;)
    for (guint j = G_N_ELEMENTS (sides); j-- > 0;)
      if (sides[i] * sides[j] <= most)
        matmul_try_splits (gpu, kernel, units, sides[i], sides[j], start, best);
  while (narrow < thin)
    narrow *= 2;
  for (guint i = 0; narrow < sides[0] && i < G_N_ELEMENTS (sides); i++)
    matmul_try_splits (gpu, kernel, units, kernel->m <= kernel->n ? narrow : sides[i],
                       kernel->m <= kernel->n ? sides[i] : narrow, start, best);
}

/*
 * The fastest of the profile's tile, upright and lying, its halves and its quarter: what a
 * library's heuristics come to. Ties keep the earlier, larger one.
 */
static void
matmul_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  const double    start = cost->latency, m = gpu->tile_m.value, n = gpu->tile_n.value;
  const double    shapes[][2] = { { m, n },     { n, m },     { m / 2, n },    { m, n / 2 },
                                  { n / 2, m }, { n, m / 2 }, { m / 2, n / 2 } };
  const TileUnits units = tile_units (gpu, kernel);
  KernelCost      best = *cost;

  best.alone = INFINITY;
  if (is_fed (gpu))
    matmul_try_fed (gpu, kernel, &units, start, &best);
  else
    for (guint i = 0; i < G_N_ELEMENTS (shapes); i++)
      matmul_try_splits (gpu, kernel, &units, shapes[i][0], shapes[i][1], start, &best);
  best.alone -= best.latency - start;
  *cost = best;
}

/* ---- fused attention ------------------------------------------------------------------------- */

#define FLASH_BLOCK \
  128 /* query rows (backward: keys) of a thread block. [FlashAttention-2, section 3.3] */

/* Head sizes that kernels are compiled for: version 1 powers of two, later ones multiples of 32. */
static double
compiled_head_dim (const KernelDesc *kernel)
{
  double size = 32;

  if (kernel->flash != FLASH_1)
    return ceil ((double) kernel->k / 32) * 32;
  while (size < kernel->k)
    size *= 2;
  return size;
}

/* Where a GPU has no figure of a kernel the library falls back: version 2 runs everywhere. */
static const struct
{
  gsize forward, backward; /* of GpuProfile: at a head size of 128, */
  gsize softmax;           /* and the exponentials' cost */
  guint fallback;          /* FlashKernel */
  gsize share[2];          /* of KernelRelease, forward and backward; 0: it has no such kernel */
} flash_kernels[] = {
#define FIGURE(member) G_STRUCT_OFFSET (GpuProfile, member)
#define SHARE(member)  G_STRUCT_OFFSET (KernelRelease, member)
  [FLASH_1] = { FIGURE (flash1_efficiency),
                FIGURE (flash1_backward_efficiency),
                FIGURE (attention_softmax_dims),
                FLASH_2,
                { SHARE (flash), SHARE (flash_backward) } },
  [FLASH_2] = { FIGURE (attention_efficiency),
                FIGURE (attention_backward_efficiency),
                FIGURE (attention_softmax_dims),
                FLASH_NONE,
                { SHARE (flash), SHARE (flash_backward) } },
  [FLASH_3] = { FIGURE (flash3_efficiency),
                FIGURE (flash3_backward_efficiency),
                FIGURE (cudnn_softmax_dims),
                FLASH_CUDNN,
                { 0, 0 } },
  /* measured forward alone */
  [FLASH_TRTLLM] = { FIGURE (fmha_efficiency),
                     FIGURE (cudnn_backward_efficiency),
                     FIGURE (fmha_softmax_dims),
                     FLASH_CUDNN,
                     { 0, 0 } },
  [FLASH_CUDNN] = { FIGURE (cudnn_efficiency),
                    FIGURE (cudnn_backward_efficiency),
                    FIGURE (cudnn_softmax_dims),
                    FLASH_2,
                    { SHARE (cudnn), SHARE (cudnn_backward) } },
#undef SHARE
#undef FIGURE
};

/* Of a fused kernel whose fp8 variant has a figure of its own. */
static gboolean
has_fp8_figure (const GpuProfile *gpu, const KernelDesc *kernel)
{
  return kernel->flash == FLASH_TRTLLM && kernel->dtype == DTYPE_FP8
         && gpu->fmha_fp8_efficiency.value > 0;
}

static double
figure_at (gconstpointer profile, gsize offset)
{
  return ((const Figure *) (const void *) ((const guint8 *) profile + offset))->value;
}

/* Of a kernel's figure, what that of the release that runs reaches. */
static double
released_share (const GpuProfile *gpu, guint flash, gboolean forward)
{
  const gsize share = flash_kernels[flash].share[forward ? 0 : 1];

  return gpu->release != NULL && share > 0 ? figure_at (gpu->release, share) : 1;
}

/* Share of the peak at a head size of 128, and in *SOFTMAX what an exponential costs. */
static double
flash_figure (const GpuProfile *gpu, guint flash, gboolean forward, double *softmax)
{
  double value = 0;

  for (; flash != FLASH_NONE && value == 0; flash = flash_kernels[flash].fallback)
    {
      value =
          figure_at (gpu, forward ? flash_kernels[flash].forward : flash_kernels[flash].backward)
          * released_share (gpu, flash, forward);
      *softmax = figure_at (gpu, flash_kernels[flash].softmax);
    }
  if (*softmax == 0)
    *softmax = gpu->attention_softmax_dims.value;
  return value;
}

/*
 * Share of the matrix peak at the kernel's head size. A pair of query and key costs 4 d FLOPs and
 * an exponential that is worth the profile's softmax dimensions more of d; its figures are for d =
 * 128.
 */
static double
flash_efficiency (const GpuProfile *gpu, const KernelDesc *kernel)
{
  double d = compiled_head_dim (kernel), softmax = 0;
  double at_128 = flash_figure (gpu, kernel->flash, kernel->kind == KERNEL_ATTENTION, &softmax);

  if (has_fp8_figure (gpu, kernel))
    at_128 = gpu->fmha_fp8_efficiency.value;

  return at_128 * d / (d + softmax) * (128 + softmax) / 128 * ((double) kernel->k / d);
}

/*
 * Below this share of all pairs a window ends the rows, which are then alike. Of the measured
 * kernels alone: with training's this is not checked.
 */
#define EVEN_SHARE 0.45

/*
 * Blocks on the diagonal of a causal mask are computed in full: half a block more for every row.
 * Where documents end, blocks begin anew, and the last one of each is on average half empty: as
 * much again, where their ends are not known (padded). Of several blocks the last one takes as long
 * as a full one. A head's longest block has up to twice its mean's work. Masked blocks of more than
 * one wave are dispatched as SMs become free, and lose half a block at the end; else waves are
 * whole.
 */
static void
attention_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  double   sms = gpu->sms.value, rows = (double) kernel->m;
  double   products = kernel->kind == KERNEL_ATTENTION ? 4 : 10;
  double   pairs = cost->flops / (products * (double) kernel->k * (double) kernel->batch);
  gboolean masked = kernel->packed || pairs < 0.75 * rows * rows;
  double   lost = MIN (FLASH_BLOCK, rows) * (kernel->packed ? 1 : 0.5);
  double   even_waste = masked ? 1 + lost * rows / pairs : 1;
  double   waste = kernel->padded > 0 ? kernel->padded : even_waste;
  double   column = ceil (rows / FLASH_BLOCK), blocks = column * (double) kernel->batch;
  double   filled = column > 1 && kernel->padded == 0 ? column * FLASH_BLOCK / rows : 1;
  double   rate = sustained_rate (gpu, kernel->dtype) * flash_efficiency (gpu, kernel) / sms;
  double   start = kernel->flash == FLASH_TRTLLM ? gpu->fmha_block_latency.value : 0;
  double   block_seconds = cost->flops * waste * filled / (rate * blocks) + start;
  gboolean even = kernel->flash == FLASH_TRTLLM && pairs < EVEN_SHARE * rows * rows;
  double   longest = masked && !even ? 2 * column / (column + 1) : 1;
  double   seconds = MAX (blocks / sms + 0.5, longest) * block_seconds;

  cost->hbm_bytes = cost->bytes / gpu->stream_efficiency.value;
  if (masked && blocks > sms)
    cost->sm_seconds = seconds * sms;
  else
    {
      cost->wave_units = blocks;
      cost->wave_seconds = longest * block_seconds;
      seconds = ceil (blocks / sms) * cost->wave_seconds;
    }
  cost->alone = MAX (seconds, hbm_seconds (gpu, cost));
}

/* ---- streaming kernels ----------------------------------------------------------------------- */

/* Of the HBM bandwidth. */
static double
stream_efficiency (const GpuProfile *gpu, const KernelDesc *kernel)
{
  double rows = kernel->kind == KERNEL_REDUCTION ? gpu->reduction_efficiency.value : 1;
  double all = gpu->stream_efficiency.value * rows;

  if (!kernel->widens || gpu->widening_bandwidth.value == 0)
    return all;
  return MIN (all, gpu->widening_bandwidth.value / gpu->hbm_bandwidth.value);
}

/* Of the HBM bandwidth where scatter_add_bandwidth is not known: an H100's share. [estimate] */
#define SCATTER_ADD_SHARE 0.07

static double
scatter_add_share (const GpuProfile *gpu)
{
  const double bandwidth = gpu->scatter_add_bandwidth.value;

  return bandwidth > 0 ? bandwidth / gpu->hbm_bandwidth.value : SCATTER_ADD_SHARE;
}

/*
 * Atomics are carried out in the L2 one element at a time, whatever its width up to 4 bytes, and
 * memory has nothing else to do meanwhile.
 */
static void
stream_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  cost->hbm_bytes = cost->bytes / stream_efficiency (gpu, kernel);
  if (kernel->scattered > 0)
    cost->hbm_bytes = MAX (cost->hbm_bytes, 2 * kernel->scattered / scatter_add_share (gpu));
  cost->alone = hbm_seconds (gpu, cost);
  cost->sm_seconds = STREAM_SM_SHARE * gpu->sms.value * cost->alone;
}

/*
 * What an exponential takes, all SMs at work: as FlashAttention-2's softmax, which waits for them
 * (flash_efficiency).
 */
static double
exponential_seconds (const GpuProfile *gpu)
{
  const double dims = gpu->attention_softmax_dims.value;
  const double pair =
      4 * 128 / (sustained_rate (gpu, DTYPE_BF16) * gpu->attention_efficiency.value);

  return pair * dims / (128 + dims);
}

/* Bytes at the streaming rate, or the exponentials of every token, channel and state. */
static void
scan_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  double seconds;

  stream_cost (gpu, kernel, cost);
  seconds = kernel->exponentials * exponential_seconds (gpu);
  cost->sm_seconds = MAX (cost->sm_seconds, seconds * gpu->sms.value);
  cost->alone = MAX (cost->alone, seconds);
}

/*
 * Products of a batch that run one after the other: each takes the tile that suits it, and whole
 * waves. As many waves as one has, each so many times as long, come to the same on any number of
 * SMs.
 */
static void
matmul_in_turn (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  const double times = (double) kernel->batch;
  KernelDesc   one = *kernel;
  KernelCost   each = { .bytes = cost->bytes / times };

  one.batch = 1;
  matmul_cost (gpu, &one, &each);
  cost->wave_units = each.wave_units;
  cost->wave_seconds = each.wave_seconds * times;
  cost->hbm_bytes = each.hbm_bytes * times;
  cost->latency += each.latency * times;
  cost->alone = each.alone * times;
}

/*
 * One of several products that streams run in turn: its last wave is filled up by the next one, so
 * that all together take the waves of a batch, and each its share of them.
 */
static void
matmul_by_turns (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  const double turns = kernel->turns;
  KernelDesc   all = *kernel;
  KernelCost   sum = { .bytes = cost->bytes * turns };

  all.batch *= kernel->turns;
  all.flops *= turns;
  matmul_cost (gpu, &all, &sum);
  cost->wave_units = sum.wave_units;
  cost->wave_seconds = sum.wave_seconds / turns;
  cost->hbm_bytes = sum.hbm_bytes / turns;
  cost->latency += sum.latency / turns;
  cost->alone = sum.alone / turns;
}

/* Kernels that follow each other on a stream; those of other streams hide each other's start. */
static double
kernels_in_turn (const KernelDesc *kernel)
{
  const double launches = kernel->launches;

  if (kernel->turns > 0)
    return launches / kernel->streams;
  return kernel->streams > 1 ? ceil (launches / kernel->streams) : launches;
}

void
kernel_cost (const GpuProfile *gpu, const KernelDesc *kernel, KernelCost *cost)
{
  *cost = (KernelCost){
    .flops = kernel->flops,
    .bytes = kernel->read_bytes + kernel->write_bytes,
    .launches = kernel->launches,
    .in_turn = kernels_in_turn (kernel),
  };
  cost->latency = gpu->kernel_latency.value * cost->in_turn;
  switch (kernel->kind)
    {
    case KERNEL_MATMUL:
      if (kernel->turns > 0)
        matmul_by_turns (gpu, kernel, cost);
      else if (kernel->streams == 1)
        matmul_in_turn (gpu, kernel, cost);
      else
        matmul_cost (gpu, kernel, cost);
      break;
    case KERNEL_ATTENTION:
    case KERNEL_ATTENTION_BACKWARD:
      attention_cost (gpu, kernel, cost);
      break;
    case KERNEL_DECODE:
      kernel_decode_cost (gpu, kernel, cost);
      break;
    case KERNEL_SCAN:
      scan_cost (gpu, kernel, cost);
      break;
    default:
      stream_cost (gpu, kernel, cost);
      break;
    }
  cost->alone += cost->latency;
}
