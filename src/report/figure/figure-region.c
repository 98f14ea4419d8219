#include "evidence/figures/figure-region.h"

#include <math.h>

#include "report/figure/figure-report-private.h"

static const Region *
region_at (const Figures *self, guint i)
{
  return &g_array_index (self->regions, Region, i);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

COLUMN_TEXT_OF (RegionLine, line_over, *p->over != '\0' ? p->over : NULL)
COLUMN_NUMBER_OF (RegionLine, line_beyond, isnan (p->low) ? NAN : p->beyond)

static const Column line_columns[] = {
  { "figure", .kind = COLUMN_WORD, COLUMN_MEMBER (RegionLine, figure) },
  { "row", .kind = COLUMN_WORD, COLUMN_MEMBER (RegionLine, row) },
  { "gpus", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, gpus) },
  { "nodes", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, nodes) },
  { "every", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, every) },
  { "hidden", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, hidden) },
  { "published", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, published) },
  { "over", .kind = COLUMN_WORD, .text = line_over },
  { "speed_low", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, speed_low) },
  { "speed_high", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, speed_high) },
  { "ratio_low", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, low) },
  { "ratio_high", .kind = COLUMN_NUMBER, COLUMN_MEMBER (RegionLine, high) },
  { "beyond", .kind = COLUMN_NUMBER, .number = line_beyond },
  { "assumptions", .kind = COLUMN_WORD, COLUMN_MEMBER (RegionLine, assumptions) },
  { 0 },
};

COLUMN_NUMBER_OF (Region, region_gpus, p->gpus > 0 ? p->gpus : NAN)
COLUMN_NUMBER_OF (Region, region_nodes, p->gpus > 0 ? p->nodes : NAN)
COLUMN_NUMBER_OF (Region, region_explained, region_explains (p))

static const Column region_columns[] = {
  { "gpus", .kind = COLUMN_NUMBER, .number = region_gpus },
  { "nodes", .kind = COLUMN_NUMBER, .number = region_nodes },
  { "ratio_at_least", .kind = COLUMN_NUMBER, COLUMN_MEMBER (Region, low) },
  { "ratio_at_most", .kind = COLUMN_NUMBER, COLUMN_MEMBER (Region, high) },
  { "at_least_by", .kind = COLUMN_WORD, COLUMN_VIA (Region, from, row) },
  { "at_most_by", .kind = COLUMN_WORD, COLUMN_VIA (Region, to, row) },
  { "explains", .kind = COLUMN_BOOL, .number = region_explained },
  { "n_beyond", .kind = COLUMN_NUMBER, COLUMN_MEMBER (Region, n_beyond) },
  { 0 },
};

static void
json (const Figures *self, struct json_object *root)
{
  struct json_object *region = json_object_new_object ();

  report_published.json (self->base, root);
  json_object_object_add (region, "rows", column_list (line_columns, rows_of_array (self->lines)));
  json_object_object_add (region, "together",
                          column_list (region_columns, rows_of_array (self->regions)));
  json_object_object_add (root, "region", region);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void
append_table (const Figures *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "ROW", FALSE },      { "GPUS", TRUE },   { "NODES", TRUE }, { "STEPS", TRUE },
    { "PUBLISHED", TRUE }, { "R FROM", TRUE }, { "R TO", TRUE },  { "", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->lines->len; i++)
    {
      const RegionLine *line = FIGURE_LINE (self, RegionLine, i);

      figure_line (table, g_strdup (line->row), g_strdup_printf ("%u", line->gpus),
                   g_strdup_printf ("%u", line->nodes), g_strdup_printf ("%u", line->every),
                   figure_number ("%.6g", line->published), figure_number ("%.2f", line->low),
                   figure_number ("%.2f", line->high),
                   g_strdup (line->nodes == 1 ? "T_step" : line->reason));
    }
  terminal_table_finish (table, out);
  g_string_append_c (out, '\n');
}

static void
text (const Figures *self, gboolean details, GString *out)
{
  const guint   n = self->regions->len;
  const Region *few = n >= 3 ? region_at (self, 0) : NULL; /* one, and all: nothing grows */
  const Region *many = n >= 3 ? region_at (self, n - 2) : NULL;
  double        low = NAN, high = NAN;

  report_published.text (self->base, details, out);
  g_string_append (out, "\nr = T_allreduce / T_step that explains each row, T_step without a "
                        "network, an all-reduce each so many steps:\n");
  append_table (self, out);
  for (guint i = 0; i < n; i++)
    {
      const Region *region = region_at (self, i);

      if (region->reason != NULL)
        g_string_append_printf (out, "%s: no r: %s\n", region->name, region->reason);
      else
        g_string_append_printf (out, "%s: r from %.2f to %.2f\n", region->name, region->low,
                                region->high);
    }
  if (few != NULL)
    region_growth (few, many, &low, &high);
  if (few != NULL && isfinite (high))
    g_string_append_printf (
        out,
        "from %u GPUs on %u nodes to %u on %u: r grows by %.2f to %.2f, bytes of "
        "a ring of all GPUs by %.2f, of a ring of the nodes by %.2f\n",
        few->gpus, few->nodes, many->gpus, many->nodes, low, high,
        region_ring_growth (few->gpus, many->gpus), region_ring_growth (few->nodes, many->nodes));
  if (details)
    figure_assumptions (self->lines, G_STRUCT_OFFSET (RegionLine, assumptions), out);
}

