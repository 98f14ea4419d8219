/*
 * Reports: formatting of predictions, and nothing else. Every writer appends to a string; numbers
 * are independent of the locale.
 */
#pragma once

#include "base/config/column.h"
#include "predict/prediction.h"

/*
 * `simulate`: one prediction as text for a terminal. What does not fit says so first, with its
 * remedies.
 */
void report_prediction_text (const Prediction *self, GString *out);

/* What it begins with where SELF does not fit: what lacks how much, before more is known. */
void report_verdict_text (const Prediction *self, GString *out);

/*
 * `compare`: one table, a line a prediction, with what tells them apart; of each model the best
 * that fits is marked. Explained: also what does not fit by how much, and why each row differs from
 * the first one of its model.
 */
void report_comparison_text (const GPtrArray *predictions, GString *out);
void report_comparison_explained (const GPtrArray *predictions, GString *out);

/*
 * Puts PREDICTIONS in the order of the result KEY, a column of report_csv: those that fit first,
 * then the best first: the most of a rate, the least of any other number, texts in alphabetical
 * order; equal ones stay in their order. KEY matches as names do everywhere (name_index). FALSE
 * when there is no such column.
 */
gboolean report_sort (GPtrArray *predictions, const char *key);

/* The columns of report_csv: strv, newly allocated, of static strings. */
const char **report_column_names (void);

/*
 * The results as CSV (a header and a row each) and JSON ({"schema": 1, "results": [...]}): the
 * columns of predict/columns.h.
 */
void report_csv (const GPtrArray *predictions, GString *out);
void report_json (const GPtrArray *predictions, GString *out);

/* "scenario,strategy,stage,layers,...,program_version,schema": a row a stage of SELF, which has
 * some. */
void report_stages_csv (const Prediction *self, GString *out);
