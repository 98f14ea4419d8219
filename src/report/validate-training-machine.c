/* A validation of training runs as CSV and JSON. */
#include <math.h>

#include "report/fields-private.h"
#include "report/validate-training.h"

/* ---- rows ------------------------------------------------------------------------------------ */

#define ROW_TEXT(name, expression)   FIELD_TEXT_OF (ValidatedTraining, row_##name, expression)
#define ROW_NUMBER(name, expression) FIELD_NUMBER_OF (ValidatedTraining, row_##name, expression)

ROW_TEXT (id, p->measured->id)
ROW_TEXT (metric, p->measured->metric_name)
ROW_NUMBER (measured, p->measured->value)
ROW_NUMBER (predicted, p->reason == NULL ? p->predicted : NAN)
ROW_NUMBER (error, p->reason == NULL && p->measured->metric != METRIC_FITS ? p->error : NAN)
ROW_TEXT (reason, p->reason)
ROW_TEXT (source, p->measured->source)
ROW_TEXT (use, p->measured->calibrates ? "calibrate" : "test")
ROW_NUMBER (memory_share, p->reason == NULL ? p->memory_share : NAN)
ROW_TEXT (profiles, p->profiles)
ROW_NUMBER (nodes, p->measured->n_nodes > 0 ? p->measured->n_nodes : NAN)
ROW_TEXT (network, p->measured->network)

static const Field row_fields[] = {
  { .name = "id", .type = FIELD_WORD, .text = row_id },
  { .name = "metric", .type = FIELD_WORD, .text = row_metric },
  { .name = "measured", .type = FIELD_NUMBER, .number = row_measured },
  { .name = "predicted", .type = FIELD_NUMBER, .number = row_predicted },
  { .name = "error", .type = FIELD_NUMBER, .number = row_error },
  { .name = "reason", .type = FIELD_WORD, .text = row_reason },
  { .name = "source", .type = FIELD_WORD, .text = row_source, .place = FIELD_IN_JSON },
  { .name = "use", .type = FIELD_WORD, .text = row_use, .place = FIELD_IN_JSON },
  { .name = "memory_share",
    .type = FIELD_NUMBER,
    .number = row_memory_share,
    .place = FIELD_IN_JSON },
  { .name = "profiles", .type = FIELD_WORD, .text = row_profiles },
  FIELDS_OF_THE_PROGRAM,
  { .name = "nodes", .type = FIELD_NUMBER, .number = row_nodes },
  { .name = "network", .type = FIELD_WORD, .text = row_network },
  { 0 },
};

void
report_training_csv (const TrainingValidation *self, GString *out)
{
  fields_csv (row_fields, self->rows->data, self->rows->len, sizeof (ValidatedTraining), out);
}

/* ---- summary --------------------------------------------------------------------------------- */

#define ANY(errors, value) ((errors).n > 0 ? (value) : NAN)

FIELD_NUMBER_OF (ErrorStatistics, errors_n, p->n)
FIELD_NUMBER_OF (ErrorStatistics, errors_median, ANY (*p, p->median_abs))
FIELD_NUMBER_OF (ErrorStatistics, errors_p90, ANY (*p, p->p90_abs))
FIELD_NUMBER_OF (ErrorStatistics, errors_mean, ANY (*p, p->mean))

static const Field error_fields[] = {
  { .name = "n", .type = FIELD_COUNT, .number = errors_n },
  { .name = "median_absolute_error", .type = FIELD_NUMBER, .number = errors_median },
  { .name = "p90_absolute_error", .type = FIELD_NUMBER, .number = errors_p90 },
  { .name = "mean_error", .type = FIELD_NUMBER, .number = errors_mean },
  { 0 },
};

static struct json_object *
errors_json (const TrainingValidation *self)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < self->errors->len; i++)
    {
      const TrainingErrors *group = &g_array_index (self->errors, TrainingErrors, i);
      struct json_object   *object = json_object_new_object ();

      json_add_text (object, "source", group->source);
      json_add_text (object, "metric", training_metric_name (group->metric));
      fields_add_json (error_fields, &group->errors, object);
      json_add_count (object, "not_simulated", group->n_failed);
      json_object_array_add (list, object);
    }
  return list;
}

FIELD_TEXT_OF (LayoutRanking, layout_source, p->source)
FIELD_NUMBER_OF (LayoutRanking, layout_n, p->n)
FIELD_NUMBER_OF (LayoutRanking, layout_tau, p->tau)
FIELD_NUMBER_OF (LayoutRanking, layout_regret, p->regret)
FIELD_TEXT_OF (LayoutRanking, layout_pick, p->pick)
FIELD_TEXT_OF (LayoutRanking, layout_best, p->best)

static const Field layout_fields[] = {
  { .name = "source", .type = FIELD_WORD, .text = layout_source },
  { .name = "n", .type = FIELD_COUNT, .number = layout_n },
  { .name = "kendall_tau_b", .type = FIELD_NUMBER, .number = layout_tau },
  { .name = "regret", .type = FIELD_NUMBER, .number = layout_regret },
  { .name = "pick", .type = FIELD_WORD, .text = layout_pick },
  { .name = "best", .type = FIELD_WORD, .text = layout_best },
  { 0 },
};

