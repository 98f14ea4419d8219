#include <math.h>

#include "report/fields-private.h"
#include "report/run-plan-private.h"
#include "report/terminal-private.h"

#define HOUR 3600.0
#define MWH  3.6e9

/* ---- fields ---------------------------------------------------------------------------------- */

/* A number of nodes, and the plan that it is of. */
typedef struct
{
  const RunPlan    *plan;
  const RunOption  *option;
  const Prediction *prediction; /* NULL: none */
} Row;

static double
of_prediction (const Row *row, double value)
{
  return row->prediction != NULL ? value : NAN;
}

#define TEXT_OF(name, expression)   FIELD_TEXT_OF (Row, text_##name, expression)
#define NUMBER_OF(name, expression) FIELD_NUMBER_OF (Row, number_##name, expression)
#define OF_RUN(name, expression)    NUMBER_OF (name, p->option->why == NULL ? (expression) : NAN)

TEXT_OF (cluster, p->plan->cluster)
TEXT_OF (scenario, p->plan->label)
TEXT_OF (why, p->option->why)
TEXT_OF (strategy, p->prediction != NULL ? p->prediction->strategy : NULL)
TEXT_OF (model, p->prediction != NULL ? p->prediction->model : NULL)
TEXT_OF (configuration, p->option->choice.label)
TEXT_OF (options, p->option->choice.options)
TEXT_OF (caveats, p->prediction != NULL ? p->prediction->caveats : NULL)
NUMBER_OF (n_nodes, p->option->n_nodes)
NUMBER_OF (meets, p->option->meets)
NUMBER_OF (best, p->option == p->plan->best)
NUMBER_OF (n_gpus, of_prediction (p, p->prediction != NULL ? p->prediction->n_gpus : 0))
NUMBER_OF (step_time_s, of_prediction (p, p->prediction != NULL ? p->prediction->step_time_s : 0))
NUMBER_OF (tokens_per_step,
           of_prediction (p, p->prediction != NULL ? p->prediction->tokens_per_step : 0))
NUMBER_OF (mfu_percent, of_prediction (p, p->prediction != NULL ? p->prediction->mfu_percent : 0))
NUMBER_OF (open, p->option->choice.label != NULL ? (double) p->option->choice.n_open : NAN)
OF_RUN (open_gain, p->option->choice.n_open > 0 ? p->option->choice.open_gain : 0)
OF_RUN (steps, (double) p->option->n_steps)
OF_RUN (mtbf_s, p->option->goodput.mtbf_s)
OF_RUN (interruptions, p->option->goodput.n_interruptions)
OF_RUN (checkpoint_bytes, p->option->checkpoint_bytes)
OF_RUN (checkpoint_s, p->option->input.checkpoint_s)
OF_RUN (checkpoint_interval_s, (double) p->option->goodput.interval_steps * p->option->input.step_s)
OF_RUN (goodput, p->option->goodput.useful)
OF_RUN (wall_s, p->option->goodput.wall_s)
OF_RUN (wall_p10_s, p->option->sample.p10_s)
OF_RUN (wall_p50_s, p->option->sample.p50_s)
OF_RUN (wall_p90_s, p->option->sample.p90_s)
OF_RUN (gpu_hours, p->option->gpu_hours)
OF_RUN (money, p->option->money)
OF_RUN (energy_j, p->option->energy_j)
OF_RUN (late_s, p->option->late_s)
OF_RUN (over_budget, p->option->over)
OF_RUN (slow_probability, p->option->goodput.slow)
OF_RUN (slow_step_time_s, p->option->input.slow_step_s)
OF_RUN (sites, p->option->input.n_sites)
OF_RUN (site_loss_s, p->option->goodput.site_loss_s)
OF_RUN (sites_missing, p->option->goodput.missing)
OF_RUN (join_s, p->option->goodput.site_loss_s > 0 ? p->option->input.join_s : 0)

#define FIELD(name_, type_)                                         \
  {                                                                 \
    .name = #name_, .type = FIELD_##type_, .number = number_##name_ \
  }
#define WORD(name_)                                          \
  {                                                          \
    .name = #name_, .type = FIELD_WORD, .text = text_##name_ \
  }

