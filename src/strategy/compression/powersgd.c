/*
 * PowerSGD: a matrix M of n x m gradients is sent as P (n x r) and Q (m x r).
 *
 * A bucket: errors of the last step are added to it and it is cloned; tensors that are not
 * compressed are laid side by side; Q is orthogonalised, and P = M Q. Then, behind the collectives
 * that they wait for: the rest is all-reduced and laid back, P all-reduced and orthogonalised,
 * Q = M^T P all-reduced, M = P Q^T written, and what that has lost is kept. The first part runs
 * where gradients are made, the second on the stream of collectives, as the callbacks of PyTorch's
 * futures run off the compute stream. Sources: Vogels et al., arXiv:1905.13727; PyTorch,
 * torch/distributed/algorithms/ddp_comm_hooks/powerSGD_hook.py.
 */
#include "strategy/compression/compression-private.h"
#include "strategy/compression/l-greco.h"
#include "strategy/compression/layer-ranks.h"
#include "strategy/emit/common.h"

#include <math.h>

/* A matrix of a tensor's first dimension and all others, and its rank. */
typedef struct
{
  guint64 n, m, rank;
} Factor;

typedef struct
{
  StrategyRun            *run;
  const CompressedBucket *bucket;
  GArray                 *factors; /* Factor: of what is compressed */
  Dtype                   dtype;
  guint                   size; /* bytes of an element */
  guint64                 rest, p, q;
  BufferRef               clone, rest_buffer, p_buffer, q_buffer;
  StreamRef               stream; /* that takes what is emitted now */
} PowersgdBucket;

typedef enum
{
  PRODUCT_P,
  PRODUCT_Q,
  PRODUCT_M,
} Product;

/* ---- what a bucket emits --------------------------------------------------------------------- */

static BufferRef
take (PowersgdBucket *self, guint64 elements, const char *label)
{
  return schedule_alloc_on (self->run->b, self->stream, PLACE_HBM, POOL_COMMUNICATION,
                            elements * self->size, label);
}

static void
give (PowersgdBucket *self, BufferRef buffer)
{
  if (buffer == SCHEDULE_NONE)
    return;
  if (self->bucket->made == self->bucket->stream)
    schedule_free (self->run->b, buffer);
  else
    schedule_free_after (self->run->b, buffer,
                         schedule_record (self->run->b, self->bucket->stream));
}

/* A pass that reads READ and writes WRITTEN elements. */
static void
pass (PowersgdBucket *self, const char *name, double read, double written, guint launches)
{
  KernelDesc kernel = kernel_desc_stream (KERNEL_CODEC, name, self->dtype, read * self->size,
                                          written * self->size, launches);

  schedule_kernel (self->run->b, self->stream, &kernel);
}

/* The op emitted last does ACCESS to the gradients; */
static void
use (PowersgdBucket *self, ScheduleAccess access)
{
  self->bucket->use (self->run, self->bucket->data, access);
}

/* to a buffer of the bucket, if there is one; */
static void
use_buffer (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access)
{
  if (buffer != SCHEDULE_NONE)
    schedule_uses (self->run->b, buffer, SCHEDULE_WHOLE, access);
}

/* to the parts of its units of what lives from step to step. */
static void
use_kept (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access)
{
  for (guint i = 0; i < self->bucket->n_units; i++)
    schedule_uses (self->run->b, buffer, self->bucket->units[i], access);
}

/* Those that live on are one buffer, of which an op may read one and write the other. */
static void
use_factors (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access)
{
  if (self->bucket->factors != SCHEDULE_NONE)
    use_kept (self, self->bucket->factors, ACCESS_READ_WRITE);
  else
    use_buffer (self, buffer, access);
}

/* Errors of the last step are added to the gradients, which are cloned. */
static void
add_errors (PowersgdBucket *self)
{
  double all = (double) self->bucket->elements;

  pass (self, "error_add", 2 * all, all, 1);
  use (self, ACCESS_READ_WRITE);
  use_kept (self, self->bucket->errors, ACCESS_READ);
  self->clone = take (self, self->bucket->elements, "clone of a bucket");
  pass (self, "error_clone", all, all, 1);
  use (self, ACCESS_READ);
  use_buffer (self, self->clone, ACCESS_WRITE);
}

static void
keep_errors (PowersgdBucket *self)
{
  double all = (double) self->bucket->elements;

  pass (self, "error_keep", 2 * all, all, 1);
  use (self, ACCESS_READ);
  use_buffer (self, self->clone, ACCESS_READ);
  use_kept (self, self->bucket->errors, ACCESS_WRITE);
}

/*
 * Gram-Schmidt, column by column: a norm, a sum and a division; then, but for the last one, its
 * product with the C columns behind it, their sums, the outer product, and the difference.
 */
