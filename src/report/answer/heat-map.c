#include "report/answer/heat-map.h"

#include <math.h>

#include "report/document/html-private.h"
#include "report/document/json-private.h"

/* ---- cells ----------------------------------------------------------------------------------- */

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

COLUMN_TEXT_OF (Row, x_name, p->x->name)
COLUMN_TEXT_OF (Row, x_text, g_ptr_array_index (p->x->texts, p->i))
COLUMN_NUMBER_OF (Row, x_value, number_at (p->x, p->i))
COLUMN_TEXT_OF (Row, y_name, p->y->name)
COLUMN_TEXT_OF (Row, y_text, g_ptr_array_index (p->y->texts, p->j))
COLUMN_NUMBER_OF (Row, y_value, number_at (p->y, p->j))

static const Column columns[] = {
  { "x", NULL, COLUMN_WORD, 0, .text = x_name,
    .about = "the first parameter: a figure or an option" },
  { "x_text", NULL, COLUMN_WORD, 0, .text = x_text, .about = "its value, with a unit" },
  { "x_value", NULL, COLUMN_NUMBER, 0, .number = x_value,
    .about = "the same in base units; empty for a word" },
  { "y", NULL, COLUMN_WORD, 0, .text = y_name, .about = "the second parameter" },
  { "y_text", NULL, COLUMN_WORD, 0, .text = y_text, .about = "its value" },
  { "y_value", NULL, COLUMN_NUMBER, 0, .number = y_value, .about = "the same in base units" },
  { "possible", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (Row, cell.possible),
    .about = "0: refused, and the rest is empty" },
  { "fits", NULL, COLUMN_BOOL, 0, COLUMN_MEMBER (Row, cell.fits) },
  { "step_time_s", "Step time", COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_MEMBER (Row, cell.step_time_s) },
  { "tokens_per_s_per_gpu", "Tokens/s/GPU", COLUMN_RATE, COLUMN_OPTIONAL,
    COLUMN_MEMBER (Row, cell.tokens_per_s_per_gpu) },
  { "peak_bytes", NULL, COLUMN_BYTES, COLUMN_OPTIONAL, COLUMN_MEMBER (Row, cell.peak_bytes),
    .about = "of GPU memory" },
  { "binding_resource", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (Row, cell.binding_resource),
    .about = "what bound the largest part of the step" },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { "caveats", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (Row, cell.caveats),
    .about = "of the cell, as in `simulate`" },
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

/* ---- matrices -------------------------------------------------------------------------------- */

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
describe_caveats (Document *document, const HeatMap *self)
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
    document_line (document, "Not the same training: %s%s.", first,
                   alike ? "" : "; in other cells otherwise, as CSV and JSON say");
}

/* A row of a matrix: the cells of one y, which follow each other. */
typedef struct
{
  const Row *cells;
} Line;

/* What a cell of the matrix is of: a column of cells, and which of a line. */
typedef struct
{
  const Column *of;
  guint         i;
} CellOf;

static double
cell_number (const Column *column, gconstpointer row)
{
  const CellOf *place = column->of;

  return column_number (place->of, &((const Line *) row)->cells[place->i]);
}

static char *
show_cell (const Column *column, gconstpointer row)
{
  const CellOf    *place = column->of;
  const Row       *cell = &((const Line *) row)->cells[place->i];
  g_autofree char *text = column_show (place->of, cell);

  return cell->cell.possible ? g_strconcat (text, cell->cell.fits ? "" : " !", NULL)
                             : g_strdup ("-");
}

COLUMN_TEXT_OF (Line, line_name, y_text (column, p->cells))

/* The column KEY of CELLS, over both axes. */
static void
describe_matrix (Document *document, const HeatMap *self, const char *key, const GArray *cells)
{
  const guint        n = self->x.texts->len, n_lines = self->y.texts->len;
  g_autofree Column *shown = g_new0 (Column, n + 2);
  g_autofree CellOf *places = g_new (CellOf, n);
  g_autofree Line   *lines = g_new (Line, n_lines);
  const Column      *of = column_find (columns, key);
  g_autofree char   *title = g_strdup_printf ("%s, over %s", of->title, self->x.name);

  shown[0] = (Column){ .title = self->y.name, .kind = COLUMN_WORD, .text = line_name };
  for (guint i = 0; i < n; i++)
    {
      places[i] = (CellOf){ of, i };
      shown[1 + i] = (Column){ .title = g_ptr_array_index (self->x.texts, i),
                               .kind = of->kind,
                               .number = cell_number,
                               .show = show_cell,
                               .of = &places[i] };
    }
  for (guint j = 0; j < n_lines; j++)
    lines[j].cells = &g_array_index (cells, Row, (gsize) j * n);
  document_section (document, title);
  document_table (document, shown, (Rows){ lines, n_lines, sizeof (Line) });
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void
describe (Document *document, gconstpointer answer)
{
  const HeatMap      *self = answer;
  struct json_object *root = document_json (document);
  g_autoptr (GArray)  cells = rows_of (self);

  document_title (document, "%s: %s on %s", self->strategy, self->model, self->cluster);
  describe_caveats (document, self);
  describe_matrix (document, self, "tokens_per_s_per_gpu", cells);
  describe_matrix (document, self, "step_time_s", cells);
  if (has_too_big (self))
    document_line (document, "(! does not fit)");
  if (self->reason != NULL)
    document_line (document, "(- cannot be, such as %s)", self->reason);
  document_results (document, NULL, columns, rows_of_array (cells));
  if (root != NULL)
    {
      struct json_object *map = json_object_new_object ();

      json_add_text (map, "strategy", self->strategy);
      json_add_text (map, "model", self->model);
      json_add_text (map, "cluster", self->cluster);
      json_object_object_add (map, "cells", column_list (columns, rows_of_array (cells)));
      json_object_object_add (root, "heat_map", map);
    }
}

const PageKind heat_map_answer = { .describe = describe, .columns = columns };
