/* What functions that are called from other languages answer: JSON, errors included. */
#pragma once

#include "predict/prediction.h"

/*
 * The document of report_json with, after its results, "left_out": the names of the scenarios that
 * could not be predicted (strv), "diagnostics": [{"severity", "message", "hint", "file", "line",
 * "column"}], and "error": FAILURE, a text or NULL: what else has gone wrong.
 */
void report_answer_json (const GPtrArray *predictions, char *const *left_out, const DiagList *diags,
                         const char *failure, GString *out);

/*
 * DOCUMENT, of any function that reports JSON, as it stands, with "diagnostics" and "error" as
 * above at its end. NULL: there is no result.
 */
void report_answer_around (const GString *document, const DiagList *diags, const char *failure,
                           GString *out);

/* {"schema": 1, ..., "items": [{"name", "title"}], "diagnostics": []}; a title may be NULL. */
typedef struct
{
  char *name, *title;
} AnswerItem;
void report_items_json (const GArray *items, const DiagList *diags, GString *out);
