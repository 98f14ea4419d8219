#include "report/sweep.h"

#include <string.h>

#include "report/json-private.h"
#include "report/report.h"
#include "report/terminal-private.h"

/* ---- rows of a store ------------------------------------------------------------------------- */

static char *
csv_cell (const ResultValue *value)
{
  switch (value->type)
    {
    case RESULT_TEXT:
      return g_strdup (value->text);
    case RESULT_WHOLE:
      return g_strdup_printf ("%" G_GINT64_FORMAT, value->whole);
    case RESULT_REAL:
      return number_format_exact (value->real);
    default:
      return g_strdup ("");
    }
}

void
report_stored_csv (const char *const *names, const ResultValue *values, guint n, gboolean first,
                   GString *out)
{
  g_autoptr (GPtrArray) cells = g_ptr_array_new_with_free_func (g_free);

  if (first)
    csv_append_row (out, names, n);
  for (guint i = 0; i < n; i++)
    g_ptr_array_add (cells, csv_cell (&values[i]));
  csv_append_row (out, (const char *const *) cells->pdata, n);
}

static struct json_object *
json_value (const char *name, const ResultValue *value)
{
  switch (value->type)
    {
    case RESULT_TEXT:
      return json_object_new_string (value->text);
    case RESULT_WHOLE:
      return report_result_is_switch (name) ? json_object_new_boolean (value->whole != 0)
                                            : json_object_new_int64 (value->whole);
    case RESULT_REAL:
      return json_number (value->real);
    default:
      return NULL;
    }
}

static void
append_json_head (GString *out)
{
  g_string_append_printf (out, "{\"schema\": %d, \"program_version\": \"%s\", \"results\": [\n",
                          RESULTS_SCHEMA, layout_program_version ());
}

void
report_stored_json (const char *const *names, const ResultValue *values, guint n, gboolean first,
                    GString *out)
{
  struct json_object *object = json_object_new_object ();

  if (first)
    append_json_head (out);
  for (guint i = 0; i < n; i++)
    json_object_object_add (object, names[i], json_value (names[i], &values[i]));
  g_string_append (out, first ? "" : ",\n");
  g_string_append (out, json_object_to_json_string_ext (object, JSON_C_TO_STRING_NOSLASHESCAPE));
  json_object_put (object);
}

void
report_stored_json_end (gboolean empty, const Partial *partial, GString *out)
{
  if (empty)
    append_json_head (out);
  g_string_append (out, empty ? "]" : "\n]");
  if (partial->reason != NULL)
    {
      struct json_object *object = json_partial (partial);

      g_string_append_printf (out, ", \"partial\": %s", json_object_to_json_string (object));
      json_object_put (object);
    }
  g_string_append (out, "}\n");
}

/* ---- text ------------------------------------------------------------------------------------ */

static char *
cell_name (const ResultValue *value)
{
  return csv_cell (value);
}

static char *
cell_time (const ResultValue *value)
{
  return quantity_format (QUANTITY_TIME, value->real, 4);
}

static char *
cell_rate (const ResultValue *value)
{
  return g_strdup_printf ("%.1f", value->real);
}

static char *
cell_percent (const ResultValue *value)
{
  return g_strdup_printf ("%.1f %%", value->real);
}

static char *
cell_gib (const ResultValue *value)
{
  return g_strdup_printf ("%.1f GiB", value->real);
}

static const struct
{
  const char *name, *title;
  char *(*cell) (const ResultValue *value);
  gboolean right;
} columns[] = {
  /* below the table */
  { "caveats", NULL, cell_name, FALSE },
  /* in it */
  { "scenario", "SCENARIO", cell_name, FALSE },
  { "step_time_s", "STEP", cell_time, TRUE },
  { "tokens_per_s_per_gpu", "TOKENS/S/GPU", cell_rate, TRUE },
  { "mfu_percent", "MFU", cell_percent, TRUE },
  { "peak_device_gib", "PEAK HBM", cell_gib, TRUE },
  { "binding_resource", "BINDS", cell_name, FALSE },
};

#define SHOWN 1 /* the first column of the table */

struct _BestRows
{
  GPtrArray *rows; /* of arrays of texts, by `columns`; NULL: an older store has no such column */
};

static void
cells_free (gpointer data)
{
  char **cells = data;

  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    g_free (cells[c]);
  g_free (cells);
}

BestRows *
best_rows_new (void)
{
  BestRows *self = g_new0 (BestRows, 1);

  self->rows = g_ptr_array_new_with_free_func (cells_free);
  return self;
}

void
best_rows_free (BestRows *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->rows);
  g_free (self);
}

gboolean
best_rows_add (const char *const *names, const ResultValue *values, guint n, gpointer user)
{
  BestRows *self = user;
  char    **cells = g_new0 (char *, G_N_ELEMENTS (columns) + 1);

  for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
    for (guint i = 0; i < n; i++)
      if (cells[c] == NULL && g_str_equal (names[i], columns[c].name))
        cells[c] = columns[c].cell (&values[i]);
  g_ptr_array_add (self->rows, cells);
  return TRUE;
}

static void
append_count (GString *out, guint64 n, const char *what)
{
  if (n > 0)
    g_string_append_printf (out, ", %" G_GUINT64_FORMAT " %s", n, what);
}

void
report_sweep_text (const SweepSummary *summary, const BestRows *best, const char *file,
                   GString *out)
{
  const guint            n = G_N_ELEMENTS (columns) - SHOWN;
  TerminalColumn         titles[G_N_ELEMENTS (columns)];
  struct libscols_table *table;

  g_string_append_printf (out, "%" G_GUINT64_FORMAT " run%s in '%s'", summary->n,
                          summary->n == 1 ? "" : "s", file);
  append_count (out, summary->known, "of them from before");
  append_count (out, summary->equal, "of them with the settings of another");
  append_count (out, summary->misfits, summary->misfits == 1 ? "does not fit" : "do not fit");
  append_count (out, summary->failed, "failed");
  g_string_append_c (out, '\n');
  if (best->rows->len == 0)
    return;
  for (guint c = 0; c < n; c++)
    titles[c] = (TerminalColumn){ columns[SHOWN + c].title, columns[SHOWN + c].right };
  table = terminal_table_new (titles, n);
  for (guint i = 0; i < best->rows->len; i++)
    {
      char            **row = g_ptr_array_index (best->rows, i);
      g_autofree char **cells = g_strdupv (row + SHOWN);

      terminal_table_take (table, cells);
    }
  g_string_append (out, "\nThe fastest of what fits:\n");
  terminal_table_finish (table, out);
  for (guint i = 0; i < best->rows->len; i++)
    {
      char **row = g_ptr_array_index (best->rows, i);

      if (row[0] != NULL && *row[0] != '\0')
        g_string_append_printf (out, "~ %s: %s\n", row[SHOWN], row[0]);
    }
}
