#include "report/validation/validate-rl.h"

#include <math.h>

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/validation/validation-private.h"

#define GOAL 0.15 /* of the median |error| of steps */

#define MEASURED(what)                            \
  COLUMN_NUMBER_OF (ValidatedRl, measured_##what, \
                    p->row->measured[what] > 0 ? p->row->measured[what] : NAN)
#define PREDICTED(what) \
  COLUMN_NUMBER_OF (ValidatedRl, predicted_##what, p->reason == NULL ? p->predicted[what] : NAN)

MEASURED (RL_MEASURED_STEP)
MEASURED (RL_MEASURED_GENERATION)
MEASURED (RL_MEASURED_LOGPROBS)
MEASURED (RL_MEASURED_TRAINING)
MEASURED (RL_MEASURED_REFIT)
PREDICTED (RL_MEASURED_STEP)
PREDICTED (RL_MEASURED_GENERATION)
PREDICTED (RL_MEASURED_LOGPROBS)
PREDICTED (RL_MEASURED_TRAINING)
PREDICTED (RL_MEASURED_REFIT)
COLUMN_NUMBER_OF (ValidatedRl, row_error, p->reason == NULL ? p->error : NAN)

static const Column row_columns[] = {
  { "id", "id", COLUMN_WORD, 0, COLUMN_VIA (ValidatedRl, row, id) },
  { "source", NULL, COLUMN_WORD, 0, COLUMN_VIA (ValidatedRl, row, source) },
  { "model", "model", COLUMN_WORD, 0, COLUMN_VIA (ValidatedRl, row, model) },
  { "gpus", "GPUs", COLUMN_COUNT, 0, COLUMN_VIA (ValidatedRl, row, gpus) },
  { "policy", "policy", COLUMN_WORD, 0, COLUMN_VIA (ValidatedRl, row, policy) },
  { "measured_s", "measured", COLUMN_TIME, 0, .number = measured_RL_MEASURED_STEP },
  { "predicted_s", "predicted", COLUMN_TIME, 0, .number = predicted_RL_MEASURED_STEP },
  { "error", "error", COLUMN_CHANGE, 0, .number = row_error },
  { "measured_generation_s", NULL, COLUMN_TIME, 0, .number = measured_RL_MEASURED_GENERATION },
  { "generation_s", "generation", COLUMN_TIME, 0, .number = predicted_RL_MEASURED_GENERATION },
  { "measured_logprobs_s", NULL, COLUMN_TIME, 0, .number = measured_RL_MEASURED_LOGPROBS },
  { "logprobs_s", "log-probs", COLUMN_TIME, 0, .number = predicted_RL_MEASURED_LOGPROBS },
  { "measured_training_s", NULL, COLUMN_TIME, 0, .number = measured_RL_MEASURED_TRAINING },
  { "training_s", "training", COLUMN_TIME, 0, .number = predicted_RL_MEASURED_TRAINING },
  { "measured_refit_s", NULL, COLUMN_TIME, 0, .number = measured_RL_MEASURED_REFIT },
  { "refit_s", "weights", COLUMN_TIME, 0, .number = predicted_RL_MEASURED_REFIT },
  { "recomputes", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (ValidatedRl, recomputes) },
  { "reason", "reason", COLUMN_WORD, COLUMN_IF_ANY, COLUMN_MEMBER (ValidatedRl, reason) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

typedef struct
{
  const char     *name;
  ErrorStatistics errors;
  double          goal;
} PartRow;

#define ANY(p, number_) ((p)->errors.n > 0 ? (number_) : NAN)

COLUMN_NUMBER_OF (PartRow, part_median, ANY (p, p->errors.median_abs))
COLUMN_NUMBER_OF (PartRow, part_p90, ANY (p, p->errors.p90_abs))
COLUMN_NUMBER_OF (PartRow, part_bias, ANY (p, p->errors.median))
COLUMN_TEXT_OF (PartRow, part_verdict,
                p->errors.n == 0 || isnan (p->goal) ? ""
                : p->errors.median_abs <= p->goal   ? "met"
                                                    : "MISSED")

static const Column part_columns[] = {
  { "part", "part", COLUMN_WORD, 0, COLUMN_MEMBER (PartRow, name) },
  { "n", "rows", COLUMN_COUNT, 0, COLUMN_MEMBER (PartRow, errors.n) },
  { "median_absolute_error", "median |error|", COLUMN_RATIO, 0, .number = part_median },
  { "p90_absolute_error", "90 % below", COLUMN_RATIO, 0, .number = part_p90 },
  { "median_error", "median error", COLUMN_CHANGE, 0, .number = part_bias },
  { "goal", "goal", COLUMN_RATIO, 0, COLUMN_MEMBER (PartRow, goal) },
  { NULL, "", COLUMN_WORD, 0, .text = part_verdict },
  { 0 },
};

/* PartRow of those that any row has. */
static GArray *
parts_of (const RlValidation *self)
{
  GArray *parts = g_array_new (FALSE, FALSE, sizeof (PartRow));

  for (RlMeasured what = 0; what < RL_N_MEASURED; what++)
    {
      const PartRow part = { rl_measured_names[what], self->errors[what],
                             what == RL_MEASURED_STEP ? GOAL : NAN };

      if (part.errors.n > 0)
        g_array_append_val (parts, part);
    }
  return parts;
}

static void
describe_summary (Document *document, gconstpointer answer)
{
  const RlValidation   *self = answer;
  g_autoptr (GArray)    parts = parts_of (self);
  g_autoptr (GString)   text = g_string_new (NULL);
  g_autoptr (GPtrArray) reasons = g_ptr_array_new ();

  document_section (document, "Steps of reinforcement learning");
  document_table (document, part_columns, rows_of_array (parts));
  for (guint i = 0; i < self->rows->len; i++)
    g_ptr_array_add (reasons, g_array_index (self->rows, ValidatedRl, i).reason);
  validation_append_reasons (reasons, text);
  if (self->n_pairs > 0)
    g_string_append_printf (text,
                            "\nof %u pairs of rows of one model and source %u are in the right "
                            "order\n",
                            self->n_pairs, self->n_ordered);
  g_string_append (text, "\nerror = predicted / measured - 1; the goal is of the median |error|\n");
  document_lines (document, text->str);
}

static void
describe_rows (Document *document, gconstpointer answer)
{
  const RlValidation *self = answer;
  g_autoptr (GArray)  parts = parts_of (self);
  struct json_object *summary;

  document_table (document, row_columns, rows_of_array (self->rows));
  document_results (document, "rows", row_columns, rows_of_array (self->rows));
  if (document_json (document) == NULL)
    return;
  summary = json_object_new_object ();
  json_object_object_add (summary, "parts", column_list (part_columns, rows_of_array (parts)));
  json_add_count (summary, "pairs", self->n_pairs);
  json_add_count (summary, "ordered", self->n_ordered);
  json_add_count (summary, "not_predicted", self->n_failed);
  json_object_object_add (document_json (document), "summary", summary);
}

const PageKind rl_summary = { .describe = describe_summary };
const PageKind rl_rows = { .describe = describe_rows, .columns = row_columns };
