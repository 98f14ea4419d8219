#include "report/validation/validate-kernels.h"

#include <math.h>

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/validation/validation-private.h"

#define GOOD(p, number_) ((p)->reason == NULL ? (number_) : NAN)
#define ANY(p, number_)  ((p)->errors.n > 0 ? (number_) : NAN)

COLUMN_TEXT_OF (ValidatedKernel, row_kind, kernel_table_kind_name (p->measured->kind))
COLUMN_NUMBER_OF (ValidatedKernel, measured_us, 1e6 * p->measured->seconds)
COLUMN_NUMBER_OF (ValidatedKernel, predicted_us, GOOD (p, 1e6 * p->predicted))
COLUMN_NUMBER_OF (ValidatedKernel, row_error, GOOD (p, p->error))

static const Column row_columns[] = {
  { "gpu", "gpu", COLUMN_WORD, 0, COLUMN_VIA (ValidatedKernel, measured, gpu) },
  { "kind", "kernel", COLUMN_WORD, 0, .text = row_kind },
  { "dtype", "type", COLUMN_WORD, 0, COLUMN_VIA (ValidatedKernel, measured, dtype) },
  { "shape", "shape", COLUMN_WORD, 0, COLUMN_MEMBER (ValidatedKernel, shape) },
  { "measured_us", "measured us", COLUMN_NUMBER, 0, .number = measured_us },
  { "predicted_us", "predicted us", COLUMN_NUMBER, 0, .number = predicted_us },
  { "error", "error", COLUMN_CHANGE, 0, .number = row_error },
  { "reason", "reason", COLUMN_WORD, 0, COLUMN_MEMBER (ValidatedKernel, reason) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

COLUMN_TEXT_OF (KernelGroup, group_kind, kernel_table_kind_name (p->kind))
COLUMN_TEXT_OF (KernelGroup, group_gpu, p->gpu != NULL ? p->gpu : "all")
COLUMN_TEXT_OF (KernelGroup, group_dtype, p->dtype != NULL ? p->dtype : "all")
COLUMN_NUMBER_OF (KernelGroup, group_median, ANY (p, p->errors.median_abs))
COLUMN_NUMBER_OF (KernelGroup, group_p90, ANY (p, p->errors.p90_abs))
COLUMN_NUMBER_OF (KernelGroup, group_bias, ANY (p, p->errors.median))
COLUMN_NUMBER_OF (KernelGroup, group_goal, ANY (p, p->goal))
COLUMN_TEXT_OF (KernelGroup, group_verdict,
                p->errors.n == 0 || isnan (p->goal) ? ""
                : p->errors.median_abs <= p->goal   ? "met"
                                                    : "MISSED")

static const Column group_columns[] = {
  { "kind", "kernel", COLUMN_WORD, 0, .text = group_kind },
  { "gpu", "gpu", COLUMN_WORD, 0, .text = group_gpu },
  { "dtype", "type", COLUMN_WORD, 0, .text = group_dtype },
  { "n", "rows", COLUMN_COUNT, 0, COLUMN_MEMBER (KernelGroup, errors.n) },
  { "median_absolute_error", "median |error|", COLUMN_RATIO, 0, .number = group_median },
  { "p90_absolute_error", "90 % below", COLUMN_RATIO, 0, .number = group_p90 },
  { "median_error", "median error", COLUMN_CHANGE, 0, .number = group_bias },
  { "goal", "goal", COLUMN_RATIO, 0, .number = group_goal },
  { NULL, "", COLUMN_WORD, 0, .text = group_verdict },
  { "not_predicted", "not predicted", COLUMN_COUNT, COLUMN_IF_ANY,
    COLUMN_MEMBER (KernelGroup, n_failed) },
  { 0 },
};

static void
describe_summary (Document *document, gconstpointer answer)
{
  const KernelValidation *self = answer;
  g_autoptr (GString)     text = g_string_new (NULL);
  g_autoptr (GPtrArray)   reasons = g_ptr_array_new ();

  document_section (document, "Kernels");
  document_table (document, group_columns, rows_of_array (self->groups));
  for (guint i = 0; i < self->rows->len; i++)
    g_ptr_array_add (reasons, (gpointer) g_array_index (self->rows, ValidatedKernel, i).reason);
  validation_append_reasons (reasons, text);
  g_string_append (text, "\nerror = predicted / measured - 1; the goal is of the median |error|\n");
  document_lines (document, text->str);
}

static void
describe_rows (Document *document, gconstpointer answer)
{
  const KernelValidation *self = answer;
  struct json_object     *summary;

  document_table (document, row_columns, rows_of_array (self->rows));
  document_results (document, "rows", row_columns, rows_of_array (self->rows));
  if (document_json (document) == NULL)
    return;
  summary = json_object_new_object ();
  json_object_object_add (summary, "groups",
                          column_list (group_columns, rows_of_array (self->groups)));
  json_add_count (summary, "not_predicted", self->n_failed);
  json_object_object_add (document_json (document), "summary", summary);
}

const PageKind kernel_summary = { .describe = describe_summary };
const PageKind kernel_rows = { .describe = describe_rows, .columns = row_columns };
