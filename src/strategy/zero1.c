/*
 * ZeRO stage 1: replicated parameters and gradients, sharded optimizer. At the accumulation
 * boundary gradients are reduced in buckets (DeepSpeed's default all-reduces them; the paper
 * reduce-scatters), each rank updates its part, and an all-gather brings the updated parameters to
 * everyone. Sources: Rajbhandari et al., arXiv:1910.02054; deepspeed/runtime/zero/stage_1_and_2.py.
 */
#include "strategy/replicated.h"

static const char *const reduce_choices[] = { "all_reduce", "reduce_scatter", NULL };

typedef struct
{
  ReplicatedOptions common; /* first: the shared runtime reads it */
  gint              reduce;
} Zero1Options;

static const OptionSpec zero1_options[] = {
  { .key = "bucket_bytes",
    .type = OPTION_QUANTITY,
    .kind = QUANTITY_BYTES,
    .offset = G_STRUCT_OFFSET (Zero1Options, common.bucket_bytes),
    .fallback = "1 GB",
    .min = 1,
    .max = 1e15,
    .help = "size at which a gradient bucket is reduced (5e8 elements of 2 bytes)",
    .source = "deepspeed/runtime/zero/config.py, reduce_bucket_size" },
  { .key = "overlap_comm",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Zero1Options, common.overlap_comm),
    .fallback = "false",
    .help =
        "reduce on a stream of its own; false: in line, under a pipeline after the whole backward "
        "pass",
    .source = "deepspeed/runtime/zero/config.py" },
  REPLICATED_GRADIENT_DTYPE (Zero1Options, common.gradient_dtype),
  { .key = "reduce",
    .type = OPTION_ENUM,
    .choices = reduce_choices,
    .offset = G_STRUCT_OFFSET (Zero1Options, reduce),
    .fallback = "all_reduce",
    .help =
        "how gradient buckets are reduced: DeepSpeed's all-reduce or the paper's reduce-scatter",
    .source =
        "deepspeed/runtime/zero/stage_1_and_2.py; Rajbhandari et al., arXiv:1910.02054, 7.2.1" },
  { 0 },
};

static ReplicatedReduce
reduce_of (gconstpointer opt)
{
  return ((const Zero1Options *) opt)->reduce == 0 ? REDUCE_ALL : REDUCE_SCATTERED;
}

static void
zero1_init (StrategyRun *run)
{
  ReplicatedState *s = run->state;

  s->reduce = reduce_of (run->options);
  s->sharded_optimizer = TRUE;
  replicated_init (run);
}

static gboolean
zero1_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  return replicated_expect (in, opt, reduce_of (opt), TRUE, totals);
}

const Strategy strategy_zero1 = {
  .api = STRATEGY_API_VERSION,
  .name = "zero1",
  .title = "ZeRO-1: optimizer state sharded over all ranks",
  .source = "Rajbhandari et al., arXiv:1910.02054; deepspeed/runtime/zero/stage_1_and_2.py",
  .options_size = sizeof (Zero1Options),
  .options = zero1_options,
  .hooks = REPLICATED_HOOKS (zero1_init, replicated_step_end),
  .expect = zero1_expect,
  .resident = replicated_resident,
  .gradient = replicated_gradient,
  .states = "parameters: whole, compute precision, HBM\n"
            "gradients: whole, compute precision or fp32, HBM\n"
            "optimizer: fp32 master and both moments, sharded over all ranks, HBM",
  .missing =
      "bucketed all-gather of the updated parameters (one collective here), the fp16 overflow "
      "check",
};
