#include "strategy/fsdp2.h"

const char *const fsdp2_reshard_choices[] = { "auto", "true", "false", NULL };

static const OptionSpec fsdp2_options[] = { FSDP2_OPTIONS ("all"), { 0 } };

static const Fsdp2Options *
options_of (const StrategyRun *run)
{
  return run->options;
}

static StateBytes
bytes_of (const StrategyRun *run)
{
  return state_bytes (workload_training (run->in->workload));
}

static const ShardGroups *
groups_of (const StrategyRun *run, guint unit)
{
  return &((const Fsdp2State *) run->state)->groups[run->units[unit].expert];
}

static guint
n_kinds (const PlanInput *in)
{
  return in->mesh.experts > 1 ? 2 : 1;
}

/* Replicas of some unit: the rest of the gradients is then reduced on their stream. */
static gboolean
has_replicas (const Fsdp2State *s)
{
  return s->groups[0].replica.size > 1 || s->groups[1].replica.size > 1;
}

static gboolean
has_tied_head (const Workload *workload)
{
  for (guint i = 0; i < workload_n_layers (workload); i++)
    if (workload_layer (workload, i)->tied_head)
      return TRUE;
  return FALSE;
}

gboolean
fsdp2_stays (const Workload *workload, const LayerDesc *layer)
{
  return layer->kind == LAYER_HEAD || (layer->kind == LAYER_EMBEDDING && has_tied_head (workload));
}

gboolean
fsdp2_reshards (const PlanInput *in, const Fsdp2Options *o)
{
  return o->reshard_after_forward == RESHARD_ALWAYS
         || (o->reshard_after_forward == RESHARD_AUTO && in->mesh.stages <= 1);
}

static gboolean
stays_gathered (const StrategyRun *run, guint unit)
{
  return !fsdp2_reshards (run->in, options_of (run))
         || fsdp2_stays (run->in->workload, run->units[unit].desc);
}

/* Where the sharded states live. */
static MemoryTier
home_of (const StrategyRun *run)
{
  return options_of (run)->cpu_offload ? TIER_HOST : TIER_HBM;
}

void
fsdp2_init (StrategyRun *run)
{
  Fsdp2State *s = run->state;
  StateBytes  bytes = bytes_of (run);
  guint64     shard = 0;

  unit_groups (&run->in->mesh, options_of (run)->shard, s->groups, NULL);
  s->copy_in = schedule_stream (run->b, "copy_in", 1);
  s->gather = schedule_stream (run->b, "all_gather", 1);
  s->reduce = schedule_stream (run->b, "reduce_scatter", 1);
  if (has_replicas (s))
    s->all_reduce = schedule_stream (run->b, "all_reduce", 0);
  for (guint kind = 0; kind < n_kinds (run->in); kind++)
    {
      s->shard_comm[kind] = unit_comm (run->b, "shard", kind, s->groups[kind].shard);
      if (s->groups[kind].replica.size > 1)
        s->replica_comm[kind] = unit_comm (run->b, "replica", kind, s->groups[kind].replica);
    }
  s->units = g_new0 (Fsdp2Unit, run->n_units);
  for (guint i = 0; i < run->n_units; i++)
    {
      s->units[i].gather = s->units[i].full = s->units[i].shard = SCHEDULE_NONE;
      s->units[i].grads = s->units[i].sum = SCHEDULE_NONE;
      s->units[i].padded = padded_rows (run->units[i].tensors, run->units[i].n_tensors,
                                        groups_of (run, i)->shard.size);
      shard += s->units[i].padded / groups_of (run, i)->shard.size;
    }
  s->held = s->reducing = s->offloaded = SCHEDULE_NONE;
  s->shards = schedule_alloc (run->b, home_of (run), POOL_PARAMETER, shard * bytes.master,
                              "parameter shards");
  schedule_alloc (run->b, home_of (run), POOL_OPTIMIZER, shard * bytes.moments, "optimizer state");
}

void
fsdp2_clear (StrategyRun *run)
{
  g_free (((Fsdp2State *) run->state)->units);
}

