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
#include "strategy/common.h"
#include "strategy/compression-private.h"

/* A tensor's matrix: its first dimension and all others. */
typedef struct
{
  guint64 n, m, rank; /* rank 0: it is sent as it is */
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
  StreamRef               stream;
} Bucket;

static Factor
factor_of (const CompressionOptions *o, const TensorDesc *tensor)
{
  Factor f = { .n = tensor->shape[0], .m = tensor->elements / tensor->shape[0] };

  f.rank = MIN ((guint64) o->rank, MIN (f.n, f.m));
  if ((double) (f.n + f.m) * (double) f.rank * o->min_rate >= (double) f.n * (double) f.m)
    f.rank = 0;
  return f;
}

static guint64
powersgd_kept (gconstpointer options, const TensorDesc *tensors, guint n)
{
  const CompressionOptions *o = options;
  guint64                   sum = 0;

  for (guint t = 0; t < n && o->warm_start; t++)
    {
      Factor f = factor_of (o, &tensors[t]);

      sum += (f.n + f.m) * f.rank;
    }
  return sum;
}

/* ---- emission -------------------------------------------------------------------------------- */

static void
sort_tensors (Bucket *self)
{
  const StrategyRun *run = self->run;

  for (guint i = 0; i < self->bucket->n_units; i++)
    {
      const PlanUnit *unit = &run->units[self->bucket->units[i]];

      for (guint t = 0; t < unit->n_trainable; t++)
        {
          Factor f =
              factor_of (run->policy->kinds[self->bucket->kind].compression, &unit->trainable[t]);

          self->p += f.n * f.rank;
          self->q += f.m * f.rank;
          self->rest += f.rank > 0 ? 0 : unit->trainable[t].elements;
          if (f.rank > 0)
            g_array_append_val (self->factors, f);
        }
    }
}

static BufferRef
take (Bucket *self, guint64 elements, const char *label)
{
  return schedule_alloc_on (self->run->b, self->stream, PLACE_HBM, POOL_COMMUNICATION,
                            elements * self->size, label);
}

static void
give (Bucket *self, BufferRef buffer)
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
pass (Bucket *self, const char *name, double read, double written, guint launches)
{
  KernelDesc kernel = kernel_desc_stream (KERNEL_CODEC, name, self->dtype, read * self->size,
                                          written * self->size, launches);

  schedule_kernel (self->run->b, self->stream, &kernel);
}

static void
use (Bucket *self, ScheduleAccess access)
{
  self->bucket->use (self->run, self->bucket->data, access);
}

static void
use_buffer (Bucket *self, BufferRef buffer, ScheduleAccess access)
{
  if (buffer != SCHEDULE_NONE)
    schedule_uses (self->run->b, buffer, SCHEDULE_WHOLE, access);
}

/* What lives from step to step: the parts of the bucket's units. */
static void
use_kept (Bucket *self, BufferRef buffer, ScheduleAccess access)
{
  for (guint i = 0; i < self->bucket->n_units; i++)
    schedule_uses (self->run->b, buffer, self->bucket->units[i], access);
}

/* Those that live on are one buffer, of which an op may read one and write the other. */
static void
use_factors (Bucket *self, BufferRef buffer, ScheduleAccess access)
{
  if (self->bucket->factors != SCHEDULE_NONE)
    use_kept (self, self->bucket->factors, ACCESS_READ_WRITE);
  else
    use_buffer (self, buffer, access);
}

static void
add_errors (Bucket *self)
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
keep_errors (Bucket *self)
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
orthogonalise (Bucket *self, BufferRef buffer, gboolean left)
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

typedef enum
{
  PRODUCT_P,
  PRODUCT_Q,
  PRODUCT_M,
} Product;

static void
multiply (Bucket *self, Product which)
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
      schedule_kernel (self->run->b, self->stream, &kernel);
      use (self, which == PRODUCT_M ? ACCESS_WRITE : ACCESS_READ);
      use_factors (self, self->p_buffer, which == PRODUCT_P ? ACCESS_WRITE : ACCESS_READ);
      use_factors (self, self->q_buffer, which == PRODUCT_Q ? ACCESS_WRITE : ACCESS_READ);
    }
}

static void
sum (Bucket *self, guint64 elements, const char *label)
{
  schedule_collective (self->run->b, self->stream,
                       strategy_comm (self->run, self->bucket->kind, ROUTE_REDUCE, 0),
                       COLLECTIVE_ALL_REDUCE, payload_plain (elements, self->dtype), label);
}

static void
encode (Bucket *self)
{
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
reduce (Bucket *self)
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
  Bucket self = { .run = run, .bucket = bucket, .factors = factors, .stream = bucket->made };

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

static gboolean
powersgd_keeps_errors (gconstpointer options)
{
  return ((const CompressionOptions *) options)->error_feedback;
}

const Compressor compressor_powersgd = {
  .name = "powersgd",
  .keeps_errors = powersgd_keeps_errors,
  .kept = powersgd_kept,
  .reduce = powersgd_reduce,
  .form = powersgd_form,
};