FIELD_TEXT_OF (RankingSummary, ranking_source, p->source)
FIELD_NUMBER_OF (RankingSummary, ranking_groups, p->n_groups)
FIELD_NUMBER_OF (RankingSummary, ranking_rows, p->n_rows)
FIELD_NUMBER_OF (RankingSummary, ranking_tau, p->tau)
FIELD_NUMBER_OF (RankingSummary, ranking_regret, p->regret)

static const Field ranking_fields[] = {
  { .name = "source", .type = FIELD_WORD, .text = ranking_source },
  { .name = "groups", .type = FIELD_COUNT, .number = ranking_groups },
  { .name = "rows", .type = FIELD_COUNT, .number = ranking_rows },
  { .name = "mean_kendall_tau_b", .type = FIELD_NUMBER, .number = ranking_tau },
  { .name = "mean_regret", .type = FIELD_NUMBER, .number = ranking_regret },
  { 0 },
};

FIELD_TEXT_OF (CalibratedFigures, calibrated_basis, p->basis)
FIELD_NUMBER_OF (CalibratedFigures, calibrated_n, p->n)
FIELD_TEXT_OF (CalibratedFigures, calibrated_figures, p->figures)

static const Field calibrated_fields[] = {
  { .name = "basis", .type = FIELD_WORD, .text = calibrated_basis },
  { .name = "n", .type = FIELD_COUNT, .number = calibrated_n },
  { .name = "figures", .type = FIELD_WORD, .text = calibrated_figures },
  { 0 },
};

static struct json_object *
list_json (const Field *fields, GArray *rows)
{
  return fields_json_list (fields, rows->data, rows->len, g_array_get_element_size (rows));
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
      const char *first = keys[result->goal->kind].first, *second = keys[result->goal->kind].second;

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

FIELD_TEXT_OF (NodesErrors, nodes_source, p->source)
FIELD_NUMBER_OF (NodesErrors, nodes_nodes, p->n_nodes)
FIELD_NUMBER_OF (NodesErrors, nodes_n, p->errors.n)
FIELD_NUMBER_OF (NodesErrors, nodes_median_absolute, p->errors.median_abs)
FIELD_NUMBER_OF (NodesErrors, nodes_p90, p->errors.p90_abs)
FIELD_NUMBER_OF (NodesErrors, nodes_median, p->errors.median)

static const Field nodes_fields[] = {
  { .name = "source", .type = FIELD_WORD, .text = nodes_source },
  { .name = "nodes", .type = FIELD_COUNT, .number = nodes_nodes },
  { .name = "n", .type = FIELD_COUNT, .number = nodes_n },
  { .name = "median_absolute_error", .type = FIELD_NUMBER, .number = nodes_median_absolute },
  { .name = "p90_absolute_error", .type = FIELD_NUMBER, .number = nodes_p90 },
  { .name = "median_error", .type = FIELD_NUMBER, .number = nodes_median },
  { 0 },
};

FIELD_TEXT_OF (NodesTrend, trend_source, p->source)
FIELD_NUMBER_OF (NodesTrend, trend_n, p->n)
FIELD_NUMBER_OF (NodesTrend, trend_fewest, p->fewest)
FIELD_NUMBER_OF (NodesTrend, trend_most, p->most)
FIELD_NUMBER_OF (NodesTrend, trend_slope, p->slope)

static const Field trend_fields[] = {
  { .name = "source", .type = FIELD_WORD, .text = trend_source },
  { .name = "n", .type = FIELD_COUNT, .number = trend_n },
  { .name = "fewest_nodes", .type = FIELD_COUNT, .number = trend_fewest },
  { .name = "most_nodes", .type = FIELD_COUNT, .number = trend_most },
  { .name = "slope_per_doubling", .type = FIELD_NUMBER, .number = trend_slope },
  { 0 },
};

static struct json_object *
summary_json (const TrainingValidation *self)
{
  struct json_object *summary = json_object_new_object ();

  json_object_object_add (summary, "speed", fields_json (error_fields, &self->speed));
  json_object_object_add (summary, "errors", errors_json (self));
  json_object_object_add (summary, "goals", goals_json (self));
  json_object_object_add (summary, "by_nodes", list_json (nodes_fields, self->nodes));
  json_object_object_add (summary, "trends", list_json (trend_fields, self->trends));
  json_object_object_add (summary, "rankings", list_json (ranking_fields, self->rankings));
  json_object_object_add (summary, "layouts", list_json (layout_fields, self->layouts));
  json_object_object_add (summary, "fits", fits_json (self));
  json_object_object_add (summary, "calibrated", list_json (calibrated_fields, self->calibrated));
  json_add_count (summary, "calibrating_rows", self->n_calibrating);
  json_add_count (summary, "not_simulated", self->n_failed);
  return summary;
}

void
report_training_json (const TrainingValidation *self, GString *out)
{
  struct json_object *root = json_document_new ();

  json_object_object_add (root, "rows", list_json (row_fields, self->rows));
  json_object_object_add (root, "summary", summary_json (self));
  json_finish (root, out);
}
