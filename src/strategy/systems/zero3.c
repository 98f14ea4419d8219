/*
 * ZeRO stage 3 as DeepSpeed runs it: parameters, gradients and optimizer state sharded over all
 * ranks, in GPU memory or, with offload_optimizer and offload_param, in host memory or on drives.
 */
#include "strategy/policy/deepspeed-offload.h"

/* DeepspeedReuse */
static const char *const variants[] = { "runtime", "paper", NULL };

static const OptionSpec zero3_options[] = {
  { .key = "variant",
    .type = OPTION_ENUM,
    .choices = variants,
    .offset = G_STRUCT_OFFSET (OffloadedOptions, deepspeed.issue.reuse),
    .fallback = "runtime",
    .help = "the runtime (DeepSpeed), or the paper: all tensors are cut, each gathered once for "
            "forward and once for backward",
    .source = "Rajbhandari et al., arXiv:1910.02054, 7.2.2" },
  DEEPSPEED_OPTIONS,
  OFFLOAD_OPTIONS ("none", "none"),
  COMPRESSION_OPTIONS (OffloadedOptions, compression),
  { 0 },
};

#define DEFAULT_REUSE_DISTANCE 1000000000
#define DEFAULT_PERSISTENCE    100000

static gboolean
fails (DiagList *diags, const char *key, const char *what)
{
  return diag_option_error (diags, key, "leave it out, or take 'variant: runtime'",
                            "the paper's ZeRO-3 has no %s", what);
}

/* What a scenario says of DeepSpeed's own rules does not go with the paper's. */
static gboolean
paper_check (const OffloadedOptions *o, DiagList *diags)
{
  const DeepspeedOptions *deepspeed = &o->deepspeed;

  if (deepspeed->issue.reuse != REUSE_PAPER)
    return TRUE;
  if (deepspeed->issue.max_reuse_distance != 0
      && deepspeed->issue.max_reuse_distance != DEFAULT_REUSE_DISTANCE)
    return fails (diags, "max_reuse_distance", "distance within which parameters stay");
  if (deepspeed->param_persistence_threshold != 0
      && deepspeed->param_persistence_threshold != DEFAULT_PERSISTENCE)
    return fails (diags, "param_persistence_threshold", "tensors that are never partitioned");
  if (o->offload.optimizer != OFFLOAD_NONE || o->offload.param != OFFLOAD_NONE)
    return fails (diags, o->offload.param != OFFLOAD_NONE ? "offload_param" : "offload_optimizer",
                  "states off the GPU");
  return TRUE;
}

static gboolean
zero3_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  gboolean good = offloaded_check (in, opt, "zero3", diags);

  return paper_check (opt, diags) && good
         && compression_check (in, &((const OffloadedOptions *) opt)->compression, diags);
}

static void
zero3_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const OffloadedOptions *o = opt;

  offloaded_policy (in, opt, policy);
  if (o->deepspeed.issue.reuse == REUSE_PAPER)
    policy->whole_below = 0;
  compression_apply (in, &o->compression, policy);
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
  .policy = zero3_policy,
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
