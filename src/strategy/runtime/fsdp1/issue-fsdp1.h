/* The issue of FullyShardedDataParallel: see the .c file for what it issues when. */
#pragma once

#include "driver/policy/strategy.h"

typedef enum
{
  PREFETCH_PRE,
  PREFETCH_POST,
  PREFETCH_NONE,
} BackwardPrefetch;

/* What Policy.issue points to. */
typedef struct
{
  gboolean limit_all_gathers, forward_prefetch;
  gint     backward_prefetch; /* BackwardPrefetch */
} Fsdp1Issue;

/* Under it a policy gathers and reduces inside shard groups, and all-reduces over replicas. */
extern const Issue issue_fsdp1;

void fsdp1_form (const PlanInput *in, const Policy *policy, IssueForm *form);
