#include "strategy/runtime/buckets/issue-buckets.h"

#include "strategy/compression/compressed.h"
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/buckets/bucket-gathers.h"

typedef struct
{
  StreamRef     stream;
  guint64       bucket[2];  /* elements waiting to be reduced, of each kind of unit */
  GArray       *waiting[2]; /* guint: the units whose they are */
  BufferRef     parameters, gradients;
  BufferRef     computed;     /* the gradient of the current unit, where another one is kept */
  BufferRef     all_computed; /* those of all units, where they stay beside the others */
  Compressed    compressed;
  BucketGathers gathers; /* of updated parameters, where they overlap the forward pass */
} BucketsState;

static const BucketsIssue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

static gboolean
keeps_fp32 (const StrategyRun *run)
{
  return element_bytes (run, STATE_GRADIENTS) > compute_bytes (run->policy);
}

/* Elements of all gradients. */
static guint64
gradients_of (const StrategyRun *run)
{
  return strategy_share (run, STATE_GRADIENTS);
}

static void
buckets_init (StrategyRun *run)
{
  BucketsState       *s = run->state;
  const BucketsIssue *o = options_of (run);
  gboolean            beside = keeps_fp32 (run) && o->gradient_dtype == GRADIENT_FP32_BESIDE;

  s->stream = o->overlap_comm && !run->policy->flat_gradients
                  ? schedule_stream (run->b, "reduce", 0)
                  : SCHEDULE_COMPUTE;
  s->computed = SCHEDULE_NONE;
  for (guint kind = 0; kind < G_N_ELEMENTS (s->waiting); kind++)
    s->waiting[kind] = g_array_new (FALSE, FALSE, sizeof (guint));
  s->parameters = schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER,
                                  held_bytes (run, STATE_PARAMETERS), "parameters");
  s->gradients = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                 held_bytes (run, STATE_GRADIENTS), "gradients");
  s->all_computed = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                    beside ? gradients_of (run) * compute_bytes (run->policy) : 0,
                                    "gradients as computed");
  hold_optimizer (run);
  if (o->overlap_param_gather)
    bucket_gathers_init (&s->gathers, run, o->bucket_bytes / element_bytes (run, STATE_GRADIENTS),
                         s->parameters);
  compressed_init (&s->compressed, run);
  strategy_data (run, SCHEDULE_NONE, UNIT_PARAMETERS, SCHEDULE_NONE, s->parameters);
  strategy_data (run, SCHEDULE_NONE, UNIT_GRADIENT, SCHEDULE_NONE,
                 s->all_computed != SCHEDULE_NONE ? s->all_computed : s->gradients);
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->gradients);
}

static void
buckets_clear (StrategyRun *run)
{
  BucketsState *s = run->state;

  for (guint kind = 0; kind < G_N_ELEMENTS (s->waiting); kind++)
    g_clear_pointer (&s->waiting[kind], g_array_unref);
  if (options_of (run)->overlap_param_gather)
    bucket_gathers_clear (&s->gathers);
  compressed_clear (&s->compressed, run);
}

/*
 * Gradients to which every micro-step adds are set to zero; others are overwritten by the first
 * one.
 */
static void
buckets_step_begin (StrategyRun *run)
{
  BucketsState *s = run->state;
  guint         kept = element_bytes (run, STATE_GRADIENTS);

  if (options_of (run)->overlap_param_gather)
    bucket_gathers_begin_step (&s->gathers);
  if (!keeps_fp32 (run) && !options_of (run)->fused_gradients)
    return;
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "gradient_zero",
                      keeps_fp32 (run) ? DTYPE_FP32 : DTYPE_BF16, 0,
                      (double) kept * (double) gradients_of (run));
  schedule_uses (run->b, s->gradients, SCHEDULE_WHOLE, ACCESS_WRITE);
}

static void
buckets_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  BucketsState *s = run->state;

  if (options_of (run)->overlap_param_gather && slot->use == USE_FORWARD)
    bucket_gathers_use (&s->gathers, run, slot->plan->shares);
}

/* The op emitted last touches the gradients of the units that wait to be reduced: DATA. */
static void
use_waiting (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  const BucketsState *s = run->state;
  const GArray       *waiting = data;

  for (guint i = 0; i < waiting->len; i++)
    schedule_uses (run->b, s->gradients, g_array_index (waiting, guint, i), access);
}

static void
use_cast (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  schedule_uses (run->b, *(const BufferRef *) data, SCHEDULE_WHOLE, access);
}

/* A cast of a bucket between the gradients' precision and the reduction's. */
static void
cast_bucket (StrategyRun *run, const char *name, guint kind, guint from, guint to, BufferRef cast,
             gboolean back)
{
  const BucketsState *s = run->state;

  emit_stream_kernel (run->b, s->stream, KERNEL_COPY, name, DTYPE_FP32,
                      (double) s->bucket[kind] * from, (double) s->bucket[kind] * to);
  use_waiting (run, s->waiting[kind], back ? ACCESS_WRITE : ACCESS_READ);
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, back ? ACCESS_READ : ACCESS_WRITE);
}

