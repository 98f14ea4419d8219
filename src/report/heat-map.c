#include "report/heat-map.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/terminal-private.h"

/* ---- text ------------------------------------------------------------------------------------ */

static char *
tokens_text (const HeatCell *cell)
{
  return g_strdup_printf ("%.1f%s", cell->tokens_per_s_per_gpu, cell->fits ? "" : " !");
}

static char *
step_text (const HeatCell *cell)
{
  g_autofree char *step = quantity_format (QUANTITY_TIME, cell->step_time_s, 4);

  return g_strconcat (step, cell->fits ? "" : " !", NULL);
}

static void
append_matrix (const HeatMap *self, const char *title, char *(*text) (const HeatCell *),
               GString *out)
{
  const guint                n = self->x.texts->len;
  g_autofree TerminalColumn *columns = g_new0 (TerminalColumn, n + 1);
  struct libscols_table     *table;

  columns[0].title = self->y.name;
  for (guint x = 0; x < n; x++)
    columns[x + 1] = (TerminalColumn){ g_ptr_array_index (self->x.texts, x), TRUE };
  table = terminal_table_new (columns, n + 1);
  for (guint y = 0; y < self->y.texts->len; y++)
    {
      g_autofree char **cells = g_new0 (char *, n + 2);

      cells[0] = g_strdup (g_ptr_array_index (self->y.texts, y));
      for (guint x = 0; x < n; x++)
        {
          const HeatCell *cell = heat_map_cell (self, x, y);

          cells[x + 1] = cell->possible ? text (cell) : g_strdup ("-");
        }
      terminal_table_take (table, cells);
    }
  g_string_append_printf (out, "\n%s, over %s\n", title, self->x.name);
  terminal_table_finish (table, out);
}

static gboolean
has_too_big (const HeatMap *self)
{
  for (guint i = 0; i < self->cells->len; i++)
    {
      const HeatCell *cell = &g_array_index (self->cells, HeatCell, i);

      if (cell->possible && !cell->fits)
        return TRUE;
    }
  return FALSE;
}

/* The first that a cell has: others may have more local steps, or none. */
static void
append_caveats (const HeatMap *self, GString *out)
{
  const char *first = NULL;
  gboolean    alike = TRUE;

  for (guint i = 0; i < self->cells->len && first == NULL; i++)
    first = g_array_index (self->cells, HeatCell, i).caveats;
  for (guint i = 0; i < self->cells->len; i++)
    {
      const HeatCell *cell = &g_array_index (self->cells, HeatCell, i);

      alike = alike && (!cell->possible || cell->caveats == first);
    }
  if (first != NULL)
    g_string_append_printf (out, "Not the same training: %s%s.\n", first,
                            alike ? "" : "; in other cells otherwise, as CSV and JSON say");
}

void
report_heat_map_text (const HeatMap *self, GString *out)
{
  g_string_append_printf (out, "%s: %s on %s\n", self->strategy, self->model, self->cluster);
  append_caveats (self, out);
  append_matrix (self, "Tokens/s/GPU", tokens_text, out);
  append_matrix (self, "Step time", step_text, out);
  if (has_too_big (self))
    g_string_append (out, "(! does not fit)\n");
  if (self->reason != NULL)
    g_string_append_printf (out, "(- cannot be, such as %s)\n", self->reason);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

typedef struct
{
  const HeatAxis *x, *y;
  guint           i, j; /* values */
  HeatCell        cell;
} Row;

/* In base units, where it is a number. */
static double
number_at (const HeatAxis *axis, guint i)
{
  const char *text = g_ptr_array_index (axis->texts, i);
  char       *end;
  double      number;

  if (axis->is_figure)
    return g_array_index (axis->values, double, i);
  number = g_ascii_strtod (text, &end);
  return *text != '\0' && *end == '\0' ? number : NAN;
}

FIELD_TEXT_OF (Row, text_x, p->x->name)
FIELD_TEXT_OF (Row, text_x_text, g_ptr_array_index (p->x->texts, p->i))
FIELD_NUMBER_OF (Row, number_x, number_at (p->x, p->i))
FIELD_TEXT_OF (Row, text_y, p->y->name)
FIELD_TEXT_OF (Row, text_y_text, g_ptr_array_index (p->y->texts, p->j))
FIELD_NUMBER_OF (Row, number_y, number_at (p->y, p->j))
FIELD_NUMBER_OF (Row, number_possible, p->cell.possible)
FIELD_NUMBER_OF (Row, number_fits, p->cell.fits)
FIELD_NUMBER_OF (Row, number_step, p->cell.step_time_s)
FIELD_NUMBER_OF (Row, number_tokens, p->cell.tokens_per_s_per_gpu)
FIELD_NUMBER_OF (Row, number_peak, p->cell.peak_bytes)
FIELD_TEXT_OF (Row, text_binding, p->cell.binding_resource)
FIELD_TEXT_OF (Row, text_caveats, p->cell.caveats)

static const Field fields[] = {
  { .name = "x", .type = FIELD_WORD, .text = text_x },
  { .name = "x_text", .type = FIELD_WORD, .text = text_x_text },
  { .name = "x_value", .type = FIELD_NUMBER, .number = number_x },
  { .name = "y", .type = FIELD_WORD, .text = text_y },
  { .name = "y_text", .type = FIELD_WORD, .text = text_y_text },
  { .name = "y_value", .type = FIELD_NUMBER, .number = number_y },
  { .name = "possible", .type = FIELD_BOOL, .number = number_possible },
  { .name = "fits", .type = FIELD_BOOL, .number = number_fits },
  { .name = "step_time_s", .type = FIELD_OPTIONAL, .number = number_step },
  { .name = "tokens_per_s_per_gpu", .type = FIELD_OPTIONAL, .number = number_tokens },
  { .name = "peak_bytes", .type = FIELD_OPTIONAL, .number = number_peak },
  { .name = "binding_resource", .type = FIELD_WORD, .text = text_binding },
  FIELDS_OF_THE_PROGRAM,
  { .name = "caveats", .type = FIELD_WORD, .text = text_caveats },
  { 0 },
};

static GArray *
rows_of (const HeatMap *self)
{
  GArray *rows = g_array_new (FALSE, FALSE, sizeof (Row));

  for (guint j = 0; j < self->y.texts->len; j++)
    for (guint i = 0; i < self->x.texts->len; i++)
      {
        const Row row = { &self->x, &self->y, i, j, *heat_map_cell (self, i, j) };

        g_array_append_val (rows, row);
      }
  return rows;
}

void
report_heat_map_csv (const HeatMap *self, GString *out)
{
  g_autoptr (GArray) rows = rows_of (self);

  fields_csv (fields, rows->data, rows->len, sizeof (Row), out);
}

void
report_heat_map_json (const HeatMap *self, GString *out)
{
  g_autoptr (GArray)  rows = rows_of (self);
  struct json_object *root = json_document_new (), *map = json_object_new_object ();

  json_add_text (map, "strategy", self->strategy);
  json_add_text (map, "model", self->model);
  json_add_text (map, "cluster", self->cluster);
  json_object_object_add (map, "cells",
                          fields_json_list (fields, rows->data, rows->len, sizeof (Row)));
  json_object_object_add (root, "heat_map", map);
  json_finish (root, out);
}
