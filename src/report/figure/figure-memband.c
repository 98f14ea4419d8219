#include "evidence/figures/figure-memband.h"

#include <math.h>
#include <string.h>

#include "base/words.h"
#include "report/figure/figure-report-private.h"

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

/* Of a bound or where nothing fits there is no point. */
static double
of_point (const MembandRow *row, double value)
{
  return row->found && row->part != MEMBAND_MEASURED && row->part != MEMBAND_BOUND ? value : NAN;
}

static double
of_bound (const MembandRow *row, double value)
{
  return row->part == MEMBAND_BOUND ? value : NAN;
}

COLUMN_NUMBER_OF (MembandRow, row_memory, p->cluster.memory_bytes / 1e9)
COLUMN_NUMBER_OF (MembandRow, row_rate, p->cluster.bytes_per_s * 8 / 1e9)
COLUMN_NUMBER_OF (MembandRow, row_at_x, p->part == MEMBAND_SERIES ? p->at : NAN)
COLUMN_NUMBER_OF (MembandRow, row_gamma, of_point (p, p->best.gamma))
COLUMN_NUMBER_OF (MembandRow, row_stage, of_point (p, p->best.stage))
COLUMN_NUMBER_OF (MembandRow, row_tokens, of_point (p, p->best.tokens))
COLUMN_NUMBER_OF (MembandRow, row_hfu, of_point (p, 100 * p->best.hfu))
COLUMN_NUMBER_OF (MembandRow, row_free, of_bound (p, p->bounds.free_bytes))
COLUMN_NUMBER_OF (MembandRow, row_longest, of_bound (p, p->bounds.longest))
COLUMN_NUMBER_OF (MembandRow, row_bound_mfu, of_bound (p, 100 * p->bounds.mfu))
COLUMN_NUMBER_OF (MembandRow, row_bound_speed, of_bound (p, p->bounds.tokens_per_s))
COLUMN_NUMBER_OF (MembandRow, row_fits, isfinite (p->simulated) ? p->fits : NAN)
COLUMN_NUMBER_OF (MembandRow, row_measured, p->measured > 0 ? p->measured : NAN)

