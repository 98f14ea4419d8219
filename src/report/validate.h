/* Reports of validations: formatting only. Every writer appends to a string. */
#pragma once

#include <gio/gio.h>

#include "measure/validate-collectives.h"

/* The summary as text for a terminal: each part's groups, then why rows could not be simulated. */
void report_validation_summary (const CollectiveValidation *self, GString *out);

/* One line a row, for a terminal. */
void report_validation_rows (const CollectiveValidation *self, GString *out);

/*
 * "id,collective,bytes,measured_us,predicted_us,error,reason,hardware,profiles,program_version,
 * schema,nodes": a header and a line a row.
 */
void report_validation_csv (const CollectiveValidation *self, GString *out);

/*
 * {"schema": 1, "rows": [...], "summary": {"overall": {...}, "by_size": [...], ...,
 * "not_simulated": N, "apart": {"unclear": {"overall": ...}, ...}}}. Rows have the CSV's keys and,
 * after them, further ones.
 */
void report_validation_json (const CollectiveValidation *self, GString *out);

/*
 * Pictures in DIR, drawn by gnuplot: one a run, named as its id, of measured and predicted bus
 * bandwidth over size, and "overview", predicted over measured bus bandwidth of all rows. See
 * report/plot.h for the files, STYLE_FILE and failures.
 */
gboolean report_validation_plot (const CollectiveValidation *self, const char *dir,
                                 const char *style_file, GError **error);
