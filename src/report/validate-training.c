#include "report/validate-training.h"

#include <math.h>

#include "measure/training-slow.h"
#include "report/report.h"
#include "report/terminal-private.h"
#include "report/validation-private.h"

static const ValidatedTraining *
row_at (const TrainingValidation *self, guint i)
{
  return &g_array_index (self->rows, ValidatedTraining, i);
}

/* ---- goals ----------------------------------------------------------------------------------- */

static char *
verdict (const GoalResult *result)
{
  if (result->n_failed > 0 && result->goal->kind != GOAL_RANKING)
    return g_strdup_printf ("MISSED: %u rows not simulated", result->n_failed);
  return g_strdup (result->met ? "met" : "MISSED");
}

static void
add_goal_line (struct libscols_table *table, const GoalResult *result)
{
  const TrainingGoal *goal = result->goal;
  char               *cells[8] = { NULL };

  cells[0] = g_strdup (goal->title);
  cells[1] = g_strdup_printf ("%u", result->n);
  switch (goal->kind)
    {
    case GOAL_FITS:
      cells[2] = g_strdup_printf ("%.1f %% right", 100 * result->first);
      cells[3] = g_strdup_printf ("%.0f %%", 100 * goal->first);
      cells[4] = g_strdup_printf ("%.0f below %.0f %%", result->second, 100 * TRAINING_FULL_SHARE);
      cells[5] = g_strdup ("0");
      break;
    case GOAL_RANKING:
      cells[2] = g_strdup_printf ("%.2f", result->first);
      cells[3] = g_strdup_printf ("%.1f", goal->first);
      cells[4] = g_strdup ("");
      cells[5] = g_strdup ("");
      break;
    case GOAL_TREND:
      cells[2] = g_strdup_printf ("%+.1f %% a doubling", 100 * result->first);
      cells[3] = g_strdup_printf ("%.0f %%", 100 * goal->first);
      cells[4] = g_strdup ("");
      cells[5] = g_strdup ("");
      break;
    default:
      cells[2] = terminal_percent (result->first, FALSE);
      cells[3] = g_strdup_printf ("%.0f %%", 100 * goal->first);
      cells[4] = terminal_percent (result->second, FALSE);
      cells[5] =
          isfinite (goal->second) ? g_strdup_printf ("%.0f %%", 100 * goal->second) : g_strdup ("");
      break;
    }
  cells[6] = verdict (result);
  terminal_table_take (table, cells);
}

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

static void
append_goals (const TrainingValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "ROWS OR GROUPS OF", FALSE },
    { "N", TRUE },
    { "MEDIAN |ERROR|", TRUE },
    { "GOAL", TRUE },
    { "90 % BELOW", TRUE },
    { "GOAL", TRUE },
    { "", FALSE },
  };
  struct libscols_table *table;

  if (self->goals->len == 0)
    return;
  table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < self->goals->len; i++)
    add_goal_line (table, &g_array_index (self->goals, GoalResult, i));
  terminal_table_finish (table, out);
  append_slow (self, out);
  g_string_append_c (out, '\n');
}

/* ---- errors and rankings --------------------------------------------------------------------- */

static void
add_errors_line (struct libscols_table *table, const TrainingErrors *group)
{
  char *cells[9] = { NULL };

  cells[0] = g_strdup (group->source != NULL ? group->source : "all");
  cells[1] = g_strdup (training_metric_name (group->metric));
  cells[2] = g_strdup_printf ("%u", group->errors.n);
  cells[3] =
      group->errors.n > 0 ? terminal_percent (group->errors.median_abs, FALSE) : g_strdup ("");
  cells[4] = group->errors.n > 0 ? terminal_percent (group->errors.p90_abs, FALSE) : g_strdup ("");
  cells[5] = group->errors.n > 0 ? terminal_percent (group->errors.mean, TRUE) : g_strdup ("");
  cells[6] = group->n_failed > 0 ? g_strdup_printf ("%u", group->n_failed) : g_strdup ("");
  terminal_table_take (table, cells);
}

static void
append_errors (const TrainingValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "SOURCE", FALSE },        { "METRIC", FALSE },    { "ROWS", TRUE },
    { "MEDIAN |ERROR|", TRUE }, { "90 % BELOW", TRUE }, { "MEAN ERROR", TRUE },
    { "NOT SIMULATED", TRUE },
  };
  struct libscols_table *table;

  if (self->errors->len == 0)
    return;
  table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < self->errors->len; i++)
    add_errors_line (table, &g_array_index (self->errors, TrainingErrors, i));
  terminal_table_finish (table, out);
}

