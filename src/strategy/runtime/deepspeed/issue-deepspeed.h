/* DeepSpeed's coordinator of parameters: see issue-deepspeed.c for what it issues when. */
#pragma once

#include "driver/policy/strategy.h"

/* Whose rule says what stays gathered for a later use. */
typedef enum
{
  REUSE_DEEPSPEED, /* max_reuse_distance */
  REUSE_PAPER, /* nothing, but from a module's recomputation to its gradients (arXiv:1910.02054) */
} DeepspeedReuse;

/* What Policy.issue points to. */
typedef struct
{
  gint     reuse; /* DeepspeedReuse */
  gint64   prefetch_bucket_size, max_live_parameters, max_reuse_distance;
  gint64   reduce_bucket_size, sub_group_size;
  gboolean overlap_comm;
  /* of optimizer states on drives */
  gboolean pipeline_read, pipeline_write;
  gint64   optimizer_buffer_count;
  /* of parameters there */
  gint64 params_buffer_count, params_buffer_size;
} DeepspeedIssue;

/*
 * Under it a policy gathers tensors above `whole_below` at each use, from the second copy where
 * there is a valid one, and reduces gradients bucket by bucket in each micro-step; a last hop over
 * replicas adds up what the shards have by then. One kind of unit. States live in GPU memory, in
 * pinned host memory or on drives; where the optimizer does not live on the GPU the host updates.
 */
extern const Issue issue_deepspeed;

/* The same, but that what is gathered as one needs no flat buffer, and no copy out of it. */
extern const Issue issue_mics;

void deepspeed_form (const PlanInput *in, const Policy *policy, IssueForm *form);
