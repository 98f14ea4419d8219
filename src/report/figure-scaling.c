#include "report/figure-scaling.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/terminal-private.h"

static const ScalingPoint *
point_at (const FigureScaling *self, guint i)
{
  return &g_array_index (self->points, ScalingPoint, i);
}

/* What a reader is shown: GB/s, or tokens/s and GPU. */
static char *
value_text (const ScalingPoint *point, double value)
{
  if (isnan (value))
    return g_strdup ("");
  return point->part == SCALING_BUS_BANDWIDTH ? g_strdup_printf ("%.2f", value / 1e9)
                                              : g_strdup_printf ("%.0f", value);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void
add_line (struct libscols_table *table, const ScalingPoint *point)
{
  char *cells[7] = { NULL };

  cells[0] = g_strdup (point->series);
  cells[1] = g_strdup_printf ("%u", point->nodes);
  cells[2] = value_text (point, point->measured);
  cells[3] = value_text (point, point->predicted);
  cells[4] = isnan (point->predicted)
                 ? g_strdup ("")
                 : terminal_percent (point->predicted / point->measured - 1, TRUE);
  cells[5] = g_strdup (point->reason);
  terminal_table_take (table, cells);
}

void
report_figure_scaling_text (const FigureScaling *self, gboolean details, GString *out)
{
  static const TerminalColumn columns[] = {
    { "SERIES", FALSE },   { "NODES", TRUE }, { "MEASURED", TRUE },
    { "PREDICTED", TRUE }, { "ERROR", TRUE }, { "", FALSE },
  };
  static const char *const units[] = { "bus bandwidth, GB/s", "tokens/s/GPU" };
  guint                    end;

  (void) details; /* nothing is assumed */
  for (guint first = 0; first < self->points->len; first = end)
    {
      const ScalingPoint    *point = point_at (self, first);
      struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

      for (end = first; end < self->points->len && point_at (self, end)->part == point->part
                        && point_at (self, end)->page == point->page;
           end++)
        add_line (table, point_at (self, end));
      g_string_append_printf (out, "%s%s (%s)\n\n", first > 0 ? "\n" : "", point->page,
                              units[point->part]);
      terminal_table_finish (table, out);
    }
  g_string_append (out, "\nerror = predicted / measured - 1\n");
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

FIELD_TEXT_OF (ScalingPoint, point_part, scaling_part_name (p->part))
FIELD_TEXT_OF (ScalingPoint, point_page, p->page)
FIELD_TEXT_OF (ScalingPoint, point_series, p->series)
FIELD_TEXT_OF (ScalingPoint, point_id, p->id)
FIELD_NUMBER_OF (ScalingPoint, point_nodes, p->nodes)
FIELD_NUMBER_OF (ScalingPoint, point_measured, p->measured)
FIELD_NUMBER_OF (ScalingPoint, point_predicted, p->predicted)
FIELD_NUMBER_OF (ScalingPoint, point_error, p->predicted / p->measured - 1)
FIELD_TEXT_OF (ScalingPoint, point_reason, p->reason)

static const Field point_fields[] = {
  { .name = "part", .type = FIELD_WORD, .text = point_part },
  { .name = "page", .type = FIELD_WORD, .text = point_page },
  { .name = "series", .type = FIELD_WORD, .text = point_series },
  { .name = "id", .type = FIELD_WORD, .text = point_id },
  { .name = "nodes", .type = FIELD_COUNT, .number = point_nodes },
  { .name = "measured", .type = FIELD_NUMBER, .number = point_measured },
  { .name = "predicted", .type = FIELD_NUMBER, .number = point_predicted },
  { .name = "error", .type = FIELD_NUMBER, .number = point_error },
  { .name = "reason", .type = FIELD_WORD, .text = point_reason },
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

void
report_figure_scaling_csv (const FigureScaling *self, GString *out)
{
  fields_csv (point_fields, self->points->data, self->points->len, sizeof (ScalingPoint), out);
}

void
report_figure_scaling_json (const FigureScaling *self, GString *out)
{
  struct json_object *root = json_document_new ();

  json_add_text (root, "figures", self->name);
  json_object_object_add (root, "points",
                          fields_json_list (point_fields, self->points->data, self->points->len,
                                            sizeof (ScalingPoint)));
  json_finish (root, out);
}