void
fsdp2_step_begin (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  /* The gathering streams must see the parameters that the optimizer wrote. */
  schedule_wait_stream (run->b, s->copy_in, SCHEDULE_COMPUTE);
  schedule_wait_stream (run->b, s->gather, SCHEDULE_COMPUTE);
}

/*
 * CPU offload: the fp32 shard of UNIT, of ELEMENTS, comes to the GPU. SCHEDULE_NONE where it is
 * there.
 */
static BufferRef
stage_shard (StrategyRun *run, guint unit, guint64 elements)
{
  Fsdp2State *s = run->state;
  guint64     bytes = elements * bytes_of (run).master;
  BufferRef   staged;

  if (!options_of (run)->cpu_offload)
    return SCHEDULE_NONE;
  staged =
      schedule_alloc_on (run->b, s->copy_in, TIER_HBM, POOL_GATHERED, bytes, "shard from the host");
  schedule_copy (run->b, s->copy_in, COPY_FROM_HOST, bytes, "parameters");
  schedule_uses (run->b, s->shards, unit, ACCESS_READ);
  schedule_uses (run->b, staged, SCHEDULE_WHOLE, ACCESS_WRITE);
  return staged;
}

static void
unshard (StrategyRun *run, guint unit)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[unit];
  StateBytes  bytes = bytes_of (run);
  guint64     elements = u->padded / groups_of (run, unit)->shard.size;
  double      shard = (double) elements;
  guint       old = schedule_set_unit (run->b, unit);
  BufferRef   staged = stage_shard (run, unit, elements);

  u->gather = schedule_alloc_on (run->b, s->copy_in, TIER_HBM, POOL_GATHERED,
                                 u->padded * bytes.compute, "all-gather output");
  /* Read the fp32 shard, write it in compute precision, copy that to its slot of the output. */
  emit_stream_kernel (run->b, s->copy_in, KERNEL_COPY, "copy_in", DTYPE_FP32,
                      shard * (bytes.master + bytes.compute), shard * 2 * bytes.compute);
  if (staged != SCHEDULE_NONE)
    schedule_uses (run->b, staged, SCHEDULE_WHOLE, ACCESS_READ);
  else
    schedule_uses (run->b, s->shards, unit, ACCESS_READ);
  schedule_uses (run->b, u->gather, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free (run->b, staged);
  schedule_wait_stream (run->b, s->gather, s->copy_in);
  schedule_all_gather (run->b, s->gather, s->shard_comm[run->units[unit].expert],
                       u->padded * bytes.compute, "all_gather");
  schedule_uses (run->b, u->gather, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
  u->gathered = schedule_record (run->b, s->gather);
  u->available = TRUE;
  schedule_set_unit (run->b, old);
}

static void
drop_held (StrategyRun *run)
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
 * the copy.
 */
static EventRef
copy_out (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[slot->unit];
  StateBytes  bytes = bytes_of (run);
  double      elements = (double) slot->plan->own_elements;

  schedule_wait (run->b, SCHEDULE_COMPUTE, u->gathered);
  u->full = schedule_alloc (run->b, TIER_HBM, POOL_GATHERED,
                            slot->plan->own_elements * bytes.compute, "parameters");
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "copy_out", DTYPE_BF16,
                      (double) u->padded * bytes.compute, elements * bytes.compute);
  schedule_uses (run->b, u->gather, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, u->full, SCHEDULE_WHOLE, ACCESS_WRITE);
  strategy_data (run, slot->unit, UNIT_PARAMETERS, u->full, SCHEDULE_NONE);
  return schedule_record (run->b, SCHEDULE_COMPUTE);
}

void
fsdp2_unit_forward_begin (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[slot->unit];
  EventRef    copied;

  schedule_host_hooks (run->b, 1);
  if (u->available)
    return;
  unshard (run, slot->unit);
  drop_held (run);
  copied = copy_out (run, slot);
  s->held = u->gather;
  s->held_copied = copied;
  u->gather = SCHEDULE_NONE;
}

static void
reshard (StrategyRun *run, guint unit)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[unit];

  schedule_free (run->b, u->full);
  u->full = SCHEDULE_NONE;
  u->available = FALSE;
}