/* ---- the picture ----------------------------------------------------------------------------- */

#define LEAST 0.004 /* of the axis: a bar that can be seen, where one r is all */

/* A block of the rows of REGION that some r explains, or of those that are BEYOND any. */
static guint
add_block (const Figures *self, const Region *region, gboolean beyond, Facets *facets)
{
  const guint block = facets_block (facets, "line r_low r_high");
  guint       n = 0;

  facets_line (facets, 0, NAN, NAN); /* no block is empty */
  for (guint i = 0; i < self->lines->len; i++)
    {
      const RegionLine *line = FIGURE_LINE (self, RegionLine, i);

      if (!isnan (line->low) && line->gpus == region->gpus && line->nodes == region->nodes
          && (line->beyond > 0) == beyond)
        facets_line (facets, n, line->low, line->high);
      n += !isnan (line->low);
    }
  return block;
}

/*
 * A bar a row, its colour by the GPUs and nodes; an upright band is the shortest range of r that
 * meets all rows of as many, hatched where no r explains all of them.
 */
static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  const guint      n = self->regions->len;
  g_autofree char *title = g_strdup_printf ("%s: which r explains each row, idealised", self->name);
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  Facets               *facets;
  double                end;

  report_published.plot (self->base, style, pictures);
  if (n == 0)
    return;
  facets = facets_new ("%s-region", self->name);
  for (guint i = 0; i < self->lines->len; i++)
    if (!isnan (FIGURE_LINE (self, RegionLine, i)->low))
      g_ptr_array_add (names, (gpointer) FIGURE_LINE (self, RegionLine, i)->row);
  end = 1.2 * MAX (region_at (self, n - 1)->low, region_at (self, n - 1)->high);
  end = end > 0 ? end : 1; /* all rows may say that r is 0, which makes no axis */
  facets_text (facets, "set title", title, 100);
  facets_command (facets,
                  "set xlabel 'r: an all-reduce over the network, in steps without a network'\n"
                  "set xrange [0:%.3g]\nset yrange [%u.5:-0.5]\n"
                  "set grid noytics xtics back ls 21\nset key outside center top horizontal",
                  end, names->len - 1);
  gnuplot_append_tics (facets->panels, 'y', (const char *const *) names->pdata, names->len, 60);
  for (guint k = 0; k + 1 < n; k++)
    facets_command (facets,
                    "set object rectangle from %.6g, graph 0 to %.6g, graph 1 behind "
                    "fc ls %u fs transparent %s noborder",
                    MIN (region_at (self, k)->low, region_at (self, k)->high),
                    MAX (region_at (self, k)->low, region_at (self, k)->high), 3 * k % 11 + 1,
                    region_explains (region_at (self, k)) ? "solid 0.25" : "pattern 5");
  facets_command (facets, "length(a, b) = b - a > %.3g ? b - a : %.3g", LEAST * end, LEAST * end);
  for (guint k = 0; k + 1 < n; k++)
    {
      static const char bar[] = "using 2:1:(length($2, $3)):(0) with vectors nohead";
      const Region     *region = region_at (self, k);
      const guint       look = 3 * k % 11 + 1; /* far from those before it */
      g_autofree char  *name =
          g_strdup_printf ("%u GPUs on %u nodes%s", region->gpus, region->nodes,
                           region_explains (region) ? "" : " (no r explains all)");

      facets_draw (facets, name, "data index %u %s ls %u lw 8",
                   add_block (self, region, FALSE, facets), bar, look);
      facets_draw (facets, NULL, "data index %u %s ls %u lw 3 dt 2",
                   add_block (self, region, TRUE, facets), bar, look);
    }
  facets_draw (facets, "faster than any r", "NaN with lines ls 20 lw 3 dt 2");
  facets_finish (facets, NULL, 1000, 170 + 30 * names->len, style, pictures);
}

const FigureReport report_region = { .columns = published_columns,
                                     .json = json,
                                     .text = text,
                                     .plot = plot };
