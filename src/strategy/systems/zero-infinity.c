/*
 * ZeRO-Infinity: ZeRO-3 whose states are in host memory, as every node has some, or on drives. It
 * is zero3 under the name of its paper, with other defaults. Source: Rajbhandari et al.,
 * arXiv:2104.07857.
 */
#include "strategy/policy/deepspeed-offload.h"

static const OptionSpec zero_infinity_options[] = { DEEPSPEED_OPTIONS,
                                                    OFFLOAD_OPTIONS ("cpu", "cpu"),
                                                    COMPRESSION_OPTIONS (OffloadedOptions,
                                                                         compression),
                                                    { 0 } };

static gboolean
zero_infinity_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  return offloaded_check (in, opt, "zero-infinity", diags)
         && compression_check (in, &((const OffloadedOptions *) opt)->compression, diags);
}

static void
zero_infinity_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  offloaded_policy (in, opt, policy);
  compression_apply (in, &((const OffloadedOptions *) opt)->compression, policy);
}

const Strategy strategy_zero_infinity = {
  .api = STRATEGY_API_VERSION,
  .name = "zero-infinity",
  .title = "ZeRO-Infinity: ZeRO-3 with all states in host memory or on drives",
  .source = "Rajbhandari et al., arXiv:2104.07857; deepspeed/runtime/zero, runtime/swap_tensor",
  .options_size = sizeof (OffloadedOptions),
  .options = zero_infinity_options,
  .check = zero_infinity_check,
  .policy = zero_infinity_policy,
  .issue = &issue_deepspeed,
  .states =
      "parameters: compute precision, each tensor cut over all ranks, pinned, on drives or HBM as "
      "offload_param says; small ones whole on every rank, HBM\n"
      "gathered parameters: the current modules, the prefetch window and the reuse window, HBM\n"
      "gradients: a bucket, HBM; fp32 shards where the optimizer is\n"
      "optimizer: fp32 master and both moments, sharded, pinned, on drives or HBM as "
      "offload_optimizer says\n"
      "staging: pinned buffers of shards, and of a sub-group of the optimizer",
  .missing = OFFLOADED_MISSING,
};
