#include "evidence/figures/figure-utilisation.h"

#include <math.h>

#include "base/words.h"
#include "report/figure/figure-report-private.h"

COLUMN_NUMBER_OF (UtilisationCell, cell_target, 100 * utilisation_targets[p->target])
COLUMN_NUMBER_OF (UtilisationCell, cell_published, p->published / 1e9)
COLUMN_NUMBER_OF (UtilisationCell, cell_rate, p->predicted / 1e9)

static const Column result_columns[] = {
  { "figure", .kind = COLUMN_WORD, COLUMN_VIA (UtilisationCell, line, figure) },
  { "model", .kind = COLUMN_WORD, COLUMN_VIA (UtilisationCell, line, model) },
  { "method", .kind = COLUMN_WORD, COLUMN_VIA (UtilisationCell, line, method) },
  { "utilisation_percent", .kind = COLUMN_NUMBER, .number = cell_target },
  { "published_gbit_per_s", .kind = COLUMN_NUMBER, .number = cell_published },
  { "predicted_gbit_per_s", .kind = COLUMN_NUMBER, .number = cell_rate },
  { "grid_steps_off", .kind = COLUMN_NUMBER, COLUMN_MEMBER (UtilisationCell, off) },
  { "assumptions", .kind = COLUMN_WORD, COLUMN_VIA (UtilisationCell, line, assumptions) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* "6.2, 7.5 (+1)": published, what the rules say if it is another, and steps of the grid above. */
static char *
cell_text (const UtilisationCell *cell)
{
  const double published = cell->published / 1e9, predicted = cell->predicted / 1e9;

  if (isnan (predicted))
    return g_strdup ("none");
  if (isnan (published))
    return g_strdup_printf ("%.1f", predicted);
  if (cell->off == 0)
    return g_strdup_printf ("%.1f", published);
  return g_strdup_printf ("%.1f, %.1f (%+.0f)", published, predicted, cell->off);
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  static const TerminalColumn columns[] = { { "MODEL", FALSE }, { "METHOD", FALSE },
                                            { "50 %", TRUE },   { "80 %", TRUE },
                                            { "90 %", TRUE },   { "95 %", TRUE },
                                            { "99 %", TRUE } };
  struct libscols_table      *table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  guint                       all = 0, same = 0, one = 0;

  for (guint i = 0; i < self->rows->len; i += UTILISATION_N_TARGETS)
    {
      const UtilisationCell *cells = FIGURE_ROW (self, UtilisationCell, i);
      char                  *texts[G_N_ELEMENTS (columns) + 1] = { g_strdup (cells->line->model),
                                                                   g_strdup (cells->line->method) };

      for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
        {
          texts[2 + t] = cell_text (&cells[t]);
          all += !isnan (cells[t].off);
          same += cells[t].off == 0;
          one += fabs (cells[t].off) == 1;
        }
      terminal_table_take (table, texts);
    }
  g_string_append (out,
                   "Gbit/s for a utilisation, published and, where it is another, by the rules "
                   "(steps of the grid above)\n");
  terminal_table_finish (table, out);
  g_string_append_printf (out,
                          "\n%u of %u as published, %u one step of the grid off (a factor of "
                          "%.3f), %u more\n",
                          same, all, one, utilisation_rate (1) / utilisation_rate (0),
                          all - same - one);
  if (details)
    figure_assumptions (self->lines, G_STRUCT_OFFSET (UtilisationLine, assumptions), out);
}

/* The lines of MODEL, each with its published points; KEY: their names alone. */
static void
draw_model (const Figures *self, const char *model, gboolean key, Facets *facets)
{
  guint n = 0;

  for (guint i = 0; i < self->lines->len; i++)
    {
      const UtilisationLine *line = FIGURE_LINE (self, UtilisationLine, i);
      g_autofree char       *name = gnuplot_plain_text (line->method, 40);
      guint                  block;

      if (!g_str_equal (line->model, model))
        continue;
      n++;
      if (key)
        {
          facets_draw (facets, name, "NaN with lines ls %u lw 2", n);
          continue;
        }
      block = facets_block (facets, "gbit_per_s utilisation_percent");
      for (guint r = 0; r < UTILISATION_N_RATES; r++)
        facets_line (facets, utilisation_rate (r) / 1e9, MIN (100 * line->of_rate[r], 100));
      facets_draw (facets, NULL, "data index %u using 1:2 with lines ls %u lw 2", block, n);
      block = facets_block (facets, "published");
      facets_line (facets, 0, NAN); /* no block is empty */
      for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
        if (line->published[t] > 0)
          facets_line (facets, line->published[t] / 1e9, 100 * utilisation_targets[t]);
      facets_draw (facets, NULL, "data index %u using 1:2 with points ls %u pt 2 ps 0.9 lw 1.5",
                   block, n);
    }
}

/* A panel a model; the key has one of its own. */
static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  g_autoptr (GPtrArray) models = words_of (self->lines, G_STRUCT_OFFSET (UtilisationLine, model));
  g_autofree char      *layout = g_strdup_printf ("1,%u", models->len + 1);
  Facets               *facets = facets_new ("%s-utilisation", self->name);

  facets_command (facets, "set logscale x 10\nset xrange [0.1:1000]\nset yrange [0:100]\n"
                          "set xlabel 'Gbit/s between replicas'\n"
                          "set ylabel 'time in which a replica computes, %%'\n"
                          "set grid xtics ytics back ls 21");
  for (guint m = 0; m < models->len; m++)
    {
      facets_text (facets, "set title", g_ptr_array_index (models, m), 100);
      draw_model (self, g_ptr_array_index (models, m), FALSE, facets);
    }
  facets_key_panel (facets);
  if (models->len > 0)
    draw_model (self, g_ptr_array_index (models, 0), TRUE, facets);
  facets_draw (facets, "published", "NaN with points ls 20 pt 2 ps 0.9 lw 1.5");
  facets_finish (facets, layout, 1250, 420, style, pictures);
}

const FigureReport report_utilisation = { .columns = result_columns,
                                          .name_key = "name",
                                          .rows_key = "rows",
                                          .text = text,
                                          .plot = plot };