void
fsdp2_unit_forward_end (StrategyRun *run, const UnitSlot *slot)
{
  schedule_host_hooks (run->b, 1);
  if (!stays_gathered (run, slot->unit))
    reshard (run, slot->unit);
}

void
fsdp2_backward_begin (StrategyRun *run)
{
  drop_held (run);
}

/* Gathers the unit where it is not there, and the one before it ahead of its turn. */
static void
prepare_backward (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[slot->unit];

  if (!u->available)
    unshard (run, slot->unit);
  if (u->gather != SCHEDULE_NONE && u->full == SCHEDULE_NONE)
    {
      EventRef copied = copy_out (run, slot);

      schedule_wait (run->b, s->copy_in, copied);
      schedule_wait (run->b, s->gather, copied);
      schedule_free (run->b, u->gather);
      u->gather = SCHEDULE_NONE;
    }
  if (options_of (run)->backward_prefetch && slot->unit > slot->first_unit
      && !s->units[slot->unit - 1].available)
    unshard (run, slot->unit - 1);
}

void
fsdp2_unit_backward_begin (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;

  schedule_host_hooks (run->b, 1);
  if (slot->part != BACKWARD_WEIGHTS)
    prepare_backward (run, slot);
  if (slot->part == BACKWARD_INPUTS)
    return;
  s->units[slot->unit].grads =
      schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT,
                      slot->plan->own_elements * bytes_of (run).compute, "gradients");
  strategy_data (run, slot->unit, UNIT_GRADIENT, s->units[slot->unit].grads, SCHEDULE_NONE);
}

/*
 * The fp32 shard CAST of a unit's gradient goes to the host. The first micro-step's copy stays
 * there, the host adds later ones to it.
 */
static void
offload_gradient (StrategyRun *run, guint unit, StreamRef stream, guint64 bytes, gboolean first,
                  BufferRef cast)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[unit];

  if (u->shard == SCHEDULE_NONE)
    u->shard = schedule_alloc (run->b, TIER_HOST, POOL_GRADIENT, bytes, "gradient shard");
  strategy_data (run, unit, UNIT_REDUCED, u->shard, SCHEDULE_NONE);
  schedule_copy (run->b, stream, COPY_TO_HOST, bytes, "gradients");
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, u->shard, SCHEDULE_WHOLE, ACCESS_WRITE);
  s->offloaded = schedule_record (run->b, stream);
  if (first)
    return;
  schedule_host_wait (run->b, s->offloaded);
  schedule_host_touches (run->b, u->shard, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

/* The reduced shard, cast to fp32 on STREAM and sent on. */
static void
cast_and_offload (StrategyRun *run, guint unit, StreamRef stream, gboolean first, BufferRef output,
                  guint64 shard)
{
  guint     reduce = reduce_bytes (workload_training (run->in->workload));
  guint     master = bytes_of (run).master;
  BufferRef cast = schedule_alloc_on (run->b, stream, TIER_HBM, POOL_GRADIENT, shard * master,
                                      "gradient shard on its way");

  emit_stream_kernel (run->b, stream, KERNEL_ELEMENTWISE, "gradient_cast", DTYPE_FP32,
                      (double) shard * reduce, (double) shard * master);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free_after (run->b, output, schedule_record (run->b, stream));
  offload_gradient (run, unit, stream, shard * master, first, cast);
  schedule_free (run->b, cast);
}

/*
 * After the reduce-scatter: all-reduce over the replicas, then cast or add into the sharded
 * gradient.
 */
static void
finish_reduce (StrategyRun *run, guint unit, gboolean first, BufferRef output, guint64 shard)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[unit];
  guint       reduce = reduce_bytes (workload_training (run->in->workload));
  guint       master = bytes_of (run).master;
  StreamRef   stream = s->reduce;

  if (has_replicas (s))
    {
      stream = s->all_reduce;
      schedule_wait_stream (run->b, stream, s->reduce);
      if (groups_of (run, unit)->replica.size > 1)
        {
          schedule_all_reduce (run->b, stream, s->replica_comm[run->units[unit].expert],
                               shard * reduce, "all_reduce");
          schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
        }
    }
  if (options_of (run)->cpu_offload)
    {
      cast_and_offload (run, unit, stream, first, output, shard);
      return;
    }
  if (u->shard == SCHEDULE_NONE)
    u->shard = schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, shard * master, "gradient shard");
  strategy_data (run, unit, UNIT_REDUCED, u->shard, SCHEDULE_NONE);
  emit_stream_kernel (run->b, stream, KERNEL_ELEMENTWISE, first ? "gradient_cast" : "gradient_add",
                      DTYPE_FP32, (double) shard * (first ? reduce : reduce + master),
                      (double) shard * master);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, u->shard, SCHEDULE_WHOLE, first ? ACCESS_WRITE : ACCESS_READ_WRITE);
  schedule_free_after (run->b, output, schedule_record (run->b, stream));
}

