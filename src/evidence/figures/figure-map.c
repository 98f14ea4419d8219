#include "evidence/figures/figure-map.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "evidence/figures/figure-private.h"

#define CELL(member) G_STRUCT_OFFSET (MapAxes, member)

static const FigureColumn columns[] = {
  { "x", CELL (keys[MAP_X]), .type = FIGURE_WORD },
  { "y", CELL (keys[MAP_Y]), .type = FIGURE_WORD },
  { "page", CELL (keys[MAP_PAGE]), .type = FIGURE_WORD },
  { "contender", CELL (contender), .type = FIGURE_WORD },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
};

static void
clear_axes (gpointer data)
{
  MapAxes *self = data;

  for (guint axis = 0; axis < MAP_N_AXES; axis++)
    g_clear_pointer (&self->values[axis], g_ptr_array_unref);
}

/* The value of KEY; NULL after a diagnostic. */
static const char *
value_of (Figures *self, const Scenario *scenario, const char *key, DiagList *diags)
{
  g_autofree char *value = figure_setting (scenario, key);

  if (value == NULL)
    diag_error (diags, NULL, NULL, "map '%s': scenario '%s' has no '%s'", self->name,
                scenario->name, key);
  return figure_keep (self, value);
}

/* The entry of SCENARIO, new where its place has no such contender. NULL after diagnostics. */
static MapEntry *
find_entry (Figures *self, const MapAxes *axes, const Scenario *scenario, DiagList *diags)
{
  const guint before = diag_list_n_errors (diags);
  MapEntry    entry = { .map = self->name,
                        .contender = value_of (self, scenario, axes->contender, diags) };

  for (guint axis = 0; axis < MAP_N_AXES; axis++)
    {
      GPtrArray *values = axes->values[axis];

      entry.values[axis] = value_of (self, scenario, axes->keys[axis], diags);
      if (entry.values[axis] == NULL
          || g_ptr_array_find_with_equal_func (values, entry.values[axis], g_str_equal,
                                               &entry.at[axis]))
        continue;
      entry.at[axis] = values->len;
      g_ptr_array_add (values, (gpointer) entry.values[axis]);
    }
  if (diag_list_n_errors (diags) > before)
    return NULL;
  for (guint i = 0; i < self->rows->len; i++)
    if (FIGURE_ROW (self, MapEntry, i)->contender == entry.contender
        && memcmp (FIGURE_ROW (self, MapEntry, i)->at, entry.at, sizeof entry.at) == 0)
      return FIGURE_ROW (self, MapEntry, i);
  g_array_append_val (self->rows, entry);
  return FIGURE_ROW (self, MapEntry, self->rows->len - 1);
}

/* Of a cell the fastest first; of equals, and of those that do not fit, by name. */
static gint
compare_entries (gconstpointer a, gconstpointer b)
{
  const MapEntry *p = a, *q = b;

  for (guint axis = MAP_N_AXES; axis-- > 0;)
    if (p->at[axis] != q->at[axis])
      return p->at[axis] < q->at[axis] ? -1 : 1;
  if ((p->scenario == NULL) != (q->scenario == NULL))
    return p->scenario == NULL ? 1 : -1;
  if (p->scenario != NULL && p->tokens_per_s_per_gpu != q->tokens_per_s_per_gpu)
    return p->tokens_per_s_per_gpu < q->tokens_per_s_per_gpu ? 1 : -1;
  return strcmp (p->contender, q->contender);
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  MapAxes               *axes = self->lines->len > 0 ? FIGURE_LINE (self, MapAxes, 0) : NULL;
  g_autofree char       *file = figure_file (self->folder, self->name, figure_map.suffix);
  const SourceMark       top = { .file = intern_text (file), .line = 1 };
  g_autoptr (FigureRuns) runs = NULL;

  if (axes == NULL)
    {
      diag_error (diags, &top, NULL, "a line with the keys of the axes is missing");
      return FALSE;
    }
  for (guint axis = 0; axis < MAP_N_AXES; axis++)
    axes->values[axis] = g_ptr_array_new ();
  runs = figure_runs_new (input->scenarios, input->options, input->n_threads);
  for (guint i = 0; i < runs->scenarios->len; i++)
    {
      const Scenario   *scenario = g_ptr_array_index (runs->scenarios, i);
      const Prediction *prediction = runs->predictions[i];
      MapEntry         *entry = find_entry (self, axes, scenario, diags);

      if (entry == NULL)
        return FALSE;
      if (prediction == NULL && entry->reason == NULL)
        entry->reason = figure_keep (self, runs->reasons[i]);
      if (prediction == NULL || !prediction->fits
          || (entry->scenario != NULL
              && prediction->tokens_per_s_per_gpu <= entry->tokens_per_s_per_gpu))
        continue;
      entry->scenario = figure_keep (self, scenario->name);
      entry->tokens_per_s_per_gpu = prediction->tokens_per_s_per_gpu;
      entry->binding = figure_keep (self, prediction->binding_resource);
    }
  g_array_sort (self->rows, compare_entries);
  for (guint i = 0; i < self->rows->len; i++)
    {
      MapEntry      *entry = FIGURE_ROW (self, MapEntry, i);
      const gboolean follows = i > 0 && memcmp (entry[-1].at, entry->at, sizeof entry->at) == 0;

      entry->rank = follows ? entry[-1].rank + 1 : 1;
      entry->lead = NAN;
      if (entry->rank == 2 && entry->scenario != NULL)
        entry[-1].lead = entry[-1].tokens_per_s_per_gpu / entry->tokens_per_s_per_gpu - 1;
    }
  return TRUE;
}

const FigureComputation figure_map = {
  .suffix = ".map.csv",
  .lines = { columns, G_N_ELEMENTS (columns), .size = sizeof (MapAxes), .clear = clear_axes,
             .open = TRUE },
  .row_size = sizeof (MapEntry),
  .compute = compute,
};
