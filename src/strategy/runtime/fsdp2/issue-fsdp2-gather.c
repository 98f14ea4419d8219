/*
 * How fully_shard's parameters come and go: from shards or slices of a second copy, gathered into a
 * buffer of their own.
 *
 * Where the format is not in place they are copied out of it on the compute stream. Else kernels
 * read the buffer itself: before a unit is gathered the streams of gathering wait for kernels of
 * units that were used before, whose buffers they then take. veScale has no published rule; this is
 * FSDP2's, whose copy-outs the next gathering waits for (_fsdp_param_group.py, wait_for_unshard).
 */
#include "strategy/emit/common.h"
#include "strategy/emit/route.h"
#include "strategy/runtime/fsdp2/issue-fsdp2-private.h"

static gboolean
reads_table_again (const Workload *workload)
{
  for (guint i = 0; i < workload_n_layers (workload); i++)
    if (workload_layer (workload, i)->reads_table)
      return TRUE;
  return FALSE;
}

static const Fsdp2Issue *
options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

/* The head's parameters do by the root's rule, a table that is read again, all if so is said. */
gboolean
fsdp2_stays_gathered (const StrategyRun *run, guint unit)
{
  LayerKind kind = run->units[unit].desc->kind;

  return run->policy->stays || (kind == LAYER_HEAD && !options_of (run)->reshard_root)
         || (kind == LAYER_EMBEDDING && reads_table_again (run->in->workload));
}

static gboolean
in_place (const StrategyRun *run)
{
  return shard_format_is_in_place (run->policy->kinds[0].format);
}

/* The hops of a gathering that bring the shard to the GPU come first. */
static guint
n_fetches (const StrategyRun *run, guint unit)
{
  return policy_next (&run->shares[unit].policy->routes[ROUTE_GATHER], 0, HOP_COLLECTIVE);
}

/* Of UNIT's second copy a rank holds so many elements; 0: there is none. */
static guint64
slice_elements (const StrategyRun *run, guint unit)
{
  guint ranks = run->shares[unit].policy->copy.group.size;

  return ranks > 0 ? run->shares[unit].padded / ranks : 0;
}

/*
 * CPU offload: the fp32 shard of UNIT, of ELEMENTS, comes to the GPU. SCHEDULE_NONE where it is
 * there.
 */
static BufferRef
stage_shard (StrategyRun *run, guint unit, guint64 elements)
{
  Fsdp2State *s = run->state;
  guint64     bytes = elements * element_bytes (run, STATE_PARAMETERS);
  BufferRef   staged;

  if (!fsdp2_is_offloaded (run))
    return SCHEDULE_NONE;
  staged = schedule_alloc_on (run->b, s->copy_in, PLACE_HBM, POOL_GATHERED, bytes,
                              "shard from the host");
  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = ROUTE_GATHER,
                                 .end = n_fetches (run, unit),
                                 .held = elements,
                                 .moves = s->copy_in,
                                 .from = route_part (s->shards, unit),
                                 .to = route_whole (staged),
                                 .passing = "shard on its way" });
  return staged;
}

/* The own part of UNIT is put into its slot of the gathered buffer: READ and WRITTEN bytes. */
static void
copy_in (StrategyRun *run, guint unit, Dtype dtype, double read, double written)
{
  Fsdp2State *s = run->state;

  s->units[unit].gather = schedule_alloc_on (run->b, s->copy_in, PLACE_HBM, POOL_GATHERED,
                                             fsdp2_gathered_bytes (run, unit), "all-gather output");
  emit_stream_kernel (run->b, s->copy_in, KERNEL_COPY, "copy_in", dtype, read, written);
  schedule_uses (run->b, s->units[unit].gather, SCHEDULE_WHOLE, ACCESS_WRITE);
}

/* Gathers UNIT, copied in, from FIRST of ROUTE's hops on: ELEMENTS of each rank. */
static void
gather (StrategyRun *run, guint unit, PolicyRouteKind route, guint first, guint64 elements)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[unit];

  schedule_wait_stream (run->b, s->gather, s->copy_in);
  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = route,
                                 .first = first,
                                 .end = POLICY_MAX_HOPS,
                                 .held = elements,
                                 .narrow = fsdp2_narrow_elements (run, unit),
                                 .collectives = s->gather,
                                 .from = route_whole (u->gather),
                                 .to = route_whole (u->gather),
                                 .passing = "parameters on their way" });
  u->gathered = schedule_record (run->b, s->gather);
  u->available = TRUE;
}

