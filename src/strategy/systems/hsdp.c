/*
 * Hybrid sharding: parameters are sharded inside the node and replicated over nodes, so that
 * all-gathers stay on the node's links and only the all-reduce of gradient shards crosses the
 * network. A row of the FSDP2 runtime with another default.
 */
#include "strategy/systems/fsdp2.h"

static const OptionSpec hsdp_options[] = { FSDP2_OPTIONS ("node", "rows-inside"), { 0 } };

const Strategy strategy_hsdp = {
  .api = STRATEGY_API_VERSION,
  .name = "hsdp",
  .title = "PyTorch hybrid sharding: sharded inside the node, replicated across nodes",
  .source = "Zhao et al., arXiv:2304.11277",
  .options_size = sizeof (Fsdp2Options),
  .options = hsdp_options,
  .check = fsdp2_check,
  .policy = fsdp2_policy,
  .issue = &issue_fsdp2,
  .states = FSDP2_STATES,
  .missing = FSDP2_MISSING,
};