static void
orthogonalise (PowersgdBucket *self, BufferRef buffer, gboolean left)
{
  for (guint i = 0; i < self->factors->len; i++)
    {
      const Factor *f = &g_array_index (self->factors, Factor, i);
      double        n = (double) (left ? f->n : f->m), read = 0, written = 0;

      for (guint64 c = 0; c < f->rank; c++)
        {
          read += 2 * n + (c > 0 ? 2 * n + 4 * n * (double) c : 0);
          written += n + 3 * n * (double) c;
        }
      pass (self, "orthogonalise", read, written, (guint) (7 * f->rank - 4));
      use_factors (self, buffer, ACCESS_READ_WRITE);
    }
}

static void
multiply (PowersgdBucket *self, Product which)
{
  static const char *const names[] = { "powersgd_p", "powersgd_q", "powersgd_m" };

  for (guint i = 0; i < self->factors->len; i++)
    {
      const Factor *f = &g_array_index (self->factors, Factor, i);
      KernelDesc    kernel = { .kind = KERNEL_MATMUL,
                               .name = names[which],
                               .dtype = self->dtype,
                               .m = which == PRODUCT_Q ? f->m : f->n,
                               .n = which == PRODUCT_M ? f->m : f->rank,
                               .k = which == PRODUCT_P   ? f->m
                                    : which == PRODUCT_Q ? f->n
                                                         : f->rank,
                               .batch = 1,
                               .launches = 1,
                               .module = -1 };

      kernel.flops = 2.0 * (double) kernel.m * (double) kernel.n * (double) kernel.k;
      kernel.read_bytes = (double) ((kernel.m + kernel.n) * kernel.k * self->size);
      kernel.write_bytes = (double) (kernel.m * kernel.n * self->size);
      schedule_kernel (self->run->b, self->stream, &kernel);
      use (self, which == PRODUCT_M ? ACCESS_WRITE : ACCESS_READ);
      use_factors (self, self->p_buffer, which == PRODUCT_P ? ACCESS_WRITE : ACCESS_READ);
      use_factors (self, self->q_buffer, which == PRODUCT_Q ? ACCESS_WRITE : ACCESS_READ);
    }
}

static void
sum (PowersgdBucket *self, guint64 elements, const char *label)
{
  schedule_collective (self->run->b, self->stream,
                       strategy_comm (self->run, self->bucket->kind, ROUTE_REDUCE, 0),
                       COLLECTIVE_ALL_REDUCE, payload_plain (elements, self->dtype), label);
}

/* ---- L-GreCo --------------------------------------------------------------------------------- */

/*
 * What L-GreCo's choice of ranks costs (layer-ranks.h). Gradients of 10 steps are added up
 * in fp32; 5 power iterations of two products each find what every rank that is tried loses of each
 * matrix; the host chooses. Each step has the part of it that falls to one of `adjust_freq`, so
 * that a step is the mean of them all. Source: LGrCo/L-GreCo, powerSGD_hook.py.
 */
#define GRECO_GRADIENTS  10
#define GRECO_ITERATIONS 5