/* From the second copy, of which a rank holds a part in compute precision. */
static void
unshard_slice (StrategyRun *run, guint unit)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[unit];
  guint64     elements = slice_elements (run, unit);
  double      bytes = (double) elements * compute_bytes (run->policy);

  schedule_wait (run->b, s->copy_in, u->sliced);
  schedule_wait (run->b, s->gather, u->sliced);
  copy_in (run, unit, run->policy->compute, bytes, bytes);
  schedule_uses (run->b, u->slice, SCHEDULE_WHOLE, ACCESS_READ);
  gather (run, unit, ROUTE_COPY, 0, elements);
}

/* From the fp32 shards, cast on the way. */
static void
unshard_shard (StrategyRun *run, guint unit)
{
  guint     compute = compute_bytes (run->policy), master = element_bytes (run, STATE_PARAMETERS);
  guint64   elements = run->shares[unit].elements;
  double    narrow = (double) fsdp2_narrow_elements (run, unit), wide = (double) elements - narrow;
  BufferRef staged = stage_shard (run, unit, elements), cast = fsdp2_cast_shard (run, unit, staged);

  /* Read the fp32 shard, write it in compute precision, copy that to its slot of the output. */
  copy_in (run, unit, DTYPE_FP32, narrow + wide * (master + (in_place (run) ? 0 : compute)),
           narrow + wide * (in_place (run) ? 1 : 2) * compute);
  fsdp2_read_shard (run, unit, staged);
  if (cast != SCHEDULE_NONE)
    schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_free (run->b, cast);
  schedule_free (run->b, staged);
  gather (run, unit, ROUTE_GATHER, n_fetches (run, unit), elements);
}

/*
 * Before one more unit is gathered those go that have been used, but for so many of the last: what
 * is gathered in its own turn overlaps the kernels of the one before.
 */
static void
make_room (StrategyRun *run, guint but)
{
  Fsdp2State *s = run->state;

  while (s->used->len > but)
    {
      Fsdp2Used oldest = g_array_index (s->used, Fsdp2Used, 0);

      schedule_wait (run->b, s->copy_in, oldest.end);
      schedule_wait (run->b, s->gather, oldest.end);
      schedule_free (run->b, oldest.buffer);
      g_array_remove_index (s->used, 0);
    }
}

void
fsdp2_unshard (StrategyRun *run, guint unit, gboolean ahead)
{
  Fsdp2State *s = run->state;
  guint       old = schedule_set_unit (run->b, unit);

  make_room (run, ahead ? 0 : 1);
  if (s->units[unit].slice != SCHEDULE_NONE)
    unshard_slice (run, unit);
  else
    unshard_shard (run, unit);
  schedule_set_unit (run->b, old);
}

void
fsdp2_drop_held (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  if (s->held == SCHEDULE_NONE)
    return;
  schedule_wait (run->b, s->copy_in, s->held_copied);
  schedule_wait (run->b, s->gather, s->held_copied);
  schedule_free (run->b, s->held);
  s->held = SCHEDULE_NONE;
}

/*
 * The compute stream waits for the gathered parameters and copies them out; returns the event of
 * the copy. Parameters are views of storage that has their padding (init_all_gather_outputs). Those
 * that are not cut along their first dimension are copied to a buffer aside, from which torch.cat
 * puts their shards side by side (foreach_all_gather_copy_out).
 */
