/* What the errors of training runs come to: by source, by group of layouts, by goal. */
#include <math.h>
#include <string.h>

#include "evidence/tables/training-private.h"

/* ---- errors ---------------------------------------------------------------------------------- */

/* Which rows a summary is of. */
typedef gboolean (*RowFilter) (const ValidatedTraining *row, gconstpointer user);

/* Errors of the rows that FILTER wants; *N_FAILED: those among them that have none. */
static ErrorStatistics
errors_of (const TrainingValidation *self, RowFilter filter, gconstpointer user, guint *n_failed)
{
  g_autofree double *errors = g_new (double, self->rows->len);
  guint              n = 0;

  *n_failed = 0;
  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = training_row_at (self, i);

      if (row->measured->calibrates || !filter (row, user))
        continue;
      if (row->reason != NULL)
        (*n_failed)++;
      else
        errors[n++] = row->error;
    }
  return statistics_of_errors (errors, n);
}

/* Sources in order of appearance: pointers into the table. */
static GPtrArray *
sources_of (const TrainingValidation *self)
{
  GPtrArray *sources = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const char *source = training_row_at (self, i)->measured->source;

      if (!g_ptr_array_find_with_equal_func (sources, source, g_str_equal, NULL))
        g_ptr_array_add (sources, (gpointer) source);
    }
  return sources;
}

static gboolean
has_source_and_metric (const ValidatedTraining *row, gconstpointer user)
{
  const TrainingErrors *group = user;

  return row->measured->metric == group->metric
         && (group->source == NULL || strcmp (row->measured->source, group->source) == 0);
}

/* The groups of SOURCE (NULL: all), by metric; empty ones are left out. */
static void
add_errors (TrainingValidation *self, const char *source)
{
  for (guint metric = 0; metric < METRIC_N; metric++)
    {
      TrainingErrors group = { .source = source, .metric = (TrainingMetric) metric };

      group.errors = errors_of (self, has_source_and_metric, &group, &group.n_failed);
      if (metric != METRIC_FITS && group.errors.n + group.n_failed > 0)
        g_array_append_val (self->errors, group);
    }
}

static gboolean
is_speed (const ValidatedTraining *row, gconstpointer user)
{
  (void) user;
  return training_metric_is_speed (row->measured->metric);
}

/* ---- layouts --------------------------------------------------------------------------------- */

guint
training_regret (const double *measured, const double *predicted, guint n, gboolean less_is_better,
                 double *regret)
{
  guint  pick = 0;
  double best = measured[0];

  g_assert (n > 0);
  for (guint i = 1; i < n; i++)
    {
      if (less_is_better ? predicted[i] < predicted[pick] : predicted[i] > predicted[pick])
        pick = i;
      best = less_is_better ? MIN (best, measured[i]) : MAX (best, measured[i]);
    }
  *regret = less_is_better ? measured[pick] / best - 1 : best / measured[pick] - 1;
  return pick;
}

/* What the rows that are ranked with ROW have in common: all but the layout, or the model. */
static const char *
ranked_as (const ValidatedTraining *row, gboolean strategies)
{
  return strategies ? row->measured->model_group : row->measured->layout_group;
}

/* The rows from FIRST on that are of its group. */
static GPtrArray *
members_of (const TrainingValidation *self, guint first, gboolean strategies)
{
  const char *group = ranked_as (training_row_at (self, first), strategies);
  GPtrArray  *members = g_ptr_array_new ();

  for (guint i = first; i < self->rows->len; i++)
    {
      ValidatedTraining *row = training_row_at (self, i);

      if (training_row_counts (row) && ranked_as (row, strategies) == group)
        g_ptr_array_add (members, row);
    }
  return members;
}

