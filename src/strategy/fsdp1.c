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
 * head) stay gathered after forward. Source: Zhao et al., arXiv:2304.11277, 3.3 and 3.4;
 * torch/distributed/fsdp.
 */
#include "strategy/common.h"

typedef enum
{
  PREFETCH_PRE,
  PREFETCH_POST,
  PREFETCH_NONE,
} BackwardPrefetch;

typedef struct
{
  char    *shard;
  gboolean reshard_after_forward, limit_all_gathers, forward_prefetch;
  gint     backward_prefetch;
} Fsdp1Options;

static const char *const prefetch_choices[] = { "pre", "post", "none", NULL };

static const OptionSpec fsdp1_options[] = {
  { .key = "shard",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Fsdp1Options, shard),
    .fallback = "all",
    .help = "ranks that share one copy of the parameters: all, node (HYBRID_SHARD), or a number",
    .source = "Zhao et al., arXiv:2304.11277, 3.2" },
  { .key = "reshard_after_forward",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Fsdp1Options, reshard_after_forward),
    .fallback = "true",
    .help = "free a unit after its forward (false: SHARD_GRAD_OP)",
    .source = "Zhao et al., arXiv:2304.11277, 5.4 (NRAF)" },
  { .key = "backward_prefetch",
    .type = OPTION_ENUM,
    .choices = prefetch_choices,
    .offset = G_STRUCT_OFFSET (Fsdp1Options, backward_prefetch),
    .fallback = "pre",
    .help =
        "when the next unit is gathered in backward: before or after the gradient kernels, or not "
        "ahead",
    .source = "Zhao et al., arXiv:2304.11277, 3.3.2" },
  { .key = "forward_prefetch",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Fsdp1Options, forward_prefetch),
    .fallback = "false",
    .help = "issue the next all-gather before a unit's forward kernels",
    .source = "Zhao et al., arXiv:2304.11277, 3.3.3" },
  { .key = "limit_all_gathers",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Fsdp1Options, limit_all_gathers),
    .fallback = "true",
    .help = "rate limiter: at most two all-gathers whose memory is not free again",
    .source = "Zhao et al., arXiv:2304.11277, 3.4.2" },
  { 0 },
};

/* _max_num_inflight_all_gathers in torch/distributed/fsdp/_limiter_utils.py. */
#define MAX_IN_FLIGHT 2

typedef struct
{
  guint64   padded;
  BufferRef full, grads, shard;
  EventRef  gathered;
  EventRef  table_used; /* a tied head read it, maybe in a pass beside; or SCHEDULE_NONE */
  gboolean  available;
} UnitState;

typedef struct
{
  StreamRef   pre_unshard, unshard, post_backward;
  CommRef     shard_comm[2], replica_comm[2]; /* of each kind of unit: see unit_groups */
  ShardGroups groups[2];
  BufferRef   shards; /* of the parameters: all units */
  UnitState  *units;
  EventRef    freed[MAX_IN_FLIGHT]; /* limiter: last uses of units freed lately; oldest first */
  guint       n_freed;
} Fsdp1State;

static StateBytes
bytes_of (const StrategyRun *run)
{
  return state_bytes (workload_training (run->in->workload));
}

/* The root's own parameters are those of the embedding and of the head. */
static gboolean
stays_gathered (const StrategyRun *run, guint unit)
{
  const Fsdp1Options *o = run->options;

  return !o->reshard_after_forward || run->units[unit].desc->kind != LAYER_BLOCK;
}

static const ShardGroups *
groups_of (const StrategyRun *run, guint unit)
{
  return &((const Fsdp1State *) run->state)->groups[run->units[unit].expert];
}

static guint
n_kinds (const PlanInput *in)
{
  return in->mesh.experts > 1 ? 2 : 1;
}

