/*
 * PyTorch FullyShardedDataParallel (FSDP1): one flat parameter a unit, all-gathered and
 * reduce-scattered in place.
 *
 * One communicator serves both directions, so collectives run in the order in which the host issues
 * them. Forward: the all-gather of unit i is issued after the kernels of unit i - 1 (overlap by
 * run-ahead). Backward: the next unit is gathered before the gradient kernels (backward_prefetch:
 * pre), after them (post), or not ahead at all. The rate limiter lets the host issue a third
 * all-gather only when the oldest freed unit's last use is over. Freed storage comes back when the
 * compute stream has passed its last use (record_stream). The root's parameters (embedding and
 * head) stay gathered after forward.
 *
 * Parameters are views of a split of the flat parameter, so autograd puts their gradients together
 * (split_with_sizes_backward: a cat, on the compute stream). The flat gradient is cast, divided
 * before its reduction and, as a shard, behind it; in the gradient's type the shard is the
 * gradient. Source: Zhao et al., arXiv:2304.11277, 3.3 and 3.4; torch/distributed/fsdp
 * (_flat_param.py, _get_unflat_views_unaligned; _runtime_utils.py, _reduce_grad;
 * _init_utils.py: DefaultState._get_gradient_predivide_factor).
 */
#include "strategy/runtime/fsdp1/issue-fsdp1.h"

#include "strategy/compression/compressed.h"
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"

/* _max_num_inflight_all_gathers in torch/distributed/fsdp/_limiter_utils.py. */
#define MAX_IN_FLIGHT 2

typedef struct
{
  BufferRef full, grads, shard_buffer;
  EventRef  gathered;
  EventRef  used; /* by passes that may be concurrent with the last one; or SCHEDULE_NONE */
  gboolean  available;
} UnitState;

typedef struct
{
  StreamRef  pre_unshard, unshard, post_backward;
  StreamRef  finish; /* of what follows a reduce-scatter: that of the all-reduce over replicas, or
                        post_backward where there are none */
  BufferRef  shards; /* of the parameters: all units */
  UnitState *units;
  EventRef   freed[MAX_IN_FLIGHT]; /* limiter: last uses of units freed lately; oldest first */
  guint      n_freed;
  Compressed compressed;
} Fsdp1State;

static const Fsdp1Issue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

static gboolean
stays_gathered (const StrategyRun *run, guint unit)
{
  return run->policy->stays || run->units[unit].desc->kind != LAYER_BLOCK;
}

static void
fsdp1_init (StrategyRun *run)
{
  Fsdp1State *s = run->state;

  s->pre_unshard = schedule_stream (run->b, "pre_unshard", 0);
  s->unshard = schedule_stream (run->b, "unshard", 1);
  s->post_backward = s->finish = schedule_stream (run->b, "post_backward", 1);
  if (reduces_over_replicas (run))
    s->finish = schedule_stream (run->b, "all_reduce", 0);
  s->units = g_new0 (UnitState, run->n_units);
  for (guint i = 0; i < run->n_units; i++)
    {
      UnitState *u = &s->units[i];

      u->full = u->grads = u->shard_buffer = u->used = SCHEDULE_NONE;
    }
  s->shards = schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER, held_bytes (run, STATE_PARAMETERS),
                              "flat parameter shards");
  hold_optimizer (run);
  compressed_init (&s->compressed, run);
}

static void
fsdp1_clear (StrategyRun *run)
{
  Fsdp1State *s = run->state;

  g_free (s->units);
  compressed_clear (&s->compressed, run);
}

static void
fsdp1_step_begin (StrategyRun *run)
{
  Fsdp1State *s = run->state;

  s->n_freed = 0; /* the step before has ended: its events are over */
  for (guint i = 0; i < run->n_units; i++)
    s->units[i].used = SCHEDULE_NONE;
  schedule_wait_stream (run->b, s->pre_unshard, SCHEDULE_COMPUTE);
  schedule_wait_stream (run->b, s->unshard, SCHEDULE_COMPUTE);
}

static void
limit_rate (StrategyRun *run)
{
  Fsdp1State *s = run->state;

  if (!options_of (run)->limit_all_gathers || s->n_freed < MAX_IN_FLIGHT)
    return;
  schedule_host_pace (run->b, s->freed[0]);
  s->freed[0] = s->freed[1];
  s->n_freed--;
}

