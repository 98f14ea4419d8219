/*
 * What DeepSpeed's ZeRO-3 keeps off the GPU, over any policy of its coordinator: options by its own
 * words, and the policy.
 */
#pragma once

#include "strategy/compression/compression.h"
#include "strategy/policy/deepspeed.h"
#include "strategy/runtime/buckets/host-slices.h"

typedef enum
{
  OFFLOAD_NONE,
  OFFLOAD_CPU,
  OFFLOAD_NVME,
} OffloadDevice;

typedef struct
{
  gint     optimizer, param; /* OffloadDevice */
  double   ratio;            /* of the optimizer's elements on the host */
  gboolean host_copies;
} DeepspeedOffload;

extern const char *const offload_devices[];

/* Of a system that is DeepSpeed's ZeRO-3 and nothing else. */
typedef struct
{
  DeepspeedOptions   deepspeed; /* first: its rows of the table count from here */
  DeepspeedOffload   offload;
  CompressionOptions compression; /* of gradients */
} OffloadedOptions;

/* The rows of its options behind DEEPSPEED_OPTIONS, with the defaults of two of them. */
#define OFFLOAD_OPTIONS(optimizer_default, param_default)                                          \
  { .key = "offload_optimizer",                                                                    \
    .type = OPTION_ENUM,                                                                           \
    .choices = offload_devices,                                                                    \
    .offset = G_STRUCT_OFFSET (OffloadedOptions, offload.optimizer),                               \
    .fallback = optimizer_default,                                                                 \
    .help = "where gradients and optimizer states live, and with cpu and nvme the host updates",   \
    .source = "deepspeed/runtime/zero/offload_config.py" },                                        \
      { .key = "offload_param",                                                                    \
        .type = OPTION_ENUM,                                                                       \
        .choices = offload_devices,                                                                \
        .offset = G_STRUCT_OFFSET (OffloadedOptions, offload.param),                               \
        .fallback = param_default,                                                                 \
        .help = "where the shards of parameters live: none is the GPU",                            \
        .source = "deepspeed/runtime/zero/offload_config.py" },                                    \
      { .key = "ratio",                                                                            \
        .type = OPTION_QUANTITY,                                                                   \
        .kind = QUANTITY_RATIO,                                                                    \
        .offset = G_STRUCT_OFFSET (OffloadedOptions, offload.ratio),                               \
        .fallback = "1",                                                                           \
        .min = 0,                                                                                  \
        .max = 1,                                                                                  \
        .help = "part of the optimizer's elements that offload_optimizer takes off the GPU "       \
                "(Twin-Flow)",                                                                     \
        .source = "deepspeed/runtime/zero/offload_config.py, ratio" },                             \
      HOST_COPIES (OffloadedOptions, offload.host_copies),                                         \
      { .key = "pipeline_read",                                                                    \
        .needs = "offload_optimizer: nvme",                                                        \
        .type = OPTION_BOOL,                                                                       \
        .offset = G_STRUCT_OFFSET (OffloadedOptions, deepspeed.issue.pipeline_read),               \
        .fallback = "false",                                                                       \
        .help = "offload_optimizer: nvme: the next sub-group is read while one is updated",        \
        .source = "deepspeed/runtime/swap_tensor/pipelined_optimizer_swapper.py" },                \
      { .key = "pipeline_write",                                                                   \
        .needs = "offload_optimizer: nvme",                                                        \
        .type = OPTION_BOOL,                                                                       \
        .offset = G_STRUCT_OFFSET (OffloadedOptions, deepspeed.issue.pipeline_write),              \
        .fallback = "false",                                                                       \
        .help = "offload_optimizer: nvme: a sub-group is written while the next one is updated",   \
        .source = "deepspeed/runtime/swap_tensor/pipelined_optimizer_swapper.py" },                \
      { .key = "optimizer_buffer_count",                                                           \
        .needs = "offload_optimizer: nvme",                                                        \
        .type = OPTION_INT,                                                                        \
        .offset = G_STRUCT_OFFSET (OffloadedOptions, deepspeed.issue.optimizer_buffer_count),      \
        .fallback = "4",                                                                           \
        .min = 4,                                                                                  \
        .max = 1024,                                                                               \
        .help = "offload_optimizer: nvme: pinned buffers of a sub-group in fp32; Adam needs four", \
        .source = "deepspeed/runtime/zero/offload_config.py, buffer_count" },                      \
      { .key = "params_buffer_count",                                                              \
        .needs = "offload_param: nvme",                                                            \
        .type = OPTION_INT,                                                                        \
        .offset = G_STRUCT_OFFSET (OffloadedOptions, deepspeed.issue.params_buffer_count),         \
        .fallback = "5",                                                                           \
        .min = 1,                                                                                  \
        .max = 1024,                                                                               \
        .help = "offload_param: nvme: pinned buffers through which shards come",                   \
        .source = "deepspeed/runtime/zero/offload_config.py, buffer_count" },                      \
  {                                                                                                \
    .key = "params_buffer_size", .needs = "offload_param: nvme", .type = OPTION_INT,               \
    .offset = G_STRUCT_OFFSET (OffloadedOptions, deepspeed.issue.params_buffer_size),              \
    .fallback = "1e8", .min = 1, .max = 1e15,                                                      \
    .help = "offload_param: nvme: elements that such a buffer holds",                              \
    .source = "deepspeed/runtime/zero/offload_config.py, buffer_size"                              \
  }

/* Takes states of POLICY, as deepspeed_policy has made it, to where OFFLOAD says. */
void offload_policy (const DeepspeedOffload *offload, Policy *policy);

/* Diagnoses what does not go together: axes of the mesh, types of states, the ratio. */
gboolean offloaded_check (const PlanInput *in, gconstpointer opt, const char *name,
                          DiagList *diags);
void     offloaded_policy (const PlanInput *in, gconstpointer opt, Policy *policy);

#define OFFLOADED_MISSING                                                             \
  "leaf modules, changes of the module order, the fp16 overflow check's all-reduce\n" \
  "max_in_cpu, pin_memory: false\n"                                                   \
  "an extra trip of a micro-step's gradients in compute precision, which DeepSpeed adds up there"
