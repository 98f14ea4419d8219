/*
 * DeepSpeed's stage 2. A module's gradient goes into a bucket as soon as it is complete; a bucket
 * that is full is reduced, each rank adds its slice to what it keeps, and the rest is forgotten, in
 * every micro-step. The bucket is there during the backward pass. The optimizer updates the own
 * slice, and an all-gather brings the parameters to everyone. Source:
 * deepspeed/runtime/zero/stage_1_and_2.py.
 */
#include "strategy/runtime/buckets/issue-slices.h"

#include "strategy/compression/compressed.h"
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/policy/replicated.h"
#include "strategy/runtime/buckets/host-slices.h"

typedef struct
{
  StreamRef      stream;
  GradientBucket bucket;
  BufferRef      parameters, slices;
  HostSlices     host;     /* in place of `slices`, where the policy has them on the host */
  BufferRef      computed; /* the gradient of the current module */
  Compressed     compressed;
} SlicesState;

static const SlicesIssue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

static gboolean
on_host (const Policy *policy)
{
  return policy->kinds[0].states[STATE_OPTIMIZER].home == PLACE_PINNED;
}

static void reduce_bucket (StrategyRun *run, const GradientBucket *bucket);

static void
slices_init (StrategyRun *run)
{
  SlicesState *s = run->state;

  s->stream =
      options_of (run)->overlap_comm ? schedule_stream (run->b, "reduce", 0) : SCHEDULE_COMPUTE;
  gradient_bucket_init (&s->bucket, s->stream, (guint64) options_of (run)->reduce_bucket_size);
  s->bucket.reduce = reduce_bucket;
  s->parameters = schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER,
                                  held_bytes (run, STATE_PARAMETERS), "parameters");
  strategy_data (run, SCHEDULE_NONE, UNIT_PARAMETERS, SCHEDULE_NONE, s->parameters);
  if (on_host (run->policy))
    host_slices_init (&s->host, run);
  else
    {
      s->slices = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                  held_bytes (run, STATE_GRADIENTS), "gradient slices");
      hold_optimizer (run);
      strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->slices);
    }
  compressed_init (&s->compressed, run);
}

static void
slices_clear (StrategyRun *run)
{
  SlicesState *s = run->state;

  gradient_bucket_clear (&s->bucket);
  compressed_clear (&s->compressed, run);
}

static void
slices_step_begin (StrategyRun *run)
{
  SlicesState *s = run->state;

  gradient_bucket_begin_step (&s->bucket);
  if (on_host (run->policy))
    host_slices_begin_step (&s->host, run);
}

static void
slices_backward_begin (StrategyRun *run)
{
  SlicesState *s = run->state;

  s->bucket.buffer =
      schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION,
                      s->bucket.size * compute_bytes (run->policy), "gradient bucket");
}

static void
slices_gradient_begin (StrategyRun *run, const UnitSlot *slot)
{
  SlicesState *s = run->state;

  s->computed =
      schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                      slot->plan->trainable_elements * compute_bytes (run->policy), "gradient");
  strategy_data (run, slot->unit, UNIT_GRADIENT, s->computed, SCHEDULE_NONE);
}

static void
slices_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  SlicesState *s = run->state;

  gradient_bucket_add (&s->bucket, run, slot, s->computed);
}

/* What is reduced, in the reduction's precision: the bucket itself, or a copy. */
static BufferRef
cast_bucket (StrategyRun *run, const GradientBucket *bucket, guint wire)
{
  BufferRef source = gradient_bucket_source (bucket), cast;
  guint     compute = compute_bytes (run->policy);

  if (wire == compute)
    return source;
  cast = schedule_alloc_on (run->b, bucket->stream, PLACE_HBM, POOL_COMMUNICATION,
                            bucket->elements * wire, "bucket in the reduction's precision");
  emit_stream_kernel (run->b, bucket->stream, KERNEL_COPY, "gradient_cast", DTYPE_FP32,
                      (double) bucket->elements * compute, (double) bucket->elements * wire);
  schedule_uses (run->b, source, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_WRITE);
  return cast;
}

/* What is in INPUT of units of KIND. Its elements on each rank afterwards. */
static double
reduce_kind (StrategyRun *run, const GradientBucket *bucket, guint kind, BufferRef input)
{
  SlicesState       *s = run->state;
  guint64            elements;
  g_autoptr (GArray) units = g_array_new (FALSE, FALSE, sizeof (guint));

  elements = 0;
  for (guint i = 0; i < bucket->waiting->len; i++)
    {
      guint           u = g_array_index (bucket->waiting, guint, i);
      const PlanUnit *unit = &run->units[u];

      if (!plan_unit_is (unit, kind))
        continue;
      elements += unit->trainable_elements;
      g_array_append_val (units, u);
    }
  if (elements == 0)
    return 0;
  if (compresses (run, kind))
    compressed_reduce_units (&s->compressed, run, (const guint *) (const void *) units->data,
                             units->len, s->stream, route_whole (input), route_whole (input), 0);
  else
    emit_route (run, &(RouteWalk){ .kind = kind,
                                   .route = ROUTE_REDUCE,
                                   .end = POLICY_MAX_HOPS,
                                   .first_micro = bucket->first,
                                   .last_micro = bucket->last,
                                   .held = elements,
                                   .collectives = s->stream,
                                   .from = route_whole (input),
                                   .to = route_whole (input),
                                   .passing = "bucket on its way" });
  return (double) elements / run->policy->kinds[kind].states[STATE_GRADIENTS].group.size;
}

