#include "measure/figures.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "measure/figure-metric.h"
#include "measure/figure-runs.h"

/* ---- the table ------------------------------------------------------------------------------- */

static void
figure_case_clear (gpointer data)
{
  FigureCase *self = data;

  g_free (self->reason);
  g_free (self->profiles);
}

static void
figure_row_clear (gpointer data)
{
  FigureRow *self = data;

  g_array_unref (self->cases);
}

#define TO " to " /* between the ends of a published range */

enum
{
  FIGURE,
  ROW,
  SCENARIO,
  METRIC,
  PUBLISHED,
  ASSUMPTIONS,
  N_COLUMNS,
};

static const char *const columns[N_COLUMNS] = { "figure", "row",       "scenario",
                                                "metric", "published", "assumptions" };

/* Whether the line continues the band of the last row. */
static gboolean
continues (const Figures *self, const char *const *cells)
{
  const FigureRow *last =
      self->rows->len > 0 ? &g_array_index (self->rows, FigureRow, self->rows->len - 1) : NULL;

  return last != NULL && strcmp (last->figure, cells[FIGURE]) == 0
         && strcmp (last->row, cells[ROW]) == 0 && strcmp (last->metric, cells[METRIC]) == 0;
}

static const char *
title_of (Figures *self, const char *metric, gboolean ratio)
{
  g_autofree char *title = g_strconcat (metric, ratio ? ", ratio" : "", NULL);

  return g_string_chunk_insert_const (self->strings, title);
}

/* "1.5", or "1.11 to 1.66": all between are as good. FALSE: it is neither. */
static gboolean
read_published (const char *text, double *low, double *high)
{
  const char *rest = strstr (text, TO);
  char       *end;

  *low = *high = g_ascii_strtod (text, &end);
  if (end == text || end != (rest != NULL ? rest : text + strlen (text)))
    return FALSE;
  if (rest != NULL)
    {
      *high = g_ascii_strtod (rest + strlen (TO), &end);
      if (end == rest + strlen (TO) || *end != '\0')
        return FALSE;
    }
  return *low > 0 && isfinite (*high) && *high >= *low;
}

static void
add_row (Figures *self, const char *const *cells, const char *over, const SourceMark *marks,
         DiagList *diags)
{
  FigureRow        row = { .ratio = over != NULL, .published = NAN, .published_high = NAN };
  g_autofree char *picture = NULL;

  if (*cells[PUBLISHED] != '\0' /* else a prediction for itself */
      && !read_published (cells[PUBLISHED], &row.published, &row.published_high))
    diag_error (diags, &marks[PUBLISHED], "1.5, or a range: 1.11 to 1.66",
                "expected a number above 0 for 'published', got '%s'", cells[PUBLISHED]);
  if (!figure_metric_is_known (cells[METRIC]))
    diag_error (diags, &marks[METRIC], NULL, "unknown value '%s' for 'metric'", cells[METRIC]);
  row.metric = g_string_chunk_insert_const (self->strings, cells[METRIC]);
  row.title = title_of (self, row.metric, row.ratio);
  picture = figure_metric_picture (row.metric);
  row.picture = title_of (self, picture, row.ratio);
  row.figure = g_string_chunk_insert_const (self->strings, cells[FIGURE]);
  row.row = g_string_chunk_insert_const (self->strings, cells[ROW]);
  row.assumptions = g_string_chunk_insert_const (self->strings, cells[ASSUMPTIONS]);
  row.cases = g_array_new (FALSE, TRUE, sizeof (FigureCase));
  g_array_set_clear_func (row.cases, figure_case_clear);
  g_array_append_val (self->rows, row);
}

static void
read_line (Figures *self, const CsvReader *reader, DiagList *diags)
{
  const char *cells[N_COLUMNS];
  SourceMark  marks[N_COLUMNS];
  FigureCase  one = { 0 };
  gint        at_over = csv_reader_find (reader, "over");
  const char *over = at_over >= 0 ? csv_reader_field (reader, (guint) at_over) : "";

  for (guint c = 0; c < N_COLUMNS; c++)
    {
      guint at = (guint) csv_reader_find (reader, columns[c]);

      cells[c] = csv_reader_field (reader, at);
      marks[c] = csv_reader_mark (reader, at);
    }
  if (!continues (self, cells))
    add_row (self, cells, *over != '\0' ? over : NULL, marks, diags);
  one.scenario = g_string_chunk_insert_const (self->strings, cells[SCENARIO]);
  one.over = *over != '\0' ? g_string_chunk_insert_const (self->strings, over) : NULL;
  g_array_append_val (g_array_index (self->rows, FigureRow, self->rows->len - 1).cases, one);
}

