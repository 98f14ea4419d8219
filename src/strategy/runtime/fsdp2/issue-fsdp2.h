/* The issue of fully_shard: see issue-fsdp2.c for what it issues when. */
#pragma once

#include "driver/policy/strategy.h"

/* What Policy.issue points to. */
typedef struct
{
  gboolean backward_prefetch;                 /* the unit before, where there is no list */
  gint64   forward_modules, backward_modules; /* so many units ahead; 0: no list */
  gboolean reshard_root; /* the last unit's parameters go after its forward use like others' */
} Fsdp2Issue;

/*
 * Under it a policy gathers and reduces inside shard groups, and all-reduces over replicas. Moves
 * of its routes bring the shard from the host and its gradient there. A reduction whose cadence is
 * the last micro-step keeps gradients whole until then. A second copy is made behind each forward
 * use, read by the next use, and goes with it.
 */
extern const Issue issue_fsdp2;

void fsdp2_form (const PlanInput *in, const Policy *policy, IssueForm *form);
