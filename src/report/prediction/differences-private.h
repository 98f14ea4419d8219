/* What tells the rows of a comparison apart, and what they have in common. */
#pragma once

#include "predict/prediction.h"

/* A column of a comparison: a title and a cell a prediction, "" where it has none. */
typedef struct
{
  char        *title; /* "MICRO-BATCH" */
  const char **cells; /* owned by the predictions */
  gboolean     right; /* numbers */
} DifferenceColumn;

/*
 * Model, cluster and strategy where they differ and the names do not say them, then every option
 * that differs between predictions of one model, cluster and strategy (each for its own options).
 * Newly allocated array of DifferenceColumn, pointing into PREDICTIONS.
 */
GPtrArray *differences_find (const GPtrArray *predictions);

/*
 * "8 scenarios: llama-3-8b on 4 nodes x ..." and a line of the options that all have: size of the
 * batch, and what is not the default.
 */
void differences_append_common (const GPtrArray *predictions, GString *out);
