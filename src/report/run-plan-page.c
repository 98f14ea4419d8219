/* A planned run as a page: `plan --html` and `--plot`. */
#include <math.h>
#include <string.h>

#include "report/html-private.h"
#include "report/report.h"
#include "report/run-plan-private.h"

#define HOUR       3600.0
#define MWH        3.6e9
#define PLOT_WIDTH 640
#define COLUMN     8 /* pixels of a character, at most */
#define MAX_NAME   44

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

/* ---- pictures -------------------------------------------------------------------------------- */

/* What is drawn over the nodes, in a unit to read. */
typedef struct
{
  const char *name, *title, *y_title, *limit_title;
  gboolean    logarithmic; /* it falls as nodes are added */
  void (*values) (const RunOption *option, double *y, double *low, double *high);
  double (*limit) (const RunGoal *goal); /* 0: none */
} Curve;

static void
days_of (const RunOption *option, double *y, double *low, double *high)
{
  *y = option->goodput.wall_s / DAY;
  *low = option->sample.p10_s / DAY;
  *high = option->sample.p90_s / DAY;
}

static double
days_limit (const RunGoal *goal)
{
  return goal->deadline_s / DAY;
}

static void
money_of (const RunOption *option, double *y, double *low, double *high)
{
  *y = *low = *high = option->money > 0 ? option->money : NAN;
}

static double
money_limit (const RunGoal *goal)
{
  return goal->budget;
}

static const Curve curves[] = {
  { "days", "Days over nodes (band: p10 - p90)", "days", "deadline", TRUE, days_of, days_limit },
  { "money", "Money over nodes (p90)", "money", "budget", FALSE, money_of, money_limit },
};

/* The ends of both axes. */
typedef struct
{
  double x_least, x_most, y_least, y_most;
} Frame;

static gboolean
has_point (const Curve *curve, const RunOption *option, double *y, double *low, double *high)
{
  if (option->why != NULL)
    return FALSE;
  curve->values (option, y, low, high);
  return isfinite (*y) && isfinite (*low) && isfinite (*high);
}

/* Appends the block of PLAN. */
static void
append_curve (const Curve *curve, const RunPlan *plan, Frame *frame, GString *data)
{
  for (guint i = 0; i < plan->options->len; i++)
    {
      const RunOption *option = option_at (plan, i);
      double           y, low, high;

      if (!has_point (curve, option, &y, &low, &high))
        continue;
      plot_append_number (data, option->n_nodes);
      plot_append_number (data, y);
      plot_append_number (data, low);
      plot_append_number (data, high);
      g_string_append_c (data, '\n');
      *frame = (Frame){ MIN (frame->x_least, option->n_nodes), MAX (frame->x_most, option->n_nodes),
                        MIN (frame->y_least, MIN (y, low)), MAX (frame->y_most, MAX (y, high)) };
    }
  g_string_append (data, "\n\n");
}

static void
set_frame (const Curve *curve, const Frame *frame, double limit, GString *settings)
{
  const double most = MAX (frame->y_most, limit);
  const double least = limit > 0 ? MIN (frame->y_least, limit) : frame->y_least;

  plot_set_text (settings, "title_text", curve->title);
  plot_set_text (settings, "x_title", "nodes");
  plot_set_text (settings, "y_title", curve->y_title);
  plot_set_text (settings, "limit_title", curve->limit_title);
  plot_set_number (settings, "limit", limit);
  plot_set_number (settings, "logarithmic", curve->logarithmic);
  plot_set_number (settings, "x_least", frame->x_least / 1.2);
  plot_set_number (settings, "x_most", frame->x_most * 1.2);
  plot_set_number (settings, "y_least", curve->logarithmic ? least / 1.3 : 0);
  plot_set_number (settings, "y_most", most * (curve->logarithmic ? 1.3 : 1.1));
}

/* What tells plan I from the others: its type of node, its scenario, or both. Newly allocated. */
static char *
series_name (const RunPlanAnswer *self, guint i)
{
  const RunPlan *plan = plan_at (self, i);
  const gboolean one_type =
      g_str_equal (plan_at (self, 0)->cluster, plan_at (self, self->plans->len - 1)->cluster);
  g_autofree char *name =
      plan->label != NULL && one_type ? g_strdup (plan->label) : run_plan_title (plan);

  return gnuplot_plain_text (name, MAX_NAME);
}