static void
fsdp1_init (StrategyRun *run)
{
  Fsdp1State         *s = run->state;
  const Fsdp1Options *o = run->options;
  StateBytes          bytes = bytes_of (run);
  guint64             shard = 0;

  unit_groups (&run->in->mesh, o->shard, s->groups, NULL);
  s->pre_unshard = schedule_stream (run->b, "pre_unshard", 0);
  s->unshard = schedule_stream (run->b, "unshard", 1);
  s->post_backward = schedule_stream (run->b, "post_backward", 1);
  for (guint kind = 0; kind < n_kinds (run->in); kind++)
    {
      s->shard_comm[kind] = unit_comm (run->b, "shard", kind, s->groups[kind].shard);
      if (s->groups[kind].replica.size > 1)
        s->replica_comm[kind] = unit_comm (run->b, "replica", kind, s->groups[kind].replica);
    }
  s->units = g_new0 (UnitState, run->n_units);
  for (guint i = 0; i < run->n_units; i++)
    {
      UnitState *u = &s->units[i];

      u->full = u->grads = u->shard = u->table_used = SCHEDULE_NONE;
      u->padded = padded_flat (run->units[i].own_elements, groups_of (run, i)->shard.size);
      shard += u->padded / groups_of (run, i)->shard.size;
    }
  s->shards = schedule_alloc (run->b, TIER_HBM, POOL_PARAMETER, shard * bytes.master,
                              "flat parameter shards");
  schedule_alloc (run->b, TIER_HBM, POOL_OPTIMIZER, shard * bytes.moments, "optimizer state");
}

static void
fsdp1_clear (StrategyRun *run)
{
  g_free (((Fsdp1State *) run->state)->units);
}

static void
fsdp1_step_begin (StrategyRun *run)
{
  Fsdp1State *s = run->state;

  s->n_freed = 0; /* the step before has ended: its events are over */
  for (guint i = 0; i < run->n_units; i++)
    s->units[i].table_used = SCHEDULE_NONE;
  schedule_wait_stream (run->b, s->pre_unshard, SCHEDULE_COMPUTE);
  schedule_wait_stream (run->b, s->unshard, SCHEDULE_COMPUTE);
}

static void
limit_rate (StrategyRun *run)
{
  Fsdp1State *s = run->state;

  if (!((const Fsdp1Options *) run->options)->limit_all_gathers || s->n_freed < MAX_IN_FLIGHT)
    return;
  schedule_host_pace (run->b, s->freed[0]);
  s->freed[0] = s->freed[1];
  s->n_freed--;
}

static void
gather (StrategyRun *run, guint unit)
{
  Fsdp1State *s = run->state;
  UnitState  *u = &s->units[unit];
  StateBytes  bytes = bytes_of (run);
  guint       m = groups_of (run, unit)->shard.size;
  guint64     shard = u->padded / m;
  guint       old = schedule_set_unit (run->b, unit);
  BufferRef   cast = SCHEDULE_NONE;

  limit_rate (run);
  if (bytes.compute < bytes.master)
    {
      cast = schedule_alloc_on (run->b, s->pre_unshard, TIER_HBM, POOL_GATHERED,
                                shard * bytes.compute, "low-precision shard");
      emit_stream_kernel (run->b, s->pre_unshard, KERNEL_COPY, "shard_cast", DTYPE_FP32,
                          (double) shard * bytes.master, (double) shard * bytes.compute);
      schedule_uses (run->b, s->shards, unit, ACCESS_READ);
      schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_WRITE);
      schedule_wait_stream (run->b, s->unshard, s->pre_unshard);
    }
  u->full = schedule_alloc_on (run->b, s->unshard, TIER_HBM, POOL_GATHERED,
                               u->padded * bytes.compute, "flat parameter");
  schedule_all_gather (run->b, s->unshard, s->shard_comm[run->units[unit].expert],
                       u->padded * bytes.compute, "all_gather");
  if (cast != SCHEDULE_NONE)
    schedule_uses (run->b, cast, SCHEDULE_WHOLE, ACCESS_READ);
  else
    schedule_uses (run->b, s->shards, unit, ACCESS_READ);
  schedule_uses (run->b, u->full, SCHEDULE_WHOLE, ACCESS_WRITE);
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
  EventRef    last_use =
      schedule_join (run->b, schedule_record (run->b, SCHEDULE_COMPUTE), u->table_used);

  schedule_free_after (run->b, u->full, last_use);
  u->full = u->table_used = SCHEDULE_NONE;
  u->available = FALSE;
  if (s->n_freed == MAX_IN_FLIGHT) /* nobody has asked for the oldest: only the newest two matter */
    s->freed[0] = s->freed[1], s->n_freed--;
  s->freed[s->n_freed++] = last_use;
}

