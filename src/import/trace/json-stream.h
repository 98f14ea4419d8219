/*
 * A JSON document, gzipped or not, read value by value, so that its size does not matter.
 * Diagnostics name the entry of the document's list that was read last, and the byte (of gzipped
 * files: of the content). After one nothing more is read.
 */
#pragma once

#include <json-c/json.h>

#include "base/config/diag.h"

typedef struct _JsonStream JsonStream;

/* NULL after a diagnostic. DIAGS must outlive the result. */
JsonStream *json_stream_open (const char *file, DiagList *diags);
void        json_stream_free (JsonStream *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (JsonStream, json_stream_free)

/* The next byte that is no white space; 0 at the end, and after a diagnostic. */
char json_stream_peek (JsonStream *self);
/* Consumes that byte when it is WANTED; else FALSE after a diagnostic. */
gboolean json_stream_expect (JsonStream *self, char wanted);
/* One value of at most 16 MiB; NULL after a diagnostic, and for null. */
json_object *json_stream_value (JsonStream *self);

/* One entry more of the list has been read. */
void     json_stream_count (JsonStream *self);
guint64  json_stream_n_entries (const JsonStream *self);
gboolean json_stream_failed (const JsonStream *self); /* a diagnostic was added */
/* Adds one; FALSE. */
gboolean json_stream_fail (JsonStream *self, const char *hint, const char *what);
/* The same of the document as a whole. */
gboolean json_stream_fail_whole (JsonStream *self, const char *hint, const char *what);
