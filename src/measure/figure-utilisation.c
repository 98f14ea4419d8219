#include "measure/figure-utilisation.h"

#include <math.h>

#include "driver/exchange.h"
#include "measure/figure-table.h"

#define SUFFIX ".utilisation.csv"

const double utilisation_targets[UTILISATION_N_TARGETS] = { 0.5, 0.8, 0.9, 0.95, 0.99 };

double
utilisation_rate (guint i)
{
  return 1e9 * pow (10, -1 + 4.0 * i / (UTILISATION_N_RATES - 1));
}

/* ---- the rules ------------------------------------------------------------------------------- */

/* Whether LAYER leaves after so many STEPS. */
static gboolean
is_sent (const UtilisationRow *row, const Exchange *exchange, guint layer, guint steps)
{
  guint turn = (steps - 1) % row->every + 1;

  if (row->fragment_layers == 0)
    return turn == row->every;
  return exchange_used_after (exchange, layer % exchange->fragments) == turn;
}

double
utilisation_of (const UtilisationRow *row, double rate)
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

static void
compute (UtilisationRow *row)
{
  for (guint r = 0; r < UTILISATION_N_RATES; r++)
    row->of_rate[r] = utilisation_of (row, utilisation_rate (r));
  for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
    {
      guint r = 0;

      while (r < UTILISATION_N_RATES && row->of_rate[r] < utilisation_targets[t])
        r++;
      row->predicted[t] = r;
      if (row->published[t] > 0)
        row->off[t] =
            (gint) r
            - (gint) lround ((log10 (row->published[t] / 1e9) + 1) * (UTILISATION_N_RATES - 1) / 4);
    }
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ROW(member)   G_STRUCT_OFFSET (UtilisationRow, member)
#define PUBLISHED(t)  (ROW (published) + (t) * sizeof (double))
#define MAX_PUBLISHED 1e6 /* Gbit/s */

static const FigureColumn columns[] = {
  { "figure", ROW (figure), FIGURE_WORD, 0, 0 },
  { "model", ROW (model), FIGURE_WORD, 0, 0 },
  { "method", ROW (method), FIGURE_WORD, 0, 0 },
  { "assumptions", ROW (assumptions), FIGURE_WORD, 0, 0 },
  { "parameters", ROW (parameters), FIGURE_NUMBER, 1, 1e15 },
  { "step_s", ROW (step_s), FIGURE_NUMBER, 1e-6, 1e6 },
  { "bits", ROW (bits), FIGURE_NUMBER, 1, 64 },
  { "replicas", ROW (replicas), FIGURE_NUMBER, 1, 1e6 },
  { "layers", ROW (layers), FIGURE_WHOLE, 1, 10000 },
  { "every", ROW (every), FIGURE_WHOLE, 1, 10000 },
  { "fragment_layers", ROW (fragment_layers), FIGURE_WHOLE, 0, 10000 },
  { "overlap", ROW (overlap), FIGURE_WHOLE, 0, 10000 },
  { "steps", ROW (steps), FIGURE_WHOLE, 1, 100000 },
  { "p50", PUBLISHED (0), FIGURE_NUMBER, 0, MAX_PUBLISHED },
  { "p80", PUBLISHED (1), FIGURE_NUMBER, 0, MAX_PUBLISHED },
  { "p90", PUBLISHED (2), FIGURE_NUMBER, 0, MAX_PUBLISHED },
  { "p95", PUBLISHED (3), FIGURE_NUMBER, 0, MAX_PUBLISHED },
  { "p99", PUBLISHED (4), FIGURE_NUMBER, 0, MAX_PUBLISHED },
};

/* The table has Gbit/s. */
static void
finish_line (gpointer self, gpointer data, const CsvReader *reader, DiagList *diags)
{
  UtilisationRow *row = data;

  (void) self, (void) reader, (void) diags;
  for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
    row->published[t] *= 1e9;
}

/* ---- the figure ------------------------------------------------------------------------------ */

static char *
file_of (const char *folder, const char *name)
{
  g_autofree char *file = g_strconcat (name, SUFFIX, NULL);

  return g_build_filename (folder, file, NULL);
}

gboolean
figure_utilisation_is (const char *folder, const char *name)
{
  g_autofree char *file = file_of (folder, name);

  return g_file_test (file, G_FILE_TEST_EXISTS);
}

FigureUtilisation *
figure_utilisation_predict (const char *folder, const char *name, DiagList *diags)
{
  g_autoptr (FigureUtilisation) self = g_new0 (FigureUtilisation, 1);
  g_autofree char              *csv = file_of (folder, name);

  self->name = g_strdup (name);
  self->strings = g_string_chunk_new (4096);
  self->rows = g_array_new (FALSE, TRUE, sizeof (UtilisationRow));
  if (!figure_table_read (csv, columns, G_N_ELEMENTS (columns), finish_line, NULL, self->rows,
                          self->strings, diags))
    return NULL;
  for (guint i = 0; i < self->rows->len; i++)
    compute (&g_array_index (self->rows, UtilisationRow, i));
  return g_steal_pointer (&self);
}

void
figure_utilisation_free (FigureUtilisation *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->rows);
  g_string_chunk_free (self->strings);
  g_free (self->name);
  g_free (self);
}
