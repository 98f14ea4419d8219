/*
 * What the coordinator has in host memory and on drives: shards of parameters that come through a
 * ring of pinned buffers, and an optimizer that the host's cores run sub-group by sub-group.
 * Sources: Rajbhandari et al., ZeRO-Infinity, arXiv:2104.07857, 5.2 and 6; deepspeed/runtime/zero/
 * stage3.py (step), deepspeed/runtime/swap_tensor.
 */
#include "strategy/emit/common.h"
#include "strategy/emit/host-update.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/deepspeed/issue-deepspeed-private.h"

static const DeepspeedIssue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

static Place
home_of (const StrategyRun *run, PolicyStateKind state)
{
  return deepspeed_unit_policy (run)->states[state].home;
}

gboolean
deepspeed_is_away (const StrategyRun *run, PolicyStateKind state)
{
  return home_of (run, state) != PLACE_HBM;
}

/* Sub-groups of ELEMENTS: at most DEEPSPEED_MAX_SUB_GROUPS are told apart. */
static guint64
sub_group (const StrategyRun *run, guint64 elements)
{
  guint64 least = (elements + DEEPSPEED_MAX_SUB_GROUPS - 1) / DEEPSPEED_MAX_SUB_GROUPS;

  return MIN (elements, MAX (least, (guint64) options_of (run)->sub_group_size));
}

/* ---- places ---------------------------------------------------------------------------------- */

static void
open_ring (StrategyRun *run)
{
  DeepspeedState       *s = run->state;
  const DeepspeedIssue *o = options_of (run);

  s->n_ring = (guint) o->params_buffer_count;
  s->ring = g_new (BufferRef, s->n_ring);
  s->ring_free = g_new (EventRef, s->n_ring);
  for (guint i = 0; i < s->n_ring; i++)
    {
      s->ring[i] = schedule_alloc (run->b, PLACE_PINNED, POOL_COMMUNICATION,
                                   (guint64) o->params_buffer_size * compute_bytes (run->policy),
                                   "buffer of shards");
      s->ring_free[i] = SCHEDULE_NONE;
    }
}

/* Streams of the optimizer's drives; sets of buffers, two where something overlaps. */
static void
open_swapper (StrategyRun *run, guint64 tile)
{
  DeepspeedState       *s = run->state;
  const DeepspeedIssue *o = options_of (run);

  s->swap = schedule_stream (run->b, "nvme_gradients", 0);
  s->host.drives = &s->swap;
  s->read = o->pipeline_read ? schedule_stream (run->b, "nvme_swap_in", 0) : s->host.cpu;
  s->write = o->pipeline_write ? schedule_stream (run->b, "nvme_swap_out", 0) : s->host.cpu;
  s->n_tiles = host_updates (run) && (o->pipeline_read || o->pipeline_write) ? 2 : 1;
  for (guint i = 0; i < s->n_tiles; i++)
    s->tiles[i] =
        schedule_alloc (run->b, PLACE_PINNED, POOL_COMMUNICATION,
                        (guint64) o->optimizer_buffer_count * tile * dtype_bytes (DTYPE_FP32),
                        "buffers of a sub-group");
  s->host.staging = s->tiles[0];
  s->host.room = (guint64) o->optimizer_buffer_count * tile;
}

/*
 * Shards are pinned tensor by tensor as they are made, then copied into one block; what they were
 * in stays in the allocator's cache. Source: partition_parameters.py, _partition_param; stage3.py,
 * _move_to_flat_buffer.
 */
static void
keep_first_shards (StrategyRun *run)
{
  const DeepspeedState *s = run->state;
  guint64               bytes = 0;

  for (guint u = 0; u < run->n_units; u++)
    {
      const PlanUnit *unit = &run->units[u];

      for (guint t = 0; t < unit->n_tensors && unit->own_elements > 0; t++)
        if (unit->tensors[t].elements > run->policy->whole_below)
          {
            guint64 shard = deepspeed_unit_policy (run)->format->padded (&unit->tensors[t], 1, s->m)
                            / s->m * compute_bytes (run->policy);

            bytes += shard + pinned_rounding (run, shard);
          }
    }
  schedule_alloc (run->b, PLACE_PINNED, POOL_CACHE, bytes, "shards as they were made");
}

/*
 * Beside the states: reduced gradients in compute type, of all that the rank updates (stage3.py,
 * grad_partitions_flat_buffer), and what blocks are rounded by: parameters, these gradients, those
 * of each sub-group of TILE of AWAY elements, buffers of what is on drives.
 */