static const Column result_columns[] = {
  { "part", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, word) },
  { "figure", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, figure) },
  { "title", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, title) },
  { "model", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, name) },
  { "n_ranks", .kind = COLUMN_NUMBER, COLUMN_MEMBER (MembandRow, cluster.n_ranks) },
  { "seq_len", .kind = COLUMN_NUMBER, COLUMN_MEMBER (MembandRow, model.seq_len) },
  { "memory_gb", .kind = COLUMN_NUMBER, .number = row_memory },
  { "gbit_per_s", .kind = COLUMN_NUMBER, .number = row_rate },
  { "x", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, x) },
  { "y", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, y) },
  { "at", .kind = COLUMN_NUMBER, .number = row_at_x },
  { "closed_form", .kind = COLUMN_NUMBER, COLUMN_MEMBER (MembandRow, closed) },
  { "gamma", .kind = COLUMN_NUMBER, .number = row_gamma },
  { "stage", .kind = COLUMN_NUMBER, .number = row_stage },
  { "tokens", .kind = COLUMN_NUMBER, .number = row_tokens },
  { "hfu_percent", .kind = COLUMN_NUMBER, .number = row_hfu },
  { "free_bytes", .kind = COLUMN_NUMBER, .number = row_free },
  { "longest_tokens", .kind = COLUMN_NUMBER, .number = row_longest },
  { "bound_mfu_percent", .kind = COLUMN_NUMBER, .number = row_bound_mfu },
  { "bound_tokens_per_s", .kind = COLUMN_NUMBER, .number = row_bound_speed },
  { "run_gamma", .kind = COLUMN_NUMBER, COLUMN_MEMBER (MembandRow, gamma) },
  { "closed_form_at_run_gamma", .kind = COLUMN_NUMBER, COLUMN_MEMBER (MembandRow, same) },
  { "closed_form_of_3_passes", .kind = COLUMN_NUMBER, COLUMN_MEMBER (MembandRow, three) },
  { "simulated", .kind = COLUMN_NUMBER, COLUMN_MEMBER (MembandRow, simulated) },
  { "fits", .kind = COLUMN_NUMBER, .number = row_fits },
  { "measured_s", .kind = COLUMN_NUMBER, .number = row_measured },
  { "assumptions", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, assumptions) },
  { "reason", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, reason) },
  { "profiles", .kind = COLUMN_WORD, COLUMN_MEMBER (MembandRow, profiles) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- text ------------------------------------------------------------------------------------ */

static char *
verdict_cell (const MembandRow *row)
{
  if (row->reason != NULL)
    return g_strdup (row->reason);
  return g_strdup (isfinite (row->simulated) && !row->fits ? "does not fit" : "");
}

static void
add_search (const MembandRow *row, struct libscols_table *table)
{
  char *ranks = g_strdup_printf ("%.0f", row->cluster.n_ranks);

  if (!row->found)
    figure_line (table, g_strdup (row->title), ranks, g_strdup (row->name), g_strdup ("no memory"));
  else
    figure_line (table, g_strdup (row->title), ranks, g_strdup (row->name),
                 figure_number ("%.1f %%", row->closed), figure_number ("%.2f", row->best.gamma),
                 g_strdup_printf ("%d", (int) row->best.stage),
                 figure_number ("%.0f", row->best.tokens), figure_number ("%.2f", row->gamma),
                 figure_number ("%.1f %%", row->same), figure_number ("%.1f %%", row->three),
                 figure_number ("%.1f %%", row->simulated), verdict_cell (row));
}

static void
add_bound (const MembandRow *row, struct libscols_table *table)
{
  const MembandBounds *bounds = &row->bounds;
  const gboolean       limited = bounds->mfu < bounds->compute_mfu;

  figure_line (table, g_strdup (row->title), figure_number ("%.0f", row->cluster.n_ranks),
               g_strdup (row->name), figure_number ("%.1f GB", bounds->free_bytes / 1e9),
               figure_number ("%.0f", bounds->longest), figure_number ("%.2f", bounds->mfu),
               figure_number ("%.0f", bounds->tokens_per_s),
               g_strdup (limited ? "the network, with all recomputed" : ""));
}

static void
add_measured (const MembandRow *row, struct libscols_table *table)
{
  const double closed = row->closed / row->measured - 1;
  const double simulated = row->simulated / row->measured - 1;

  figure_line (table, g_strdup (row->name), figure_number ("%.0f", row->cluster.n_ranks),
               figure_number ("%.3f", row->measured), figure_number ("%.3f", row->closed),
               terminal_percent (closed, TRUE), figure_number ("%.3f", row->simulated),
               figure_number ("%+.1f %%", 100 * simulated), verdict_cell (row));
}

static const TerminalColumn search_columns[] = {
  { "CLUSTER", FALSE },  { "RANKS", TRUE },    { "MODEL", FALSE },    { "MFU", TRUE },
  { "GAMMA", TRUE },     { "STAGE", TRUE },    { "TOKENS", TRUE },    { "GAMMA OF RUN", TRUE },
  { "MFU AT IT", TRUE }, { "3 PASSES", TRUE }, { "SIMULATED", TRUE }, { "", FALSE },
};
static const TerminalColumn bound_columns[] = {
  { "CLUSTER", FALSE },
  { "RANKS", TRUE },
  { "MODEL", FALSE },
  { "FREE", TRUE },
  { "LONGEST", TRUE },
  { "MFU BELOW", TRUE },
  { "TOKENS/S/GPU BELOW", TRUE },
  { "LIMITED BY", FALSE },
};
static const TerminalColumn measured_columns[] = {
  { "MODEL", FALSE }, { "RANKS", TRUE },       { "MEASURED s", TRUE }, { "CLOSED FORM s", TRUE },
  { "ERROR", TRUE },  { "SIMULATED s", TRUE }, { "ERROR", TRUE },      { "", FALSE },
};

static const struct
{
  const char           *title;
  const TerminalColumn *columns;
  guint                 n_columns;
  void (*add) (const MembandRow *row, struct libscols_table *table);
} tables[] = {
  [MEMBAND_SEARCH] = { "The best of gamma and stage by the closed form, and runs of it",
                       search_columns, G_N_ELEMENTS (search_columns), add_search },
  [MEMBAND_BOUND] = { "Bounds at stage 3", bound_columns, G_N_ELEMENTS (bound_columns), add_bound },
  [MEMBAND_MEASURED] = { "Measured steps", measured_columns, G_N_ELEMENTS (measured_columns),
                         add_measured },
};

/* The rows of PART, those of FIGURE alone unless it is NULL. Newly allocated copies. */
static GArray *
rows_of (const Figures *self, MembandPart part, const char *figure)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (MembandRow));

  for (guint i = 0; i < self->rows->len; i++)
    {
      const MembandRow *row = FIGURE_ROW (self, MembandRow, i);

      if (row->part == part && (figure == NULL || g_str_equal (row->figure, figure)))
        g_array_append_val (rows, *row);
    }
  return rows;
}

#define ROW_AT(rows, i) (&g_array_index (rows, MembandRow, i))

