/*
 * A map, drawn by gnuplot: a panel a page, in it a cell a place, coloured by the fastest contender
 * and labelled with it and its lead over the second.
 */
#include <math.h>

#include "report/figure-map.h"
#include "report/gnuplot-private.h"

#define CELL_WIDTH   118 /* pixels */
#define CELL_HEIGHT  44
#define OTHER_WIDTH  130 /* of a panel: names of lines and margins */
#define OTHER_HEIGHT 110
#define MAX_NAME     24
#define MAX_TITLE    72
#define N_STYLES     11 /* of plots/style.gp that stand for a part */

static const char *
value_at (const FigureMap *self, MapAxis axis, guint i)
{
  return g_ptr_array_index (self->values[axis], i);
}

/* The fastest contender of CELL; NULL where none fits. */
static const char *
winner_of (const MapCell *cell)
{
  const MapEntry *first = &g_array_index (cell->entries, MapEntry, 0);

  return first->scenario != NULL ? first->contender : NULL;
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return g_strcmp0 (*(const char *const *) a, *(const char *const *) b);
}

/* Every contender that wins somewhere, by name. */
static GPtrArray *
winners_of (const FigureMap *self)
{
  GPtrArray *winners = g_ptr_array_new ();

  for (guint i = 0; i < self->cells->len; i++)
    {
      const char *winner = winner_of (&g_array_index (self->cells, MapCell, i));

      if (winner != NULL && !g_ptr_array_find_with_equal_func (winners, winner, g_str_equal, NULL))
        g_ptr_array_add (winners, (gpointer) winner);
    }
  g_ptr_array_sort (winners, compare_names);
  return winners;
}

/* ---- data ------------------------------------------------------------------------------------ */

static void
append_cell (const MapCell *cell, GString *out)
{
  const char      *winner = winner_of (cell);
  double           lead = map_cell_lead (cell);
  g_autofree char *name = gnuplot_plain_text (winner != NULL ? winner : "none fits", MAX_NAME);
  g_autofree char *text = isfinite (lead)  ? g_strdup_printf ("%+.1f %%", lead * 100)
                          : winner != NULL ? g_strdup ("alone")
                                           : g_strdup ("");

  g_string_append_printf (out, "%u %u \"%s\" \"%s\"\n", cell->x, cell->y, name, text);
}

/*
 * Blocks, each a page's cells of one winner, in the order of WINNERS; the last block of a page are
 * the cells where none fits. A block without cells has one outside of the picture.
 */
static char *
data_text (const FigureMap *self, const GPtrArray *winners)
{
  GString *out = g_string_new ("# x y winner lead\n");

  for (guint page = 0; page < self->values[MAP_PAGE]->len; page++)
    for (guint w = 0; w <= winners->len; w++)
      {
        const char *winner = w < winners->len ? g_ptr_array_index (winners, w) : NULL;

        g_string_append (out, "-9 -9 \"\" \"\"\n");
        for (guint i = 0; i < self->cells->len; i++)
          {
            const MapCell *cell = &g_array_index (self->cells, MapCell, i);

            if (cell->page == page && g_strcmp0 (winner_of (cell), winner) == 0)
              append_cell (cell, out);
          }
        g_string_append (out, "\n\n");
      }
  return g_string_free (out, FALSE);
}

/* ---- script ---------------------------------------------------------------------------------- */

static void
append_panel (const FigureMap *self, guint page, const GPtrArray *winners, GString *out)
{
  g_autofree char *title =
      g_strdup_printf ("%s %s", self->keys[MAP_PAGE], value_at (self, MAP_PAGE, page));
  g_autofree char *plain = gnuplot_plain_text (title, MAX_TITLE);
  guint            n = winners->len + 1, block = page * n;

  g_string_append (out, "set title ");
  gnuplot_append_quoted (out, plain);
  g_string_append (out, "\nplot ");
  for (guint w = 0; w < winners->len; w++) /* each cell names its own */
    g_string_append_printf (out,
                            "data index %u using 1:2:(0.5):(0.5) with boxxyerror ls %u notitle, "
                            "\\\n  ",
                            block + w, w % N_STYLES + 1);
  g_string_append_printf (
      out,
      "data index %u:%u using 1:2:(stringcolumn(3) . \"\\n\" . stringcolumn(4)) "
      "with labels offset 0,0.35 notitle\n",
      block, block + n - 1);
}

static char *
panels_text (const FigureMap *self, const GPtrArray *winners)
{
  GString *out = g_string_new (NULL);
  guint    pages = self->values[MAP_PAGE]->len;

  g_string_append_printf (out, "set multiplot layout %u,1\n", pages);
  for (guint page = 0; page < pages; page++)
    append_panel (self, page, winners, out);
  g_string_append (out, "unset multiplot\n");
  return g_string_free (out, FALSE);
}

static char *
axes_text (const FigureMap *self)
{
  GString *out = g_string_new (NULL);

  g_string_append_printf (out,
                          "set xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\n"
                          "set style fill transparent solid 0.45 border rgb '#ffffff'\n"
                          "unset grid\nset tics scale 0\nset border 0\n",
                          self->values[MAP_X]->len - 1, self->values[MAP_Y]->len - 1);
  g_string_append_printf (out, "set xlabel '%s' noenhanced\nset ylabel '%s' noenhanced\n",
                          self->keys[MAP_X], self->keys[MAP_Y]);
  gnuplot_append_tics (out, 'x', self->values[MAP_X], MAX_NAME);
  gnuplot_append_tics (out, 'y', self->values[MAP_Y], MAX_NAME);
  return g_string_free (out, FALSE);
}

gboolean
report_figure_map_plot (const FigureMap *self, const char *dir, const char *style_file,
                        GError **error)
{
  g_autoptr (GPtrArray) winners = winners_of (self);
  g_autofree char      *style = NULL, *axes = axes_text (self);
  g_autofree char      *panels = panels_text (self, winners), *data = data_text (self, winners);
  guint                 width = OTHER_WIDTH + CELL_WIDTH * self->values[MAP_X]->len;
  guint                 height =
      (OTHER_HEIGHT + CELL_HEIGHT * self->values[MAP_Y]->len) * self->values[MAP_PAGE]->len;
  g_autofree char *script = NULL;
  GnuplotPicture   picture = { .name = self->name, .data = data };

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  script = g_strdup_printf (
      "# Draws %s.png and %s.svg from %s.dat: gnuplot %s.gp\n%s\ndata = '%s.dat'\n%s\n"
      "set terminal pngcairo noenhanced font 'Liberation Sans,11' size %u,%u\n"
      "set output '%s.png'\n%s\n"
      "set terminal svg noenhanced font 'Liberation Sans,11' size %u,%u background '#ffffff'\n"
      "set output '%s.svg'\n%s",
      self->name, self->name, self->name, self->name, style, self->name, axes, width, height,
      self->name, panels, width, height, self->name, panels);
  picture.script = script;
  return gnuplot_draw (&picture, 1, dir, error);
}
