/* Published runs that predictions were measured against, one by one: predict/track-record.h. */
#pragma once

#include "base/config/diag.h"

/*
 * Appends {"columns": ["id", "generation", ..., "error"], "runs": [["mpt-0118", "ampere", ...,
 * 0.048]]}: the lines of FILE, NULL: the shipped one, in its order; numbers of nodes and errors are
 * numbers. Where it cannot be read there are none, after diagnostics.
 */
void report_track_record_json (const char *file, DiagList *diags, GString *out);