/*
 * A tied head reads the embedding's table. Where both lie on one stage (zbv, dualpipe), another
 * micro-batch may have given it back, or a pass beside this one may have gathered it.
 */
static void
need_table (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State *s = run->state;
  guint       table = slot->plan->shares;

  if (table == slot->unit)
    return;
  if (!s->units[table].available)
    gather (run, table);
  schedule_wait (run->b, SCHEDULE_COMPUTE, s->units[table].gathered);
}

static void
note_table (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State *s = run->state;

  if (run->pipelined && slot->plan->shares != slot->unit)
    s->units[slot->plan->shares].table_used = schedule_record (run->b, SCHEDULE_COMPUTE);
}

static void
fsdp1_forward_begin (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State         *s = run->state;
  const Fsdp1Options *o = run->options;

  schedule_host_hooks (run->b, 1);
  if (!s->units[slot->unit].available)
    gather (run, slot->unit);
  schedule_wait (run->b, SCHEDULE_COMPUTE, s->units[slot->unit].gathered);
  need_table (run, slot);
  if (o->forward_prefetch && slot->unit + 1 < slot->end_unit && !s->units[slot->unit + 1].available)
    gather (run, slot->unit + 1);
}

static void
fsdp1_forward_end (StrategyRun *run, const UnitSlot *slot)
{
  schedule_host_hooks (run->b, 1);
  note_table (run, slot);
  if (!stays_gathered (run, slot->unit))
    reshard (run, slot->unit);
}

static void
prefetch_backward (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State *s = run->state;

  if (slot->unit > slot->first_unit && !s->units[slot->unit - 1].available)
    gather (run, slot->unit - 1);
}

static void
fsdp1_unit_backward_begin (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State         *s = run->state;
  UnitState          *u = &s->units[slot->unit];
  const Fsdp1Options *o = run->options;

  schedule_host_hooks (run->b, 1);
  if (slot->part != BACKWARD_WEIGHTS)
    {
      if (!u->available)
        gather (run, slot->unit);
      schedule_wait (run->b, SCHEDULE_COMPUTE, u->gathered);
      need_table (run, slot);
      if (o->backward_prefetch == PREFETCH_PRE)
        prefetch_backward (run, slot);
    }
  if (slot->part == BACKWARD_INPUTS)
    return;
  u->grads = schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, u->padded * bytes_of (run).compute,
                             "flat gradient");
  strategy_data (run, slot->unit, UNIT_GRADIENT, u->grads, SCHEDULE_NONE);
}

/*
 * Cast where the reduction is wider, reduce-scatter, all-reduce over the replicas, cast or add into
 * the shard's gradient.
 */
