/* Zeroth-order steps with blocks in host memory: see issue-zo.c for what it issues when. */
#pragma once

#include "driver/policy/strategy.h"

typedef enum
{
  ZO_MODULE, /* a copy a tensor */
  ZO_BUCKET, /* one a block */
} ZoCopies;

typedef enum
{
  ZO_PINNED,
  ZO_PAGEABLE,
} ZoMemory;

/* What Policy.issue points to. */
typedef struct
{
  gboolean overlap; /* copies on streams of their own */
  gint     copies;  /* ZoCopies */
  gint     memory;  /* ZoMemory */
  gint stored; /* Dtype on the host, where weights on the GPU are wider than what kernels read */
  gboolean rounds; /* what is pinned takes a power of two of bytes */
  gboolean pairs;  /* two ranks share a micro-batch, a pass each */
  gboolean slices; /* the ranks of a node share what crosses the host link */
} ZoIssue;

/*
 * Under it blocks live in host memory, a route of gathering brings one to the GPU before its use
 * and a route of renewal takes it back; embedding and head stay. There are no other states.
 */
extern const Issue issue_zo;

extern const char *const zo_copies[], *const zo_memories[], *const zo_stored[];

/* The rows of its options, for a struct that is a ZoIssue. */
#define ZO_OPTIONS                                                                                \
  { .key = "overlap",                                                                             \
    .type = OPTION_BOOL,                                                                          \
    .offset = G_STRUCT_OFFSET (ZoIssue, overlap),                                                 \
    .fallback = "true",                                                                           \
    .help = "upload, compute and offload on a stream each; false: one after another, the host "   \
            "waits for each copy",                                                                \
    .source = "zo2/config/mezo_sgd.py" },                                                         \
      { .key = "communicate_optimize_method",                                                     \
        .needs = "parameters that no ranks share",                                                \
        .type = OPTION_ENUM,                                                                      \
        .choices = zo_copies,                                                                     \
        .offset = G_STRUCT_OFFSET (ZoIssue, copies),                                              \
        .fallback = "none",                                                                       \
        .help = "none (the empty word): a copy a tensor; bucket: a block is one tensor",          \
        .source = "zo2/config/mezo_sgd.py" },                                                     \
      { .key = "host_memory",                                                                     \
        .type = OPTION_ENUM,                                                                      \
        .choices = zo_memories,                                                                   \
        .offset = G_STRUCT_OFFSET (ZoIssue, memory),                                              \
        .fallback = "pinned",                                                                     \
        .help = "where blocks live; copies to and from pageable memory block the host",           \
        .source = "pinned: PyTorch's Tensor.to (cpu, non_blocking); pageable: traces of "         \
                  "DistZO2" },                                                                    \
      { .key = "pinned_power_of_two",                                                             \
        .needs = "host_memory: pinned",                                                           \
        .type = OPTION_BOOL,                                                                      \
        .offset = G_STRUCT_OFFSET (ZoIssue, rounds),                                              \
        .fallback = "true",                                                                       \
        .help = "each pinned tensor takes a power of two of bytes",                               \
        .source = "PyTorch, CachingHostAllocator" },                                              \
  {                                                                                               \
    .key = "precision_on_offloading_device", .type = OPTION_ENUM, .choices = zo_stored,           \
    .offset = G_STRUCT_OFFSET (ZoIssue, stored), .fallback = "fp16",                              \
    .help = "type on the host where weights on the GPU are wider than activations (amp: a mixed " \
            "'training.precision'); else as on the GPU",                                          \
    .source = "zo2/config/mezo_sgd.py"                                                            \
  }

/* Diagnoses, for strategy NAME, what the runtime does not know. */
gboolean zo_check (const PlanInput *in, const ZoIssue *issue, const char *name, DiagList *diags);

void zo_policy (const PlanInput *in, const ZoIssue *issue, Policy *policy);

/* issue-zo-form.c: a step, and the losses that ranks exchange, which no policy knows. */
void     zo_form (const PlanInput *in, const Policy *policy, IssueForm *form);
gboolean zo_expect (const PlanInput *in, gconstpointer issue, PlanTotals *totals);

/* Ranks that share a micro-batch, and one of each such group. */
MeshGroup zo_pair (const PlanInput *in, const ZoIssue *issue);
MeshGroup zo_replicas (const PlanInput *in, const ZoIssue *issue);

/* Of weights as they are perturbed and updated, and as the host keeps them. */
Dtype zo_working (const TrainingOptions *training);
Dtype zo_stored_dtype (const TrainingOptions *training, const ZoIssue *issue);