static void
text (const Figures *self, gboolean details, GString *out)
{
  g_autoptr (GArray)    series = rows_of (self, MEMBAND_SERIES, NULL);
  g_autoptr (GPtrArray) figures = words_of (series, G_STRUCT_OFFSET (MembandRow, figure));

  for (guint t = 0; t < G_N_ELEMENTS (tables); t++)
    {
      struct libscols_table *table = terminal_table_new (tables[t].columns, tables[t].n_columns);
      g_autoptr (GArray)     rows = rows_of (self, (MembandPart) t, NULL);

      g_string_append_printf (out, "%s\n", tables[t].title);
      for (guint i = 0; i < rows->len; i++)
        tables[t].add (ROW_AT (rows, i), table);
      terminal_table_finish (table, out);
      if (details)
        figure_assumptions (rows, G_STRUCT_OFFSET (MembandRow, assumptions), out);
      g_string_append_c (out, '\n');
    }
  g_string_append (out, "Series (--format csv has their points, --plot DIR draws them):\n");
  for (guint i = 0; i < figures->len; i++)
    {
      const char        *figure = g_ptr_array_index (figures, i);
      g_autoptr (GArray) rows = rows_of (self, MEMBAND_SERIES, figure);

      g_string_append_printf (out, "  %s: %s over %s\n", figure, ROW_AT (rows, 0)->y,
                              ROW_AT (rows, 0)->x);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

static const char *
axis_of (const char *word)
{
  static const struct
  {
    const char *word, *axis;
  } axes[] = {
    { "n_ranks", "GPUs" },
    { "gbit_per_s", "Gbit/s at which a GPU receives" },
    { "memory_gb", "memory, GB a GPU" },
    { "seq_len", "tokens of a sequence" },
    { "mfu", "MFU of the closed form, %" },
    { "hfu", "HFU of the closed form, %" },
    { "longest", "longest sequence, tokens" },
    { "tokens_per_s", "tokens/s/GPU of the closed form" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (axes); i++)
    if (g_str_equal (axes[i].word, word))
      return axes[i].axis;
  return word;
}

#define WIDTH    900
#define HEIGHT   520
#define MAX_NAME 40

/* FIGURE: the closed form over one column, a line a title; where nothing fits there is no point. */
static void
add_series (const Figures *self, const char *figure, const char *style, GArray *pictures)
{
  g_autoptr (GArray)    rows = rows_of (self, MEMBAND_SERIES, figure);
  g_autoptr (GPtrArray) lines = words_of (rows, G_STRUCT_OFFSET (MembandRow, title));
  const MembandRow     *first = ROW_AT (rows, 0);
  const char           *more = strchr (first->assumptions, ';');
  g_autofree char *title = g_strconcat (self->name, ": ", figure, more != NULL ? more : "", NULL);
  const gboolean   share = g_str_equal (first->y, "mfu") || g_str_equal (first->y, "hfu");
  Facets          *facets = facets_new ("%s-%s", self->name, figure);

  facets_text (facets, "set title", title, 110);
  facets_command (facets,
                  "set xlabel '%s'\nset ylabel '%s'\nset logscale x 2\n"
                  "set grid xtics ytics back ls 21\n%s",
                  axis_of (first->x), axis_of (first->y),
                  share ? "set yrange [0:100]" : "set logscale y 10");
  for (guint l = 0; l < lines->len; l++)
    {
      const char      *line = g_ptr_array_index (lines, l);
      g_autofree char *name = gnuplot_plain_text (line, MAX_NAME);
      const guint      block = facets_block (facets, "x closed_form");

      facets_line (facets, 0, NAN); /* no block is empty */
      for (guint i = 0; i < rows->len; i++)
        if (isfinite (ROW_AT (rows, i)->closed) && g_str_equal (ROW_AT (rows, i)->title, line))
          facets_line (facets, ROW_AT (rows, i)->at, ROW_AT (rows, i)->closed);
      facets_draw (facets, name,
                   "data index %u using 1:2 with linespoints ls %u lw 2 pt 7 ps 0.6%s", block,
                   l % 10 + 1, l >= lines->len / 2 && lines->len > 7 ? " dt 2" : "");
    }
  facets_finish (facets, NULL, WIDTH, HEIGHT, style, pictures);
}

/* The ends of an axis of all STEPS, a little beyond them; of none 1 and 10. */
static void
find_ends (const GArray *steps, double *least, double *most)
{
  *least = INFINITY;
  *most = 0;
  for (guint i = 0; i < steps->len; i++)
    {
      const double ends[] = { ROW_AT (steps, i)->measured, ROW_AT (steps, i)->closed,
                              ROW_AT (steps, i)->simulated };

      for (guint e = 0; e < G_N_ELEMENTS (ends); e++)
        if (isfinite (ends[e]) && ends[e] > 0)
          {
            *least = MIN (*least, ends[e] / 1.25);
            *most = MAX (*most, ends[e] * 1.25);
          }
    }
  if (*most > 0)
    return;
  *least = 1;
  *most = 10;
}

/* "(0.2, 0.5, 1, 2, 5)": 1, 2 and 5 of each power of ten from LEAST to MOST. Newly allocated. */
static char *
tics_between (double least, double most)
{
  static const double digits[] = { 1, 2, 5 };
  GString            *out = g_string_new ("(");

  for (int exponent = (int) floor (log10 (least)); exponent <= (int) floor (log10 (most));
       exponent++)
    for (guint i = 0; i < G_N_ELEMENTS (digits); i++)
      {
        const double tic = digits[i] * pow (10, exponent);

        if (tic >= least && tic <= most)
          g_string_append_printf (out, "%s%g", out->len > 1 ? ", " : "", tic);
      }
  g_string_append_c (out, ')');
  return g_string_free (out, FALSE);
}

/* Runs of searched points against the closed form, and both against measured steps. */
static void
add_beside (const Figures *self, const char *style, GArray *pictures)
{
  g_autoptr (GArray) searched = rows_of (self, MEMBAND_SEARCH, NULL);
  g_autoptr (GArray) steps = rows_of (self, MEMBAND_MEASURED, NULL);
  const char        *where = steps->len > 0 ? ROW_AT (steps, 0)->title : "none";
  g_autofree char   *title = g_strdup_printf ("measured steps, %s", where), *tics = NULL;
  Facets            *facets = facets_new ("%s-beside", self->name);
  double             least, most; /* of the axes of steps */

  facets_command (facets,
                  "set key inside left top opaque\n"
                  "set title 'grid search: the same tokens, stage and gamma'\n"
                  "set xrange [0:100]\nset yrange [0:100]\n"
                  "set xlabel 'MFU of the closed form, %%'\nset ylabel 'MFU simulated, %%'");
  facets_draw (facets, NULL, "x with lines ls 21 lw 1.5");
  for (guint fits = 2; fits-- > 0;)
    {
      const guint block = facets_block (facets, "closed_form_at_run_gamma simulated, %");

      facets_line (facets, 0, NAN);
      for (guint i = 0; i < searched->len; i++)
        if (isfinite (ROW_AT (searched, i)->simulated) && ROW_AT (searched, i)->fits == (fits == 1))
          facets_line (facets, ROW_AT (searched, i)->same, ROW_AT (searched, i)->simulated);
      facets_draw (facets, fits ? "fits" : "does not fit, simulated",
                   "data index %u using 1:2 with points ls %s ps 0.8", block,
                   fits ? "1 pt 7" : "4 pt 6");
    }
  find_ends (steps, &least, &most);
  tics = tics_between (least, most);
  facets_text (facets, "set title", title, MAX_NAME);
  facets_command (facets,
                  "set logscale xy\nset xrange [%.3g:%.3g]\nset yrange [%.3g:%.3g]\n"
                  "set xtics %s\nset ytics %s\nset xlabel 'measured, s'\nset ylabel 'predicted, s'",
                  least, most, least, most, tics, tics);
  facets_draw (facets, NULL, "x with lines ls 21 lw 1.5");
  for (guint simulated = 0; simulated < 2; simulated++)
    {
      const guint block = facets_block (facets, "measured_s predicted_s");

      facets_line (facets, 0, NAN);
      for (guint i = 0; i < steps->len; i++)
        {
          const MembandRow *row = ROW_AT (steps, i);
          const double      predicted = simulated ? row->simulated : row->closed;

          if (row->measured > 0 && isfinite (predicted))
            facets_line (facets, row->measured, predicted);
        }
      facets_draw (facets, simulated ? "simulated" : "closed form",
                   "data index %u using 1:2 with points ls %s", block,
                   simulated ? "1 pt 7 ps 0.8" : "3 pt 6 ps 0.9 lw 1.5");
    }
  facets_finish (facets, "1,2", WIDTH, HEIGHT, style, pictures);
}

static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  g_autoptr (GArray)    series = rows_of (self, MEMBAND_SERIES, NULL);
  g_autoptr (GPtrArray) figures = words_of (series, G_STRUCT_OFFSET (MembandRow, figure));

  for (guint i = 0; i < figures->len; i++)
    add_series (self, g_ptr_array_index (figures, i), style, pictures);
  add_beside (self, style, pictures);
}

const FigureReport report_memband = { .columns = result_columns,
                                      .name_key = "name",
                                      .rows_key = "rows",
                                      .text = text,
                                      .plot = plot };
