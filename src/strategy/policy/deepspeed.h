/* What the systems over DeepSpeed's coordinator share: options, checks and the policy. */
#pragma once

#include "strategy/runtime/deepspeed/issue-deepspeed.h"
#include "strategy/shards/format.h"
#include "strategy/shards/group.h"

typedef struct
{
  gint64         param_persistence_threshold;
  gint           format; /* of shard_format_copied: tensors are cut each by itself */
  DeepspeedIssue issue;
} DeepspeedOptions;

/* The rows of DeepSpeed's own options for an options struct that starts with DeepspeedOptions. */
#define DEEPSPEED_OPTION(name, field, default_, min_, needs_, help_)                        \
  {                                                                                         \
    .key = #name, .needs = needs_, .type = OPTION_INT,                                      \
    .offset = G_STRUCT_OFFSET (DeepspeedOptions, field), .fallback = default_, .min = min_, \
    .max = 1e15, .help = help_, .source = "deepspeed/runtime/zero/config.py"                \
  }
#define DEEPSPEED_OPTIONS                                                                         \
  DEEPSPEED_OPTION (prefetch_bucket_size, issue.prefetch_bucket_size, "5e7", 0, NULL,             \
                    "elements that are gathered ahead of use as one collective"),                 \
      DEEPSPEED_OPTION (max_live_parameters, issue.max_live_parameters, "1e9", 0, NULL,           \
                        "gathered elements beyond which nothing is gathered ahead"),              \
      DEEPSPEED_OPTION (                                                                          \
          max_reuse_distance, issue.max_reuse_distance, "1e9", 0, NULL,                           \
          "parameters used again within so many elements stay gathered; 0: nothing is kept, "     \
          "which DeepSpeed's prefetcher does not quite do"),                                      \
      DEEPSPEED_OPTION (param_persistence_threshold, param_persistence_threshold, "1e5", 0, NULL, \
                        "tensors of at most so many elements are never partitioned"),             \
      DEEPSPEED_OPTION (reduce_bucket_size, issue.reduce_bucket_size, "5e8", 1, NULL,             \
                        "elements of gradients that are reduced as one collective"),              \
      DEEPSPEED_OPTION (sub_group_size, issue.sub_group_size, "1e9", 1,                           \
                        "optimizer states in host memory or on drives",                           \
                        "elements that the optimizer handles at a time"),                         \
      SHARD_FORMAT_OPTION (DeepspeedOptions, format, shard_format_copied, "each"),                \
  {                                                                                               \
    .key = "overlap_comm", .type = OPTION_BOOL,                                                   \
    .offset = G_STRUCT_OFFSET (DeepspeedOptions, issue.overlap_comm), .fallback = "true",         \
    .help = "gather and reduce on streams of their own",                                          \
    .source = "deepspeed/runtime/zero/config.py"                                                  \
  }

/* What an optimizer step makes invalid of second copies, for FIELD (a gint) of OPTIONS. */
extern const char *const deepspeed_invalidate_choices[];
#define DEEPSPEED_INVALIDATE(options, field, help_, source_)                         \
  {                                                                                  \
    .key = "invalidate", .needs = "parameters that are frozen", .type = OPTION_ENUM, \
    .fallback = "trainable", .choices = deepspeed_invalidate_choices,                \
    .offset = G_STRUCT_OFFSET (options, field), .help = help_, .source = source_     \
  }

/* Diagnoses axes of the mesh that the runtime does not know, for strategy NAME. */
gboolean deepspeed_check (const PlanInput *in, const char *name, DiagList *diags);

/*
 * Everything sharded over GROUP, whose communicator is NAME; every tensor cut on its own but those
 * at most the threshold.
 */
void deepspeed_policy (const PlanInput *in, const DeepspeedOptions *options, const char *name,
                       MeshGroup group, Policy *policy);

/* The same over all ranks, in the communicators that the framework has. */
void deepspeed_world_policy (const PlanInput *in, const DeepspeedOptions *options, Policy *policy);
