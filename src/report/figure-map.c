#include "report/figure-map.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/terminal-private.h"

static const char *
value_at (const FigureMap *self, MapAxis axis, guint i)
{
  return g_ptr_array_index (self->values[axis], i);
}

static const MapCell *
cell_at (const FigureMap *self, guint page, guint y, guint x)
{
  for (guint i = 0; i < self->cells->len; i++)
    {
      const MapCell *cell = &g_array_index (self->cells, MapCell, i);

      if (cell->page == page && cell->y == y && cell->x == x)
        return cell;
    }
  return NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "fcdp +12.0 %"; a contender that is alone has no lead. */
static char *
cell_text (const MapCell *cell)
{
  const MapEntry  *first = cell != NULL ? &g_array_index (cell->entries, MapEntry, 0) : NULL;
  double           lead = cell != NULL ? map_cell_lead (cell) : NAN;
  g_autofree char *percent = isfinite (lead) ? terminal_percent (lead, TRUE) : NULL;

  if (first == NULL || first->scenario == NULL)
    return g_strdup ("none fits");
  return percent != NULL ? g_strdup_printf ("%s %s", first->contender, percent)
                         : g_strdup_printf ("%s alone", first->contender);
}

static void
append_page (const FigureMap *self, guint page, GString *out)
{
  guint                      n = self->values[MAP_X]->len;
  g_autofree TerminalColumn *columns = g_new0 (TerminalColumn, n + 1);
  struct libscols_table     *table;

  g_string_append_printf (out, "%s%s %s\n", page > 0 ? "\n" : "", self->keys[MAP_PAGE],
                          value_at (self, MAP_PAGE, page));
  columns[0].title = "";
  for (guint x = 0; x < n; x++)
    columns[x + 1].title = value_at (self, MAP_X, x);
  table = terminal_table_new (columns, n + 1);
  for (guint y = 0; y < self->values[MAP_Y]->len; y++)
    {
      g_autofree char **cells = g_new0 (char *, n + 2);

      cells[0] = g_strdup (value_at (self, MAP_Y, y));
      for (guint x = 0; x < n; x++)
        cells[x + 1] = cell_text (cell_at (self, page, y, x));
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

/* Each contender that somewhere has no prediction, with the first reason. */
static void
append_reasons (const FigureMap *self, GString *out)
{
  g_autoptr (GHashTable) said = g_hash_table_new (g_str_hash, g_str_equal);

  for (guint i = 0; i < self->cells->len; i++)
    {
      const MapCell *cell = &g_array_index (self->cells, MapCell, i);

      for (guint e = 0; e < cell->entries->len; e++)
        {
          const MapEntry *entry = &g_array_index (cell->entries, MapEntry, e);

          if (entry->reason != NULL && g_hash_table_add (said, (gpointer) entry->contender))
            g_string_append_printf (out, "%s is not predicted everywhere: %s\n", entry->contender,
                                    entry->reason);
        }
    }
}

void
report_figure_map_text (const FigureMap *self, gboolean details, GString *out)
{
  for (guint page = 0; page < self->values[MAP_PAGE]->len; page++)
    append_page (self, page, out);
  g_string_append_printf (
      out,
      "\nThe fastest by '%s' (tokens/s/GPU, the best of what else the grid has, "
      "of what fits), and its lead over the second.\nColumns: %s. Lines: %s.\n",
      self->contender, self->keys[MAP_X], self->keys[MAP_Y]);
  if (details)
    g_string_append_printf (out, "Assumed: %s\n", self->assumptions);
  append_reasons (self, out);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

/* An entry with where it stands. */
typedef struct
{
  const FigureMap *map;
  const MapCell   *cell;
  const MapEntry  *entry;
  guint            rank; /* from 1 */
} Line;

FIELD_TEXT_OF (Line, line_map, p->map->name)
FIELD_TEXT_OF (Line, line_page, value_at (p->map, MAP_PAGE, p->cell->page))
FIELD_TEXT_OF (Line, line_y, value_at (p->map, MAP_Y, p->cell->y))
FIELD_TEXT_OF (Line, line_x, value_at (p->map, MAP_X, p->cell->x))
FIELD_NUMBER_OF (Line, line_rank, p->entry->scenario != NULL ? p->rank : NAN)
FIELD_TEXT_OF (Line, line_contender, p->entry->contender)
FIELD_NUMBER_OF (Line, line_tokens,
                 p->entry->scenario != NULL ? p->entry->tokens_per_s_per_gpu : NAN)
FIELD_NUMBER_OF (Line, line_lead, p->rank == 1 ? map_cell_lead (p->cell) : NAN)
FIELD_TEXT_OF (Line, line_binding, p->entry->binding)
FIELD_TEXT_OF (Line, line_scenario, p->entry->scenario)
FIELD_TEXT_OF (Line, line_reason, p->entry->reason)

static const Field line_fields[] = {
  { .name = "map", .type = FIELD_WORD, .text = line_map, .place = FIELD_IN_CSV },
  { .name = "page", .type = FIELD_WORD, .text = line_page },
  { .name = "y", .type = FIELD_WORD, .text = line_y },
  { .name = "x", .type = FIELD_WORD, .text = line_x },
  { .name = "rank", .type = FIELD_NUMBER, .number = line_rank },
  { .name = "contender", .type = FIELD_WORD, .text = line_contender },
  { .name = "tokens_per_s_per_gpu", .type = FIELD_NUMBER, .number = line_tokens },
  { .name = "lead", .type = FIELD_NUMBER, .number = line_lead },
  { .name = "binding_resource", .type = FIELD_WORD, .text = line_binding },
  { .name = "scenario", .type = FIELD_WORD, .text = line_scenario },
  { .name = "reason", .type = FIELD_WORD, .text = line_reason },
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

static GArray *
all_lines (const FigureMap *self)
{
  GArray *lines = g_array_new (FALSE, FALSE, sizeof (Line));

  for (guint i = 0; i < self->cells->len; i++)
    {
      const MapCell *cell = &g_array_index (self->cells, MapCell, i);

      for (guint e = 0; e < cell->entries->len; e++)
        {
          const Line line = { self, cell, &g_array_index (cell->entries, MapEntry, e), e + 1 };

          g_array_append_val (lines, line);
        }
    }
  return lines;
}

void
report_figure_map_csv (const FigureMap *self, GString *out)
{
  g_autoptr (GArray) lines = all_lines (self);

  fields_csv (line_fields, lines->data, lines->len, sizeof (Line), out);
}

void
report_figure_map_json (const FigureMap *self, GString *out)
{
  static const char *const names[MAP_N_AXES] = { "x", "y", "page" };
  g_autoptr (GArray)       lines = all_lines (self);
  struct json_object      *root = json_document_new (), *axes = json_object_new_object ();

  for (guint axis = 0; axis < MAP_N_AXES; axis++)
    json_object_object_add (axes, names[axis], json_object_new_string (self->keys[axis]));
  json_object_object_add (root, "map", json_object_new_string (self->name));
  json_object_object_add (root, "axes", axes);
  json_object_object_add (root, "assumptions", json_object_new_string (self->assumptions));
  json_object_object_add (root, "entries",
                          fields_json_list (line_fields, lines->data, lines->len, sizeof (Line)));
  json_finish (root, out);
}