static const Field fields[] = {
  WORD (cluster),
  FIELD (n_nodes, NUMBER),
  FIELD (n_gpus, NUMBER),
  FIELD (meets, BOOL),
  FIELD (best, BOOL),
  WORD (why),
  WORD (strategy),
  WORD (model),
  FIELD (step_time_s, NUMBER),
  FIELD (tokens_per_step, NUMBER),
  FIELD (mfu_percent, NUMBER),
  FIELD (steps, NUMBER),
  FIELD (mtbf_s, OPTIONAL),
  FIELD (interruptions, NUMBER),
  FIELD (checkpoint_bytes, NUMBER),
  FIELD (checkpoint_s, NUMBER),
  FIELD (checkpoint_interval_s, OPTIONAL),
  FIELD (goodput, NUMBER),
  FIELD (wall_s, NUMBER),
  FIELD (wall_p10_s, NUMBER),
  FIELD (wall_p50_s, NUMBER),
  FIELD (wall_p90_s, NUMBER),
  FIELD (gpu_hours, NUMBER),
  FIELD (money, OPTIONAL),
  FIELD (energy_j, OPTIONAL),
  FIELD (late_s, NUMBER),
  FIELD (over_budget, NUMBER),
  WORD (configuration),
  WORD (options),
  FIELD (open, NUMBER),
  FIELD (open_gain, OPTIONAL),
  FIELDS_OF_THE_PROGRAM,
  FIELD (slow_probability, OPTIONAL),
  FIELD (slow_step_time_s, OPTIONAL),
  WORD (scenario),
  WORD (caveats),
  FIELD (sites, OPTIONAL),
  FIELD (site_loss_s, OPTIONAL),
  FIELD (sites_missing, OPTIONAL),
  FIELD (join_s, OPTIONAL),
  { 0 },
};

static Row
row_of (const RunPlan *plan, guint i)
{
  const RunOption *option = g_ptr_array_index (plan->options, i);

  return (Row){ plan, option, option->prediction };
}

void
report_run_plan_csv (const GPtrArray *plans, GString *out)
{
  g_autoptr (GArray) rows = g_array_new (FALSE, FALSE, sizeof (Row));

  for (guint p = 0; p < plans->len; p++)
    for (guint i = 0; i < ((const RunPlan *) g_ptr_array_index (plans, p))->options->len; i++)
      {
        const Row row = row_of (g_ptr_array_index (plans, p), i);

        g_array_append_val (rows, row);
      }
  fields_csv (fields, rows->data, rows->len, sizeof (Row), out);
}

void
report_run_plan_json (const GPtrArray *plans, GString *out)
{
  struct json_object *root = json_document_new (), *list = json_object_new_array ();

  for (guint p = 0; p < plans->len; p++)
    {
      const RunPlan      *plan = g_ptr_array_index (plans, p);
      struct json_object *object = json_object_new_object ();
      struct json_object *options = json_object_new_array ();

      json_add_text (object, "cluster", plan->cluster);
      json_object_object_add (
          object, "best", plan->best != NULL ? json_object_new_int64 (plan->best->n_nodes) : NULL);
      for (guint i = 0; i < plan->options->len; i++)
        {
          const Row row = row_of (plan, i);

          json_object_array_add (options, fields_json (fields, &row));
        }
      json_object_object_add (object, "options", options);
      json_object_array_add (list, object);
    }
  json_object_object_add (root, "plans", list);
  json_finish (root, out);
}

/* ---- text ------------------------------------------------------------------------------------ */

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

