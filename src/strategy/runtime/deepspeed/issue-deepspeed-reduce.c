/*
 * How the gradients of DeepSpeed's coordinator are reduced: a bucket at once or tensor by tensor,
 * then the shards over their replicas. Source: deepspeed/runtime/zero/stage3.py.
 */
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/deepspeed/issue-deepspeed-private.h"

/* Units whose gradients are reduced now: their shards. */
static void
use_waiting (StrategyRun *run, gconstpointer data, ScheduleAccess access)
{
  const DeepspeedState *s = run->state;

  gradient_bucket_uses (data, run, s->gradients, access);
}

static gboolean
reduces_tensors (const StrategyRun *run)
{
  return deepspeed_unit_policy (run)->reduced.dims > 0;
}

/* WALK of a reduction of what is in BUCKET. */
static void
walk_reduction (StrategyRun *run, const GradientBucket *bucket, RouteWalk walk)
{
  const DeepspeedState *s = run->state;

  walk.first_micro = bucket->first;
  walk.last_micro = bucket->last;
  walk.moves = walk.collectives = s->reduce;
  walk.passing = "gradients on their way";
  emit_route (run, &walk);
}

/* The first hop of ROUTE that is due at the last micro-step only. */
static guint
last_hops (const StrategyRun *run, PolicyRouteKind route)
{
  return policy_next_of (&deepspeed_unit_policy (run)->routes[route], 0, CADENCE_LAST);
}

static PolicyRouteKind
route_of (const StrategyRun *run, const TensorDesc *tensor)
{
  return policy_rule_matches (&deepspeed_unit_policy (run)->reduced, tensor) ? ROUTE_REDUCE
                                                                             : ROUTE_REST;
}

static guint64
tensor_padded (const StrategyRun *run, const TensorDesc *tensor)
{
  const DeepspeedState *s = run->state;

  return deepspeed_unit_policy (run)->format->padded (tensor, 1, s->m);
}

/* Padded elements in BUCKET that go over ROUTE. */
static guint64
bucket_padded (const StrategyRun *run, const GradientBucket *bucket, PolicyRouteKind route)
{
  guint64 padded = 0;

  for (guint i = 0; i < bucket->waiting->len; i++)
    {
      guint           u = g_array_index (bucket->waiting, guint, i);
      const PlanUnit *unit = &run->units[u];

      if (!reduces_tensors (run))
        padded += route == ROUTE_REDUCE ? run->shares[u].trainable_padded : 0;
      else
        for (guint t = 0; t < unit->n_trainable; t++)
          if (route_of (run, &unit->trainable[t]) == route)
            padded += tensor_padded (run, &unit->trainable[t]);
    }
  return padded;
}

/*
 * Each tensor of BUCKET on its own: those that the rule takes from where they are, the rest from
 * INPUT, where all end.
 */
static void
reduce_tensors (StrategyRun *run, const GradientBucket *bucket, BufferRef input)
{
  for (guint i = 0; i < bucket->waiting->len; i++)
    {
      const PlanUnit *unit = &run->units[g_array_index (bucket->waiting, guint, i)];

      for (guint t = 0; t < unit->n_trainable; t++)
        {
          PolicyRouteKind route = route_of (run, &unit->trainable[t]);
          BufferRef       from = route == ROUTE_REDUCE ? gradient_bucket_source (bucket) : input;

          walk_reduction (run, bucket,
                          (RouteWalk){ .route = route,
                                       .end = last_hops (run, route),
                                       .held = tensor_padded (run, &unit->trainable[t]),
                                       .from = route_whole (from),
                                       .to = route_whole (input) });
        }
    }
}

/*
 * COPIED elements of BUCKET as the reduction takes them: part by part, padded, in its precision.
 * MORE: for what it leaves of others.
 */
static BufferRef
reduction_input (StrategyRun *run, const GradientBucket *bucket, guint64 copied, guint64 more)
{
  const DeepspeedState *s = run->state;
  guint                 reduce = reduced_bytes (run);
  guint64               read = reduces_tensors (run) ? copied : bucket->elements;
  BufferRef             input;

  input = schedule_alloc_on (run->b, s->reduce, PLACE_HBM, POOL_COMMUNICATION,
                             (copied + more) * reduce, "reduce-scatter input");
  if (copied == 0)
    return input;
  emit_stream_kernel (run->b, s->reduce, KERNEL_COPY, "interleave", DTYPE_FP16,
                      (double) read * compute_bytes (run->policy), (double) copied * reduce);
  schedule_uses (run->b, gradient_bucket_source (bucket), SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_WRITE);
  return input;
}