/* What lies at END, a cast of the bucket or the gradients themselves, is reduced there. */
static void
reduce_at (StrategyRun *run, guint kind, const RouteEnd *end)
{
  const BucketsState *s = run->state;

  if (compresses (run, kind))
    compressed_reduce (&s->compressed, run,
                       (CompressedBucket){
                           .kind = kind,
                           .units = (const guint *) (const void *) s->waiting[kind]->data,
                           .n_units = s->waiting[kind]->len,
                           .elements = s->bucket[kind],
                           .made = end->use != use_cast ? SCHEDULE_COMPUTE : s->stream,
                           .stream = s->stream,
                           .use = end->use,
                           .data = end->data,
                       });
  else
    emit_route (run, &(RouteWalk){ .kind = kind,
                                   .route = ROUTE_REDUCE,
                                   .end = POLICY_MAX_HOPS,
                                   .last_micro = TRUE,
                                   .held = s->bucket[kind],
                                   .collectives = s->stream,
                                   .from = *end,
                                   .to = *end,
                                   .passing = "bucket on its way" });
}

static gboolean
copies_bucket (const StrategyRun *run, guint kind)
{
  return run->policy->flat_gradients
         || reduced_dtype (run) != run->policy->kinds[kind].states[STATE_GRADIENTS].dtype;
}

static void
reduce_bucket (StrategyRun *run, guint kind)
{
  BucketsState *s = run->state;
  guint         kept = element_bytes (run, STATE_GRADIENTS);
  guint         wire = reduced_bytes (run);
  BufferRef     cast = SCHEDULE_NONE;
  RouteEnd      end;

  if (s->bucket[kind] == 0)
    return;
  if (s->stream != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  if (run->policy->flat_gradients)
    {
      /* Each gradient is divided by the ranks that are averaged, before it is copied. */
      Dtype  dtype = run->policy->kinds[kind].states[STATE_GRADIENTS].dtype;
      double bytes = (double) s->bucket[kind] * dtype_bytes (dtype);

      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "gradient_divide", dtype,
                          bytes, bytes);
      use_waiting (run, s->waiting[kind], ACCESS_READ_WRITE);
    }
  if (copies_bucket (run, kind))
    {
      cast = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION, s->bucket[kind] * wire,
                             run->policy->flat_gradients ? "flat gradients"
                                                         : "bucket in the reduction's precision");
      cast_bucket (run, "gradient_cast", kind, kept, wire, cast, FALSE);
    }
  end = cast != SCHEDULE_NONE ? (RouteEnd){ .use = use_cast, .data = &cast }
                              : (RouteEnd){ .use = use_waiting, .data = s->waiting[kind] };
  reduce_at (run, kind, &end);
  if (cast != SCHEDULE_NONE)
    {
      cast_bucket (run, "gradient_cast_back", kind, wire, kept, cast, TRUE);
      if (s->stream == SCHEDULE_COMPUTE)
        schedule_free (run->b, cast);
      else
        schedule_free_after (run->b, cast, schedule_record (run->b, s->stream));
    }
  s->bucket[kind] = 0;
}

/* Elements of UNIT's gradients that a kernel of its own adds to what is kept. */
static guint64
added_elements (const StrategyRun *run, const PlanUnit *unit)
{
  guint64 sum = unit->trainable_elements;

  if (options_of (run)->fused_gradients)
    for (guint t = 0; t < unit->n_trainable; t++)
      if (unit->desc->kind != LAYER_EMBEDDING
          && unit->trainable[t].n_dims >= (unit->trainable[t].stacked ? 3 : 2))
        sum -= unit->trainable[t].elements;
  return sum;
}

static void
buckets_gradient_begin (StrategyRun *run, const UnitSlot *slot)
{
  BucketsState *s = run->state;
  guint64       bytes = added_elements (run, slot->plan) * compute_bytes (run->policy);

  if (!keeps_fp32 (run) || s->all_computed != SCHEDULE_NONE || bytes == 0)
    return;
  s->computed = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT, bytes, "computed gradient");
  strategy_data (run, slot->unit, UNIT_GRADIENT, s->computed, SCHEDULE_NONE);
}

static void
add_gradient (StrategyRun *run, const UnitSlot *slot)
{
  BucketsState *s = run->state;
  guint         compute = compute_bytes (run->policy);
  double        elements = (double) added_elements (run, slot->plan);

  if (elements == 0)
    return;
  if (keeps_fp32 (run))
    {
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "gradient_add", DTYPE_FP32,
                          elements * (4 + compute), elements * 4);
      strategy_uses (run, slot->unit, UNIT_GRADIENT, ACCESS_READ);
      schedule_uses (run->b, s->gradients, slot->unit, ACCESS_READ_WRITE);
      schedule_free (run->b, s->computed);
      s->computed = SCHEDULE_NONE;
    }
  else if (!slot->first || options_of (run)->fused_gradients)
    {
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_ELEMENTWISE, "gradient_add", DTYPE_BF16,
                          2 * elements * compute, elements * compute);
      schedule_uses (run->b, s->gradients, slot->unit, ACCESS_READ_WRITE);
    }
}

