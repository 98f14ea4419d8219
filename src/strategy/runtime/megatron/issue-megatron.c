/*
 * The issue of Megatron-FSDP: flat buckets, a unit (embedding, block, head) each, gathered and
 * reduced without a copy.
 *
 * A forward or backward use gathers its unit and, in the direction of the pass, units ahead of it
 * until those have half a communication unit of elements. What is issued waits for the kernels that
 * have been issued so far. A block's parameters go after each use; those of other units stay until
 * the step's last backward pass, and none is gathered ahead of a block's turn by their backward
 * use. Whole parameters take the same way once a step: their buckets are brought up to date where
 * they lie.
 *
 * A sharded gradient is copied into a bucket, reduced on a stream of its own, and added to the own
 * shard; buckets that wait for it have a communication unit of elements at most, beyond which the
 * compute stream waits for the oldest; behind a backward pass it waits for all. A whole gradient
 * adds up where it is kept, and is reduced in the last micro-step. Shards are reduced over outer
 * ranks in the last micro-step, on another stream: all-reduced or, where these share the optimizer,
 * reduce-scattered; then each gathering of the first micro-step begins with one over outer ranks.
 *
 * With double buffers the blocks that most blocks are like have two buffers for parameters, and two
 * for gradients, that live for ever: one unit is gathered ahead of another. Source:
 * megatron/core/distributed/fsdp/src/megatron_fsdp (megatron_fsdp.py, param_and_grad_buffer.py:
 * AllGatherPipeline, GradReducePipeline, FixedPoolAllocator).
 */
#include "strategy/runtime/megatron/issue-megatron.h"

#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/megatron/issue-megatron-private.h"

/* ---- init ------------------------------------------------------------------------------------ */

/* Elements of UNIT's parameters that come to this rank's shard from each of those outside. */
static guint64
outer_share (const StrategyRun *run, guint unit)
{
  const UnitPolicy *kind = run->shares[unit].policy;
  guint             all = kind->states[STATE_OPTIMIZER].group.size;

  return kind->format->padded (run->units[unit].tensors, run->units[unit].n_tensors, all) / all;
}

/* The optimizer's parts of weights and gradients are beside the shards, or are these. */
static void
share_outside (StrategyRun *run)
{
  MegatronState *s = run->state;
  guint64        elements = 0;

  s->reduced = s->gradients;
  if (!megatron_shares_outside (run))
    return;
  for (guint u = 0; u < run->n_units; u++)
    elements += outer_share (run, u);
  s->outer_gather = schedule_stream (run->b, "outer_all_gather", 0);
  s->updated = schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER,
                               elements * compute_bytes (run->policy), "updated weights");
  s->reduced =
      schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                      strategy_share (run, STATE_OPTIMIZER) * element_bytes (run, STATE_GRADIENTS),
                      "reduced gradients");
}

static void
megatron_init (StrategyRun *run)
{
  MegatronState *s = run->state;
  guint64 elements = 0, blocks = 0, unit = (guint64) megatron_options_of (run)->communication_unit;

  s->gather = schedule_stream (run->b, "all_gather", 0);
  s->reduce =
      megatron_overlaps_reductions (run) ? schedule_stream (run->b, "reduce", 0) : SCHEDULE_COMPUTE;
  if (megatron_has_replicas (run))
    s->outer = schedule_stream (run->b, "outer_reduce", 0);
  s->queue = g_array_new (FALSE, FALSE, sizeof (Reduction));
  s->units = g_new0 (MegatronUnit, run->n_units);
  for (guint i = 0; i < run->n_units; i++)
    s->units[i].full = s->units[i].bucket = s->units[i].computed = SCHEDULE_NONE;
  s->parameters = schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER,
                                  held_bytes (run, STATE_PARAMETERS), "model weights");
  s->gradients = schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                                 held_bytes (run, STATE_GRADIENTS), "main gradients");
  hold_optimizer (run);
  strategy_data (run, SCHEDULE_NONE, UNIT_PARAMETERS, SCHEDULE_NONE, s->parameters);
  if (!megatron_cuts_gradients (run))
    strategy_data (run, SCHEDULE_NONE, UNIT_GRADIENT, SCHEDULE_NONE, s->gradients);
  share_outside (run);
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->reduced);
  for (guint u = 0; u < run->n_units; u++)
    if (megatron_is_block (run, u))
      {
        elements += run->units[u].elements;
        blocks += megatron_part_of (run, u) == 0;
      }
  if (unit == 0)
    unit = MAX (1000000000, blocks > 0 ? elements / blocks * 2 : 0);
  s->capacity = unit;
  s->ahead = unit / 2;
  megatron_make_pools (run);
  compressed_init (&s->compressed, run);
}

