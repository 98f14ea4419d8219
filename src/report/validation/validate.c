#include "report/validation/validate.h"

#include <math.h>

#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/validation/validation-private.h"

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

/* ---- columns --------------------------------------------------------------------------------- */

#define GOOD(p, text)           ((p)->reason == NULL ? (text) : NULL)
#define GOOD_NUMBER(p, number_) ((p)->reason == NULL ? (number_) : NAN)

COLUMN_NUMBER_OF (ValidatedRow, row_bytes, p->measured->bytes)
COLUMN_NUMBER_OF (ValidatedRow, measured_us, p->measured->time_us > 0 ? p->measured->time_us : NAN)
COLUMN_NUMBER_OF (ValidatedRow, predicted_us, GOOD_NUMBER (p, 1e6 * p->predicted))
COLUMN_NUMBER_OF (ValidatedRow, row_error, GOOD_NUMBER (p, p->error))
COLUMN_NUMBER_OF (ValidatedRow, row_nodes, GOOD_NUMBER (p, p->n_nodes))
COLUMN_TEXT_OF (ValidatedRow, healthy, measurement_health_name (p->measured->healthy))
COLUMN_TEXT_OF (ValidatedRow, row_part, validation_part_key (p->part))
COLUMN_TEXT_OF (ValidatedRow, algorithm, GOOD (p, collective_algorithm_name (p->algorithm)))
COLUMN_TEXT_OF (ValidatedRow, protocol, GOOD (p, collective_protocol_name (p->protocol)))

