#include "report/answer/membership.h"

#include "report/answer/run-plan-private.h"
#include "report/document/html-private.h"
#include "report/document/json-private.h"

/* A span, and the run that it is of. */
typedef struct
{
  const MembershipRun  *run;
  const MembershipSpan *span;
  const Prediction     *prediction; /* NULL: nobody is there */
} Row;

/* Appends a Row a span of RUN. */
static void
add_rows (GArray *rows, const MembershipRun *run)
{
  for (guint i = 0; i < run->spans->len; i++)
    {
      const MembershipSpan *span = &g_array_index (run->spans, MembershipSpan, i);
      const Row             row = { run, span, g_ptr_array_index (run->predictions, span->row) };

      g_array_append_val (rows, row);
    }
}

static char *
show_days (const Column *column, gconstpointer row)
{
  const MembershipSpan *span = ((const Row *) row)->span;
  g_autofree char      *from = run_plan_days (span->from_s), *to = run_plan_days (span->to_s);

  (void) column;
  return g_strdup_printf ("%s - %s", from, to);
}

COLUMN_NUMBER_OF (Row, n_nodes, membership_row (p->run->membership, p->span->row)->n_nodes)

static const Column columns[] = {
  { "scenario", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, run, label) },
  { "from_s", "days", COLUMN_TIME, 0, COLUMN_VIA (Row, span, from_s), .show = show_days },
  { "to_s", NULL, COLUMN_TIME, 0, COLUMN_VIA (Row, span, to_s) },
  { "n_nodes", "nodes", COLUMN_COUNT, 0, .number = n_nodes },
  { "n_gpus", "GPUs", COLUMN_COUNT, 0, COLUMN_VIA (Row, prediction, n_gpus) },
  { "step_time_s", "step", COLUMN_TIME, 0, COLUMN_VIA (Row, prediction, step_time_s) },
  { "tokens_per_step", "tokens/step", COLUMN_AMOUNT, 0,
    COLUMN_VIA (Row, prediction, tokens_per_step) },
  { "rounds", "rounds", COLUMN_COUNT, 0, COLUMN_VIA (Row, span, n_rounds) },
  { "tokens", "tokens", COLUMN_AMOUNT, 0, COLUMN_VIA (Row, span, tokens) },
  { "lost_tokens", "lost", COLUMN_AMOUNT, 0, COLUMN_VIA (Row, span, lost_tokens) },
  { "left", "left", COLUMN_COUNT, 0, COLUMN_VIA (Row, span, n_left) },
  { "joined", "joined", COLUMN_COUNT, 0, COLUMN_VIA (Row, span, n_joined) },
  { "strategy", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, prediction, strategy) },
  { "caveats", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, prediction, caveats) },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { 0 },
};

/* What all of the run comes to: lines. */
static void
append_sum (const MembershipRun *run, GString *out)
{
  g_autofree char *days = run_plan_days (run->wall_s), *late = run_plan_days (run->late_s);
  g_autofree char *done = quantity_format (QUANTITY_COUNT, run->tokens, 4);
  g_autofree char *gone = quantity_format (QUANTITY_COUNT, run->lost_tokens, 3);

  g_string_append_printf (out, "%s: %s tokens after %s days, on %.3g nodes on average", run->label,
                          done, days, run->mean_nodes);
  if (run->lost_tokens > 0)
    g_string_append_printf (out, "; %s were lost with those that left", gone);
  if (run->late_s > 0)
    g_string_append_printf (out, "; %s days late", late);
  if (run->is_cut)
    g_string_append (out, "; the rest was left out");
  g_string_append (out, ".\n");
  if (run->largest != NULL && run->largest->caveats != NULL)
    g_string_append_printf (out, "Not the same training: %s.\n", run->largest->caveats);
}

static struct json_object *
run_json (const MembershipRun *run, const GArray *rows)
{
  struct json_object *object = json_object_new_object ();

  json_add_text (object, "scenario", run->label);
  json_add_text (object, "why", run->why);
  json_add_number (object, "wall_s", run->wall_s);
  json_object_object_add (object, "spans", column_list (columns, rows_of_array (rows)));
  return object;
}

static void
describe (Document *document, gconstpointer answer)
{
  const GPtrArray    *runs = answer;
  struct json_object *list = json_object_new_array ();
  g_autoptr (GArray)  all = g_array_new (FALSE, FALSE, sizeof (Row));

  for (guint r = 0; r < runs->len; r++)
    {
      const MembershipRun *run = g_ptr_array_index (runs, r);
      g_autoptr (GArray)   rows = g_array_new (FALSE, FALSE, sizeof (Row));
      g_autoptr (GString)  sum = g_string_new (NULL);

      add_rows (rows, run);
      add_rows (all, run);
      json_object_array_add (list, run_json (run, rows));
      document_section (document, run->label);
      if (run->why != NULL || run->spans->len == 0)
        {
          document_line (document, "%s: %s.", run->label,
                         run->why != NULL ? run->why : "nothing was found yet");
          continue;
        }
      document_table (document, columns, rows_of_array (rows));
      append_sum (run, sum);
      document_lines (document, sum->str);
    }
  if (document_json (document) != NULL)
    json_object_object_add (document_json (document), "runs", json_object_get (list));
  json_object_put (list);
  document_results (document, NULL, columns, rows_of_array (all));
}

const PageKind membership_answer = { .describe = describe, .columns = columns };