static void
megatron_clear (StrategyRun *run)
{
  MegatronState *s = run->state;

  g_free (s->units);
  g_clear_pointer (&s->queue, g_array_unref);
  compressed_clear (&s->compressed, run);
}

static void
megatron_step_begin (StrategyRun *run)
{
  MegatronState *s = run->state;

  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "gradient_zero", DTYPE_FP32, 0,
                      (double) held_bytes (run, STATE_GRADIENTS));
  schedule_uses (run->b, s->gradients, SCHEDULE_WHOLE, ACCESS_WRITE);
}

/* ---- parameters ------------------------------------------------------------------------------ */

/* Whole parameters as the optimizer's shards have made them. */
static void
update_whole (StrategyRun *run, guint unit, StreamRef stream)
{
  const MegatronState *s = run->state;

  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = ROUTE_UPDATE,
                                 .end = POLICY_MAX_HOPS,
                                 .last_micro = TRUE,
                                 .held = run->shares[unit].updated,
                                 .collectives = stream,
                                 .from = route_part (s->parameters, unit),
                                 .to = route_part (s->parameters, unit),
                                 .passing = "parameters on their way" });
}

/* The shard as the optimizer's parts outside have made it. */
static void
update_shard (StrategyRun *run, guint unit)
{
  const MegatronState *s = run->state;

  schedule_wait_stream (run->b, s->outer_gather, SCHEDULE_COMPUTE);
  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = ROUTE_UPDATE,
                                 .end = POLICY_MAX_HOPS,
                                 .last_micro = TRUE,
                                 .held = outer_share (run, unit),
                                 .collectives = s->outer_gather,
                                 .from = route_part (s->updated, unit),
                                 .to = route_part (s->parameters, unit),
                                 .passing = "parameters on their way" });
  schedule_wait_stream (run->b, s->gather, s->outer_gather);
}

static void
gather_sharded (StrategyRun *run, guint unit)
{
  MegatronState *s = run->state;
  MegatronUnit  *u = &s->units[unit];

  u->full = megatron_take_buffer (run, unit, FALSE);
  if (u->full == SCHEDULE_NONE)
    u->full = schedule_alloc_on (run->b, s->gather, PLACE_HBM, POOL_GATHERED,
                                 run->shares[unit].padded * compute_bytes (run->policy),
                                 "parameters of a unit");
  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = ROUTE_GATHER,
                                 .end = POLICY_MAX_HOPS,
                                 .held = run->shares[unit].elements,
                                 .collectives = s->gather,
                                 .from = route_part (s->parameters, unit),
                                 .to = route_whole (u->full),
                                 .passing = "parameters on their way" });
  strategy_data (run, unit, UNIT_PARAMETERS, u->full, SCHEDULE_NONE);
}

/* Whether whole parameters wait for their first use of a step to be brought up to date. */
static gboolean
is_updated_at_use (const StrategyRun *run, guint unit)
{
  return megatron_options_of (run)->overlap_param_gather
         && megatron_route_of (run, unit, ROUTE_UPDATE)->n > 0
         && run->units[unit].trainable_elements > 0;
}

/* FIRST: for the first micro-step. */
static void
gather (StrategyRun *run, guint unit, gboolean first)
{
  MegatronState *s = run->state;
  MegatronUnit  *u = &s->units[unit];
  guint          old;

  if (u->available || !(megatron_is_gathered (run, unit) || is_updated_at_use (run, unit)))
    return;
  old = schedule_set_unit (run->b, unit);
  schedule_wait_stream (run->b, s->gather, SCHEDULE_COMPUTE);
  if (first && megatron_shares_outside (run))
    update_shard (run, unit);
  if (megatron_is_gathered (run, unit))
    gather_sharded (run, unit);
  else
    update_whole (run, unit, s->gather);
  u->gathered = schedule_record (run->b, s->gather);
  u->available = TRUE;
  schedule_set_unit (run->b, old);
}

