#include "report/answer/run-plan.h"

#include <math.h>
#include <string.h>

#include "report/answer/run-plan-private.h"
#include "report/document/html-private.h"
#include "report/document/json-private.h"
#include "report/prediction/describe.h"

#define MWH 3.6e9

static const RunPlan *
plan_at (const RunPlanAnswer *self, guint i)
{
  return g_ptr_array_index (self->plans, i);
}

static const RunOption *
option_at (const RunPlan *plan, guint i)
{
  return g_ptr_array_index (plan->options, i);
}

/* The one to tell of: it meets the goal, or is the nearest; NULL: none runs. */
static const RunOption *
told_of (const RunPlan *plan)
{
  return plan->best != NULL ? plan->best : plan->nearest;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A number of nodes, and the plan that it is of. */
typedef struct
{
  const RunPlan    *plan;
  const RunOption  *option;
  const RunOption  *run;        /* the same; NULL: it cannot be */
  const RunOption  *last;       /* of those behind it that cannot be for the same reason */
  const Prediction *prediction; /* NULL: none */
} Row;

char *
run_plan_days (double seconds)
{
  return seconds < 10 * DAY   ? g_strdup_printf ("%.3g", seconds / DAY)
         : isfinite (seconds) ? g_strdup_printf ("%.1f", seconds / DAY)
                              : g_strdup ("for ever");
}

char *
run_plan_amount (double value)
{
  return value == 0          ? g_strdup ("")
         : !isfinite (value) ? g_strdup ("-")
         : value < 100       ? g_strdup_printf ("%.3g", value)
                             : g_strdup_printf ("%.0f", value);
}

static char *
show_nodes (const Column *column, gconstpointer row)
{
  const Row *p = row;

  (void) column;
  return p->option == p->last ? g_strdup_printf ("%u", p->option->n_nodes)
                              : g_strdup_printf ("%u - %u", p->option->n_nodes, p->last->n_nodes);
}

static char *
show_days (const Column *column, gconstpointer row)
{
  return column_has (column, row) ? run_plan_days (column_number (column, row)) : g_strdup ("");
}

static char *
show_band (const Column *column, gconstpointer row)
{
  const Row       *p = row;
  g_autofree char *low = NULL, *high = NULL;

  (void) column;
  if (p->run == NULL)
    return g_strdup ("");
  low = run_plan_days (p->run->sample.p10_s);
  high = run_plan_days (p->run->sample.p90_s);
  return g_strdup_printf ("%s - %s", low, high);
}

static char *
show_amount (const Column *column, gconstpointer row)
{
  return column_has (column, row) ? run_plan_amount (column_number (column, row)) : g_strdup ("");
}

static char *
show_energy (const Column *column, gconstpointer row)
{
  return column_has (column, row) ? run_plan_amount (column_number (column, row) / MWH)
                                  : g_strdup ("");
}

/* "<" of the fewest that meet the goal; "41.5 days late"; why it cannot be. */
static char *
show_verdict (const Column *column, gconstpointer row)
{
  const Row          *p = row;
  g_autofree char    *late = run_plan_days (p->option->late_s);
  g_autofree char    *over = run_plan_amount (p->option->over);
  g_autoptr (GString) text = g_string_new (p->option->why);

  (void) column;
  if (p->option == p->plan->best)
    g_string_append (text, "<");
  if (p->option->late_s > 0)
    g_string_append_printf (text, "%s days late", late);
  if (p->option->over > 0)
    g_string_append_printf (text, "%s%s over budget", text->len > 0 ? ", " : "", over);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

COLUMN_NUMBER_OF (Row, is_best, p->option == p->plan->best)
COLUMN_NUMBER_OF (Row, n_open,
                  p->option->choice.label != NULL ? (double) p->option->choice.n_open : NAN)
COLUMN_NUMBER_OF (Row, n_failed,
                  p->option->choice.label != NULL ? (double) p->option->choice.n_failed : NAN)
COLUMN_NUMBER_OF (Row, open_gain,
                  p->run != NULL && p->run->choice.n_open > 0 ? p->run->choice.open_gain : NAN)
COLUMN_NUMBER_OF (Row, interval_s,
                  p->run != NULL ? (double) p->run->goodput.interval_steps * p->run->input.step_s
                                 : NAN)
COLUMN_NUMBER_OF (Row, join_s,
                  p->run != NULL && p->run->goodput.site_loss_s > 0 ? p->run->input.join_s : NAN)
COLUMN_TEXT_OF (Row, verdict, p->option->why)

static const Column columns[] = {
  { NULL, "scenario", COLUMN_WORD, COLUMN_IF_ANY, COLUMN_VIA (Row, plan, label) },
  { "cluster", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, plan, cluster) },
  { "n_nodes", "nodes", COLUMN_COUNT, 0, COLUMN_VIA (Row, option, n_nodes), .show = show_nodes },
  { "n_gpus", "GPUs", COLUMN_COUNT, 0, COLUMN_VIA (Row, prediction, n_gpus) },
  { "meets", NULL, COLUMN_BOOL, 0, COLUMN_VIA (Row, option, meets) },
  { "best", NULL, COLUMN_BOOL, 0, .number = is_best },
  { "why", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, option, why) },
  { "strategy", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, prediction, strategy) },
  { "model", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, prediction, model) },
  { "step_time_s", "step", COLUMN_TIME, 0, COLUMN_VIA (Row, prediction, step_time_s) },
  { "tokens_per_step", "tokens/step", COLUMN_AMOUNT, 0,
    COLUMN_VIA (Row, prediction, tokens_per_step) },
  { "mfu_percent", "MFU", COLUMN_PERCENT, 0, COLUMN_VIA (Row, prediction, mfu_percent) },
  { "steps", NULL, COLUMN_NUMBER, 0, COLUMN_VIA (Row, run, n_steps) },
  { "mtbf_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_VIA (Row, run, goodput.mtbf_s) },
  { "interruptions", NULL, COLUMN_NUMBER, 0, COLUMN_VIA (Row, run, goodput.n_interruptions) },
  { "checkpoint_bytes", NULL, COLUMN_BYTES, 0, COLUMN_VIA (Row, run, checkpoint_bytes) },
  { "checkpoint_s", NULL, COLUMN_TIME, 0, COLUMN_VIA (Row, run, input.checkpoint_s) },
  { "checkpoint_interval_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, .number = interval_s },
  { "goodput", "goodput", COLUMN_RATIO, 0, COLUMN_VIA (Row, run, goodput.useful) },
  { "wall_s", "days", COLUMN_TIME, 0, COLUMN_VIA (Row, run, goodput.wall_s), .show = show_days },
  { "wall_p10_s", NULL, COLUMN_TIME, 0, COLUMN_VIA (Row, run, sample.p10_s) },
  { "wall_p50_s", NULL, COLUMN_TIME, 0, COLUMN_VIA (Row, run, sample.p50_s) },
  { "wall_p90_s", "p10 - p90", COLUMN_TIME, 0, COLUMN_VIA (Row, run, sample.p90_s),
    .show = show_band },
  { "gpu_hours", "GPU-hours", COLUMN_NUMBER, 0, COLUMN_VIA (Row, run, gpu_hours),
    .show = show_amount },
  { "money", "money", COLUMN_NUMBER, COLUMN_OPTIONAL, COLUMN_VIA (Row, run, money),
    .show = show_amount },
  { "energy_j", "MWh", COLUMN_NUMBER, COLUMN_OPTIONAL, COLUMN_VIA (Row, run, energy_j),
    .show = show_energy },
  { "late_s", NULL, COLUMN_TIME, 0, COLUMN_VIA (Row, run, late_s) },
  { "over_budget", NULL, COLUMN_NUMBER, 0, COLUMN_VIA (Row, run, over) },
  { "configuration", "configuration", COLUMN_WORD, COLUMN_IF_ANY,
    COLUMN_VIA (Row, option, choice.label) },
  { "options", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, option, choice.options) },
  { "open", NULL, COLUMN_NUMBER, 0, .number = n_open },
  { "open_gain", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL, .number = open_gain },
  COLUMNS_OF_THE_PROGRAM (COLUMN_CSV_ONLY),
  { "slow_probability", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL, COLUMN_VIA (Row, run, goodput.slow) },
  { "slow_step_time_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL,
    COLUMN_VIA (Row, run, input.slow_step_s) },
  { "scenario", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, plan, label) },
  { "caveats", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, prediction, caveats) },
  { "sites", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL, COLUMN_VIA (Row, run, input.n_sites) },
  { "site_loss_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, COLUMN_VIA (Row, run, goodput.site_loss_s) },
  { "sites_missing", NULL, COLUMN_NUMBER, COLUMN_OPTIONAL, COLUMN_VIA (Row, run, goodput.missing) },
  { "join_s", NULL, COLUMN_TIME, COLUMN_OPTIONAL, .number = join_s },
  { "failed", NULL, COLUMN_NUMBER, 0, .number = n_failed },
  { "failure", NULL, COLUMN_WORD, 0, COLUMN_VIA (Row, option, choice.failure) },
  { NULL, "verdict", COLUMN_WORD, 0, .text = verdict, .show = show_verdict },
  { 0 },
};

