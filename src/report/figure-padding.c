#include "report/figure-padding.h"

#include <math.h>

#include "report/assumptions-private.h"
#include "report/fields-private.h"
#include "report/terminal-private.h"

static const PaddingRow *
row_at (const FigurePadding *self, guint i)
{
  return &g_array_index (self->rows, PaddingRow, i);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "0.71", of elements all digits. */
static char *
number_of (const PaddingRow *row, double value)
{
  return padding_is_percent (row) ? g_strdup_printf ("%.3g", value)
                                  : g_strdup_printf ("%.0f", value);
}

static char *
computed_text (const PaddingRow *row)
{
  g_autofree char *low = number_of (row, row->low), *high = number_of (row, row->high);

  return row->low == row->high ? g_steal_pointer (&low) : g_strdup_printf ("%s to %s", low, high);
}

static void
append_table (const FigurePadding *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "FIGURE", FALSE },   { "ROW", FALSE },     { "RANKS", FALSE }, { "QUANTITY", FALSE },
    { "PUBLISHED", TRUE }, { "COMPUTED", TRUE }, { "ERROR", TRUE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->rows->len; i++)
    {
      const PaddingRow *row = row_at (self, i);
      char             *cells[G_N_ELEMENTS (columns) + 1] = { NULL };

      cells[0] = g_strdup (row->figure);
      cells[1] = g_strdup (row->row);
      cells[2] = g_strdup (row->ranks_text);
      cells[3] = g_strdup (row->quantity);
      cells[4] = g_strdup (row->said);
      cells[5] = computed_text (row);
      cells[6] = isnan (row->error) ? g_strdup ("") : terminal_percent (row->error, TRUE);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

static void
append_count (const FigurePadding *self, GString *out)
{
  guint all = 0, held = 0;

  for (guint i = 0; i < self->rows->len; i++)
    {
      all += !isnan (row_at (self, i)->error);
      held += row_at (self, i)->holds;
    }
  g_string_append_printf (out, "\n%u of %u as published, to the last digit\n", held, all);
}

void
report_padding_text (const FigurePadding *self, gboolean details, GString *out)
{
  g_autoptr (GPtrArray) said = g_ptr_array_new ();

  append_table (self, out);
  append_count (self, out);
  for (guint i = 0; details && i < self->rows->len; i++)
    report_assumed_once (row_at (self, i)->assumptions, said, out);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

/* A number of ranks of a row. */
typedef struct
{
  const PaddingRow *row;
  guint             at;
} Point;

FIELD_TEXT_OF (Point, point_figure, p->row->figure)
FIELD_TEXT_OF (Point, point_row, p->row->row)
FIELD_TEXT_OF (Point, point_model, p->row->model)
FIELD_TEXT_OF (Point, point_format, p->row->format)
FIELD_TEXT_OF (Point, point_block, p->row->block)
FIELD_TEXT_OF (Point, point_unit, p->row->unit)
FIELD_TEXT_OF (Point, point_quantity, p->row->quantity)
FIELD_TEXT_OF (Point, point_said, p->row->said)
FIELD_TEXT_OF (Point, point_assumptions, p->row->assumptions)
FIELD_NUMBER_OF (Point, point_ranks, g_array_index (p->row->ranks, guint, p->at))
FIELD_NUMBER_OF (Point, point_computed, g_array_index (p->row->values, double, p->at))
FIELD_NUMBER_OF (Point, point_error, p->row->error)
FIELD_NUMBER_OF (Point, point_holds, p->row->holds)

#define WORDS(field, getter)                          \
  {                                                   \
    .name = field, .type = FIELD_WORD, .text = getter \
  }
#define NUMBER(field, getter)                             \
  {                                                       \
    .name = field, .type = FIELD_NUMBER, .number = getter \
  }

static const Field fields[] = {
  WORDS ("figure", point_figure),
  WORDS ("row", point_row),
  WORDS ("model", point_model),
  WORDS ("format", point_format),
  WORDS ("block", point_block),
  WORDS ("unit", point_unit),
  NUMBER ("ranks", point_ranks),
  WORDS ("quantity", point_quantity),
  WORDS ("published", point_said),
  NUMBER ("computed", point_computed),
  NUMBER ("row_error", point_error),
  { .name = "holds", .type = FIELD_BOOL, .number = point_holds },
  WORDS ("assumptions", point_assumptions),
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

static GArray *
points_of (const FigurePadding *self)
{
  GArray *points = g_array_new (FALSE, FALSE, sizeof (Point));

  for (guint i = 0; i < self->rows->len; i++)
    for (guint r = 0; r < row_at (self, i)->ranks->len; r++)
      {
        const Point one = { row_at (self, i), r };

        g_array_append_val (points, one);
      }
  return points;
}

void
report_padding_csv (const FigurePadding *self, GString *out)
{
  g_autoptr (GArray) points = points_of (self);

  fields_csv (fields, points->data, points->len, sizeof (Point), out);
}

void
report_padding_json (const FigurePadding *self, GString *out)
{
  g_autoptr (GArray)  points = points_of (self);
  struct json_object *root = json_document_new ();

  json_add_text (root, "name", self->name);
  json_object_object_add (root, "rows",
                          fields_json_list (fields, points->data, points->len, sizeof (Point)));
  json_finish (root, out);
}
