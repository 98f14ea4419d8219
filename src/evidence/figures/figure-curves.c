#include "evidence/figures/figure-curves.h"

#include <math.h>
#include <string.h>

#include "evidence/figures/figure-metric.h"
#include "evidence/figures/figure-private.h"

#define CELL(member) G_STRUCT_OFFSET (CurvePanel, member)

static const FigureColumn columns[] = {
  { "figure", CELL (figure), .type = FIGURE_WORD },
  { "x", CELL (x), .type = FIGURE_WORD },
  { "scenarios", CELL (prefix), .type = FIGURE_WORD },
  { "metric", CELL (metric), .type = FIGURE_METRIC },
  { "gain_over", CELL (over), .type = FIGURE_WORD },
  { "published", CELL (published), .type = FIGURE_GAIN },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
};

static void
clear_panel (gpointer data)
{
  CurvePanel *self = data;

  g_clear_pointer (&self->xs, g_array_unref);
  g_clear_pointer (&self->series, g_ptr_array_unref);
  g_clear_pointer (&self->values, g_free);
}

double
curve_value (const CurvePanel *panel, guint series, guint i)
{
  return panel->values[(gsize) series * panel->xs->len + i];
}

/* Where a scenario is: in which panel, of which series, at which x. */
typedef struct
{
  CurvePanel *panel; /* NULL: in none */
  guint       series;
  double      x;
} CurvePlace;

static guint
index_of_x (const CurvePanel *panel, double x)
{
  guint i = 0;

  while (i < panel->xs->len && g_array_index (panel->xs, double, i) != x)
    i++;
  return i;
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

/* FALSE after a diagnostic: SCENARIO has no number for x. */
static gboolean
find_place (Figures *self, const Scenario *scenario, CurvePlace *place, DiagList *diags)
{
  g_autofree char *series = NULL, *value = NULL;
  const char      *digits;

  for (guint p = 0; p < self->lines->len && place->panel == NULL; p++)
    {
      CurvePanel *panel = FIGURE_LINE (self, CurvePanel, p);

      if (g_str_has_prefix (scenario->name, panel->prefix)
          && g_str_has_prefix (scenario->name + strlen (panel->prefix), ", "))
        place->panel = panel;
    }
  if (place->panel == NULL)
    return TRUE;
  value = figure_setting (scenario, place->panel->x);
  digits = value != NULL ? value + strcspn (value, "0123456789") : "";
  if (*digits == '\0')
    {
      diag_error (diags, NULL, NULL, "figure '%s': scenario '%s' has no number for '%s'",
                  self->name, scenario->name, place->panel->x);
      return FALSE;
    }
  place->x = g_ascii_strtod (digits, NULL);
  if (index_of_x (place->panel, place->x) == place->panel->xs->len)
    g_array_append_val (place->panel->xs, place->x);
  series = series_of (place->panel, scenario->name);
  if (!g_ptr_array_find_with_equal_func (place->panel->series, series, g_str_equal, &place->series))
    {
      place->series = place->panel->series->len;
      g_ptr_array_add (place->panel->series, (gpointer) figure_keep (self, series));
    }
  return TRUE;
}

static gint
compare_numbers (gconstpointer a, gconstpointer b)
{
  const double *p = a, *q = b;

  return (*p > *q) - (*p < *q);
}

/* The value of each scenario at its place of PLACES. */
static void
take_runs (Figures *self, const FigureRuns *runs, const CurvePlace *places)
{
  for (guint p = 0; p < self->lines->len; p++)
    {
      CurvePanel *panel = FIGURE_LINE (self, CurvePanel, p);
      const gsize n = (gsize) panel->series->len * panel->xs->len;

      g_array_sort (panel->xs, compare_numbers);
      panel->values = g_new (double, n);
      for (gsize v = 0; v < n; v++)
        panel->values[v] = NAN;
    }
  for (guint i = 0; i < runs->scenarios->len; i++)
    {
      const Prediction *prediction = runs->predictions[i];
      CurvePanel       *panel = places[i].panel;
      double            value;

      if (panel == NULL)
        continue;
      if (prediction == NULL || !prediction->fits)
        {
          if (panel->reason == NULL)
            panel->reason =
                figure_keep (self, prediction != NULL ? "does not fit" : runs->reasons[i]);
        }
      else if (figure_metric_of (prediction, panel->metric, &value))
        panel->values[(gsize) places[i].series * panel->xs->len + index_of_x (panel, places[i].x)] =
            value;
    }
}

/* FALSE after a diagnostic: there is no series to gain over. */
static gboolean
make_gains (const Figures *self, CurvePanel *panel, DiagList *diags)
{
  const guint        n = panel->xs->len;
  g_autofree double *base = NULL;
  guint              over;

  if (*panel->over == '\0')
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

static void
add_points (Figures *self, CurvePanel *panel)
{
  panel->low = INFINITY;
  panel->high = -INFINITY;
  for (guint s = 0; s < panel->series->len; s++)
    for (guint i = 0; i < panel->xs->len; i++)
      {
        const CurvePoint point = { panel, g_ptr_array_index (panel->series, s),
                                   g_array_index (panel->xs, double, i),
                                   curve_value (panel, s, i) };

        g_array_append_val (self->rows, point);
        if (g_str_equal (point.series, panel->over))
          continue;
        panel->low = fmin (panel->low, point.value);
        panel->high = fmax (panel->high, point.value);
      }
  figure_add_evidence (self, panel->figure, panel->metric, panel->published,
                       panel->low <= panel->high ? panel->low : NAN, panel->high);
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  const GPtrArray       *scenarios = input->scenarios;
  g_autofree CurvePlace *places = g_new0 (CurvePlace, scenarios->len);
  PredictOptions         asked = *input->options;
  g_autoptr (FigureRuns) runs = NULL;

  for (guint p = 0; p < self->lines->len; p++)
    {
      CurvePanel *panel = FIGURE_LINE (self, CurvePanel, p);

      panel->xs = g_array_new (FALSE, FALSE, sizeof (double));
      panel->series = g_ptr_array_new ();
      figure_metric_ask (panel->metric, &asked);
    }
  for (guint i = 0; i < scenarios->len; i++)
    if (!find_place (self, g_ptr_array_index (scenarios, i), &places[i], diags))
      return FALSE;
  runs = figure_runs_new (scenarios, &asked, input->n_threads);
  take_runs (self, runs, places);
  for (guint p = 0; p < self->lines->len; p++)
    {
      if (!make_gains (self, FIGURE_LINE (self, CurvePanel, p), diags))
        return FALSE;
      add_points (self, FIGURE_LINE (self, CurvePanel, p));
    }
  return TRUE;
}

const FigureComputation figure_curves = {
  .suffix = ".curves.csv",
  .lines = { columns, G_N_ELEMENTS (columns), .size = sizeof (CurvePanel), .clear = clear_panel },
  .row_size = sizeof (CurvePoint),
  .compute = compute,
};