/*
 * With other stages nothing is reduced among the backward passes unless it overlaps them
 * (DeepSpeed's and Megatron-LM's pipelines): the policy settles all at the end. So does a runtime
 * that averages all gradients at once.
 */
static gboolean
waits_for_the_end (const StrategyRun *run)
{
  return run->policy->flat_gradients
         || (run->policy->settles_last && !options_of (run)->overlap_comm);
}

static void
buckets_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  BucketsState       *s = run->state;
  const BucketsIssue *o = options_of (run);
  guint               kind = slot->plan->expert;

  add_gradient (run, slot);
  if (!slot->last)
    return;
  g_array_append_val (s->waiting[kind], slot->unit);
  s->bucket[kind] += slot->plan->trainable_elements;
  if ((double) s->bucket[kind] * element_bytes (run, STATE_GRADIENTS) >= o->bucket_bytes
      && !waits_for_the_end (run))
    {
      reduce_bucket (run, kind);
      g_array_set_size (s->waiting[kind], 0);
    }
}

/*
 * All that waits, a bucket at a time; one holds a module at least, as buckets that fill up among
 * the backward passes do.
 */
static void
reduce_all (StrategyRun *run, guint kind)
{
  BucketsState       *s = run->state;
  const BucketsIssue *o = options_of (run);
  guint64             left = s->bucket[kind];
  guint64             largest = 0;
  guint64             most;

  for (guint u = 0; u < run->n_units; u++)
    largest = MAX (largest, run->units[u].trainable_elements);

  most = MAX ((guint64) (o->bucket_bytes / element_bytes (run, STATE_GRADIENTS)), largest);
  while (left > 0)
    {
      s->bucket[kind] =
          waits_for_the_end (run) && !run->policy->flat_gradients ? MIN (left, most) : left;
      left -= s->bucket[kind];
      reduce_bucket (run, kind);
    }
  g_array_set_size (s->waiting[kind], 0);
}

/* The same of whole units: a compressor works on their tensors. */
static void
reduce_units (StrategyRun *run, guint kind)
{
  BucketsState       *s = run->state;
  const BucketsIssue *o = options_of (run);
  GArray             *all = s->waiting[kind];

  s->waiting[kind] = g_array_new (FALSE, FALSE, sizeof (guint));
  s->bucket[kind] = 0;
  for (guint i = 0; i < all->len; i++)
    {
      guint unit = g_array_index (all, guint, i);

      g_array_append_val (s->waiting[kind], unit);
      s->bucket[kind] += run->units[unit].trainable_elements;
      if (i + 1 < all->len
          && (double) s->bucket[kind] * element_bytes (run, STATE_GRADIENTS) < o->bucket_bytes)
        continue;
      reduce_bucket (run, kind);
      g_array_set_size (s->waiting[kind], 0);
    }
  g_array_unref (all);
}

static void
finish_reductions (StrategyRun *run)
{
  BucketsState *s = run->state;

  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    if (compresses (run, kind))
      reduce_units (run, kind);
    else
      reduce_all (run, kind);
  if (s->stream != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->stream);
}

static void
buckets_micro_step_end (StrategyRun *run)
{
  if (!run->policy->settles_last)
    finish_reductions (run);
}

static void
buckets_backward_done (StrategyRun *run)
{
  if (run->policy->settles_last)
    finish_reductions (run);
}

static void
buckets_step_end (StrategyRun *run)
{
  const BucketsState *s = run->state;

  if (options_of (run)->overlap_param_gather)
    emit_share_update (run, TRUE);
  else
    emit_update (run, s->parameters);
  compressed_step_end (&s->compressed, run);
}

const Issue issue_buckets = {
  .carries = { .homes = { 1u << PLACE_HBM, 1u << PLACE_HBM, 1u << PLACE_HBM },
               .routes = 1u << ROUTE_REDUCE | 1u << ROUTE_UPDATE,
               .cadences = 1u << CADENCE_LAST,
               .last_scatters = TRUE,
               .whole_reduction = TRUE,
               .compressors = TRUE,
               .shared_tables = TRUE,
               .goes_back_twice = TRUE },
  .keeps_gradients = TRUE,
  .hooks = { .state_size = sizeof (BucketsState),
             .granularity = UNIT_MODULE,
             .init = buckets_init,
             .clear = buckets_clear,
             .step_begin = buckets_step_begin,
             .use_begin = buckets_use_begin,
             .gradient_begin = buckets_gradient_begin,
             .gradient_ready = buckets_gradient_ready,
             .micro_step_end = buckets_micro_step_end,
             .backward_done = buckets_backward_done,
             .step_end = buckets_step_end },
  .form = buckets_form,
};
