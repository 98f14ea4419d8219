#include "measure/figure-map.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "measure/figure-runs.h"

#define SUFFIX ".map.csv"

enum
{
  COLUMN_CONTENDER = MAP_N_AXES,
  COLUMN_ASSUMPTIONS,
  N_COLUMNS,
};

static const char *const columns[N_COLUMNS] = { "x", "y", "page", "contender", "assumptions" };

gboolean
figure_map_is (const char *folder, const char *name)
{
  g_autofree char *file = figure_file (folder, name, SUFFIX);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

/* ---- the axes -------------------------------------------------------------------------------- */

static gboolean
read_axes (FigureMap *self, const char *file, DiagList *diags)
{
  g_autoptr (CsvReader) reader = csv_reader_open (file, diags);
  const SourceMark      top = { .file = intern_text (file), .line = 1 };
  guint                 n_errors = diag_list_n_errors (diags);
  const char           *cells[N_COLUMNS];

  if (reader == NULL)
    return FALSE;
  for (guint c = 0; c < N_COLUMNS; c++)
    if (csv_reader_find (reader, columns[c]) < 0)
      diag_error (diags, &top, NULL, "missing column '%s'", columns[c]);
  if (diag_list_n_errors (diags) > n_errors)
    return FALSE;
  if (!csv_reader_next (reader, diags))
    {
      diag_error (diags, &top, NULL, "a line with the keys of the axes is missing");
      return FALSE;
    }
  for (guint c = 0; c < N_COLUMNS; c++)
    cells[c] = g_string_chunk_insert_const (
        self->strings, csv_reader_field (reader, (guint) csv_reader_find (reader, columns[c])));
  memcpy (self->keys, cells, sizeof self->keys);
  self->contender = cells[COLUMN_CONTENDER];
  self->assumptions = cells[COLUMN_ASSUMPTIONS];
  return diag_list_n_errors (diags) == n_errors;
}

/* The value of KEY, kept in the map; NULL after a diagnostic. */
static const char *
kept_value (FigureMap *self, const Scenario *scenario, const char *key, DiagList *diags)
{
  g_autofree char *value = figure_setting (scenario, key);

  if (value == NULL)
    diag_error (diags, NULL, NULL, "map '%s': scenario '%s' has no '%s'", self->name,
                scenario->name, key);
  return value != NULL ? g_string_chunk_insert_const (self->strings, value) : NULL;
}

/* The index of VALUE among VALUES, where it is added if it is new. */
static guint
index_of (GPtrArray *values, const char *value)
{
  guint index;

  if (g_ptr_array_find_with_equal_func (values, value, g_str_equal, &index))
    return index;
  g_ptr_array_add (values, (gpointer) value);
  return values->len - 1;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void
map_cell_clear (gpointer data)
{
  g_array_unref (((MapCell *) data)->entries);
}

static MapCell *
find_cell (FigureMap *self, const guint at[MAP_N_AXES])
{
  MapCell cell = { .x = at[MAP_X], .y = at[MAP_Y], .page = at[MAP_PAGE] };

  for (guint i = 0; i < self->cells->len; i++)
    {
      MapCell *one = &g_array_index (self->cells, MapCell, i);

      if (one->x == cell.x && one->y == cell.y && one->page == cell.page)
        return one;
    }
  cell.entries = g_array_new (FALSE, TRUE, sizeof (MapEntry));
  g_array_append_val (self->cells, cell);
  return &g_array_index (self->cells, MapCell, self->cells->len - 1);
}

static MapEntry *
find_entry (MapCell *cell, const char *contender)
{
  MapEntry entry = { .contender = contender };

  for (guint i = 0; i < cell->entries->len; i++)
    if (g_array_index (cell->entries, MapEntry, i).contender == contender)
      return &g_array_index (cell->entries, MapEntry, i);
  g_array_append_val (cell->entries, entry);
  return &g_array_index (cell->entries, MapEntry, cell->entries->len - 1);
}

static void
add_prediction (FigureMap *self, MapEntry *entry, const Scenario *scenario,
                const Prediction *prediction, const char *reason)
{
  if (prediction == NULL && entry->reason == NULL)
    entry->reason = g_string_chunk_insert_const (self->strings, reason);
  if (prediction == NULL || !prediction->fits
      || (entry->scenario != NULL
          && prediction->tokens_per_s_per_gpu <= entry->tokens_per_s_per_gpu))
    return;
  entry->scenario = g_string_chunk_insert_const (self->strings, scenario->name);
  entry->tokens_per_s_per_gpu = prediction->tokens_per_s_per_gpu;
  entry->binding = g_string_chunk_insert_const (self->strings, prediction->binding_resource);
}

/* The fastest first; of equals, and of those that do not fit, by name. */
static gint
compare_entries (gconstpointer a, gconstpointer b)
{
  const MapEntry *p = a, *q = b;

  if ((p->scenario == NULL) != (q->scenario == NULL))
    return p->scenario == NULL ? 1 : -1;
  if (p->scenario != NULL && p->tokens_per_s_per_gpu != q->tokens_per_s_per_gpu)
    return p->tokens_per_s_per_gpu < q->tokens_per_s_per_gpu ? 1 : -1;
  return strcmp (p->contender, q->contender);
}

static gint
compare_cells (gconstpointer a, gconstpointer b)
{
  const MapCell *p = a, *q = b;
  const guint    x[] = { p->page, p->y, p->x }, y[] = { q->page, q->y, q->x };
  gint           order = 0;

  for (guint i = 0; order == 0 && i < MAP_N_AXES; i++)
    order = (x[i] > y[i]) - (x[i] < y[i]);
  return order;
}

double
map_cell_lead (const MapCell *cell)
{
  const MapEntry *first = &g_array_index (cell->entries, MapEntry, 0), *second = first + 1;

  if (cell->entries->len < 2 || first->scenario == NULL || second->scenario == NULL)
    return NAN;
  return first->tokens_per_s_per_gpu / second->tokens_per_s_per_gpu - 1;
}

/* ---- predictions ----------------------------------------------------------------------------- */

/* FALSE after diagnostics about the first scenario that has no value for a key. */
static gboolean
fill_cells (FigureMap *self, const FigureRuns *runs, DiagList *diags)
{
  for (guint i = 0; i < runs->scenarios->len; i++)
    {
      const Scenario *scenario = g_ptr_array_index (runs->scenarios, i);
      const char     *contender = kept_value (self, scenario, self->contender, diags);
      guint           at[MAP_N_AXES];
      gboolean        complete = contender != NULL;

      for (guint axis = 0; axis < MAP_N_AXES; axis++)
        {
          const char *value = kept_value (self, scenario, self->keys[axis], diags);

          complete = complete && value != NULL;
          at[axis] = value != NULL ? index_of (self->values[axis], value) : 0;
        }
      if (!complete)
        return FALSE;
      add_prediction (self, find_entry (find_cell (self, at), contender), scenario,
                      runs->predictions[i], runs->reasons[i]);
    }
  g_array_sort (self->cells, compare_cells);
  for (guint i = 0; i < self->cells->len; i++)
    g_array_sort (g_array_index (self->cells, MapCell, i).entries, compare_entries);
  return TRUE;
}

/* ---- maps ------------------------------------------------------------------------------------ */

static FigureMap *
figure_map_new (const char *name)
{
  FigureMap *self = g_new0 (FigureMap, 1);

  self->name = g_strdup (name);
  self->strings = g_string_chunk_new (4096);
  self->cells = g_array_new (FALSE, TRUE, sizeof (MapCell));
  g_array_set_clear_func (self->cells, map_cell_clear);
  for (guint axis = 0; axis < MAP_N_AXES; axis++)
    self->values[axis] = g_ptr_array_new ();
  return self;
}

FigureMap *
figure_map_predict (const char *folder, const char *name, const PredictOptions *options,
                    guint n_threads, DiagList *diags)
{
  g_autofree char       *yaml = figure_file (folder, name, ".yaml");
  g_autofree char       *csv = figure_file (folder, name, SUFFIX);
  g_autofree char       *path = NULL;
  g_autoptr (FigureMap)  self = figure_map_new (name);
  g_autoptr (GPtrArray)  scenarios = scenario_load (NULL, yaml, NULL, 0, diags);
  PredictOptions         over = *options;
  g_autoptr (FigureRuns) runs = NULL;

  if (!read_axes (self, csv, diags) || scenarios == NULL)
    return NULL;
  path = figure_profile_path (folder, name, options->profile_dir);
  over.profile_dir = path;
  runs = figure_runs_new (scenarios, &over, n_threads);
  return fill_cells (self, runs, diags) ? g_steal_pointer (&self) : NULL;
}

void
figure_map_free (FigureMap *self)
{
  if (self == NULL)
    return;
  for (guint axis = 0; axis < MAP_N_AXES; axis++)
    g_ptr_array_unref (self->values[axis]);
  g_array_unref (self->cells);
  g_string_chunk_free (self->strings);
  g_free (self->name);
  g_free (self);
}
