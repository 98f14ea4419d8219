/*
 * Runs over the number of nodes, drawn by gnuplot: a picture a part, in it a panel a page; points
 * are measured, lines of the same colour predicted.
 */
#include <math.h>
#include <string.h>

#include "report/figure-scaling.h"
#include "report/gnuplot-private.h"

#define WIDTH        900 /* pixels */
#define PANEL_HEIGHT 330
#define N_COLOURS    9 /* style lines of plots/style.gp */
#define MAX_TITLE    72
#define MAX_SERIES   40

/* Points from FIRST up to END of one series. */
typedef struct
{
  guint first, end;
} Run;

static const ScalingPoint *
point_at (const FigureScaling *self, guint i)
{
  return &g_array_index (self->points, ScalingPoint, i);
}

/* The series of PART in order, of Run: each is a block of the data. */
static GArray *
runs_of (const FigureScaling *self, ScalingPart part)
{
  GArray *runs = g_array_new (FALSE, FALSE, sizeof (Run));

  for (guint i = 0; i < self->points->len; i++)
    {
      const ScalingPoint *point = point_at (self, i);
      const Run           one = { i, i + 1 };
      Run                *last = runs->len > 0 ? &g_array_index (runs, Run, runs->len - 1) : NULL;

      if (point->part != part)
        continue;
      if (last != NULL && point_at (self, last->first)->page == point->page
          && point_at (self, last->first)->series == point->series)
        last->end = i + 1;
      else
        g_array_append_val (runs, one);
    }
  return runs;
}

static void
append_value (GString *out, double value, double unit)
{
  g_autofree char *text = number_format_exact (value / unit);

  g_string_append_printf (out, " %s", isnan (value) ? "NaN" : text);
}

/* What the values of RUN are drawn over: GB/s, or the first measured throughput. */
static double
unit_of (const FigureScaling *self, Run run)
{
  const ScalingPoint *first = point_at (self, run.first);

  return first->part == SCALING_BUS_BANDWIDTH ? 1e9 : first->measured;
}

static char *
data_text (const FigureScaling *self, const GArray *runs)
{
  GString *out = g_string_new ("# nodes measured predicted; a block a series\n");

  for (guint r = 0; r < runs->len; r++)
    {
      const Run run = g_array_index (runs, Run, r);

      for (guint i = run.first; i < run.end; i++)
        {
          g_string_append_printf (out, "%u", point_at (self, i)->nodes);
          append_value (out, point_at (self, i)->measured, unit_of (self, run));
          append_value (out, point_at (self, i)->predicted, unit_of (self, run));
          g_string_append_c (out, '\n');
        }
      g_string_append (out, "\n\n");
    }
  return g_string_free (out, FALSE);
}

static const char *
page_of (const FigureScaling *self, const GArray *runs, guint r)
{
  return point_at (self, g_array_index (runs, Run, r).first)->page;
}

static const char *
series_of (const FigureScaling *self, const GArray *runs, guint r)
{
  return point_at (self, g_array_index (runs, Run, r).first)->series;
}

static gboolean
ends_word (char c)
{
  return c == '\0' || c == ',' || c == ' ';
}

/* Bytes of the whole words with which both A and B begin. */
static gsize
common_words (const char *a, const char *b)
{
  gsize words = 0;

  for (gsize i = 0;; i++)
    {
      if (ends_word (a[i]) && ends_word (b[i]))
        words = i;
      if (a[i] != b[i] || a[i] == '\0')
        return words;
    }
}

/* The same of the series FIRST up to END. */
static gsize
common_of (const FigureScaling *self, const GArray *runs, guint first, guint end)
{
  const char *name = series_of (self, runs, first);
  gsize       common = strlen (name);

  for (guint r = first + 1; r < end; r++)
    common = MIN (common, common_words (name, series_of (self, runs, r)));
  while (common > 0 && ends_word (name[common - 1]))
    common--;
  return common;
}

/* What tells the series R apart, past COMMON bytes. */
static char *
label_of (const FigureScaling *self, const GArray *runs, guint r, gsize common)
{
  const ScalingPoint *first = point_at (self, g_array_index (runs, Run, r).first);
  const char         *rest = series_of (self, runs, r) + common;
  g_autofree char    *plain = gnuplot_plain_text (rest + strspn (rest, ", "), MAX_SERIES);
  const char         *name = *plain != '\0' ? plain : "default";

  return first->part == SCALING_BUS_BANDWIDTH
             ? g_strdup (name)
             : g_strdup_printf ("%s (1 = %.0f)", name, first->measured);
}