/* Adds the group of MEMBERS unless there is nothing to rank. */
static void
add_layouts (GArray *groups, const GPtrArray *members)
{
  const TrainingRow *first = ((ValidatedTraining *) members->pdata[0])->measured;
  const guint        n = members->len;
  const gboolean     is_time = training_metric_is_time (first->metric);
  g_autofree double *measured = g_new (double, n), *predicted = g_new (double, n);
  LayoutRanking      group = { .source = first->source, .n = n };
  guint              best = 0, pick;

  for (guint i = 0; i < n; i++)
    {
      const ValidatedTraining *row = members->pdata[i];

      measured[i] = row->measured->value;
      predicted[i] = row->predicted;
      if (is_time ? measured[i] < measured[best] : measured[i] > measured[best])
        best = i;
    }
  group.tau = statistics_kendall_tau_b (measured, predicted, n);
  pick = training_regret (measured, predicted, n, is_time, &group.regret);
  group.pick = ((ValidatedTraining *) members->pdata[pick])->measured->id;
  group.best = ((ValidatedTraining *) members->pdata[best])->measured->id;
  if (!isnan (group.tau))
    g_array_append_val (groups, group);
}

/* Appends LayoutRanking to GROUPS. */
static void
rank_rows (const TrainingValidation *self, gboolean strategies, GArray *groups)
{
  g_autoptr (GHashTable) seen = g_hash_table_new (NULL, NULL);

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = training_row_at (self, i);
      g_autoptr (GPtrArray)    members = NULL;

      if (!training_row_counts (row) || !training_metric_is_speed (row->measured->metric)
          || !g_hash_table_add (seen, (gpointer) ranked_as (row, strategies)))
        continue;
      members = members_of (self, i, strategies);
      add_layouts (groups, members);
    }
}

/* Mean over GROUPS of the SOURCES (NULL-terminated; NULL: all). */
static RankingSummary
ranking_of (const GArray *groups, const char *const *sources)
{
  RankingSummary ranking = { .source = sources != NULL ? sources[0] : NULL };

  for (guint i = 0; i < groups->len; i++)
    {
      const LayoutRanking *group = &g_array_index (groups, LayoutRanking, i);

      if (sources != NULL && !g_strv_contains (sources, group->source))
        continue;
      ranking.n_groups++;
      ranking.n_rows += group->n;
      ranking.tau += group->tau;
      ranking.regret += group->regret;
    }
  ranking.tau /= MAX (ranking.n_groups, 1);
  ranking.regret /= MAX (ranking.n_groups, 1);
  return ranking;
}

static void
add_ranking (TrainingValidation *self, const char *source)
{
  const char *const sources[] = { source, NULL };
  RankingSummary    ranking = ranking_of (self->layouts, source != NULL ? sources : NULL);

  if (ranking.n_groups > 0)
    g_array_append_val (self->rankings, ranking);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void
count_fits (TrainingValidation *self)
{
  FitsSummary *fits = &self->fits;

  fits->lowest_share = NAN;
  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = training_row_at (self, i);

      fits->n_failed += row->measured->metric == METRIC_FITS && row->reason != NULL;
      if (!training_row_counts (row))
        continue;
      fits->n_wrongly_full +=
          training_metric_is_speed (row->measured->metric) && row->memory_share > 1;
      if (row->measured->metric != METRIC_FITS)
        continue;
      fits->n[row->measured->value != 0][row->predicted != 0]++;
      if (row->measured->value != 0)
        continue;
      fits->lowest_share = fmin (fits->lowest_share, row->memory_share);
      if (row->memory_share < TRAINING_FULL_SHARE)
        g_array_append_val (fits->offenders, i);
    }
}

/* ---- goals ----------------------------------------------------------------------------------- */

static gboolean
is_of_peak (TrainingMetric metric, GoalPeak peak)
{
  switch (peak)
    {
    case GOAL_PEAK_ALLOCATED:
      return metric == METRIC_PEAK_ALLOCATED_GIB || metric == METRIC_PEAK_GIB;
    case GOAL_PEAK_DEVICE:
      return metric == METRIC_PEAK_DEVICE_GB;
    default:
      return metric == METRIC_PEAK_RESERVED_GIB;
    }
}

static gboolean
is_of_outcome (const TrainingRow *row, GoalOutcome outcome)
{
  return row->metric == METRIC_FITS
         && (outcome == GOAL_OUTCOME_ANY || (row->value != 0) == (outcome == GOAL_OUTCOME_RAN));
}

