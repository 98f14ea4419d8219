#include "report/validate.h"

#include <math.h>
#include <string.h>

#include "report/json-private.h"
#include "report/report.h"
#include "report/terminal-private.h"
#include "report/validation-private.h"

static const char *const part_titles[VALIDATION_N_PARTS] = {
  [VALIDATION_MAIN] = "Healthy rows",
  [VALIDATION_AS_FITTED] = "Healthy rows of families with a single source: as fitted",
  [VALIDATION_UNCLEAR] = "Rows marked unclear",
  [VALIDATION_UNHEALTHY] = "Rows marked not healthy",
};

static const char *const grouping_titles[VALIDATION_N_GROUPINGS] = {
  [VALIDATION_ALL] = "SIZE",
  [VALIDATION_BY_SIZE] = "SIZE",
  [VALIDATION_BY_COLLECTIVE] = "COLLECTIVE",
  [VALIDATION_BY_FAMILY] = "LINK",
  [VALIDATION_BY_RUN] = "RUN",
};

static const ValidatedRow *
row_at (const CollectiveValidation *self, guint i)
{
  return &g_array_index (self->rows, ValidatedRow, i);
}

static const ValidationGroup *
group_at (const CollectiveValidation *self, guint i)
{
  return &g_array_index (self->groups, ValidationGroup, i);
}

/* ---- summary --------------------------------------------------------------------------------- */

static void
add_group_line (struct libscols_table *table, const ValidationGroup *group)
{
  char *cells[8] = { NULL };

  cells[0] = g_strdup (group->name);
  cells[1] = g_strdup_printf ("%u", group->errors.n);
  cells[2] = terminal_percent (group->errors.median_abs, FALSE);
  cells[3] = terminal_percent (group->errors.p90_abs, FALSE);
  cells[4] = g_strdup_printf ("%.3f", group->errors.geometric_mean);
  cells[5] = terminal_percent (group->errors.median, TRUE);
  cells[6] = g_strdup (group->hardware);
  terminal_table_take (table, cells);
}

/* One table of the groups FIRST up to END. */
static void
append_groups (const CollectiveValidation *self, guint first, guint end, GString *out)
{
  const ValidationGrouping grouping = group_at (self, end - 1)->grouping;
  const TerminalColumn     columns[] = {
        { grouping_titles[grouping], FALSE },
        { "ROWS", TRUE },
        { "MEDIAN |ERROR|", TRUE },
        { "90 % BELOW", TRUE },
        { "RATIO", TRUE },
        { "MEDIAN ERROR", TRUE },
        { "HARDWARE", FALSE },
  };
  struct libscols_table *table =
      terminal_table_new (columns, G_N_ELEMENTS (columns) - (grouping != VALIDATION_BY_RUN));

  g_string_append_c (out, '\n');
  for (guint i = first; i < end; i++)
    add_group_line (table, group_at (self, i));
  terminal_table_finish (table, out);
}

/* One table holds both "all" and the sizes. */
static gboolean
same_table (const ValidationGroup *a, const ValidationGroup *b)
{
  return a->part == b->part
         && MAX (a->grouping, VALIDATION_BY_SIZE) == MAX (b->grouping, VALIDATION_BY_SIZE);
}

static void
append_reasons (const CollectiveValidation *self, GString *out)
{
  g_autoptr (GPtrArray) reasons = g_ptr_array_new ();

  for (guint i = 0; i < self->rows->len; i++)
    g_ptr_array_add (reasons, row_at (self, i)->reason);
  validation_append_reasons (reasons, out);
}