static void
reduce_gradient (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State        *s = run->state;
  UnitState         *u = &s->units[slot->unit];
  const ShardGroups *groups = groups_of (run, slot->unit);
  guint              kind = slot->plan->expert;
  StateBytes         bytes = bytes_of (run);
  guint              reduce = reduce_bytes (workload_training (run->in->workload));
  guint64            shard = u->padded / groups->shard.size;
  BufferRef          input = u->grads, output;
  EventRef           done;

  schedule_wait_stream (run->b, s->post_backward, SCHEDULE_COMPUTE);
  if (reduce != bytes.compute)
    {
      input = schedule_alloc_on (run->b, s->post_backward, TIER_HBM, POOL_COMMUNICATION,
                                 u->padded * reduce, "gradient in reduction precision");
      emit_stream_kernel (run->b, s->post_backward, KERNEL_COPY, "gradient_cast", DTYPE_FP32,
                          (double) u->padded * bytes.compute, (double) u->padded * reduce);
      schedule_uses (run->b, u->grads, SCHEDULE_WHOLE, ACCESS_READ);
      schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_WRITE);
      schedule_free_after (run->b, u->grads, schedule_record (run->b, s->post_backward));
    }
  output = schedule_alloc_on (run->b, s->post_backward, TIER_HBM, POOL_COMMUNICATION,
                              shard * reduce, "reduce-scatter output");
  schedule_reduce_scatter (run->b, s->post_backward, s->shard_comm[kind], u->padded * reduce,
                           "reduce_scatter");
  schedule_uses (run->b, input, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_WRITE);
  if (groups->replica.size > 1)
    {
      schedule_all_reduce (run->b, s->post_backward, s->replica_comm[kind], shard * reduce,
                           "all_reduce");
      schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
    }
  if (u->shard == SCHEDULE_NONE)
    u->shard =
        schedule_alloc (run->b, TIER_HBM, POOL_GRADIENT, shard * bytes.master, "gradient shard");
  strategy_data (run, slot->unit, UNIT_REDUCED, u->shard, SCHEDULE_NONE);
  emit_stream_kernel (run->b, s->post_backward, KERNEL_ELEMENTWISE,
                      slot->first_micro ? "shard_gradient_cast" : "shard_gradient_add", DTYPE_FP32,
                      (double) shard * (slot->first_micro ? reduce : reduce + bytes.master),
                      (double) shard * bytes.master);
  schedule_uses (run->b, output, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses (run->b, u->shard, SCHEDULE_WHOLE,
                 slot->first_micro ? ACCESS_WRITE : ACCESS_READ_WRITE);
  done = schedule_record (run->b, s->post_backward);
  schedule_free_after (run->b, input, done);
  schedule_free_after (run->b, output, done);
}

static void
fsdp1_unit_backward_end (StrategyRun *run, const UnitSlot *slot)
{
  Fsdp1State         *s = run->state;
  const Fsdp1Options *o = run->options;

  schedule_host_hooks (run->b, 1);
  if (slot->part != BACKWARD_WEIGHTS)
    {
      note_table (run, slot);
      if (s->units[slot->unit].available)
        reshard (run, slot->unit);
      if (o->backward_prefetch == PREFETCH_POST)
        prefetch_backward (run, slot);
    }
  if (slot->part != BACKWARD_INPUTS)
    reduce_gradient (run, slot);
}

static void
fsdp1_micro_step_end (StrategyRun *run)
{
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, ((Fsdp1State *) run->state)->post_backward);
}

static void
fsdp1_step_end (StrategyRun *run)
{
  Fsdp1State *s = run->state;
  guint64     shard = 0;

  for (guint i = 0; i < run->n_units; i++)
    shard += s->units[i].padded / groups_of (run, i)->shard.size;
  emit_optimizer (run, s->groups[0].shard, shard, bytes_of (run).master, 0);
  for (guint i = 0; i < run->n_units; i++)
    {
      schedule_free (run->b, s->units[i].shard);
      s->units[i].shard = SCHEDULE_NONE;
    }
}

static gboolean
fsdp1_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  return check_unit_groups (&in->mesh, ((const Fsdp1Options *) opt)->shard, diags);
}

/* A unit is one flat buffer, padded at its tail. */
static guint64
padded_unit (const TensorDesc *tensors, guint n, guint m)
{
  return padded_flat (padded_each (tensors, n, 1), m);
}

static guint64
fsdp1_resident (const PlanInput *in, gconstpointer opt)
{
  ShardGroups groups[2];

  unit_groups (&in->mesh, ((const Fsdp1Options *) opt)->shard, groups, NULL);
  return model_shard (in->workload, padded_unit,
                      (guint[]){ groups[0].shard.size, groups[1].shard.size });
}

static PlanGradient
fsdp1_gradient (const PlanInput *in, gconstpointer opt)
{
  ShardGroups groups[2];

  unit_groups (&in->mesh, ((const Fsdp1Options *) opt)->shard, groups, NULL);
  return (PlanGradient){ state_bytes (workload_training (in->workload)).master,
                         groups[0].shard.size };
}

/* Padded elements of the root's own parameters. */
static double
expect_root (const Workload *workload, guint m)
{
  double sum = 0;

  for (guint i = 0; i < workload_n_layers (workload); i++)
    if (workload_layer (workload, i)->kind != LAYER_BLOCK)
      sum += (double) padded_flat (workload_layer (workload, i)->elements, m);
  return sum;
}

