#include "report/figures.h"

#include <math.h>

#include "report/json-private.h"
#include "report/report.h"
#include "report/terminal-private.h"

static const FigureRow *
row_at (const Figures *self, guint i)
{
  return &g_array_index (self->rows, FigureRow, i);
}

/* Why ROW has no number; NULL when it has one. Newly allocated. */
static char *
reason_of (const FigureRow *row)
{
  const FigureCase *first = &g_array_index (row->cases, FigureCase, 0);

  if (row->n_used > 0)
    return NULL;
  return g_strdup (first->reason != NULL ? first->reason : "no layout fits");
}

/*
 * Of its first scenario that was predicted: those of a row differ in how the cluster is used, not
 * in what it is.
 */
static const char *
profiles_of (const FigureRow *row)
{
  for (guint i = 0; i < row->cases->len; i++)
    if (g_array_index (row->cases, FigureCase, i).profiles != NULL)
      return g_array_index (row->cases, FigureCase, i).profiles;
  return NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Numbers the different assumptions in order of appearance, from 1. */
static guint
note_of (GPtrArray *notes, const char *assumptions)
{
  guint at;

  if (!g_ptr_array_find_with_equal_func (notes, assumptions, g_str_equal, &at))
    {
      at = notes->len;
      g_ptr_array_add (notes, (gpointer) assumptions);
    }
  return at + 1;
}

static char *
predicted_text (const FigureRow *row)
{
  if (row->n_used == 0)
    return g_strdup ("");
  if (row->cases->len == 1)
    return g_strdup_printf ("%.4g", row->low);
  return g_strdup_printf ("%.4g to %.4g", row->low, row->high);
}

static void
add_line (struct libscols_table *table, const FigureRow *row, guint note)
{
  char *cells[9] = { NULL };

  cells[0] = g_strdup (row->figure);
  cells[1] = g_strdup (row->row);
  cells[2] = g_strdup (row->metric);
  cells[3] = g_strdup_printf ("%.4g", row->published);
  cells[4] = predicted_text (row);
  cells[5] = row->n_used > 0 ? terminal_percent (row->error, TRUE) : g_strdup ("");
  cells[6] = g_strdup_printf ("(%u)", note);
  cells[7] = reason_of (row);
  terminal_table_take (table, cells);
}

/* A case by itself says what the row says; in a band each is shown. */
static void
append_band (const FigureRow *row, GString *out)
{
  g_string_append_printf (out, "\n%s, %s:\n", row->row, row->metric);
  for (guint i = 0; i < row->cases->len; i++)
    {
      const FigureCase *one = &g_array_index (row->cases, FigureCase, i);

      if (one->reason != NULL)
        g_string_append_printf (out, "  %s: %s\n", one->scenario, one->reason);
      else
        g_string_append_printf (out, "  %s: %.4g%s\n", one->scenario, one->predicted,
                                one->fits ? "" : ", does not fit: left out");
    }
}

void
report_figures_text (const Figures *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "FIGURE", FALSE },   { "ROW", FALSE },  { "METRIC", FALSE }, { "PUBLISHED", TRUE },
    { "PREDICTED", TRUE }, { "ERROR", TRUE }, { "NOTE", FALSE },   { "", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  g_autoptr (GPtrArray)  notes = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    add_line (table, row_at (self, i), note_of (notes, row_at (self, i)->assumptions));
  terminal_table_finish (table, out);
  for (guint i = 0; i < self->rows->len; i++)
    if (row_at (self, i)->cases->len > 1)
      append_band (row_at (self, i), out);
  g_string_append (out, "\nAssumed:\n");
  for (guint i = 0; i < notes->len; i++)
    g_string_append_printf (out, "  (%u) %s\n", i + 1, (const char *) g_ptr_array_index (notes, i));
  g_string_append (
      out, "\nerror = predicted / published - 1; of a band, of its nearer end, 0 within it\n");
}

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

void
report_figures_csv (const Figures *self, GString *out)
{
  static const char *const header[] = {
    "figure", "row",         "metric", "published", "predicted_low",   "predicted_high",
    "error",  "assumptions", "reason", "profiles",  "program_version", "schema"
  };

  csv_append_row (out, header, G_N_ELEMENTS (header));
  for (guint i = 0; i < self->rows->len; i++)
    {
      const FigureRow  *row = row_at (self, i);
      gboolean          good = row->n_used > 0;
      g_autofree char  *published = number_format_exact (row->published);
      g_autofree char  *low = good ? number_format_exact (row->low) : NULL;
      g_autofree char  *high = good ? number_format_exact (row->high) : NULL;
      g_autofree char  *error = good ? number_format_exact (row->error) : NULL;
      g_autofree char  *reason = reason_of (row);
      const char *const cells[] = { row->figure,
                                    row->row,
                                    row->metric,
                                    published,
                                    low,
                                    high,
                                    error,
                                    row->assumptions,
                                    reason,
                                    profiles_of (row),
                                    layout_program_version (),
                                    RESULTS_SCHEMA_TEXT };

      csv_append_row (out, cells, G_N_ELEMENTS (cells));
    }
}

static struct json_object *
cases_json (const FigureRow *row)
{
  struct json_object *list = json_object_new_array ();

  for (guint i = 0; i < row->cases->len; i++)
    {
      const FigureCase   *one = &g_array_index (row->cases, FigureCase, i);
      struct json_object *object = json_object_new_object ();

      json_add_text (object, "scenario", one->scenario);
      json_add_number (object, "predicted", one->reason == NULL ? one->predicted : NAN);
      json_object_object_add (object, "fits", json_object_new_boolean (one->fits));
      json_add_text (object, "reason", one->reason);
      json_add_text (object, "profiles", one->profiles);
      json_object_array_add (list, object);
    }
  return list;
}

static struct json_object *
row_json (const FigureRow *row)
{
  struct json_object *object = json_object_new_object ();
  gboolean            good = row->n_used > 0;
  g_autofree char    *reason = reason_of (row);

  json_add_text (object, "figure", row->figure);
  json_add_text (object, "row", row->row);
  json_add_text (object, "metric", row->metric);
  json_add_number (object, "published", row->published);
  json_add_number (object, "predicted_low", good ? row->low : NAN);
  json_add_number (object, "predicted_high", good ? row->high : NAN);
  json_add_number (object, "error", good ? row->error : NAN);
  json_add_text (object, "assumptions", row->assumptions);
  json_add_text (object, "reason", reason);
  json_object_object_add (object, "scenarios", cases_json (row));
  return object;
}

void
report_figures_json (const Figures *self, GString *out)
{
  struct json_object *root = json_document_new (), *rows = json_object_new_array ();

  for (guint i = 0; i < self->rows->len; i++)
    json_object_array_add (rows, row_json (row_at (self, i)));
  json_object_object_add (root, "figures", rows);
  json_finish (root, out);
}
