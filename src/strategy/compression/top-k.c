/*
 * Top-k: of each tensor the k gradients of largest magnitude are sent with their indices.
 *
 * A bucket: errors of the last step are added to it; a pass over each tensor selects; what is left
 * are the errors. Then values and indices of all ranks are gathered, the bucket is set to zero, and
 * what came is added to it. The first part runs where gradients are made, the second on the stream
 * of collectives. Sources: Aji and Heafield, arXiv:1704.05021; sands-lab/grace, its compressor of
 * that name with residual memory.
 */
#include "strategy/compression/compression-private.h"
#include "strategy/emit/common.h"

#define INDEX_BYTES 4

typedef struct
{
  StrategyRun            *run;
  const CompressedBucket *bucket;
  Dtype                   dtype;
  guint                   size; /* bytes of a value */
  guint64                 k;    /* of all tensors */
  BufferRef               own, all;
  StreamRef               stream;
} Bucket;

static guint64
k_of (const CompressionOptions *o, const TensorDesc *tensor)
{
  if (o->top_k > 0)
    return MIN ((guint64) o->top_k, tensor->elements);
  return MAX ((guint64) ((double) tensor->elements * o->ratio), 1);
}

static void
pass (Bucket *self, const char *name, double read, double written)
{
  KernelDesc kernel = kernel_desc_stream (KERNEL_CODEC, name, self->dtype, read, written, 1);

  schedule_kernel (self->run->b, self->stream, &kernel);
}

static void
use (Bucket *self, ScheduleAccess access)
{
  self->bucket->use (self->run, self->bucket->data, access);
}

static void
use_errors (Bucket *self, ScheduleAccess access)
{
  for (guint i = 0; i < self->bucket->n_units; i++)
    schedule_uses (self->run->b, self->bucket->errors, self->bucket->units[i], access);
}

static BufferRef
take (Bucket *self, guint64 bytes, const char *label)
{
  return schedule_alloc_on (self->run->b, self->stream, PLACE_HBM, POOL_COMMUNICATION, bytes,
                            label);
}

static void
encode (Bucket *self)
{
  double            bytes = (double) (self->bucket->elements * self->size);
  gboolean          errors = self->bucket->errors != SCHEDULE_NONE;
  const UnitPolicy *policy = &self->run->policy->kinds[self->bucket->kind];

  if (errors)
    {
      pass (self, "error_add", 2 * bytes, bytes);
      use (self, ACCESS_READ_WRITE);
      use_errors (self, ACCESS_READ);
    }
  for (guint i = 0; i < self->bucket->n_units; i++)
    {
      const PlanUnit *unit = &self->run->units[self->bucket->units[i]];

      for (guint t = 0; t < unit->n_trainable; t++)
        {
          guint64 k = k_of (policy->compression, &unit->trainable[t]);

          pass (self, "select", (double) (unit->trainable[t].elements * self->size),
                (double) (k * (self->size + INDEX_BYTES)));
          use (self, ACCESS_READ);
          schedule_uses (self->run->b, self->own, SCHEDULE_WHOLE, ACCESS_WRITE);
        }
    }
  if (!errors)
    return;
  pass (self, "error_keep", bytes + (double) (self->k * INDEX_BYTES),
        bytes + (double) (self->k * self->size));
  use (self, ACCESS_READ);
  schedule_uses (self->run->b, self->own, SCHEDULE_WHOLE, ACCESS_READ);
  use_errors (self, ACCESS_WRITE);
}

static void
gather (Bucket *self, Payload payload, const char *label)
{
  schedule_collective (self->run->b, self->stream,
                       strategy_comm (self->run, self->bucket->kind, ROUTE_REDUCE, 0),
                       COLLECTIVE_ALL_GATHER, payload, label);
  schedule_uses (self->run->b, self->own, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (self->run->b, self->all, SCHEDULE_WHOLE, ACCESS_WRITE);
}

static void
top_k_reduce (StrategyRun *run, const CompressedBucket *bucket)
{
  const UnitPolicy *policy = &run->policy->kinds[bucket->kind];
  guint             ranks = policy->routes[ROUTE_REDUCE].hops[0].group.size;
  Bucket            self = { .run = run, .bucket = bucket, .stream = bucket->made };
  guint64           came;

  self.dtype = reduced_dtype (run);
  self.size = reduced_bytes (run);
  for (guint i = 0; i < bucket->n_units; i++)
    for (guint t = 0; t < run->units[bucket->units[i]].n_trainable; t++)
      self.k += k_of (policy->compression, &run->units[bucket->units[i]].trainable[t]);
  came = self.k * ranks;
  self.own = take (&self, self.k * (self.size + INDEX_BYTES), "largest gradients");
  encode (&self);
  if (bucket->stream != bucket->made)
    schedule_wait_stream (run->b, bucket->stream, bucket->made);
  self.stream = bucket->stream;
  self.all = take (&self, came * (self.size + INDEX_BYTES), "largest gradients of all ranks");
  gather (&self, payload_plain (came, self.dtype), "all_gather_values");
  gather (&self, payload_of_bytes (came * INDEX_BYTES), "all_gather_indices");
  pass (&self, "zero_fill", 0, (double) (bucket->elements * self.size));
  use (&self, ACCESS_WRITE);
  pass (&self, "scatter_add", (double) (came * (2 * self.size + INDEX_BYTES)),
        (double) (came * self.size));
  use (&self, ACCESS_READ_WRITE);
  schedule_uses (run->b, self.all, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_free (run->b, self.all);
  if (bucket->stream == bucket->made)
    schedule_free (run->b, self.own);
  else
    schedule_free_after (run->b, self.own, schedule_record (run->b, bucket->stream));
}

static gboolean
top_k_keeps_errors (gconstpointer options)
{
  return ((const CompressionOptions *) options)->error_feedback;
}

const Compressor compressor_top_k = {
  .name = "top-k",
  .keeps_errors = top_k_keeps_errors,
  .reduce = top_k_reduce,
  .form = top_k_form,
};
