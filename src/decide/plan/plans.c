#include "decide/plan/plans.h"
#include "base/intern.h"

#include <string.h>

#define PLANNING       "planning"
#define MOST_NODES     1024 /* of the numbers that are tried unless told */
#define MOST_COUNTS    256
#define MOST_OF_A_LIST 1048576

#define OPTION(member_) .offset = G_STRUCT_OFFSET (PlanWords, member_)

const OptionSpec plan_options[] = {
  { .key = "node_counts",
    .type = OPTION_STRING,
    OPTION (counts),
    .optional = TRUE,
    .help = "numbers of nodes, all of them: '8,12,16', '8..64' by doubling; unset: from 1 by "
            "doubling, up to the first that meets the goal, and between the last two" },
  { .key = "search",
    .type = OPTION_BOOL,
    OPTION (searches),
    .fallback = "false",
    .help = "search the best configuration of each number of nodes, around what the scenario sets; "
            "without asking where it names no strategy, or with --vary" },
  { 0 },
};

void
plan_words_clear (PlanWords *self)
{
  option_table_clear (run_options, &self->run);
  option_table_clear (plan_options, self);
  search_words_clear (&self->search);
  g_strfreev (self->types);
}

/* ---- words ----------------------------------------------------------------------------------- */

/* "8,12,16", "8..64" and both together, as an array of guint. NULL after a diagnostic. */
static GArray *
read_counts (const PlanWords *self, DiagList *diags)
{
  g_autofree char   *doubled = g_strdup_printf ("1..%u", MOST_NODES);
  const char        *text = self->counts != NULL ? self->counts : doubled;
  g_auto (GStrv)     parts = g_strsplit (text, ",", -1);
  g_autoptr (GArray) nodes = g_array_new (FALSE, FALSE, sizeof (guint));

  if (parts[0] == NULL)
    {
      diag_error (diags, NULL, "'8,12,16' or '8..64'", "--node-counts: there is no number");
      return NULL;
    }
  for (guint i = 0; parts[i] != NULL; i++)
    {
      const char  *dots = strstr (parts[i], "..");
      char        *end;
      const gint64 first = g_ascii_strtoll (parts[i], &end, 10);
      const guint  before = nodes->len;
      gint64       last = first;

      if (dots != NULL)
        last = end == dots ? g_ascii_strtoll (dots + 2, &end, 10) : 0;
      for (gint64 n = first; *end == '\0' && n >= 1 && n <= last && last <= MOST_OF_A_LIST; n *= 2)
        {
          const guint count = (guint) n;

          if (nodes->len > 0 && g_array_index (nodes, guint, nodes->len - 1) >= count)
            break;
          g_array_append_val (nodes, count);
        }
      if (nodes->len > before && nodes->len <= MOST_COUNTS)
        continue;
      diag_error (diags, NULL,
                  "whole numbers from 1 to 1048576, ascending, and 'A..B' for A, 2 A, 4 A, ...",
                  "--node-counts: '%s' is no list of numbers of nodes", text);
      return NULL;
    }
  return g_steal_pointer (&nodes);
}

gboolean
plan_words_check (const PlanWords *self, DiagList *diags)
{
  g_autoptr (GArray) nodes = read_counts (self, diags);

  if (nodes != NULL && self->run.goal.tokens == 0)
    diag_error (diags, NULL, "--tokens 2T", "how many tokens to train on is not said");
  for (guint i = 0; self->types != NULL && self->types[i] != NULL; i++)
    {
      const char *type = self->types[i];

      if (*type == '\0')
        diag_error (diags, NULL, "--gpu-nodes dgx-h100,dgx-a100", "a type of node is empty");
      for (guint j = 0; j < i; j++)
        if (*type != '\0' && g_ascii_strcasecmp (self->types[j], type) == 0)
          diag_error (diags, NULL, "each type once", "--gpu-nodes names '%s' twice", type);
    }
  return !diag_list_has_errors (diags);
}

void
plan_words_add_override (const PlanWords *self, GArray *overrides)
{
  g_autofree char *first = self->types != NULL ? g_strdup_printf ("1 x %s", self->types[0]) : NULL;
  const ScenarioOverride cluster = { "cluster.name", intern_text (first), "--gpu-nodes" };

  if (first != NULL)
    g_array_append_val (overrides, cluster);
}

static gboolean
is_asked_to_search (const PlanWords *self)
{
  return self->searches || self->search.n_varied > 0;
}

gboolean
plan_words_search (const PlanWords *self, const GPtrArray *scenarios)
{
  gboolean complete = TRUE;

  for (guint i = 0; i < scenarios->len; i++)
    complete = complete && ((const Scenario *) g_ptr_array_index (scenarios, i))->strategy != NULL;
  return is_asked_to_search (self) || !complete;
}

/* What a search of SCENARIO needs. FALSE after diagnostics. */
static gboolean
check_search (const PlanWords *words, const Scenario *scenario, gboolean searches, DiagList *diags)
{
  const SearchWords *search = &words->search;

  if (searches && scenario->training.global_batch == 0)
    diag_error (diags, NULL,
                "--global-batch 1024: sequences of a step; or name a --strategy to run the "
                "scenario as it is",
                "a search needs the batch, so that a step is the same on every number of nodes");
  for (guint i = 0; i < search->n_varied; i++)
    if (g_str_has_prefix (search->varied[i].key, "cluster."))
      diag_error (diags, &search->varied[i].mark,
                  "--gpu-nodes and --node-counts give the types and numbers of nodes",
                  "the cluster is the plan's to vary");
  if (!searches
      && (search->only || search->no_refine || search->simulate > 0 || search->effort > 0
          || search->max_memory > 0 || search->max_host_memory > 0))
    diag_error (diags, NULL, "--search",
                "options of a search are given, and the scenario names a strategy");
  return !diag_list_has_errors (diags);
}