/*
 * A row each of PLAN's numbers of nodes; ALIKE: one of those that follow each other and cannot be
 * for the same reason.
 */
static void
add_rows (GArray *rows, const RunPlan *plan, gboolean alike)
{
  for (guint i = 0; i < plan->options->len; i++)
    {
      const RunOption *option = option_at (plan, i);
      Row row = { plan, option, option->why == NULL ? option : NULL, option, option->prediction };

      while (alike && option->why != NULL && i + 1 < plan->options->len
             && g_strcmp0 (option->why, option_at (plan, i + 1)->why) == 0)
        row.last = option_at (plan, ++i);
      g_array_append_val (rows, row);
    }
}

/* ---- one plan -------------------------------------------------------------------------------- */

/* Where others go on without one. */
static void
append_sites (const RunOption *option, GString *out)
{
  const GoodputInput *in = &option->input;
  const double        hours = option->goodput.site_loss_s / HOUR;
  g_autofree char    *joins = quantity_format (QUANTITY_TIME, in->join_s, 3);

  if (option->goodput.site_loss_s == 0)
    return;
  g_string_append_printf (out,
                          "One of %u %s is lost every %.3g h, and the others go on: ", in->n_sites,
                          option->choice.are_workers ? "workers" : "sites", hours);
  g_string_append_printf (out, "on average %.3g of them %s missing", option->goodput.missing,
                          option->goodput.missing < 1 ? "is" : "are");
  if (in->join_s > 0)
    g_string_append_printf (out, "; all wait %s for each that comes back", joins);
  g_string_append (out, ".\n");
}

