#include "report/membership.h"

#include <math.h>

#include "report/fields-private.h"
#include "report/run-plan-private.h"
#include "report/terminal-private.h"

static const MembershipSpan *
span_at (const MembershipRun *self, guint i)
{
  return &g_array_index (self->spans, MembershipSpan, i);
}

static const MembershipRun *
run_at (const GPtrArray *runs, guint i)
{
  return g_ptr_array_index (runs, i);
}

/* ---- fields ---------------------------------------------------------------------------------- */

typedef struct
{
  const MembershipRun  *run;
  const MembershipSpan *span;
  const Prediction     *prediction; /* NULL: nobody is there */
} Row;

static Row
row_of (const MembershipRun *run, guint i)
{
  const MembershipSpan *span = span_at (run, i);

  return (Row){ run, span, g_ptr_array_index (run->predictions, span->row) };
}

#define TEXT_OF(name, expression)   FIELD_TEXT_OF (Row, text_##name, expression)
#define NUMBER_OF(name, expression) FIELD_NUMBER_OF (Row, number_##name, expression)
#define OF_PREDICTION(name, member_) \
  NUMBER_OF (name, p->prediction != NULL ? p->prediction->member_ : NAN)

TEXT_OF (scenario, p->run->label)
TEXT_OF (strategy, p->prediction != NULL ? p->prediction->strategy : NULL)
TEXT_OF (caveats, p->prediction != NULL ? p->prediction->caveats : NULL)
NUMBER_OF (from_s, p->span->from_s)
NUMBER_OF (to_s, p->span->to_s)
NUMBER_OF (n_nodes, membership_row (p->run->membership, p->span->row)->n_nodes)
NUMBER_OF (rounds, (double) p->span->n_rounds)
NUMBER_OF (tokens, p->span->tokens)
NUMBER_OF (lost_tokens, p->span->lost_tokens)
NUMBER_OF (left, p->span->n_left)
NUMBER_OF (joined, p->span->n_joined)
OF_PREDICTION (n_gpus, n_gpus)
OF_PREDICTION (step_time_s, step_time_s)
OF_PREDICTION (tokens_per_step, tokens_per_step)

#define FIELD(name_)                                               \
  {                                                                \
    .name = #name_, .type = FIELD_NUMBER, .number = number_##name_ \
  }
#define WORD(name_)                                          \
  {                                                          \
    .name = #name_, .type = FIELD_WORD, .text = text_##name_ \
  }

static const Field fields[] = {
  WORD (scenario),
  FIELD (from_s),
  FIELD (to_s),
  FIELD (n_nodes),
  FIELD (n_gpus),
  FIELD (step_time_s),
  FIELD (tokens_per_step),
  FIELD (rounds),
  FIELD (tokens),
  FIELD (lost_tokens),
  FIELD (left),
  FIELD (joined),
  WORD (strategy),
  WORD (caveats),
  FIELDS_OF_THE_PROGRAM,
  { 0 },
};

void
report_membership_csv (const GPtrArray *runs, GString *out)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (Row));

  for (guint r = 0; r < runs->len; r++)
    for (guint i = 0; i < run_at (runs, r)->spans->len; i++)
      {
        const Row row = row_of (run_at (runs, r), i);

        g_array_append_val (rows, row);
      }
  fields_csv (fields, rows->data, rows->len, sizeof (Row), out);
}

void
report_membership_json (const GPtrArray *runs, GString *out)
{
  struct json_object *root = json_document_new (), *list = json_object_new_array ();

  for (guint r = 0; r < runs->len; r++)
    {
      const MembershipRun *run = run_at (runs, r);
      struct json_object  *object = json_object_new_object ();
      struct json_object  *spans = json_object_new_array ();

      json_add_text (object, "scenario", run->label);
      json_add_text (object, "why", run->why);
      json_add_number (object, "wall_s", run->wall_s);
      for (guint i = 0; i < run->spans->len; i++)
        {
          const Row row = row_of (run, i);

          json_object_array_add (spans, fields_json (fields, &row));
        }
      json_object_object_add (object, "spans", spans);
      json_object_array_add (list, object);
    }
  json_object_object_add (root, "runs", list);
  json_finish (root, out);
}

/* ---- text ------------------------------------------------------------------------------------ */

static const TerminalColumn columns[] = {
  { "days", TRUE }, { "nodes", TRUE },  { "GPUs", TRUE },   { "tokens/step", TRUE },
  { "step", TRUE }, { "rounds", TRUE }, { "tokens", TRUE }, { "lost", TRUE },
  { "left", TRUE }, { "joined", TRUE },
};

/* "12"; empty where there are none. Newly allocated. */
static char *
count_text (double n)
{
  return n > 0 ? g_strdup_printf ("%.0f", n) : g_strdup ("");
}

static char *
tokens_text (double tokens)
{
  return tokens > 0 ? quantity_format (QUANTITY_COUNT, tokens, 3) : g_strdup ("");
}

static void
add_span (struct libscols_table *table, const MembershipRun *run, guint i)
{
  const Row         row = row_of (run, i);
  const Prediction *p = row.prediction;
  char             *cells[G_N_ELEMENTS (columns) + 1] = { NULL };
  guint             n = 0;
  g_autofree char  *from = run_plan_days (row.span->from_s), *to = run_plan_days (row.span->to_s);

  cells[n++] = g_strdup_printf ("%s - %s", from, to);
  cells[n++] = g_strdup_printf ("%u", membership_row (run->membership, row.span->row)->n_nodes);
  cells[n++] = count_text (p != NULL ? p->n_gpus : 0);
  cells[n++] = tokens_text (p != NULL ? p->tokens_per_step : 0);
  cells[n++] = p != NULL ? quantity_format (QUANTITY_TIME, p->step_time_s, 3) : g_strdup ("");
  cells[n++] = count_text ((double) row.span->n_rounds);
  cells[n++] = tokens_text (row.span->tokens);
  cells[n++] = tokens_text (row.span->lost_tokens);
  cells[n++] = count_text (row.span->n_left);
  cells[n++] = count_text (row.span->n_joined);
  terminal_table_take (table, cells);
}

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

void
report_membership_text (const GPtrArray *runs, GString *out)
{
  for (guint r = 0; r < runs->len; r++)
    {
      const MembershipRun   *run = run_at (runs, r);
      struct libscols_table *table;

      if (run->why != NULL || run->spans->len == 0)
        {
          g_string_append_printf (out, "%s%s: %s.\n", r > 0 ? "\n" : "", run->label,
                                  run->why != NULL ? run->why : "nothing was found yet");
          continue;
        }
      table = terminal_table_new (columns, G_N_ELEMENTS (columns));
      g_string_append_printf (out, "%s%s\n\n", r > 0 ? "\n" : "", run->label);
      for (guint i = 0; i < run->spans->len; i++)
        add_span (table, run, i);
      terminal_table_finish (table, out);
      g_string_append_c (out, '\n');
      append_sum (run, out);
    }
}
