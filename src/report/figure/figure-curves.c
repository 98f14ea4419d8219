#include "evidence/figures/figure-curves.h"

#include <math.h>

#include "report/figure/figure-report-private.h"

const Column curve_columns[] = {
  { "figure", .kind = COLUMN_WORD, COLUMN_VIA (CurvePoint, panel, figure) },
  { "x_key", .kind = COLUMN_WORD, COLUMN_VIA (CurvePoint, panel, x) },
  { "x", .kind = COLUMN_NUMBER, COLUMN_MEMBER (CurvePoint, x) },
  { "series", .kind = COLUMN_WORD, COLUMN_MEMBER (CurvePoint, series) },
  { "metric", .kind = COLUMN_WORD, COLUMN_VIA (CurvePoint, panel, metric) },
  { "gain_over", .kind = COLUMN_WORD, COLUMN_VIA (CurvePoint, panel, over) },
  { "predicted", .kind = COLUMN_NUMBER, COLUMN_MEMBER (CurvePoint, value) },
  { "published", .kind = COLUMN_NUMBER, COLUMN_VIA (CurvePoint, panel, published) },
  { "assumptions", .kind = COLUMN_WORD, COLUMN_VIA (CurvePoint, panel, assumptions) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* A line an x, a column a series. */
static void
append_table (const CurvePanel *panel, GString *out)
{
  const guint                n = panel->series->len;
  g_autofree TerminalColumn *columns = g_new0 (TerminalColumn, n + 1);
  struct libscols_table     *table;

  columns[0] = (TerminalColumn){ panel->x, TRUE };
  for (guint s = 0; s < n; s++)
    columns[s + 1] = (TerminalColumn){ g_ptr_array_index (panel->series, s), TRUE };
  table = terminal_table_new (columns, n + 1);
  for (guint i = 0; i < panel->xs->len; i++)
    {
      g_autofree char **cells = g_new0 (char *, (gsize) n + 2); /* its strings are taken */

      cells[0] = g_strdup_printf ("%.10g", g_array_index (panel->xs, double, i));
      for (guint s = 0; s < n; s++)
        cells[s + 1] = isnan (curve_value (panel, s, i))
                           ? g_strdup ("-")
                           : g_strdup_printf ("%.4g", curve_value (panel, s, i));
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

void
figure_curve_text (const CurvePanel *panel, GString *out)
{
  g_string_append_printf (out, "%s: %s", panel->figure, panel->metric);
  if (*panel->over != '\0')
    g_string_append_printf (out, ", of '%s' over that of each", panel->over);
  g_string_append_c (out, '\n');
  append_table (panel, out);
  if (panel->low <= panel->high)
    g_string_append_printf (out, "Predicted: %.3g to %.3g", panel->low, panel->high);
  if (panel->low <= panel->high && !isnan (panel->published))
    g_string_append_printf (out, "; published: up to %g", panel->published);
  g_string_append_c (out, '\n');
  if (panel->reason != NULL)
    g_string_append_printf (out, "Not all were predicted: %s\n", panel->reason);
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  for (guint p = 0; p < self->lines->len; p++)
    {
      const CurvePanel *panel = FIGURE_LINE (self, CurvePanel, p);

      g_string_append (out, p > 0 ? "\n" : "");
      figure_curve_text (panel, out);
      if (details && *panel->assumptions != '\0')
        g_string_append_printf (out, "Assumed: %s\n", panel->assumptions);
    }
}

void
figure_curve_draw (const CurvePanel *panel, gboolean logarithmic, Facets *facets)
{
  g_autofree char *gain = g_strdup_printf ("gain over %s", panel->over);

  facets_command (facets, logarithmic ? "set logscale x 10" : "unset logscale x");
  facets_text (facets, "set title", panel->figure, 96);
  facets_text (facets, "set xlabel", panel->x, 96);
  facets_text (facets, "set ylabel", *panel->over != '\0' ? gain : panel->metric, 96);
  /* a line of the margin for two entries of the key, below the axis and its title */
  facets_command (facets, "set bmargin %u", panel->series->len / 2 + 6);
  for (guint s = 0; s < panel->series->len; s++)
    {
      const char      *series = g_ptr_array_index (panel->series, s);
      g_autofree char *name = gnuplot_plain_text (series, 48);
      const guint      block = facets_block (facets, "x value");

      for (guint i = 0; i < panel->xs->len; i++)
        facets_line (facets, g_array_index (panel->xs, double, i), curve_value (panel, s, i));
      facets_draw (facets, name, "data index %u using 1:2 with linespoints ls %u lw 2 pt 7 ps 0.5",
                   block, s % 11 + 1);
    }
  if (!isnan (panel->published))
    {
      g_autofree char *level = g_strdup_printf ("published: up to %g", panel->published);

      facets_draw (facets, level, "%g with lines ls 22", panel->published);
    }
}

void
figure_curve_head (Facets *facets)
{
  g_string_append (facets->head, "set yrange [0:*]\n"
                                 "set offsets 0,0,graph 0.05,0\nset grid xtics ytics back ls 21\n"
                                 "set key bmargin center horizontal\n");
}

/* A panel each. */
static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  Facets          *facets = facets_new ("%s", self->name);
  g_autofree char *layout = g_strdup_printf ("1,%u", self->lines->len);

  figure_curve_head (facets);
  for (guint p = 0; p < self->lines->len; p++)
    figure_curve_draw (FIGURE_LINE (self, CurvePanel, p), TRUE, facets);
  facets_finish (facets, layout, 640 * self->lines->len, 560, style, pictures);
}

const FigureReport report_curves = { .columns = curve_columns,
                                     .name_key = "name",
                                     .rows_key = "rows",
                                     .text = text,
                                     .plot = plot };
