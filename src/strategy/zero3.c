/*
 * ZeRO stage 3 as DeepSpeed runs it: parameters, gradients and optimizer state sharded over all
 * ranks.
 */
#include "strategy/deepspeed.h"

static const OptionSpec zero3_options[] = { DEEPSPEED_OPTIONS, { 0 } };

static gboolean
zero3_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  (void) opt;
  return deepspeed_check (in, "zero3", diags);
}

static gboolean
zero3_expect (const PlanInput *in, gconstpointer opt, PlanTotals *totals)
{
  return deepspeed_expect (in, opt, RESIDENCY_NONE, totals);
}

const Strategy strategy_zero3 = {
  .api = STRATEGY_API_VERSION,
  .name = "zero3",
  .title =
      "DeepSpeed ZeRO-3: everything sharded over all ranks, module by module, with a prefetcher",
  .source = "Rajbhandari et al., arXiv:1910.02054; deepspeed/runtime/zero",
  .options_size = sizeof (DeepspeedOptions),
  .options = zero3_options,
  .check = zero3_check,
  .hooks = DEEPSPEED_HOOKS (deepspeed_init),
  .expect = zero3_expect,
  .resident = deepspeed_resident,
  .gradient = deepspeed_gradient,
  .states =
      "parameters: compute precision, each tensor cut over all ranks, HBM; small ones whole on "
      "every rank\n"
      "gathered parameters: the modules at hand, the prefetch window and the reuse window, HBM\n"
      "gradients: compute precision, a bucket and the own shard, HBM\n"
      "optimizer: fp32 master and both moments, sharded, HBM",
  .missing = "parameter and optimizer offload, leaf modules, changes of the module order, the fp16 "
             "overflow check's all-reduce",
};
