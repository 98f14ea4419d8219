/* Reports of validations of training runs: formatting only. Every writer appends to a string. */
#pragma once

#include <gio/gio.h>

#include "evidence/tables/validate-training.h"
#include "report/document/page.h"

/*
 * The answer is TrainingValidation. The summary is text; of the rows text has a line each, CSV a
 * row and JSON {"rows": [...], "summary": {...}}.
 */
extern const PageKind training_summary, training_rows;

/*
 * Pictures in DIR, drawn by gnuplot: "speed" and "memory", predicted over measured figures of the
 * rows that count, a colour a source. See plot.h for the files, STYLE_FILE and failures.
 */
gboolean report_training_plot (const TrainingValidation *self, const char *dir,
                               const char *style_file, GError **error);
