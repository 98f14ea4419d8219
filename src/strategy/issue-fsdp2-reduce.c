/*
 * How fully_shard's gradients are reduced: in the shard group, over replicas on a stream of their
 * own, then cast, added, or sent to the host.
 */
#include "strategy/common.h"
#include "strategy/host-update.h"
#include "strategy/issue-fsdp2-private.h"
#include "strategy/route.h"

/* The hops [FIRST, END) of UNIT's reduction on STREAM. */
static void
walk_reduction (StrategyRun *run, guint unit, guint first, guint end, guint64 held,
                StreamRef stream, BufferRef from, BufferRef to)
{
  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = ROUTE_REDUCE,
                                 .first = first,
                                 .end = end,
                                 .last_micro = TRUE,
                                 .held = held,
                                 .moves = stream,
                                 .collectives = stream,
                                 .from = route_whole (from),
                                 .to = route_whole (to),
                                 .passing = "gradient on its way" });
}

/* The host waits for what has come, adds it to UNIT's gradient, and gives it back. */
static void
add_on_host (StrategyRun *run, guint unit, BufferRef arrived, guint64 elements)
{
  Fsdp2State *s = run->state;
  double      n = (double) elements * element_bytes (run, STATE_GRADIENTS);
  HostDesc    work = host_desc_stream ("cpu_gradient_add", elements, 2 * n, n);

  schedule_host_wait (run->b, s->offloaded);
  schedule_host_op (run->b, host_update_stream (run), &work, TRUE);
  schedule_uses (run->b, arrived, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, s->units[unit].shard_buffer, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  schedule_free (run->b, arrived);
}

/*
 * The fp32 shard CAST of a unit's gradient goes to the host. The first micro-step's copy stays
 * there; later ones come to memory of their own, and the host adds them to it.
 */
static void
offload_gradient (StrategyRun *run, guint unit, StreamRef stream, guint64 shard_elements,
                  gboolean first, BufferRef cast)
{
  Fsdp2State        *s = run->state;
  Fsdp2Unit         *u = &s->units[unit];
  const PolicyRoute *reduce = fsdp2_reduce_route (run, run->units[unit].expert);
  BufferRef          arrived =
      schedule_alloc (run->b, run->policy->kinds[0].states[STATE_GRADIENTS].home, POOL_GRADIENT,
                      shard_elements * element_bytes (run, STATE_GRADIENTS), "gradient shard");

  if (first)
    u->shard_buffer = arrived;
  strategy_data (run, unit, UNIT_REDUCED, u->shard_buffer, SCHEDULE_NONE);
  walk_reduction (run, unit, policy_next (reduce, 0, HOP_MOVE), reduce->n, shard_elements, stream,
                  cast, arrived);
  s->offloaded = schedule_record (run->b, stream);
  if (!first)
    add_on_host (run, unit, arrived, shard_elements);
}

/* The reduced shard, cast to fp32 on STREAM and sent on. */
static void
cast_and_offload (StrategyRun *run, guint unit, StreamRef stream, gboolean first, BufferRef output,
                  guint64 shard_elements)
{
  guint     reduce = reduced_bytes (run);
  guint     master = element_bytes (run, STATE_GRADIENTS);
  BufferRef cast = schedule_alloc_on (run->b, stream, PLACE_HBM, POOL_GRADIENT,
                                      shard_elements * master, "gradient shard on its way");

  emit_stream_kernel (run->b, stream, KERNEL_ELEMENTWISE, "gradient_cast", DTYPE_FP32,
                      (double) shard_elements * reduce, (double) shard_elements * master);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free_after (run->b, output, schedule_record (run->b, stream));
  offload_gradient (run, unit, stream, shard_elements, first, cast);
  schedule_free (run->b, cast);
}

/*
 * After the reduce-scatter: all-reduce over the replicas, then cast or add into the sharded
 * gradient.
 */
static void
finish_reduce (StrategyRun *run, guint unit, gboolean first, BufferRef output,
               guint64 shard_elements)
{
  Fsdp2State        *s = run->state;
  Fsdp2Unit         *u = &s->units[unit];
  const PolicyRoute *route = fsdp2_reduce_route (run, run->units[unit].expert);
  guint              reduce = reduced_bytes (run);
  guint              master = element_bytes (run, STATE_GRADIENTS);
  StreamRef          stream = s->reduce;

  if (reduces_over_replicas (run))
    {
      stream = s->all_reduce;
      schedule_wait_stream (run->b, stream, s->reduce);
      if (!compresses (run, run->units[unit].expert))
        walk_reduction (run, unit, policy_n_scatters (route), policy_next (route, 0, HOP_MOVE),
                        shard_elements, stream, output, output);
    }
  if (fsdp2_is_offloaded (run))
    {
      cast_and_offload (run, unit, stream, first, output, shard_elements);
      return;
    }
  if (u->shard_buffer == SCHEDULE_NONE)
    u->shard_buffer = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT, shard_elements * master,
                                      "gradient shard");
  strategy_data (run, unit, UNIT_REDUCED, u->shard_buffer, SCHEDULE_NONE);
  emit_stream_kernel (run->b, stream, KERNEL_ELEMENTWISE, first ? "gradient_cast" : "gradient_add",
                      DTYPE_FP32, (double) shard_elements * (first ? reduce : reduce + master),
                      (double) shard_elements * master);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, u->shard_buffer, SCHEDULE_WHOLE, first ? ACCESS_WRITE : ACCESS_READ_WRITE);
  schedule_free_after (run->b, output, schedule_record (run->b, stream));
}