/* All of BUCKET, which is in INPUT, padded. */
static void
reduce_at_once (StrategyRun *run, const GradientBucket *bucket, BufferRef input, guint64 padded)
{
  const DeepspeedState *s = run->state;

  if (compresses (run, 0))
    compressed_reduce_units (
        &s->compressed, run, (const guint *) (const void *) bucket->waiting->data,
        bucket->waiting->len, s->reduce, route_whole (input), route_whole (input), 0);
  else
    walk_reduction (run, bucket,
                    (RouteWalk){ .route = ROUTE_REDUCE,
                                 .end = last_hops (run, ROUTE_REDUCE),
                                 .held = padded,
                                 .from = route_whole (input),
                                 .to = route_whole (input) });
}

/* The shards of BUCKET, of so many ELEMENTS, are copied between where they are kept and CAST. */
static void
cast_shards (StrategyRun *run, const GradientBucket *bucket, guint64 elements, BufferRef cast,
             Dtype dtype, gboolean back)
{
  const DeepspeedState *s = run->state;
  guint                 kept = compute_bytes (run->policy), wire = dtype_bytes (dtype);

  emit_stream_kernel (run->b, s->reduce, KERNEL_COPY, back ? "shard_cast_back" : "shard_cast",
                      DTYPE_FP32, (double) elements * (back ? wire : kept),
                      (double) elements * (back ? kept : wire));
  use_waiting (run, bucket, back ? ACCESS_WRITE : ACCESS_READ);
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, back ? ACCESS_READ : ACCESS_WRITE);
}

/*
 * Hops of the last micro-step add up the shards over the replicas of their group, in place or, if
 * that is in another type than they are kept in, in a copy.
 */
static void
reduce_shards (StrategyRun *run, const GradientBucket *bucket, PolicyRouteKind route,
               guint64 elements)
{
  const DeepspeedState *s = run->state;
  const PolicyRoute    *hops = &deepspeed_unit_policy (run)->routes[route];
  guint                 first = last_hops (run, route);
  RouteEnd              where = { .use = use_waiting, .data = bucket };
  BufferRef             cast = SCHEDULE_NONE;

  if (elements == 0 || !bucket->last || first >= hops->n)
    return;
  if (hops->hops[first].dtype != run->policy->compute)
    {
      cast = schedule_alloc_on (run->b, s->reduce, PLACE_HBM, POOL_COMMUNICATION,
                                elements * dtype_bytes (hops->hops[first].dtype),
                                "shards in the reduction's precision");
      cast_shards (run, bucket, elements, cast, hops->hops[first].dtype, FALSE);
      where = route_whole (cast);
    }
  walk_reduction (run, bucket,
                  (RouteWalk){ .route = route,
                               .first = first,
                               .end = POLICY_MAX_HOPS,
                               .held = elements,
                               .from = where,
                               .to = where });
  if (cast == SCHEDULE_NONE)
    return;
  cast_shards (run, bucket, elements, cast, hops->hops[first].dtype, TRUE);
  free_behind (run, cast, s->reduce);
}

void
deepspeed_reduce_bucket (StrategyRun *run, const GradientBucket *bucket)
{
  const DeepspeedState *s = run->state;
  guint                 compute = compute_bytes (run->policy);
  guint64               taken = bucket_padded (run, bucket, ROUTE_REDUCE);
  guint64               rest = bucket_padded (run, bucket, ROUTE_REST);
  double                shard_elements = (double) (taken + rest) / s->m;
  BufferRef             input;

  if (reduces_tensors (run))
    {
      input = reduction_input (run, bucket, rest, taken / s->m);
      reduce_tensors (run, bucket, input);
    }
  else
    {
      input = reduction_input (run, bucket, taken, 0);
      reduce_at_once (run, bucket, input, taken);
    }
  if (deepspeed_is_away (run, STATE_OPTIMIZER))
    {
      deepspeed_offload_store (run, bucket, input, taken + rest);
      free_behind (run, input, s->reduce);
      return;
    }
  emit_stream_kernel (run->b, s->reduce, KERNEL_ELEMENTWISE, "gradient_add", DTYPE_FP16,
                      shard_elements * (reduced_bytes (run) + compute), shard_elements * compute);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_READ);
  gradient_bucket_uses (bucket, run, s->gradients,
                        bucket->first ? ACCESS_WRITE : ACCESS_READ_WRITE);
  free_behind (run, input, s->reduce);
  reduce_shards (run, bucket, ROUTE_REDUCE, taken / s->m);
  reduce_shards (run, bucket, ROUTE_REST, rest / s->m);
}
