/*
 * ZeRO stage 2 by hand: a strategy with hooks of its own, where the built-in zero2 is a policy over
 * an issue. Gradients and optimizer are sharded (Rajbhandari et al., arXiv:1910.02054, 5.2 and
 * 7.2.1).
 */
#include "driver/oracle/expect.h"
#include "strategy/emit/common.h"
#include "strategy/shards/format.h"
#include "model/optimizer/optimizer.h"

/* 2 bytes a parameter and a gradient; master copy and both moments of Adam in fp32. */
#define HALF  2
#define STATE (3 * 4)

typedef struct
{
  StreamRef reduce; /* gradients are reduced during the backward pass */
  BufferRef parameters, shards, gradients;
} ByHandState;

static gboolean
by_hand_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const TrainingOptions *training = workload_training (in->workload);

  (void) opt;
  if (training_compute_bytes (training) != HALF)
    diag_error (diags, NULL, "take 'precision: bf16-mixed'",
                "zero2-by-hand counts two bytes a parameter: it does not train in full precision");
  else if (optimizer_scope (training) != SCOPE_ELEMENT)
    diag_error (diags, NULL, "take 'optimizer: adamw'",
                "zero2-by-hand counts Adam's states, and nothing that '%s' sends",
                optimizer_name (training));
  else if (optimizer_is_paged (training))
    diag_error (diags, NULL, "leave 'optimizer_paged' off",
                "zero2-by-hand counts all states in GPU memory");
  else
    return TRUE;
  return FALSE;
}

/*
 * Who shares what, and over which groups it travels. Experts that are spread over ranks are the
 * same on fewer of them: a second kind of unit, with groups of its own.
 */
static void
by_hand_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const MeshGroup alone = { .size = 1, .stride = 1 };
  Mesh            meshes[2] = { in->mesh, mesh_of_experts (&in->mesh) };

  (void) opt;
  policy->n_kinds = mesh_parts_experts (&in->mesh) ? 2 : 1;
  policy->compute = training_compute_dtype (workload_training (in->workload));
  for (guint k = 0; k < policy->n_kinds; k++)
    {
      UnitPolicy *kind = &policy->kinds[k];
      MeshGroup   all = mesh_all (&meshes[k]);

      kind->format = &format_flat;
      kind->joined = TRUE;
      kind->states[STATE_PARAMETERS] = (PolicyState){ alone, policy->compute, 1, PLACE_HBM };
      kind->states[STATE_GRADIENTS] = (PolicyState){ all, policy->compute, 1, PLACE_HBM };
      kind->states[STATE_OPTIMIZER] = (PolicyState){ all, DTYPE_FP32, 3, PLACE_HBM };
      policy_add_collective (&kind->routes[ROUTE_REDUCE], COLLECTIVE_REDUCE_SCATTER, "data", all,
                             policy->compute, CADENCE_MICRO_STEP);
      policy_add_collective (&kind->routes[ROUTE_UPDATE], COLLECTIVE_ALL_GATHER, "data", all,
                             policy->compute, CADENCE_LAST);
    }
}

static void
by_hand_init (StrategyRun *run)
{
  ByHandState *s = run->state;

  s->reduce = schedule_stream (run->b, "reduce", 0);
  s->parameters = schedule_alloc (run->b, PLACE_HBM, POOL_PARAMETER,
                                  HALF * strategy_share (run, STATE_PARAMETERS), "parameters");
  s->shards = schedule_alloc (run->b, PLACE_HBM, POOL_OPTIMIZER,
                              (HALF + STATE) * strategy_share (run, STATE_OPTIMIZER),
                              "gradient and optimizer shards");
  /* whole gradients have no memory in this example */
  s->gradients = schedule_data (run->b, "gradients");

  /* Where the driver finds the data of a unit: its part of what holds those of all. */
  strategy_data (run, SCHEDULE_NONE, UNIT_PARAMETERS, SCHEDULE_NONE, s->parameters);
  strategy_data (run, SCHEDULE_NONE, UNIT_GRADIENT, SCHEDULE_NONE, s->gradients);
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->shards);
}

static void
by_hand_gradient_ready (StrategyRun *run, const UnitSlot *slot)
{
  ByHandState *s = run->state;

  schedule_wait_stream (run->b, s->reduce, SCHEDULE_COMPUTE);
  schedule_reduce_scatter (
      run->b, s->reduce, strategy_comm (run, slot->plan->expert, ROUTE_REDUCE, 0),
      payload_plain (slot->plan->trainable_elements, run->policy->compute), "reduce_scatter");
  strategy_uses (run, slot->unit, UNIT_GRADIENT, ACCESS_READ);
  strategy_uses (run, slot->unit, UNIT_REDUCED, ACCESS_READ_WRITE);
}

/* The gradients of the next micro-step overwrite those that are being reduced. */
static void
by_hand_micro_step_end (StrategyRun *run)
{
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, ((ByHandState *) run->state)->reduce);
}

/* The optimizer on the own shard, then an all-gather of the parameters. */
static void
by_hand_step_end (StrategyRun *run)
{
  emit_update (run, ((ByHandState *) run->state)->parameters);
}

/* The paper's numbers, by arithmetic on totals. */
static gboolean
by_hand_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  guint            n_layers = workload_n_layers (in->workload);
  ActivationBounds activations = activation_bounds (in);
  Mesh             meshes[2] = { in->mesh, mesh_of_experts (&in->mesh) };
  const UnitPolicy flat = { .format = &format_flat };
  double           states = 0;

  (void) opt;
  for (guint k = 0; k < (mesh_parts_experts (&in->mesh) ? 2 : 1); k++)
    {
      MeshGroup all = mesh_all (&meshes[k]);
      double    p = expect_padded (in, 0, n_layers, &format_flat, k, 1, NULL);
      double    g = expect_trainable_padded (in, &flat, k, 1); /* less what is frozen */
      double    shard = (g + all.size - 1) / all.size;         /* rounded down */

      shard = (double) (guint64) shard;
      plan_totals_add (totals, COLLECTIVE_REDUCE_SCATTER, all, expect_micro_steps (in) * HALF * g);
      plan_totals_add (totals, COLLECTIVE_ALL_GATHER, all, HALF * shard * all.size);
      states += HALF * p + (HALF + STATE) * shard;
    }
  expect_norm (in, mesh_all (&in->mesh), totals);
  totals->flops += expect_flops (in);
  totals->states += states;
  totals->low[PLACE_HBM] += states + activations.kept + activations.low;
  totals->high[PLACE_HBM] += states + activations.kept + activations.high;
  return TRUE;
}

const Strategy shardsim_strategy = {
  .api = STRATEGY_API_VERSION,
  .name = "zero2-by-hand",
  .title = "ZeRO-2 as an example of a strategy with hooks of its own",
  .source = "Rajbhandari et al., arXiv:1910.02054",
  .check = by_hand_check,
  .policy = by_hand_policy,
  .hooks = { .state_size = sizeof (ByHandState),
             .granularity = UNIT_MODULE,
             .init = by_hand_init,
             .gradient_ready = by_hand_gradient_ready,
             .micro_step_end = by_hand_micro_step_end,
             .step_end = by_hand_step_end },
  .expect = by_hand_expect,
  .states = "parameters: whole, 2 bytes an element; gradients and optimizer: sharded over all "
            "ranks; all in HBM",
  .missing = "gradient buckets and the unsharded gradient of the current module; full-precision "
             "training",
};