static void
add_to_sums (PowersgdBucket *self)
{
  const CompressionOptions *o = self->run->policy->kinds[self->bucket->kind].compression;
  const double times = MIN (GRECO_GRADIENTS, (double) o->adjust_freq) / (double) o->adjust_freq;
  const double bytes = times * (double) self->bucket->elements;
  const double read = bytes * (self->size + SUM_BYTES);
  KernelDesc   kernel =
      kernel_desc_stream (KERNEL_CODEC, "l_greco_add", self->dtype, read, bytes * SUM_BYTES, 1);

  schedule_kernel (self->run->b, self->stream, &kernel);
  use (self, ACCESS_READ);
  use_kept (self, self->bucket->sums, ACCESS_READ_WRITE);
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
static void
choose_ranks (StrategyRun *run, guint kind, const CompressorPlan *plan, BufferRef sums)
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

/* ---- the compressor -------------------------------------------------------------------------- */

static Factor
factor_of (const CompressionOptions *o, const CompressorPlan *plan, const PlanUnit *unit, guint t)
{
  const TensorDesc *tensor = &unit->trainable[t];
  Factor            f = { .n = tensor->shape[0], .m = tensor->elements / tensor->shape[0] };

  f.rank = plan != NULL ? layer_ranks_of ((const LayerRanks *) plan, unit->layer, tensor)
                        : layer_ranks_uniform (o, tensor);
  return f;
}

static CompressorPlan *
powersgd_plan_new (const PlanInput *in, gconstpointer options, guint kind)
{
  g_autoptr (DiagList) said = diag_list_new (); /* by the check */

  return (CompressorPlan *) layer_ranks_new (in, options, kind, said);
}

static void
powersgd_plan_free (CompressorPlan *plan)
{
  layer_ranks_free ((LayerRanks *) plan);
}

static guint64
powersgd_kept (gconstpointer options, const CompressorPlan *plan, const PlanUnit *unit)
{
  const CompressionOptions *o = options;
  guint64                   sum = 0;

  for (guint t = 0; t < unit->n_trainable && o->warm_start; t++)
    {
      Factor f = factor_of (o, plan, unit, t);

      sum += (f.n + f.m) * f.rank;
    }
  return sum;
}

static const char *
powersgd_sends (gconstpointer options)
{
  return ((const CompressionOptions *) options)->layer_ranks == LAYER_RANKS_GRECO
             ? "powersgd with ranks by l-greco"
             : "powersgd";
}

static gboolean
powersgd_keeps_errors (gconstpointer options)
{
  return ((const CompressionOptions *) options)->error_feedback;
}

static gboolean
powersgd_keeps_sums (gconstpointer options)
{
  return layer_ranks_adjusts (options);
}

/* ---- a bucket -------------------------------------------------------------------------------- */

static void
sort_tensors (PowersgdBucket *self)
{
  const CompressionOptions *o = self->run->policy->kinds[self->bucket->kind].compression;

  for (guint i = 0; i < self->bucket->n_units; i++)
    {
      const PlanUnit *unit = &self->run->units[self->bucket->units[i]];

      for (guint t = 0; t < unit->n_trainable; t++)
        {
          Factor f = factor_of (o, self->bucket->plan, unit, t);

          self->p += f.n * f.rank;
          self->q += f.m * f.rank;
          self->rest += f.rank > 0 ? 0 : unit->trainable[t].elements;
          if (f.rank > 0)
            g_array_append_val (self->factors, f);
        }
    }
}

static void
encode (PowersgdBucket *self)
{
  if (self->bucket->sums != SCHEDULE_NONE)
    add_to_sums (self);
  if (self->bucket->errors != SCHEDULE_NONE)
    add_errors (self);
  if (self->rest > 0)
    {
      self->rest_buffer = take (self, self->rest, "uncompressed gradients");
      pass (self, "powersgd_cat", (double) self->rest, (double) self->rest, 1);
      use (self, ACCESS_READ);
      use_buffer (self, self->rest_buffer, ACCESS_WRITE);
    }
  if (self->factors->len == 0)
    return;
  if (self->bucket->factors == SCHEDULE_NONE)
    {
      self->p_buffer = take (self, self->p, "P of a bucket");
      self->q_buffer = take (self, self->q, "Q of a bucket");
      pass (self, "powersgd_random_q", 0, (double) self->q, self->factors->len);
      use_buffer (self, self->q_buffer, ACCESS_WRITE);
    }
  orthogonalise (self, self->q_buffer, FALSE);
  multiply (self, PRODUCT_P);
}

static void
reduce (PowersgdBucket *self)
{
  if (self->rest > 0)
    {
      sum (self, self->rest, "all_reduce_rest");
      use_buffer (self, self->rest_buffer, ACCESS_READ_WRITE);
      pass (self, "powersgd_uncat", (double) self->rest, (double) self->rest, 1);
      use_buffer (self, self->rest_buffer, ACCESS_READ);
      use (self, ACCESS_WRITE);
    }
  if (self->factors->len > 0)
    {
      sum (self, self->p, "all_reduce_p");
      use_factors (self, self->p_buffer, ACCESS_READ_WRITE);
      orthogonalise (self, self->p_buffer, TRUE);
      multiply (self, PRODUCT_Q);
      sum (self, self->q, "all_reduce_q");
      use_factors (self, self->q_buffer, ACCESS_READ_WRITE);
      multiply (self, PRODUCT_M);
    }
  if (self->bucket->errors != SCHEDULE_NONE)
    keep_errors (self);
}

static void
powersgd_reduce (StrategyRun *run, const CompressedBucket *bucket)
{
  g_autoptr (GArray) factors = g_array_new (FALSE, FALSE, sizeof (Factor));
  PowersgdBucket     self = {
        .run = run, .bucket = bucket, .factors = factors, .stream = bucket->made
  };

  self.dtype = reduced_dtype (run);
  self.size = reduced_bytes (run);
  self.clone = self.rest_buffer = self.p_buffer = self.q_buffer = SCHEDULE_NONE;
  sort_tensors (&self);
  encode (&self);
  if (bucket->stream != bucket->made)
    schedule_wait_stream (run->b, bucket->stream, bucket->made);
  self.stream = bucket->stream;
  reduce (&self);
  give (&self, self.clone);
  give (&self, self.rest_buffer);
  give (&self, self.p_buffer);
  give (&self, self.q_buffer);
}

const Compressor compressor_powersgd = {
  .name = "powersgd",
  .sends = powersgd_sends,
  .keeps_errors = powersgd_keeps_errors,
  .keeps_sums = powersgd_keeps_sums,
  .plan_new = powersgd_plan_new,
  .plan_free = powersgd_plan_free,
  .kept = powersgd_kept,
  .reduce = powersgd_reduce,
  .step_end = choose_ranks,
  .form = powersgd_form,
};
