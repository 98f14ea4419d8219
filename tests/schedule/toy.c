#include "toy.h"

#include <check.h>

const ModelShape toy_shape = {
  .name = (char *) "toy",
  .family = (char *) "llama",
  .n_layers = 2,
  .d_model = 64,
  .n_heads = 4,
  .n_kv_heads = 4,
  .head_dim = 16,
  .d_ff = 256,
  .vocab = 512,
  .norm = MODEL_NORM_RMS,
  .position = MODEL_POSITION_ROTARY,
  .gated_mlp = TRUE,
};

const TrainingOptions toy_training = {
  .seq_len = 16,
  .micro_batch = 2,
  .grad_accum = 1,
  .fused_norm = TRUE,
  .precision = PRECISION_BF16_MIXED,
  .reduce_dtype = DTYPE_N,
  .optimizer = OPTIMIZER_ADAMW_FUSED,
};

typedef struct
{
  StreamRef stream;
  CommRef   comm, other;
  BufferRef gathered, shard, first, gradients, reduced; /* gradients have no memory here */
  EventRef  init_event;
} ToyState;

static const ToyOptions *
options_of (const StrategyRun *run)
{
  return run->options;
}

static gboolean
has_fault (const StrategyRun *run, ToyFault fault)
{
  return options_of (run)->fault == fault && run->section == SECTION_STEADY;
}

static guint
toy_role (const PlanInput *in, gconstpointer opt, guint rank)
{
  const ToyOptions *options = opt;
  guint             role = rank % MAX (options->n_roles, 1);

  (void) in;
  return options->fault == TOY_ROLES_WITH_GAPS ? 2 * role : role;
}

static void
toy_init (StrategyRun *run)
{
  ToyState   *state = run->state;
  const Mesh *mesh = &run->in->mesh;
  MeshGroup   group =
      options_of (run)->apart ? (MeshGroup){ .size = 2, .stride = 2 } : mesh_all (mesh);

  state->stream = schedule_stream (run->b, "comm", -1);
  state->comm = schedule_comm (run->b, "shard", group);
  state->other = schedule_comm (run->b, "other", group);
  state->shard =
      schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER,
                      2 * workload_n_parameters (run->in->workload) / mesh->n_ranks, "shard");
  state->gradients = schedule_data (run->b, "gradients");
  state->reduced = schedule_data (run->b, "reduced gradients");
  if (options_of (run)->fault != TOY_NOT_DECLARED || run->b->unit_offset == 0)
    strategy_data (run, SCHEDULE_NONE, UNIT_GRADIENT, SCHEDULE_NONE, state->gradients);
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, state->reduced);
  state->init_event = schedule_record (run->b, state->stream);
}

static void
toy_fault_step (StrategyRun *run)
{
  ToyState *state = run->state;
  CommRef   first = run->role == 0 ? state->comm : state->other;
  CommRef   second = run->role == 0 ? state->other : state->comm;

  if (has_fault (run, TOY_WAIT_UNRECORDED))
    schedule_wait (run->b, state->stream, (guint32) run->section << SCHEDULE_EVENT_BITS | 999);
  if (has_fault (run, TOY_WAIT_OLD_EVENT))
    schedule_wait (run->b, state->stream, state->init_event);
  if (has_fault (run, TOY_FREE_PERSISTENT))
    schedule_free (run->b, state->shard);
  if (has_fault (run, TOY_DEADLOCK))
    {
      schedule_all_gather (run->b, state->stream, first, payload_of_bytes (8), "fault");
      schedule_all_gather (run->b, state->stream, second, payload_of_bytes (8), "fault");
    }
}

static void
toy_step_begin (StrategyRun *run)
{
  ToyState *state = run->state;

  toy_fault_step (run);
  if (run->section == SECTION_FIRST)
    {
      state->first = schedule_alloc (run->b, PLACE_PINNED, POOL_CACHE, 4096, "first");
      schedule_free (run->b, state->first);
    }
}

