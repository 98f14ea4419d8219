/*
 * What L-GreCo's choice of ranks costs (strategy/layer-ranks.h). Gradients of 10 steps are added up
 * in fp32; 5 power iterations of two products each find what every rank that is tried loses of each
 * matrix; the host chooses. Each step has the part of it that falls to one of `adjust_freq`, so
 * that a step is the mean of them all. Source: LGrCo/L-GreCo, powerSGD_hook.py.
 */
#include "strategy/l-greco.h"
#include "strategy/powersgd-private.h"

#include <math.h>

#define GRECO_GRADIENTS  10
#define GRECO_ITERATIONS 5

void
powersgd_add_to_sums (PowersgdBucket *self)
{
  const CompressionOptions *o = self->run->policy->kinds[self->bucket->kind].compression;
  const double times = MIN (GRECO_GRADIENTS, (double) o->adjust_freq) / (double) o->adjust_freq;
  const double bytes = times * (double) self->bucket->elements;
  const double read = bytes * (self->size + SUM_BYTES);
  KernelDesc   kernel =
      kernel_desc_stream (KERNEL_CODEC, "l_greco_add", self->dtype, read, bytes * SUM_BYTES, 1);

  schedule_kernel (self->run->b, self->stream, &kernel);
  powersgd_use (self, ACCESS_READ);
  powersgd_use_kept (self, self->bucket->sums, ACCESS_READ_WRITE);
}

/*
 * What finds the errors of all ranks that are tried of MATRIX, as columns of one product a step: so
 * many as fall to each. Returns how many ranks these are.
 */
static guint64
find_errors (StrategyRun *run, const CompressionOptions *o, const TensorDesc *matrix,
             BufferRef sums, guint unit)
{
  guint64 first, n = layer_ranks_tried (o, matrix, &first);
  double  columns = 2.0 * GRECO_ITERATIONS * (double) n * ((double) first + ((double) n - 1) / 2);
  KernelDesc kernel = { .kind = KERNEL_MATMUL,
                        .name = "l_greco_errors",
                        .dtype = DTYPE_FP32,
                        .m = matrix->shape[0],
                        .n = (guint64) ceil (columns / (double) o->adjust_freq),
                        .k = matrix->elements / matrix->shape[0],
                        .batch = 1,
                        .launches = 1,
                        .module = -1 };

  if (n == 0)
    return 0;
  kernel.flops = 2.0 * (double) kernel.m * (double) kernel.n * (double) kernel.k;
  /* each product of its own reads the matrix */
  kernel.read_bytes = 2.0 * GRECO_ITERATIONS * (double) n / (double) o->adjust_freq
                      * (double) (matrix->elements * SUM_BYTES);
  schedule_kernel (run->b, SCHEDULE_COMPUTE, &kernel);
  schedule_uses (run->b, sums, unit, ACCESS_READ);
  return n;
}

/*
 * The part of a choice of ranks that falls to each step. The released code chooses on rank 0, and
 * all wait for it; here every rank does.
 */
void
powersgd_choose_ranks (StrategyRun *run, guint kind, const CompressorPlan *plan, BufferRef sums)
{
  const CompressionOptions *o = run->policy->kinds[kind].compression;
  guint64                   cells = 0;
  HostDesc                  work;

  if (plan == NULL || !layer_ranks_adjusts (o))
    return;
  for (guint u = 0; u < run->n_units; u++)
    for (guint t = 0; t < run->units[u].n_trainable && plan_unit_is (&run->units[u], kind); t++)
      cells += GRECO_BUCKETS * find_errors (run, o, &run->units[u].trainable[t], sums, u);
  cells /= (guint64) o->adjust_freq;
  work = host_desc_stream ("l_greco_choose", cells, (double) cells * 16, (double) cells * 8);
  schedule_host_op (run->b, SCHEDULE_COMPUTE, &work, FALSE);
}
