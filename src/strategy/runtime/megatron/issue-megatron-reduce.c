/*
 * How Megatron-FSDP's gradients are collected and reduced: copied into buckets or added up, reduced
 * on streams of their own, waited for by size.
 */
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/megatron/issue-megatron-private.h"

/* The hops of a reduction inside the shard group come first; others are the last micro-step's. */
static guint
inner_end (const PolicyRoute *reduce)
{
  return policy_next_of (reduce, 0, CADENCE_LAST);
}

gboolean
megatron_has_replicas (const StrategyRun *run)
{
  const PolicyRoute *reduce = &run->policy->kinds[0].routes[ROUTE_REDUCE];

  return megatron_cuts_gradients (run) && inner_end (reduce) < reduce->n;
}

/* The compute stream waits for the oldest reduction. */
static void
settle_oldest (StrategyRun *run)
{
  MegatronState   *s = run->state;
  const Reduction *oldest = &g_array_index (s->queue, Reduction, 0);

  if (oldest->bucket != SCHEDULE_NONE)
    schedule_wait (run->b, SCHEDULE_COMPUTE, oldest->done);
  else
    schedule_pace (run->b, SCHEDULE_COMPUTE, oldest->done);
  if (oldest->bucket != SCHEDULE_NONE)
    megatron_give_buffer (run, oldest->bucket, TRUE);
  g_array_remove_index (s->queue, 0);
}

static guint64
largest_tensor (const PlanUnit *unit)
{
  guint64 largest = 0;

  for (guint t = 0; t < unit->n_trainable; t++)
    largest = MAX (largest, unit->trainable[t].elements);
  return largest;
}

void
megatron_gradient_begin (StrategyRun *run, const UnitSlot *slot)
{
  MegatronState *s = run->state;
  MegatronUnit  *u = &s->units[slot->unit];

  if (!megatron_options_of (run)->fused_gradients)
    u->computed = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                  largest_tensor (slot->plan) * compute_bytes (run->policy),
                                  "gradient of a tensor");
  if (!megatron_cuts_gradients (run))
    return;
  u->bucket = megatron_take_buffer (run, slot->unit, TRUE);
  while (u->bucket == SCHEDULE_NONE && slot->plan->desc == s->common && s->queue->len > 0)
    {
      settle_oldest (run);
      u->bucket = megatron_take_buffer (run, slot->unit, TRUE);
    }
  if (u->bucket == SCHEDULE_NONE)
    u->bucket = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                run->shares[slot->unit].trainable_padded * reduced_bytes (run),
                                "gradient bucket");
  strategy_data (run, slot->unit, UNIT_GRADIENT, u->bucket, SCHEDULE_NONE);
}

/* The hops [FIRST, END) of UNIT's reduction, or what takes their place, on STREAM. */
static void
reduce_hops (StrategyRun *run, guint unit, guint first, guint end, guint64 held, StreamRef stream,
             RouteEnd from, RouteEnd to)
{
  const MegatronState *s = run->state;

  if (compresses (run, run->units[unit].expert))
    compressed_reduce_units (&s->compressed, run, &unit, 1, stream, from, to,
                             run->shares[unit].trainable);
  else
    emit_reduction (run, unit, first, end, held, stream, from, to);
}

/* UNIT's part of BUFFER, N elements, from the precision in which it is kept to CAST's, or BACK. */
static void
cast_kept (StrategyRun *run, StreamRef stream, guint unit, BufferRef buffer, guint64 n,
           BufferRef cast, gboolean back)
{
  guint kept = element_bytes (run, STATE_GRADIENTS), wire = reduced_bytes (run);

  emit_stream_kernel (run->b, stream, KERNEL_COPY, back ? "gradient_cast_back" : "gradient_cast",
                      DTYPE_FP32, (double) n * (back ? wire : kept),
                      (double) n * (back ? kept : wire));
  schedule_uses (run->b, buffer, unit, back ? ACCESS_WRITE : ACCESS_READ);
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, back ? ACCESS_READ : ACCESS_WRITE);
}

/* UNIT's gradient as it is kept, HELD elements, is reduced from hop FIRST. */
static void
reduce_kept (StrategyRun *run, guint unit, guint first, guint64 held, StreamRef stream)
{
  MegatronState *s = run->state;
  BufferRef      cast;

  if (reduced_bytes (run) == element_bytes (run, STATE_GRADIENTS))
    {
      reduce_hops (run, unit, first, POLICY_MAX_HOPS, held, stream, route_part (s->gradients, unit),
                   route_part (s->reduced, unit));
      return;
    }
  cast = schedule_alloc_on (run->b, stream, PLACE_HBM, POOL_COMMUNICATION,
                            held * reduced_bytes (run), "gradient in the reduction's precision");
  cast_kept (run, stream, unit, s->gradients, held, cast, FALSE);
  reduce_hops (run, unit, first, POLICY_MAX_HOPS, held, stream, route_whole (cast),
               route_whole (cast));
  cast_kept (run, stream, unit, s->reduced,
             s->reduced == s->gradients ? held : run->shares[unit].updated, cast, TRUE);
  schedule_free_after (run->b, cast, schedule_record (run->b, stream));
}

