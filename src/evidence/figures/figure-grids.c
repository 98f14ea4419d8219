#include "evidence/figures/figure-grids.h"

#include <math.h>
#include <string.h>

#include "base/config/suggest.h"
#include "evidence/figures/figure-private.h"
#include "evidence/figures/figure-published.h"

#define CELL(member) G_STRUCT_OFFSET (GridLine, member)
#define MOST         (1 << 20) /* ranks of a grid */

static const char *const answers[] = { "no", "yes", NULL };

static const FigureColumn columns[] = {
  { "figure", CELL (figure), .type = FIGURE_WORD },
  { "row", CELL (row), .type = FIGURE_WORD },
  { "machine", CELL (machine), .type = FIGURE_WORD, .words = tensor_grid_machines },
  { "ranks", CELL (ranks), .type = FIGURE_WHOLE, .min = 1, .max = MOST },
  { "least", CELL (least), .type = FIGURE_WHOLE, .min = 1, .max = MOST },
  { "samples", CELL (samples), .type = FIGURE_WHOLE, .min = 1, .max = 1e9 },
  { "seq_len", CELL (seq_len), .type = FIGURE_WHOLE, .min = 1, .max = 1e9 },
  { "n_layers", CELL (n_layers), .type = FIGURE_WHOLE, .min = 1, .max = 1e6 },
  { "d_model", CELL (d_model), .type = FIGURE_WHOLE, .min = 1, .max = 1e9 },
  { "d_ff", CELL (d_ff), .type = FIGURE_WHOLE, .min = 1, .max = 1e9 },
  { "gated", CELL (gated), .type = FIGURE_WORD, .words = answers },
  { "groups", CELL (groups), .type = FIGURE_WHOLE, .min = 1, .max = 1e6 },
  { "top", CELL (top), .type = FIGURE_WHOLE, .min = 1, .max = 1000 },
  { "scenarios", CELL (scenarios), .type = FIGURE_WORD },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
};

/* ---- scenarios ------------------------------------------------------------------------------- */

/* What SCENARIO's name says behind that of LINE: "2x1x4x1"; NULL: it is none of LINE's. */
static const char *
grid_of (const GridLine *line, const Scenario *scenario)
{
  const gsize length = strlen (line->scenarios);

  if (length == 0 || strncmp (scenario->name, line->scenarios, length) != 0
      || !g_str_has_prefix (scenario->name + length, ", "))
    return NULL;
  return scenario->name + length + 2;
}

/* Those of SCENARIOS that are grids of a line, or, without GRIDS, the others. */
static GPtrArray *
some_scenarios (const Figures *self, const GPtrArray *scenarios, gboolean grids)
{
  GPtrArray *some = g_ptr_array_new ();

  for (guint i = 0; i < scenarios->len; i++)
    {
      gboolean found = FALSE;

      for (guint l = 0; l < self->lines->len; l++)
        found =
            found
            || grid_of (FIGURE_LINE (self, GridLine, l), g_ptr_array_index (scenarios, i)) != NULL;
      if (found == grids)
        g_ptr_array_add (some, g_ptr_array_index (scenarios, i));
    }
  return some;
}

/* What is simulated of ROW. FALSE: it has no scenario. */
static gboolean
take_run (Figures *self, GridRow *row, const FigureRuns *runs)
{
  row->step_s = row->exposed_s = NAN;
  for (guint i = 0; i < runs->scenarios->len; i++)
    {
      const Prediction *prediction = runs->predictions[i];

      if (g_strcmp0 (grid_of (row->line, g_ptr_array_index (runs->scenarios, i)), row->name) != 0)
        continue;
      if (prediction == NULL || !prediction->fits)
        row->reason = figure_keep (self, prediction != NULL ? "does not fit" : runs->reasons[i]);
      else
        {
          row->step_s = prediction->step_time_s;
          row->exposed_s = prediction->exposed_comm_s;
        }
      return TRUE;
    }
  return FALSE;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const GridRow *
grid_row (const Figures *self, guint i)
{
  return &g_array_index (self->regions, GridRow, i);
}

/* Those of the published numbers, and what the model says of each grid. */
static void
add_rows (Figures *self)
{
  for (guint i = 0; i < self->regions->len; i++)
    {
      const GridRow   *grid = grid_row (self, i);
      g_autofree char *name =
          g_strdup_printf ("%s, place %u: %s", grid->line->row, grid->place, grid->name);
      const FigureCase one = { 0 };
      FigureRow        row = { .figure = grid->line->figure,
                               .row = figure_keep (self, name),
                               .assumptions = grid->line->assumptions,
                               .title = "communication_model_s",
                               .published = NAN,
                               .published_high = NAN,
                               .cases = g_array_new (FALSE, FALSE, sizeof (FigureCase)),
                               .n_used = 1,
                               .low = grid->grid.time_s,
                               .high = grid->grid.time_s,
                               .error = NAN };

      g_array_append_val (row.cases, one);
      g_array_append_val (self->rows, row);
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void
count_pairs (const Figures *self, GridLine *line)
{
  for (guint a = line->first; a < line->first + line->n; a++)
    for (guint b = a + 1; b < line->first + line->n; b++)
      {
        const GridRow *first = grid_row (self, a);
        const GridRow *second = grid_row (self, b);

        if (isnan (first->step_s) || isnan (second->step_s))
          continue;
        line->n_pairs++;
        line->n_agreeing += first->step_s < second->step_s;
      }
}

static void
add_grids (Figures *self, GridLine *line, const FigureRuns *runs)
{
  const TensorGridModel model = { .samples = line->samples,
                                  .seq_len = line->seq_len,
                                  .d_model = line->d_model,
                                  .d_ff = line->d_ff,
                                  .n_layers = line->n_layers,
                                  .groups = line->groups,
                                  .gated = line->gated == answers[1] };
  const guint           machine = (guint) name_index (line->machine, tensor_grid_machines);
  g_autoptr (GArray)    grids = tensor_grids (machine, &model, line->ranks, line->least);

  line->n_grids = grids->len;
  line->first = self->regions->len;
  for (guint i = 0; i < grids->len; i++)
    {
      GridRow row = { .line = line, .place = i + 1, .grid = g_array_index (grids, TensorGrid, i) };
      const guint     *g = row.grid.degrees;
      g_autofree char *name = g_strdup_printf ("%ux%ux%ux%u", g[0], g[1], g[2], g[3]);

      row.name = figure_keep (self, name);
      if (take_run (self, &row, runs) || i < line->top)
        g_array_append_val (self->regions, row);
    }
  line->n = self->regions->len - line->first;
  count_pairs (self, line);
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  g_autoptr (GPtrArray)  grids = some_scenarios (self, input->scenarios, TRUE);
  g_autoptr (GPtrArray)  others = some_scenarios (self, input->scenarios, FALSE);
  g_autoptr (FigureRuns) runs = figure_runs_new (grids, input->options, input->n_threads);
  const FigureInput      rest = { input->options, input->n_threads, others };

  self->regions = g_array_new (FALSE, TRUE, sizeof (GridRow));
  for (guint i = 0; i < self->lines->len; i++)
    add_grids (self, FIGURE_LINE (self, GridLine, i), runs);
  if (!figure_take_published (self, &rest, diags))
    return FALSE;
  add_rows (self);
  return TRUE;
}

const FigureComputation figure_grids = {
  .suffix = ".grids.csv",
  .lines = { columns, G_N_ELEMENTS (columns), .size = sizeof (GridLine) },
  .row_size = sizeof (FigureRow),
  .clear_row = figure_row_clear,
  .compute = compute,
};