static void
toy_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  ToyState      *state = run->state;
  guint64        bytes = 2 * slot->plan->elements;
  CollectiveKind kind = COLLECTIVE_ALL_GATHER;

  if (slot->unit == 1 && run->role == 1)
    {
      bytes += has_fault (run, TOY_BYTES_DIFFER) ? 2 : 0;
      kind = has_fault (run, TOY_KIND_DIFFERS) ? COLLECTIVE_BROADCAST : kind;
    }
  state->gathered = schedule_alloc (run->b, PLACE_HBM, POOL_GATHERED, bytes, "gathered");
  strategy_data (run, slot->unit, UNIT_PARAMETERS, state->gathered, SCHEDULE_NONE);
  if (slot->plan->shares != slot->unit) /* the table of a tied head comes with it */
    strategy_data (run, slot->plan->shares, UNIT_PARAMETERS, state->gathered, SCHEDULE_NONE);
  if (slot->unit == 1 && run->role == 1 && has_fault (run, TOY_COUNT_DIFFERS))
    {
      schedule_touches (run->b, SCHEDULE_COMPUTE, state->gathered, SCHEDULE_WHOLE, ACCESS_WRITE);
      return;
    }
  schedule_wait_stream (run->b, state->stream, SCHEDULE_COMPUTE);
  schedule_collective (run->b, state->stream, state->comm, kind, payload_of_bytes (bytes),
                       "gather");
  schedule_uses (run->b, state->shard, slot->plan->shares, ACCESS_READ);
  schedule_uses (run->b, state->gathered, SCHEDULE_WHOLE, ACCESS_WRITE);
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, state->stream);
}

static void
release (StrategyRun *run, const UnitSlot *slot)
{
  ToyState *state = run->state;
  gboolean  here = slot->unit == 1;

  if (here && has_fault (run, TOY_LEAK))
    return;
  if (here && has_fault (run, TOY_FREE_AFTER_NOTHING))
    schedule_free_after (run->b, state->gathered,
                         (guint32) run->section << SCHEDULE_EVENT_BITS | 999);
  else
    schedule_free (run->b, state->gathered);
  if (here && has_fault (run, TOY_DOUBLE_FREE))
    schedule_free (run->b, state->gathered);
  if (here && (has_fault (run, TOY_USE_AFTER_FREE) || has_fault (run, TOY_OLD_BUFFER)))
    {
      schedule_move (run->b, state->stream, PLACE_HBM, PLACE_PINNED, 64, "fault");
      schedule_uses (run->b, has_fault (run, TOY_OLD_BUFFER) ? state->first : state->gathered,
                     SCHEDULE_WHOLE, ACCESS_READ);
    }
}

/* Backward, the gradient goes first. */
static void
toy_use_end (StrategyRun *run, const UnitSlot *slot)
{
  if (slot->use != USE_BACKWARD)
    release (run, slot);
  else if (slot->plan->own_elements == 0)
    schedule_free (run->b, ((ToyState *) run->state)->gathered);
}

static void
toy_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  ToyState *state = run->state;

  schedule_wait_stream (run->b, state->stream, SCHEDULE_COMPUTE);
  schedule_reduce_scatter (run->b, state->stream, state->comm,
                           payload_of_bytes (2 * slot->plan->own_elements), "reduce");
  strategy_uses (run, slot->unit, UNIT_GRADIENT, ACCESS_READ);
  strategy_uses (run, slot->unit, UNIT_REDUCED, ACCESS_WRITE);
  schedule_free (run->b, state->gathered);
}

static void
toy_update (StrategyRun *run)
{
  ToyState  *state = run->state;
  KernelDesc kernel = kernel_desc_stream (KERNEL_OPTIMIZER, "sgd", DTYPE_FP32, 1000, 500, 1);

  if (has_fault (run, TOY_TAIL_DIFFERS) && run->role == 0)
    schedule_all_gather (run->b, state->stream, state->comm, payload_of_bytes (16), "tail");
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, state->stream);
  schedule_kernel (run->b, SCHEDULE_COMPUTE, &kernel);
  schedule_uses (run->b, state->reduced, SCHEDULE_WHOLE, ACCESS_READ);
  schedule_uses_kept (run->b, PLACE_HBM, POOL_PARAMETER, ACCESS_READ_WRITE);
}

