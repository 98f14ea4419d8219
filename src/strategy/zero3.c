/*
 * ZeRO stage 3 as DeepSpeed runs it: parameters, gradients and optimizer state sharded over all
 * ranks, in GPU memory or, with offload_optimizer and offload_param, in host memory or on drives.
 */
#include "strategy/deepspeed-offload.h"

static const OptionSpec zero3_options[] = { DEEPSPEED_OPTIONS,
                                            OFFLOAD_OPTIONS ("none", "none"),
                                            { 0 } };

static gboolean
zero3_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  return offloaded_check (in, opt, "zero3", diags);
}

const Strategy strategy_zero3 = {
  .api = STRATEGY_API_VERSION,
  .name = "zero3",
  .title =
      "DeepSpeed ZeRO-3: everything sharded over all ranks, module by module, with a prefetcher",
  .source = "Rajbhandari et al., arXiv:1910.02054; deepspeed/runtime/zero",
  .options_size = sizeof (OffloadedOptions),
  .options = zero3_options,
  .check = zero3_check,
  .policy = offloaded_policy,
  .issue = &issue_deepspeed,
  .states =
      "parameters: compute precision, each tensor cut over all ranks, HBM; small ones whole on "
      "every rank\n"
      "gathered parameters: the current modules, the prefetch window and the reuse window, HBM\n"
      "gradients: compute precision, a bucket and the own shard, HBM\n"
      "optimizer: fp32 master and both moments, sharded, HBM\n"
      "with offload_optimizer: gradients (fp32) and optimizer in pinned host memory or on drives\n"
      "with offload_param: the shards of parameters in pinned host memory or on drives",
  .missing = OFFLOADED_MISSING,
};
