/*
 * The r that explains each row, drawn by gnuplot: a bar a row, its colour by the GPUs and nodes; an
 * upright band is the shortest range of r that meets all rows of as many, hatched where no r
 * explains all of them.
 */
#include "report/figure-region.h"
#include "report/figures.h"
#include "report/gnuplot-private.h"

#include <math.h>

#define LINE_PIXELS  30
#define OTHER_PIXELS 170
#define PIXELS       1000
#define MAX_NAME     60
#define N_STYLES     11
#define BEYOND       1.2   /* of the axis over what all rows say together */
#define LEAST        0.004 /* of the axis: a bar that can be seen, where one r is all */

static const RegionRow *
row_at (const FigureRegion *self, guint i)
{
  return &g_array_index (self->rows, RegionRow, i);
}

static const Region *
region_at (const FigureRegion *self, guint i)
{
  return &g_array_index (self->regions, Region, i);
}

/* The last region is of all. */
static guint
n_sizes (const FigureRegion *self)
{
  return self->regions->len > 0 ? self->regions->len - 1 : 0;
}

/* The line style of the K-th region: of plots/style.gp, far from those before it. */
static guint
style_of (guint k)
{
  return 3 * k % N_STYLES + 1;
}

static GPtrArray *
names_of (const FigureRegion *self)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    if (!isnan (row_at (self, i)->low))
      g_ptr_array_add (names, (gpointer) row_at (self, i)->row);
  return names;
}

/* Two blocks a region: rows that some r explains, and those that none does. */
static char *
data_of (const FigureRegion *self)
{
  GString *out = g_string_new (NULL);

  for (guint k = 0; k < 2 * n_sizes (self); k++)
    {
      const Region *region = region_at (self, k / 2);
      guint         line = 0;

      g_string_append_printf (out, "# line r_low r_high, %u GPUs on %u nodes%s\n0 NaN NaN\n",
                              region->gpus, region->nodes, k % 2 == 1 ? ", faster than any r" : "");
      for (guint i = 0; i < self->rows->len; i++)
        {
          const RegionRow *row = row_at (self, i);

          if (!isnan (row->low) && row->gpus == region->gpus && row->nodes == region->nodes
              && (row->beyond > 0) == (k % 2 == 1))
            g_string_append_printf (out, "%u %.6g %.6g\n", line, row->low, row->high);
          line += !isnan (row->low);
        }
      g_string_append (out, "\n\n");
    }
  return g_string_free (out, FALSE);
}

/* Where the axis of r ends; all rows may say that r is 0, which makes no axis. */
static double
end_of (const FigureRegion *self)
{
  const Region *all = region_at (self, n_sizes (self));
  const double  most = MAX (all->low, all->high);

  return most > 0 ? BEYOND * most : 1;
}

static char *
head_of (const FigureRegion *self)
{
  GString              *out = g_string_new ("set title ");
  g_autoptr (GPtrArray) names = names_of (self);
  g_autofree char      *title =
      g_strdup_printf ("%s: which r explains each row, idealised", self->figures->name);

  gnuplot_append_quoted (out, title);
  g_string_append_printf (out,
                          "\nset xlabel 'r: an all-reduce over the network, in steps without a "
                          "network'\nset xrange [0:%.3g]\nset yrange [%u.5:-0.5]\n"
                          "set grid noytics xtics back ls 21\n"
                          "set key outside center top horizontal\n",
                          end_of (self), names->len - 1);
  gnuplot_append_tics (out, 'y', names, MAX_NAME);
  for (guint k = 0; k < n_sizes (self); k++)
    {
      const Region *region = region_at (self, k);

      g_string_append_printf (out,
                              "set object rectangle from %.6g, graph 0 to %.6g, graph 1 behind "
                              "fc ls %u fs transparent %s noborder\n",
                              MIN (region->low, region->high), MAX (region->low, region->high),
                              style_of (k), region_explains (region) ? "solid 0.25" : "pattern 5");
    }
  return g_string_free (out, FALSE);
}

static char *
plot_of (const FigureRegion *self)
{
  GString *out = g_string_new (NULL);

  g_string_append_printf (out, "length(a, b) = b - a > %.3g ? b - a : %.3g\nplot ",
                          LEAST * end_of (self), LEAST * end_of (self));
  for (guint k = 0; k < n_sizes (self); k++)
    {
      const Region *region = region_at (self, k);

      g_string_append_printf (
          out,
          "%sdata index %u using 2:1:(length($2, $3)):(0) with vectors nohead ls %u "
          "lw 8 title '%u GPUs on %u nodes%s', \\\n"
          "  data index %u using 2:1:(length($2, $3)):(0) with vectors nohead ls %u "
          "lw 3 dt 2 notitle",
          k > 0 ? ", \\\n  " : "", 2 * k, style_of (k), region->gpus, region->nodes,
          region_explains (region) ? "" : " (no r explains all)", 2 * k + 1, style_of (k));
    }
  g_string_append (out, ", \\\n  NaN with lines ls 20 lw 3 dt 2 title 'faster than any r'\n");
  return g_string_free (out, FALSE);
}

static gboolean
draw (const FigureRegion *self, const char *dir, const char *style_file, GError **error)
{
  g_autofree char      *head = head_of (self), *plot = plot_of (self), *data = data_of (self);
  g_autofree char      *name = g_strconcat (self->figures->name, "-region", NULL);
  g_autofree char      *style = NULL, *script = NULL;
  g_autoptr (GPtrArray) names = names_of (self);

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  script =
      gnuplot_script (name, style, head, plot, PIXELS, OTHER_PIXELS + LINE_PIXELS * names->len);
  return gnuplot_draw (&(GnuplotPicture){ name, data, script }, 1, dir, error);
}

gboolean
report_region_plot (const FigureRegion *self, const char *dir, const char *style_file,
                    GError **error)
{
  return report_figures_plot (self->figures, dir, style_file, error)
         && (self->regions->len == 0 || draw (self, dir, style_file, error));
}
