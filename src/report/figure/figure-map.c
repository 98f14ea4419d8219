#include "evidence/figures/figure-map.h"

#include <math.h>

#include "report/figure/figure-report-private.h"

COLUMN_TEXT_OF (MapEntry, entry_page, p->values[MAP_PAGE])
COLUMN_TEXT_OF (MapEntry, entry_y, p->values[MAP_Y])
COLUMN_TEXT_OF (MapEntry, entry_x, p->values[MAP_X])
COLUMN_NUMBER_OF (MapEntry, entry_rank, p->scenario != NULL ? p->rank : NAN)
COLUMN_NUMBER_OF (MapEntry, entry_tokens, p->scenario != NULL ? p->tokens_per_s_per_gpu : NAN)

static const Column result_columns[] = {
  { "map", .kind = COLUMN_WORD, .flags = COLUMN_CSV_ONLY, COLUMN_MEMBER (MapEntry, map) },
  { "page", .kind = COLUMN_WORD, .text = entry_page },
  { "y", .kind = COLUMN_WORD, .text = entry_y },
  { "x", .kind = COLUMN_WORD, .text = entry_x },
  { "rank", .kind = COLUMN_NUMBER, .number = entry_rank },
  { "contender", .kind = COLUMN_WORD, COLUMN_MEMBER (MapEntry, contender) },
  { "tokens_per_s_per_gpu", .kind = COLUMN_NUMBER, .number = entry_tokens },
  { "lead", .kind = COLUMN_NUMBER, COLUMN_MEMBER (MapEntry, lead) },
  { "binding_resource", .kind = COLUMN_WORD, COLUMN_MEMBER (MapEntry, binding) },
  { "scenario", .kind = COLUMN_WORD, COLUMN_MEMBER (MapEntry, scenario) },
  { "reason", .kind = COLUMN_WORD, COLUMN_MEMBER (MapEntry, reason) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

static void
json (const Figures *self, struct json_object *root)
{
  static const char *const names[MAP_N_AXES] = { "x", "y", "page" };
  const MapAxes           *map = FIGURE_LINE (self, MapAxes, 0);
  struct json_object      *axes = json_object_new_object ();

  for (guint axis = 0; axis < MAP_N_AXES; axis++)
    json_add_text (axes, names[axis], map->keys[axis]);
  json_object_object_add (root, "axes", axes);
  json_add_text (root, "assumptions", map->assumptions);
}

static const char *
value_at (const MapAxes *map, MapAxis axis, guint i)
{
  return g_ptr_array_index (map->values[axis], i);
}

/* The first of a cell, which the fastest is; NULL: the grid lacks the cell. */
static const MapEntry *
first_at (const Figures *self, guint page, guint y, guint x)
{
  for (guint i = 0; i < self->rows->len; i++)
    {
      const MapEntry *entry = FIGURE_ROW (self, MapEntry, i);

      if (entry->rank == 1 && entry->at[MAP_PAGE] == page && entry->at[MAP_Y] == y
          && entry->at[MAP_X] == x)
        return entry;
    }
  return NULL;
}

/* A table a page, a cell the fastest contender and its lead over the second. */
static void
text (const Figures *self, gboolean details, GString *out)
{
  const MapAxes             *map = FIGURE_LINE (self, MapAxes, 0);
  const guint                n = map->values[MAP_X]->len;
  g_autofree TerminalColumn *columns = g_new0 (TerminalColumn, n + 1);
  g_autoptr (GHashTable)     named = g_hash_table_new (g_str_hash, g_str_equal);

  columns[0].title = "";
  for (guint x = 0; x < n; x++)
    columns[x + 1].title = value_at (map, MAP_X, x);
  for (guint page = 0; page < map->values[MAP_PAGE]->len; page++)
    {
      struct libscols_table *table = terminal_table_new (columns, n + 1);

      g_string_append_printf (out, "%s%s %s\n", page > 0 ? "\n" : "", map->keys[MAP_PAGE],
                              value_at (map, MAP_PAGE, page));
      for (guint y = 0; y < map->values[MAP_Y]->len; y++)
        {
          g_autofree char **cells = g_new0 (char *, n + 2);

          cells[0] = g_strdup (value_at (map, MAP_Y, y));
          for (guint x = 0; x < n; x++)
            {
              const MapEntry  *first = first_at (self, page, y, x);
              const gboolean   fits = first != NULL && first->scenario != NULL;
              g_autofree char *lead = fits && isfinite (first->lead)
                                          ? terminal_percent (first->lead, TRUE)
                                          : g_strdup ("alone");

              cells[x + 1] =
                  fits ? g_strdup_printf ("%s %s", first->contender, lead) : g_strdup ("none fits");
            }
          terminal_table_take (table, cells);
        }
      terminal_table_finish (table, out);
    }
  g_string_append_printf (
      out,
      "\nThe fastest by '%s' (tokens/s/GPU, the best of what else the grid has, "
      "of what fits), and its lead over the second.\nColumns: %s. Lines: %s.\n",
      map->contender, map->keys[MAP_X], map->keys[MAP_Y]);
  if (details)
    g_string_append_printf (out, "Assumed: %s\n", map->assumptions);
  for (guint i = 0; i < self->rows->len; i++)
    {
      const MapEntry *entry = FIGURE_ROW (self, MapEntry, i);

      if (entry->reason != NULL && g_hash_table_add (named, (gpointer) entry->contender))
        g_string_append_printf (out, "%s is not predicted everywhere: %s\n", entry->contender,
                                entry->reason);
    }
}

static gint
compare_names (gconstpointer a, gconstpointer b)
{
  return g_strcmp0 (*(const char *const *) a, *(const char *const *) b);
}

/* Every contender that wins somewhere, by name. */
static GPtrArray *
winners_of (const Figures *self)
{
  GPtrArray *winners = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    {
      const MapEntry *entry = FIGURE_ROW (self, MapEntry, i);

      if (entry->rank == 1 && entry->scenario != NULL
          && !g_ptr_array_find_with_equal_func (winners, entry->contender, g_str_equal, NULL))
        g_ptr_array_add (winners, (gpointer) entry->contender);
    }
  g_ptr_array_sort (winners, compare_names);
  return winners;
}

/* A panel a page, in it a cell a place, coloured and labelled by the fastest contender. */
static void
plot (const Figures *self, const char *style, GArray *pictures)
{
  const MapAxes        *map = FIGURE_LINE (self, MapAxes, 0);
  const guint           n_pages = map->values[MAP_PAGE]->len;
  const guint           width = 130 + 118 * map->values[MAP_X]->len;
  const guint           height = (110 + 44 * map->values[MAP_Y]->len) * n_pages;
  g_autoptr (GPtrArray) winners = winners_of (self);
  g_autofree char      *layout = g_strdup_printf ("%u,1", n_pages);
  Facets               *facets = facets_new ("%s", self->name);

  g_string_append_printf (facets->head,
                          "set xrange [-0.5:%u.5]\nset yrange [-0.5:%u.5]\n"
                          "set style fill transparent solid 0.45 border rgb '#ffffff'\n"
                          "unset grid\nset tics scale 0 font ',11'\nset border 0\n"
                          "set xlabel '%s' noenhanced\nset ylabel '%s' noenhanced\n",
                          map->values[MAP_X]->len - 1, map->values[MAP_Y]->len - 1,
                          map->keys[MAP_X], map->keys[MAP_Y]);
  gnuplot_append_tics (facets->head, 'x', (const char *const *) map->values[MAP_X]->pdata,
                       map->values[MAP_X]->len, 24);
  gnuplot_append_tics (facets->head, 'y', (const char *const *) map->values[MAP_Y]->pdata,
                       map->values[MAP_Y]->len, 24);
  for (guint page = 0; page < n_pages; page++)
    {
      const guint      first = facets->n_blocks;
      g_autofree char *title =
          g_strdup_printf ("%s %s", map->keys[MAP_PAGE], value_at (map, MAP_PAGE, page));

      facets_text (facets, "set title", title, 72);
      for (guint w = 0; w <= winners->len; w++) /* the last block: where none fits */
        {
          const char *winner = w < winners->len ? g_ptr_array_index (winners, w) : NULL;
          const guint block = facets_block (facets, "x y winner lead");

          g_string_append (facets->data, "-9 -9 \"\" \"\"\n"); /* no block is empty */
          for (guint i = 0; i < self->rows->len; i++)
            {
              const MapEntry  *entry = FIGURE_ROW (self, MapEntry, i);
              const char      *own = entry->scenario != NULL ? entry->contender : NULL;
              g_autofree char *name = gnuplot_plain_text (own != NULL ? own : "none fits", 24);

              if (entry->rank > 1 || entry->at[MAP_PAGE] != page || g_strcmp0 (own, winner) != 0)
                continue;
              g_string_append_printf (facets->data, "%u %u \"%s\" ", entry->at[MAP_X],
                                      entry->at[MAP_Y], name);
              if (isfinite (entry->lead))
                g_string_append_printf (facets->data, "\"%+.1f %%\"\n", entry->lead * 100);
              else
                g_string_append (facets->data, own != NULL ? "\"alone\"\n" : "\"\"\n");
            }
          if (winner != NULL)
            facets_draw (facets, NULL, "data index %u using 1:2:(0.5):(0.5) with boxxyerror ls %u",
                         block, w % 11 + 1);
        }
      facets_draw (facets, NULL,
                   "data index %u:%u using 1:2:(stringcolumn(3) . \"\\n\" . stringcolumn(4)) "
                   "with labels offset 0,0.35 font ',11'",
                   first, facets->n_blocks - 1);
    }
  facets_finish (facets, layout, width, height, style, pictures);
}

const FigureReport report_map = { .columns = result_columns,
                                  .name_key = "map",
                                  .rows_key = "entries",
                                  .json = json,
                                  .text = text,
                                  .plot = plot };