void
report_validation_summary (const CollectiveValidation *self, GString *out)
{
  guint end;

  for (guint first = 0; first < self->groups->len; first = end)
    {
      const ValidationGroup *group = group_at (self, first);

      for (end = first + 1; end < self->groups->len && same_table (group, group_at (self, end));
           end++)
        ;
      if (group->grouping == VALIDATION_ALL)
        g_string_append_printf (out, "%s%s%s\n", out->len > 0 ? "\n" : "", part_titles[group->part],
                                self->left_out && group->part == VALIDATION_MAIN
                                    ? ", each source predicted from the others"
                                    : "");
      append_groups (self, first, end, out);
    }
  append_reasons (self, out);
  if (self->groups->len > 0)
    g_string_append (
        out,
        "\nerror = predicted / measured - 1; ratio = geometric mean of predicted / measured\n");
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* "" for a row whose size could not be read. */
static char *
bytes_text (const ValidatedRow *row)
{
  return row->measured->bytes > 0 ? g_strdup_printf ("%" G_GUINT64_FORMAT, row->measured->bytes)
                                  : g_strdup ("");
}

static void
add_row_line (struct libscols_table *table, const ValidatedRow *row)
{
  char *cells[11] = { NULL };

  cells[0] = g_strdup (row->measured->id);
  cells[1] = g_strdup (row->measured->collective);
  cells[2] = bytes_text (row);
  cells[3] =
      row->measured->time_us > 0 ? g_strdup_printf ("%.2f", row->measured->time_us) : g_strdup ("");
  cells[4] = row->reason == NULL ? g_strdup_printf ("%.2f", 1e6 * row->predicted) : g_strdup ("");
  cells[5] = row->reason == NULL ? terminal_percent (row->error, TRUE) : g_strdup ("");
  cells[6] = g_strdup (row->reason == NULL ? collective_algorithm_name (row->algorithm) : "");
  cells[7] = g_strdup (row->reason == NULL ? collective_protocol_name (row->protocol) : "");
  cells[8] = g_strdup (row->reason == NULL ? row->binding : "");
  cells[9] = g_strdup (row->reason != NULL ? row->reason : "");
  terminal_table_take (table, cells);
}

void
report_validation_rows (const CollectiveValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "ID", FALSE },         { "COLLECTIVE", FALSE },  { "BYTES", TRUE },
    { "MEASURED US", TRUE }, { "PREDICTED US", TRUE }, { "ERROR", TRUE },
    { "ALGORITHM", FALSE },  { "PROTOCOL", FALSE },    { "BINDS", FALSE },
    { "REASON", FALSE },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns));

  for (guint i = 0; i < self->rows->len; i++)
    add_row_line (table, row_at (self, i));
  terminal_table_finish (table, out);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static const char *const csv_columns[] = {
  "id",     "collective", "bytes",    "measured_us",     "predicted_us", "error",
  "reason", "hardware",   "profiles", "program_version", "schema",
};

static void
append_csv_row (const ValidatedRow *row, GString *out)
{
  g_autofree char *bytes = bytes_text (row);
  g_autofree char *measured =
      row->measured->time_us > 0 ? number_format_exact (row->measured->time_us) : NULL;
  g_autofree char *predicted =
      row->reason == NULL ? number_format_exact (1e6 * row->predicted) : NULL;
  g_autofree char  *error = row->reason == NULL ? number_format_exact (row->error) : NULL;
  const char *const cells[] = { row->measured->id,
                                row->measured->collective,
                                bytes,
                                measured,
                                predicted,
                                error,
                                row->reason,
                                row->hardware,
                                row->profiles,
                                layout_program_version (),
                                RESULTS_SCHEMA_TEXT };

  csv_append_row (out, cells, G_N_ELEMENTS (cells));
}