static void
append_nodes (const TrainingValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "SOURCE", FALSE },        { "NODES", TRUE },      { "ROWS", TRUE },
    { "MEDIAN |ERROR|", TRUE }, { "90 % BELOW", TRUE }, { "MEDIAN ERROR", TRUE },
  };
  struct libscols_table *table;

  if (self->trends->len == 0)
    return;
  g_string_append (out, "\nRows of speed by number of nodes (error of the speed: above 0 is too "
                        "fast)\n\n");
  table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < self->nodes->len; i++)
    {
      const NodesErrors *group = &g_array_index (self->nodes, NodesErrors, i);
      char              *cells[7] = { NULL };

      cells[0] = g_strdup (group->source != NULL ? group->source : "all");
      cells[1] = g_strdup_printf ("%u", group->n_nodes);
      cells[2] = g_strdup_printf ("%u", group->errors.n);
      cells[3] = terminal_percent (group->errors.median_abs, FALSE);
      cells[4] = terminal_percent (group->errors.p90_abs, FALSE);
      cells[5] = terminal_percent (group->errors.median, TRUE);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

static void
append_trends (const TrainingValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "SOURCE", FALSE },
    { "NODES", FALSE },
    { "ROWS", TRUE },
    { "ERROR GROWS A DOUBLING OF NODES", TRUE },
  };
  struct libscols_table *table;

  if (self->trends->len == 0)
    return;
  g_string_append_c (out, '\n');
  table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < self->trends->len; i++)
    {
      const NodesTrend *trend = &g_array_index (self->trends, NodesTrend, i);

      validation_take_trend (table, trend->source != NULL ? trend->source : "all", trend->fewest,
                             trend->most, trend->n, trend->slope);
    }
  terminal_table_finish (table, out);
}

static void
append_rankings (const TrainingValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "SOURCE", FALSE },     { "GROUPS", TRUE }, { "ROWS", TRUE }, { "MEAN KENDALL TAU-B", TRUE },
    { "MEAN REGRET", TRUE },
  };
  struct libscols_table *table;

  if (self->rankings->len == 0)
    return;
  g_string_append (
      out,
      "\nRows that differ in the layout only (micro-batch, accumulation, axes, checkpointing)\n\n");
  table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < self->rankings->len; i++)
    {
      const RankingSummary *ranking = &g_array_index (self->rankings, RankingSummary, i);
      char                 *cells[6] = { NULL };

      cells[0] = g_strdup (ranking->source != NULL ? ranking->source : "all");
      cells[1] = g_strdup_printf ("%u", ranking->n_groups);
      cells[2] = g_strdup_printf ("%u", ranking->n_rows);
      cells[3] = g_strdup_printf ("%.3f", ranking->tau);
      cells[4] = terminal_percent (ranking->regret, FALSE);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

/* ---- memory, calibration, failures ----------------------------------------------------------- */

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

static void
append_fits (const TrainingValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "FITS", FALSE },
    { "PREDICTED TO FIT", TRUE },
    { "PREDICTED NOT TO FIT", TRUE },
  };
  static const char *const names[] = { "ran out of memory", "ran" };
  const FitsSummary       *fits = &self->fits;
  guint                    n = fits->n[0][0] + fits->n[0][1] + fits->n[1][0] + fits->n[1][1];
  struct libscols_table   *table;

  if (n > 0)
    {
      g_string_append_c (out, '\n');
      table = terminal_table_new (columns, G_N_ELEMENTS (columns));
      for (guint measured = 2; measured-- > 0;)
        {
          char *cells[4] = { NULL };

          cells[0] = g_strdup (names[measured]);
          cells[1] = g_strdup_printf ("%u", fits->n[measured][1]);
          cells[2] = g_strdup_printf ("%u", fits->n[measured][0]);
          terminal_table_take (table, cells);
        }
      terminal_table_finish (table, out);
      g_string_append_printf (out, "  %.1f %% of %u are right\n",
                              100.0 * (fits->n[0][0] + fits->n[1][1]) / n, n);
    }
  if (!isnan (fits->lowest_share))
    {
      g_string_append_printf (
          out, "  runs out of memory are predicted to need %.0f %% of capacity or more\n",
          100 * fits->lowest_share);
      append_offenders (self, out);
    }
  if (fits->n_wrongly_full > 0)
    g_string_append_printf (out, "\n%u rows with a measured speed are predicted not to fit\n",
                            fits->n_wrongly_full);
}

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

void
report_training_summary (const TrainingValidation *self, GString *out)
{
  append_goals (self, out);
  append_errors (self, out);
  append_nodes (self, out);
  append_trends (self, out);
  append_rankings (self, out);
  append_fits (self, out);
  append_calibrated (self, out);
  if (self->n_calibrating > 0)
    g_string_append_printf (out, "%u rows marked 'calibrate' count nowhere above\n",
                            self->n_calibrating);
  if (self->table->n_networks > 0)
    g_string_append_printf (out,
                            "%u rows are predicted on the network that their run measured: they "
                            "are not blind\n",
                            self->table->n_networks);
  append_reasons (self, out);
  g_string_append (out, "\nerror = predicted / measured - 1\n");
}

/* ---- rows ------------------------------------------------------------------------------------ */

void
report_training_rows (const TrainingValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "ID", FALSE },       { "METRIC", FALSE }, { "MEASURED", TRUE },
    { "PREDICTED", TRUE }, { "ERROR", TRUE },   { "REASON", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->rows->len; i++)
    {
      const ValidatedTraining *row = row_at (self, i);
      gboolean                 good = row->reason == NULL;
      char                    *cells[7] = { NULL };

      cells[0] = g_strdup (row->measured->id);
      cells[1] = g_strdup (row->measured->metric_name);
      cells[2] = isnan (row->measured->value) ? g_strdup ("")
                                              : g_strdup_printf ("%.5g", row->measured->value);
      cells[3] = good ? g_strdup_printf ("%.5g", row->predicted) : g_strdup ("");
      cells[4] = good && row->measured->metric != METRIC_FITS ? terminal_percent (row->error, TRUE)
                                                              : g_strdup ("");
      cells[5] = g_strdup (good ? "" : row->reason);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}