static void
gather (StrategyRun *run, guint unit)
{
  Fsdp1State      *s = run->state;
  UnitState       *u = &s->units[unit];
  const UnitShare *share = &run->shares[unit];
  guint     compute = compute_bytes (run->policy), master = element_bytes (run, STATE_PARAMETERS);
  guint64   shard_elements = share->elements;
  guint     old = schedule_set_unit (run->b, unit);
  BufferRef cast = SCHEDULE_NONE;

  limit_rate (run);
  if (compute < master)
    {
      cast = schedule_alloc_on (run->b, s->pre_unshard, PLACE_HBM, POOL_GATHERED,
                                shard_elements * compute, "low-precision shard");
      emit_stream_kernel (run->b, s->pre_unshard, KERNEL_COPY, "shard_cast", DTYPE_FP32,
                          (double) shard_elements * master, (double) shard_elements * compute);
      schedule_uses (run->b, s->shards, unit, ACCESS_READ);
      schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_WRITE);
      schedule_wait_stream (run->b, s->unshard, s->pre_unshard);
    }
  u->full = schedule_alloc_on (run->b, s->unshard, PLACE_HBM, POOL_GATHERED,
                               share->padded * compute, "flat parameter");
  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = ROUTE_GATHER,
                                 .end = POLICY_MAX_HOPS,
                                 .held = shard_elements,
                                 .collectives = s->unshard,
                                 .from = cast != SCHEDULE_NONE ? route_whole (cast)
                                                               : route_part (s->shards, unit),
                                 .to = route_whole (u->full),
                                 .passing = "flat parameter on its way" });
  strategy_data (run, unit, UNIT_PARAMETERS, u->full, SCHEDULE_NONE);
  u->gathered = schedule_record (run->b, s->unshard);
  if (cast != SCHEDULE_NONE)
    schedule_free_after (run->b, cast, u->gathered);
  u->available = TRUE;
  schedule_set_unit (run->b, old);
}

static void
reshard (StrategyRun *run, guint unit)
{
  Fsdp1State *s = run->state;
  UnitState  *u = &s->units[unit];
  EventRef last_use = schedule_join (run->b, schedule_record (run->b, SCHEDULE_COMPUTE), u->used);

  schedule_free_after (run->b, u->full, last_use);
  u->full = u->used = SCHEDULE_NONE;
  u->available = FALSE;
  if (s->n_freed == MAX_IN_FLIGHT) /* nobody has asked for the oldest: only the newest two matter */
    s->freed[0] = s->freed[1], s->n_freed--;
  s->freed[s->n_freed++] = last_use;
}

static void
prefetch_backward (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State *s = run->state;

  if (slot->unit > slot->first_unit && !s->units[slot->unit - 1].available)
    gather (run, slot->unit - 1);
}

static void
fsdp1_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State       *s = run->state;
  const Fsdp1Issue *o = options_of (run);
  guint             table = slot->plan->shares;

  if (!s->units[slot->unit].available)
    gather (run, slot->unit);
  schedule_wait (run->b, SCHEDULE_COMPUTE, s->units[slot->unit].gathered);
  /*
   * A tied head reads the embedding's table. Where both lie on one stage (zbv, dualpipe), another
   * micro-batch may have given it back, or a concurrent pass may have gathered it.
   */
  if (table != slot->unit)
    {
      if (!s->units[table].available)
        gather (run, table);
      schedule_wait (run->b, SCHEDULE_COMPUTE, s->units[table].gathered);
    }
  if (slot->use == USE_BACKWARD && o->backward_prefetch == PREFETCH_PRE)
    prefetch_backward (run, slot);
  if (slot->use == USE_FORWARD && o->forward_prefetch && slot->unit + 1 < slot->end_unit
      && !s->units[slot->unit + 1].available)
    gather (run, slot->unit + 1);
}

static void
fsdp1_use_end (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State       *s = run->state;
  const Fsdp1Issue *o = options_of (run);
  guint             table = slot->plan->shares;

  /*
   * The pass that gives a unit back may not wait for some uses: a tied head's in another chunk,
   * and, of a unit that stays, the forward pass of the next micro-batch beside its backward pass.
   */
  if (table < slot->first_unit || table >= slot->end_unit)
    s->units[table].used = schedule_record (run->b, SCHEDULE_COMPUTE);
  if (workload_mesh (run->in->workload)->moe_overlap && slot->use == USE_FORWARD
      && stays_gathered (run, slot->unit))
    s->units[slot->unit].used = schedule_record (run->b, SCHEDULE_COMPUTE);
  if (slot->use == USE_BACKWARD ? s->units[slot->unit].available
                                : !stays_gathered (run, slot->unit))
    reshard (run, slot->unit);
  if (slot->use == USE_BACKWARD && o->backward_prefetch == PREFETCH_POST)
    prefetch_backward (run, slot);
}

