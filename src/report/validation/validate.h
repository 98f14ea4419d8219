/* Reports of validations: formatting only. Every writer appends to a string. */
#pragma once

#include <gio/gio.h>

#include "evidence/tables/validate-collectives.h"
#include "report/document/page.h"

/*
 * The answer is CollectiveValidation. The summary is text; of the rows text has a line each, CSV a
 * row and JSON {"rows": [...], "summary": {...}}.
 */
extern const PageKind collective_summary, collective_rows;

/*
 * Pictures in DIR, drawn by gnuplot: one a run, named as its id, of measured and predicted bus
 * bandwidth over size, and "overview", predicted over measured bus bandwidth of all rows. See
 * report/plot/plot.h for the files, STYLE_FILE and failures.
 */
gboolean report_validation_plot (const CollectiveValidation *self, const char *dir,
                                 const char *style_file, GError **error);
