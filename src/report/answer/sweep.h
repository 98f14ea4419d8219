/* Sweeps: predictions as rows of a store, and rows of a store as text, CSV and JSON. */
#pragma once

#include "base/stop.h"
#include "decide/sweep/store-view.h"
#include "decide/sweep/sweep.h"
#include "report/document/page.h"

/* The results of report_csv as columns of a store, ended by a NULL name. Newly allocated. */
ResultColumn *report_result_columns (void);

/* Fills VALUES, one a column. */
void report_result_values (const Prediction *prediction, ResultValue *values);

/* Whether the result NAME is yes or no, which a store has as 1 or 0. */
gboolean report_result_is_switch (const char *name);

/*
 * A row of a store, under NAMES. FIRST: after the header; before it in JSON, where
 * report_stored_json_end closes what the first row began. EMPTY: there was none. PARTIAL: what was
 * left out.
 */
void report_stored_csv (const char *const *names, const ResultValue *values, guint n,
                        gboolean first, GString *out);
void report_stored_json (const char *const *names, const ResultValue *values, guint n,
                         gboolean first, GString *out);
void report_stored_json_end (gboolean empty, const Partial *partial, GString *out);

/* A store as a page and as pictures: an answer of kind sweep_page. */
typedef struct
{
  const StoreView *view;
  const char      *file; /* the store */
} SweepAnswer;

extern const PageKind sweep_page;

/* How a sweep went and its best runs, as text: an answer of kind sweep_end. */
typedef struct
{
  const SweepSummary *summary;
  const StoreView    *best;
  const char         *file; /* the store */
} SweepEnd;

extern const PageKind sweep_end;