/*
 * The unit's whole gradient (*GRADS, ELEMENT_BYTES an element) is copied into the padded input, and
 * goes.
 */
static void
reduce_unit (StrategyRun *run, guint unit, BufferRef *grads, guint element_bytes, gboolean first)
{
  Fsdp2State *s = run->state;
  Fsdp2Unit  *u = &s->units[unit];
  guint       reduce = reduce_bytes (workload_training (run->in->workload));
  guint64     shard = u->padded / groups_of (run, unit)->shard.size;
  BufferRef   input, output;

  if (s->reducing != SCHEDULE_NONE)
    {
      schedule_wait (run->b, SCHEDULE_COMPUTE, s->reduced);
      schedule_free (run->b, s->reducing);
    }
  input = schedule_alloc (run->b, TIER_HBM, POOL_COMMUNICATION, u->padded * reduce,
                          "reduce-scatter input");
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE, KERNEL_COPY, "reduce_copy_in", DTYPE_BF16,
                      (double) run->units[unit].own_elements * element_bytes,
                      (double) u->padded * reduce);
  schedule_uses (run->b, *grads, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_free (run->b, *grads);
  *grads = SCHEDULE_NONE;
  schedule_wait_stream (run->b, s->reduce, SCHEDULE_COMPUTE);
  output = schedule_alloc_on (run->b, s->reduce, TIER_HBM, POOL_COMMUNICATION, shard * reduce,
                              "reduce-scatter output");
  schedule_reduce_scatter (run->b, s->reduce, s->shard_comm[run->units[unit].expert],
                           u->padded * reduce, "reduce_scatter");
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_WRITE);
  s->reduced = schedule_record (run->b, s->reduce);
  s->reducing = input;
  finish_reduce (run, unit, first, output, shard);
}

static void
wait_for_reductions (StrategyRun *run)
{
  Fsdp2State *s = run->state;

  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, has_replicas (s) ? s->all_reduce : s->reduce);
  if (s->reducing != SCHEDULE_NONE)
    schedule_free (run->b, s->reducing);
  s->reducing = SCHEDULE_NONE;
  schedule_host_wait (run->b, s->offloaded);
  s->offloaded = SCHEDULE_NONE;
}