/* How often OPTION is interrupted, and what its checkpoints take. */
static void
append_failures (const RunOption *option, GString *out)
{
  const Goodput   *g = &option->goodput;
  g_autofree char *bytes = quantity_format (QUANTITY_BYTES, option->checkpoint_bytes, 3);
  g_autofree char *stall = quantity_format (QUANTITY_TIME, option->input.checkpoint_s, 3);
  g_autofree char *step = quantity_format (QUANTITY_TIME, option->input.step_s, 4);
  g_autofree char *slow = quantity_format (QUANTITY_TIME, option->input.slow_step_s, 4);

  if (g->mtbf_s > 0)
    g_string_append_printf (
        out, "With %u of them something fails every %.3g h: %.3g interruptions in all.\n",
        option->n_nodes, g->mtbf_s / HOUR, g->n_interruptions);
  if (g->interval_steps > 0)
    g_string_append_printf (
        out, "A checkpoint of %s every %.3g min (%" G_GUINT64_FORMAT " step%s) takes %s.\n", bytes,
        (double) g->interval_steps * option->input.step_s / 60, g->interval_steps,
        g->interval_steps == 1 ? "" : "s", stall);
  if (g->slow > 0)
    g_string_append_printf (
        out, "In %.3g %% of runs a node is slow throughout: a step takes %s then, not %s.\n",
        g->slow * 100, slow, step);
  if (g->waiting > 0)
    g_string_append_printf (out, "For %.2g %% of the time it waits for %s.\n", g->waiting * 100,
                            option->input.site_mtbf_s > 0 ? "nodes and sites" : "nodes");
  append_sites (option, out);
  if (option->prediction->caveats != NULL)
    g_string_append_printf (out, "Not the same training: %s.\n", option->prediction->caveats);
}

/* Which number of nodes meets the goal, and what that takes. */
static void
describe_answer (Document *document, const RunPlan *plan, const RunGoal *goal)
{
  const RunOption    *told = told_of (plan);
  g_autofree char    *title = run_plan_title (plan);
  g_autoptr (GString) text = g_string_new (NULL);

  if (plan->options->len == 0)
    g_string_append_printf (text, "%s: no number of nodes was tried.", title);
  else if (told == NULL)
    g_string_append_printf (text, "%s: no number of nodes that was tried can do it.", title);
  else if (plan->best == NULL)
    g_string_append_printf (text,
                            "%s: no number of nodes that was tried meets it; the nearest: %u.",
                            title, told->n_nodes);
  else if (goal->deadline_s > 0 || goal->budget > 0)
    g_string_append_printf (text, "%s: the fewest nodes tried that meet it: %u.", title,
                            told->n_nodes);
  if (told != NULL)
    {
      g_autofree char *days = run_plan_days (told->goodput.wall_s);
      g_autofree char *low = run_plan_days (told->sample.p10_s);
      g_autofree char *high = run_plan_days (told->sample.p90_s);
      g_autofree char *money = run_plan_amount (told->money);

      g_string_append_printf (text, "%s%u x %s: %s days (p10 - p90: %s - %s)%s%s.",
                              text->len > 0 ? " " : "", told->n_nodes, title, days, low, high,
                              *money != '\0' ? ", money: " : "", money);
    }
  document_verdict (document, plan->best != NULL ? HTML_GOOD : HTML_BAD, "%s", text->str);
}