/* Nothing where no number of nodes has a point. */
static gboolean
add_curve (GArray *pictures, const PlotScripts *scripts, const Curve *curve,
           const RunPlanAnswer *self, GError **error)
{
  g_autoptr (GString) settings = g_string_new (NULL), data = g_string_new (NULL);
  Frame               frame = { INFINITY, -INFINITY, INFINITY, -INFINITY };
  guint               list = 60;

  g_string_append (data, "# nodes y low high\n");
  g_string_append_printf (settings, "array series[%u] = [", self->plans->len);
  for (guint i = 0; i < self->plans->len; i++)
    {
      g_autofree char *name = series_name (self, i);

      g_string_append (settings, i > 0 ? ", " : "");
      gnuplot_append_quoted (settings, name);
      list = MAX (list, 60 + COLUMN * (guint) g_utf8_strlen (name, -1));
      append_curve (curve, plan_at (self, i), &frame, data);
    }
  g_string_append (settings, "]\n");
  if (!isfinite (frame.x_least))
    return TRUE;
  set_frame (curve, &frame, curve->limit (&self->goals[0]), settings);
  plot_set_number (settings, "list_share", (double) list / (PLOT_WIDTH + list));
  return plot_add (pictures, scripts, curve->name, "run-plan", g_steal_pointer (&settings),
                   g_steal_pointer (&data), PLOT_WIDTH + list, 420, error);
}