static gboolean
read_table (Figures *self, const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  guint                 n_errors = diag_list_n_errors (diags);
  gboolean              complete;

  if (reader == NULL)
    return FALSE;
  for (guint c = 0; c < N_COLUMNS; c++)
    if (csv_reader_find (reader, columns[c]) < 0)
      {
        const SourceMark mark = { .file = intern_text (file), .line = 1 };

        diag_error (diags, &mark, NULL, "missing column '%s'", columns[c]);
      }
  complete = diag_list_n_errors (diags) == n_errors;
  while (complete && csv_reader_next (reader, diags))
    read_line (self, reader, diags);
  return diag_list_n_errors (diags) == n_errors;
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* The prediction of the scenario NAME; NULL with a *REASON. */
static const Prediction *
find_prediction (const FigureRuns *runs, const char *name, char **reason)
{
  for (guint i = 0; i < runs->scenarios->len; i++)
    {
      const Scenario *scenario = g_ptr_array_index (runs->scenarios, i);

      if (strcmp (scenario->name, name) != 0)
        continue;
      if (runs->predictions[i] == NULL)
        *reason = g_strdup (runs->reasons[i]);
      return runs->predictions[i];
    }
  *reason = g_strdup_printf ("there is no scenario '%s'", name);
  return NULL;
}

/* FALSE with a reason: PREDICTION, of SCENARIO, has none of METRIC. */
static gboolean
take_metric (FigureCase *self, const Prediction *prediction, const char *scenario,
             const char *metric, double *value)
{
  if (figure_metric_of (prediction, metric, value))
    return TRUE;
  self->reason = g_strdup_printf ("'%s' has no '%s'", scenario, metric);
  return FALSE;
}

static void
fill_case (FigureCase *self, const char *metric, const FigureRuns *runs)
{
  double            value, base = 1;
  const Prediction *of = find_prediction (runs, self->scenario, &self->reason), *over = NULL;

  if (of != NULL && self->over != NULL)
    over = find_prediction (runs, self->over, &self->reason);
  if (of == NULL || (self->over != NULL && over == NULL))
    return;
  if (!take_metric (self, of, self->scenario, metric, &value)
      || (over != NULL && !take_metric (self, over, self->over, metric, &base)))
    return;
  if (base == 0)
    {
      self->reason = g_strdup_printf ("'%s' of '%s' is 0", metric, self->over);
      return;
    }
  self->predicted = value / base;
  self->mfu_percent = of->mfu_percent;
  self->fits = of->fits && (over == NULL || over->fits);
  self->profiles = g_strdup (of->profiles);
}

/* Adds ONE, whose metric is of speed: its MFU, and what it makes of the published number. */
static void
take_mfu (FigureRow *self, const FigureCase *one, FigureSpeed speed)
{
  const double low = self->published / one->predicted;
  const double high = self->published_high / one->predicted;

  if (self->n_used == 0)
    {
      self->mfu_published = one->mfu_percent * (speed == FIGURE_TIME ? 1 / high : low);
      self->mfu_published_high = one->mfu_percent * (speed == FIGURE_TIME ? 1 / low : high);
      self->mfu_low = self->mfu_high = one->mfu_percent;
    }
  self->mfu_low = MIN (self->mfu_low, one->mfu_percent);
  self->mfu_high = MAX (self->mfu_high, one->mfu_percent);
}

/* Takes the cases that were predicted: those that fit, or, with MISFITS, all. */
static void
take_cases (FigureRow *self, gboolean misfits)
{
  const FigureSpeed speed = self->ratio ? FIGURE_NO_SPEED : figure_metric_speed (self->metric);

  for (guint i = 0; i < self->cases->len; i++)
    {
      const FigureCase *one = &g_array_index (self->cases, FigureCase, i);

      if (one->reason != NULL || (!one->fits && !misfits))
        continue;
      if (speed != FIGURE_NO_SPEED)
        take_mfu (self, one, speed);
      self->low = self->n_used > 0 ? MIN (self->low, one->predicted) : one->predicted;
      self->high = self->n_used > 0 ? MAX (self->high, one->predicted) : one->predicted;
      self->n_used++;
    }
  self->misfits = misfits && self->n_used > 0;
}

/* From the nearer end of what was published to the nearer one of what is predicted. */
static double
error_of (const FigureRow *self)
{
  if (self->n_used == 0)
    return 0;
  if (isnan (self->published))
    return NAN;
  if (self->low > self->published_high)
    return self->low / self->published_high - 1;
  return self->high < self->published ? self->high / self->published - 1 : 0;
}

static void
fill_row (FigureRow *self, const FigureRuns *runs)
{
  for (guint i = 0; i < self->cases->len; i++)
    fill_case (&g_array_index (self->cases, FigureCase, i), self->metric, runs);
  take_cases (self, FALSE);
  if (self->n_used == 0 && !figure_metric_is_largest (self->metric))
    take_cases (self, TRUE);
  if (figure_metric_is_largest (self->metric))
    self->low = self->high;
  self->error = error_of (self);
}

static void
predict_all (Figures *self, const GPtrArray *scenarios, const PredictOptions *options,
             guint n_threads)
{
  PredictOptions         asked = *options;
  g_autoptr (FigureRuns) runs = NULL;

  for (guint i = 0; i < self->rows->len; i++)
    figure_metric_ask (g_array_index (self->rows, FigureRow, i).metric, &asked);
  runs = figure_runs_new (scenarios, &asked, n_threads);
  for (guint i = 0; i < self->rows->len; i++)
    fill_row (&g_array_index (self->rows, FigureRow, i), runs);
}

/* ---- figures --------------------------------------------------------------------------------- */

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return strcmp (*(const char *const *) a, *(const char *const *) b);
}

