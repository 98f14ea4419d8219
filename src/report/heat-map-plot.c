/* A heat map, drawn by gnuplot: tokens/s/GPU as colours, each cell with its number. */
#include <string.h>

#include "report/gnuplot-private.h"
#include "report/heat-map.h"

#define NAME         "heat-map"
#define CELL_WIDTH   66 /* pixels, at least */
#define LETTER_WIDTH 9
#define CELL_HEIGHT  36
#define OTHER_WIDTH  230 /* names of lines, the colours' scale and margins */
#define OTHER_HEIGHT 120
#define MAX_NAME     24
#define MAX_TITLE    90

/* What does not fit, or cannot be, has no colour. */
static char *
data_text (const HeatMap *self)
{
  GString *out = g_string_new ("# x y tokens_per_s_per_gpu label fits\n");

  for (guint y = 0; y < self->y.texts->len; y++)
    for (guint x = 0; x < self->x.texts->len; x++)
      {
        const HeatCell  *cell = heat_map_cell (self, x, y);
        g_autofree char *tokens = number_format_exact (cell->tokens_per_s_per_gpu);

        if (cell->possible && cell->fits)
          g_string_append_printf (out, "%u %u %s \"%.0f\" 1\n", x, y, tokens,
                                  cell->tokens_per_s_per_gpu);
        else
          g_string_append_printf (out, "%u %u NaN \"%s\" 0\n", x, y,
                                  cell->possible ? "too big" : "-");
      }
  return g_string_free (out, FALSE);
}

/*
 * From Paul Tol's 'iridescent': light to dark, no darker than black letters can be read on.
 */
static char *
head_text (const HeatMap *self)
{
  GString         *out = g_string_new (NULL);
  g_autofree char *title =
      g_strdup_printf ("%s: %s on %s", self->strategy, self->model, self->cluster);
  g_autofree char *plain = gnuplot_plain_text (title, MAX_TITLE);

  g_string_append (out, "set title ");
  gnuplot_append_quoted (out, plain);
  g_string_append_printf (out,
                          "\nset xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\n"
                          "set palette defined (0 '#fefbe9', 1 '#eaf0b5', 2 '#c2e3d2', "
                          "3 '#9bd1e5', 4 '#7eb2e4')\n"
                          "set style fill solid 1.0 border rgb '#ffffff'\nunset grid\nunset key\n"
                          "set tics scale 0\nset border 0\nset cblabel 'tokens/s/GPU'\n"
                          "set xlabel '%s' noenhanced\nset ylabel '%s' noenhanced\n",
                          self->x.texts->len - 1, self->y.texts->len - 1, self->x.name,
                          self->y.name);
  gnuplot_append_tics (out, 'x', self->x.texts, MAX_NAME);
  gnuplot_append_tics (out, 'y', self->y.texts, MAX_NAME);
  return g_string_free (out, FALSE);
}

/* Letters of the longest of TEXTS, as far as it is shown. */
static guint
widest (const GPtrArray *texts)
{
  guint most = 0;

  for (guint i = 0; i < texts->len; i++)
    most = MAX (most, (guint) g_utf8_strlen (g_ptr_array_index (texts, i), -1));
  return MIN (most, MAX_NAME);
}

gboolean
report_heat_map_plot (const HeatMap *self, const char *dir, const char *style_file, GError **error)
{
  static const char plot[] = "plot data using 1:($5 > 0 ? NaN : $2):(0.5):(0.5) "
                             "with boxxyerror fillcolor rgb '#e4e4e4', \\\n"
                             "  data using 1:($5 > 0 ? $2 : NaN):(0.5):(0.5):3 "
                             "with boxxyerror palette, \\\n"
                             "  data using 1:2:4 with labels\n";
  g_autofree char  *style = NULL, *head = head_text (self), *data = data_text (self);
  g_autofree char  *script = NULL;
  const guint       cell = MAX (CELL_WIDTH, LETTER_WIDTH * (widest (self->x.texts) + 1));
  const guint       width = OTHER_WIDTH + cell * self->x.texts->len;
  const guint       needed = OTHER_HEIGHT + LETTER_WIDTH * (guint) strlen (self->y.name) / 2;
  const guint       height = MAX (OTHER_HEIGHT + CELL_HEIGHT * self->y.texts->len, needed);
  GnuplotPicture    picture = { .name = (char *) NAME, .data = data };

  if (!g_file_get_contents (style_file, &style, NULL, error))
    return FALSE;
  script = gnuplot_script (NAME, style, head, plot, MAX (width, 560), height);
  picture.script = script;
  return gnuplot_draw (&picture, 1, dir, error);
}