/* What was chosen, and how sure that is. */
static void
describe_choice (Document *document, const RunChoice *choice)
{
  g_autofree char *command = g_strdup_printf ("shardsim simulate %s", choice->options);

  if (choice->label == NULL)
    return;
  document_copyable (document, command);
  if (choice->faster != NULL)
    document_line (document, "The simplest that is as good: %s.", choice->faster);
  if (choice->n_failed > 0)
    document_line (document, "%u of those that were simulated failed: %s", choice->n_failed,
                   choice->failure);
  if (choice->n_open == 0 && choice->n_failed == 0)
    document_line (document, "Nothing that was searched has a better bound: it is proved best.");
  else if (choice->n_open > 0)
    document_line (
        document,
        "%" G_GUINT64_FORMAT
        " configurations were not tried; by their bounds none is more than %.2f times as "
        "fast (--effort 4 tries more).",
        choice->n_open, choice->open_gain);
}

/* ---- all of a type of node ------------------------------------------------------------------- */

/* Plans of several scenarios on the same nodes, FIRST up to END, stand in one table. */
static void
describe_group (Document *document, const RunPlanAnswer *self, guint first, guint end)
{
  g_autoptr (GArray)   rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_autofree HtmlTone *tones = NULL;
  TableBlock           block = { columns, { 0 }, NULL };

  for (guint p = first; p < end; p++)
    add_rows (rows, plan_at (self, p), TRUE);
  tones = g_new (HtmlTone, rows->len + 1);
  for (guint i = 0; i < rows->len; i++)
    {
      const Row *row = &g_array_index (rows, Row, i);

      tones[i] = row->option == row->plan->best ? HTML_GOOD
                 : row->option->meets           ? HTML_PLAIN
                                                : HTML_BAD;
    }
  block.rows = rows_of_array (rows);
  document_section (document, plan_at (self, first)->cluster);
  document_blocks (document, &block, 1, tones);
  for (guint p = first; p < end; p++)
    {
      const RunPlan      *plan = plan_at (self, p);
      g_autoptr (GString) lines = g_string_new (NULL);

      if (told_of (plan) == NULL)
        continue;
      if (plan->label != NULL)
        document_line (document, "%s:", plan->label);
      describe_choice (document, &told_of (plan)->choice);
      append_failures (told_of (plan), lines);
      document_lines (document, lines->str);
    }
}

/* Where the group of plan FIRST ends. */
static guint
group_end (const RunPlanAnswer *self, guint first)
{
  guint end = first + 1;

  while (end < self->plans->len && plan_at (self, first)->label != NULL
         && g_str_equal (plan_at (self, first)->cluster, plan_at (self, end)->cluster))
    end++;
  return end;
}

/* Whether A costs less than B: money, or where no price is known GPU-hours. */
static gboolean
is_cheaper (const RunOption *a, const RunOption *b)
{
  return a->money > 0 && b->money > 0 ? a->money < b->money : a->gpu_hours < b->gpu_hours;
}

/* "12 dgx-a100", and what it takes and costs. */
static void
append_choice_of (const char *what, const RunPlan *plan, const RunOption *option, GString *out)
{
  g_autofree char *days = run_plan_days (option->sample.p90_s);
  g_autofree char *money = option->money > 0 ? run_plan_amount (option->money) : NULL;

  g_string_append_printf (out, "%s: %u x %s (%s days, ", what, option->n_nodes, plan->cluster,
                          days);
  if (money != NULL)
    g_string_append (out, money);
  else
    g_string_append_printf (out, "%.0f GPU-hours", option->gpu_hours);
  g_string_append_c (out, ')');
}