/*
 * UNIT's gradients, of BYTES each, are copied into INPUT. Those that are not cut along their first
 * dimension are first put together by shards (torch.cat), in their own type. The kernel that then
 * casts and pads all of them (torch._chunk_cat) takes an element a thread where types differ; what
 * is in place is cast as any tensor is.
 */
static void
copy_into_reduction (StrategyRun *run, guint unit, BufferRef grads, guint bytes, BufferRef input)
{
  const UnitShare *share = &run->shares[unit];
  guint            reduce = reduced_bytes (run);
  double           elements = (double) run->units[unit].trainable_elements;
  double           strided = (double) share->trainable_strided * bytes;
  KernelDesc       copy;

  if (strided > 0)
    {
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "reduce_cat", DTYPE_BF16, strided,
                          strided);
      schedule_uses (run->b, grads, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
    }
  copy = kernel_desc_stream (KERNEL_COPY, "reduce_copy_in", DTYPE_BF16, elements * bytes,
                             (double) share->trainable_padded * reduce, 1);
  copy.widens = bytes < reduce && !shard_format_is_in_place (run->policy->kinds[0].format);
  schedule_kernel (run->b, SCHEDULE_COMPUTE, &copy);
  schedule_uses (run->b, grads, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_WRITE);
}

/* *GRADS, of DTYPE, goes, and is the input of UNIT's reduction: a copy, or itself. */
static BufferRef
reduction_input (StrategyRun *run, guint unit, BufferRef *grads, Dtype dtype)
{
  BufferRef input = *grads;

  if (!shard_format_is_in_place (run->policy->kinds[0].format) || dtype != reduced_dtype (run))
    {
      input = schedule_alloc (run->b, PLACE_HBM, POOL_COMMUNICATION,
                              run->shares[unit].trainable_padded * reduced_bytes (run),
                              "reduce-scatter input");
      copy_into_reduction (run, unit, *grads, dtype_bytes (dtype), input);
      schedule_free (run->b, *grads);
    }
  *grads = SCHEDULE_NONE;
  return input;
}

void
fsdp2_reduce_unit (StrategyRun *run, guint unit, BufferRef *grads, Dtype dtype, gboolean first)
{
  Fsdp2State *s = run->state;
  guint64     shard_elements = run->shares[unit].trainable;
  BufferRef   input, output;

  if (s->reducing != SCHEDULE_NONE)
    {
      schedule_wait (run->b, SCHEDULE_COMPUTE, s->reduced);
      schedule_free (run->b, s->reducing);
    }
  input = reduction_input (run, unit, grads, dtype);
  schedule_wait_stream (run->b, s->reduce, SCHEDULE_COMPUTE);
  output = schedule_alloc_on (run->b, s->reduce, PLACE_HBM, POOL_COMMUNICATION,
                              shard_elements * reduced_bytes (run), "reduce-scatter output");
  if (compresses (run, run->units[unit].expert))
    compressed_reduce_units (&s->compressed, run, &unit, 1, s->reduce, route_whole (input),
                             route_whole (output), shard_elements);
  else
    walk_reduction (run, unit, 0,
                    policy_n_scatters (fsdp2_reduce_route (run, run->units[unit].expert)),
                    run->shares[unit].trainable_padded, s->reduce, input, output);
  s->reduced = schedule_record (run->b, s->reduce);
  s->reducing = input;
  finish_reduce (run, unit, first, output, shard_elements);
}

void
fsdp2_wait_for_reductions (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  schedule_wait_stream (run->b, SCHEDULE_COMPUTE,
                        reduces_over_replicas (run) ? s->all_reduce : s->reduce);
  if (s->reducing != SCHEDULE_NONE)
    schedule_free (run->b, s->reducing);
  s->reducing = SCHEDULE_NONE;
  schedule_host_wait (run->b, s->offloaded);
  s->offloaded = SCHEDULE_NONE;
}
