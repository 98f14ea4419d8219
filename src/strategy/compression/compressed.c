#include "strategy/compression/compressed.h"

#include "strategy/compression/compression-private.h"
#include "strategy/emit/common.h"

static BufferRef
keep (StrategyRun *run, guint64 elements, guint bytes, const char *label)
{
  BufferRef buffer = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT, elements * bytes, label);

  if (buffer != SCHEDULE_NONE) /* set to zero where training begins */
    schedule_host_touches (run->b, buffer, SCHEDULE_WHOLE, ACCESS_WRITE);
  return buffer;
}

gboolean
reduces_over_replicas (const StrategyRun *run)
{
  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    {
      const PolicyRoute *reduce = &run->policy->kinds[kind].routes[ROUTE_REDUCE];
      guint              first = policy_n_scatters (reduce);

      if (!compresses (run, kind) && policy_next (reduce, first, HOP_MOVE) > first)
        return TRUE;
    }
  return FALSE;
}

void
compressed_init (Compressed *self, StrategyRun *run)
{
  guint64 errors = 0, factors = 0, sums = 0;

  for (guint k = 0; k < run->policy->n_kinds; k++)
    {
      const UnitPolicy *kind = &run->policy->kinds[k];

      if (kind->compressor != NULL && kind->compressor->plan_new != NULL)
        self->plans[k] = kind->compressor->plan_new (run->in, kind->compression, k);
    }
  for (guint u = 0; u < run->n_units; u++)
    {
      const PlanUnit   *unit = &run->units[u];
      const UnitPolicy *kind = &run->policy->kinds[unit->expert];

      if (kind->compressor == NULL || unit->own_elements == 0)
        continue;
      if (kind->compressor->keeps_errors (kind->compression))
        errors += unit->trainable_elements;
      if (kind->compressor->kept != NULL)
        factors += kind->compressor->kept (kind->compression, self->plans[unit->expert], unit);
      if (kind->compressor->keeps_sums != NULL && kind->compressor->keeps_sums (kind->compression))
        sums += unit->trainable_elements;
    }
  self->errors = keep (run, errors, reduced_bytes (run), "errors of compression");
  self->factors = keep (run, factors, reduced_bytes (run), "factors of gradients");
  self->sums = keep (run, sums, SUM_BYTES, "sums of gradients");
}

void
compressed_clear (Compressed *self, StrategyRun *run)
{
  for (guint kind = 0; kind < G_N_ELEMENTS (self->plans); kind++)
    if (self->plans[kind] != NULL)
      run->policy->kinds[kind].compressor->plan_free (self->plans[kind]);
}

void
compressed_reduce (const Compressed *self, StrategyRun *run, CompressedBucket bucket)
{
  bucket.errors = self->errors;
  bucket.factors = self->factors;
  bucket.sums = self->sums;
  bucket.plan = self->plans[bucket.kind];
  run->policy->kinds[bucket.kind].compressor->reduce (run, &bucket);
}

static void
use_end (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  route_use_end (run, data, access);
}

void
compressed_reduce_units (const Compressed *self, StrategyRun *run, const guint *units,
                         guint n_units, StreamRef stream, RouteEnd from, RouteEnd to, guint64 part)
{
  CompressedBucket bucket = { .kind = run->units[units[0]].expert,
                              .units = units,
                              .n_units = n_units,
                              .made = stream,
                              .stream = stream,
                              .use = use_end,
                              .data = &from };

  for (guint i = 0; i < n_units; i++)
    bucket.elements += run->units[units[i]].trainable_elements;
  compressed_reduce (self, run, bucket);
  if (!route_same_end (&from, &to))
    {
      /* The own part is copied to the other end. */
      double bytes = (double) part * reduced_bytes (run);

      emit_stream_kernel (run->b, stream, KERNEL_COPY, "own_part", reduced_dtype (run), bytes,
                          bytes);
      route_use_end (run, &from, ACCESS_READ);
      route_use_end (run, &to, ACCESS_WRITE);
    }
}

void
compressed_step_end (const Compressed *self, StrategyRun *run)
{
  for (guint k = 0; k < run->policy->n_kinds; k++)
    {
      const Compressor *compressor = run->policy->kinds[k].compressor;

      if (compressor != NULL && compressor->step_end != NULL)
        compressor->step_end (run, k, self->plans[k], self->sums);
    }
}
