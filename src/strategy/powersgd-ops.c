#include "strategy/powersgd-private.h"

#include "strategy/common.h"

BufferRef
powersgd_take (PowersgdBucket *self, guint64 elements, const char *label)
{
  return schedule_alloc_on (self->run->b, self->stream, PLACE_HBM, POOL_COMMUNICATION,
                            elements * self->size, label);
}

void
powersgd_give (PowersgdBucket *self, BufferRef buffer)
{
  if (buffer == SCHEDULE_NONE)
    return;
  if (self->bucket->made == self->bucket->stream)
    schedule_free (self->run->b, buffer);
  else
    schedule_free_after (self->run->b, buffer,
                         schedule_record (self->run->b, self->bucket->stream));
}

void
powersgd_pass (PowersgdBucket *self, const char *name, double read, double written, guint launches)
{
  KernelDesc kernel = kernel_desc_stream (KERNEL_CODEC, name, self->dtype, read * self->size,
                                          written * self->size, launches);

  schedule_kernel (self->run->b, self->stream, &kernel);
}

void
powersgd_use (PowersgdBucket *self, ScheduleAccess access)
{
  self->bucket->use (self->run, self->bucket->data, access);
}

void
powersgd_use_buffer (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access)
{
  if (buffer != SCHEDULE_NONE)
    schedule_uses (self->run->b, buffer, SCHEDULE_WHOLE, access);
}

void
powersgd_use_kept (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access)
{
  for (guint i = 0; i < self->bucket->n_units; i++)
    schedule_uses (self->run->b, buffer, self->bucket->units[i], access);
}

/* Those that live on are one buffer, of which an op may read one and write the other. */
void
powersgd_use_factors (PowersgdBucket *self, BufferRef buffer, ScheduleAccess access)
{
  if (self->bucket->factors != SCHEDULE_NONE)
    powersgd_use_kept (self, self->bucket->factors, ACCESS_READ_WRITE);
  else
    powersgd_use_buffer (self, buffer, access);
}

void
powersgd_add_errors (PowersgdBucket *self)
{
  double all = (double) self->bucket->elements;

  powersgd_pass (self, "error_add", 2 * all, all, 1);
  powersgd_use (self, ACCESS_READ_WRITE);
  powersgd_use_kept (self, self->bucket->errors, ACCESS_READ);
  self->clone = powersgd_take (self, self->bucket->elements, "clone of a bucket");
  powersgd_pass (self, "error_clone", all, all, 1);
  powersgd_use (self, ACCESS_READ);
  powersgd_use_buffer (self, self->clone, ACCESS_WRITE);
}

void
powersgd_keep_errors (PowersgdBucket *self)
{
  double all = (double) self->bucket->elements;

  powersgd_pass (self, "error_keep", 2 * all, all, 1);
  powersgd_use (self, ACCESS_READ);
  powersgd_use_buffer (self, self->clone, ACCESS_READ);
  powersgd_use_kept (self, self->bucket->errors, ACCESS_WRITE);
}

/*
 * Gram-Schmidt, column by column: a norm, a sum and a division; then, but for the last one, its
 * product with the C columns behind it, their sums, the outer product, and the difference.
 */
void
powersgd_orthogonalise (PowersgdBucket *self, BufferRef buffer, gboolean left)
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
      powersgd_pass (self, "orthogonalise", read, written, (guint) (7 * f->rank - 4));
      powersgd_use_factors (self, buffer, ACCESS_READ_WRITE);
    }
}

void
powersgd_multiply (PowersgdBucket *self, Product which)
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
      powersgd_use (self, which == PRODUCT_M ? ACCESS_WRITE : ACCESS_READ);
      powersgd_use_factors (self, self->p_buffer, which == PRODUCT_P ? ACCESS_WRITE : ACCESS_READ);
      powersgd_use_factors (self, self->q_buffer, which == PRODUCT_Q ? ACCESS_WRITE : ACCESS_READ);
    }
}

void
powersgd_sum (PowersgdBucket *self, guint64 elements, const char *label)
{
  schedule_collective (self->run->b, self->stream,
                       strategy_comm (self->run, self->bucket->kind, ROUTE_REDUCE, 0),
                       COLLECTIVE_ALL_REDUCE, payload_plain (elements, self->dtype), label);
}
