/*
 * ZeRO stage 2: gradients and optimizer sharded (Rajbhandari et al., arXiv:1910.02054, 5.2 and
 * 7.2.1).
 */
#include <math.h>

#include "strategy/common.h"

typedef struct
{
  StreamRef reduce; /* gradients are reduced beside the backward pass */
  CommRef   data;   /* all ranks */
  BufferRef parameters, shards, gradients;
} Zero2State;

static guint64
shard_of (const PlanInput *in)
{
  return padded_flat (workload_n_parameters (in->workload), in->mesh.n_ranks) / in->mesh.n_ranks;
}

static void
zero2_init (StrategyRun *run)
{
  Zero2State *s = run->state;

  s->reduce = schedule_stream (run->b, "reduce", 0);
  s->data = schedule_comm (run->b, "data", mesh_all (&run->in->mesh));
  s->parameters = schedule_alloc (run->b, TIER_HBM, POOL_PARAMETER,
                                  2 * workload_n_parameters (run->in->workload), "parameters");
  s->shards = schedule_alloc (run->b, TIER_HBM, POOL_OPTIMIZER, 14 * shard_of (run->in),
                              "gradient and optimizer shards");
  /* whole gradients have no memory in this example */
  s->gradients = schedule_data (run->b, "gradients");

  /* Where the driver finds the data of a unit: its part of what holds those of all. */
  strategy_data (run, SCHEDULE_NONE, UNIT_PARAMETERS, SCHEDULE_NONE, s->parameters);
  strategy_data (run, SCHEDULE_NONE, UNIT_GRADIENT, SCHEDULE_NONE, s->gradients);
  strategy_data (run, SCHEDULE_NONE, UNIT_REDUCED, SCHEDULE_NONE, s->shards);
}

static void
zero2_backward_end (StrategyRun *run, const UnitSlot *slot)
{
  Zero2State *s = run->state;

  if (slot->plan->own_elements == 0) /* a tied head's second use of the table */
    return;
  schedule_wait_stream (run->b, s->reduce, SCHEDULE_COMPUTE);
  schedule_reduce_scatter (run->b, s->reduce, s->data, 2 * slot->plan->own_elements,
                           "reduce_scatter");
  strategy_uses (run, slot->unit, UNIT_GRADIENT, ACCESS_READ);
  strategy_uses (run, slot->unit, UNIT_REDUCED, ACCESS_READ_WRITE);
}

/* The gradients of the next micro-step overwrite those that are being reduced. */
static void
zero2_micro_step_end (StrategyRun *run)
{
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, ((Zero2State *) run->state)->reduce);
}

static void
zero2_step_end (StrategyRun *run)
{
  Zero2State *s = run->state;

  emit_optimizer (run, mesh_all (&run->in->mesh), shard_of (run->in), 2, 2);
  schedule_all_gather (run->b, SCHEDULE_COMPUTE, s->data,
                       2 * shard_of (run->in) * run->in->mesh.n_ranks, "all_gather");
  schedule_uses (run->b, s->parameters, SCHEDULE_WHOLE, ACCESS_READ_WRITE);
}

static gboolean
zero2_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  double           p = (double) workload_n_parameters (in->workload), r = in->mesh.n_ranks;
  double           shard = ceil (p / r);
  ActivationBounds activations = activation_bounds (in->workload);

  (void) opt;
  plan_totals_add (totals, COLLECTIVE_REDUCE_SCATTER, mesh_all (&in->mesh),
                   (double) workload_training (in->workload)->grad_accum * 2 * p);
  plan_totals_add (totals, COLLECTIVE_ALL_GATHER, mesh_all (&in->mesh), 2 * shard * r);
  expect_optimizer (in, mesh_all (&in->mesh), totals);
  totals->flops += expected_flops (in);
  totals->states += 2 * p + 14 * shard;
  totals->hbm_low += 2 * p + 14 * shard + activations.kept + activations.low;
  totals->hbm_high += 2 * p + 14 * shard + activations.kept + activations.high;
  return TRUE;
}

const Strategy shardsim_strategy = {
  .api = STRATEGY_API_VERSION,
  .name = "zero2",
  .title = "ZeRO-2: gradients and optimizer sharded over all ranks",
  .source = "Rajbhandari et al., arXiv:1910.02054",
  .hooks = { .state_size = sizeof (Zero2State),
             .granularity = UNIT_MODULE,
             .init = zero2_init,
             .unit_backward_end = zero2_backward_end,
             .micro_step_end = zero2_micro_step_end,
             .step_end = zero2_step_end },
  .expect = zero2_expect,
  .states = "parameters: whole, 2 bytes an element; gradients and optimizer: sharded over all "
            "ranks; all in HBM",
  .missing = "gradient buckets and the unsharded gradient of the module at hand; full-precision "
             "training",
};