static void
reduce_bucket (StrategyRun *run, const GradientBucket *bucket)
{
  SlicesState *s = run->state;
  guint        wire = reduced_bytes (run);
  BufferRef    input = cast_bucket (run, bucket, wire);
  double       slice = 0;

  for (guint kind = 0; kind < run->policy->n_kinds; kind++)
    slice += reduce_kind (run, bucket, kind, input);
  if (on_host (run->policy))
    host_slices_store (&s->host, run, bucket, input, wire);
  else
    {
      /* The own slice of what was reduced is copied, or added to what the rank keeps. */
      guint kept = element_bytes (run, STATE_GRADIENTS);

      emit_stream_kernel (run->b, s->stream, bucket->first ? KERNEL_COPY : KERNEL_ELEMENTWISE,
                          bucket->first ? "slice_copy" : "gradient_add", DTYPE_BF16,
                          slice * (bucket->first ? wire : wire + kept), slice * kept);
      schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_READ);
      gradient_bucket_uses (bucket, run, s->slices,
                            bucket->first ? ACCESS_WRITE : ACCESS_READ_WRITE);
    }
  if (input != gradient_bucket_source (bucket))
    free_behind (run, input, s->stream);
}

static void
slices_micro_step_end (StrategyRun *run)
{
  SlicesState *s = run->state;

  gradient_bucket_flush (&s->bucket, run);
  if (s->stream != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->stream);
  schedule_free (run->b, s->bucket.buffer);
  host_slices_end_micro_step (&s->host);
}

static void
slices_step_end (StrategyRun *run)
{
  const SlicesState *s = run->state;

  if (on_host (run->policy))
    host_slices_update (&s->host, run, s->parameters);
  else
    emit_update (run, s->parameters);
  compressed_step_end (&s->compressed, run);
}

/* ---- what systems on it share ---------------------------------------------------------------- */

const char *const slices_reduce_choices[] = { "reduce_scatter", "all_reduce", NULL };

CollectiveKind
slices_reduction (gint choice)
{
  return choice == 0 ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_REDUCE;
}

gboolean
slices_check (const PlanInput *in, const char *name, DiagList *diags)
{
  if (in->mesh.stages <= 1)
    return TRUE;
  diag_error (diags, NULL, "take zero1, ddp, fsdp1 or fsdp2",
              "%s does not go with pipeline stages: DeepSpeed's pipelines take ZeRO-1 at most",
              name);
  return FALSE;
}

/* ZeRO-1's, with gradients that are sharded too, so that each micro-step reduces them. */
void
slices_policy (const PlanInput *in, CollectiveKind kind, Policy *policy)
{
  replicated_policy (in, training_compute_dtype (workload_training (in->workload)), kind, TRUE,
                     policy);
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      PolicyHop *hop = &policy->kinds[k].routes[ROUTE_REDUCE].hops[0];

      policy->kinds[k].states[STATE_GRADIENTS].group = hop->group;
      hop->cadence = CADENCE_MICRO_STEP;
    }
}

const Issue issue_slices = {
  .carries = { .homes = { 1u << PLACE_HBM, 1u << PLACE_HBM | 1u << PLACE_PINNED,
                          1u << PLACE_HBM | 1u << PLACE_PINNED },
               .routes = 1u << ROUTE_REDUCE | 1u << ROUTE_UPDATE | 1u << ROUTE_STORE,
               .moves = 1u << ROUTE_UPDATE | 1u << ROUTE_STORE,
               .cadences = 1u << CADENCE_MICRO_STEP,
               .whole_reduction = TRUE,
               .compressors = TRUE,
               .late_update = TRUE,
               .averaged_host = TRUE,
               .shared_tables = TRUE,
               .goes_back_twice = TRUE },
  .keeps_gradients = TRUE,
  .hooks = { .state_size = sizeof (SlicesState),
             .granularity = UNIT_MODULE,
             .init = slices_init,
             .clear = slices_clear,
             .step_begin = slices_step_begin,
             .backward_begin = slices_backward_begin,
             .gradient_begin = slices_gradient_begin,
             .gradient_ready = slices_gradient_ready,
             .micro_step_end = slices_micro_step_end,
             .step_end = slices_step_end },
  .form = slices_form,
};
