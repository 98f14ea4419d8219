/*
 * The issue of PyTorch's fully_shard (FSDP2).
 *
 * Forward, unit i: copy-in (cast of the own shard into its slot) on the copy-in stream, all-gather
 * on the all-gather stream, the compute stream waits and copies out into per-parameter storage; the
 * gathered buffer is held until the next unit's wait, so that copy-out i overlaps all-gather i+1.
 * Backward: the unit before is prefetched after copy-out; a unit's gradients are copied into the
 * padded reduce-scatter input on the compute stream, which first waits for the previous
 * reduce-scatter; the shard is all-reduced over the replicas on a stream of its own, in memory that
 * stays until the backward pass ends. In the gradient's type it is the gradient, else a cast of it.
 * Source: torch/distributed/fsdp/_fully_shard (_fsdp_collectives.py, foreach_reduce;
 * _fsdp_param_group.py, _all_reduce_state, since 2.6); Zhao et al., arXiv:2304.11277, 3.2.2.
 *
 * With CPU offload the fp32 shards are in host memory: copy-in begins with their copy to the GPU,
 * on its stream; a reduced shard is cast to fp32 and copied to the host on the stream of its
 * reduction, behind which the host waits at the end of the backward pass, and at once where it adds
 * the copy to an earlier micro-step's. Source: _fsdp_param.py (all_gather_inputs),
 * _fsdp_collectives.py (foreach_reduce), _fsdp_param_group.py (finalize_backward).
 *
 * Told not to synchronise gradients before the last micro-step (set_requires_gradient_sync), units
 * keep them whole, in the reduction's precision, add to them, and reduce each as it is complete in
 * the last backward pass. Told not to all-reduce before it (set_requires_all_reduce), they keep and
 * add up reduced shards, on the reduce-scatter stream. Told to reshard to a smaller group after
 * forward, a unit keeps a slice of what was gathered, copied on the compute stream, from which the
 * next use gathers. Source: _fsdp_param.py (to_sharded_post_forward,
 * accumulate_unsharded_grad_if_needed).
 *
 * Under a format in place nothing is copied: kernels read gathered buffers, and write gradients
 * into the inputs of reductions, which a cast copies only if they have another type (veScale).
 *
 * A pipeline stage keeps a chunk's gradients whole, in the reduction's precision, and its
 * parameters gathered after a backward pass; behind the chunk's last backward pass its units are
 * reduced one after another in forward order. Source: torch/distributed/pipelining/stage.py,
 * backward_maybe_with_nosync.
 */
#include "strategy/runtime/fsdp2/issue-fsdp2.h"

#include "strategy/emit/common.h"
#include "strategy/emit/host-update.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/fsdp2/issue-fsdp2-private.h"

static const Fsdp2Issue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

/* A pipeline's stage: behind a chunk's last backward pass its units are reduced together. */
static gboolean
reduces_chunks (const StrategyRun *run)
{
  return fsdp2_sums_whole (run) && mesh_stages (&run->in->mesh).size > 1;
}

static void
fsdp2_init (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  s->copy_in = schedule_stream (run->b, "copy_in", 1);
  s->gather = schedule_stream (run->b, "all_gather", 1);
  s->reduce = schedule_stream (run->b, "reduce_scatter", 1);
  if (reduces_over_replicas (run))
    s->all_reduce = schedule_stream (run->b, "all_reduce", 0);
  s->units = g_new0 (Fsdp2Unit, run->n_units);
  s->used = g_array_new (FALSE, FALSE, sizeof (Fsdp2Used));
  for (guint i = 0; i < run->n_units; i++)
    {
      s->units[i].gather = s->units[i].full = s->units[i].shard_buffer = SCHEDULE_NONE;
      s->units[i].slice = SCHEDULE_NONE;
      s->units[i].grads = s->units[i].sum = SCHEDULE_NONE;
      s->units[i].partial = s->units[i].all_reduced = SCHEDULE_NONE;
    }
  s->held = s->reducing = s->offloaded = SCHEDULE_NONE;
  s->shards =
      schedule_alloc (run->b, run->policy->kinds[0].states[STATE_PARAMETERS].home, POOL_PARAMETER,
                      held_bytes (run, STATE_PARAMETERS), "parameter shards");
  hold_optimizer (run);
  compressed_init (&s->compressed, run);
}

static void
fsdp2_clear (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  g_free (s->units);
  g_array_unref (s->used);
  compressed_clear (&s->compressed, run);
}

static void
fsdp2_step_begin (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  /* The gathering streams must see the parameters that the optimizer wrote. */
  schedule_wait_stream (run->b, s->copy_in, SCHEDULE_COMPUTE);
  schedule_wait_stream (run->b, s->gather, SCHEDULE_COMPUTE);
}