static EventRef
copy_out (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2Unit       *u = &((Fsdp2State *) run->state)->units[slot->unit];
  const UnitShare *share = &run->shares[slot->unit];
  guint            compute = compute_bytes (run->policy);
  guint64          strided = share->strided * compute;
  BufferRef        interleaved = SCHEDULE_NONE;
  guint64          whole = fsdp2_gathered_bytes (run, slot->unit);
  double           bytes = (double) whole;

  schedule_wait (run->b, SCHEDULE_COMPUTE, u->gathered);
  u->full = schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED, whole, "parameters");
  if (strided > 0)
    interleaved = schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED, strided, "interleaved shards");
  /*
   * Each parameter is copied out of the gathered buffer with its padding; what is interleaved goes
   * aside.
   */
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "copy_out", DTYPE_BF16, bytes, bytes);
  schedule_uses (run->b, u->gather, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, u->full, SCHEDULE_WHOLE, ACCESS_WRITE);
  if (interleaved != SCHEDULE_NONE)
    schedule_uses (run->b, interleaved, SCHEDULE_WHOLE, ACCESS_WRITE);
  if (strided > 0)
    {
      emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "copy_out_cat", DTYPE_BF16,
                          (double) strided, (double) strided);
      schedule_uses (run->b, interleaved, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, u->full, SCHEDULE_WHOLE, ACCESS_WRITE);
      schedule_free (run->b, interleaved);
    }
  strategy_data (run, slot->unit, UNIT_PARAMETERS, u->full, SCHEDULE_NONE);
  return schedule_record (run->b, SCHEDULE_COMPUTE);
}

/* The compute stream waits for the gathered parameters, which kernels read where they are. */
static void
use_in_place (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[slot->unit];

  schedule_wait (run->b, SCHEDULE_COMPUTE, u->gathered);
  u->full = u->gather;
  u->gather = SCHEDULE_NONE;
  strategy_data (run, slot->unit, UNIT_PARAMETERS, u->full, SCHEDULE_NONE);
}

/* The slice that a unit was gathered from. */
static void
free_slice (StrategyRun *run, guint unit)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[unit];

  schedule_free (run->b, u->slice);
  u->slice = SCHEDULE_NONE;
}

void
fsdp2_take_forward (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[slot->unit];

  if (in_place (run))
    use_in_place (run, slot);
  else
    {
      fsdp2_drop_held (run);
      s->held_copied = copy_out (run, slot);
      s->held = u->gather;
      u->gather = SCHEDULE_NONE;
    }
  free_slice (run, slot->unit);
}

void
fsdp2_take_backward (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[slot->unit];

  if (in_place (run))
    use_in_place (run, slot);
  else
    {
      EventRef copied = copy_out (run, slot);

      schedule_wait (run->b, s->copy_in, copied);
      schedule_wait (run->b, s->gather, copied);
      schedule_free (run->b, u->gather);
      u->gather = SCHEDULE_NONE;
    }
  free_slice (run, slot->unit);
}

/* Forward: a slice of the gathered parameters stays, shared by a group of its own. */
void
fsdp2_keep_slice (StrategyRun *run, guint unit)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[unit];
  guint64    elements = slice_elements (run, unit);

  if (elements == 0)
    return;
  u->slice = schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED,
                             elements * compute_bytes (run->policy), "parameter slice");
  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = ROUTE_FILL,
                                 .end = POLICY_MAX_HOPS,
                                 .held = elements,
                                 .moves = SCHEDULE_COMPUTE,
                                 .from = route_whole (u->full),
                                 .to = route_whole (u->slice),
                                 .passing = "slice on its way" });
  u->sliced = schedule_record (run->b, SCHEDULE_COMPUTE);
}

void
fsdp2_reshard (StrategyRun *run, guint unit)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[unit];

  if (in_place (run))
    {
      Fsdp2Used used = { u->full, schedule_record (run->b, SCHEDULE_COMPUTE) };

      if (fsdp2_stays_gathered (run, unit)) /* nothing is gathered behind it */
        schedule_free_after (run->b, used.buffer, used.end);
      else
        g_array_append_val (s->used, used);
    }
  else
    schedule_free (run->b, u->full);
  u->full = SCHEDULE_NONE;
  u->available = FALSE;
}

void
fsdp2_free_used (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  for (guint i = 0; i < s->used->len; i++)
    {
      const Fsdp2Used *used = &g_array_index (s->used, Fsdp2Used, i);

      schedule_free_after (run->b, used->buffer, used->end);
    }
  g_array_set_size (s->used, 0);
}
