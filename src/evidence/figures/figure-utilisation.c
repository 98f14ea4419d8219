#include "evidence/figures/figure-utilisation.h"

#include <math.h>

#include "driver/policy/exchange.h"
#include "evidence/figures/figure-private.h"

const double utilisation_targets[UTILISATION_N_TARGETS] = { 0.5, 0.8, 0.9, 0.95, 0.99 };

double
utilisation_rate (guint i)
{
  return 1e9 * pow (10, -1 + 4.0 * i / (UTILISATION_N_RATES - 1));
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Whether LAYER leaves after so many STEPS. */
static gboolean
is_sent (const UtilisationLine *row, const Exchange *exchange, guint layer, guint steps)
{
  guint turn = (steps - 1) % row->every + 1;

  if (row->fragment_layers == 0)
    return turn == row->every;
  return exchange_used_after (exchange, layer % exchange->fragments) == turn;
}

double
utilisation_of (const UtilisationLine *row, double rate)
{
  const double forward = row->step_s / 3 / row->layers, backward = 2 * forward;
  const double payload =
      row->parameters / row->layers * row->bits * 2 * (row->replicas - 1) / row->replicas / rate;
  const Exchange     exchange = { .every = row->every,
                                  .fragments = row->fragment_layers > 0
                                                   ? MAX (row->layers / row->fragment_layers, 1)
                                                   : 1 };
  g_autofree double *there = g_new0 (double, row->layers); /* when its exchange is over */
  g_autofree guint  *due = g_new0 (guint, row->layers);    /* in which step it is waited for */
  double             now = 0, link = 0;

  for (guint step = 1; step <= row->steps; step++)
    {
      for (guint l = 0; l < row->layers; l++)
        now = (due[l] == step ? MAX (now, there[l]) : now) + forward;
      for (guint l = row->layers; l-- > 0;)
        {
          now += backward;
          if (!is_sent (row, &exchange, l, step))
            continue;
          link = MAX (link, now) + payload;
          there[l] = link;
          due[l] = step + 1 + row->overlap;
        }
    }
  return row->steps * row->step_s / now;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define CELL(member) G_STRUCT_OFFSET (UtilisationLine, member)
#define GBIT         1e9
#define MAX_GBIT     1e6

static const FigureColumn columns[] = {
  { "figure", CELL (figure), .type = FIGURE_WORD },
  { "model", CELL (model), .type = FIGURE_WORD },
  { "method", CELL (method), .type = FIGURE_WORD },
  { "assumptions", CELL (assumptions), .type = FIGURE_WORD },
  { "parameters", CELL (parameters), .type = FIGURE_NUMBER, .min = 1, .max = 1e15 },
  { "step_s", CELL (step_s), .type = FIGURE_NUMBER, .min = 1e-6, .max = 1e6 },
  { "bits", CELL (bits), .type = FIGURE_NUMBER, .min = 1, .max = 64 },
  { "replicas", CELL (replicas), .type = FIGURE_NUMBER, .min = 1, .max = 1e6 },
  { "layers", CELL (layers), .type = FIGURE_WHOLE, .min = 1, .max = 10000 },
  { "every", CELL (every), .type = FIGURE_WHOLE, .min = 1, .max = 10000 },
  { "fragment_layers", CELL (fragment_layers), .type = FIGURE_WHOLE, .min = 0, .max = 10000 },
  { "overlap", CELL (overlap), .type = FIGURE_WHOLE, .min = 0, .max = 10000 },
  { "steps", CELL (steps), .type = FIGURE_WHOLE, .min = 1, .max = 100000 },
  { "p50", CELL (published[0]), .type = FIGURE_NUMBER, .max = MAX_GBIT, .scale = GBIT },
  { "p80", CELL (published[1]), .type = FIGURE_NUMBER, .max = MAX_GBIT, .scale = GBIT },
  { "p90", CELL (published[2]), .type = FIGURE_NUMBER, .max = MAX_GBIT, .scale = GBIT },
  { "p95", CELL (published[3]), .type = FIGURE_NUMBER, .max = MAX_GBIT, .scale = GBIT },
  { "p99", CELL (published[4]), .type = FIGURE_NUMBER, .max = MAX_GBIT, .scale = GBIT },
};

/* The least bandwidth of the grid with which LINE reaches the target T. */
static void
add_cell (Figures *self, const UtilisationLine *line, guint t)
{
  const double     published = line->published[t];
  const double     at = (log10 (published / GBIT) + 1) * (UTILISATION_N_RATES - 1) / 4;
  g_autofree char *name =
      g_strdup_printf ("%s, %s, %.0f %%", line->model, line->method, 100 * utilisation_targets[t]);
  UtilisationCell cell = { line, t, NAN, NAN, NAN };
  guint           r = 0;

  while (r < UTILISATION_N_RATES && line->of_rate[r] < utilisation_targets[t])
    r++;
  if (r < UTILISATION_N_RATES)
    cell.predicted = utilisation_rate (r);
  if (published > 0)
    {
      cell.published = published;
      cell.off = (double) r - (double) lround (at);
    }
  g_array_append_val (self->rows, cell);
  figure_add_evidence (self, name, "gbit_per_s", published / GBIT, cell.predicted / GBIT,
                       cell.predicted / GBIT);
}

static gboolean
compute (Figures *self, const FigureInput *input, DiagList *diags)
{
  (void) input, (void) diags;
  for (guint i = 0; i < self->lines->len; i++)
    {
      UtilisationLine *line = FIGURE_LINE (self, UtilisationLine, i);

      for (guint r = 0; r < UTILISATION_N_RATES; r++)
        line->of_rate[r] = utilisation_of (line, utilisation_rate (r));
      for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
        add_cell (self, line, t);
    }
  return TRUE;
}

const FigureComputation figure_utilisation = {
  .suffix = ".utilisation.csv",
  .alone = TRUE,
  .lines = { columns, G_N_ELEMENTS (columns), .size = sizeof (UtilisationLine) },
  .row_size = sizeof (UtilisationCell),
  .compute = compute,
};