static void
prefetch (StrategyRun *run, guint unit)
{
  if (!((Fsdp2State *) run->state)->units[unit].available)
    fsdp2_unshard (run, unit, TRUE);
}

static void
fsdp2_backward_begin (StrategyRun *run)
{
  fsdp2_drop_held (run);
}

/* Gathers the unit where it is not there; then those that are gathered ahead of their turn. */
static void
fsdp2_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  const Fsdp2Issue *options = options_of (run);
  const Fsdp2Unit  *u = &((Fsdp2State *) run->state)->units[slot->unit];
  gint64            back = options->backward_prefetch ? 1 : 0;

  if (!u->available)
    fsdp2_unshard (run, slot->unit, FALSE);
  if (slot->use == USE_FORWARD)
    {
      if (u->full == SCHEDULE_NONE)
        fsdp2_take_forward (run, slot);
      for (gint64 i = 1; i <= options->forward_modules && slot->unit + i < slot->end_unit; i++)
        prefetch (run, slot->unit + (guint) i);
      return;
    }
  if (u->gather != SCHEDULE_NONE && u->full == SCHEDULE_NONE)
    fsdp2_take_backward (run, slot);
  if (options->backward_modules > 0)
    back = options->backward_modules;
  for (gint64 i = 1; i <= back && slot->unit >= slot->first_unit + i; i++)
    prefetch (run, slot->unit - (guint) i);
}

/* What a pipeline's stage reduces by chunks, stays after a backward pass. */
static void
fsdp2_use_end (StrategyRun *run, const UnitSlot *slot)
{
  const Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[slot->unit];
  gboolean         forward = slot->use == USE_FORWARD;

  if (forward && !fsdp2_stays_gathered (run, slot->unit))
    {
      fsdp2_keep_slice (run, slot->unit);
      fsdp2_reshard (run, slot->unit);
    }
  else if (!forward && u->full != SCHEDULE_NONE && !reduces_chunks (run))
    fsdp2_reshard (run, slot->unit);
}

/* Elements of UNIT's whole gradient: with the padding where it is reduced in place. */
static guint64
gradient_elements (const StrategyRun *run, guint unit)
{
  return shard_format_is_in_place (run->policy->kinds[0].format)
             ? run->shares[unit].trainable_padded
             : run->units[unit].trainable_elements;
}

static void
fsdp2_gradient_begin (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;

  s->units[slot->unit].grads = schedule_alloc (
      run->b, PLACE_HBM, POOL_GRADIENT,
      gradient_elements (run, slot->unit) * compute_bytes (run->policy), "gradients");
  strategy_data (run, slot->unit, UNIT_GRADIENT, s->units[slot->unit].grads, SCHEDULE_NONE);
}

static void
use_host_gradients (StrategyRun *run, ScheduleAccess access)
{
  const Fsdp2State *s = run->state;

  for (guint i = 0; i < run->n_units; i++)
    if (run->units[i].trainable_elements > 0)
      schedule_uses (run->b, s->units[i].shard_buffer, SCHEDULE_WHOLE, access);
}

/* The first gradient of a step is the sum so far, or is cast to it. */
static void
accumulate (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[slot->unit];
  guint      reduce = reduced_bytes (run);
  guint      compute = compute_bytes (run->policy);
  guint64    elements = slot->plan->trainable_elements;

  if (slot->first && reduce == compute)
    u->sum = u->grads, u->grads = SCHEDULE_NONE;
  if (u->grads == SCHEDULE_NONE)
    return;
  if (slot->first)
    u->sum = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                             gradient_elements (run, slot->unit) * reduce, "whole gradients");
  emit_stream_kernel (
      run->b, SCHEDULE_COMPUTE, slot->first ? KERNEL_COPY : KERNEL_ELEMENTWISE,
      slot->first ? "gradient_cast" : "gradient_add", reduce == compute ? DTYPE_BF16 : DTYPE_FP32,
      (double) elements * (slot->first ? compute : compute + reduce), (double) elements * reduce);
  schedule_uses (run->b, u->grads, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, u->sum, SCHEDULE_WHOLE, slot->first ? ACCESS_WRITE : ACCESS_READ_WRITE);
  schedule_free (run->b, u->grads);
  u->grads = SCHEDULE_NONE;
}

/* Gradients that are whole until the last micro-step are reduced there, as each is complete. */
static void
fsdp2_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[slot->unit];
  gboolean   only = slot->first && slot->last && !reduces_chunks (run);

  if (!fsdp2_sums_whole (run) || only)
    {
      fsdp2_reduce_unit (run, slot->unit, &u->grads, run->policy->compute, slot->last);
      return;
    }
  accumulate (run, slot);
  if (slot->last && !reduces_chunks (run))
    fsdp2_reduce_unit (run, slot->unit, &u->sum, reduced_dtype (run), TRUE);
}