/* The units behind SLOT's in the direction of its pass; with double buffers, of two layers. */
static void
prefetch (StrategyRun *run, const UnitSlot *slot)
{
  const MegatronState *s = run->state;
  gint                 way = slot->use == USE_FORWARD ? 1 : -1;
  guint64              elements = 0;
  guint                layers = megatron_is_block (run, slot->unit) ? 1 : 0;

  for (gint64 u = (gint64) slot->unit + way;
       u >= slot->first_unit && u < slot->end_unit && elements < s->ahead; u += way)
    {
      layers += run->units[u].layer != run->units[u - way].layer;
      if (megatron_has_double_buffers (run) && layers > N_BUFFERS)
        break;
      gather (run, (guint) u, slot->first);
      elements += run->shares[u].padded;
    }
}

static void
megatron_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  MegatronState *s = run->state;
  guint          owner = slot->plan->shares;

  gather (run, slot->unit, slot->first);
  gather (run, owner, slot->first); /* a tied table */
  if (slot->use == USE_FORWARD || megatron_is_block (run, slot->unit))
    prefetch (run, slot);
  if (s->units[slot->unit].available)
    schedule_wait (run->b, SCHEDULE_COMPUTE, s->units[slot->unit].gathered);
  if (owner != slot->unit && s->units[owner].available)
    schedule_wait (run->b, SCHEDULE_COMPUTE, s->units[owner].gathered);
}

static void
release (StrategyRun *run, guint unit)
{
  MegatronState *s = run->state;
  MegatronUnit  *u = &s->units[unit];

  if (u->full != SCHEDULE_NONE)
    {
      schedule_wait_stream (run->b, s->gather, SCHEDULE_COMPUTE);
      megatron_give_buffer (run, u->full, FALSE);
    }
  u->full = SCHEDULE_NONE;
  u->available = FALSE;
}

static void
megatron_use_end (StrategyRun *run, const UnitSlot *slot)
{
  if (megatron_is_gathered (run, slot->unit) && megatron_is_block (run, slot->unit))
    release (run, slot->unit);
}

/* ---- step ------------------------------------------------------------------------------------ */

static void
megatron_backward_done (StrategyRun *run)
{
  MegatronState *s = run->state;
  guint          old = schedule_set_unit (run->b, SCHEDULE_NONE);

  for (guint u = 0; u < run->n_units; u++)
    {
      schedule_set_unit (run->b, u);
      if (!megatron_overlaps_reductions (run) && run->units[u].trainable_elements > 0)
        megatron_reduce_unit (run, u, TRUE);
      if (s->units[u].available)
        release (run, u);
    }
  schedule_set_unit (run->b, old);
}

/* The optimizer's main weights, where there are some, leave the model's beside them. */
static void
megatron_step_end (StrategyRun *run)
{
  const MegatronState *s = run->state;

  emit_share_update (run, TRUE);
  compressed_step_end (&s->compressed, run);
  if (!megatron_options_of (run)->overlap_param_gather)
    {
      guint old = schedule_set_unit (run->b, SCHEDULE_NONE);

      for (guint u = 0; u < run->n_units; u++)
        {
          schedule_set_unit (run->b, u);
          if (megatron_route_of (run, u, ROUTE_UPDATE)->n > 0 && !megatron_is_gathered (run, u)
              && run->units[u].trainable_elements > 0)
            update_whole (run, u, SCHEDULE_COMPUTE);
        }
      schedule_set_unit (run->b, old);
    }
}

const Issue issue_megatron = {
  .carries = { .homes = { 1u << PLACE_HBM, 1u << PLACE_HBM, 1u << PLACE_HBM },
               .routes = 1u << ROUTE_GATHER | 1u << ROUTE_REDUCE | 1u << ROUTE_UPDATE,
               .cadences = 1u << CADENCE_MICRO_STEP | 1u << CADENCE_LAST,
               .mixed_cadence = TRUE,
               .last_scatters = TRUE,
               .whole_reduction = TRUE,
               .compressors = TRUE,
               .shared_tables = TRUE },
  .keeps_gradients = TRUE,
  .hooks = { .state_size = sizeof (MegatronState),
             .granularity = UNIT_LAYER,
             .host_hooks = 1,
             .init = megatron_init,
             .clear = megatron_clear,
             .step_begin = megatron_step_begin,
             .use_begin = megatron_use_begin,
             .use_end = megatron_use_end,
             .gradient_begin = megatron_gradient_begin,
             .gradient_ready = megatron_gradient_ready,
             .micro_step_end = megatron_micro_step_end,
             .backward_done = megatron_backward_done,
             .step_end = megatron_step_end },
  .form = megatron_form,
};
