/*
 * How fully_shard's gradients are reduced: in the shard group, over replicas on a stream of their
 * own, then cast, added, or sent to the host.
 */
#include "strategy/emit/common.h"
#include "strategy/emit/host-update.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/fsdp2/issue-fsdp2-private.h"

/* Whether the reduction of units of KIND adds up the shards of replicas. */
static gboolean
sums_replicas (const StrategyRun *run, guint kind)
{
  const PolicyRoute *reduce = fsdp2_reduce_route (run, kind);
  guint              shards = policy_n_scatters (reduce);

  return !compresses (run, kind) && policy_next (reduce, shards, HOP_MOVE) > shards;
}

/* Whether replicas add up their shards once a step, though each micro-step makes such. */
static gboolean
defers_replicas (const StrategyRun *run, guint kind)
{
  const PolicyRoute *reduce = fsdp2_reduce_route (run, kind);

  return sums_replicas (run, kind) && reduce->hops[0].cadence == CADENCE_MICRO_STEP
         && policy_next_of (reduce, 0, CADENCE_LAST) < reduce->n;
}

/*
 * The shard SENT of a unit's gradient goes to the host. The first copy of a step stays there; later
 * ones come to memory of their own, and the host adds them to it.
 */
static void
offload_gradient (StrategyRun *run, guint unit, StreamRef stream, guint64 shard_elements,
                  BufferRef sent)
{
  Fsdp2State        *s = run->state;
  Fsdp2Unit         *u = &s->units[unit];
  const PolicyRoute *reduce = fsdp2_reduce_route (run, run->units[unit].expert);
  gboolean           first = u->shard_buffer == SCHEDULE_NONE;
  BufferRef          arrived =
      schedule_alloc (run->b, run->policy->kinds[0].states[STATE_GRADIENTS].home, POOL_GRADIENT,
                      shard_elements * element_bytes (run, STATE_GRADIENTS), "gradient shard");

  if (first)
    u->shard_buffer = arrived;
  emit_reduction (run, unit, policy_next (reduce, 0, HOP_MOVE), reduce->n, shard_elements, stream,
                  route_whole (sent), route_whole (arrived));
  s->offloaded = schedule_record (run->b, stream);
  if (!first)
    {
      /* The host waits for what has come, adds it to the unit's gradient, and gives it back. */
      double   n = (double) shard_elements * element_bytes (run, STATE_GRADIENTS);
      HostDesc work = host_desc_stream ("cpu_gradient_add", shard_elements, 2 * n, n);

      schedule_host_wait (run->b, s->offloaded);
      schedule_host_op (run->b, host_update_stream (run), &work, TRUE);
      schedule_uses (run->b, arrived, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, s->units[unit].shard_buffer, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
      schedule_free (run->b, arrived);
    }
}

/* SUM += PART, both of so many ELEMENTS of DTYPE, on STREAM. */
static void
add_shard (StrategyRun *run, StreamRef stream, const char *name, guint64 elements, Dtype dtype,
           BufferRef sum, BufferRef part)
{
  double bytes = (double) elements * dtype_bytes (dtype);

  emit_stream_kernel (run->b, stream, KERNEL_ELEMENTWISE, name, dtype, 2 * bytes, bytes);
  schedule_uses (run->b, part, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, sum, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

/* The reduced shard OUTPUT in the gradient's type: a cast, made on STREAM, or itself. */
static BufferRef
cast_shard (StrategyRun *run, StreamRef stream, BufferRef output, guint64 elements)
{
  guint     reduce = reduced_bytes (run), master = element_bytes (run, STATE_GRADIENTS);
  BufferRef cast;

  if (reduce == master)
    return output;
  cast =
      schedule_alloc_on (run->b, stream, PLACE_HBM, POOL_GRADIENT, elements * master,
                         fsdp2_is_offloaded (run) ? "gradient shard on its way" : "gradient shard");
  emit_stream_kernel (run->b, stream, KERNEL_ELEMENTWISE, "gradient_cast", DTYPE_FP32,
                      (double) elements * reduce, (double) elements * master);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_WRITE);
  return cast;
}

/*
 * What has been reduced on STREAM into OUTPUT becomes UNIT's gradient, is added to it, or goes to
 * the host. Its memory, where it is not the gradient's, goes; but what replicas have worked in
 * stays until the backward pass ends: another stream may still read it when the host goes on.
 */
static void
keep_shard (StrategyRun *run, guint unit, StreamRef stream, BufferRef output, guint64 elements)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[unit];
  BufferRef  shard = cast_shard (run, stream, output, elements);

  if (fsdp2_is_offloaded (run))
    offload_gradient (run, unit, stream, elements, shard);
  else if (u->shard_buffer == SCHEDULE_NONE)
    u->shard_buffer = shard;
  else
    add_shard (run, stream, "gradient_add", elements,
               run->policy->kinds[0].states[STATE_GRADIENTS].dtype, u->shard_buffer, shard);
  strategy_data (run, unit, UNIT_REDUCED, u->shard_buffer, SCHEDULE_NONE);
  if (shard != output && shard != u->shard_buffer)
    schedule_free (run->b, shard);
  if (output == u->shard_buffer)
    return;
  if (sums_replicas (run, run->units[unit].expert))
    u->all_reduced = output;
  else
    schedule_free (run->b, output);
}

/*
 * Where replicas wait for the LAST micro-step, what the shard group has reduced into OUTPUT is
 * kept, or added to what is; then to it. Whether it is the replicas' turn.
 */
static gboolean
sum_partial (StrategyRun *run, guint unit, gboolean last, BufferRef output, guint64 elements)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[unit];
  BufferRef   part = last ? u->partial : output;

  if (u->partial == SCHEDULE_NONE)
    {
      u->partial = last ? SCHEDULE_NONE : output;
      return last;
    }
  add_shard (run, s->reduce, "partial_add", elements, reduced_dtype (run),
             last ? output : u->partial, part);
  schedule_free (run->b, part);
  if (last)
    u->partial = SCHEDULE_NONE;
  return last;
}

