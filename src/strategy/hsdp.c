/*
 * Hybrid sharding: parameters are sharded inside the node and replicated over nodes, so that all-gathers stay on the node's links and only
 * the all-reduce of gradient shards crosses the network. A row of the FSDP2 runtime with another default.
 */
#include "strategy/fsdp2.h"

static const OptionSpec hsdp_options[] = {
  { .key = "shard",
    .type = OPTION_STRING,
    .offset = G_STRUCT_OFFSET (Fsdp2Options, shard),
    .fallback = "node",
    .help = "ranks that share one copy of the parameters: node, or a number; the rest are replicas",
    .source = "Zhao et al., arXiv:2304.11277, 3.2.2" },
  { .key = "reshard_after_forward",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Fsdp2Options, reshard_after_forward),
    .fallback = "true",
    .help = "free a unit's gathered parameters after its forward",
    .source = "torch.distributed.fsdp.fully_shard" },
  { .key = "backward_prefetch",
    .type = OPTION_BOOL,
    .offset = G_STRUCT_OFFSET (Fsdp2Options, backward_prefetch),
    .fallback = "true",
    .help = "gather the unit before during a unit's backward",
    .source = "torch.distributed.fsdp.fully_shard, implicit prefetching" },
  { 0 },
};

const Strategy strategy_hsdp = {
  .api = STRATEGY_API_VERSION,
  .name = "hsdp",
  .title = "PyTorch hybrid sharding: sharded inside the node, replicated across nodes",
  .source = "Zhao et al., arXiv:2304.11277",
  .options_size = sizeof (Fsdp2Options),
  .options = hsdp_options,
  .check = fsdp2_check,
  .hooks = FSDP2_HOOKS,
  .expect = fsdp2_expect,
  .resident = fsdp2_resident,
  .states = FSDP2_STATES,
  .missing = FSDP2_MISSING,
};
