/* Reports of validations of training runs: formatting only. Every writer appends to a string. */
#pragma once

#include <gio/gio.h>

#include "measure/validate-training.h"

/*
 * The summary as text for a terminal: goals, errors by source and metric, rankings, memory, what
 * was calibrated, and what failed.
 */
void report_training_summary (const TrainingValidation *self, GString *out);

/* One line a row, for a terminal. */
void report_training_rows (const TrainingValidation *self, GString *out);

/* "id,metric,measured,predicted,error,reason": a header and a line a row. */
void report_training_csv (const TrainingValidation *self, GString *out);

/*
 * {"schema": 1, "rows": [...], "summary": {...}}. Rows have the CSV's keys and, after them, further
 * ones.
 */
void report_training_json (const TrainingValidation *self, GString *out);

/*
 * Pictures in DIR, drawn by gnuplot: "speed" and "memory", predicted over measured figures of the
 * rows that count, a colour a source. See report/plot.h for the files, STYLE_FILE and failures.
 */
gboolean report_training_plot (const TrainingValidation *self, const char *dir,
                               const char *style_file, GError **error);