/* ---- plans ----------------------------------------------------------------------------------- */

void
plans_clear (Plans *self)
{
  g_clear_pointer (&self->plans, g_ptr_array_unref);
  g_free (self->goals);
}

/* Sets what plan I is of: each type of node that is asked for, on it each scenario. The type is
 * NULL where the scenario's cluster has no name. */
static void
set_subject (PlanChooser *chooser, const PlanWords *words, const GPtrArray *scenarios, guint i)
{
  chooser->scenario = g_ptr_array_index (scenarios, i % scenarios->len);
  chooser->type = words->types != NULL ? words->types[i / scenarios->len]
                                       : scenario_node_type (chooser->scenario);
}

/* The goals of N plans. FALSE after diagnostics. */
static gboolean
take_goals (PlanChooser *chooser, const PlanWords *words, const GPtrArray *scenarios, guint n,
            RunGoal *goals, DiagList *diags)
{
  g_autoptr (GPtrArray) types = g_ptr_array_new ();
  const RunOptions     *options = &words->run;

  diag_list_drop_repeats (diags, TRUE);
  for (guint i = 0; i < n; i++)
    {
      RunFacts facts;

      set_subject (chooser, words, scenarios, i);
      g_ptr_array_add (types, (gpointer) plan_chooser_type (chooser));
      if (words->types != NULL && !plan_chooser_check (chooser, diags))
        continue;
      facts = plan_chooser_facts (chooser, options->checkpoint_tier == RUN_TIER_NVME);
      if (run_options_goal (options, &facts, &goals[i], diags))
        plan_chooser_limit (chooser, &goals[i]);
    }
  diag_list_drop_repeats (diags, FALSE);
  g_ptr_array_add (types, NULL);
  run_options_check_types (options, (const char *const *) types->pdata, diags);
  return !diag_list_has_errors (diags);
}

static void
make_each (Plans *self, PlanChooser *chooser, const PlanWords *words, const GPtrArray *scenarios,
           const GArray *nodes, guint n)
{
  const PlanProgress *progress = chooser->searches ? NULL /* a search shows its own */
                                                   : chooser->context->progress;
  gpointer            shown;

  chooser->predict.count = plan_progress_begin (progress, PLANNING, "predictions", &shown);
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) winners = plan_winners_new ();
      RunPlan              *plan;

      set_subject (chooser, words, scenarios, i);
      chooser->winners = winners;
      chooser->loses_sites = goodput_loses_sites (&self->goals[i].failures);
      plan = run_plan_new (&self->goals[i], plan_chooser_type (chooser),
                           (const guint *) (void *) nodes->data, nodes->len, words->counts != NULL,
                           plan_choose, chooser, chooser->predict.replay.stop);
      if (scenarios->len > 1)
        plan->label = g_strdup (chooser->scenario->name);
      g_ptr_array_add (self->plans, plan);
    }
  plan_progress_end (progress, PLANNING, shown);
}

/* The first of the numbers of nodes, where not even one has an answer; NULL: one has. */
static const RunOption *
first_of_none (const GPtrArray *plans)
{
  const RunOption *first = NULL;

  for (guint p = 0; p < plans->len; p++)
    {
      const RunPlan *plan = g_ptr_array_index (plans, p);

      for (guint i = 0; i < plan->options->len; i++)
        {
          const RunOption *option = g_ptr_array_index (plan->options, i);

          if (option->answered)
            return NULL;
          first = first != NULL ? first : option;
        }
    }
  return first;
}

gboolean
plans_make (Plans *self, const GPtrArray *scenarios, const PlanWords *words,
            const SearchOptions *search, const PredictOptions *predict, const PlanContext *context,
            DiagList *diags)
{
  const Scenario    *scenario = g_ptr_array_index (scenarios, 0);
  const guint        n = scenarios->len * (words->types != NULL ? g_strv_length (words->types) : 1);
  g_autoptr (GArray) nodes = read_counts (words, diags);
  SearchOptions      options = *search;
  PlanChooser        chooser = {
           .context = context,
           .scenario = scenario,
           .predict = *predict,
           .slow_node_rate = words->run.goal.slow_node_rate,
           .searches = is_asked_to_search (words) || scenario->strategy == NULL,
           .words = &words->search,
           .search = &options,
  };
  const RunOption *none;

  search_words_apply (&words->search, &options);
  self->goals = g_new0 (RunGoal, n);
  self->plans = g_ptr_array_new_with_free_func ((GDestroyNotify) run_plan_free);
  if (nodes == NULL || !check_search (words, scenario, chooser.searches, diags)
      || !take_goals (&chooser, words, scenarios, n, self->goals, diags))
    return FALSE;
  make_each (self, &chooser, words, scenarios, nodes, n);
  none = first_of_none (self->plans);
  if (none != NULL)
    diag_error (diags, NULL, none->hint, "%s", none->why);
  return none == NULL;
}
