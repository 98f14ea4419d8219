#include "measure/figure-curves.h"

#include <math.h>
#include <string.h>

#include "base/csv.h"
#include "measure/figure-metric.h"
#include "measure/figure-runs.h"

#define SUFFIX ".curves.csv"

typedef enum
{
  COLUMN_FIGURE,
  COLUMN_X,
  COLUMN_SCENARIOS,
  COLUMN_METRIC,
  COLUMN_OVER,
  COLUMN_PUBLISHED,
  COLUMN_ASSUMPTIONS,
  N_COLUMNS,
} Column;

static const char *const columns[N_COLUMNS + 1] = { "figure",      "x",         "scenarios",
                                                    "metric",      "gain_over", "published",
                                                    "assumptions", NULL };

gboolean
figure_curves_is (const char *folder, const char *name)
{
  g_autofree char *file = figure_file (folder, name, SUFFIX);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

/* ---- the panels ------------------------------------------------------------------------------ */

static void
panel_clear (gpointer data)
{
  CurvePanel *self = data;

  g_array_unref (self->xs);
  g_ptr_array_unref (self->series);
  g_free (self->values);
}

static void
read_panel (FigureCurves *self, const CsvReader *reader, const gint *place, DiagList *diags)
{
  const char *cells[N_COLUMNS], *published;
  CurvePanel  panel = { .published = NAN };
  SourceMark  metric = csv_reader_mark (reader, (guint) place[COLUMN_METRIC]);
  SourceMark  number = csv_reader_mark (reader, (guint) place[COLUMN_PUBLISHED]);
  char       *end;

  for (guint c = 0; c < N_COLUMNS; c++)
    cells[c] =
        g_string_chunk_insert_const (self->strings, csv_reader_field (reader, (guint) place[c]));
  panel.figure = cells[COLUMN_FIGURE];
  panel.x = cells[COLUMN_X];
  panel.prefix = cells[COLUMN_SCENARIOS];
  panel.over = *cells[COLUMN_OVER] != '\0' ? cells[COLUMN_OVER] : NULL;
  panel.assumptions = cells[COLUMN_ASSUMPTIONS];
  panel.metric = cells[COLUMN_METRIC];
  if (!figure_metric_is_known (panel.metric))
    diag_error (diags, &metric, NULL, "unknown value '%s' for 'metric'", cells[COLUMN_METRIC]);
  published = cells[COLUMN_PUBLISHED];
  if (*published != '\0')
    panel.published = g_ascii_strtod (published, &end);
  if (*published != '\0' && (*end != '\0' || !(panel.published > 0) || isinf (panel.published)))
    diag_error (diags, &number, NULL, "expected a number above 0 or nothing, got '%s'", published);
  panel.xs = g_array_new (FALSE, FALSE, sizeof (double));
  panel.series = g_ptr_array_new ();
  g_array_append_val (self->panels, panel);
}

static gboolean
read_panels (FigureCurves *self, const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  const guint           n_errors = diag_list_n_errors (diags);
  gint                  place[N_COLUMNS];

  if (reader == NULL)
    return FALSE;
  csv_reader_check_names (reader, columns, diags);
  for (guint c = 0; c < N_COLUMNS; c++)
    if ((place[c] = csv_reader_find (reader, columns[c])) < 0)
      csv_reader_missing (reader, columns[c], NULL, diags);
  if (diag_list_n_errors (diags) > n_errors)
    return FALSE;
  while (csv_reader_next (reader, diags))
    read_panel (self, reader, place, diags);
  return diag_list_n_errors (diags) == n_errors;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* What a scenario is in a panel. */
typedef struct
{
  guint  panel, series;
  double x;
} Point;

/* The first number in TEXT; NAN: there is none. */
static double
first_number (const char *text)
{
  const char *digit = text + strcspn (text, "0123456789");

  return *digit != '\0' ? g_ascii_strtod (digit, NULL) : NAN;
}

/* What of NAME behind the panel's prefix tells the series: all but the setting of x. */
static char *
series_of (const CurvePanel *panel, const char *name)
{
  const char      *key = strchr (panel->x, '.') != NULL ? strchr (panel->x, '.') + 1 : panel->x;
  g_autofree char *setting = g_strconcat (key, "=", NULL);
  g_auto (GStrv)   words = g_strsplit (name + strlen (panel->prefix) + 2, ", ", -1);
  GString         *series = g_string_new (NULL);

  for (guint i = 0; words[i] != NULL; i++)
    if (!g_str_has_prefix (words[i], setting))
      g_string_append_printf (series, "%s%s", series->len > 0 ? ", " : "", words[i]);
  return g_string_free (series, FALSE);
}

static gboolean
belongs (const CurvePanel *panel, const char *name)
{
  gsize length = strlen (panel->prefix);

  return strncmp (name, panel->prefix, length) == 0 && strncmp (name + length, ", ", 2) == 0;
}

static guint
series_index (CurvePanel *panel, const char *series)
{
  guint index;

  if (g_ptr_array_find_with_equal_func (panel->series, series, g_str_equal, &index))
    return index;
  g_ptr_array_add (panel->series, (gpointer) series);
  return panel->series->len - 1;
}

static gint
compare_numbers (gconstpointer a, gconstpointer b)
{
  const double *p = a, *q = b;

  return (*p > *q) - (*p < *q);
}

static guint
x_index (const CurvePanel *panel, double x)
{
  guint i = 0;

  while (i < panel->xs->len && g_array_index (panel->xs, double, i) != x)
    i++;
  return i;
}

/* FALSE after a diagnostic: a scenario without a number for x. */
static gboolean
place_scenario (FigureCurves *self, guint panel_index, const Scenario *scenario, GArray *points,
                DiagList *diags)
{
  CurvePanel      *panel = &g_array_index (self->panels, CurvePanel, panel_index);
  g_autofree char *value = figure_setting (scenario, panel->x);
  g_autofree char *series = series_of (panel, scenario->name);
  Point point = { .panel = panel_index, .x = value != NULL ? first_number (value) : NAN };

  if (isnan (point.x))
    {
      diag_error (diags, NULL, NULL, "figure '%s': scenario '%s' has no number for '%s'",
                  self->name, scenario->name, panel->x);
      return FALSE;
    }
  point.series = series_index (panel, g_string_chunk_insert_const (self->strings, series));
  if (x_index (panel, point.x) == panel->xs->len)
    g_array_append_val (panel->xs, point.x);
  g_array_append_val (points, point);
  return TRUE;
}

/* One point a scenario, of no panel's where it is past them. FALSE after diagnostics. */
static gboolean
place_all (FigureCurves *self, const GPtrArray *scenarios, GArray *points, DiagList *diags)
{
  const Point nowhere = { .panel = G_MAXUINT };

  for (guint i = 0; i < scenarios->len; i++)
    {
      const Scenario *scenario = g_ptr_array_index (scenarios, i);
      guint           p = 0;

      while (p < self->panels->len
             && !belongs (&g_array_index (self->panels, CurvePanel, p), scenario->name))
        p++;
      if (p == self->panels->len)
        g_array_append_val (points, nowhere);
      else if (!place_scenario (self, p, scenario, points, diags))
        return FALSE;
    }
  for (guint p = 0; p < self->panels->len; p++)
    {
      CurvePanel *panel = &g_array_index (self->panels, CurvePanel, p);
      gsize       n = (gsize) panel->series->len * panel->xs->len;

      g_array_sort (panel->xs, compare_numbers);
      panel->values = g_new0 (double, n);
      for (gsize v = 0; v < n; v++)
        panel->values[v] = NAN;
    }
  return TRUE;
}

/* NAN: it has none. */
static double
metric_of (const Prediction *prediction, const char *metric)
{
  double value;

  return figure_metric_of (prediction, metric, &value) ? value : NAN;
}

static void
take_runs (FigureCurves *self, const FigureRuns *runs, const GArray *points)
{
  for (guint i = 0; i < points->len; i++)
    {
      const Point      *point = &g_array_index (points, Point, i);
      const Prediction *prediction = runs->predictions[i];
      CurvePanel       *panel;

      if (point->panel == G_MAXUINT)
        continue;
      panel = &g_array_index (self->panels, CurvePanel, point->panel);
      if (prediction != NULL && prediction->fits)
        panel->values[(gsize) point->series * panel->xs->len + x_index (panel, point->x)] =
            metric_of (prediction, panel->metric);
      else if (panel->reason == NULL)
        panel->reason = g_string_chunk_insert_const (
            self->strings, prediction != NULL ? "does not fit" : runs->reasons[i]);
    }
}

/* FALSE after a diagnostic: there is no series to gain over. */
static gboolean
make_gains (const FigureCurves *self, CurvePanel *panel, DiagList *diags)
{
  const guint        n = panel->xs->len;
  g_autofree double *base = NULL;
  guint              over;

  if (panel->over == NULL)
    return TRUE;
  if (!g_ptr_array_find_with_equal_func (panel->series, panel->over, g_str_equal, &over))
    {
      diag_error (diags, NULL, NULL, "figure '%s': no series '%s' among '%s, ...'", self->name,
                  panel->over, panel->prefix);
      return FALSE;
    }
  base = g_memdup2 (panel->values + (gsize) over * n, n * sizeof (double));
  for (guint s = 0; s < panel->series->len; s++)
    for (guint i = 0; i < n; i++)
      panel->values[(gsize) s * n + i] = base[i] / panel->values[(gsize) s * n + i];
  return TRUE;
}

double
curve_value (const CurvePanel *panel, guint series, guint i)
{
  return panel->values[(gsize) series * panel->xs->len + i];
}

void
curve_range (const CurvePanel *panel, double *low, double *high)
{
  *low = INFINITY;
  *high = -INFINITY;
  for (guint s = 0; s < panel->series->len; s++)
    for (guint i = 0; i < panel->xs->len; i++)
      if (panel->over == NULL || !g_str_equal (g_ptr_array_index (panel->series, s), panel->over))
        {
          *low = fmin (*low, curve_value (panel, s, i));
          *high = fmax (*high, curve_value (panel, s, i));
        }
}

/* ---- the figure ------------------------------------------------------------------------------ */

static FigureCurves *
curves_new (const char *name)
{
  FigureCurves *self = g_new0 (FigureCurves, 1);

  self->name = g_strdup (name);
  self->strings = g_string_chunk_new (4096);
  self->panels = g_array_new (FALSE, FALSE, sizeof (CurvePanel));
  g_array_set_clear_func (self->panels, panel_clear);
  return self;
}

FigureCurves *
figure_curves_predict (const char *folder, const char *name, const PredictOptions *options,
                       guint n_threads, DiagList *diags)
{
  g_autofree char         *yaml = figure_file (folder, name, ".yaml");
  g_autofree char         *csv = figure_file (folder, name, SUFFIX);
  g_autofree char         *path = figure_profile_path (folder, name, options->profile_dir);
  g_autoptr (FigureCurves) self = curves_new (name);
  g_autoptr (GPtrArray)    scenarios = scenario_load (NULL, yaml, NULL, 0, diags);
  g_autoptr (GArray)       points = g_array_new (FALSE, FALSE, sizeof (Point));
  PredictOptions           over = *options;
  g_autoptr (FigureRuns)   runs = NULL;

  if (!read_panels (self, csv, diags) || scenarios == NULL
      || !place_all (self, scenarios, points, diags))
    return NULL;
  over.profile_dir = path;
  for (guint p = 0; p < self->panels->len; p++)
    figure_metric_ask (g_array_index (self->panels, CurvePanel, p).metric, &over);
  runs = figure_runs_new (scenarios, &over, n_threads);
  take_runs (self, runs, points);
  for (guint p = 0; p < self->panels->len; p++)
    if (!make_gains (self, &g_array_index (self->panels, CurvePanel, p), diags))
      return NULL;
  return g_steal_pointer (&self);
}

void
figure_curves_free (FigureCurves *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->panels);
  g_string_chunk_free (self->strings);
  g_free (self->name);
  g_free (self);
}
