#include "report/figure-curves.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/terminal-private.h"

static const CurvePanel *
panel_at (const FigureCurves *self, guint i)
{
  return &g_array_index (self->panels, CurvePanel, i);
}

/* ---- text ------------------------------------------------------------------------------------ */

static char *
number (double value)
{
  return isnan (value) ? g_strdup ("-") : g_strdup_printf ("%.4g", value);
}

static void
append_table (const CurvePanel *panel, GString *out)
{
  const guint                n = panel->series->len;
  g_autofree TerminalColumn *columns = g_new0 (TerminalColumn, n + 1);
  struct libscols_table     *table;

  columns[0] = (TerminalColumn){ panel->x, TRUE };
  for (guint s = 0; s < n; s++)
    columns[s + 1] = (TerminalColumn){ g_ptr_array_index (panel->series, s), TRUE };
  table = terminal_table_new (columns, n + 1);
  for (guint i = 0; i < panel->xs->len; i++)
    {
      g_autofree char **cells = g_new0 (char *, (gsize) n + 2); /* its strings are taken */

      cells[0] = g_strdup_printf ("%.10g", g_array_index (panel->xs, double, i));
      for (guint s = 0; s < n; s++)
        cells[s + 1] = number (curve_value (panel, s, i));
      terminal_table_take (table, cells);
    }
  terminal_table_finish (table, out);
}

static void
append_panel (const CurvePanel *panel, gboolean details, GString *out)
{
  double low, high;

  g_string_append_printf (out, "%s: %s", panel->figure, panel->metric);
  if (panel->over != NULL)
    g_string_append_printf (out, ", of '%s' over that of each", panel->over);
  g_string_append_c (out, '\n');
  append_table (panel, out);
  curve_range (panel, &low, &high);
  if (low <= high)
    g_string_append_printf (out, "Predicted: %.3g to %.3g", low, high);
  if (low <= high && !isnan (panel->published))
    g_string_append_printf (out, "; published: up to %g", panel->published);
  g_string_append_c (out, '\n');
  if (panel->reason != NULL)
    g_string_append_printf (out, "Not all were predicted: %s\n", panel->reason);
  if (details && *panel->assumptions != '\0')
    g_string_append_printf (out, "Assumed: %s\n", panel->assumptions);
}

void
report_curves_text (const FigureCurves *self, gboolean details, GString *out)
{
  for (guint p = 0; p < self->panels->len; p++)
    {
      if (p > 0)
        g_string_append_c (out, '\n');
      append_panel (panel_at (self, p), details, out);
    }
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

typedef struct
{
  const CurvePanel *panel;
  guint             series, i;
} CurvePoint;

FIELD_TEXT_OF (CurvePoint, point_figure, p->panel->figure)
FIELD_TEXT_OF (CurvePoint, point_key, p->panel->x)
FIELD_NUMBER_OF (CurvePoint, point_x, g_array_index (p->panel->xs, double, p->i))
FIELD_TEXT_OF (CurvePoint, point_series, g_ptr_array_index (p->panel->series, p->series))
FIELD_TEXT_OF (CurvePoint, point_metric, p->panel->metric)
FIELD_TEXT_OF (CurvePoint, point_over, p->panel->over != NULL ? p->panel->over : "")
FIELD_NUMBER_OF (CurvePoint, point_value, curve_value (p->panel, p->series, p->i))
FIELD_NUMBER_OF (CurvePoint, point_published, p->panel->published)
FIELD_TEXT_OF (CurvePoint, point_assumptions, p->panel->assumptions)

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
  WORDS ("x_key", point_key),
  NUMBER ("x", point_x),
  WORDS ("series", point_series),
  WORDS ("metric", point_metric),
  WORDS ("gain_over", point_over),
  NUMBER ("predicted", point_value),
  NUMBER ("published", point_published),
  WORDS ("assumptions", point_assumptions),
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

static GArray *
points_of (const FigureCurves *self)
{
  GArray *points = g_array_new (FALSE, FALSE, sizeof (CurvePoint));

  for (guint p = 0; p < self->panels->len; p++)
    for (guint s = 0; s < panel_at (self, p)->series->len; s++)
      for (guint i = 0; i < panel_at (self, p)->xs->len; i++)
        {
          CurvePoint one = { panel_at (self, p), s, i };

          g_array_append_val (points, one);
        }
  return points;
}

void
report_curves_csv (const FigureCurves *self, GString *out)
{
  g_autoptr (GArray) points = points_of (self);

  fields_csv (fields, points->data, points->len, sizeof (CurvePoint), out);
}

void
report_curves_json (const FigureCurves *self, GString *out)
{
  g_autoptr (GArray)  points = points_of (self);
  struct json_object *root = json_document_new ();

  json_add_text (root, "name", self->name);
  json_object_object_add (
      root, "rows", fields_json_list (fields, points->data, points->len, sizeof (CurvePoint)));
  json_finish (root, out);
}