/* After the reduce-scatter: the all-reduce over the replicas, if it is due, then the rest. */
static void
finish_reduce (StrategyRun *run, guint unit, gboolean last, BufferRef output,
               guint64 shard_elements)
{
  Fsdp2State        *s = run->state;
  guint              kind = run->units[unit].expert;
  const PolicyRoute *route = fsdp2_reduce_route (run, kind);
  StreamRef          stream = s->reduce;

  if (defers_replicas (run, kind) && !sum_partial (run, unit, last, output, shard_elements))
    return;
  if (sums_replicas (run, kind))
    {
      stream = s->all_reduce;
      schedule_wait_stream (run->b, stream, s->reduce);
      emit_reduction (run, unit, policy_n_scatters (route), policy_next (route, 0, HOP_MOVE),
                      shard_elements, stream, route_whole (output), route_whole (output));
    }
  keep_shard (run, unit, stream, output, shard_elements);
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

/* Memory of what the shard group reduces of UNIT: it may stay, as the gradient or a part of it. */
static BufferRef
reduction_output (StrategyRun *run, guint unit, gboolean last)
{
  Fsdp2State      *s = run->state;
  const Fsdp2Unit *u = &s->units[unit];
  guint            reduce = reduced_bytes (run);
  gboolean         partial = !last && defers_replicas (run, run->units[unit].expert);
  gboolean         whole = !partial && u->shard_buffer == SCHEDULE_NONE && !fsdp2_is_offloaded (run)
                   && reduce == element_bytes (run, STATE_GRADIENTS);
  gboolean stays = whole || (partial && u->partial == SCHEDULE_NONE);

  return schedule_alloc_on (
      run->b, s->reduce, PLACE_HBM, stays ? POOL_GRADIENT : POOL_COMMUNICATION,
      run->shares[unit].trainable * reduce, stays ? "gradient shard" : "reduce-scatter output");
}

void
fsdp2_reduce_unit (StrategyRun *run, guint unit, BufferRef *grads, Dtype dtype, gboolean last)
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
  output = reduction_output (run, unit, last);
  if (compresses (run, run->units[unit].expert))
    compressed_reduce_units (&s->compressed, run, &unit, 1, s->reduce, route_whole (input),
                             route_whole (output), shard_elements);
  else
    emit_reduction (
        run, unit, 0, policy_n_scatters (fsdp2_reduce_route (run, run->units[unit].expert)),
        run->shares[unit].trainable_padded, s->reduce, route_whole (input), route_whole (output));
  s->reduced = schedule_record (run->b, s->reduce);
  s->reducing = input;
  finish_reduce (run, unit, last, output, shard_elements);
}

void
fsdp2_follow_compute (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  schedule_wait_stream (run->b, s->reduce, SCHEDULE_COMPUTE);
  if (reduces_over_replicas (run))
    schedule_wait_stream (run->b, s->all_reduce, SCHEDULE_COMPUTE);
}

void
fsdp2_wait_for_reductions (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->reduce);
  if (reduces_over_replicas (run))
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->all_reduce);
  if (s->reducing != SCHEDULE_NONE)
    schedule_free (run->b, s->reducing);
  s->reducing = SCHEDULE_NONE;
  fsdp2_follow_compute (run);
  for (guint i = 0; i < run->n_units; i++)
    {
      schedule_free (run->b, s->units[i].all_reduced);
      s->units[i].all_reduced = SCHEDULE_NONE;
    }
  schedule_host_wait (run->b, s->offloaded);
  s->offloaded = SCHEDULE_NONE;
}
