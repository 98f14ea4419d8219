/* What several predictions are drawn as, by what they differ in. */
#include <math.h>

#include "report/plot/plot-private.h"
#include "report/prediction/differences-private.h"

#define GIB 1073741824.0

static const Prediction *
prediction_at (const GPtrArray *predictions, guint i)
{
  return g_ptr_array_index (predictions, i);
}

/* ---- scaling --------------------------------------------------------------------------------- */

static gint
compare_gpus (gconstpointer a, gconstpointer b)
{
  const PlotPoint *x = a, *y = b;

  return x->x < y->x ? -1 : x->x > y->x;
}

/* The best that fits of each series and number of GPUs, in the order of these. */
static GArray *
scaling_points (const GPtrArray *predictions, GStringChunk *names)
{
  GArray *points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));

  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = prediction_at (predictions, i);
      g_autofree char  *series = g_strdup_printf ("%s, %s", p->model, p->strategy);
      PlotPoint         point = { .x = p->n_gpus,
                                  .y = p->tokens_per_s,
                                  .series = g_string_chunk_insert_const (names, series),
                                  .fits = TRUE };
      guint             at = 0;

      if (!p->fits)
        continue;
      while (at < points->len
             && (g_array_index (points, PlotPoint, at).x != point.x
                 || g_array_index (points, PlotPoint, at).series != point.series))
        at++;
      if (at == points->len)
        g_array_append_val (points, point);
      else if (g_array_index (points, PlotPoint, at).y < point.y)
        g_array_index (points, PlotPoint, at) = point;
    }
  g_array_sort (points, compare_gpus);
  return points;
}

static gboolean
add_scaling (GArray *pictures, const PlotScripts *scripts, const GPtrArray *predictions,
             GError **error)
{
  GStringChunk      *names = g_string_chunk_new (256);
  g_autoptr (GArray) points = scaling_points (predictions, names);
  gboolean           added = TRUE;

  if (points->len > 0
      && g_array_index (points, PlotPoint, 0).x
             < g_array_index (points, PlotPoint, points->len - 1).x)
    added =
        plot_add_scaling (pictures, scripts, PICTURE_SCALING,
                          "Throughput over GPUs, the best that fits (dotted: in step with them)",
                          "GPUs", "tokens/s in all", points, error);
  g_string_chunk_free (names);
  return added;
}

/* ---- Pareto ---------------------------------------------------------------------------------- */

/* Tokens of unlike models are unlike goods. */
static gboolean
add_pareto (GArray *pictures, const PlotScripts *scripts, const GPtrArray *predictions,
            GError **error)
{
  g_autoptr (GArray) points = g_array_new (FALSE, FALSE, sizeof (PlotPoint));

  if (predictions->len < 3)
    return TRUE;
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = prediction_at (predictions, i);
      PlotPoint         point = { .x = (double) p->hbm.device / GIB,
                                  .y = p->tokens_per_s_per_gpu,
                                  .label = p->scenario,
                                  .fits = p->fits };

      if (!g_str_equal (p->model, prediction_at (predictions, 0)->model))
        return TRUE;
      g_array_append_val (points, point);
    }
  return plot_add_pareto (pictures, scripts, PICTURE_PARETO, "Throughput against memory",
                          "peak GPU memory (GiB)", "tokens/s/GPU", points, error);
}

/* ---- heat map -------------------------------------------------------------------------------- */

/* Something that predictions differ in: what each of them has of it. */
typedef struct
{
  const char *title;
  GPtrArray  *cells;  /* a prediction each */
  GPtrArray  *values; /* each once, in their order; ends with NULL */
} Axis;

static void
axis_free (gpointer data)
{
  Axis *self = data;

  g_ptr_array_unref (self->cells);
  g_ptr_array_unref (self->values);
  g_free (self);
}

static guint
value_index (const Axis *self, guint i)
{
  guint at = 0;

  g_ptr_array_find_with_equal_func (self->values, g_ptr_array_index (self->cells, i), g_str_equal,
                                    &at);
  return at;
}

/* Takes CELLS; NULL where they are all the same. */
static Axis *
axis_new (const char *title, GPtrArray *cells)
{
  Axis *self = g_new0 (Axis, 1);

  self->title = title;
  self->cells = cells;
  self->values = g_ptr_array_new ();
  for (guint i = 0; i < cells->len; i++)
    if (!g_ptr_array_find_with_equal_func (self->values, g_ptr_array_index (cells, i), g_str_equal,
                                           NULL))
      g_ptr_array_add (self->values, g_ptr_array_index (cells, i));
  if (self->values->len < 2)
    {
      axis_free (self);
      return NULL;
    }
  g_ptr_array_add (self->values, NULL);
  return self;
}

