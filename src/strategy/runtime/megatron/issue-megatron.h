/* The issue of Megatron-FSDP: see issue-megatron.c for what it issues when. */
#pragma once

#include "driver/policy/strategy.h"

/* What Policy.issue points to. */
typedef struct
{
  gint64   communication_unit; /* elements that reductions may have under way, and twice those that
                                  are gathered ahead; 0: two blocks, a billion at least */
  gboolean overlap_param_gather, overlap_grad_reduce; /* of what is whole on every rank */
  gboolean double_buffer;                             /* else memory comes and goes */
  gboolean registered;      /* buffers are: double ones, and reductions leave shards in theirs */
  gboolean fused_gradients; /* kernels write where gradients are kept or reduced */
} MegatronIssue;

/*
 * Under it parameters, gradients and optimizer are sharded or whole. Whole parameters are brought
 * up to date by a route of updates, unit by unit as a step first needs them. Gradients that are
 * sharded are reduced in each micro-step, over replicas in the last one; others in the last one.
 */
extern const Issue issue_megatron;

void megatron_form (const PlanInput *in, const Policy *policy, IssueForm *form);
