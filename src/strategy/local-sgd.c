/*
 * Local SGD (periodic parameter averaging): groups of ranks, the workers, train on their own for H
 * steps under any inner strategy, then average their parameters over the workers. Every rank
 * averages what it holds: its shard, or everything.
 *
 * Bytes of a period: the inner strategy's of H steps inside each worker, and one all-reduce of 4
 * bytes an element held across workers. Source: Stich, "Local SGD Converges Fast and Communicates
 * Little", arXiv:1805.09767; Lin et al., arXiv:1808.07217.
 */
#include "strategy/common.h"

typedef struct
{
  gint64 local_steps;
  char  *worker;
} LocalSgdOptions;

static const OptionSpec local_sgd_options[] = {
  { .key = "local_steps",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (LocalSgdOptions, local_steps),
    .fallback = "8",
    .min = 1,
    .max = 1024,
    .help = "steps between two averages (H)",
    .source = "Stich, arXiv:1805.09767" },
  { .key = "worker",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (LocalSgdOptions, worker),
    .fallback = "node",
    .help = "ranks that train together: node, all, or a number",
    .source = "Lin et al., arXiv:1808.07217 (hierarchical local SGD)" },
  { 0 },
};

typedef struct
{
  StreamRef stream;
  CommRef   comm;
} LocalSgdState;

static ShardGroups
groups_of (const PlanInput *in, const LocalSgdOptions *o)
{
  ShardGroups groups = { { 1, 1 }, { 1, 1 } };

  shard_groups (&in->mesh, o->worker, &groups, NULL);
  return groups;
}

static gboolean
local_sgd_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  ShardGroups groups;
  gboolean    good;

  diag_list_set_key (diags, "worker");
  good = shard_groups (&in->mesh, ((const LocalSgdOptions *) opt)->worker, &groups, diags);
  diag_list_set_key (diags, NULL);
  if (!good)
    return FALSE;
  if (groups.shard.size % MAX (in->mesh.experts, 1) == 0)
    return TRUE;
  diag_error (diags, NULL, NULL, "workers of %u ranks do not hold whole expert groups of %u",
              groups.shard.size, in->mesh.experts);
  return FALSE;
}

static void
local_sgd_narrow (const PlanInput *in, gconstpointer opt, PlanInput *inner)
{
  *inner = *in;
  inner->mesh.n_ranks = groups_of (in, opt).shard.size;
}

static guint
local_sgd_period (const PlanInput *in, gconstpointer opt)
{
  (void) in;
  return (guint) ((const LocalSgdOptions *) opt)->local_steps;
}

static guint64
elements_held (const StrategyRun *run)
{
  const StrategyRun *inner = run->inner;

  return inner->strategy->resident != NULL ? inner->strategy->resident (inner->in, inner->options)
                                           : workload_n_parameters (run->in->workload);
}

static void
local_sgd_init (StrategyRun *run)
{
  LocalSgdState *s = run->state;

  strategy_inner_init (run);
  s->stream = schedule_stream (run->b, "average", 0);
  s->comm = schedule_comm (run->b, "workers", groups_of (run->in, run->options).replica);
}

/* Parameters, and the fp32 copy of them that is the optimizer's. */
static void
use_held (StrategyRun *run)
{
  schedule_uses_kept (run->b, POOL_PARAMETER, ACCESS_READ_WRITE);
  schedule_uses_kept (run->b, POOL_OPTIMIZER, ACCESS_READ_WRITE);
}

static void
local_sgd_round_end (StrategyRun *run)
{
  LocalSgdState *s = run->state;
  guint64        elements = elements_held (run);

  schedule_wait_stream (run->b, s->stream, SCHEDULE_COMPUTE);
  schedule_all_reduce (run->b, s->stream, s->comm, 4 * elements, "average");
  use_held (run);
  emit_stream_kernel (run->b, s->stream, KERNEL_ELEMENTWISE, "scale", DTYPE_FP32,
                      4.0 * (double) elements, 4.0 * (double) elements);
  use_held (run);
  schedule_wait_stream (run->b, SCHEDULE_COMPUTE, s->stream);
}

static gboolean
local_sgd_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  /*
   * The inner strategy's totals of the period, and what it holds, are already in TOTALS: see
   * strategy_expect.
   */
  plan_totals_add (totals, COLLECTIVE_ALL_REDUCE, groups_of (in, opt).replica,
                   4 * totals->resident);
  return TRUE;
}

const Strategy strategy_local_sgd = {
  .api = STRATEGY_API_VERSION,
  .name = "local-sgd",
  .title = "local SGD: H steps of an inner strategy in each worker, then a parameter average",
  .source = "Stich, arXiv:1805.09767",
  .options_size = sizeof (LocalSgdOptions),
  .options = local_sgd_options,
  .check = local_sgd_check,
  .hooks = { .state_size = sizeof (LocalSgdState),
             .init = local_sgd_init,
             .round_end = local_sgd_round_end },
  .expect = local_sgd_expect,
  .period = local_sgd_period,
  .narrow = local_sgd_narrow,
  .outer = TRUE,
  .states = "as the inner strategy, on every worker\n"
            "the average is taken in place on what each rank holds, in fp32",
  .missing =
      "outer momentum (DiLoCo), overlap of the average with the next steps, compression\n"
      "over ddp and zero1: the kernel that refreshes the low-precision copy after the average",
};