/* Of several types of node what meets the goal for least, and soonest, of all that was tried. */
static void
append_types (const GPtrArray *plans, GString *out)
{
  const RunPlan   *of_cheapest = NULL, *of_fastest = NULL, *first = plans->pdata[0];
  const RunOption *cheapest = NULL, *fastest = NULL;
  gboolean         several = FALSE;

  for (guint p = 0; p < plans->len; p++)
    {
      const RunPlan *plan = g_ptr_array_index (plans, p);

      several |= !g_str_equal (plan->cluster, first->cluster);
      for (guint i = 0; i < plan->options->len; i++)
        {
          const RunOption *option = g_ptr_array_index (plan->options, i);

          if (!option->meets)
            continue;
          if (cheapest == NULL || is_cheaper (option, cheapest))
            {
              cheapest = option;
              of_cheapest = plan;
            }
          if (fastest == NULL || option->sample.p90_s < fastest->sample.p90_s)
            {
              fastest = option;
              of_fastest = plan;
            }
        }
    }
  if (!several || cheapest == NULL)
    return;
  g_string_append (out, "\nOf all types that were tried ");
  append_choice_of ("the cheapest that meets it", of_cheapest, cheapest, out);
  append_choice_of ("; the fastest", of_fastest, fastest, out);
  g_string_append (out, ".\n");
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* "2.000T tokens in 45.0 days, for 3000000" */
static void
append_goal (const RunGoal *goal, GString *out)
{
  g_autofree char *tokens = quantity_format (QUANTITY_COUNT, goal->tokens, 4);
  g_autofree char *by = goal->deadline_s > 0 ? run_plan_days (goal->deadline_s) : NULL;
  g_autofree char *within = goal->budget > 0 ? run_plan_amount (goal->budget) : NULL;

  g_string_append_printf (out, "%s tokens", tokens);
  if (by != NULL)
    g_string_append_printf (out, " in %s days", by);
  if (within != NULL)
    g_string_append_printf (out, "%s for %s", by != NULL ? "," : "", within);
}

static void
add_json (struct json_object *root, const RunPlanAnswer *self)
{
  struct json_object *list = json_object_new_array ();

  for (guint p = 0; p < self->plans->len; p++)
    {
      const RunPlan      *plan = plan_at (self, p);
      struct json_object *object = json_object_new_object ();
      g_autoptr (GArray)  rows = g_array_new (FALSE, FALSE, sizeof (Row));

      add_rows (rows, plan, FALSE);
      json_add_text (object, "cluster", plan->cluster);
      json_object_object_add (
          object, "best", plan->best != NULL ? json_object_new_int64 (plan->best->n_nodes) : NULL);
      json_object_object_add (object, "options", column_list (columns, rows_of_array (rows)));
      json_object_array_add (list, object);
    }
  json_object_object_add (root, "plans", list);
}

static void
describe (Document *document, gconstpointer answer)
{
  const RunPlanAnswer  *self = answer;
  g_autoptr (GPtrArray) told = g_ptr_array_new ();
  g_autoptr (GArray)    rows = g_array_new (FALSE, FALSE, sizeof (Row));
  g_autoptr (GString)   goal = g_string_new ("A run of "), types = g_string_new (NULL);

  for (guint p = 0; p < self->plans->len; p++)
    add_rows (rows, plan_at (self, p), FALSE);
  if (document_json (document) != NULL)
    add_json (document_json (document), self);
  append_goal (&self->goals[0], goal);
  document_title (document, "%s", goal->str);
  for (guint p = 0; p < self->plans->len; p++)
    {
      describe_answer (document, plan_at (self, p), &self->goals[p]);
      if (told_of (plan_at (self, p)) != NULL)
        g_ptr_array_add (told, told_of (plan_at (self, p))->prediction);
    }
  append_types (self->plans, types);
  document_lines (document, g_strchug (types->str));
  if (document_page (document) != NULL)
    document_section (document, "Days and money");
  document_picture (document, PICTURE_DAYS);
  document_picture (document, PICTURE_MONEY);
  for (guint first = 0; first < self->plans->len; first = group_end (self, first))
    describe_group (document, self, first, group_end (self, first));
  if (document_page (document) != NULL)
    run_plan_describe_assumptions (document, self);
  document_results (document, NULL, columns, rows_of_array (rows));
  if (document_page (document) == NULL)
    return;
  for (guint p = 0; p < self->plans->len; p++)
    if (told_of (plan_at (self, p)) != NULL)
      {
        g_autofree char *title = run_plan_title (plan_at (self, p));
        g_autofree char *name =
            g_strdup_printf ("Scenario on %u x %s", told_of (plan_at (self, p))->n_nodes, title);

        document_section (document, name);
        describe_scenario (document, told_of (plan_at (self, p))->prediction);
      }
  describe_provenance (document, told);
}

const PageKind run_plan_page = { .draw = run_plan_draw, .describe = describe, .columns = columns };