/* The bucket's shard is added to the gradients that are kept. */
static void
reduce_bucket (StrategyRun *run, guint unit, gboolean last)
{
  MegatronState   *s = run->state;
  MegatronUnit    *u = &s->units[unit];
  const UnitShare *share = &run->shares[unit];
  guint            wire = reduced_bytes (run), kept = element_bytes (run, STATE_GRADIENTS), inner;
  double           n = (double) share->trainable;
  BufferRef        output = u->bucket;

  if (!megatron_options_of (run)->registered)
    output = schedule_alloc_on (run->b, s->reduce, PLACE_HBM, POOL_COMMUNICATION,
                                share->trainable * wire, "reduced shard");
  inner = inner_end (megatron_route_of (run, unit, ROUTE_REDUCE));
  reduce_hops (run, unit, 0, inner, share->trainable_padded, s->reduce, route_whole (u->bucket),
               route_whole (output));
  emit_stream_kernel (run->b, s->reduce, KERNEL_ELEMENTWISE, "gradient_add",
                      kept == wire ? DTYPE_BF16 : DTYPE_FP32, n * (wire + kept), n * kept);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->gradients, unit, ACCESS_READ_WRITE);
  if (output != u->bucket)
    schedule_free_after (run->b, output, schedule_record (run->b, s->reduce));
  if (last && megatron_has_replicas (run))
    {
      schedule_wait_stream (run->b, s->outer, s->reduce);
      reduce_kept (run, unit, inner, share->trainable, s->outer);
    }
  else if (last && s->reduced != s->gradients) /* all ranks have reduced all */
    {
      /* Outer ranks that share the optimizer take their own part of the shard. */
      double bytes = (double) run->shares[unit].updated * element_bytes (run, STATE_GRADIENTS);

      emit_stream_kernel (run->b, s->reduce, KERNEL_COPY, "own_part",
                          run->policy->kinds[0].states[STATE_GRADIENTS].dtype, bytes, bytes);
      schedule_uses (run->b, s->gradients, unit, ACCESS_READ);
      schedule_uses (run->b, s->reduced, unit, ACCESS_WRITE);
    }
}

void
megatron_reduce_unit (StrategyRun *run, guint unit, gboolean last)
{
  MegatronState *s = run->state;
  MegatronUnit  *u = &s->units[unit];
  Reduction reduction = { .bucket = u->bucket, .elements = run->shares[unit].trainable_padded };
  guint64   elements = 0;

  for (guint i = 0; i < s->queue->len; i++)
    elements += g_array_index (s->queue, Reduction, i).elements;
  while (elements > s->capacity)
    {
      elements -= g_array_index (s->queue, Reduction, 0).elements;
      settle_oldest (run);
    }
  if (s->reduce != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, s->reduce, SCHEDULE_COMPUTE);
  if (megatron_cuts_gradients (run))
    reduce_bucket (run, unit, last);
  else
    reduce_kept (run, unit, 0, run->shares[unit].updated_padded, s->reduce);
  reduction.done =
      schedule_record (run->b, last && megatron_has_replicas (run) ? s->outer : s->reduce);
  u->bucket = SCHEDULE_NONE;
  if (s->reduce != SCHEDULE_COMPUTE)
    g_array_append_val (s->queue, reduction);
}

void
megatron_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  MegatronUnit *u = &((MegatronState *) run->state)->units[slot->unit];
  guint         compute = compute_bytes (run->policy);
  guint         kept =
      megatron_cuts_gradients (run) ? reduced_bytes (run) : element_bytes (run, STATE_GRADIENTS);
  double n = (double) slot->plan->trainable_elements;

  /* What kernels have computed is copied into the bucket, or added where it is kept. */
  if (!(megatron_options_of (run)->fused_gradients))
    {
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE,
                          megatron_cuts_gradients (run) ? KERNEL_COPY : KERNEL_ELEMENTWISE,
                          megatron_cuts_gradients (run) ? "gradient_copy" : "gradient_add",
                          kept == compute ? DTYPE_BF16 : DTYPE_FP32,
                          megatron_cuts_gradients (run) ? n * compute : n * (compute + kept),
                          n * kept);
      strategy_uses (run, slot->unit, UNIT_GRADIENT, ACCESS_READ_WRITE);
      schedule_free (run->b, u->computed);
      u->computed = SCHEDULE_NONE;
    }
  if (megatron_overlaps_reductions (run) && (slot->last || megatron_cuts_gradients (run)))
    megatron_reduce_unit (run, slot->unit, slot->last);
}

void
megatron_micro_step_end (StrategyRun *run)
{
  MegatronState *s = run->state;

  for (guint i = 0; i < s->queue->len; i++)
    schedule_wait (run->b, SCHEDULE_COMPUTE, g_array_index (s->queue, Reduction, i).done);
  for (guint i = 0; i < s->queue->len; i++)
    megatron_give_buffer (run, g_array_index (s->queue, Reduction, i).bucket, TRUE);
  g_array_set_size (s->queue, 0);
}
