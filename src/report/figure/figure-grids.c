#include "evidence/figures/figure-grids.h"

#include <math.h>

#include "report/figure/figure-report-private.h"

static const Column grid_columns[] = {
  { "figure", .kind = COLUMN_WORD, COLUMN_VIA (GridRow, line, figure) },
  { "row", .kind = COLUMN_WORD, COLUMN_VIA (GridRow, line, row) },
  { "machine", .kind = COLUMN_WORD, COLUMN_VIA (GridRow, line, machine) },
  { "grid", .kind = COLUMN_WORD, COLUMN_MEMBER (GridRow, name) },
  { "place", .kind = COLUMN_NUMBER, COLUMN_MEMBER (GridRow, place) },
  { "columns_gib", .kind = COLUMN_NUMBER, COLUMN_MEMBER (GridRow, grid.gib[0]) },
  { "rows_gib", .kind = COLUMN_NUMBER, COLUMN_MEMBER (GridRow, grid.gib[1]) },
  { "depth_gib", .kind = COLUMN_NUMBER, COLUMN_MEMBER (GridRow, grid.gib[2]) },
  { "data_gib", .kind = COLUMN_NUMBER, COLUMN_MEMBER (GridRow, grid.gib[3]) },
  { "model_s", .kind = COLUMN_NUMBER, COLUMN_MEMBER (GridRow, grid.time_s) },
  { "step_s", .kind = COLUMN_NUMBER, COLUMN_MEMBER (GridRow, step_s) },
  { "exposed_comm_s", .kind = COLUMN_NUMBER, COLUMN_MEMBER (GridRow, exposed_s) },
  { 0 },
};

static const GridRow *
grid_row (const Figures *self, guint i)
{
  return &g_array_index (self->regions, GridRow, i);
}

static void
json (const Figures *self, struct json_object *root)
{
  report_published.json (self->base, root);
  json_object_object_add (root, "grids", column_list (grid_columns, rows_of_array (self->regions)));
}

/* ---- text ------------------------------------------------------------------------------------ */

static void
append_grids (const Figures *self, const GridLine *line, GString *out)
{
  static const TerminalColumn columns[] = {
    { "PLACE", TRUE },     { "GRID", FALSE },    { "COLUMNS GiB", TRUE }, { "ROWS GiB", TRUE },
    { "DEPTH GiB", TRUE }, { "DATA GiB", TRUE }, { "MODEL s", TRUE },     { "STEP s", TRUE },
    { "EXPOSED s", TRUE }, { "", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = line->first; i < line->first + line->n; i++)
    {
      const GridRow *row = grid_row (self, i);
      const double  *gib = row->grid.gib;

      figure_line (table, g_strdup_printf ("%u", row->place), g_strdup (row->name),
                   figure_number ("%.4g", gib[0]), figure_number ("%.4g", gib[1]),
                   figure_number ("%.4g", gib[2]), figure_number ("%.4g", gib[3]),
                   figure_number ("%.4g", row->grid.time_s), figure_number ("%.4g", row->step_s),
                   figure_number ("%.4g", row->exposed_s), g_strdup (row->reason));
    }
  g_string_append_printf (out, "\n%s: %s, the first of %u grids in the model's order:\n",
                          line->figure, line->row, line->n_grids);
  terminal_table_finish (table, out);
  g_string_append_c (out, '\n');
  if (line->n_pairs > 0)
    g_string_append_printf (out, "of %u pairs of simulated grids, %u in the model's order\n",
                            line->n_pairs, line->n_agreeing);
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  report_published.text (self->base, details, out);
  g_string_append (out, "\nGrids are columns x rows x depth x data; GiB of a rank and step; MODEL: "
                        "all communication, none hidden; STEP, EXPOSED: simulated, with what the "
                        "step waits for\n");
  for (guint i = 0; i < self->lines->len; i++)
    append_grids (self, FIGURE_LINE (self, GridLine, i), out);
  if (details)
    figure_assumptions (self->lines, G_STRUCT_OFFSET (GridLine, assumptions), out);
}

/* ---- the picture ----------------------------------------------------------------------------- */

#define PANEL_WIDTH  1000
#define PANEL_HEIGHT 340

/* A bar a grid in the model's order, and what is simulated of it. */
static void
draw_line (const Figures *self, const GridLine *line, Facets *facets)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree char      *title = g_strdup_printf ("%s, in the model's order", line->row);
  const guint           block = facets_block (facets, "place model_s step_s exposed_s");

  for (guint i = line->first; i < line->first + line->n; i++)
    {
      const GridRow *row = grid_row (self, i);

      facets_line (facets, names->len, row->grid.time_s, row->step_s, row->exposed_s);
      g_ptr_array_add (names, (gpointer) row->name);
    }
  facets_text (facets, "set title", title, 100);
  facets_command (facets, "set xrange [-0.6:%u.6]\nset yrange [0:*]\nset xtics rotate by -45",
                  names->len - 1);
  gnuplot_append_tics (facets->panels, 'x', (const char *const *) names->pdata, names->len, 20);
  facets_draw (facets, "the model: all communication",
               "data index %u using 1:2:(0.7) with boxes ls 1 fs solid 0.4", block);
  facets_draw (facets, "simulated: communication that the step waits for",
               "data index %u using 1:4 with points ls 4 pt 7 ps 1.2", block);
  facets_draw (facets, "simulated: the step",
               "data index %u using 1:3 with points ls 7 pt 2 ps 1.4 lw 2", block);
}

static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  Facets          *facets;
  g_autofree char *layout = g_strdup_printf ("%u,1", self->lines->len);

  report_published.plot (self->base, style, pictures);
  facets = facets_new ("%s-grids", self->name);
  facets_command (facets, "set ylabel 'seconds a step'\nset grid ytics back ls 21\n"
                          "set key outside center bottom horizontal");
  for (guint i = 0; i < self->lines->len; i++)
    draw_line (self, FIGURE_LINE (self, GridLine, i), facets);
  facets_finish (facets, layout, PANEL_WIDTH, self->lines->len * PANEL_HEIGHT, style, pictures);
}

const FigureReport report_grids = { .columns = published_columns,
                                    .json = json,
                                    .text = text,
                                    .plot = plot };
