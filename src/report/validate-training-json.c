/* A validation of training runs as JSON. */
#include <math.h>

#include "report/json-private.h"
#include "report/validate-training.h"

static struct json_object *
row_json (const ValidatedTraining *row)
{
  struct json_object *object = json_object_new_object ();
  gboolean            good = row->reason == NULL;

  json_add_text (object, "id", row->measured->id);
  json_add_text (object, "metric", row->measured->metric_name);
  json_add_number (object, "measured", row->measured->value);
  json_add_number (object, "predicted", good ? row->predicted : NAN);
  json_add_number (object, "error",
                   good && row->measured->metric != METRIC_FITS ? row->error : NAN);
  json_add_text (object, "reason", row->reason);
  json_add_text (object, "source", row->measured->source);
  json_add_text (object, "use", row->measured->calibrates ? "calibrate" : "test");
  json_add_number (object, "memory_share", good ? row->memory_share : NAN);
  json_add_text (object, "profiles", row->profiles);
  return object;
}

static void
add_statistics (struct json_object *object, const ErrorStatistics *errors)
{
  gboolean any = errors->n > 0;

  json_add_count (object, "n", errors->n);
  json_add_number (object, "median_absolute_error", any ? errors->median_abs : NAN);
  json_add_number (object, "p90_absolute_error", any ? errors->p90_abs : NAN);
  json_add_number (object, "mean_error", any ? errors->mean : NAN);
}

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
      add_statistics (object, &group->errors);
      json_add_count (object, "not_simulated", group->n_failed);
      json_object_array_add (list, object);
    }
  return list;
}

static struct json_object *
layouts_json (const TrainingValidation *self)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < self->layouts->len; i++)
    {
      const LayoutRanking *group = &g_array_index (self->layouts, LayoutRanking, i);
      struct json_object  *object = json_object_new_object ();

      json_add_text (object, "source", group->source);
      json_add_count (object, "n", group->n);
      json_add_number (object, "kendall_tau_b", group->tau);
      json_add_number (object, "regret", group->regret);
      json_add_text (object, "pick", group->pick);
      json_add_text (object, "best", group->best);
      json_object_array_add (list, object);
    }
  return list;
}

static struct json_object *
rankings_json (const TrainingValidation *self)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < self->rankings->len; i++)
    {
      const RankingSummary *ranking = &g_array_index (self->rankings, RankingSummary, i);
      struct json_object   *object = json_object_new_object ();

      json_add_text (object, "source", ranking->source);
      json_add_count (object, "groups", ranking->n_groups);
      json_add_count (object, "rows", ranking->n_rows);
      json_add_number (object, "mean_kendall_tau_b", ranking->tau);
      json_add_number (object, "mean_regret", ranking->regret);
      json_object_array_add (list, object);
    }
  return list;
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
          json_add_number (wanted, second, result->goal->second);
        }
      json_object_object_add (object, "goal", wanted);
      json_object_object_add (object, "met", json_object_new_boolean (result->met));
      json_object_array_add (list, object);
    }
  return list;
}

static struct json_object *
calibrated_json (const TrainingValidation *self)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < self->calibrated->len; i++)
    {
      const CalibratedFigures *group = &g_array_index (self->calibrated, CalibratedFigures, i);
      struct json_object      *object = json_object_new_object ();

      json_add_text (object, "basis", group->basis);
      json_add_count (object, "n", group->n);
      json_add_text (object, "figures", group->figures);
      json_object_array_add (list, object);
    }
  return list;
}

static struct json_object *
summary_json (const TrainingValidation *self)
{
  struct json_object *summary = json_object_new_object (), *speed = json_object_new_object ();

  add_statistics (speed, &self->speed);
  json_object_object_add (summary, "speed", speed);
  json_object_object_add (summary, "errors", errors_json (self));
  json_object_object_add (summary, "goals", goals_json (self));
  json_object_object_add (summary, "rankings", rankings_json (self));
  json_object_object_add (summary, "layouts", layouts_json (self));
  json_object_object_add (summary, "fits", fits_json (self));
  json_object_object_add (summary, "calibrated", calibrated_json (self));
  json_add_count (summary, "calibrating_rows", self->n_calibrating);
  json_add_count (summary, "not_simulated", self->n_failed);
  return summary;
}

void
report_training_json (const TrainingValidation *self, GString *out)
{
  struct json_object *root = json_document_new (), *rows = json_object_new_array ();

  for (guint i = 0; i < self->rows->len; i++)
    json_object_array_add (rows, row_json (&g_array_index (self->rows, ValidatedTraining, i)));
  json_object_object_add (root, "rows", rows);
  json_object_object_add (root, "summary", summary_json (self));
  json_finish (root, out);
}