static void
hold_pinned (StrategyRun *run, guint64 away, guint64 tile)
{
  const DeepspeedState *s = run->state;
  guint                 compute = compute_bytes (run->policy);
  guint64               flat = strategy_share (run, STATE_GRADIENTS) * compute, rounding = 0;

  if (!run->policy->host_copies)
    return;
  if (home_of (run, STATE_PARAMETERS) == PLACE_PINNED)
    {
      rounding += pinned_rounding (run, held_bytes (run, STATE_PARAMETERS));
      keep_first_shards (run);
    }
  if (s->n_ring > 0)
    rounding +=
        pinned_rounding (run, s->n_ring * (guint64) options_of (run)->params_buffer_size * compute);
  if (deepspeed_is_away (run, STATE_OPTIMIZER))
    {
      schedule_alloc (run->b, PLACE_PINNED, POOL_GRADIENT, flat, "reduced gradients");
      rounding += pinned_rounding (run, flat);
    }
  for (guint64 at = 0; at < away && home_of (run, STATE_OPTIMIZER) == PLACE_PINNED; at += tile)
    rounding += pinned_rounding (run, MIN (tile, away - at) * element_bytes (run, STATE_GRADIENTS));
  rounding += s->n_tiles * (guint64) options_of (run)->optimizer_buffer_count
              * pinned_rounding (run, tile * dtype_bytes (DTYPE_FP32));
  schedule_alloc (run->b, PLACE_PINNED, POOL_CACHE, rounding, "rounding of pinned blocks");
}

void
deepspeed_offload_init (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  gboolean        overlap = options_of (run)->overlap_comm;
  guint64         share = strategy_share (run, STATE_OPTIMIZER), away = 0, tile = 0;

  s->fetch = s->copy;
  if (deepspeed_is_away (run, STATE_PARAMETERS))
    s->fetch = overlap ? schedule_stream (run->b, "host_fetch", 0) : SCHEDULE_COMPUTE;
  s->drives = s->fetch;
  if (home_of (run, STATE_PARAMETERS) == PLACE_NVME)
    {
      s->drives = overlap ? schedule_stream (run->b, "nvme_fetch", 0) : SCHEDULE_COMPUTE;
      open_ring (run);
    }
  if (!deepspeed_is_away (run, STATE_OPTIMIZER))
    {
      hold_pinned (run, away, tile);
      return;
    }
  host_slices_init_states (&s->host, run);
  away = host_slices_off_gpu (run, share);
  tile = sub_group (run, away);
  if (home_of (run, STATE_OPTIMIZER) == PLACE_NVME)
    open_swapper (run, tile);
  s->host.updated = SCHEDULE_NONE;
  if (host_updates (run) && home_of (run, STATE_PARAMETERS) != PLACE_PINNED)
    s->host.updated = schedule_alloc (run->b, PLACE_PINNED, POOL_PARAMETER,
                                      tile * compute_bytes (run->policy), "updated parameters");
  s->gradients =
      schedule_alloc (run->b, PLACE_HBM, POOL_GRADIENT,
                      (share - away) * element_bytes (run, STATE_GRADIENTS), "gradient shards");
  schedule_alloc (run->b, PLACE_HBM, POOL_OPTIMIZER,
                  (share - away) * element_bytes (run, STATE_OPTIMIZER), "optimizer state");
  hold_pinned (run, away, tile);
}

void
deepspeed_offload_clear (DeepspeedState *s)
{
  g_free (s->ring);
  g_free (s->ring_free);
}

/* The host has waited for the step before. */
void
deepspeed_offload_begin_step (StrategyRun *run)
{
  DeepspeedState *s = run->state;

  for (guint i = 0; i < s->n_ring; i++)
    s->ring_free[i] = SCHEDULE_NONE;
  if (s->fetch != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, s->fetch, SCHEDULE_COMPUTE);
  if (s->drives != SCHEDULE_COMPUTE && s->drives != s->fetch)
    schedule_wait_stream (run->b, s->drives, SCHEDULE_COMPUTE);
  if (deepspeed_is_away (run, STATE_OPTIMIZER))
    host_slices_begin_step (&s->host, run);
}

/* ---- shards ---------------------------------------------------------------------------------- */

guint
deepspeed_ring_take (StrategyRun *run, guint64 elements)
{
  DeepspeedState *s = run->state;
  guint64         size = (guint64) options_of (run)->params_buffer_size;
  guint           first = s->ring_next, n;

  g_assert (s->n_ring > 0); /* params_buffer_count is at least 1 */
  n = (guint) CLAMP ((elements + size - 1) / size, 1, s->n_ring);
  for (guint i = 0; i < n; i++)
    schedule_wait (run->b, s->drives, s->ring_free[(first + i) % s->n_ring]);
  s->ring_next = (first + n) % s->n_ring;
  return first;
}