/* Bytes of one kind of unit. Returns its padded elements that stay gathered. */
static double
expect_traffic (const PlanInput *in, const Fsdp1Options *o, const ShardGroups *groups, guint kind,
                PlanTotals *totals)
{
  const TrainingOptions *training = workload_training (in->workload);
  Pipeline               pipeline = pipeline_of (in->workload);
  guint                  m = groups->shard.size;
  guint                  compute = state_bytes (training).compute, reduce = reduce_bytes (training);
  double                 steps = pipeline_chunk_micros (&pipeline);
  double                 padded = (double) model_padded (in->workload, padded_unit, kind, m);
  double                 root = kind == 0 ? expect_root (in->workload, m) : 0;
  double                 kept = o->reshard_after_forward ? root : padded;

  plan_totals_add (totals, COLLECTIVE_ALL_GATHER, groups->shard,
                   steps * compute * (2 * padded - kept));
  plan_totals_add (totals, COLLECTIVE_REDUCE_SCATTER, groups->shard, steps * reduce * padded);
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, groups->replica, steps * reduce * padded / m);
  return kept;
}

/* Zhao et al., arXiv:2304.11277, 3.2.2 (bytes) and 3.2.1 (memory). */
static gboolean
fsdp1_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  const Fsdp1Options    *o = opt;
  const TrainingOptions *training = workload_training (in->workload);
  StateBytes             bytes = state_bytes (training);
  ActivationBounds       activations = activation_bounds (in->workload);
  double                 shard = (double) fsdp1_resident (in, opt), kept = 0, unit;
  ShardGroups            groups[2];

  unit_groups (&in->mesh, o->shard, groups, NULL);
  for (guint kind = 0; kind < n_kinds (in); kind++)
    kept += expect_traffic (in, o, &groups[kind], kind, totals);
  expect_optimizer (in, groups[0].shard, totals);
  totals->flops += expected_flops (in);
  unit = (double) padded_flat (largest_unit (in->workload, UNIT_LAYER), groups[0].shard.size);
  totals->states += shard * (bytes.master + bytes.moments);
  totals->hbm_low += shard * (bytes.master + bytes.moments) + activations.kept + activations.low;
  totals->hbm_high += shard * (2.0 * bytes.master + bytes.moments) + activations.kept
                      + activations.high + (kept + 4 * unit) * bytes.compute
                      + 3 * unit * reduce_bytes (training);
  return TRUE;
}

const Strategy strategy_fsdp1 = {
  .api = STRATEGY_API_VERSION,
  .name = "fsdp1",
  .title = "PyTorch FullyShardedDataParallel: flat parameters, rate limiter, backward prefetch",
  .source = "Zhao et al., arXiv:2304.11277",
  .options_size = sizeof (Fsdp1Options),
  .options = fsdp1_options,
  .check = fsdp1_check,
  .hooks = {
    .state_size = sizeof (Fsdp1State), .granularity = UNIT_LAYER,
    .init = fsdp1_init, .clear = fsdp1_clear,
    .step_begin = fsdp1_step_begin,
    .unit_forward_begin = fsdp1_forward_begin, .unit_forward_end = fsdp1_forward_end,
    .unit_backward_begin = fsdp1_unit_backward_begin, .unit_backward_end = fsdp1_unit_backward_end,
    .micro_step_end = fsdp1_micro_step_end, .step_end = fsdp1_step_end,
  },
  .expect = fsdp1_expect,
  .resident = fsdp1_resident,
  .gradient = fsdp1_gradient,
  .states = "parameters: fp32 flat shards, HBM\n"
            "gathered parameters: compute precision, one flat buffer a unit, HBM\n"
            "gradients: a flat unsharded buffer a unit, then fp32 shards until the end of the "
            "step, HBM\n"
            "optimizer: sharded like the parameters, HBM",
  .missing = "no_sync, CPU offload, the caching allocator's retries\n"
             "embedding and head are gathered as two units, where one root unit holds both",
};
