/* What the errors of training runs come to by the number of nodes. */
#include <math.h>

#include "evidence/tables/training-private.h"

#define MANY_NODES 16 /* from here on the trend is the network's: few nodes add their own errors */

/* Of a source among SOURCES (NULL: any), on nodes that are known. */
static gboolean
is_of (const ValidatedTraining *row, const char *const *sources)
{
  return training_row_counts (row) && training_metric_is_speed (row->measured->metric)
         && row->measured->n_nodes > 0
         && (sources == NULL || g_strv_contains (sources, row->measured->source));
}

/* The least number of nodes above N of the rows of SOURCES; G_MAXUINT: none. */
static guint
next_nodes (const TrainingValidation *self, const char *const *sources, guint n)
{
  guint next = G_MAXUINT;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = training_row_at (self, i);

      if (is_of (row, sources) && row->measured->n_nodes > n)
        next = MIN (next, row->measured->n_nodes);
    }
  return next;
}

static void
add_nodes (TrainingValidation *self, const char *const *sources, guint n_nodes)
{
  NodesErrors        group = { sources != NULL ? sources[0] : NULL, n_nodes, { 0 } };
  g_autofree double *errors = g_new (double, self->rows->len);
  guint              n = 0;

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = training_row_at (self, i);

      if (is_of (row, sources) && row->measured->n_nodes == n_nodes)
        errors[n++] = training_speed_error (row);
    }
  group.errors = statistics_of_errors (errors, n);
  g_array_append_val (self->nodes, group);
}

NodesTrend
training_trend_of (const TrainingValidation *self, const char *const *sources, guint least)
{
  const guint        n_rows = self->rows->len;
  g_autofree double *doublings = g_new (double, n_rows), *errors = g_new (double, n_rows);
  NodesTrend         trend = { .source = sources != NULL ? sources[0] : NULL, .fewest = G_MAXUINT };

  for (guint i = 0; i < n_rows; i++)
    {
      const ValidatedTraining *row = training_row_at (self, i);
      const guint              nodes = row->measured->n_nodes;

      if (!is_of (row, sources) || nodes < least)
        continue;
      trend.fewest = MIN (trend.fewest, nodes);
      trend.most = MAX (trend.most, nodes);
      doublings[trend.n] = log2 (nodes);
      errors[trend.n++] = training_speed_error (row);
    }
  trend.slope = statistics_slope (doublings, errors, trend.n);
  return trend;
}

/* Appends TREND where rows tell it. */
static void
add_trend (TrainingValidation *self, NodesTrend trend)
{
  if (!isnan (trend.slope))
    g_array_append_val (self->trends, trend);
}

/* Over all nodes and, where that begins below, from MANY_NODES on. */
static void
count_source (TrainingValidation *self, const char *const *sources)
{
  const NodesTrend trend = training_trend_of (self, sources, 1);

  for (guint n = next_nodes (self, sources, 0); n != G_MAXUINT; n = next_nodes (self, sources, n))
    add_nodes (self, sources, n);
  add_trend (self, trend);
  if (trend.fewest < MANY_NODES)
    add_trend (self, training_trend_of (self, sources, MANY_NODES));
}

void
training_count_nodes (TrainingValidation *self, const GPtrArray *sources)
{
  for (guint i = 0; i < sources->len; i++)
    {
      const char *const one[] = { g_ptr_array_index (sources, i), NULL };

      count_source (self, one);
    }
  count_source (self, NULL);
}
