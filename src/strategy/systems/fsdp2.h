/* What fully_shard's strategies share: options, and the policy that they make of them. */
#pragma once

#include "strategy/compression/compression.h"
#include "strategy/policy/shard-policy.h"
#include "strategy/runtime/fsdp2/issue-fsdp2.h"
#include "strategy/shards/format.h"

typedef enum
{
  RESHARD_AUTO, /* unless there are pipeline stages */
  RESHARD_ALWAYS,
  RESHARD_NEVER,
  RESHARD_TO, /* RESHARD_TO + K: to groups of K ranks */
} Fsdp2Reshard;

extern const char *const fsdp2_reshard_choices[];

#define FSDP2_MOST_MODULES 1000

typedef struct
{
  char              *shard;
  gint               format;                /* of shard_format_all */
  gint               reshard_after_forward; /* Fsdp2Reshard [+ K] */
  Fsdp2Issue         issue;
  gboolean           cpu_offload, pin_memory;
  gboolean           requires_gradient_sync, requires_all_reduce;
  CompressionOptions compression;
} Fsdp2Options;

/* The option table, with the defaults of `shard` and `shard_format`. */
#define FSDP2_OPTIONS(shard_, format_)                                                             \
  {                                                                                                \
    .key = "shard",                                                                                \
    .type = OPTION_STRING,                                                                         \
    .offset = G_STRUCT_OFFSET (Fsdp2Options, shard),                                               \
    .fallback = shard_,                                                                            \
    .help = "ranks that share one copy of the parameters: all, node, or a number; the rest are "   \
            "replicas",                                                                            \
    .source = "torch.distributed.fsdp.fully_shard, mesh",                                          \
  },                                                                                               \
      {                                                                                            \
        .key = "reshard_after_forward",                                                            \
        .type = OPTION_ENUM,                                                                       \
        .choices = fsdp2_reshard_choices,                                                          \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, reshard_after_forward),                           \
        .fallback = "auto",                                                                        \
        .help = "free a unit's gathered parameters after its forward (false: SHARD_GRAD_OP; a "    \
                "number: keep 1/K, shared by K ranks); auto: unless there are pipeline stages",    \
        .source = "torch.distributed.fsdp.fully_shard; torchtitan, fsdp_reshard_after_forward",    \
      },                                                                                           \
      {                                                                                            \
        .key = "backward_prefetch",                                                                \
        .type = OPTION_BOOL,                                                                       \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, issue.backward_prefetch),                         \
        .fallback = "true",                                                                        \
        .help = "gather the unit before during a unit's backward",                                 \
        .source = "torch.distributed.fsdp.fully_shard, implicit prefetching",                      \
      },                                                                                           \
      {                                                                                            \
        .key = "modules_to_forward_prefetch",                                                      \
        .type = OPTION_INT,                                                                        \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, issue.forward_modules),                           \
        .fallback = "0",                                                                           \
        .max = FSDP2_MOST_MODULES,                                                                 \
        .help = "units that each one gathers ahead in forward; 0: none before its own turn",       \
        .source = "FSDPModule.set_modules_to_forward_prefetch",                                    \
      },                                                                                           \
      {                                                                                            \
        .key = "modules_to_backward_prefetch",                                                     \
        .type = OPTION_INT,                                                                        \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, issue.backward_modules),                          \
        .fallback = "0",                                                                           \
        .max = FSDP2_MOST_MODULES,                                                                 \
        .help = "the same in backward; 0: as backward_prefetch says",                              \
        .source = "FSDPModule.set_modules_to_backward_prefetch",                                   \
      },                                                                                           \
      {                                                                                            \
        .key = "reshard_root",                                                                     \
        .type = OPTION_BOOL,                                                                       \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, issue.reshard_root),                              \
        .fallback = "false",                                                                       \
        .help = "free the last unit's parameters after its forward as well (the root's are kept)", \
        .source = "torchtitan, fsdp_reshard_after_forward: always",                                \
      },                                                                                           \
      {                                                                                            \
        .key = "requires_gradient_sync",                                                           \
        .needs = "several micro-steps",                                                            \
        .type = OPTION_BOOL,                                                                       \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, requires_gradient_sync),                          \
        .fallback = "true",                                                                        \
        .help = "reduce gradients in each micro-step; false: in the last one, whole till then",    \
        .source = "FSDPModule.set_requires_gradient_sync",                                         \
      },                                                                                           \
      {                                                                                            \
        .key = "requires_all_reduce",                                                              \
        .needs = "replicas of the shard group, several micro-steps, requires_gradient_sync: true", \
        .type = OPTION_BOOL,                                                                       \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, requires_all_reduce),                             \
        .fallback = "true",                                                                        \
        .help = "replicas add up shards of gradients in each micro-step; false: in the last one",  \
        .source = "FSDPModule.set_requires_all_reduce",                                            \
      },                                                                                           \
      {                                                                                            \
        .key = "cpu_offload",                                                                      \
        .type = OPTION_BOOL,                                                                       \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, cpu_offload),                                     \
        .fallback = "false",                                                                       \
        .help = "shards, gradients and optimizer state in host memory; the optimizer runs there",  \
        .source = "torch.distributed.fsdp.CPUOffloadPolicy",                                       \
      },                                                                                           \
      {                                                                                            \
        .key = "pin_memory",                                                                       \
        .needs = "cpu_offload: true",                                                              \
        .type = OPTION_BOOL,                                                                       \
        .offset = G_STRUCT_OFFSET (Fsdp2Options, pin_memory),                                      \
        .fallback = "true",                                                                        \
        .help =                                                                                    \
            "of cpu_offload: the host's memory is pinned; false: pageable, copies block the host", \
        .source = "torch.distributed.fsdp.CPUOffloadPolicy, pin_memory",                           \
      },                                                                                           \
      SHARD_FORMAT_OPTION (Fsdp2Options, format, shard_format_all, format_),                       \
      COMPRESSION_OPTIONS (Fsdp2Options, compression)

gboolean fsdp2_check (const PlanInput *in, gconstpointer opt, DiagList *diags);
void     fsdp2_policy (const PlanInput *in, gconstpointer opt, Policy *policy);

#define FSDP2_STATES                                                                           \
  "parameters: fp32, each tensor cut on its first dimension over the shard group, in HBM\n"    \
  "gathered parameters: compute precision, one unit and its prefetch, in HBM\n"                \
  "gradients: sharded, fp32, from the first reduce-scatter to the end of the step, in HBM\n"   \
  "under a pipeline, or not synchronised: gradients whole until the last micro-step, in HBM\n" \
  "optimizer: sharded like the parameters, in HBM\n"                                           \
  "with cpu_offload: sharded parameters, gradients and optimizer state in host memory"
#define FSDP2_MISSING                                                 \
  "float8 all-gather, prefetch lists that differ from unit to unit\n" \
  "with cpu_offload: torch's own unfused Adam, which is slower"