/* The optimizer of CPU offload, which is not modelled. */
static void
update_on_host (StrategyRun *run)
{
  const Fsdp2State *s = run->state;

  /* Gradients that tensor ranks or stages share have been added up since they were copied. */
  if (mesh_tensor (&run->in->mesh).size > 1 || mesh_stages (&run->in->mesh).size > 1)
    schedule_host_wait (run->b, schedule_record (run->b, SCHEDULE_COMPUTE));
  for (guint i = 0; i < run->n_units; i++)
    schedule_host_touches (run->b, s->units[i].shard, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_host_touches (run->b, s->shards, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

/* The first gradient of a step is the sum so far, or is cast to it. */
static void
accumulate (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[slot->unit];
  guint      reduce = reduce_bytes (workload_training (run->in->workload));
  guint      compute = bytes_of (run).compute;
  guint64    elements = slot->plan->own_elements;

  if (slot->first_micro && reduce == compute)
    u->sum = u->grads, u->grads = SCHEDULE_NONE;
  if (u->grads == SCHEDULE_NONE)
    return;
  if (slot->first_micro)
    u->sum = schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, elements * reduce, "whole gradients");
  emit_stream_kernel (run->b, SCHEDULE_COMPUTE,
                      slot->first_micro ? KERNEL_COPY : KERNEL_ELEMENTWISE,
                      slot->first_micro ? "gradient_cast" : "gradient_add",
                      reduce == compute ? DTYPE_BF16 : DTYPE_FP32,
                      (double) elements * (slot->first_micro ? compute : compute + reduce),
                      (double) elements * reduce);
  schedule_uses (run->b, u->grads, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, u->sum, SCHEDULE_WHOLE,
                 slot->first_micro ? ACCESS_WRITE : ACCESS_READ_WRITE);
  schedule_free (run->b, u->grads);
  u->grads = SCHEDULE_NONE;
}

/* Behind the last backward pass of a chunk. */
static void
reduce_chunk (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2State *s = run->state;
  guint       reduce = reduce_bytes (workload_training (run->in->workload));

  for (guint i = slot->first_unit; i < slot->end_unit; i++)
    {
      schedule_set_unit (run->b, i);
      if (s->units[i].full != SCHEDULE_NONE)
        reshard (run, i);
      reduce_unit (run, i, &s->units[i].sum, reduce, TRUE);
    }
  wait_for_reductions (run);
}

void
fsdp2_unit_backward_end (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp2Unit *u = &((Fsdp2State *) run->state)->units[slot->unit];

  schedule_host_hooks (run->b, 1);
  if (u->full != SCHEDULE_NONE && slot->part != BACKWARD_WEIGHTS && !run->pipelined)
    reshard (run, slot->unit);
  if (slot->part == BACKWARD_INPUTS)
    return;
  if (!run->pipelined)
    {
      reduce_unit (run, slot->unit, &u->grads, bytes_of (run).compute, slot->first_micro);
      return;
    }
  accumulate (run, slot);
  if (slot->last_micro && slot->unit == slot->first_unit)
    reduce_chunk (run, slot);
}

void
fsdp2_micro_step_end (StrategyRun *run)
{
  if (!run->pipelined)
    wait_for_reductions (run);
}

void
fsdp2_step_end (StrategyRun *run)
{
  Fsdp2State *s = run->state;
  guint64     shard = 0;

  for (guint i = 0; i < run->n_units; i++)
    shard += s->units[i].padded / groups_of (run, i)->shard.size;
  if (options_of (run)->cpu_offload)
    update_on_host (run);
  else
    emit_optimizer (run, s->groups[0].shard, shard, bytes_of (run).master, 0);
  for (guint i = 0; i < run->n_units; i++)
    {
      schedule_free (run->b, s->units[i].shard);
      s->units[i].shard = SCHEDULE_NONE;
    }
}

gboolean
fsdp2_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  return check_unit_groups (&in->mesh, ((const Fsdp2Options *) opt)->shard, diags);
}

guint64
fsdp2_resident (const PlanInput *in, gconstpointer opt)
{
  ShardGroups groups[2];

  unit_groups (&in->mesh, ((const Fsdp2Options *) opt)->shard, groups, NULL);
  return model_shard (in->workload, padded_rows,
                      (guint[]){ groups[0].shard.size, groups[1].shard.size });
}

PlanGradient
fsdp2_gradient (const PlanInput *in, gconstpointer opt)
{
  ShardGroups groups[2];

  unit_groups (&in->mesh, ((const Fsdp2Options *) opt)->shard, groups, NULL);
  return (PlanGradient){ state_bytes (workload_training (in->workload)).master,
                         groups[0].shard.size };
}

const Strategy strategy_fsdp2 = {
  .api = STRATEGY_API_VERSION,
  .name = "fsdp2",
  .title = "PyTorch fully_shard: per-parameter sharding, implicit prefetch, copy-in and copy-out",
  .source = "pytorch torch/distributed/fsdp/_fully_shard",
  .options_size = sizeof (Fsdp2Options),
  .options = fsdp2_options,
  .check = fsdp2_check,
  .hooks = FSDP2_HOOKS,
  .expect = fsdp2_expect,
  .resident = fsdp2_resident,
  .gradient = fsdp2_gradient,
  .states = FSDP2_STATES,
  .missing = FSDP2_MISSING,
};