char **
figures_list (const char *folder)
{
  g_autoptr (GDir)      dir = g_dir_open (folder, 0, NULL);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  const char           *entry;
  /* of scenarios; of figures without them (figure-scaling.h) */
  static const char *const endings[] = { ".yaml", ".collectives.csv", ".utilisation.csv",
                                         ".padding.csv" };

  while (dir != NULL && (entry = g_dir_read_name (dir)) != NULL)
    for (guint i = 0; i < G_N_ELEMENTS (endings); i++)
      if (g_str_has_suffix (entry, endings[i]))
        g_ptr_array_add (names, g_strndup (entry, strlen (entry) - strlen (endings[i])));
  g_ptr_array_sort (names, compare_names);
  g_ptr_array_add (names, NULL);
  return (char **) g_ptr_array_free (g_steal_pointer (&names), FALSE);
}

static Figures *
figures_new (const char *name)
{
  Figures *self = g_new0 (Figures, 1);

  self->name = g_strdup (name);
  self->rows = g_array_new (FALSE, TRUE, sizeof (FigureRow));
  g_array_set_clear_func (self->rows, figure_row_clear);
  self->strings = g_string_chunk_new (4096);
  return self;
}

Figures *
figures_predict (const char *folder, const char *name, const PredictOptions *options,
                 guint n_threads, DiagList *diags)
{
  g_auto (GStrv)        known = figures_list (folder);
  gint                  index = name_index (name, (const char *const *) known);
  const char           *meant = index >= 0 ? known[index] : name;
  g_autofree char      *base = g_build_filename (folder, meant, NULL);
  g_autofree char      *yaml = g_strconcat (base, ".yaml", NULL);
  g_autofree char      *csv = g_strconcat (base, ".csv", NULL);
  g_autoptr (Figures)   self = figures_new (meant);
  g_autoptr (GPtrArray) scenarios = NULL;

  if (index < 0)
    {
      g_autofree char *hint = suggest_hint (name, (const char *const *) known);

      diag_error (diags, NULL, hint, "there are no figures '%s'", name);
      return NULL;
    }
  scenarios = scenario_load (NULL, yaml, NULL, 0, diags);
  if (!read_table (self, csv, diags) || scenarios == NULL)
    return NULL;
  predict_all (self, scenarios, options, n_threads);
  return g_steal_pointer (&self);
}

void
figures_free (Figures *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_string_chunk_free (self->strings);
  g_free (self->name);
  g_free (self);
}