/* The runs FIRST up to END with some room on both sides. */
static void
append_range (const FigureScaling *self, const GArray *runs, guint first, guint end, GString *out)
{
  guint fewest = G_MAXUINT, most = 1;

  for (guint r = first; r < end; r++)
    {
      const Run run = g_array_index (runs, Run, r);

      fewest = MIN (fewest, point_at (self, run.first)->nodes);
      most = MAX (most, point_at (self, run.end - 1)->nodes);
    }
  g_string_append_printf (out, "set xrange [%u/1.15:%u*1.15]\n", fewest, most);
}

/* A panel of the runs FIRST up to END, which are of one page. */
static void
append_panel (const FigureScaling *self, const GArray *runs, guint first, guint end, GString *out)
{
  const gsize      common = common_of (self, runs, first, end);
  g_autofree char *all =
      g_strdup_printf ("%s%s%.*s", page_of (self, runs, first), common > 0 ? "; " : "",
                       (int) common, series_of (self, runs, first));
  g_autofree char *title = gnuplot_plain_text (all, MAX_TITLE);

  append_range (self, runs, first, end, out);
  g_string_append (out, "set title ");
  gnuplot_append_quoted (out, title);
  g_string_append (out, "\nplot ");
  for (guint r = first; r < end; r++)
    {
      g_autofree char *name = label_of (self, runs, r, common);
      const guint      style = (r - first) % N_COLOURS + 1, mark = r - first < N_COLOURS ? 7 : 5;

      g_string_append_printf (out,
                              "%sdata index %u using 1:2 with points ls %u pt %u ps 0.9 title ",
                              r > first ? ", \\\n  " : "", r, style, mark);
      gnuplot_append_quoted (out, end - first > 1 ? name : ""); /* one by itself is the title's */
      /* one that coincides with a later one shows at its edges */
      g_string_append_printf (out, ", \\\n  data index %u using 1:3 with lines ls %u lw %g notitle",
                              r, style, 2 + 0.7 * (double) (end - 1 - r));
    }
  g_string_append (out,
                   ", \\\n  NaN with points lc rgb '#404040' pt 7 ps 0.9 title 'measured', \\\n"
                   "  NaN with lines lc rgb '#404040' lw 2 title 'predicted'\n");
}

static char *
panels_text (const FigureScaling *self, const GArray *runs, guint *n_panels)
{
  g_autoptr (GString) panels = g_string_new (NULL);
  guint               end;

  *n_panels = 0;
  for (guint first = 0; first < runs->len; first = end)
    {
      for (end = first + 1;
           end < runs->len && page_of (self, runs, end) == page_of (self, runs, first); end++)
        ;
      append_panel (self, runs, first, end, panels);
      (*n_panels)++;
    }
  return g_strdup_printf ("set multiplot layout %u,1\n%sunset multiplot\n", MAX (*n_panels, 1),
                          panels->str);
}

static GnuplotPicture
picture_of (const FigureScaling *self, ScalingPart part, const char *style)
{
  static const char *const y_titles[] = { "bus bandwidth, GB/s",
                                          "tokens/s/GPU over the first measured" };
  g_autoptr (GArray)       runs = runs_of (self, part);
  guint                    n_panels;
  g_autofree char         *plot = panels_text (self, runs, &n_panels);
  g_autofree char         *head = g_strdup_printf (
              "set logscale x 2\nset yrange [0:*]\nset xlabel 'nodes'\nset ylabel '%s' noenhanced\n"
                      "set format x '%%g'\nset format y '%%g'\nset grid xtics ytics back ls 21\n"
                      "set lmargin at screen 0.08\nset rmargin at screen 0.6\n"
                      "set key at screen 0.62, graph 0.95 left top\n",
              y_titles[part]);
  char *name = g_strdup_printf ("%s-%s", self->name, scaling_part_name (part));

  return (GnuplotPicture){ .name = name,
                           .data = data_text (self, runs),
                           .script = gnuplot_script (name, style, head, plot, WIDTH,
                                                     PANEL_HEIGHT * MAX (n_panels, 1)) };
}

static gboolean
has_part (const FigureScaling *self, ScalingPart part)
{
  for (guint i = 0; i < self->points->len; i++)
    if (point_at (self, i)->part == part)
      return TRUE;
  return FALSE;
}

gboolean
report_figure_scaling_plot (const FigureScaling *self, const char *dir, const char *style_file,
                            GError **error)
{
  g_autofree char *style = NULL;
  GnuplotPicture   pictures[SCALING_N_PARTS] = { { 0 } };
  guint            n = 0;
  gboolean         drawn;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  for (guint part = 0; part < SCALING_N_PARTS; part++)
    if (has_part (self, (ScalingPart) part))
      pictures[n++] = picture_of (self, (ScalingPart) part, style);
  drawn = gnuplot_draw (pictures, n, dir, error);
  for (guint i = 0; i < n; i++)
    {
      g_free (pictures[i].name);
      g_free (pictures[i].data);
      g_free (pictures[i].script);
    }
  return drawn;
}
