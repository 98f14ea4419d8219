#include "evidence/figures/figure-scaling.h"

#include <math.h>
#include <string.h>

#include "report/figure/figure-report-private.h"

COLUMN_NUMBER_OF (ScalingPoint, point_error, p->predicted / p->measured - 1)

static const Column result_columns[] = {
  { "part", .kind = COLUMN_WORD, COLUMN_MEMBER (ScalingPoint, name) },
  { "page", .kind = COLUMN_WORD, COLUMN_MEMBER (ScalingPoint, page) },
  { "series", .kind = COLUMN_WORD, COLUMN_MEMBER (ScalingPoint, series) },
  { "id", .kind = COLUMN_WORD, COLUMN_MEMBER (ScalingPoint, id) },
  { "nodes", .kind = COLUMN_COUNT, COLUMN_MEMBER (ScalingPoint, nodes) },
  { "measured", .kind = COLUMN_NUMBER, COLUMN_MEMBER (ScalingPoint, measured) },
  { "predicted", .kind = COLUMN_NUMBER, COLUMN_MEMBER (ScalingPoint, predicted) },
  { "error", .kind = COLUMN_NUMBER, .number = point_error },
  { "reason", .kind = COLUMN_WORD, COLUMN_MEMBER (ScalingPoint, reason) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* The first row past I that is of another page than it, or, with SERIES, of another series. */
static guint
end_of (const Figures *self, guint i, gboolean series)
{
  const ScalingPoint *first = FIGURE_ROW (self, ScalingPoint, i), *point = first;

  while (i < self->rows->len && point->part == first->part && point->page == first->page
         && (!series || point->series == first->series))
    point = FIGURE_ROW (self, ScalingPoint, ++i);
  return i;
}

/* What a reader is shown: GB/s, or tokens/s and GPU. */
static char *
value_text (const ScalingPoint *point, double value)
{
  return point->part == SCALING_BUS_BANDWIDTH ? figure_number ("%.2f", value / 1e9)
                                              : figure_number ("%.0f", value);
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  static const TerminalColumn columns[] = {
    { "SERIES", FALSE },   { "NODES", TRUE }, { "MEASURED", TRUE },
    { "PREDICTED", TRUE }, { "ERROR", TRUE }, { "", FALSE },
  };
  static const char *const units[] = { "bus bandwidth, GB/s", "tokens/s/GPU" };
  guint                    end;

  (void) details; /* nothing is assumed */
  for (guint first = 0; first < self->rows->len; first = end)
    {
      const ScalingPoint    *page = FIGURE_ROW (self, ScalingPoint, first);
      struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

      end = end_of (self, first, FALSE);
      for (guint i = first; i < end; i++)
        {
          const ScalingPoint *point = FIGURE_ROW (self, ScalingPoint, i);

          figure_line (table, g_strdup (point->series), g_strdup_printf ("%u", point->nodes),
                       value_text (point, point->measured), value_text (point, point->predicted),
                       figure_number ("%+.1f %%", 100 * (point->predicted / point->measured - 1)),
                       g_strdup (point->reason));
        }
      g_string_append_printf (out, "%s%s (%s)\n\n", first > 0 ? "\n" : "", page->page,
                              units[page->part]);
      terminal_table_finish (table, out);
    }
  g_string_append (out, "\nerror = predicted / measured - 1\n");
}

/* ---- pictures -------------------------------------------------------------------------------- */

#define N_COLOURS 9 /* style lines of plots/style.gp */

static gboolean
ends_word (char c)
{
  return c == '\0' || c == ',' || c == ' ';
}

/* Bytes of the whole words with which all series of the rows FIRST up to END begin. */
static gsize
common_of (const Figures *self, guint first, guint end)
{
  const char *name = FIGURE_ROW (self, ScalingPoint, first)->series;
  gsize       common = strlen (name);

  for (guint r = first + 1; r < end; r++)
    {
      const char *other = FIGURE_ROW (self, ScalingPoint, r)->series;
      gsize       words = 0, same = 0;

      for (; same <= common; same++)
        {
          if (ends_word (name[same]) && ends_word (other[same]))
            words = same;
          if (name[same] != other[same] || name[same] == '\0')
            break;
        }
      common = MIN (common, words);
    }
  while (common > 0 && ends_word (name[common - 1]))
    common--;
  return common;
}

/* The rows FIRST up to END, of one page: points are measured, lines of their colour predicted. */
static void
add_panel (const Figures *self, guint first, guint end, Facets *facets)
{
  const ScalingPoint *page = FIGURE_ROW (self, ScalingPoint, first);
  const gsize         common = common_of (self, first, end);
  const guint         n_before = facets->n_blocks;
  guint               n_series = 0, fewest = G_MAXUINT, most = 1, next;
  g_autofree char    *title =
      g_strdup_printf ("%s%s%.*s", page->page, common > 0 ? "; " : "", (int) common, page->series);

  for (guint i = first; i < end; i++)
    {
      fewest = MIN (fewest, FIGURE_ROW (self, ScalingPoint, i)->nodes);
      most = MAX (most, FIGURE_ROW (self, ScalingPoint, i)->nodes);
    }
  for (guint i = first; i < end; i = end_of (self, i, TRUE))
    n_series++;
  facets_command (facets, "set xrange [%u/1.15:%u*1.15]", fewest, most);
  facets_text (facets, "set title", title, 72);
  for (guint i = first; i < end; i = next)
    {
      const ScalingPoint *series = FIGURE_ROW (self, ScalingPoint, i);
      const gboolean      bus = series->part == SCALING_BUS_BANDWIDTH;
      const double        unit = bus ? 1e9 : series->measured; /* of the values that are drawn */
      const char         *rest = series->series + common;
      g_autofree char    *plain = gnuplot_plain_text (rest + strspn (rest, ", "), 40);
      const char         *name = *plain != '\0' ? plain : "default";
      g_autofree char    *label =
          bus ? g_strdup (name) : g_strdup_printf ("%s (1 = %.0f)", name, series->measured);
      const guint block = facets_block (facets, "nodes measured predicted"), s = block - n_before;

      next = end_of (self, i, TRUE);
      for (guint k = i; k < next; k++)
        {
          const ScalingPoint *point = FIGURE_ROW (self, ScalingPoint, k);

          facets_line (facets, point->nodes, point->measured / unit, point->predicted / unit);
        }
      facets_draw (facets, n_series > 1 ? label : "", /* one by itself is the title's */
                   "data index %u using 1:2 with points ls %u pt %u ps 0.9", block,
                   s % N_COLOURS + 1, s < N_COLOURS ? 7 : 5);
      /* one that coincides with a later one shows at its edges */
      facets_draw (facets, NULL, "data index %u using 1:3 with lines ls %u lw %g", block,
                   s % N_COLOURS + 1, 2 + 0.7 * (n_series - 1 - s));
    }
  facets_draw (facets, "measured", "NaN with points lc rgb '#404040' pt 7 ps 0.9");
  facets_draw (facets, "predicted", "NaN with lines lc rgb '#404040' lw 2");
}

/* A picture a part, in it a panel a page. */
static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  static const char *const y_titles[] = { "bus bandwidth, GB/s",
                                          "tokens/s/GPU over the first measured" };
  guint                    first = 0;

  for (guint part = 0; part < SCALING_N_PARTS; part++)
    {
      g_autofree char *layout = NULL;
      Facets          *facets;
      guint            n_panels = 0;

      if (first == self->rows->len || FIGURE_ROW (self, ScalingPoint, first)->part != part)
        continue;
      facets = facets_new ("%s-%s", self->name, FIGURE_ROW (self, ScalingPoint, first)->name);
      g_string_append_printf (facets->head,
                              "set logscale x 2\nset yrange [0:*]\nset xlabel 'nodes'\n"
                              "set ylabel '%s' noenhanced\nset format x '%%g'\n"
                              "set format y '%%g'\nset grid xtics ytics back ls 21\n"
                              "set lmargin at screen 0.08\nset rmargin at screen 0.6\n"
                              "set key at screen 0.62, graph 0.95 left top\n",
                              y_titles[part]);
      for (; first < self->rows->len && FIGURE_ROW (self, ScalingPoint, first)->part == part;
           n_panels++)
        {
          const guint end = end_of (self, first, FALSE);

          add_panel (self, first, end, facets);
          first = end;
        }
      layout = g_strdup_printf ("%u,1", n_panels);
      facets_finish (facets, layout, 900, 330 * n_panels, style, pictures);
    }
}

const FigureReport report_scaling = { .columns = result_columns,
                                      .name_key = "figures",
                                      .rows_key = "points",
                                      .text = text,
                                      .plot = plot };