void
deepspeed_ring_give (StrategyRun *run, guint first)
{
  DeepspeedState *s = run->state;
  EventRef        passed = schedule_record (run->b, s->fetch);

  for (guint i = first; i != s->ring_next || i == first; i = (i + 1) % s->n_ring)
    {
      s->ring_free[i] = passed;
      if ((i + 1) % s->n_ring == s->ring_next)
        break;
    }
}

/* ---- gradients ------------------------------------------------------------------------------- */

void
deepspeed_offload_store (StrategyRun *run, const GradientBucket *bucket, BufferRef input,
                         guint64 padded)
{
  DeepspeedState *s = run->state;
  guint           reduce = reduced_bytes (run), kept = element_bytes (run, STATE_GRADIENTS);
  double          stays = (double) padded / s->m * run->policy->on_gpu;

  host_slices_store (&s->host, run, bucket, input, reduce);
  if (s->gradients == SCHEDULE_NONE)
    return;
  emit_stream_kernel (run->b, s->reduce, KERNEL_ELEMENTWISE, "gradient_add", DTYPE_FP32,
                      stays * (bucket->first ? reduce : reduce + kept), stays * kept);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_READ);
  gradient_bucket_uses (bucket, run, s->gradients,
                        bucket->first ? ACCESS_WRITE : ACCESS_READ_WRITE);
}

/* ---- the optimizer --------------------------------------------------------------------------- */

/* What an update has made of N elements, at UPDATED, goes to where the shards are. */
static void
renew (StrategyRun *run, guint64 n, BufferRef updated, StreamRef made_on)
{
  const DeepspeedState *s = run->state;

  if (deepspeed_unit_policy (run)->routes[ROUTE_RENEW].n == 0)
    return;
  if (made_on != SCHEDULE_COMPUTE)
    schedule_wait_stream (run->b, SCHEDULE_COMPUTE, made_on);
  emit_route (run, &(RouteWalk){ .route = ROUTE_RENEW,
                                 .end = POLICY_MAX_HOPS,
                                 .last_micro = TRUE,
                                 .held = n,
                                 .moves = SCHEDULE_COMPUTE,
                                 .from = route_whole (updated),
                                 .to = route_whole (s->shards),
                                 .passing = "updated shards on their way" });
}

void
deepspeed_renew_from_gpu (StrategyRun *run)
{
  guint64 all = strategy_share (run, STATE_OPTIMIZER), tile = sub_group (run, all);
  guint   compute = compute_bytes (run->policy);

  if (deepspeed_unit_policy (run)->routes[ROUTE_RENEW].n == 0 || !host_updates (run))
    return;
  for (guint64 at = 0; at < all; at += tile)
    {
      guint64   n = MIN (tile, all - at);
      BufferRef updated = schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER, n * compute,
                                          "updated shards on their way");

      emit_stream_kernel (
          run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "cast_parameters", DTYPE_FP32,
          (double) n * dtype_bytes (training_master_dtype (workload_training (run->in->workload))),
          (double) n * compute);
      schedule_uses (run->b, updated, SCHEDULE_WHOLE, ACCESS_WRITE);
      renew (run, n, updated, SCHEDULE_COMPUTE);
      schedule_free (run->b, updated);
    }
}

/* The set of buffers that sub-group TILE passes through. */
static guint
set_of (const DeepspeedState *s, guint tile)
{
  return s->n_tiles > 1 ? tile % s->n_tiles : 0;
}

/* Values an element that come from drives: the states, and the gradient. */
static void
swap_in (StrategyRun *run, guint tile, guint64 n)
{
  const DeepspeedState *s = run->state;
  guint                 values = deepspeed_unit_policy (run)->states[STATE_OPTIMIZER].values;

  schedule_wait (run->b, s->read, s->tile_free[set_of (s, tile)]);
  emit_route (run, &(RouteWalk){ .route = ROUTE_LOAD,
                                 .end = POLICY_MAX_HOPS,
                                 .last_micro = TRUE,
                                 .held = n * (values + 1),
                                 .moves = s->read,
                                 .from = route_part (s->host.states, tile),
                                 .to = route_whole (s->tiles[set_of (s, tile)]),
                                 .passing = "optimizer states on their way" });
  schedule_uses (run->b, s->host.gradients, SCHEDULE_WHOLE, ACCESS_READ);
  if (s->read != s->host.cpu)
    schedule_wait_stream (run->b, s->host.cpu, s->read);
}