static gboolean
is_of_goal (const ValidatedTraining *row, gconstpointer user)
{
  const TrainingGoal *goal = user;
  const gboolean      named =
      g_strv_contains ((const char *const *) goal->sources, row->measured->source);

  switch (goal->kind)
    {
    case GOAL_TIME:
      return named && training_metric_is_speed (row->measured->metric)
             && row->measured->n_nodes >= goal->nodes && !(goal->healthy && row->measured->slow)
             && (!goal->tensor_over_nodes || row->measured->tensor_over_nodes);
    case GOAL_RANKING:
    case GOAL_TREND:
      return named && training_metric_is_speed (row->measured->metric);
    case GOAL_MEMORY:
      return named && is_of_peak (row->measured->metric, goal->peak);
    default:
      return named && is_of_outcome (row->measured, goal->outcome);
    }
}

/* Right rows among those of RESULT's goal, and offenders where it is about runs of any outcome. */
static void
judge_fits (const TrainingValidation *self, GoalResult *result)
{
  const gboolean any = result->goal->outcome == GOAL_OUTCOME_ANY;
  guint          right = 0;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = training_row_at (self, i);

      if (!training_row_counts (row) || !is_of_goal (row, result->goal))
        continue;
      result->n++;
      right += (row->predicted != 0) == (row->measured->value != 0);
      result->second += any && row->measured->value == 0 && row->memory_share < TRAINING_FULL_SHARE;
    }
  result->first = (double) right / MAX (result->n, 1);
  result->met = result->first >= result->goal->first && result->second <= result->goal->second;
}

static void
judge_ranking (const TrainingValidation *self, GoalResult *result)
{
  const char *const *sources = (const char *const *) result->goal->sources;
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (LayoutRanking));
  RankingSummary     ranking;

  if (result->goal->strategies)
    rank_rows (self, TRUE, all);
  ranking = ranking_of (result->goal->strategies ? all : self->layouts, sources);
  result->n = ranking.n_groups;
  result->first = ranking.tau;
  result->met = result->first >= result->goal->first;
}

static void
judge (TrainingValidation *self, const TrainingGoal *goal)
{
  GoalResult      result = { .goal = goal };
  ErrorStatistics errors = errors_of (self, is_of_goal, goal, &result.n_failed);

  if (goal->kind == GOAL_FITS)
    judge_fits (self, &result);
  else if (goal->kind == GOAL_RANKING)
    judge_ranking (self, &result);
  else if (goal->kind == GOAL_TREND)
    {
      const NodesTrend trend =
          training_trend_of (self, (const char *const *) result.goal->sources, result.goal->nodes);

      result.n = isnan (trend.slope) ? 0 : trend.n;
      result.first = trend.slope;
      result.met = fabs (trend.slope) <= result.goal->first;
    }
  else
    {
      result.n = errors.n;
      result.first = errors.median_abs;
      result.second = errors.p90_abs;
      result.met = result.first <= goal->first && result.second <= goal->second;
    }
  result.met = result.met && result.n > 0 && result.n_failed == 0;
  if (result.n + result.n_failed > 0)
    g_array_append_val (self->goals, result);
}

void
training_summarise (TrainingValidation *self)
{
  g_autoptr (GPtrArray) sources = sources_of (self);
  guint                 n_failed;

  for (guint i = 0; i < sources->len; i++)
    add_errors (self, g_ptr_array_index (sources, i));
  add_errors (self, NULL);
  self->speed = errors_of (self, is_speed, NULL, &n_failed);
  training_count_nodes (self, sources);
  rank_rows (self, FALSE, self->layouts);
  for (guint i = 0; i < sources->len; i++)
    add_ranking (self, g_ptr_array_index (sources, i));
  add_ranking (self, NULL);
  count_fits (self);
  for (guint i = 0; i < self->table->goals->len; i++)
    judge (self, &g_array_index (self->table->goals, TrainingGoal, i));
}
