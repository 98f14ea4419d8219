/* Sweeps: predictions as rows of a store, and rows of a store as text, CSV and JSON. */
#pragma once

#include "analysis/store-view.h"
#include "analysis/sweep.h"
#include "base/stop.h"
#include "report/page.h"

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

/*
 * How a sweep went, and its best runs: ROWS holds a ResultRowText of each (report_best_row).
 * N: points that were to be done; FILE: the store.
 */
typedef struct _BestRows BestRows;
BestRows                *best_rows_new (void);
void                     best_rows_free (BestRows *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (BestRows, best_rows_free)

/* A ResultVisit whose USER is a BestRows. */
gboolean best_rows_add (const char *const *names, const ResultValue *values, guint n,
                        gpointer user);

/* A store as a page and as pictures: an answer of kind sweep_page. */
typedef struct
{
  const StoreView *view;
  const char      *file; /* the store */
} SweepAnswer;

extern const PageKind sweep_page;

void report_sweep_text (const SweepSummary *summary, const BestRows *best, const char *file,
                        GString *out);
