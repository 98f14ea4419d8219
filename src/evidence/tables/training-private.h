/* What the files of the validation of training share. */
#pragma once

#include "evidence/tables/validate-training.h"

static inline ValidatedTraining *
training_row_at (const TrainingValidation *self, guint i)
{
  return &g_array_index (self->rows, ValidatedTraining, i);
}

/* A row that counts: predicted, and not calibrated with. */
static inline gboolean
training_row_counts (const ValidatedTraining *row)
{
  return row->reason == NULL && !row->measured->calibrates;
}

/* Without rows. TABLE is taken. */
TrainingValidation *training_validation_new (TrainingTable *table);

/* The error of a row of speed as speed: above 0 is too fast. */
static inline double
training_speed_error (const ValidatedTraining *row)
{
  return training_metric_is_time (row->measured->metric) ? 1 / (1 + row->error) - 1 : row->error;
}

/* training-nodes.c: fills `nodes` and `trends`. SOURCES: pointers into the table. */
void training_count_nodes (TrainingValidation *self, const GPtrArray *sources);

/*
 * The trend over the rows of speed of the SOURCES (NULL-terminated; NULL: all) on LEAST nodes and
 * more: its slope is NAN where all are on as many.
 */
NodesTrend training_trend_of (const TrainingValidation *self, const char *const *sources,
                              guint least);

/* Fills everything but rows, table and calibrated. */
void training_summarise (TrainingValidation *self);

/* Fills `calibrated` from the GPU and node profiles of OPTIONS. */
void training_count_calibrated (TrainingValidation *self, const PredictOptions *options);
