/*
 * Parameters whole on every rank; gradients reduced in buckets in the order in which they are
 * complete: DistributedDataParallel, DeepSpeed's ZeRO-1, Megatron-LM.
 */
#pragma once

#include "strategy/compression/compression.h"

typedef enum
{
  GRADIENT_AUTO, /* as computed */
  GRADIENT_FP32, /* an fp32 buffer into which every micro-step adds what it computed (Megatron-LM's
                    main gradients) */
  /*
   * The same, and the gradients as computed stay beside it until the next micro-step makes its own
   * (DeepSpeed's BF16_Optimizer under its pipeline engine: deepspeed/runtime/pipe/engine.py,
   * _exec_backward_pass, update_hp_grads (clear_lp_grads=False)).
   */
  GRADIENT_FP32_BESIDE,
} GradientDtype;

/* What Policy.issue points to. */
typedef struct
{
  double   bucket_bytes; /* of gradients as they are kept */
  gboolean overlap_comm;
  gboolean overlap_param_gather; /* what an optimizer that is sharded has updated is gathered in
                                    buckets behind the next forward pass; else behind the update */
  gint     gradient_dtype;       /* GradientDtype */
  gboolean fused_gradients; /* products add the gradients of their weights where these are kept */
  CompressionOptions compression;
} BucketsIssue;

/*
 * Under it gradients are whole until the optimizer has run: the reduction has one hop at the last
 * micro-step, and a route of updates where the optimizer is sharded. Where `settles_last` and
 * nothing overlaps, the reductions wait for the end of all backward passes.
 */
extern const Issue issue_buckets;

void buckets_form (const PlanInput *in, const Policy *policy, IssueForm *form);
