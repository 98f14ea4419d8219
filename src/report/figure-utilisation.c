#include "report/figure-utilisation.h"

#include <math.h>

#include "report/assumptions-private.h"
#include "report/fields-private.h"
#include "report/terminal-private.h"

static const UtilisationRow *
row_at (const FigureUtilisation *self, guint i)
{
  return &g_array_index (self->rows, UtilisationRow, i);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* "6.2 (+1)": what the rules say, and steps of the grid above the published number. */
static char *
cell (const UtilisationRow *row, guint t)
{
  if (row->predicted[t] == UTILISATION_N_RATES)
    return g_strdup ("none");
  if (row->published[t] == 0)
    return g_strdup_printf ("%.1f", utilisation_rate (row->predicted[t]) / 1e9);
  if (row->off[t] == 0)
    return g_strdup_printf ("%.1f", row->published[t] / 1e9);
  return g_strdup_printf ("%.1f, %.1f (%+d)", row->published[t] / 1e9,
                          utilisation_rate (row->predicted[t]) / 1e9, row->off[t]);
}

static void
append_table (const FigureUtilisation *self, GString *out)
{
  static const TerminalColumn columns[] = { { "MODEL", FALSE }, { "METHOD", FALSE },
                                            { "50 %", TRUE },   { "80 %", TRUE },
                                            { "90 %", TRUE },   { "95 %", TRUE },
                                            { "99 %", TRUE } };
  struct libscols_table      *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->rows->len; i++)
    {
      const UtilisationRow *row = row_at (self, i);
      char                 *cells[G_N_ELEMENTS (columns) + 1] = { NULL };

      cells[0] = g_strdup (row->model);
      cells[1] = g_strdup (row->method);
      for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
        cells[2 + t] = cell (row, t);
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

/* How many cells are off by so many steps, the rarest last. */
static void
append_count (const FigureUtilisation *self, GString *out)
{
  guint all = 0, same = 0, one = 0;

  for (guint i = 0; i < self->rows->len; i++)
    for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
      if (row_at (self, i)->published[t] > 0)
        {
          all++;
          same += row_at (self, i)->off[t] == 0;
          one += ABS (row_at (self, i)->off[t]) == 1;
        }
  g_string_append_printf (out,
                          "\n%u of %u as published, %u one step of the grid off (a factor of "
                          "%.3f), %u more\n",
                          same, all, one, utilisation_rate (1) / utilisation_rate (0),
                          all - same - one);
}

void
report_utilisation_text (const FigureUtilisation *self, gboolean details, GString *out)
{
  g_autoptr (GPtrArray) said = g_ptr_array_new ();

  g_string_append (out,
                   "Gbit/s for a utilisation, published and, where it is another, by the rules "
                   "(steps of the grid above)\n");
  append_table (self, out);
  append_count (self, out);
  for (guint i = 0; details && i < self->rows->len; i++)
    report_assumed_once (row_at (self, i)->assumptions, said, out);
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

/* A cell of the table. */
typedef struct
{
  const UtilisationRow *row;
  guint                 target;
} UtilisationCell;

static double
rate_of (const UtilisationCell *cell)
{
  guint r = cell->row->predicted[cell->target];

  return r < UTILISATION_N_RATES ? utilisation_rate (r) / 1e9 : NAN;
}

static double
published_of (const UtilisationCell *cell, double value)
{
  return cell->row->published[cell->target] > 0 ? value : NAN;
}

FIELD_TEXT_OF (UtilisationCell, cell_figure, p->row->figure)
FIELD_TEXT_OF (UtilisationCell, cell_model, p->row->model)
FIELD_TEXT_OF (UtilisationCell, cell_method, p->row->method)
FIELD_TEXT_OF (UtilisationCell, cell_assumptions, p->row->assumptions)
FIELD_NUMBER_OF (UtilisationCell, cell_target, 100 * utilisation_targets[p->target])
FIELD_NUMBER_OF (UtilisationCell, cell_published,
                 published_of (p, p->row->published[p->target] / 1e9))
FIELD_NUMBER_OF (UtilisationCell, cell_rate, rate_of (p))
FIELD_NUMBER_OF (UtilisationCell, cell_off, published_of (p, p->row->off[p->target]))

#define WORDS(field, getter)                          \
  {                                                   \
    .name = field, .type = FIELD_WORD, .text = getter \
  }
#define NUMBER(field, getter)                             \
  {                                                       \
    .name = field, .type = FIELD_NUMBER, .number = getter \
  }

static const Field fields[] = {
  WORDS ("figure", cell_figure),
  WORDS ("model", cell_model),
  WORDS ("method", cell_method),
  NUMBER ("utilisation_percent", cell_target),
  NUMBER ("published_gbit_per_s", cell_published),
  NUMBER ("predicted_gbit_per_s", cell_rate),
  NUMBER ("grid_steps_off", cell_off),
  WORDS ("assumptions", cell_assumptions),
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

static GArray *
cells_of (const FigureUtilisation *self)
{
  GArray *cells = g_array_new (FALSE, FALSE, sizeof (UtilisationCell));

  for (guint i = 0; i < self->rows->len; i++)
    for (guint t = 0; t < UTILISATION_N_TARGETS; t++)
      {
        UtilisationCell one = { row_at (self, i), t };

        g_array_append_val (cells, one);
      }
  return cells;
}

void
report_utilisation_csv (const FigureUtilisation *self, GString *out)
{
  g_autoptr (GArray) cells = cells_of (self);

  fields_csv (fields, cells->data, cells->len, sizeof (UtilisationCell), out);
}

void
report_utilisation_json (const FigureUtilisation *self, GString *out)
{
  g_autoptr (GArray)  cells = cells_of (self);
  struct json_object *root = json_document_new ();

  json_add_text (root, "name", self->name);
  json_object_object_add (
      root, "rows", fields_json_list (fields, cells->data, cells->len, sizeof (UtilisationCell)));
  json_finish (root, out);
}
