/* What the strategies that keep whole parameters on every rank share: an option, and the policy. */
#pragma once

#include "strategy/runtime/buckets/issue-buckets.h"

#define REPLICATED_GRADIENT_DTYPE(struct_, member_)                                              \
  {                                                                                              \
    .key = "gradient_dtype", .type = OPTION_ENUM, .choices = replicated_gradient_choices,        \
    .offset = G_STRUCT_OFFSET (struct_, member_), .fallback = "auto",                            \
    .help =                                                                                      \
        "type of the gradients that are kept and (unless reduce_dtype says otherwise) reduced; " \
        "auto: as computed; fp32-beside: those of the last micro-step stay beside them",         \
    .source =                                                                                    \
        "Megatron-LM, --accumulate-allreduce-grads-in-fp32; deepspeed/runtime/bf16_optimizer.py" \
  }

#define REPLICATED_FUSED_GRADIENTS(struct_, member_)                                          \
  {                                                                                           \
    .key = "gradient_accumulation_fusion", .type = OPTION_BOOL,                               \
    .offset = G_STRUCT_OFFSET (struct_, member_), .fallback = "false",                        \
    .help = "products add the gradients of their weights where gradients are kept; false: a " \
            "kernel does",                                                                    \
    .source = "Megatron-LM, core/tensor_parallel/layers.py, wgrad_gemm_accum_fp32"            \
  }

extern const char *const replicated_gradient_choices[];

/* Nothing that is computed stays beside the gradients to which products add. */
gboolean replicated_check (const BucketsIssue *issue, DiagList *diags);

/*
 * Parameters and gradients (kept as KEPT) whole on every rank, reduced by KIND over all
 * that hold the same at the end of a step; the optimizer whole too, or SHARDED over them.
 */
void replicated_policy (const PlanInput *in, Dtype kept, CollectiveKind kind, gboolean sharded,
                        Policy *policy);

/* Sets ISSUE as POLICY's: what its products do with the gradients that they make. */
void replicated_set_issue (const BucketsIssue *issue, Policy *policy);

/* Of gradients as ISSUE keeps them. */
Dtype replicated_kept (const PlanInput *in, const BucketsIssue *issue);
