/*
 * The policy that FSDP's systems share: everything sharded over one group as the
 * optimizer has it (fp32), gathered in
 * compute precision, and reduced there each micro-step, then over the replicas of the group.
 */
#pragma once

#include "strategy/shards/format.h"
#include "strategy/shards/group.h"

/* SHARD: as check_unit_groups took it. */
void shard_policy (const PlanInput *in, const char *shard_option, const ShardFormat *format,
                   Policy *policy);