void
report_validation_csv (const CollectiveValidation *self, GString *out)
{
  csv_append_row (out, csv_columns, G_N_ELEMENTS (csv_columns));
  for (guint i = 0; i < self->rows->len; i++)
    append_csv_row (row_at (self, i), out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static struct json_object *
row_json (const ValidatedRow *row)
{
  struct json_object *object = json_object_new_object ();
  gboolean            good = row->reason == NULL;

  json_add_text (object, "id", row->measured->id);
  json_add_text (object, "collective", row->measured->collective);
  json_add_count (object, "bytes", row->measured->bytes);
  json_add_number (object, "measured_us",
                   row->measured->time_us > 0 ? row->measured->time_us : NAN);
  if (good)
    {
      json_add_number (object, "predicted_us", 1e6 * row->predicted);
      json_add_number (object, "error", row->error);
    }
  else
    {
      json_object_object_add (object, "predicted_us", NULL);
      json_object_object_add (object, "error", NULL);
    }
  json_add_text (object, "reason", row->reason);
  json_add_text (object, "healthy", measurement_health_name (row->measured->healthy));
  json_add_text (object, "part", validation_part_key (row->part));
  json_add_text (object, "hardware", row->hardware);
  json_add_text (object, "link", row->family);
  json_add_text (object, "algorithm", good ? collective_algorithm_name (row->algorithm) : NULL);
  json_add_text (object, "protocol", good ? collective_protocol_name (row->protocol) : NULL);
  json_add_text (object, "binding_resource", row->binding);
  json_add_text (object, "profiles", row->profiles);
  return object;
}

static struct json_object *
group_json (const ValidationGroup *group)
{
  struct json_object *object = json_object_new_object ();

  json_add_text (object, "name", group->name);
  if (group->hardware != NULL)
    json_add_text (object, "hardware", group->hardware);
  json_add_count (object, "n", group->errors.n);
  json_add_number (object, "median_absolute_error", group->errors.median_abs);
  json_add_number (object, "p90_absolute_error", group->errors.p90_abs);
  json_add_number (object, "geometric_mean_ratio", group->errors.geometric_mean);
  json_add_number (object, "median_error", group->errors.median);
  return object;
}

/* The groups of PART under their groupings' keys. */
static void
add_part (const CollectiveValidation *self, ValidationPart part, struct json_object *summary)
{
  for (guint grouping = 0; grouping < VALIDATION_N_GROUPINGS; grouping++)
    {
      struct json_object *list = NULL;

      for (guint i = 0; i < self->groups->len; i++)
        {
          const ValidationGroup *group = group_at (self, i);

          if (group->part != part || group->grouping != grouping)
            continue;
          if (grouping == VALIDATION_ALL)
            list = group_json (group);
          else
            {
              if (list == NULL)
                list = json_object_new_array ();
              json_object_array_add (list, group_json (group));
            }
        }
      if (list == NULL && grouping != VALIDATION_ALL)
        list = json_object_new_array ();
      json_object_object_add (summary, validation_grouping_key ((ValidationGrouping) grouping),
                              list);
    }
}

static struct json_object *
summary_json (const CollectiveValidation *self)
{
  struct json_object *summary = json_object_new_object (), *apart = json_object_new_object ();

  add_part (self, VALIDATION_MAIN, summary);
  for (guint part = VALIDATION_MAIN + 1; part < VALIDATION_N_PARTS; part++)
    if (collective_validation_overall (self, (ValidationPart) part) != NULL)
      {
        struct json_object *object = json_object_new_object ();

        add_part (self, (ValidationPart) part, object);
        json_object_object_add (apart, validation_part_key ((ValidationPart) part), object);
      }
  json_object_object_add (summary, "apart", apart);
  json_object_object_add (summary, "leave_one_out", json_object_new_boolean (self->left_out));
  json_add_count (summary, "not_simulated", self->n_failed);
  return summary;
}

void
report_validation_json (const CollectiveValidation *self, GString *out)
{
  struct json_object *root = json_document_new (), *rows = json_object_new_array ();

  for (guint i = 0; i < self->rows->len; i++)
    json_object_array_add (rows, row_json (row_at (self, i)));
  json_object_object_add (root, "rows", rows);
  json_object_object_add (root, "summary", summary_json (self));
  json_finish (root, out);
}
