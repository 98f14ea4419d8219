#include "strategy/runtime/buckets/gradient-bucket.h"

#include <string.h>

#include "strategy/emit/common.h"

void
gradient_bucket_init (GradientBucket *self, StreamRef stream, guint64 size)
{
  self->stream = stream;
  self->size = size;
  self->most = G_N_ELEMENTS (self->outstanding);
  self->buffer = self->oversized = SCHEDULE_NONE;
  self->waiting = g_array_new (FALSE, FALSE, sizeof (guint));
}

void
gradient_bucket_clear (GradientBucket *self)
{
  g_array_unref (self->waiting);
}

void
gradient_bucket_begin_step (GradientBucket *self)
{
  for (guint i = 0; i < G_N_ELEMENTS (self->outstanding); i++)
    self->outstanding[i] = SCHEDULE_NONE;
}

BufferRef
gradient_bucket_source (const GradientBucket *self)
{
  return self->oversized != SCHEDULE_NONE ? self->oversized : self->buffer;
}

void
gradient_bucket_uses (const GradientBucket *self, StrategyRun *run, BufferRef buffer,
                      ScheduleAccess access)
{
  for (guint i = 0; i < self->waiting->len; i++)
    schedule_uses (run->b, buffer, g_array_index (self->waiting, guint, i), access);
}

void
free_behind (StrategyRun *run, BufferRef buffer, StreamRef stream)
{
  if (stream == SCHEDULE_COMPUTE)
    schedule_free (run->b, buffer);
  else
    schedule_free_after (run->b, buffer, schedule_record (run->b, stream));
}

void
push_outstanding (EventRef *outstanding, guint n, EventRef event)
{
  memmove (outstanding, outstanding + 1, (n - 1) * sizeof *outstanding);
  outstanding[n - 1] = event;
}

void
gradient_bucket_flush (GradientBucket *self, StrategyRun *run)
{
  if (self->elements == 0)
    return;
  schedule_host_pace (run->b, self->outstanding[G_N_ELEMENTS (self->outstanding) - self->most]);
  self->reduce (run, self);
  if (self->oversized != SCHEDULE_NONE)
    free_behind (run, self->oversized, self->stream);
  push_outstanding (self->outstanding, G_N_ELEMENTS (self->outstanding),
                    schedule_record (run->b, self->stream));
  self->elements = 0;
  g_array_set_size (self->waiting, 0);
  self->oversized = SCHEDULE_NONE;
}

void
gradient_bucket_add (GradientBucket *self, StrategyRun *run, const UnitSlot *slot, BufferRef grads)
{
  guint64 elements = slot->plan->trainable_elements;
  double  bytes = (double) elements * compute_bytes (run->policy);

  self->first = slot->first;
  self->last = slot->last;
  if (self->stream != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, self->stream, SCHEDULE_COMPUTE);
  if (self->elements + elements > self->size)
    gradient_bucket_flush (self, run);
  if (elements > self->size)
    self->oversized = grads;
  else
    {
      emit_stream_kernel (run->b, self->stream, KERNEL_COPY, "bucket_copy", DTYPE_FP16, bytes,
                          bytes);
      schedule_uses (run->b, grads, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, self->buffer, SCHEDULE_WHOLE, ACCESS_WRITE);
      free_behind (run, grads, self->stream);
    }
  g_array_append_val (self->waiting, slot->unit);
  self->elements += elements;
}