static const Column row_columns[] = {
  { "id", "id", COLUMN_WORD, 0, COLUMN_VIA (ValidatedRow, measured, id) },
  { "collective", "collective", COLUMN_WORD, 0, COLUMN_VIA (ValidatedRow, measured, collective) },
  /* 0 could not be read */
  { "bytes", "bytes", COLUMN_COUNT, COLUMN_CSV_ONLY | COLUMN_OPTIONAL, .number = row_bytes },
  { "bytes", NULL, COLUMN_COUNT, COLUMN_JSON_ONLY, .number = row_bytes },
  { "measured_us", "measured us", COLUMN_NUMBER, 0, .number = measured_us },
  { "predicted_us", "predicted us", COLUMN_NUMBER, 0, .number = predicted_us },
  { "error", "error", COLUMN_CHANGE, 0, .number = row_error },
  { "reason", "reason", COLUMN_WORD, 0, COLUMN_MEMBER (ValidatedRow, reason) },
  { "healthy", NULL, COLUMN_WORD, COLUMN_JSON_ONLY, .text = healthy },
  { "part", NULL, COLUMN_WORD, COLUMN_JSON_ONLY, .text = row_part },
  { "hardware", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (ValidatedRow, hardware) },
  { "link", NULL, COLUMN_WORD, COLUMN_JSON_ONLY, COLUMN_MEMBER (ValidatedRow, family) },
  { "algorithm", "algorithm", COLUMN_WORD, COLUMN_JSON_ONLY, .text = algorithm },
  { "protocol", "protocol", COLUMN_WORD, COLUMN_JSON_ONLY, .text = protocol },
  { "binding_resource", "bound by", COLUMN_WORD, COLUMN_JSON_ONLY,
    COLUMN_MEMBER (ValidatedRow, binding) },
  { "profiles", NULL, COLUMN_WORD, 0, COLUMN_MEMBER (ValidatedRow, profiles) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { "nodes", NULL, COLUMN_NUMBER, 0, .number = row_nodes },
  { 0 },
};

static const Column group_columns[] = {
  { "n", "rows", COLUMN_COUNT, 0, COLUMN_MEMBER (ValidationGroup, errors.n) },
  { "median_absolute_error", "median |error|", COLUMN_RATIO, 0,
    COLUMN_MEMBER (ValidationGroup, errors.median_abs) },
  { "p90_absolute_error", "90 % below", COLUMN_RATIO, 0,
    COLUMN_MEMBER (ValidationGroup, errors.p90_abs) },
  { "geometric_mean_ratio", "ratio", COLUMN_NUMBER, 0,
    COLUMN_MEMBER (ValidationGroup, errors.geometric_mean) },
  { "median_error", "median error", COLUMN_CHANGE, 0,
    COLUMN_MEMBER (ValidationGroup, errors.median) },
  { NULL, "not simulated", COLUMN_COUNT, COLUMN_IF_ANY, COLUMN_MEMBER (ValidationGroup, n_failed) },
  { NULL, "hardware", COLUMN_WORD, COLUMN_IF_ANY, COLUMN_MEMBER (ValidationGroup, hardware) },
  { 0 },
};

static const Column trend_columns[] = {
  { "name", "size, from 2 nodes on", COLUMN_WORD, 0, COLUMN_MEMBER (ValidationTrend, name) },
  { "fewest_nodes", "fewest nodes", COLUMN_COUNT, 0, COLUMN_MEMBER (ValidationTrend, fewest) },
  { "most_nodes", "most nodes", COLUMN_COUNT, 0, COLUMN_MEMBER (ValidationTrend, most) },
  { "n", "rows", COLUMN_COUNT, 0, COLUMN_MEMBER (ValidationTrend, n) },
  { "slope_per_doubling", "log error grows a doubling of nodes", COLUMN_CHANGE, 0,
    COLUMN_MEMBER (ValidationTrend, slope) },
  { 0 },
};

/* ---- summary --------------------------------------------------------------------------------- */

/* One table of the groups FIRST up to END. */
static void
describe_groups (Document *document, const CollectiveValidation *self, guint first, guint end)
{
  const ValidationGroup *group = group_at (self, first);
  const Column           name[] = {
              { NULL, grouping_titles[group_at (self, end - 1)->grouping], COLUMN_WORD, 0,
                COLUMN_MEMBER (ValidationGroup, name) },
              { 0 },
  };
  const Rows       rows = { group, end - first, sizeof (ValidationGroup) };
  const TableBlock blocks[] = { { name, rows, NULL }, { group_columns, rows, NULL } };

  document_blocks (document, blocks, G_N_ELEMENTS (blocks), NULL);
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

static void
describe_summary (Document *document, gconstpointer answer)
{
  const CollectiveValidation *self = answer;
  g_autoptr (GString)         text = g_string_new (NULL);
  guint                       end;

  for (guint first = 0; first < self->groups->len; first = end)
    {
      const ValidationGroup *group = group_at (self, first);

      for (end = first + 1; end < self->groups->len && same_table (group, group_at (self, end));)
        end++;
      if (group->grouping == VALIDATION_ALL)
        {
          g_autofree char *title = g_strconcat (part_titles[group->part],
                                                self->left_out && group->part == VALIDATION_MAIN
                                                    ? ", each source predicted from the others"
                                                    : "",
                                                NULL);

          document_section (document, title);
        }
      describe_groups (document, self, first, end);
      if (group->part != VALIDATION_MAIN || group->grouping != VALIDATION_BY_NODES
          || self->trends->len == 0)
        continue;
      document_table (document, trend_columns, rows_of_array (self->trends));
    }
  append_reasons (self, text);
  if (self->groups->len > 0)
    g_string_append (
        text,
        "\nerror = predicted / measured - 1; ratio = geometric mean of predicted / measured\n");
  document_lines (document, text->str);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static struct json_object *
group_json (const ValidationGroup *group)
{
  struct json_object *object = json_object_new_object ();

  json_add_text (object, "name", group->name);
  if (group->hardware != NULL)
    json_add_text (object, "hardware", group->hardware);
  column_add_keys (group_columns, group, object);
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
                          column_list (trend_columns, rows_of_array (self->trends)));
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

static void
describe_rows (Document *document, gconstpointer answer)
{
  const CollectiveValidation *self = answer;

  document_table (document, row_columns, rows_of_array (self->rows));
  document_results (document, "rows", row_columns, rows_of_array (self->rows));
  if (document_json (document) != NULL)
    json_object_object_add (document_json (document), "summary", summary_json (self));
}

const PageKind collective_summary = { .describe = describe_summary };
const PageKind collective_rows = { .describe = describe_rows, .columns = row_columns };
