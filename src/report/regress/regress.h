/*
 * `regress`: predictions against a stored baseline as text, CSV and JSON, as the JUnit XML and the
 * Markdown that CI servers show, and the baseline's own file.
 */
#pragma once

#include "decide/regress/regress.h"
#include "report/document/page.h"

/* What a baseline keeps of PREDICTION: a RegressRead. */
GArray *report_results (const Prediction *prediction);

/* Their names, NULL-terminated; newly allocated, of static strings. */
const char **report_result_names (void);

/* The file of SELF: JSON, keys in order, a line each. */
void report_baseline (const Baseline *self, GString *out);

/* COMPARISONS: of RegressComparison. BASELINE: the file's name. */
void report_regress_junit (const GPtrArray *comparisons, const char *baseline, GString *out);
void report_regress_markdown (const GPtrArray *comparisons, const char *baseline, GString *out);

/* What moved, and why: an answer of kind regress_page. */
typedef struct
{
  const GPtrArray *comparisons;
  const char      *baseline; /* the file's name */
  const char      *update;   /* the command that writes it */
} RegressAnswer;

extern const PageKind regress_page;

/* `::error file=...,line=...::...`, a line for each scenario that moved: GitHub's annotations. */
void report_regress_annotations (const GPtrArray *comparisons, const char *baseline, GString *out);