static void
swap_out (StrategyRun *run, guint tile, guint64 n)
{
  DeepspeedState *s = run->state;
  guint           values = deepspeed_unit_policy (run)->states[STATE_OPTIMIZER].values;

  if (s->write != s->host.cpu)
    schedule_wait_stream (run->b, s->write, s->host.cpu);
  emit_route (run, &(RouteWalk){ .route = ROUTE_SAVE,
                                 .end = POLICY_MAX_HOPS,
                                 .last_micro = TRUE,
                                 .held = n * values,
                                 .moves = s->write,
                                 .from = route_whole (s->tiles[set_of (s, tile)]),
                                 .to = route_part (s->host.states, tile),
                                 .passing = "optimizer states on their way" });
  s->tile_free[set_of (s, tile)] = schedule_record (run->b, s->write);
}

/* A sub-group of N elements: clipping, the update, and its parameters to where they live. */
static void
update_tile (StrategyRun *run, guint tile, guint64 n)
{
  const DeepspeedState *s = run->state;
  gboolean              swaps = home_of (run, STATE_OPTIMIZER) == PLACE_NVME;
  gboolean              in_place = home_of (run, STATE_PARAMETERS) == PLACE_PINNED;
  BufferRef             gradients = swaps ? s->tiles[set_of (s, tile)] : s->host.gradients;

  if (swaps)
    swap_in (run, tile, n);
  if (host_update_clips (run))
    {
      emit_host_clip (run, s->host.cpu, n, element_bytes (run, STATE_GRADIENTS), FALSE);
      schedule_uses (run->b, gradients, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
    }
  emit_host_update_of (run, s->host.cpu, n, compute_bytes (run->policy), FALSE);
  schedule_uses (run->b, gradients, SCHEDULE_WHOLE, swaps ? ACCESS_READ_WRITE : ACCESS_READ);
  schedule_uses (run->b, in_place ? s->shards : s->host.updated, SCHEDULE_WHOLE, ACCESS_WRITE);
  renew (run, n, s->host.updated, s->host.cpu);
  if (swaps)
    swap_out (run, tile, n);
}

/*
 * Twin-Flow: the part that stays on the GPU. Its gradients are read for the norm here, behind the
 * ranks' sum: the same work in another order.
 */
static void
update_on_gpu (StrategyRun *run, guint64 elements)
{
  const DeepspeedState *s = run->state;

  if (elements == 0)
    return;
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->gradients);
  emit_optimizer (
      run, (MeshGroup){ .size = 0, .stride = 0 }, elements, element_bytes (run, STATE_GRADIENTS),
      training_has_master (workload_training (run->in->workload)) ? compute_bytes (run->policy)
                                                                  : 0);
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->host.gradients);
}

void
deepspeed_host_step (StrategyRun *run)
{
  DeepspeedState *s = run->state;
  guint64         share = strategy_share (run, STATE_OPTIMIZER);
  guint64         away = host_slices_off_gpu (run, share), tile = sub_group (run, away);
  gboolean        renews = deepspeed_unit_policy (run)->routes[ROUTE_RENEW].n > 0;

  if (host_update_clips (run))
    emit_norm (run, deepspeed_unit_policy (run)->states[STATE_OPTIMIZER].group, SCHEDULE_COMPUTE,
               TRANSPORT_GPU);
  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
  s->tile_free[0] = s->tile_free[1] = SCHEDULE_NONE;
  if (s->n_tiles > 0 && s->read != s->host.cpu) /* an outer strategy may have worked there */
    schedule_wait_stream (run->b, s->read, s->host.cpu);
  if (!host_updates (run)) /* an op of no time stands for whoever reads the gradients */
    {
      emit_host_update_of (run, s->host.cpu, 0, 0, FALSE);
      schedule_uses (run->b, s->host.gradients, SCHEDULE_WHOLE, ACCESS_READ);
    }
  for (guint64 at = 0, i = 0; at < away && host_updates (run); at += tile, i++)
    {
      if (at > 0 && renews) /* where the last one's parameters were */
        schedule_wait_stream (run->b, s->host.cpu, SCHEDULE_COMPUTE);
      update_tile (run, (guint) i, MIN (tile, away - at));
    }
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->host.cpu);
  for (guint i = 0; i < s->n_tiles; i++)
    schedule_wait (run->b, SCHEDULE_COMPUTE, s->tile_free[i]);
  schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
  update_on_gpu (run, share - away);
}
