#include "measure/figures.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"

/* ---- metrics --------------------------------------------------------------------------------- */

static const struct
{
  const char *name;
  gsize       offset; /* of a double in Prediction */
} metrics[] = {
  { "step_time_s", G_STRUCT_OFFSET (Prediction, step_time_s) },
  { "tokens_per_s_per_gpu", G_STRUCT_OFFSET (Prediction, tokens_per_s_per_gpu) },
  { "mfu_percent", G_STRUCT_OFFSET (Prediction, mfu_percent) },
  { "hfu_percent", G_STRUCT_OFFSET (Prediction, hfu_percent) },
  { "hardware_tflops_per_gpu", G_STRUCT_OFFSET (Prediction, hardware_tflops_per_gpu) },
};

static const char *
find_metric (const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (metrics); i++)
    if (strcmp (metrics[i].name, name) == 0)
      return metrics[i].name;
  return NULL;
}

static double
metric_of (const Prediction *prediction, const char *name)
{
  for (guint i = 0; i < G_N_ELEMENTS (metrics); i++)
    if (strcmp (metrics[i].name, name) == 0)
      return *(const double *) G_STRUCT_MEMBER_P (prediction, metrics[i].offset);
  g_assert_not_reached ();
}

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

static void
add_row (Figures *self, const char *const *cells, const SourceMark *marks, DiagList *diags)
{
  FigureRow row = { .metric = find_metric (cells[METRIC]) };
  char     *end;

  row.published = g_ascii_strtod (cells[PUBLISHED], &end);
  if (end == cells[PUBLISHED] || *end != '\0' || !(row.published > 0) || !isfinite (row.published))
    diag_error (diags, &marks[PUBLISHED], NULL,
                "expected a number above 0 for 'published', got '%s'", cells[PUBLISHED]);
  if (row.metric == NULL)
    {
      diag_error (diags, &marks[METRIC], NULL, "unknown value '%s' for 'metric'", cells[METRIC]);
      row.metric = "";
    }
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

  for (guint c = 0; c < N_COLUMNS; c++)
    {
      guint at = (guint) csv_reader_find (reader, columns[c]);

      cells[c] = csv_reader_field (reader, at);
      marks[c] = csv_reader_mark (reader, at);
    }
  if (!continues (self, cells))
    add_row (self, cells, marks, diags);
  one.scenario = g_string_chunk_insert_const (self->strings, cells[SCENARIO]);
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
        const SourceMark mark = { .file = g_intern_string (file), .line = 1 };

        diag_error (diags, &mark, NULL, "missing column '%s'", columns[c]);
      }
  complete = diag_list_n_errors (diags) == n_errors;
  while (complete && csv_reader_next (reader, diags))
    read_line (self, reader, diags);
  return diag_list_n_errors (diags) == n_errors;
}

/* ---- predictions ----------------------------------------------------------------------------- */

typedef struct
{
  const GPtrArray      *scenarios;
  const PredictOptions *options;
  Prediction          **predictions;
  char                **reasons;
} Runs;

static void
predict_one (guint i, gpointer user)
{
  Runs                *runs = user;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;

  runs->predictions[i] =
      predict (g_ptr_array_index (runs->scenarios, i), runs->options, diags, &error);
  if (runs->predictions[i] == NULL)
    runs->reasons[i] = g_strdup (error != NULL ? error->message : diag_list_first_message (diags));
}

static void
fill_case (FigureCase *self, const char *metric, const Runs *runs)
{
  for (guint i = 0; i < runs->scenarios->len; i++)
    {
      const Scenario *scenario = g_ptr_array_index (runs->scenarios, i);

      if (strcmp (scenario->name, self->scenario) != 0)
        continue;
      if (runs->predictions[i] == NULL)
        self->reason = g_strdup (runs->reasons[i]);
      else
        {
          self->predicted = metric_of (runs->predictions[i], metric);
          self->fits = runs->predictions[i]->fits;
          self->profiles = g_strdup (runs->predictions[i]->profiles);
        }
      return;
    }
  self->reason = g_strdup_printf ("there is no scenario '%s'", self->scenario);
}

static void
fill_row (FigureRow *self, const Runs *runs)
{
  double nearest;

  for (guint i = 0; i < self->cases->len; i++)
    {
      FigureCase *one = &g_array_index (self->cases, FigureCase, i);

      fill_case (one, self->metric, runs);
      if (one->reason != NULL || (self->cases->len > 1 && !one->fits))
        continue;
      self->low = self->n_used > 0 ? MIN (self->low, one->predicted) : one->predicted;
      self->high = self->n_used > 0 ? MAX (self->high, one->predicted) : one->predicted;
      self->n_used++;
    }
  nearest = CLAMP (self->published, self->low, self->high);
  self->error = self->n_used > 0 ? nearest / self->published - 1 : 0;
}

static void
predict_all (Figures *self, const GPtrArray *scenarios, const PredictOptions *options,
             guint n_threads)
{
  g_autofree Prediction **predictions = g_new0 (Prediction *, scenarios->len);
  g_autofree char       **reasons = g_new0 (char *, scenarios->len);
  Runs                    runs = { scenarios, options, predictions, reasons };

  parallel_run (scenarios->len, n_threads, predict_one, &runs, options->count);
  for (guint i = 0; i < self->rows->len; i++)
    fill_row (&g_array_index (self->rows, FigureRow, i), &runs);
  for (guint i = 0; i < scenarios->len; i++)
    {
      prediction_free (predictions[i]);
      g_free (reasons[i]);
    }
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

  while (dir != NULL && (entry = g_dir_read_name (dir)) != NULL)
    if (g_str_has_suffix (entry, ".yaml"))
      g_ptr_array_add (names, g_strndup (entry, strlen (entry) - strlen (".yaml")));
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
