/* What the files of the validation of training share. */
#pragma once

#include "measure/validate-training.h"

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

/* Fills everything but rows, table and calibrated. */
void training_summarise (TrainingValidation *self);

/* Fills `calibrated` from the GPU and node profiles of OPTIONS. */
void training_count_calibrated (TrainingValidation *self, const PredictOptions *options);
