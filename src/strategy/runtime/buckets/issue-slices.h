/* DeepSpeed's stage 2: see issue-slices.c for what it issues when. */
#pragma once

#include "driver/policy/strategy.h"

/* What Policy.issue points to. */
typedef struct
{
  gint64   reduce_bucket_size; /* elements */
  gboolean overlap_comm;
} SlicesIssue;

/*
 * Under it parameters are whole on every rank, gradients and optimizer sharded: the reduction has
 * one hop each micro-step, and a route of updates brings the parameters back.
 */
extern const Issue issue_slices;

void slices_form (const PlanInput *in, const Policy *policy, IssueForm *form);

/* The rows of its options, for a struct whose MEMBER is a SlicesIssue. */
#define SLICES_OPTIONS(struct_, member_)                                                  \
  { .key = "reduce_bucket_size",                                                          \
    .type = OPTION_INT,                                                                   \
    .offset = G_STRUCT_OFFSET (struct_, member_.reduce_bucket_size),                      \
    .fallback = "5e8",                                                                    \
    .min = 1,                                                                             \
    .max = 1e15,                                                                          \
    .help = "elements of gradients that are reduced as one collective",                   \
    .source = "deepspeed/runtime/zero/config.py" },                                       \
  {                                                                                       \
    .key = "overlap_comm", .type = OPTION_BOOL,                                           \
    .offset = G_STRUCT_OFFSET (struct_, member_.overlap_comm), .fallback = "false",       \
    .help = "reduce on a stream of its own", .source = "deepspeed/runtime/zero/config.py" \
  }

/* The row of how it reduces, for a struct whose MEMBER is a gint. */
extern const char *const slices_reduce_choices[];
#define SLICES_REDUCE(struct_, member_)                                                      \
  {                                                                                          \
    .key = "reduce", .type = OPTION_ENUM, .choices = slices_reduce_choices,                  \
    .offset = G_STRUCT_OFFSET (struct_, member_), .fallback = "reduce_scatter",              \
    .help = "how gradient buckets are reduced: the paper's reduce-scatter or an all-reduce", \
    .source = "Rajbhandari et al., arXiv:1910.02054, 7.2.1; "                                \
              "deepspeed/runtime/zero/stage_1_and_2.py"                                      \
  }
CollectiveKind slices_reduction (gint choice);

/* The policy that it wants: gradients and optimizer sharded, reduced by KIND in each micro-step. */
void slices_policy (const PlanInput *in, CollectiveKind kind, Policy *policy);

/* Diagnoses axes of the mesh that the runtime does not know, for strategy NAME. */
gboolean slices_check (const PlanInput *in, const char *name, DiagList *diags);
