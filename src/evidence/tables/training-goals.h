/*
 * What is wanted of the predictions of a table of training runs: TABLE.goals.yaml beside TABLE.csv,
 * a list of
 *
 *   - { rows: "bloom: time", of: time, sources: [bloom], median: 0.08, p90: 0.2 }
 *
 *   rows      what the summary calls them
 *   of        time: errors of the rows of speed; memory: of one of the peaks; fits: rows of `fits`
 *             that are right, and no run that ran out of memory predicted below 90 % of capacity;
 *             ranking: Kendall's tau-b, the mean over groups of layouts, or, with
 *             `strategies: true`, of all runs of one model on one cluster
 *             trend: how the error as speed grows with each doubling of the nodes
 *   peak      memory: reserved (where absent), allocated (peak_gib is one), device
 *   outcome   fits: ran or out_of_memory takes those runs alone, and asks for their share that is
 *             right and nothing else; any where absent
 *   nodes     time, trend: rows on that many nodes and more; all where absent
 *   healthy   time: true leaves out runs that are slow among their neighbours
 *             (evidence/tables/training-slow.h)
 *   tensor_over_nodes   time: true takes runs alone whose tensor groups span nodes
 *   sources   whose rows (the ids without their numbers)
 *   median, p90   time, memory: at most (p90 may be absent); right, tau   fits, ranking: at least;
 *   slope     trend: at most, up or down
 */
#pragma once

#include "base/config/diag.h"

typedef enum
{
  GOAL_TIME,    /* median and 90th percentile of |error| of the rows of speed */
  GOAL_MEMORY,  /* the same of the rows of a peak */
  GOAL_FITS,    /* share of rows that are right, and of runs of any outcome no offender */
  GOAL_RANKING, /* mean tau over the groups */
  GOAL_TREND,   /* slope of the error over the doublings of the nodes */
} GoalKind;

typedef enum
{
  GOAL_PEAK_RESERVED,
  GOAL_PEAK_ALLOCATED,
  GOAL_PEAK_DEVICE,
} GoalPeak;

typedef enum
{
  GOAL_OUTCOME_ANY,
  GOAL_OUTCOME_RAN,
  GOAL_OUTCOME_OUT_OF_MEMORY,
} GoalOutcome;

typedef struct
{
  char       *title;
  GoalKind    kind;
  GoalPeak    peak;
  GoalOutcome outcome;
  char      **sources;
  /* median and 90th percentile (infinite: any); share and offenders; tau or slope and nothing */
  double   first, second;
  guint    nodes; /* least, of rows that it is about */
  gboolean healthy, tensor_over_nodes, strategies;
} TrainingGoal;

/*
 * Those beside the table FILE: newly allocated array of TrainingGoal that frees what it holds;
 * empty where there is no such file. Mistakes go to DIAGS.
 */
GArray *training_goals_load (const char *file, DiagList *diags);
