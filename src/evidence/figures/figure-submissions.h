/*
 * Training runs that were submitted to a benchmark, a row each, beside predictions of them:
 * NAME.submissions.csv is a table of training runs (evidence/tables/training-table.h), of which the
 * rows of step_time_s count. NAME.jobs.csv, which may stand beside it, has submissions as their own
 * configuration files, which lie in the folder NAME:
 *
 *   id,job,cluster,model,framework,step_time_s
 *   mlp51-0001,config_DGXH100_64x8.sh,64 x dgx-h100,,megatron-bridge-2025,10.9
 *
 * A cell goes before what the job says; an empty one leaves it to the job.
 */
#pragma once

#include "evidence/figures/figure.h"

typedef struct
{
  const char *round; /* the id without its number */
  const char *id;
  const char *hardware;             /* "64 x 8 h100-sxm-80" */
  const char *configuration;        /* "126 x 16384, tp 8 cp 2 pp 8 vp 8, 1 x 288 sequences, fp8" */
  double      published, predicted; /* a step's time, s; predicted: NAN without a prediction */
  double      memory_share; /* most that a GPU needs, of what it has; above 1: does not fit */
  const char *reason;       /* why there is no prediction; NULL */
} Submission;

/* What is said of all that were predicted. */
typedef struct
{
  guint  n, n_near, n_unfit;  /* rows; within SUBMISSION_NEAR; that are predicted not to fit */
  double median_abs, p90_abs; /* of predicted / published - 1 */
} SubmissionSummary;

#define SUBMISSION_NEAR 0.15

SubmissionSummary figure_submissions_summary (const Figures *self);
