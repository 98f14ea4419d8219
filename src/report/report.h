/*
 * Reports: formatting of predictions, and nothing else. Every writer appends to a string; numbers are independent of the locale.
 */
#pragma once

#include "analysis/prediction.h"

/* `simulate`: one prediction as text for a terminal. */
void report_prediction_text (const Prediction *self, GString *out);

/* `compare`: tables grouped by model, and why each row differs from the first one of its group. */
void report_comparison_text (const GPtrArray *predictions, GString *out);

/*
 * The results as CSV (a header and a row each) and JSON ({"schema": 1, "results": [...]}), under the names of
 * prediction_result_names() and, after them, further ones.
 */
void report_csv (const GPtrArray *predictions, GString *out);
void report_json (const GPtrArray *predictions, GString *out);
