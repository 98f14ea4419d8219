/* Measured matrix products beside the model of kernel.c. */
#include <math.h>

#include "cost/kernel/kernel.h"

/*
 * Weight of the model itself among the measured products; found with their distances' unit by
 * leaving each of 80 products of an H100 out.
 */
#define MODEL_WEIGHT 0.3

enum
{
  N_SIZES = 4
};

typedef struct
{
  double   size[N_SIZES]; /* log2 of batch, m, n, k */
  double   ratio;         /* log of measured over modelled time */
  gboolean fp32;
} Correction;

struct _KernelModel
{
  const GpuProfile *gpu;
  GArray           *corrections;
};

static void
log_sizes (const KernelDesc *kernel, double size[N_SIZES])
{
  size[0] = kernel->streams == 1 ? 0 : log2 ((double) kernel->batch); /* in turn: each alone */
  size[0] += log2 (MAX (kernel->turns, 1));
  size[1] = log2 ((double) kernel->m);
  size[2] = log2 ((double) kernel->n);
  size[3] = log2 ((double) kernel->k);
}

/* Products are measured alone and for a short time: at the clock of GPU's short measurements. */
static Correction
correction_new (const GpuProfile *gpu, const MatmulPoint *point)
{
  double     bytes = (point->fp32 ? 4 : 2) * point->batch;
  KernelDesc kernel = {
    .kind = KERNEL_MATMUL,
    .dtype = point->fp32 ? DTYPE_FP32 : DTYPE_BF16,
    .batch = (guint64) point->batch,
    .m = (guint64) point->m,
    .n = (guint64) point->n,
    .k = (guint64) point->k,
    .launches = 1,
    .flops = 2 * point->batch * point->m * point->n * point->k,
    .read_bytes = bytes * (point->m + point->n) * point->k,
    .write_bytes = bytes * point->m * point->n,
  };
  KernelCost cost;
  Correction self = { .fp32 = point->fp32 };

  kernel_cost (gpu, &kernel, &cost);
  self.ratio = log (point->seconds / cost.alone);
  log_sizes (&kernel, self.size);
  return self;
}

KernelModel *
kernel_model_new (const GpuProfile *gpu)
{
  KernelModel *self = g_new0 (KernelModel, 1);
  GpuProfile   cool = gpu->measured_on != NULL ? *gpu->measured_on : *gpu;

  self->gpu = gpu;
  self->corrections = g_array_new (FALSE, FALSE, sizeof (Correction));
  cool.sustained_clock.value = 1;
  cool.release = NULL; /* they are of today's kernels */
  for (guint i = 0; gpu->matmul_curve != NULL && i < gpu->matmul_curve->len; i++)
    {
      Correction one = correction_new (&cool, &g_array_index (gpu->matmul_curve, MatmulPoint, i));

      g_array_append_val (self->corrections, one);
    }
  return self;
}

void
kernel_model_free (KernelModel *self)
{
  g_array_unref (self->corrections);
  g_free (self);
}

static double
weight_of (const Correction *self, const double size[N_SIZES])
{
  double square = 0;

  for (guint i = 0; i < N_SIZES; i++)
    square += (self->size[i] - size[i]) * (self->size[i] - size[i]);
  return exp (-square / 2);
}

/* Measured over modelled time of products like KERNEL. */
static double
ratio_of (const KernelModel *self, const KernelDesc *kernel)
{
  double size[N_SIZES], sum = 0, weights = MODEL_WEIGHT;

  log_sizes (kernel, size);
  for (guint i = 0; i < self->corrections->len; i++)
    {
      const Correction *one = &g_array_index (self->corrections, Correction, i);
      double weight = one->fp32 == (kernel->dtype == DTYPE_FP32) ? weight_of (one, size) : 0;

      sum += weight * one->ratio;
      weights += weight;
    }
  return exp (sum / weights);
}

void
kernel_model_cost (const KernelModel *self, const KernelDesc *kernel, KernelCost *cost)
{
  double ratio;

  kernel_cost (self->gpu, kernel, cost);
  if (kernel->kind != KERNEL_MATMUL || kernel->dtype == DTYPE_FP8 || self->corrections->len == 0)
    return; /* nothing of fp8 is measured */
  ratio = ratio_of (self, kernel);
  cost->wave_seconds *= ratio;
  cost->hbm_bytes *= ratio;
  cost->latency *= ratio;
  cost->alone *= ratio;
}