static void
fsdp1_gradient_begin (StrategyRun *run, const UnitSlot *slot)
{
  UnitState *u = &((Fsdp1State *) run->state)->units[slot->unit];

  u->grads = schedule_alloc (
      run->b, PLACE_HBM, POOL_GRADIENT,
      run->units[slot->unit].trainable_elements * compute_bytes (run->policy), "gradients");
  strategy_data (run, slot->unit, UNIT_GRADIENT, u->grads, SCHEDULE_NONE);
}

/* The gradients of UNIT, put together on the compute stream. */
static void
flatten_gradients (StrategyRun *run, guint unit)
{
  UnitState *u = &((Fsdp1State *) run->state)->units[unit];
  double     compute = compute_bytes (run->policy);
  guint64    padded = run->shares[unit].trainable_padded;
  BufferRef  flat = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                    padded * compute_bytes (run->policy), "flat gradient");

  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "gradient_cat", run->policy->compute,
                      (double) run->units[unit].trainable_elements * compute,
                      (double) padded * compute);
  schedule_uses (run->b, u->grads, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, flat, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free (run->b, u->grads);
  u->grads = flat;
}

/* What is reduced, or a shard of what has been, is divided where it is. */
static void
divide (StrategyRun *run, StreamRef stream, guint64 elements, BufferRef buffer)
{
  double bytes = (double) elements * reduced_bytes (run);

  emit_stream_kernel (run->b, stream, KERNEL_ELEMENTWISE, "gradient_divide", reduced_dtype (run),
                      bytes, bytes);
  schedule_uses (run->b, buffer, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

/* The flat gradient as it is reduced: cast where the reduction has another precision. */
static BufferRef
cast_gradient (StrategyRun *run, guint unit, guint reduce)
{
  Fsdp1State *s = run->state;
  UnitState  *u = &s->units[unit];
  guint64     padded = run->shares[unit].trainable_padded;
  guint       compute = compute_bytes (run->policy);
  BufferRef   input;

  if (reduce == compute)
    return u->grads;
  input = schedule_alloc_on (run->b, s->post_backward, PLACE_HBM, POOL_COMMUNICATION,
                             padded * reduce, "gradient in reduction precision");
  emit_stream_kernel (run->b, s->post_backward, KERNEL_COPY, "gradient_cast", DTYPE_FP32,
                      (double) padded * compute, (double) padded * reduce);
  schedule_uses (run->b, u->grads, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free_after (run->b, u->grads, schedule_record (run->b, s->post_backward));
  return input;
}

/*
 * What the reduction left in OUTPUT becomes the shard's gradient, a cast of it where that has
 * another type, or is added to it.
 */
static void
keep_shard (StrategyRun *run, guint unit, BufferRef output)
{
  Fsdp1State *s = run->state;
  UnitState  *u = &s->units[unit];
  double      elements = (double) run->shares[unit].trainable;
  guint       reduce = reduced_bytes (run), kept = element_bytes (run, STATE_GRADIENTS);
  BufferRef   shard = output;

  if (reduce != kept)
    {
      shard = schedule_alloc_on (run->b, s->finish, PLACE_HBM, POOL_GRADIENT,
                                 run->shares[unit].trainable * kept, "gradient shard");
      emit_stream_kernel (run->b, s->finish, KERNEL_ELEMENTWISE, "shard_gradient_cast", DTYPE_FP32,
                          elements * reduce, elements * kept);
      schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, shard, SCHEDULE_WHOLE, ACCESS_WRITE);
    }
  if (u->shard_buffer == SCHEDULE_NONE)
    u->shard_buffer = shard;
  else
    {
      emit_stream_kernel (run->b, s->finish, KERNEL_ELEMENTWISE, "shard_gradient_add", DTYPE_FP32,
                          2 * elements * kept, elements * kept);
      schedule_uses (run->b, shard, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, u->shard_buffer, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
    }
  if (shard != output && shard != u->shard_buffer)
    schedule_free (run->b, shard);
  if (output != u->shard_buffer)
    schedule_free_after (run->b, output, schedule_record (run->b, s->finish));
  strategy_data (run, unit, UNIT_REDUCED, u->shard_buffer, SCHEDULE_NONE);
}

static void
fsdp1_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State        *s = run->state;
  const UnitShare   *share = &run->shares[slot->unit];
  guint              reduce = reduced_bytes (run), kind = slot->plan->expert;
  guint              replicas = policy_n_scatters (&run->policy->kinds[kind].routes[ROUTE_REDUCE]);
  const PolicyRoute *route = &run->policy->kinds[kind].routes[ROUTE_REDUCE];
  guint              summed = 1;
  gboolean           stays = s->units[slot->unit].shard_buffer == SCHEDULE_NONE
                   && reduce == element_bytes (run, STATE_GRADIENTS);
  BufferRef input, output;

  /* The reduction sums the gradients of so many ranks. */
  for (guint h = 0; h < route->n; h++)
    summed *= route->hops[h].group.size;
  flatten_gradients (run, slot->unit);
  schedule_wait_stream (run->b, s->post_backward, SCHEDULE_COMPUTE);
  input = cast_gradient (run, slot->unit, reduce);
  if (summed > 1)
    divide (run, s->post_backward, share->trainable_padded, input);
  output = schedule_alloc_on (run->b, s->post_backward, PLACE_HBM,
                              stays ? POOL_GRADIENT : POOL_COMMUNICATION, share->trainable * reduce,
                              stays ? "gradient shard" : "reduce-scatter output");
  if (compresses (run, kind))
    compressed_reduce_units (&s->compressed, run, &slot->unit, 1, s->post_backward,
                             route_whole (input), route_whole (output), share->trainable);
  else
    emit_reduction (run, slot->unit, 0, replicas, share->trainable_padded, s->post_backward,
                    route_whole (input), route_whole (output));
  schedule_free_after (run->b, input, schedule_record (run->b, s->post_backward));
  if (s->finish != s->post_backward)
    schedule_wait_stream (run->b, s->finish, s->post_backward);
  if (!compresses (run, kind))
    emit_reduction (run, slot->unit, replicas, POLICY_MAX_HOPS, share->trainable, s->finish,
                    route_whole (output), route_whole (output));
  if (summed > 2)
    divide (run, s->finish, share->trainable, output);
  keep_shard (run, slot->unit, output);
}

static void
fsdp1_micro_step_end (StrategyRun *run)
{
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, ((Fsdp1State *) run->state)->finish);
}

static void
fsdp1_step_end (StrategyRun *run)
{
  Fsdp1State *s = run->state;

  emit_share_update (run, FALSE);
  /* as the next reduction does, and what follows it */
  schedule_wait_stream (run->b, s->post_backward, SCHEDULE_COMPUTE);
  if (s->finish != s->post_backward)
    schedule_wait_stream (run->b, s->finish, SCHEDULE_COMPUTE);
  for (guint i = 0; i < run->n_units; i++)
    {
      schedule_free (run->b, s->units[i].shard_buffer);
      s->units[i].shard_buffer = SCHEDULE_NONE;
    }
  compressed_step_end (&s->compressed, run);
}

const Issue issue_fsdp1 = {
  .carries = { .homes = { 1u << PLACE_HBM, 1u << PLACE_HBM, 1u << PLACE_HBM },
               .routes = 1u << ROUTE_GATHER | 1u << ROUTE_REDUCE,
               .cadences = 1u << CADENCE_MICRO_STEP,
               .compressors = TRUE,
               .stays = TRUE,
               .shared_tables = TRUE },
  .hooks = { .state_size = sizeof (Fsdp1State),
             .granularity = UNIT_LAYER,
             .host_hooks = 1,
             .init = fsdp1_init,
             .clear = fsdp1_clear,
             .step_begin = fsdp1_step_begin,
             .use_begin = fsdp1_use_begin,
             .use_end = fsdp1_use_end,
             .gradient_begin = fsdp1_gradient_begin,
             .gradient_ready = fsdp1_gradient_ready,
             .micro_step_end = fsdp1_micro_step_end,
             .step_end = fsdp1_step_end },
  .form = fsdp1_form,
};
