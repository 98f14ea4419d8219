/*
 * Many predictions in threads, each into a slot of its own: what comes out is in their order, and
 * the same whatever the number of threads. What one of them took is freed as soon as it was read.
 */
#pragma once

#include "predict/prediction.h"

/* What became of one scenario. */
typedef struct
{
  Scenario        *scenario;   /* that was built, else NULL */
  Prediction      *prediction; /* NULL: there is none */
  char            *reason;     /* of that, else NULL */
  DiagList        *diags;
  GError          *error;
  PredictionInputs inputs;
  double           slow_s;   /* of a step that the limit left; 0: it was not */
  guint64          n_events; /* that were simulated, where these are limited */
  gboolean         done;     /* else a stop left it out, and that is the reason */
} Predicted;

typedef struct
{
  guint                 n; /* scenarios */
  guint                 n_threads;
  const PredictOptions *options;     /* their count is told of each, their stop ends the batch */
  guint64               most_events; /* of one; 0: however many */
  gboolean              replays;     /* are kept, with the inputs */
  const double         *least;       /* [n]: sequences/s, StepLimit; NULL: all are wanted */
  const double         *effort;      /* [n]: what takes longest begins first; NULL: in order */

  const GPtrArray *scenarios; /* the caller's; or else NULL, and ... */
  /* Scenario I; NULL: there is none, for what DIAGS say. In any thread, as READ. */
  Scenario *(*build) (gpointer user, guint i, DiagList *diags);
  /*
   * Reads scenario I's, out of which it may steal; what is left goes then, but for the reason, the
   * diagnostics and the error. Not of what a stop left out. NULL: all stays, but the inputs only
   * where they have a replay.
   */
  void (*read) (gpointer user, guint i, Predicted *one);
  gpointer user;

  Predicted *each; /* [n] */
} PredictionBatch;

/* Predicts all, or all that were begun when the stop was due; what was not is `left out`. */
void prediction_batch_run (PredictionBatch *self);

/* The same of the caller's SCENARIOS, of which all is kept. */
PredictionBatch prediction_batch_of (const GPtrArray *scenarios, const PredictOptions *options,
                                     guint n_threads, gboolean replays);

void prediction_batch_clear (PredictionBatch *self);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PredictionBatch, prediction_batch_clear)

/* Whether there is no prediction, or one of a scenario that is wrong. */
gboolean predicted_failed (const Predicted *self);
