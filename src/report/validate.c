#include "report/validate.h"

#include <math.h>
#include <string.h>

#include "report/fields-private.h"
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
  [VALIDATION_BY_NODES] = "NODES AND SIZE",
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
  cells[6] = group->hardware != NULL ? g_strdup (group->hardware)
             : group->n_failed > 0   ? g_strdup_printf ("%u", group->n_failed)
                                     : g_strdup ("");
  terminal_table_take (table, cells);
}

/* One table of the groups FIRST up to END. */
static void
append_groups (const CollectiveValidation *self, guint first, guint end, GString *out)
{
  const ValidationGrouping grouping = group_at (self, end - 1)->grouping;
  const gboolean           runs = grouping == VALIDATION_BY_RUN;
  const gboolean           more = runs || group_at (self, first)->n_failed > 0;
  const TerminalColumn     columns[] = {
        { grouping_titles[grouping], FALSE },
        { "ROWS", TRUE },
        { "MEDIAN |ERROR|", TRUE },
        { "90 % BELOW", TRUE },
        { "RATIO", TRUE },
        { "MEDIAN ERROR", TRUE },
        { runs ? "HARDWARE" : "NOT SIMULATED", !runs },
  };
  struct libscols_table *table = terminal_table_new (columns, G_N_ELEMENTS (columns) - !more);

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

/* Stands below the groups by nodes. */
static void
append_trends (const CollectiveValidation *self, GString *out)
{
  static const TerminalColumn columns[] = {
    { "SIZE, FROM 2 NODES ON", FALSE },
    { "NODES", FALSE },
    { "ROWS", TRUE },
    { "LOG ERROR GROWS A DOUBLING OF NODES", TRUE },
  };
  struct libscols_table *table;

  if (self->trends->len == 0)
    return;
  g_string_append_c (out, '\n');
  table = terminal_table_new (columns, G_N_ELEMENTS (columns));
  for (guint i = 0; i < self->trends->len; i++)
    {
      const ValidationTrend *trend = &g_array_index (self->trends, ValidationTrend, i);

      validation_take_trend (table, trend->name, trend->fewest, trend->most, trend->n,
                             trend->slope);
    }
  terminal_table_finish (table, out);
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
      if (group->part == VALIDATION_MAIN && group->grouping == VALIDATION_BY_NODES)
        append_trends (self, out);
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

/* ---- CSV and JSON ---------------------------------------------------------------------------- */

#define ROW_TEXT(name, expression)   FIELD_TEXT_OF (ValidatedRow, row_##name, expression)
#define ROW_NUMBER(name, expression) FIELD_NUMBER_OF (ValidatedRow, row_##name, expression)
#define GOOD(p, text)                ((p)->reason == NULL ? (text) : NULL)

ROW_TEXT (id, p->measured->id)
ROW_TEXT (collective, p->measured->collective)
ROW_NUMBER (bytes, p->measured->bytes)
ROW_NUMBER (measured_us, p->measured->time_us > 0 ? p->measured->time_us : NAN)
ROW_NUMBER (predicted_us, p->reason == NULL ? 1e6 * p->predicted : NAN)
ROW_NUMBER (error, p->reason == NULL ? p->error : NAN)
ROW_TEXT (reason, p->reason)
ROW_TEXT (healthy, measurement_health_name (p->measured->healthy))
ROW_TEXT (part, validation_part_key (p->part))
ROW_TEXT (hardware, p->hardware)
ROW_TEXT (link, p->family)
ROW_TEXT (algorithm, GOOD (p, collective_algorithm_name (p->algorithm)))
ROW_TEXT (protocol, GOOD (p, collective_protocol_name (p->protocol)))
ROW_TEXT (binding, p->binding)
ROW_TEXT (profiles, p->profiles)
ROW_NUMBER (nodes, p->reason == NULL ? p->n_nodes : NAN)

static const Field row_fields[] = {
  { .name = "id", .type = FIELD_WORD, .text = row_id },
  { .name = "collective", .type = FIELD_WORD, .text = row_collective },
  { .name = "bytes", .type = FIELD_COUNT, .number = row_bytes },
  { .name = "measured_us", .type = FIELD_NUMBER, .number = row_measured_us },
  { .name = "predicted_us", .type = FIELD_NUMBER, .number = row_predicted_us },
  { .name = "error", .type = FIELD_NUMBER, .number = row_error },
  { .name = "reason", .type = FIELD_WORD, .text = row_reason },
  { .name = "healthy", .type = FIELD_WORD, .text = row_healthy, .place = FIELD_IN_JSON },
  { .name = "part", .type = FIELD_WORD, .text = row_part, .place = FIELD_IN_JSON },
  { .name = "hardware", .type = FIELD_WORD, .text = row_hardware },
  { .name = "link", .type = FIELD_WORD, .text = row_link, .place = FIELD_IN_JSON },
  { .name = "algorithm", .type = FIELD_WORD, .text = row_algorithm, .place = FIELD_IN_JSON },
  { .name = "protocol", .type = FIELD_WORD, .text = row_protocol, .place = FIELD_IN_JSON },
  { .name = "binding_resource", .type = FIELD_WORD, .text = row_binding, .place = FIELD_IN_JSON },
  { .name = "profiles", .type = FIELD_WORD, .text = row_profiles },
  FIELDS_OF_THE_PROGRAM,
  { .name = "nodes", .type = FIELD_NUMBER, .number = row_nodes },
  { 0 },
};

FIELD_NUMBER_OF (ValidationGroup, group_n, p->errors.n)
FIELD_NUMBER_OF (ValidationGroup, group_median_absolute, p->errors.median_abs)
FIELD_NUMBER_OF (ValidationGroup, group_p90, p->errors.p90_abs)
FIELD_NUMBER_OF (ValidationGroup, group_ratio, p->errors.geometric_mean)
FIELD_NUMBER_OF (ValidationGroup, group_median, p->errors.median)

static const Field group_fields[] = {
  { .name = "n", .type = FIELD_COUNT, .number = group_n },
  { .name = "median_absolute_error", .type = FIELD_NUMBER, .number = group_median_absolute },
  { .name = "p90_absolute_error", .type = FIELD_NUMBER, .number = group_p90 },
  { .name = "geometric_mean_ratio", .type = FIELD_NUMBER, .number = group_ratio },
  { .name = "median_error", .type = FIELD_NUMBER, .number = group_median },
  { 0 },
};

FIELD_NUMBER_OF (ValidationTrend, trend_n, p->n)
FIELD_NUMBER_OF (ValidationTrend, trend_fewest, p->fewest)
FIELD_NUMBER_OF (ValidationTrend, trend_most, p->most)
FIELD_NUMBER_OF (ValidationTrend, trend_slope, p->slope)
FIELD_TEXT_OF (ValidationTrend, trend_name, p->name)

static const Field trend_fields[] = {
  { .name = "name", .type = FIELD_WORD, .text = trend_name },
  { .name = "fewest_nodes", .type = FIELD_COUNT, .number = trend_fewest },
  { .name = "most_nodes", .type = FIELD_COUNT, .number = trend_most },
  { .name = "n", .type = FIELD_COUNT, .number = trend_n },
  { .name = "slope_per_doubling", .type = FIELD_NUMBER, .number = trend_slope },
  { 0 },
};

void
report_validation_csv (const CollectiveValidation *self, GString *out)
{
  fields_csv (row_fields, self->rows->data, self->rows->len, sizeof (ValidatedRow), out);
}

static struct json_object *
group_json (const ValidationGroup *group)
{
  struct json_object *object = json_object_new_object ();

  json_add_text (object, "name", group->name);
  if (group->hardware != NULL)
    json_add_text (object, "hardware", group->hardware);
  fields_add_json (group_fields, group, object);
  if (group->grouping == VALIDATION_ALL || group->grouping == VALIDATION_BY_SIZE)
    json_add_count (object, "not_simulated", group->n_failed);
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
  json_object_object_add (summary, "trends",
                          fields_json_list (trend_fields, self->trends->data, self->trends->len,
                                            sizeof (ValidationTrend)));
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
  struct json_object *root = json_document_new ();

  json_object_object_add (
      root, "rows",
      fields_json_list (row_fields, self->rows->data, self->rows->len, sizeof (ValidatedRow)));
  json_object_object_add (root, "summary", summary_json (self));
  json_finish (root, out);
}
