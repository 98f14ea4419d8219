/* Columns that a table must have, and numbers in them. */
#pragma once

#include "base/config/csv.h"

/* The place of column NAME; -1 after a diagnostic, with HINT (may be NULL). */
gint csv_reader_require (const CsvReader *reader, const char *name, const char *hint,
                         DiagList *diags);

/* A (WHOLE) number from LEAST to MOST in field PLACE of the row; NAN after a diagnostic. */
double csv_reader_number (const CsvReader *reader, gint place, double least, double most,
                          gboolean whole, DiagList *diags);
