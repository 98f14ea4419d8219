#include "evidence/figures/figure-padding.h"

#include <math.h>

#include "report/figure/figure-report-private.h"

static const Column result_columns[] = {
  { "figure", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, figure) },
  { "row", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, row) },
  { "model", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, model) },
  { "format", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, format) },
  { "block", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, block) },
  { "unit", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, unit) },
  { "ranks", .kind = COLUMN_NUMBER, COLUMN_MEMBER (PaddingPoint, ranks) },
  { "quantity", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, quantity) },
  { "published", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, said) },
  { "computed", .kind = COLUMN_NUMBER, COLUMN_MEMBER (PaddingPoint, value) },
  { "row_error", .kind = COLUMN_NUMBER, COLUMN_VIA (PaddingPoint, line, error) },
  { "holds", .kind = COLUMN_BOOL, COLUMN_VIA (PaddingPoint, line, holds) },
  { "assumptions", .kind = COLUMN_WORD, COLUMN_VIA (PaddingPoint, line, assumptions) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* ---- text ------------------------------------------------------------------------------------ */

static void
text (const Figures *self, gboolean details, GString *out)
{
  static const TerminalColumn columns[] = {
    { "FIGURE", FALSE },   { "ROW", FALSE },     { "RANKS", FALSE }, { "QUANTITY", FALSE },
    { "PUBLISHED", TRUE }, { "COMPUTED", TRUE }, { "ERROR", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  guint                  all = 0, held = 0;

  for (guint i = 0; i < self->lines->len; i++)
    {
      const PaddingLine *line = FIGURE_LINE (self, PaddingLine, i);
      const char        *format = line->percent ? "%.3g" : "%.0f"; /* "0.71"; of elements all */
      g_autofree char   *low = figure_number (format, line->low);
      g_autofree char   *high = figure_number (format, line->high);

      figure_line (table, g_strdup (line->figure), g_strdup (line->row),
                   g_strdup (line->ranks_text), g_strdup (line->quantity), g_strdup (line->said),
                   line->low == line->high ? g_strdup (low)
                                           : g_strdup_printf ("%s to %s", low, high),
                   figure_number ("%+.1f %%", 100 * line->error));
      all += !isnan (line->error);
      held += line->holds;
    }
  terminal_table_finish (table, out);
  g_string_append_printf (out, "\n%u of %u as published, to the last digit\n", held, all);
  if (details)
    figure_assumptions (self->lines, G_STRUCT_OFFSET (PaddingLine, assumptions), out);
}

/* ---- the picture ----------------------------------------------------------------------------- */

#define PANEL_WIDTH  480
#define PANEL_HEIGHT 330
#define SMALL        20.0 /* %: a second panel has what is below, where something is above */
#define STYLE(n)     ((n) % 11 + 1)

/* A curve: what was published stands beside it as crosses and levels. */
static gboolean
is_curve (const PaddingLine *line)
{
  return line->percent && line->ranks->len > 1 && isnan (line->published);
}

static char *
page_of (const PaddingLine *line)
{
  return g_strdup_printf ("%s, %s", line->model,
                          g_str_equal (line->unit, "experts") ? "experts of a block" : "a block");
}

/* Curves, crosses and levels of PAGE: a block a line. NAMES: their places are their styles. */
static void
draw_page (const Figures *self, const char *page, GPtrArray *names, Facets *facets)
{
  for (guint i = 0; i < self->lines->len; i++)
    {
      const PaddingLine *line = FIGURE_LINE (self, PaddingLine, i);
      g_autofree char   *own = page_of (line);
      guint              n = 0;

      if (!line->percent || !g_str_equal (own, page))
        continue;
      if (is_curve (line) && g_ptr_array_find_with_equal_func (names, line->row, g_str_equal, &n))
        facets_draw (facets, NULL, "data index %u using 1:2 with lines ls %u lw 1.6", i, STYLE (n));
      else if (line->meaning == PADDING_EACH && !isnan (line->published))
        facets_draw (facets, NULL, "data index %u using 1:3 with points ls 20 pt 2 ps 1.2 lw 2", i);
      else if (!isnan (line->published))
        facets_draw (facets, NULL, "%g with lines ls 22", line->published);
    }
}

/* A column a model and unit; a second panel has what is small; the key has one of its own. */
static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  g_autoptr (GPtrArray) pages = g_ptr_array_new_with_free_func (g_free);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  Facets               *facets = facets_new ("%s", self->name);
  g_autofree char      *layout = NULL;
  gboolean              zoomed = FALSE;

  for (guint i = 0; i < self->lines->len; i++)
    {
      const PaddingLine *line = FIGURE_LINE (self, PaddingLine, i);
      g_autofree char   *page = page_of (line);
      const gboolean     each = line->meaning == PADDING_EACH; /* of the ranks has a cross */

      facets_block (facets, "ranks computed published");
      for (guint r = 0; r < line->ranks->len; r++)
        {
          const PaddingPoint *point = FIGURE_ROW (self, PaddingPoint, line->first + r);

          facets_line (facets, point->ranks, point->value, each ? line->published : NAN);
        }
      zoomed = zoomed || (line->percent && line->high > SMALL);
      if (!is_curve (line))
        continue;
      if (!g_ptr_array_find_with_equal_func (pages, page, g_str_equal, NULL))
        g_ptr_array_add (pages, g_steal_pointer (&page));
      if (!g_ptr_array_find_with_equal_func (names, line->row, g_str_equal, NULL))
        g_ptr_array_add (names, (gpointer) line->row);
    }
  layout = g_strdup_printf ("%u,%u columnsfirst", zoomed ? 2 : 1, pages->len + 1);
  facets_command (facets, "set logscale x 2\nset grid xtics ytics back ls 21\n"
                          "set xlabel 'ranks'\nunset key");
  for (guint p = 0; p < pages->len; p++)
    {
      facets_text (facets, "set title", g_ptr_array_index (pages, p), 100);
      facets_command (facets, "set ylabel 'padding, %%'\nset yrange [0:*]");
      draw_page (self, g_ptr_array_index (pages, p), names, facets);
      if (!zoomed)
        continue;
      facets_command (facets, "unset title\nset ylabel 'padding, %%, enlarged'\nset yrange [0:%g]",
                      SMALL);
      draw_page (self, g_ptr_array_index (pages, p), names, facets);
    }
  facets_key_panel (facets);
  for (guint n = 0; n < names->len; n++)
    {
      g_autofree char *name = gnuplot_plain_text (g_ptr_array_index (names, n), 48);

      facets_draw (facets, name, "NaN with lines ls %u lw 2", STYLE (n));
    }
  facets_draw (facets, "published", "NaN with points ls 20 pt 2 ps 1.2 lw 2");
  facets_draw (facets, "published: below, or up to", "NaN with lines ls 22");
  facets_finish (facets, layout, (pages->len + 1) * PANEL_WIDTH, (zoomed ? 2 : 1) * PANEL_HEIGHT,
                 style, pictures);
}

const FigureReport report_padding = { .columns = result_columns,
                                      .name_key = "name",
                                      .rows_key = "rows",
                                      .text = text,
                                      .plot = plot };
