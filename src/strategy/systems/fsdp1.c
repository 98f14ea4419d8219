/*
 * PyTorch FullyShardedDataParallel (FSDP1): one flat parameter a unit, sharded in fp32, gathered in
 * compute precision. Source: Zhao et al., arXiv:2304.11277; torch/distributed/fsdp.
 */
#include "strategy/compression/compression.h"
#include "strategy/policy/shard-policy.h"
#include "strategy/runtime/fsdp1/issue-fsdp1.h"
#include "strategy/shards/format.h"

typedef struct
{
  char              *shard;
  gint               format; /* of shard_format_in_place */
  gboolean           reshard_after_forward;
  Fsdp1Issue         issue;
  CompressionOptions compression;
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
    .offset = G_STRUCT_OFFSET (Fsdp1Options, issue.backward_prefetch),
    .fallback = "pre",
    .help =
        "when the next unit is gathered in backward: before or after the gradient kernels, or not "
        "ahead",
    .source = "Zhao et al., arXiv:2304.11277, 3.3.2" },
  { .key = "forward_prefetch",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Fsdp1Options, issue.forward_prefetch),
    .fallback = "false",
    .help = "issue the next all-gather before a unit's forward kernels",
    .source = "Zhao et al., arXiv:2304.11277, 3.3.3" },
  { .key = "limit_all_gathers",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Fsdp1Options, issue.limit_all_gathers),
    .fallback = "true",
    .help = "rate limiter: at most two all-gathers whose memory is not free again",
    .source = "Zhao et al., arXiv:2304.11277, 3.4.2" },
  SHARD_FORMAT_OPTION (Fsdp1Options, format, shard_format_in_place, "flat"),
  COMPRESSION_OPTIONS (Fsdp1Options, compression),
  { 0 },
};

static gboolean
fsdp1_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const Fsdp1Options *o = opt;

  return check_unit_groups (&in->mesh, o->shard, diags)
         && compression_check (in, &o->compression, diags);
}

static void
fsdp1_policy (const PlanInput *in, gconstpointer opt, Policy *policy)
{
  const Fsdp1Options *o = opt;

  shard_policy (in, o->shard, shard_format_find (shard_format_in_place[o->format]), policy);
  policy->stays = !o->reshard_after_forward;
  policy->issue = &o->issue;
  compression_apply (in, &o->compression, policy);
}

const Strategy strategy_fsdp1 = {
  .api = STRATEGY_API_VERSION,
  .name = "fsdp1",
  .title = "PyTorch FullyShardedDataParallel: flat parameters, rate limiter, backward prefetch",
  .source = "Zhao et al., arXiv:2304.11277",
  .options_size = sizeof (Fsdp1Options),
  .options = fsdp1_options,
  .check = fsdp1_check,
  .policy = fsdp1_policy,
  .issue = &issue_fsdp1,
  .states = "parameters: fp32 flat shards, HBM\n"
            "gathered parameters: compute precision, one flat buffer a unit, HBM\n"
            "gradients: a flat unsharded buffer a unit, then fp32 shards until the end of the "
            "step, HBM\n"
            "optimizer: sharded like the parameters, HBM",
  .missing = "no_sync, CPU offload, the caching allocator's retries\n"
             "embedding and head are gathered as two units, where one root unit holds both",
};
