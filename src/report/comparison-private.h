/* The table of `compare`, for a terminal and for a page. */
#pragma once

#include "report/fields-private.h"
#include "report/report.h"

typedef struct
{
  const char *title;
  char *(*cell) (const Prediction *p);   /* newly allocated */
  double (*value) (gconstpointer p);     /* what CELL says as a number; NULL: it is a word */
  gboolean (*has) (const Prediction *p); /* left out where no row has it; NULL: never */
} ComparisonColumn;

/* The columns of results that any of PREDICTIONS has: newly allocated, of ComparisonColumn. */
GPtrArray *comparison_columns (const GPtrArray *predictions);

/*
 * Of the predictions of each model that has several, the one that fits with the most tokens/s/GPU,
 * the first of equals: a flag each, newly allocated.
 */
gboolean *comparison_best (const GPtrArray *predictions);

/* By how much rows do not fit, and why each differs from the first one of its model. */
void comparison_append_caveats (const GPtrArray *predictions, GString *out);
void comparison_append_misfits (const GPtrArray *predictions, GString *out);
void comparison_append_reasons (const GPtrArray *predictions, GString *out);