static void
fsdp2_chunk_end (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;

  if (!reduces_chunks (run))
    return;
  for (guint i = slot->first_unit; i < slot->end_unit; i++)
    {
      schedule_set_unit (run->b, i);
      if (s->units[i].full != SCHEDULE_NONE)
        fsdp2_reshard (run, i);
      if (run->units[i].trainable_elements > 0)
        fsdp2_reduce_unit (run, i, &s->units[i].sum, reduced_dtype (run), TRUE);
    }
  fsdp2_wait_for_reductions (run);
}

static void
fsdp2_micro_step_end (StrategyRun *run)
{
  if (!reduces_chunks (run) && ((Fsdp2State *) run->state)->reducing != SCHEDULE_NONE)
    fsdp2_wait_for_reductions (run);
}

static void
fsdp2_step_end (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  fsdp2_free_used (run);
  if (fsdp2_is_offloaded (run))
    {
      /* The optimizer of CPU offload: the issuing thread updates the shards where they are. */
      /* Gradients that tensor ranks or stages share have been added up since they were copied. */
      if (mesh_tensor (&run->in->mesh).size > 1 || mesh_stages (&run->in->mesh).size > 1)
        schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
      if (host_update_clips (run))
        {
          /*
           * torch.nn.utils.clip_grad_norm_ runs on gradients in host memory: the norm and the
           * scaling are passes of the issuing thread, and the sum over ranks is the hosts' (a gloo
           * backend beside NCCL).
           */
          guint64   elements = strategy_share (run, STATE_GRADIENTS);
          guint     bytes = element_bytes (run, STATE_GRADIENTS);
          StreamRef cpu = host_update_stream (run);

          emit_host_norm (run, cpu, elements, bytes);
          use_host_gradients (run, ACCESS_READ);
          emit_norm (run, run->policy->kinds[0].states[STATE_OPTIMIZER].group, cpu, TRANSPORT_HOST);
          emit_host_clip (run, cpu, elements, bytes, TRUE);
          use_host_gradients (run, ACCESS_READ_WRITE);
        }
      emit_host_update (run, host_update_stream (run), 0, TRUE);
      use_host_gradients (run, ACCESS_READ);
      for (guint i = 0; i < run->n_units; i++)
        if (run->units[i].trainable_elements > 0)
          schedule_uses (run->b, s->shards, i, ACCESS_READ_WRITE);
    }
  else
    {
      emit_share_update (run, FALSE);
      fsdp2_precompute_scales (run);
    }
  fsdp2_follow_compute (run);
  for (guint i = 0; i < run->n_units; i++)
    {
      schedule_free (run->b, s->units[i].shard_buffer);
      s->units[i].shard_buffer = SCHEDULE_NONE;
    }
  compressed_step_end (&s->compressed, run);
}

#define HBM_OR_HOST (1u << PLACE_HBM | 1u << PLACE_PINNED | 1u << PLACE_PAGEABLE)

const Issue issue_fsdp2 = {
  .carries = { .homes = { HBM_OR_HOST, HBM_OR_HOST, HBM_OR_HOST },
               .copies = 1u << PLACE_HBM,
               .routes =
                   1u << ROUTE_GATHER | 1u << ROUTE_REDUCE | 1u << ROUTE_FILL | 1u << ROUTE_COPY,
               .moves = 1u << ROUTE_GATHER | 1u << ROUTE_REDUCE | 1u << ROUTE_FILL,
               .cadences = 1u << CADENCE_MICRO_STEP | 1u << CADENCE_LAST,
               .mixed_cadence = TRUE,
               .partial_on_gpu = TRUE,
               .last_scatters = TRUE,
               .compressors = TRUE,
               .updates_home = TRUE,
               .stays = TRUE,
               .averaged_host = TRUE,
               .shared_tables = TRUE },
  .copies_pass = TRUE,
  .hooks = { .state_size = sizeof (Fsdp2State),
             .granularity = UNIT_LAYER,
             .host_hooks = 1,
             .init = fsdp2_init,
             .clear = fsdp2_clear,
             .step_begin = fsdp2_step_begin,
             .use_begin = fsdp2_use_begin,
             .use_end = fsdp2_use_end,
             .backward_begin = fsdp2_backward_begin,
             .gradient_begin = fsdp2_gradient_begin,
             .gradient_ready = fsdp2_gradient_ready,
             .chunk_end = fsdp2_chunk_end,
             .micro_step_end = fsdp2_micro_step_end,
             .step_end = fsdp2_step_end },
  .form = fsdp2_form,
};
