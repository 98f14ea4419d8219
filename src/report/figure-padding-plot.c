/* Padding over ranks, drawn by gnuplot: a column a model and unit. */
#include <math.h>

#include "report/figure-padding.h"
#include "report/gnuplot-private.h"

#define PANEL_WIDTH  480
#define PANEL_HEIGHT 330
#define MAX_NAME     48
#define SMALL        20.0 /* %: a second panel has what is below, where something is above */

static const PaddingRow *
row_at (const FigurePadding *self, guint i)
{
  return &g_array_index (self->rows, PaddingRow, i);
}

/* A curve: what was published stands beside it as crosses and levels. */
static gboolean
is_line (const PaddingRow *row)
{
  return padding_is_percent (row) && row->ranks->len > 1 && isnan (row->published);
}

static char *
page_of (const PaddingRow *row)
{
  return g_strdup_printf ("%s, %s", row->model,
                          g_str_equal (row->unit, "experts") ? "experts of a block" : "a block");
}

/* Titles of pages, in order of their first line; owned. */
static GPtrArray *
pages_of (const FigurePadding *self)
{
  GPtrArray *pages = g_ptr_array_new_with_free_func (g_free);

  for (guint i = 0; i < self->rows->len; i++)
    {
      g_autofree char *page = page_of (row_at (self, i));

      if (is_line (row_at (self, i))
          && !g_ptr_array_find_with_equal_func (pages, page, g_str_equal, NULL))
        g_ptr_array_add (pages, g_steal_pointer (&page));
    }
  return pages;
}

static gboolean
is_on (const PaddingRow *row, const char *page)
{
  g_autofree char *own = page_of (row);

  return padding_is_percent (row) && g_str_equal (own, page);
}

/* A block a row: ranks, what is computed, what was published of each. */
static char *
data_of (const FigurePadding *self)
{
  GString *out = g_string_new (NULL);

  for (guint i = 0; i < self->rows->len; i++)
    {
      const PaddingRow *row = row_at (self, i);
      const gboolean    said = !isnan (row->published) && row->meaning == PADDING_EACH;

      g_string_append (out, "# ranks computed published\n");
      for (guint r = 0; r < row->ranks->len; r++)
        {
          g_string_append_printf (out, "%u %.6g", g_array_index (row->ranks, guint, r),
                                  g_array_index (row->values, double, r));
          if (said)
            g_string_append_printf (out, " %.6g\n", row->published);
          else
            g_string_append (out, " NaN\n");
        }
      g_string_append (out, "\n\n");
    }
  return g_string_free (out, FALSE);
}

static double
most_of (const FigurePadding *self)
{
  double most = 0;

  for (guint i = 0; i < self->rows->len; i++)
    if (padding_is_percent (row_at (self, i)))
      most = MAX (most, row_at (self, i)->high);
  return most;
}

/* Names of lines, each once: their place is their style on every page. */
static GPtrArray *
names_of (const FigurePadding *self)
{
  GPtrArray *names = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    if (is_line (row_at (self, i))
        && !g_ptr_array_find_with_equal_func (names, row_at (self, i)->row, g_str_equal, NULL))
      g_ptr_array_add (names, (gpointer) row_at (self, i)->row);
  return names;
}

#define STYLE(n) ((n) % 11 + 1)

static void
append_line (const PaddingRow *row, guint block, const GPtrArray *names, GString *out)
{
  guint n = 0;

  g_ptr_array_find_with_equal_func ((GPtrArray *) names, row->row, g_str_equal, &n);
  g_string_append_printf (out, "data index %u using 1:2 with lines ls %u lw 1.6", block, STYLE (n));
}

/* What was published of ROW, the BLOCK-th of the data. */
static void
append_said (const PaddingRow *row, guint block, GString *out)
{
  if (row->meaning == PADDING_EACH)
    g_string_append_printf (out, "data index %u using 1:3 with points ls 20 pt 2 ps 1.2 lw 2",
                            block);
  else
    g_string_append_printf (out, "%g with lines ls 22", row->published);
}

/* Lines, crosses and levels of PAGE. */
static void
append_plot (const FigurePadding *self, const char *page, const GPtrArray *names, GString *out)
{
  const char *lead = "plot ";

  for (guint i = 0; i < self->rows->len; i++)
    {
      const PaddingRow *row = row_at (self, i);

      if (!is_on (row, page) || (isnan (row->published) && !is_line (row)))
        continue;
      g_string_append (out, lead);
      lead = ", \\\n  ";
      if (is_line (row))
        append_line (row, i, names, out);
      else
        append_said (row, i, out);
      g_string_append (out, " notitle");
    }
  g_string_append_c (out, '\n');
}

/* A panel of its own with the names of all lines. */
static void
append_key (const GPtrArray *names, GString *out)
{
  g_string_append (out, "unset title\nunset xlabel\nunset ylabel\nunset tics\nunset grid\n"
                        "unset border\nset key inside left top Left reverse\n"
                        "set yrange [0:1]\nplot ");
  for (guint n = 0; n < names->len; n++)
    {
      g_autofree char *name = gnuplot_plain_text (g_ptr_array_index (names, n), MAX_NAME);

      g_string_append_printf (out, "NaN with lines ls %u lw 2 title ", STYLE (n));
      gnuplot_append_quoted (out, name);
      g_string_append (out, ", \\\n  ");
    }
  g_string_append (out, "NaN with points ls 20 pt 2 ps 1.2 lw 2 title 'published', \\\n"
                        "  NaN with lines ls 22 title 'published: below, or up to'\n");
}

static char *
plot_of (const FigurePadding *self, const GPtrArray *pages, gboolean zoomed)
{
  g_autoptr (GPtrArray) names = names_of (self);
  GString              *out = g_string_new (NULL);

  g_string_append_printf (out,
                          "set multiplot layout %u,%u columnsfirst\nset logscale x 2\n"
                          "set grid xtics ytics back ls 21\nset xlabel 'ranks'\nunset key\n",
                          zoomed ? 2 : 1, pages->len + 1);
  for (guint p = 0; p < pages->len; p++)
    {
      const char *page = g_ptr_array_index (pages, p);

      g_string_append (out, "set title ");
      gnuplot_append_quoted (out, page);
      g_string_append (out, "\nset ylabel 'padding, %'\nset yrange [0:*]\n");
      append_plot (self, page, names, out);
      if (!zoomed)
        continue;
      g_string_append_printf (out,
                              "unset title\nset ylabel 'padding, %%, enlarged'\n"
                              "set yrange [0:%g]\n",
                              SMALL);
      append_plot (self, page, names, out);
    }
  append_key (names, out);
  g_string_append (out, "unset multiplot\nunset logscale\nset xrange [*:*]\nset yrange [*:*]\n");
  return g_string_free (out, FALSE);
}

gboolean
report_padding_plot (const FigurePadding *self, const char *dir, const char *style_file,
                     GError **error)
{
  g_autoptr (GPtrArray) pages = pages_of (self);
  const gboolean        zoomed = most_of (self) > SMALL;
  g_autofree char      *style = NULL, *plot = plot_of (self, pages, zoomed), *data = data_of (self);
  g_autofree char      *script = NULL;

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  script = gnuplot_script (self->name, style, "", plot, ((gint) pages->len + 1) * PANEL_WIDTH,
                           (zoomed ? 2 : 1) * PANEL_HEIGHT);
  return gnuplot_draw (&(GnuplotPicture){ self->name, data, script }, 1, dir, error);
}
