/*
 * Megatron-FSDP (Megatron-Core's custom FSDP): flat buckets that cut no row, a transformer layer
 * each, with weights in compute precision beside the optimizer's fp32. What is sharded is said as
 * in ZeRO: nothing, the optimizer, gradients too, parameters too. Source: NVIDIA/Megatron-LM,
 * megatron/core/distributed/fsdp.
 */
#include "strategy/shards/format.h"
#include "strategy/shards/group.h"
#include "strategy/systems/megatron.h"

static const char *const sharding_choices[] = { "no_shard", "optim", "optim_grads",
                                                "optim_grads_params", NULL };
static const char *const outer_choices[] = { "no_shard", "optim", NULL };

#define MEGATRON_SOURCE "megatron/core/distributed/distributed_data_parallel_config.py"
#define MEGATRON_BOOL(key_, needs_, field_, default_, help_)                                  \
  {                                                                                           \
    .key = key_, .needs = needs_, .type = OPTION_BOOL,                                        \
    .offset = G_STRUCT_OFFSET (MegatronOptions, field_), .fallback = default_, .help = help_, \
    .source = MEGATRON_SOURCE                                                                 \
  }

static const OptionSpec megatron_options[] = {
  { .key = "data_parallel_sharding_strategy",
    .type = OPTION_ENUM,
    .choices = sharding_choices,
    .offset = G_STRUCT_OFFSET (MegatronOptions, sharding),
    .fallback = "optim_grads_params",
    .help = "what is sharded: nothing, the optimizer, gradients too (ZeRO-2), parameters too "
            "(ZeRO-3)",
    .source = MEGATRON_SOURCE },
  MEGATRON_BOOL ("fsdp_double_buffer", "data_parallel_sharding_strategy: optim_grads_params",
                 issue.double_buffer, "false",
                 "two buffers for parameters and two for gradients live for ever; one unit is "
                 "gathered ahead"),
  MEGATRON_BOOL ("grad_reduce_in_fp32", NULL, reduce_in_fp32, "true",
                 "keep gradients in fp32 and, unless reduce_dtype says otherwise, reduce them so"),
  MEGATRON_BOOL ("overlap_param_gather",
                 "data_parallel_sharding_strategy: no_shard|optim|optim_grads",
                 issue.overlap_param_gather, "true",
                 "gather updated whole parameters as the next step needs them (sharded ones "
                 "always); false: behind the optimizer"),
  MEGATRON_BOOL ("overlap_grad_reduce",
                 "data_parallel_sharding_strategy: no_shard|optim|optim_grads",
                 issue.overlap_grad_reduce, "true",
                 "reduce whole gradients as they are complete (sharded ones always); false: behind "
                 "the backward pass"),
  MEGATRON_BOOL ("gradient_accumulation_fusion", NULL, issue.fused_gradients, "false",
                 "kernels write gradients where they are kept or reduced; false: a copy does"),
  MEGATRON_BOOL ("create_all_gather_group",
                 "data_parallel_sharding_strategy: optim|optim_grads|optim_grads_params",
                 own_gathering_group, "false",
                 "all-gathers have a communicator of their own, so that reductions do not hold "
                 "them up"),
  { .key = "shard",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (MegatronOptions, shard),
    .fallback = "all",
    .help = "ranks that share one copy (dp_shard): all, node, or a number; the others are outer "
            "data parallelism",
    .source = "megatron_fsdp/fully_shard.py, dp_shard_dim; num_distributed_optimizer_instances" },
  { .key = "outer_dp_sharding_strategy",
    .type = OPTION_ENUM,
    .choices = outer_choices,
    .offset = G_STRUCT_OFFSET (MegatronOptions, outer),
    .fallback = "no_shard",
    .needs = "replicas of the shard group",
    .help =
        "what outer data parallelism shards of optim_grads_params: nothing (HSDP) or the optimizer "
        "(HFSDP)",
    .source = MEGATRON_SOURCE },
  { .key = "suggested_communication_unit_size",
    .type = OPTION_INT,
    .offset = G_STRUCT_OFFSET (MegatronOptions, issue.communication_unit),
    .fallback = "0",
    .max = 1e15,
    .help = "elements in reductions under way, and twice those gathered ahead; 0: two blocks, a "
            "billion at least",
    .source = MEGATRON_SOURCE },
  MEGATRON_BOOL ("nccl_ub", NULL, issue.registered, "false",
                 "registered buffers: implies fsdp_double_buffer"),
  SHARD_FORMAT_OPTION (MegatronOptions, format, shard_format_in_place, "lcm-rows"),
  COMPRESSION_OPTIONS (MegatronOptions, compression),
  { 0 },
};

static gboolean
megatron_check (const PlanInput *in, gconstpointer opt, DiagList *diags)
{
  const MegatronOptions *o = opt;
  ShardGroups            groups[2];

  if (!check_unit_groups (&in->mesh, o->shard, diags))
    return FALSE;
  unit_groups (&in->mesh, o->shard, groups, NULL);
  if (o->outer != SHARD_NOTHING && o->sharding != SHARD_PARAMS)
    return diag_option_error (
        diags, "outer_dp_sharding_strategy", "take optim_grads_params",
        "outer data parallelism shards the optimizer of sharded parameters only");
  if (o->outer != SHARD_NOTHING && in->mesh.stages > 1)
    return diag_option_error (
        diags, "outer_dp_sharding_strategy", "take no_shard",
        "an optimizer that outer ranks share is not modelled on pipeline stages");
  if (o->sharding == SHARD_NOTHING && groups[0].replica.size > 1)
    return diag_option_error (
        diags, "shard", "take 'all', or shard the optimizer at least",
        "no_shard has no outer data parallelism: nothing is shared inside a group");
  return compression_check (in, &o->compression, diags);
}

const Strategy strategy_megatron_fsdp = {
  .api = STRATEGY_API_VERSION,
  .name = "megatron-fsdp",
  .title = "Megatron-FSDP: flat buckets of layers, gathered by size, double buffers",
  .source = "NVIDIA/Megatron-LM, megatron/core/distributed/fsdp",
  .options_size = sizeof (MegatronOptions),
  .options = megatron_options,
  .check = megatron_check,
  .policy = megatron_policy,
  .issue = &issue_megatron,
  .states =
      "parameters: compute precision, a flat bucket a layer, sharded or whole, HBM\n"
      "gathered parameters: the current layer and those ahead; embedding and head for a "
      "step; HBM\n"
      "gradients: fp32 or as computed, sharded or whole, for ever; buckets on their way, HBM\n"
      "optimizer: fp32 main weights and both moments, sharded or whole, HBM",
  .missing =
      "SMs and time that registered buffers (nccl_ub) and SHARP save\n"
      "outer ranks that share the optimizer (HFSDP) on pipeline stages; fp8 weights, offload\n"
      "buckets of bucket_size elements where parameters are whole (a layer each here)\n"
      "frozen and trained tensors of a layer are one bucket; whole buffers are not padded",
};
