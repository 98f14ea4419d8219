/*
 * CSV input over libcsv, also gzipped (told by its first bytes): a header row names the columns,
 * rows are streamed. Quoting per RFC 4180; ragged rows, bad quoting, a missing header, duplicate
 * column names, NUL bytes and tables above the limits of base/limits.h are diagnosed with line
 * numbers.
 */
#pragma once

#include "base/config/diag.h"
#include <gio/gio.h>

typedef struct _CsvReader CsvReader;

/* Opens FILE and reads its header. NULL after a diagnostic. */
CsvReader *csv_reader_open (const char *file, DiagList *diags);

/* The same from LENGTH bytes at TEXT, which outlive the reader; NAME is used in messages. */
CsvReader *csv_reader_open_text (const char *name, const char *text, gsize length, DiagList *diags);
void       csv_reader_free (CsvReader *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (CsvReader, csv_reader_free)

guint       csv_reader_n_columns (const CsvReader *self);
const char *csv_reader_column (const CsvReader *self, guint i);
gint        csv_reader_find (const CsvReader *self, const char *column); /* -1 when absent */

/* Next row; FALSE at the end or after a fatal diagnostic. Fields stay valid until the next call. */
gboolean    csv_reader_next (CsvReader *self, DiagList *diags);
const char *csv_reader_field (const CsvReader *self, guint i);
SourceMark  csv_reader_mark (const CsvReader *self, guint i); /* place of field i: file and line */

/* An error: there is no column NAME (HINT may be NULL); column I is none of NAMES (NULL-ended). */
void csv_reader_missing (const CsvReader *self, const char *name, const char *hint,
                         DiagList *diags);
void csv_reader_unknown (const CsvReader *self, guint i, const char *const *names, DiagList *diags);
/* The latter for every column that is none of NAMES. */
void csv_reader_check_names (const CsvReader *self, const char *const *names, DiagList *diags);

/*
 * Appends one CSV row to OUT, quoting where needed, ended by "\n". A text that a spreadsheet would
 * take for a formula (it begins with = + - or @, and is no number) gets an apostrophe in front.
 */
void csv_append_row (GString *out, const char *const *fields, guint n);
