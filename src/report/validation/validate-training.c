#include "report/validation/validate-training.h"

#include <math.h>

#include "evidence/tables/training-slow.h"
#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/validation/validation-private.h"

static const ValidatedTraining *
row_at (const TrainingValidation *self, guint i)
{
  return &g_array_index (self->rows, ValidatedTraining, i);
}

/* ---- rows ------------------------------------------------------------------------------------ */

COLUMN_NUMBER_OF (ValidatedTraining, predicted, p->reason == NULL ? p->predicted : NAN)
COLUMN_NUMBER_OF (ValidatedTraining, error,
                  p->reason == NULL && p->measured->metric != METRIC_FITS ? p->error : NAN)
COLUMN_TEXT_OF (ValidatedTraining, use, p->measured->calibrates ? "calibrate" : "test")
COLUMN_NUMBER_OF (ValidatedTraining, memory_share, p->reason == NULL ? p->memory_share : NAN)
COLUMN_NUMBER_OF (ValidatedTraining, nodes, p->measured->n_nodes > 0 ? p->measured->n_nodes : NAN)

static const Column row_columns[] = {
  { "id", "id", COLUMN_WORD, 0, COLUMN_VIA (ValidatedTraining, measured, id) },
  { "metric", "metric", COLUMN_WORD, 0, COLUMN_VIA (ValidatedTraining, measured, metric_name) },
  { "measured", "measured", COLUMN_NUMBER, 0, COLUMN_VIA (ValidatedTraining, measured, value) },
  { "predicted", "predicted", COLUMN_NUMBER, 0, .number = predicted },
  { "error", "error", COLUMN_CHANGE, 0, .number = error },
  { "reason", "reason", COLUMN_WORD, 0, COLUMN_MEMBER (ValidatedTraining, reason) },
  { "source", NULL, COLUMN_WORD, COLUMN_JSON_ONLY,
    COLUMN_VIA (ValidatedTraining, measured, source) },
  { "use", NULL, COLUMN_WORD, COLUMN_JSON_ONLY, .text = use },
  { "memory_share", NULL, COLUMN_RATIO, COLUMN_JSON_ONLY, .number = memory_share },
  { "profiles", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (ValidatedTraining, profiles) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { "nodes", NULL, COLUMN_NUMBER, 0, .number = nodes },
  { "network", NULL, COLUMN_WORD, 0, COLUMN_VIA (ValidatedTraining, measured, network) },
  { 0 },
};

/* ---- groups ---------------------------------------------------------------------------------- */

/* Nobody's: all of them. */
static char *
show_source (const Column *column, gconstpointer row)
{
  const char *source = column_text (column, row);

  return g_strdup (source != NULL ? source : "all");
}

#define SOURCE(Row)                                                                      \
  {                                                                                      \
    "source", "source", COLUMN_WORD, 0, COLUMN_MEMBER (Row, source), .show = show_source \
  }
#define ANY(errors, value) ((errors).n > 0 ? (value) : NAN)

COLUMN_NUMBER_OF (ErrorStatistics, errors_median, ANY (*p, p->median_abs))
COLUMN_NUMBER_OF (ErrorStatistics, errors_p90, ANY (*p, p->p90_abs))
COLUMN_NUMBER_OF (ErrorStatistics, errors_mean, ANY (*p, p->mean))

static const Column speed_columns[] = {
  { "n", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (ErrorStatistics, n) },
  { "median_absolute_error", NULL, COLUMN_RATIO, 0, .number = errors_median },
  { "p90_absolute_error", NULL, COLUMN_RATIO, 0, .number = errors_p90 },
  { "mean_error", NULL, COLUMN_CHANGE, 0, .number = errors_mean },
  { 0 },
};

COLUMN_TEXT_OF (TrainingErrors, group_metric, training_metric_name (p->metric))
COLUMN_NUMBER_OF (TrainingErrors, group_median, ANY (p->errors, p->errors.median_abs))
COLUMN_NUMBER_OF (TrainingErrors, group_p90, ANY (p->errors, p->errors.p90_abs))
COLUMN_NUMBER_OF (TrainingErrors, group_mean, ANY (p->errors, p->errors.mean))

static const Column error_columns[] = {
  SOURCE (TrainingErrors),
  { "metric", "metric", COLUMN_WORD, 0, .text = group_metric },
  { "n", "rows", COLUMN_COUNT, 0, COLUMN_MEMBER (TrainingErrors, errors.n) },
  { "median_absolute_error", "median |error|", COLUMN_RATIO, 0, .number = group_median },
  { "p90_absolute_error", "90 % below", COLUMN_RATIO, 0, .number = group_p90 },
  { "mean_error", "mean error", COLUMN_CHANGE, 0, .number = group_mean },
  { "not_simulated", "not simulated", COLUMN_COUNT, COLUMN_IF_ANY,
    COLUMN_MEMBER (TrainingErrors, n_failed) },
  { 0 },
};

static const Column layout_columns[] = {
  { "source", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (LayoutRanking, source) },
  { "n", NULL, COLUMN_COUNT, 0, COLUMN_MEMBER (LayoutRanking, n) },
  { "kendall_tau_b", NULL, COLUMN_NUMBER, 0, COLUMN_MEMBER (LayoutRanking, tau) },
  { "regret", NULL, COLUMN_RATIO, 0, COLUMN_MEMBER (LayoutRanking, regret) },
  { "pick", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (LayoutRanking, pick) },
  { "best", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (LayoutRanking, best) },
  { 0 },
};

static const Column ranking_columns[] = {
  SOURCE (RankingSummary),
  { "groups", "groups", COLUMN_COUNT, 0, COLUMN_MEMBER (RankingSummary, n_groups) },
  { "rows", "rows", COLUMN_COUNT, 0, COLUMN_MEMBER (RankingSummary, n_rows) },
  { "mean_kendall_tau_b", "mean Kendall tau-b", COLUMN_NUMBER, 0,
    COLUMN_MEMBER (RankingSummary, tau) },
  { "mean_regret", "mean regret", COLUMN_RATIO, 0, COLUMN_MEMBER (RankingSummary, regret) },
  { 0 },
};

static const Column calibrated_columns[] = {
  { "basis", "basis", COLUMN_WORD, 0, COLUMN_MEMBER (CalibratedFigures, basis) },
  { "n", "n", COLUMN_COUNT, 0, COLUMN_MEMBER (CalibratedFigures, n) },
  { "figures", "figures", COLUMN_WORD, 0, COLUMN_MEMBER (CalibratedFigures, figures) },
  { 0 },
};

static const Column nodes_columns[] = {
  SOURCE (NodesErrors),
  { "nodes", "nodes", COLUMN_COUNT, 0, COLUMN_MEMBER (NodesErrors, n_nodes) },
  { "n", "rows", COLUMN_COUNT, 0, COLUMN_MEMBER (NodesErrors, errors.n) },
  { "median_absolute_error", "median |error|", COLUMN_RATIO, 0,
    COLUMN_MEMBER (NodesErrors, errors.median_abs) },
  { "p90_absolute_error", "90 % below", COLUMN_RATIO, 0,
    COLUMN_MEMBER (NodesErrors, errors.p90_abs) },
  { "median_error", "median error", COLUMN_CHANGE, 0, COLUMN_MEMBER (NodesErrors, errors.median) },
  { 0 },
};

static const Column trend_columns[] = {
  SOURCE (NodesTrend),
  { "n", "rows", COLUMN_COUNT, 0, COLUMN_MEMBER (NodesTrend, n) },
  { "fewest_nodes", "fewest nodes", COLUMN_COUNT, 0, COLUMN_MEMBER (NodesTrend, fewest) },
  { "most_nodes", "most nodes", COLUMN_COUNT, 0, COLUMN_MEMBER (NodesTrend, most) },
  { "slope_per_doubling", "error grows a doubling of nodes", COLUMN_CHANGE, 0,
    COLUMN_MEMBER (NodesTrend, slope) },
  { 0 },
};

/* ---- goals ----------------------------------------------------------------------------------- */

/* "1.2 %", "0.87", "+1.2 % a doubling": newly allocated; what GOAL asks for. */
static char *
goal_text (const TrainingGoal *goal, double value, const char *percent)
{
  if (goal->kind == GOAL_RANKING)
    return g_strdup_printf ("%.2f", value);
  return g_strdup_printf (percent, 100 * value);
}

static char *
show_reached (const Column *column, gconstpointer row)
{
  const GoalResult *result = row;

  (void) column;
  return goal_text (result->goal, result->first,
                    result->goal->kind == GOAL_FITS    ? "%.1f %% right"
                    : result->goal->kind == GOAL_TREND ? "%+.1f %% a doubling"
                                                       : "%.1f %%");
}

static char *
show_goal (const Column *column, gconstpointer row)
{
  const GoalResult *result = row;

  (void) column;
  return goal_text (result->goal, result->goal->first, "%.0f %%");
}

static gboolean
has_no_second (const TrainingGoal *goal)
{
  return goal->kind == GOAL_RANKING || goal->kind == GOAL_TREND
         || (goal->kind == GOAL_FITS && goal->outcome != GOAL_OUTCOME_ANY);
}

static char *
show_second (const Column *column, gconstpointer row)
{
  const GoalResult *result = row;

  (void) column;
  if (has_no_second (result->goal))
    return g_strdup ("");
  if (result->goal->kind == GOAL_FITS)
    return g_strdup_printf ("%.0f below %.0f %%", result->second, 100 * TRAINING_FULL_SHARE);
  return g_strdup_printf ("%.1f %%", 100 * result->second);
}

static char *
show_second_goal (const Column *column, gconstpointer row)
{
  const GoalResult *result = row;

  (void) column;
  if (has_no_second (result->goal) || !isfinite (result->goal->second))
    return g_strdup ("");
  if (result->goal->kind == GOAL_FITS)
    return g_strdup ("0");
  return g_strdup_printf ("%.0f %%", 100 * result->goal->second);
}

static char *
show_verdict (const Column *column, gconstpointer row)
{
  const GoalResult *result = row;

  (void) column;
  if (result->n_failed > 0 && result->goal->kind != GOAL_RANKING)
    return g_strdup_printf ("MISSED: %u rows not simulated", result->n_failed);
  return g_strdup (result->met ? "met" : "MISSED");
}

static const Column goal_columns[] = {
  { NULL, "rows or groups of", COLUMN_WORD, 0, COLUMN_VIA (GoalResult, goal, title) },
  { NULL, "n", COLUMN_COUNT, 0, COLUMN_MEMBER (GoalResult, n) },
  { NULL, "median |error|", COLUMN_NUMBER, 0, COLUMN_MEMBER (GoalResult, first),
    .show = show_reached },
  { NULL, "goal", COLUMN_NUMBER, 0, COLUMN_VIA (GoalResult, goal, first), .show = show_goal },
  { NULL, "90 % below", COLUMN_NUMBER, 0, COLUMN_MEMBER (GoalResult, second), .show = show_second },
  { NULL, "goal", COLUMN_NUMBER, 0, COLUMN_VIA (GoalResult, goal, second),
    .show = show_second_goal },
  { NULL, "", COLUMN_WORD, 0, COLUMN_VIA (GoalResult, goal, title), .show = show_verdict },
  { 0 },
};

/* Runs that a goal about healthy ones leaves out. */
static void
append_slow (const TrainingValidation *self, GString *out)
{
  for (guint i = 0; i < self->goals->len; i++)
    {
      const TrainingGoal *goal = g_array_index (self->goals, GoalResult, i).goal;
      guint               n = 0;

      for (guint r = 0; goal->healthy && r < self->rows->len; r++)
        {
          const TrainingRow *row = row_at (self, r)->measured;

          if (!row->slow || !g_strv_contains ((const char *const *) goal->sources, row->source)
              || (goal->tensor_over_nodes && !row->tensor_over_nodes))
            continue;
          if (n++ == 0)
            g_string_append_printf (out, "Left out of '%s', %d times as slow as their neighbours: ",
                                    goal->title, TRAINING_SLOW_FACTOR);
          g_string_append_printf (out, "%s%s", n > 1 ? ", " : "", row->id);
        }
      if (n > 0)
        g_string_append_c (out, '\n');
    }
}

static struct json_object *
goals_json (const TrainingValidation *self)
{
  static const struct
  {
    const char *first, *second;
  } keys[] = {
    [GOAL_TIME] = { "median_absolute_error", "p90_absolute_error" },
    [GOAL_MEMORY] = { "median_absolute_error", "p90_absolute_error" },
    [GOAL_FITS] = { "right", "out_of_memory_below_90_percent" },
    [GOAL_RANKING] = { "mean_kendall_tau_b", NULL },
    [GOAL_TREND] = { "slope_per_doubling", NULL },
  };
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < self->goals->len; i++)
    {
      const GoalResult   *result = &g_array_index (self->goals, GoalResult, i);
      struct json_object *object = json_object_new_object (), *wanted = json_object_new_object ();
      const char         *first = keys[result->goal->kind].first;
      const char *second = has_no_second (result->goal) ? NULL : keys[result->goal->kind].second;

      json_add_text (object, "rows", result->goal->title);
      json_add_count (object, "n", result->n);
      json_add_count (object, "not_simulated", result->n_failed);
      json_add_number (object, first, result->first);
      json_add_number (wanted, first, result->goal->first);
      if (second != NULL)
        {
          json_add_number (object, second, result->second);
          if (isfinite (result->goal->second))
            json_add_number (wanted, second, result->goal->second);
        }
      json_object_object_add (object, "goal", wanted);
      json_object_object_add (object, "met", json_object_new_boolean (result->met));
      json_object_array_add (list, object);
    }
  return list;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void
append_offenders (const TrainingValidation *self, GString *out)
{
  const GArray *offenders = self->fits.offenders;

  g_string_append_printf (out, "  %u of them below %.0f %% of capacity", offenders->len,
                          100 * TRAINING_FULL_SHARE);
  for (guint i = 0; i < offenders->len; i++)
    {
      const ValidatedTraining *row = row_at (self, g_array_index (offenders, guint, i));

      g_string_append_printf (out, "%s%s (%.0f %%)", i == 0 ? ": " : ", ", row->measured->id,
                              100 * row->memory_share);
    }
  g_string_append_c (out, '\n');
}

typedef struct
{
  const char *name;
  guint       fit, misfit; /* predictions */
} Outcome;

static void
describe_fits (Document *document, const TrainingValidation *self)
{
  static const Column columns[] = {
    { NULL, "fits", COLUMN_WORD, 0, COLUMN_MEMBER (Outcome, name) },
    { NULL, "predicted to fit", COLUMN_COUNT, 0, COLUMN_MEMBER (Outcome, fit) },
    { NULL, "predicted not to fit", COLUMN_COUNT, 0, COLUMN_MEMBER (Outcome, misfit) },
    { 0 },
  };
  g_autoptr (GString) text = g_string_new (NULL);
  const FitsSummary  *fits = &self->fits;
  guint               n = fits->n[0][0] + fits->n[0][1] + fits->n[1][0] + fits->n[1][1];

  if (n > 0)
    {
      const Outcome outcomes[] = { { "ran", fits->n[1][1], fits->n[1][0] },
                                   { "ran out of memory", fits->n[0][1], fits->n[0][0] } };

      document_section (document, "Memory");
      document_table (document, columns, (Rows){ outcomes, 2, sizeof (Outcome) });
      document_line (document, "  %.1f %% of %u are right",
                     100.0 * (fits->n[0][0] + fits->n[1][1]) / n, n);
    }
  if (!isnan (fits->lowest_share))
    {
      document_line (document,
                     "  runs out of memory are predicted to need %.0f %% of capacity or more",
                     100 * fits->lowest_share);
      append_offenders (self, text);
      document_lines (document, text->str);
    }
  if (fits->n_wrongly_full > 0)
    document_line (document, "%u rows with a measured speed are predicted not to fit",
                   fits->n_wrongly_full);
}

static struct json_object *
fits_json (const TrainingValidation *self)
{
  const FitsSummary  *fits = &self->fits;
  struct json_object *object = json_object_new_object (), *offenders = json_object_new_array ();

  json_add_count (object, "ran_predicted_to_fit", fits->n[1][1]);
  json_add_count (object, "ran_predicted_not_to_fit", fits->n[1][0]);
  json_add_count (object, "out_of_memory_predicted_to_fit", fits->n[0][1]);
  json_add_count (object, "out_of_memory_predicted_not_to_fit", fits->n[0][0]);
  json_add_count (object, "not_simulated", fits->n_failed);
  json_add_count (object, "measured_speed_predicted_not_to_fit", fits->n_wrongly_full);
  json_add_number (object, "lowest_memory_share_out_of_memory", fits->lowest_share);
  for (guint i = 0; i < fits->offenders->len; i++)
    {
      guint at = g_array_index (fits->offenders, guint, i);

      json_object_array_add (
          offenders,
          json_object_new_string (g_array_index (self->rows, ValidatedTraining, at).measured->id));
    }
  json_object_object_add (object, "out_of_memory_below_90_percent", offenders);
  return object;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
append_calibrated (const TrainingValidation *self, GString *out)
{
  guint n = 0;

  for (guint i = 0; i < self->calibrated->len; i++)
    n += g_array_index (self->calibrated, CalibratedFigures, i).n;
  g_string_append_printf (out,
                          "\n%u figures of the GPU, node and framework profiles are calibrated%s\n",
                          n, n > 0 ? ":" : "");
  for (guint i = 0; i < self->calibrated->len; i++)
    {
      const CalibratedFigures *group = &g_array_index (self->calibrated, CalibratedFigures, i);

      g_string_append_printf (out, "  %u %s: %s\n", group->n, group->basis, group->figures);
    }
}

static void
append_reasons (const TrainingValidation *self, GString *out)
{
  g_autoptr (GPtrArray) reasons = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    g_ptr_array_add (reasons, row_at (self, i)->reason);
  validation_append_reasons (reasons, out);
}

static void
describe_summary (Document *document, gconstpointer answer)
{
  const TrainingValidation *self = answer;
  g_autoptr (GString)       text = g_string_new (NULL);

  document_table (document, goal_columns, rows_of_array (self->goals));
  append_slow (self, text);
  document_lines (document, text->str);
  if (self->errors->len > 0)
    document_section (document, "Rows by source");
  document_table (document, error_columns, rows_of_array (self->errors));
  if (self->trends->len > 0)
    {
      document_section (document,
                        "Rows of speed by number of nodes (error of the speed: above 0 is "
                        "too fast)");
      document_table (document, nodes_columns, rows_of_array (self->nodes));
      document_section (document, "How that grows");
      document_table (document, trend_columns, rows_of_array (self->trends));
    }
  if (self->rankings->len > 0)
    document_section (document, "Rows that differ in the layout only (micro-batch, accumulation, "
                                "axes, checkpointing)");
  document_table (document, ranking_columns, rows_of_array (self->rankings));
  describe_fits (document, self);
  append_calibrated (self, g_string_truncate (text, 0));
  if (self->n_calibrating > 0)
    g_string_append_printf (text, "%u rows marked 'calibrate' count nowhere above\n",
                            self->n_calibrating);
  if (self->table->n_networks > 0)
    g_string_append_printf (text,
                            "%u rows are predicted on the network that their run measured: they "
                            "are not blind\n",
                            self->table->n_networks);
  append_reasons (self, text);
  g_string_append (text, "\nerror = predicted / measured - 1\n");
  document_lines (document, text->str);
}

static void
describe_rows (Document *document, gconstpointer answer)
{
  const TrainingValidation *self = answer;
  struct json_object       *root = document_json (document), *summary;

  document_table (document, row_columns, rows_of_array (self->rows));
  document_results (document, "rows", row_columns, rows_of_array (self->rows));
  if (root == NULL)
    return;
  summary = json_object_new_object ();
  json_object_object_add (summary, "speed", column_object (speed_columns, &self->speed));
  json_object_object_add (summary, "errors",
                          column_list (error_columns, rows_of_array (self->errors)));
  json_object_object_add (summary, "goals", goals_json (self));
  json_object_object_add (summary, "by_nodes",
                          column_list (nodes_columns, rows_of_array (self->nodes)));
  json_object_object_add (summary, "trends",
                          column_list (trend_columns, rows_of_array (self->trends)));
  json_object_object_add (summary, "rankings",
                          column_list (ranking_columns, rows_of_array (self->rankings)));
  json_object_object_add (summary, "layouts",
                          column_list (layout_columns, rows_of_array (self->layouts)));
  json_object_object_add (summary, "fits", fits_json (self));
  json_object_object_add (summary, "calibrated",
                          column_list (calibrated_columns, rows_of_array (self->calibrated)));
  json_add_count (summary, "calibrating_rows", self->n_calibrating);
  json_add_count (summary, "not_simulated", self->n_failed);
  json_object_object_add (root, "summary", summary);
}

const PageKind training_summary = { .describe = describe_summary };
const PageKind training_rows = { .describe = describe_rows, .columns = row_columns };
