/* Sharding formats as a page: `shards --html` and `--plot`. */
#include <math.h>

#include "report/html-private.h"
#include "report/shards-private.h"

#define PLOT_WIDTH 640
#define LIST_WIDTH 160
#define ZOOM       20.0 /* %: a second panel has what is below, where something is above */

static const ShardSize *
size_at (const Shards *self, guint i)
{
  return &g_array_index (self->sizes, ShardSize, i);
}

/* ---- picture --------------------------------------------------------------------------------- */

/* A block of format F: ranks and padding in %. MOST becomes the most of them, if it is less. */
static void
append_block (const Shards *self, guint f, GString *data, double *most)
{
  for (guint i = f; i < self->sizes->len; i += self->options.n_formats)
    {
      const double percent = 100 * shard_size_padding (size_at (self, i));

      plot_append_number (data, size_at (self, i)->ranks);
      plot_append_number (data, percent);
      g_string_append_c (data, '\n');
      *most = MAX (*most, percent);
    }
  g_string_append (data, "\n\n");
}

static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  const Shards    *self = answer;
  GString         *settings, *data;
  g_autofree char *title = NULL;
  double           most = 0;

  if (self->options.n_ranks < 2)
    return TRUE;
  settings = g_string_new (NULL);
  data = g_string_new ("# ranks padding; a block a format\n");
  g_string_append_printf (settings, "array series[%u] = [", self->options.n_formats);
  for (guint f = 0; f < self->options.n_formats; f++)
    {
      g_string_append (settings, f > 0 ? ", " : "");
      gnuplot_append_quoted (settings, self->options.formats[f]->name);
      append_block (self, f, data, &most);
    }
  g_string_append (settings, "]\n");
  title =
      g_strdup_printf ("Padding of %s over ranks", workload_shape (self->options.workload)->name);
  plot_set_text (settings, "title_text", title);
  plot_set_number (settings, "x_least", self->options.ranks[0] / 1.1);
  plot_set_number (settings, "x_most", self->options.ranks[self->options.n_ranks - 1] * 1.1);
  plot_set_number (settings, "y_most", MAX (1.1 * most, 1));
  plot_set_number (settings, "zoom", most > ZOOM ? ZOOM : 0);
  plot_set_number (settings, "list_share", (double) LIST_WIDTH / (PLOT_WIDTH + LIST_WIDTH));
  return plot_add (pictures, scripts, "padding", "shards", settings, data, PLOT_WIDTH + LIST_WIDTH,
                   most > ZOOM ? 560 : 380, error);
}

/* ---- page ------------------------------------------------------------------------------------ */

static char *
title (gconstpointer answer)
{
  const Shards *self = answer;

  return g_strdup_printf ("Shards of %s", workload_shape (self->options.workload)->name);
}

static const HtmlColumn columns[] = {
  { "ranks", TRUE },         { "format", FALSE },  { "padding", TRUE },    { "a rank", TRUE },
  { "largest unit", FALSE }, { "gathered", TRUE }, { "misaligned", TRUE }, { "copies", TRUE },
};

static void
add_row (HtmlTable *table, const ShardSize *size)
{
  const double     padding = shard_size_padding (size);
  g_autofree char *ranks = g_strdup_printf ("%u", size->ranks), *percent = shards_padding (padding);
  g_autofree char *bytes = quantity_format (QUANTITY_BYTES, (double) size->rank_bytes, 4);
  g_autofree char *gathered = shards_gathered (size), *misaligned = shards_misaligned (size);
  g_autofree char *copied = shards_copied (size);

  html_table_mark_row (table, padding > SHARDS_MUCH     ? HTML_BAD
                              : padding < SHARDS_LITTLE ? HTML_GOOD
                                                        : HTML_PLAIN);
  html_table_add_number (table, ranks, size->ranks);
  html_table_add_text (table, size->format->name);
  html_table_add_number (table, percent, padding);
  html_table_add_number (table, bytes, (double) size->rank_bytes);
  html_table_add_text (table, size->largest->name);
  html_table_add_number (table, gathered, (double) size->largest_bytes);
  html_table_add_number (table, misaligned, size->n_misaligned);
  html_table_add_number (table, copied, (double) size->copied_bytes);
}

static void
add_layout (HtmlPage *page, const Shards *self)
{
  HtmlColumn titles[SHARDS_PLACE_CELLS];
  HtmlTable *table;

  for (guint c = 0; c < SHARDS_PLACE_CELLS; c++)
    titles[c] = (HtmlColumn){ shards_place_titles[c], c >= SHARDS_PLACE_TEXTS };
  table = html_table_new (titles, SHARDS_PLACE_CELLS);
  for (guint i = 0; i < self->places->len; i++)
    {
      g_auto (GStrv) cells = shards_place_cells (&g_array_index (self->places, ShardPlace, i));

      for (guint c = 0; c < SHARDS_PLACE_CELLS; c++)
        html_table_add_either (table, cells[c]);
    }
  html_page_add_section (page, "Layout");
  html_page_add_text (page, "%s", shards_layout_note (self));
  html_page_take_table (page, table);
}

static void
add_advice (HtmlPage *page, const Shards *self)
{
  html_page_add_section (page, "What to do where much is padded");
  for (guint i = 0; i < self->advice->len; i++)
    {
      g_autofree char *words = shards_advice (&g_array_index (self->advice, ShardAdvice, i));

      html_page_add_text (page, "%s.", words);
    }
}

static void
fill (HtmlPage *page, const PagePictures *pictures, gconstpointer answer)
{
  const Shards       *self = answer;
  g_autofree char    *summary = shards_summary (self);
  HtmlTable          *table = html_table_new (columns, G_N_ELEMENTS (columns));
  g_autoptr (GString) csv = g_string_new (NULL);

  html_page_add_lines (page, summary);
  html_page_add_section (page, "Padding");
  page_add_picture (page, pictures, "padding");
  for (guint i = 0; i < self->sizes->len; i++)
    add_row (table, size_at (self, i));
  html_page_take_table (page, table);
  html_page_add_text (page,
                      "Green: padding below %g %%; red: above %g %%. Gathered: the largest "
                      "unit with its padding. Misaligned: units whose bytes a rank are no "
                      "multiple of NCCL's 16. Copies: read and written a step.",
                      100 * SHARDS_LITTLE, 100 * SHARDS_MUCH);
  for (guint f = 0; f < self->options.n_formats; f++)
    html_page_add_text (page, "%s: %s.", self->options.formats[f]->name,
                        self->options.formats[f]->title);
  if (self->advice->len > 0)
    add_advice (page, self);
  if (self->places->len > 0)
    add_layout (page, self);
  report_shards_csv (self, csv);
  html_page_add_section (page, "All results");
  html_page_begin_fold (page, "Every column of --format csv");
  html_page_add_csv (page, csv->str);
  html_page_end_fold (page);
}

const PageKind shards_page = { title, draw, fill };
