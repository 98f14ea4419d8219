/*
 * Measured training runs against predictions: the error of every row, and what the errors come to.
 *
 * error = predicted / measured - 1, signed. Rows that may have been calibrated with (use =
 * calibrate) are predicted too, and count in no summary; neither do rows that cannot be simulated,
 * which have a reason instead of a prediction.
 */
#pragma once

#include "evidence/tables/statistics.h"
#include "evidence/tables/training-table.h"

typedef struct
{
  const TrainingRow *measured;
  char              *reason;      /* NULL, or why there is no prediction; then the rest is unset */
  char              *profiles;    /* what profiles_used says of its cluster */
  double             predicted;   /* in the unit of the metric; of `fits` 1 or 0 */
  double             error;       /* 0 of `fits` */
  double             step_time_s; /* predicted, whatever the metric */
  double memory_share; /* most that a GPU needs at a time, of what it has; above 1: does not fit */
} ValidatedTraining;

/* Errors of the rows of one source and metric. */
typedef struct
{
  const char     *source; /* NULL: all */
  TrainingMetric  metric;
  ErrorStatistics errors;
  guint           n_failed; /* rows without a prediction */
} TrainingErrors;

/*
 * Errors of the rows of speed of one source on that many nodes, as speed: predicted over measured
 * rate - 1, of times the inverse, so that above 0 is too fast whatever was measured.
 */
typedef struct
{
  const char     *source; /* NULL: all */
  guint           n_nodes;
  ErrorStatistics errors;
} NodesErrors;

/* How these errors grow with the number of nodes, over the rows of a source on several numbers. */
typedef struct
{
  const char *source;          /* NULL: all */
  guint       n, fewest, most; /* rows; nodes */
  double      slope;           /* per doubling of the nodes (statistics_slope over log2) */
} NodesTrend;

/* Rows of speed that differ in the layout only: which is fastest, and what the prediction says. */
typedef struct
{
  const char *source;
  guint       n;
  double      tau;    /* Kendall's tau-b of measured and predicted speed */
  double      regret; /* how much longer the run that is predicted to be the fastest takes than the
                         fastest one: 0.1 */
  const char *pick, *best; /* ids of the two */
} LayoutRanking;

/* Means over the groups of one source. */
typedef struct
{
  const char *source; /* NULL: all */
  guint       n_groups, n_rows;
  double      tau, regret;
} RankingSummary;

/* Rows of `fits`. */
typedef struct
{
  guint   n[2][2]; /* [measured][predicted] */
  guint   n_failed;
  guint   n_wrongly_full; /* rows of speed, which ran, that are predicted not to fit */
  double  lowest_share;   /* least memory_share of a run that ran out of memory; NAN without one */
  GArray *offenders;      /* guint: rows that ran out of memory and are predicted below
                             TRAINING_FULL_SHARE of capacity */
} FitsSummary;

#define TRAINING_FULL_SHARE 0.9

/* How a goal is met. */
typedef struct
{
  const TrainingGoal *goal;
  guint               n, n_failed; /* n = 0: no row says anything; groups of GOAL_RANKING */
  double              first, second;
  gboolean            met;
} GoalResult;

/* Figures of profiles that were fitted, by what their source says. */
typedef struct
{
  char *basis; /* "calibrated on ..." */
  guint n;
  char *figures; /* "gpu a100-sxm-80: matmul_efficiency, ..." */
} CalibratedFigures;

typedef struct
{
  TrainingTable  *table;    /* owned: what the rows point to */
  GArray         *rows;     /* ValidatedTraining, in the table's order */
  GArray         *errors;   /* TrainingErrors: by source in order of appearance and metric, then all
                               sources by metric */
  ErrorStatistics speed;    /* of all rows of speed */
  GArray         *nodes;    /* NodesErrors: by source in order of appearance and nodes, then all */
  GArray         *trends;   /* NodesTrend: by source, then all */
  GArray         *layouts;  /* LayoutRanking, in order of their first rows */
  GArray         *rankings; /* RankingSummary: by source, then all */
  FitsSummary     fits;
  GArray         *goals;      /* GoalResult: of goals that rows say something about */
  GArray         *calibrated; /* CalibratedFigures of the profiles, links apart */
  guint           n_failed, n_calibrating, n_simulated; /* rows, rows, distinct runs */
} TrainingValidation;

/*
 * Predicts the rows of TABLE (which it takes) with the profiles of OPTIONS, each distinct run once,
 * in N_THREADS threads; the result does not depend on their number. Never fails.
 */
TrainingValidation *validate_training (TrainingTable *table, const PredictOptions *options,
                                       guint n_threads);
void                training_validation_free (TrainingValidation *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (TrainingValidation, training_validation_free)

/*
 * Index of the run that PREDICTED ranks first (of equals the first), and in *REGRET how much longer
 * it takes than the fastest. N > 0; LESS_IS_BETTER: the figures are times, else rates.
 */
guint training_regret (const double *measured, const double *predicted, guint n,
                       gboolean less_is_better, double *regret);