static void
take_axis (GPtrArray *axes, Axis *axis)
{
  if (axis != NULL)
    g_ptr_array_add (axes, axis);
}

/* Titles that differ, then options that do, where no title says them. */
static GPtrArray *
find_axes (const GPtrArray *predictions, const GPtrArray *differences)
{
  GPtrArray *axes = g_ptr_array_new_with_free_func (axis_free), *models = g_ptr_array_new ();
  GPtrArray *clusters = g_ptr_array_new (), *strategies = g_ptr_array_new ();

  for (guint i = 0; i < predictions->len; i++)
    {
      g_ptr_array_add (models, prediction_at (predictions, i)->model);
      g_ptr_array_add (clusters, prediction_at (predictions, i)->cluster);
      g_ptr_array_add (strategies, prediction_at (predictions, i)->strategy);
    }
  take_axis (axes, axis_new ("strategy", strategies));
  take_axis (axes, axis_new ("model", models));
  take_axis (axes, axis_new ("cluster", clusters));
  for (guint i = 0; i < differences->len; i++)
    {
      const DifferenceColumn  *column = g_ptr_array_index (differences, i);
      GPtrArray               *cells = g_ptr_array_new ();
      static const char *const titles[] = { "MODEL", "CLUSTER", "STRATEGY", NULL };

      for (guint p = 0; p < predictions->len; p++)
        g_ptr_array_add (cells, (gpointer) column->cells[p]);
      if (g_strv_contains (titles, column->title))
        g_ptr_array_unref (cells);
      else
        take_axis (axes, axis_new (column->title, cells));
    }
  return axes;
}

/* Where prediction I stands in the grid of X and Y. */
static guint
place_in_grid (const Axis *x, const Axis *y, guint i)
{
  return value_index (y, i) * (x->values->len - 1) + value_index (x, i);
}

/* The value of each place of the grid of X and Y; NULL where they are none. */
static double *
grid_values (const GPtrArray *predictions, const Axis *x, const Axis *y)
{
  guint                n_columns = x->values->len - 1, n = n_columns * (y->values->len - 1);
  g_autofree double   *values = g_new (double, n);
  g_autofree gboolean *taken = g_new0 (gboolean, n);

  if (4 * predictions->len < 3 * n) /* too many holes */
    return NULL;
  for (guint i = 0; i < n; i++)
    values[i] = NAN;
  for (guint i = 0; i < predictions->len; i++)
    {
      const Prediction *p = prediction_at (predictions, i);
      guint             at = place_in_grid (x, y, i);

      if (taken[at])
        return NULL;
      taken[at] = TRUE;
      values[at] = p->fits ? p->tokens_per_s_per_gpu : NAN;
    }
  return g_steal_pointer (&values);
}

/* What is said of the places without a value. */
static const char **
grid_words (const GPtrArray *predictions, const Axis *x, const Axis *y)
{
  const char **words = g_new0 (const char *, (x->values->len - 1) * (y->values->len - 1));

  for (guint i = 0; i < predictions->len; i++)
    if (!prediction_at (predictions, i)->fits)
      words[place_in_grid (x, y, i)] = PLOT_TOO_BIG;
  return words;
}

static gboolean
add_heat_map (GArray *pictures, const PlotScripts *scripts, const GPtrArray *predictions,
              GError **error)
{
  g_autoptr (GPtrArray)   differences = differences_find (predictions);
  g_autoptr (GPtrArray)   axes = find_axes (predictions, differences);
  const Axis             *y = axes->len == 2 ? g_ptr_array_index (axes, 0) : NULL;
  const Axis             *x = axes->len == 2 ? g_ptr_array_index (axes, 1) : NULL;
  g_autofree double      *values = y != NULL ? grid_values (predictions, x, y) : NULL;
  g_autofree const char **words = values != NULL ? grid_words (predictions, x, y) : NULL;
  PlotMatrix              matrix = { .title = "tokens/s/GPU of what fits",
                                     .z_title = "tokens/s/GPU",
                                     .values = values,
                                     .words = words };

  if (values == NULL)
    return TRUE;
  matrix.x_title = x->title;
  matrix.y_title = y->title;
  matrix.x_names = (const char *const *) x->values->pdata;
  matrix.y_names = (const char *const *) y->values->pdata;
  return plot_add_heat_map (pictures, scripts, PICTURE_HEAT_MAP, &matrix, error);
}

gboolean
plot_add_comparison (GArray *pictures, const PlotScripts *scripts, const GPtrArray *predictions,
                     GError **error)
{
  return predictions->len < 2
         || (add_scaling (pictures, scripts, predictions, error)
             && add_pareto (pictures, scripts, predictions, error)
             && add_heat_map (pictures, scripts, predictions, error));
}