char *
run_plan_verdict (const RunPlan *plan, const RunOption *option)
{
  g_autofree char    *late = option->late_s > 0 ? run_plan_days (option->late_s) : NULL;
  g_autofree char    *over = option->over > 0 ? run_plan_amount (option->over) : NULL;
  g_autoptr (GString) text = g_string_new (option->why);

  if (option == plan->best)
    g_string_append (text, "<");
  if (late != NULL)
    g_string_append_printf (text, "%s days late", late);
  if (over != NULL)
    g_string_append_printf (text, "%s%s over budget", text->len > 0 ? ", " : "", over);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

char *
run_plan_title (const RunPlan *plan)
{
  return plan->label != NULL ? g_strdup_printf ("%s, %s", plan->cluster, plan->label)
                             : g_strdup (plan->cluster);
}

#define N_COLUMNS 13

/* Plans of several scenarios on the same nodes stand in one table. */
typedef struct
{
  const GPtrArray *plans;
  guint            first, last;
} Group;

static const RunPlan *
plan_of (const Group *self, guint i)
{
  return g_ptr_array_index (self->plans, i);
}

/* What tells the configuration of OPTION from others. Newly allocated; NULL: nothing does. */
static char *
label_of (const RunPlan *plan, const RunOption *option)
{
  if (plan->label == NULL || option->choice.label == NULL)
    return g_strdup (plan->label != NULL ? plan->label : option->choice.label);
  return g_strdup_printf ("%s, %s", plan->label, option->choice.label);
}

/* The last one only where there are several. */
static guint
n_columns (const Group *self)
{
  for (guint p = self->first; p <= self->last; p++)
    for (guint i = 0; i < plan_of (self, p)->options->len; i++)
      {
        const RunPlan   *plan = plan_of (self, p);
        g_autofree char *label = label_of (plan, g_ptr_array_index (plan->options, i));

        if (label != NULL)
          return N_COLUMNS;
      }
  return N_COLUMNS - 1;
}

/* The last of the options from I on that cannot be for the same reason; I: it can, or is alone. */
static guint
last_alike (const RunPlan *plan, guint i)
{
  const RunOption *first = g_ptr_array_index (plan->options, i);

  while (first->why != NULL && i + 1 < plan->options->len
         && g_strcmp0 (first->why, ((const RunOption *) plan->options->pdata[i + 1])->why) == 0)
    i++;
  return i;
}

/* LAST: the option that ends those that are like OPTION. */
static void
add_line (struct libscols_table *table, guint most, const RunPlan *plan, const RunOption *option,
          const RunOption *last)
{
  const Prediction *p = option->prediction;
  char             *cells[N_COLUMNS + 1] = { NULL };
  guint             n = 0;

  cells[n++] = option == last ? g_strdup_printf ("%u", option->n_nodes)
                              : g_strdup_printf ("%u - %u", option->n_nodes, last->n_nodes);
  if (option->why != NULL)
    {
      g_autofree char *verdict = run_plan_verdict (plan, option);

      for (; n < most - 1; n++)
        cells[n] = g_strdup ("");
      cells[n++] = plan->label != NULL ? g_strdup_printf ("%s: %s", plan->label, verdict)
                                       : g_steal_pointer (&verdict);
      terminal_table_take (table, cells);
      return;
    }
  cells[n++] = g_strdup_printf ("%u", p->n_gpus);
  cells[n++] = quantity_format (QUANTITY_COUNT, p->tokens_per_step, 3);
  cells[n++] = quantity_format (QUANTITY_TIME, p->step_time_s, 3);
  cells[n++] = g_strdup_printf ("%.1f %%", p->mfu_percent);
  cells[n++] = g_strdup_printf ("%.1f %%", option->goodput.useful * 100);
  cells[n++] = run_plan_days (option->goodput.wall_s);
  {
    g_autofree char *low = run_plan_days (option->sample.p10_s),
                    *high = run_plan_days (option->sample.p90_s);

    cells[n++] = g_strdup_printf ("%s - %s", low, high);
  }
  cells[n++] = run_plan_amount (option->gpu_hours);
  cells[n++] = run_plan_amount (option->money);
  cells[n++] = run_plan_amount (option->energy_j / MWH);
  cells[n++] = run_plan_verdict (plan, option);
  if (n < most)
    cells[n++] = label_of (plan, option);
  terminal_table_take (table, cells);
}

void
run_plan_append_proof (const RunChoice *choice, GString *out)
{
  if (choice->n_failed > 0)
    g_string_append_printf (out, "%u of those that were simulated failed: %s\n", choice->n_failed,
                            choice->failure);
  if (choice->n_open == 0 && choice->n_failed == 0)
    g_string_append (out, "Nothing that was searched has a better bound: it is proved best.\n");
  else if (choice->n_open > 0)
    g_string_append_printf (out,
                            "%" G_GUINT64_FORMAT
                            " configurations were not tried; by their bounds none is more than "
                            "%.2f times as fast (--effort 4 tries more).\n",
                            choice->n_open, choice->open_gain);
}

/* What was chosen, and how sure that is. */
static void
append_choice (const RunChoice *choice, GString *out)
{
  if (choice->label == NULL)
    return;
  g_string_append_printf (out, "\n  shardsim simulate %s\n\n", choice->options);
  if (choice->faster != NULL)
    g_string_append_printf (out, "The simplest that is as good: %s.\n", choice->faster);
  run_plan_append_proof (choice, out);
}

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

void
run_plan_append_failures (const RunOption *option, GString *out)
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

void
run_plan_append_answer (const RunPlan *plan, const RunGoal *goal, GString *out)
{
  const RunOption *told = plan->best != NULL ? plan->best : plan->nearest;
  g_autofree char *title = run_plan_title (plan);

  if (plan->options->len == 0)
    g_string_append_printf (out, "%s: no number of nodes was tried.\n", title);
  else if (told == NULL)
    g_string_append_printf (out, "%s: no number of nodes that was tried can do it.\n", title);
  else if (plan->best == NULL)
    g_string_append_printf (out,
                            "%s: no number of nodes that was tried meets it; the nearest: %u.\n",
                            title, told->n_nodes);
  else if (goal->deadline_s > 0 || goal->budget > 0)
    g_string_append_printf (out, "%s: the fewest nodes tried that meet it: %u.\n", title,
                            told->n_nodes);
}

/* What is said of PLAN below its table, as lines. */
static void
append_told (const RunPlan *plan, const RunGoal *goal, GString *out)
{
  const RunOption    *told = plan->best != NULL ? plan->best : plan->nearest;
  g_autoptr (GString) lines = g_string_new (NULL);

  run_plan_append_answer (plan, goal, lines);
  if (told != NULL)
    append_choice (&told->choice, lines);
  if (told != NULL)
    run_plan_append_failures (told, lines);
  if (plan->label != NULL && !g_str_has_prefix (lines->str, plan->cluster) && lines->len > 0)
    g_string_append_printf (out, "%s:\n", plan->label); /* no line names it */
  g_string_append (out, lines->str);
}

static void
append_group (const Group *self, const RunGoal *goals, GString *out)
{
  static const TerminalColumn columns[N_COLUMNS] = {
    { "nodes", TRUE },     { "GPUs", TRUE },    { "tokens/step", TRUE }, { "step", TRUE },
    { "MFU", TRUE },       { "goodput", TRUE }, { "days", TRUE },        { "p10 - p90", TRUE },
    { "GPU-hours", TRUE }, { "money", TRUE },   { "MWh", TRUE },         { "", FALSE },
    { "", FALSE },
  };
  const guint            most = n_columns (self);
  struct libscols_table *table = terminal_table_new (columns, most);

  for (guint p = self->first; p <= self->last; p++)
    {
      const RunPlan *plan = plan_of (self, p);

      for (guint i = 0, last; i < plan->options->len; i = last + 1)
        {
          last = last_alike (plan, i);
          add_line (table, most, plan, g_ptr_array_index (plan->options, i),
                    g_ptr_array_index (plan->options, last));
        }
    }
  terminal_table_finish (table, out);
  g_string_append_c (out, '\n');
  for (guint p = self->first; p <= self->last; p++)
    append_told (plan_of (self, p), &goals[p], out);
}

void
run_plan_append_goal (const RunGoal *goal, GString *out)
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

void
report_run_plan_text (const GPtrArray *plans, const RunGoal *goals, GString *out)
{
  run_plan_append_goal (&goals[0], out);
  g_string_append (out, "\n\n");
  for (Group group = { plans, 0, 0 }; group.first < plans->len; group.first = group.last + 1)
    {
      group.last = group.first;
      while (group.last + 1 < plans->len && plan_of (&group, group.first)->label != NULL
             && g_str_equal (plan_of (&group, group.first)->cluster,
                             plan_of (&group, group.last + 1)->cluster))
        group.last++;
      g_string_append (out, group.first > 0 ? "\n" : "");
      append_group (&group, goals, out);
    }
  append_types (plans, out);
}