#define TOY_HOOKS                                                                           \
  .state_size = sizeof (ToyState), .init = toy_init, .step_begin = toy_step_begin,          \
  .use_begin = toy_use_begin, .use_end = toy_use_end, .gradient_ready = toy_gradient_ready, \
  .step_end = toy_update

const Strategy toy_layer = {
  .api = STRATEGY_API_VERSION,
  .name = "toy-layer",
  .options_size = sizeof (ToyOptions),
  .role = toy_role,
  .hooks = { .granularity = UNIT_LAYER, TOY_HOOKS },
};

const Strategy toy_module = {
  .api = STRATEGY_API_VERSION,
  .name = "toy-module",
  .options_size = sizeof (ToyOptions),
  .hooks = { .granularity = UNIT_MODULE, TOY_HOOKS },
};

/* ---- outer ----------------------------------------------------------------------------------- */

static guint
outer_period (const PlanInput *in, gconstpointer opt)
{
  (void) in;
  return (guint) ((const ToyOuterOptions *) opt)->period;
}

static void
outer_narrow (const PlanInput *in, gconstpointer opt, PlanInput *inner)
{
  (void) opt;
  inner->mesh.n_ranks = in->mesh.n_ranks / 2;
}

static void
outer_round_end (StrategyRun *run)
{
  guint            half = run->in->mesh.n_ranks / 2;
  g_autofree char *name = g_strdup_printf ("halves of %u", 2 * half);
  CommRef          comm = schedule_comm (run->b, name, (MeshGroup){ .size = 2, .stride = half });

  schedule_all_reduce (run->b, SCHEDULE_COMPUTE, comm, payload_of_bytes (1000), "average");
}

const Strategy toy_outer = {
  .api = STRATEGY_API_VERSION,
  .name = "toy-outer",
  .options_size = sizeof (ToyOuterOptions),
  .hooks = { .round_end = outer_round_end },
  .period = outer_period,
  .narrow = outer_narrow,
  .outer = TRUE,
};

static void
extending_init (StrategyRun *run)
{
  schedule_alloc (run->b, PLACE_HBM, POOL_OPTIMIZER, 1 << 20, "outer state");
}

static void
extending_use_begin (StrategyRun *run, const UnitSlot *slot)
{
  if (slot->use == USE_FORWARD)
    schedule_host_hooks (run->b, 7);
}

static void
extending_step_end (StrategyRun *run)
{
  schedule_move (run->b, SCHEDULE_COMPUTE, PLACE_HBM, PLACE_PINNED, 10, "outer copy");
}

const Strategy toy_extending = {
  .api = STRATEGY_API_VERSION,
  .name = "toy-extending",
  .options_size = sizeof (ToyOuterOptions),
  .hooks = { .init = extending_init,
             .use_begin = extending_use_begin,
             .step_end = extending_step_end },
  .period = outer_period,
  .outer = TRUE,
};

Schedule *
toy_build (const Workload *workload, guint n_ranks, const StrategyChoice *choice)
{
  PlanInput in = { .workload = workload,
                   .mesh = {
                       .n_ranks = n_ranks, .ranks_per_node = MIN (n_ranks, 2), .world = n_ranks } };

  g_autoptr (DiagList) diags = diag_list_new ();
  Schedule            *schedule = schedule_build (&in, choice, diags);

  ck_assert_ptr_nonnull (schedule);
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  return schedule;
}

ScheduleBuilder *
toy_builder (const Workload *workload, guint n_roles, guint32 *roles, guint n_ranks)
{
  g_autoptr (GArray) units = plan_units (workload, UNIT_LAYER);

  return schedule_builder_new ((ScheduleShape){ .workload = workload,
                                                .units = plan_unit_names (units),
                                                .n_roles = n_roles,
                                                .n_stages = 1,
                                                .role_of_rank = roles,
                                                .n_ranks = n_ranks,
                                                .steps_per_period = 1 });
}
