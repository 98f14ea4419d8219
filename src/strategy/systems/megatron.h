/* Megatron-FSDP's options, and the policy that they make. */
#pragma once

#include "strategy/compression/compression.h"
#include "strategy/runtime/megatron/issue-megatron.h"

typedef enum
{
  SHARD_NOTHING,
  SHARD_OPTIM,
  SHARD_GRADS,
  SHARD_PARAMS,
} ShardingStrategy;

typedef struct
{
  gint               sharding, outer; /* ShardingStrategy */
  char              *shard;
  gint               format; /* of shard_format_in_place */
  gboolean           own_gathering_group, reduce_in_fp32;
  MegatronIssue      issue;
  CompressionOptions compression;
} MegatronOptions;

void megatron_policy (const PlanInput *in, gconstpointer opt, Policy *policy);