static gboolean
draw (GArray *pictures, const PlotScripts *scripts, gconstpointer answer, GError **error)
{
  for (guint i = 0; i < G_N_ELEMENTS (curves); i++)
    if (!add_curve (pictures, scripts, &curves[i], answer, error))
      return FALSE;
  return TRUE;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static char *
title (gconstpointer answer)
{
  const RunPlanAnswer *self = answer;
  g_autoptr (GString)  text = g_string_new ("A run of ");

  run_plan_append_goal (&self->goals[0], text);
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
add_verdict (HtmlPage *page, const RunPlan *plan, const RunGoal *goal)
{
  const RunOption    *told = told_of (plan);
  g_autoptr (GString) text = g_string_new (NULL);
  g_autofree char    *title = run_plan_title (plan);

  run_plan_append_answer (plan, goal, text);
  g_strchomp (text->str);
  g_string_set_size (text, strlen (text->str));
  if (told != NULL)
    {
      g_autofree char *days = run_plan_days (told->goodput.wall_s);
      g_autofree char *low = run_plan_days (told->sample.p10_s);
      g_autofree char *high = run_plan_days (told->sample.p90_s);
      g_autofree char *money = run_plan_amount (told->money);

      g_string_append_printf (text, "%s%u x %s: %s days (p10 - p90: %s - %s)",
                              text->len > 0 ? " " : "", told->n_nodes, title, days, low, high);
      g_string_append_printf (text, *money != '\0' ? ", money: %s." : ".", money);
    }
  html_page_add_verdict (page, plan->best != NULL ? HTML_GOOD : HTML_BAD, text->str);
}

static void
add_tiles (HtmlPage *page, const RunOption *option)
{
  g_autofree char *nodes = g_strdup_printf ("%u", option->n_nodes);
  g_autofree char *gpus = g_strdup_printf ("%u GPUs", option->prediction->n_gpus);
  g_autofree char *days = run_plan_days (option->goodput.wall_s);
  g_autofree char *low = run_plan_days (option->sample.p10_s);
  g_autofree char *high = run_plan_days (option->sample.p90_s);
  g_autofree char *band = g_strdup_printf ("p10 - p90: %s - %s", low, high);
  g_autofree char *goodput = g_strdup_printf ("%.1f %%", option->goodput.useful * 100);
  g_autofree char *step = quantity_format (QUANTITY_TIME, option->prediction->step_time_s, 4);
  g_autofree char *of = g_strdup_printf ("MFU %.1f %%", option->prediction->mfu_percent);
  g_autofree char *hours = run_plan_amount (option->gpu_hours);
  g_autofree char *money = run_plan_amount (option->money);
  g_autofree char *energy = run_plan_amount (option->energy_j / MWH);
  const HtmlFact   facts[] = {
      { "nodes", nodes, gpus },
      { "days", days, band },
      { "goodput", goodput, "of the time is new work" },
      { "step time", step, of },
      { "GPU-hours", hours, "p90, spare nodes among them" },
      { "money", money, "p90" },
      { "energy (MWh)", energy, "p90" },
  };
  HtmlFact known[G_N_ELEMENTS (facts)];
  guint    n = 0;

  for (guint i = 0; i < G_N_ELEMENTS (facts); i++)
    if (*facts[i].value != '\0')
      known[n++] = facts[i];
  html_page_add_tiles (page, known, n);
}

/* ---- the numbers of nodes -------------------------------------------------------------------- */

static const HtmlColumn columns[] = {
  { "nodes", TRUE },     { "GPUs", TRUE },    { "tokens/step", TRUE }, { "step", TRUE },
  { "MFU", TRUE },       { "goodput", TRUE }, { "days", TRUE },        { "p10 - p90", TRUE },
  { "GPU-hours", TRUE }, { "money", TRUE },   { "MWh", TRUE },         { "configuration", FALSE },
  { "verdict", FALSE },
};

static void
add_amount (HtmlTable *table, double value)
{
  g_autofree char *text = run_plan_amount (value);

  html_table_add_number (table, text, *text != '\0' ? value : NAN);
}

static void
add_run (HtmlTable *table, const RunOption *option)
{
  const Prediction *p = option->prediction;
  const Goodput    *g = &option->goodput;
  g_autofree char  *gpus = g_strdup_printf ("%u", p->n_gpus);
  g_autofree char  *tokens = quantity_format (QUANTITY_COUNT, p->tokens_per_step, 3);
  g_autofree char  *step = quantity_format (QUANTITY_TIME, p->step_time_s, 3);
  g_autofree char  *mfu = g_strdup_printf ("%.1f %%", p->mfu_percent);
  g_autofree char  *goodput = g_strdup_printf ("%.1f %%", g->useful * 100);
  g_autofree char  *days = run_plan_days (g->wall_s);
  g_autofree char  *low = run_plan_days (option->sample.p10_s);
  g_autofree char  *high = run_plan_days (option->sample.p90_s);
  g_autofree char  *band = g_strdup_printf ("%s - %s", low, high);

  html_table_add_number (table, gpus, p->n_gpus);
  html_table_add_number (table, tokens, p->tokens_per_step);
  html_table_add_number (table, step, p->step_time_s);
  html_table_add_number (table, mfu, p->mfu_percent);
  html_table_add_number (table, goodput, g->useful);
  html_table_add_number (table, days, g->wall_s);
  html_table_add_number (table, band, option->sample.p90_s);
  add_amount (table, option->gpu_hours);
  add_amount (table, option->money);
  add_amount (table, option->energy_j / MWH);
  html_table_add_text (table, option->choice.label != NULL ? option->choice.label : p->strategy);
}

static void
add_row (HtmlTable *table, const RunPlan *plan, const RunOption *option)
{
  g_autofree char *nodes = g_strdup_printf ("%u", option->n_nodes);
  g_autofree char *verdict = run_plan_verdict (plan, option);
  const gboolean   fewest = option == plan->best;

  html_table_mark_row (table, fewest ? HTML_GOOD : option->meets ? HTML_PLAIN : HTML_BAD);
  html_table_add_number (table, nodes, option->n_nodes);
  if (option->why == NULL)
    add_run (table, option);
  else
    for (guint i = 2; i < G_N_ELEMENTS (columns); i++)
      html_table_add_number (table, "", NAN);
  html_table_add_text (table, fewest ? "the fewest" : *verdict == '\0' ? "meets it" : verdict);
}

/* What was searched for the answer, to copy, and how sure it is. */
static void
add_choice (HtmlPage *page, const RunChoice *choice)
{
  g_autofree char    *command = g_strdup_printf ("shardsim simulate %s", choice->options);
  g_autoptr (GString) proof = g_string_new (NULL);

  run_plan_append_proof (choice, proof);
  html_page_add_lines (page, g_strchomp (proof->str));
  html_page_add_copyable (page, command);
}

static void
add_plan (HtmlPage *page, const RunPlan *plan)
{
  const RunOption    *told = told_of (plan);
  HtmlTable          *table = html_table_new (columns, G_N_ELEMENTS (columns));
  g_autoptr (GString) failures = g_string_new (NULL);
  g_autofree char    *title = run_plan_title (plan);

  html_page_add_section (page, title);
  if (told != NULL)
    add_tiles (page, told);
  for (guint i = 0; i < plan->options->len; i++)
    add_row (table, plan, option_at (plan, i));
  html_page_take_table (page, table);
  if (told != NULL && told->choice.label != NULL)
    add_choice (page, &told->choice);
  if (told != NULL)
    run_plan_append_failures (told, failures);
  if (failures->len > 0)
    html_page_add_lines (page, g_strchomp (failures->str));
}

/* ---- what it rests on ------------------------------------------------------------------------ */

#define OF_GOAL(member_) G_STRUCT_OFFSET (RunGoal, member_)

/* Where 0 is "not given", it says what that means. */
static const struct
{
  const char  *name;
  gsize        offset; /* a double of the goal */
  QuantityKind kind;
  const char  *unset;
} assumptions[] = {
  { "price of a GPU and hour", OF_GOAL (price), QUANTITY_COUNT, "not known" },
  { "power of a GPU with its share of the node", OF_GOAL (power_w), QUANTITY_POWER, "not known" },
  { "between failures of a GPU", OF_GOAL (failures.gpu_mtbf_s), QUANTITY_TIME, "never" },
  { "between failures of the rest of a node", OF_GOAL (failures.node_mtbf_s), QUANTITY_TIME,
    "never" },
  { "between failures of the job", OF_GOAL (failures.job_mtbf_s), QUANTITY_TIME, "never" },
  { "from a failure to the next step", OF_GOAL (failures.restart_s), QUANTITY_TIME, "none" },
  { "bytes that a parameter keeps", OF_GOAL (bytes_per_parameter), QUANTITY_BYTES, "none" },
  { "checkpoint", OF_GOAL (checkpoint_bytes), QUANTITY_BYTES, "what all parameters keep" },
  { "its bandwidth, of the job", OF_GOAL (checkpoint_bps), QUANTITY_BANDWIDTH, "not given" },
  { "its bandwidth, of a node", OF_GOAL (checkpoint_node_bps), QUANTITY_BANDWIDTH, "not given" },
  { "it holds up training", OF_GOAL (checkpoint_s), QUANTITY_TIME, "size over bandwidth" },
  { "work between checkpoints", OF_GOAL (failures.interval_s), QUANTITY_TIME, "the best (Daly)" },
  { "until a failed node is back", OF_GOAL (failures.repair_s), QUANTITY_TIME,
    "another is there at once" },
  { "between losses of a site", OF_GOAL (failures.site_mtbf_s), QUANTITY_TIME, "never" },
  { "until a lost site is back", OF_GOAL (failures.site_repair_s), QUANTITY_TIME, "at once" },
  { "all wait until a lost site is left out", OF_GOAL (failures.notice_s), QUANTITY_TIME, "none" },
  { "all wait until a site that is back has the state", OF_GOAL (failures.join_s), QUANTITY_TIME,
    "size over the best link to it" },
  { "until a node is slow for a while", OF_GOAL (failures.straggler_mtbf_s), QUANTITY_TIME,
    "never" },
  { "for how long", OF_GOAL (failures.straggler_s), QUANTITY_TIME, "" },
  { "steps take so many times as long", OF_GOAL (failures.straggler_slowdown), QUANTITY_COUNT, "" },
  { "a node is slow for good, probability", OF_GOAL (failures.slow_node_probability),
    QUANTITY_RATIO, "never" },
  { "the rate of its GPUs then", OF_GOAL (slow_node_rate), QUANTITY_RATIO, "" },
  { "jitter of a step", OF_GOAL (failures.jitter), QUANTITY_RATIO, "none" },
};

/* Plan P is the first of those on its type of node. */
static gboolean
begins_type (const RunPlanAnswer *self, guint p)
{
  return p == 0 || !g_str_equal (plan_at (self, p)->cluster, plan_at (self, p - 1)->cluster);
}

static void
add_counts (HtmlTable *table, const RunPlanAnswer *self, const char *name, gboolean spares)
{
  html_table_add_text (table, name);
  for (guint p = 0; p < self->plans->len; p++)
    {
      const RunGoal   *goal = &self->goals[p];
      const guint      n = spares ? goal->failures.n_spares : goal->n_runs;
      g_autofree char *text = g_strdup_printf ("%u", n);

      if (begins_type (self, p))
        html_table_add_number (table, text, n);
    }
}

/* "50000 h": rates of failures are said in hours. Newly allocated. */
static char *
assumption_text (QuantityKind kind, double value)
{
  return kind == QUANTITY_TIME && value >= 2 * HOUR ? g_strdup_printf ("%.10g h", value / HOUR)
                                                    : quantity_format (kind, value, 4);
}

/* A row an assumption, a column a type of node: scenarios on the same nodes assume the same. */
static void
add_assumptions (HtmlPage *page, const RunPlanAnswer *self)
{
  const guint            n = self->plans->len;
  g_autofree HtmlColumn *titles = g_new0 (HtmlColumn, n + 1);
  guint                  n_types = 0;
  HtmlTable             *table;

  titles[0].title = "assumption";
  for (guint p = 0; p < n; p++)
    if (begins_type (self, p))
      titles[++n_types] = (HtmlColumn){ plan_at (self, p)->cluster, TRUE };
  table = html_table_new (titles, n_types + 1);
  for (guint i = 0; i < G_N_ELEMENTS (assumptions); i++)
    {
      html_table_add_text (table, assumptions[i].name);
      for (guint p = 0; p < n; p++)
        {
          double           value = G_STRUCT_MEMBER (double, &self->goals[p], assumptions[i].offset);
          g_autofree char *text = value > 0 ? assumption_text (assumptions[i].kind, value) : NULL;

          if (begins_type (self, p))
            html_table_add_number (table, text != NULL ? text : assumptions[i].unset, value);
        }
    }
  add_counts (table, self, "nodes that stand by, and are paid", TRUE);
  add_counts (table, self, "sampled runs", FALSE);
  html_page_take_table (page, table);
  html_page_add_text (page,
                      "A number of nodes meets the goal when nine sampled runs in ten do. Rates of "
                      "failures, prices and power are as they were given: no profile has them.");
  html_page_add_text (page, "Not modelled: failures that come in groups, rates that change over a "
                            "run, work that goes on with fewer nodes where a strategy exchanges "
                            "each step, ramps of batch or sequence "
                            "length, evaluation.");
}

/* ---- the page -------------------------------------------------------------------------------- */

static void
add_all_results (HtmlPage *page, const RunPlanAnswer *self)
{
  g_autoptr (GString) csv = g_string_new (NULL);

  report_run_plan_csv (self->plans, csv);
  html_page_add_section (page, "All results");
  html_page_begin_fold (page, "Every column of --format csv");
  html_page_add_csv (page, csv->str);
  html_page_end_fold (page);
}

static void
fill (HtmlPage *page, const PagePictures *pictures, gconstpointer answer)
{
  const RunPlanAnswer  *self = answer;
  g_autoptr (GPtrArray) told = g_ptr_array_new ();

  for (guint p = 0; p < self->plans->len; p++)
    {
      add_verdict (page, plan_at (self, p), &self->goals[p]);
      if (told_of (plan_at (self, p)) != NULL)
        g_ptr_array_add (told, told_of (plan_at (self, p))->prediction);
    }
  html_page_add_section (page, "Days and money");
  for (guint i = 0; i < G_N_ELEMENTS (curves); i++)
    page_add_picture (page, pictures, curves[i].name);
  for (guint p = 0; p < self->plans->len; p++)
    add_plan (page, plan_at (self, p));
  html_page_add_section (page, "Assumptions");
  add_assumptions (page, self);
  add_all_results (page, self);
  for (guint p = 0; p < self->plans->len; p++)
    if (told_of (plan_at (self, p)) != NULL)
      {
        const RunOption *option = told_of (plan_at (self, p));
        g_autofree char *whole = run_plan_title (plan_at (self, p));
        g_autofree char *name = g_strdup_printf ("Scenario on %u x %s", option->n_nodes, whole);

        html_page_add_section (page, name);
        page_add_scenario (page, option->prediction);
      }
  html_page_add_section (page, "Provenance");
  page_add_provenance (page, told);
}

const PageKind run_plan_page = { title, draw, fill };
