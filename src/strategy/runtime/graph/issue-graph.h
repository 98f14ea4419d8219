/* The issue of a compiled graph: see issue-graph.c for what it issues when. */
#pragma once

#include "driver/policy/strategy.h"

typedef enum
{
  BUCKET_MODULE,
  BUCKET_LAYER,
  BUCKET_BY_COST, /* which nothing here knows: refused */
} GraphBuckets;

/* What Policy.issue points to. */
typedef struct
{
  gint     buckets;  /* GraphBuckets: what is gathered and reduced as one */
  gboolean reorders; /* gathers a bucket ahead, and waits for a reduction before the next one */
} GraphIssue;

/*
 * Under it a policy gathers and reduces inside shard groups, and all-reduces over replicas, in each
 * micro-step. Nothing happens on the host: no hooks, no waits.
 */
extern const Issue issue_graph;

void graph_form (const PlanInput *in, const Policy *policy, IssueForm *form);
