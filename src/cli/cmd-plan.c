/* shardsim plan: tokens, a deadline and a budget to nodes, days, money and energy. */
#include <string.h>

#include "cli/emit-arguments.h"
#include "cli/plan-chooser.h"
#include "cli/plan-membership.h"
#include "cli/progress.h"
#include "report/run-plan.h"

#define MOST_NODES     1024 /* of the numbers that are tried unless told */
#define MOST_COUNTS    256
#define MOST_OF_A_LIST 1048576
#define MAX_RUN_KEYS   32

/* ---- the command line ------------------------------------------------------------------------ */

typedef struct
{
  char       *texts[MAX_RUN_KEYS]; /* of run_options, by their order; NULL: not given */
  char      **types;
  char      **emitted;
  char       *counts, *membership;
  GArray     *nodes; /* guint, ascending */
  gboolean    every, searches;
  SearchWords search;
} PlanWords;

static void
plan_words_clear (PlanWords *self)
{
  for (guint i = 0; i < MAX_RUN_KEYS; i++)
    g_free (self->texts[i]);
  g_strfreev (self->types);
  g_strfreev (self->emitted);
  g_free (self->counts);
  g_free (self->membership);
  search_words_clear (&self->search);
  g_clear_pointer (&self->nodes, g_array_unref);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlanWords, plan_words_clear)

/* The options of the command, with names from STRINGS. Newly allocated. */
static GArray *
entries_new (PlanWords *words, GStringChunk *strings)
{
  GArray            *entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  const GOptionEntry own[] = {
    { "gpu-nodes", 0, 0, G_OPTION_ARG_STRING_ARRAY, &words->types,
      "type of node, in the place of the scenario's cluster; may be repeated", "NODE" },
    { "node-counts", 0, 0, G_OPTION_ARG_STRING, &words->counts,
      "numbers of nodes, all of them: '8,12,16', '8..64' by doubling; unset: from 1 by doubling, "
      "up to the first that meets the goal, and between the last two",
      "LIST" },
    { "membership", 0, 0, G_OPTION_ARG_FILENAME, &words->membership,
      "nodes leave and join: a CSV file 'time,nodes', or a column a site, of how many are there "
      "from when on",
      "FILE" },
    { "search", 0, 0, G_OPTION_ARG_NONE, &words->searches,
      "search the best configuration of each number of nodes, around what the scenario sets; "
      "without asking where it names no strategy, or with --vary",
      NULL },
    EMIT_OPTION (&words->emitted),
  };
  guint n = 0;

  for (const OptionSpec *spec = run_options; spec->key != NULL; spec++)
    {
      g_autofree char *name = g_strdelimit (g_strdup (spec->key), "_", '-');
      g_autofree char *help = spec->fallback != NULL
                                  ? g_strdup_printf ("%s (default %s)", spec->help, spec->fallback)
                                  : g_strdup (spec->help);
      GOptionEntry     entry = { .long_name = g_string_chunk_insert (strings, name),
                                 .arg = G_OPTION_ARG_STRING,
                                 .description = g_string_chunk_insert (strings, help),
                                 .arg_description = "VALUE" };

      g_assert (n < MAX_RUN_KEYS);
      entry.arg_data = &words->texts[n++];
      g_array_append_val (entries, entry);
    }
  g_array_append_vals (entries, own, G_N_ELEMENTS (own));
  search_words_add_options (&words->search, entries);
  return entries;
}

/* FALSE after diagnostics. */
static gboolean
take_options (const PlanWords *words, RunOptions *options, DiagList *diags)
{
  guint n = 0;

  option_table_defaults (run_options, options);
  for (const OptionSpec *spec = run_options; spec->key != NULL; spec++, n++)
    {
      g_autofree char *name = g_strdelimit (g_strconcat ("--", spec->key, NULL), "_", '-');
      SourceMark       mark = { .file = g_intern_string (name) };

      if (words->texts[n] != NULL)
        option_set (spec, options, words->texts[n], &mark, diags);
    }
  if (!diag_list_has_errors (diags) && options->goal.tokens == 0)
    diag_error (diags, NULL, "--tokens 2T", "how many tokens to train on is not said");
  return !diag_list_has_errors (diags);
}

/* "8,12,16", "8..64" and both together. FALSE after a diagnostic. */
static gboolean
take_counts (PlanWords *self, DiagList *diags)
{
  g_autofree char *doubled = g_strdup_printf ("1..%u", MOST_NODES);
  g_auto (GStrv)   parts = g_strsplit (self->counts != NULL ? self->counts : doubled, ",", -1);

  self->every = self->counts != NULL;
  self->nodes = g_array_new (FALSE, FALSE, sizeof (guint));
  if (parts[0] == NULL)
    diag_error (diags, NULL, "'8,12,16' or '8..64'", "--node-counts: there is no number");
  for (guint i = 0; parts[i] != NULL; i++)
    {
      const char  *dots = strstr (parts[i], "..");
      char        *end;
      const gint64 first = g_ascii_strtoll (parts[i], &end, 10);
      const gint64 last = dots != NULL ? g_ascii_strtoll (dots + 2, &end, 10) : first;
      const guint  before = self->nodes->len;

      for (gint64 n = first; *end == '\0' && n >= 1 && n <= last && last <= MOST_OF_A_LIST; n *= 2)
        {
          const guint count = (guint) n;

          if (self->nodes->len > 0
              && g_array_index (self->nodes, guint, self->nodes->len - 1) >= count)
            break;
          g_array_append_val (self->nodes, count);
        }
      if (self->nodes->len == before || self->nodes->len > MOST_COUNTS)
        {
          diag_error (diags, NULL,
                      "whole numbers from 1 to 1048576, ascending, and 'A..B' for A, 2 A, 4 A, ...",
                      "--node-counts: '%s' is no list of numbers of nodes",
                      self->counts != NULL ? self->counts : doubled);
          return FALSE;
        }
    }
  return parts[0] != NULL;
}

/* ---- the command ----------------------------------------------------------------------------- */

static ExitStatus
print_plans (const Common *common, const GPtrArray *plans, const RunGoal *goals)
{
  g_autoptr (GString) out = g_string_new (NULL);

  switch (common->format)
    {
    case FORMAT_TEXT:
      report_run_plan_text (plans, goals, out);
      break;
    case FORMAT_CSV:
      report_run_plan_csv (plans, out);
      break;
    case FORMAT_JSON:
      report_run_plan_json (plans, out);
      break;
    }
  return stream_print (out);
}

/* EXIT_NO where no type of node meets the goal; EXIT_USAGE where there are nothing but errors. */
static ExitStatus
status_of (const GPtrArray *plans)
{
  const RunOption *first = NULL;
  gboolean         answered = FALSE, met = FALSE;

  for (guint p = 0; p < plans->len; p++)
    {
      const RunPlan *plan = g_ptr_array_index (plans, p);

      met = met || plan->best != NULL;
      for (guint i = 0; i < plan->options->len; i++)
        {
          const RunOption *option = g_ptr_array_index (plan->options, i);

          answered = answered || option->answered;
          first = first != NULL ? first : option;
        }
    }
  if (!answered && first != NULL)
    stream_say ("shardsim plan: %s\n", first->why);
  return !answered ? EXIT_USAGE : met ? EXIT_DONE : EXIT_NO;
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
take_goals (PlanChooser *chooser, const PlanWords *words, const GPtrArray *scenarios,
            const RunOptions *options, guint n, RunGoal *goals, DiagList *diags)
{
  g_autoptr (GPtrArray) types = g_ptr_array_new ();

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
make_plans (PlanChooser *chooser, const PlanWords *words, const GPtrArray *scenarios,
            const RunGoal *goals, guint n, GPtrArray *plans)
{
  /* a search shows its own */
  Progress *progress = chooser->searches ? NULL : progress_start ("planning", "predictions", NULL);

  chooser->predict.count = progress != NULL ? progress_count (progress) : NULL;
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (GPtrArray) winners = plan_winners_new ();
      RunPlan              *plan;

      set_subject (chooser, words, scenarios, i);
      chooser->winners = winners;
      chooser->loses_sites = goodput_loses_sites (&goals[i].failures);
      plan = run_plan_new (&goals[i], plan_chooser_type (chooser),
                           (const guint *) (void *) words->nodes->data, words->nodes->len,
                           words->every, plan_choose, chooser);
      if (scenarios->len > 1)
        plan->label = g_strdup (chooser->scenario->name);
      g_ptr_array_add (plans, plan);
    }
  if (progress != NULL)
    progress_end (progress);
}

/* The answer, and its settings. */
static ExitStatus
tell (const Common *common, const GPtrArray *plans, const RunGoal *goals, EmitArguments *emit)
{
  const RunOption    *best = ((const RunPlan *) g_ptr_array_index (plans, 0))->best;
  const RunPlanAnswer answer = { plans, goals };
  ExitStatus          status = status_of (plans);
  ExitStatus          emitted = EXIT_DONE, told;

  if (status == EXIT_USAGE)
    return status;
  if (best != NULL)
    emitted = emit_arguments_make (emit, common, best->choice.scenario);
  if (emitted != EXIT_DONE || (best != NULL && emit_arguments_prints (emit)))
    return emitted;
  told = print_plans (common, plans, goals);
  told = common_write_pages (common, &run_plan_page, &answer, told);
  if (told == EXIT_DONE && best != NULL)
    told = emit_arguments_write (emit, told);
  return told != EXIT_DONE ? told : status;
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
          || search->max_memory != NULL || search->max_host_memory != NULL))
    diag_error (diags, NULL, "--search",
                "options of a search are given, and the scenario names a strategy");
  return !diag_list_has_errors (diags);
}

static ExitStatus
plan (const Common *common, const GPtrArray *scenarios, const PlanWords *words,
      const RunOptions *options, const SearchOptions *search, EmitArguments *emit)
{
  const Scenario *scenario = g_ptr_array_index (scenarios, 0);
  const guint     n = scenarios->len * (words->types != NULL ? g_strv_length (words->types) : 1);
  g_autofree RunGoal   *goals = g_new0 (RunGoal, n);
  g_autoptr (GPtrArray) plans = g_ptr_array_new_with_free_func ((GDestroyNotify) run_plan_free);
  g_autoptr (DiagList)  diags = diag_list_new ();
  const gboolean        asked = words->searches || words->search.n_varied > 0;
  PlanChooser           chooser = {
              .common = common,
              .scenario = scenario,
              .predict = common_predict_options (common),
              .slow_node_rate = options->goal.slow_node_rate,
              .searches = asked || scenario->strategy == NULL,
              .words = &words->search,
              .search = search,
  };
  ExitStatus status;

  if (check_search (words, scenario, chooser.searches, diags))
    take_goals (&chooser, words, scenarios, options, n, goals, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  status = common_check_files (common);
  if (status != EXIT_DONE)
    return status;
  make_plans (&chooser, words, scenarios, goals, n, plans);
  return tell (common, plans, goals, emit);
}

/* The trace of nodes that are there. */
static ExitStatus
follow (const Common *common, const GPtrArray *scenarios, const PlanWords *words,
        const RunOptions *options)
{
  const Scenario      *first = g_ptr_array_index (scenarios, 0);
  g_autoptr (DiagList) diags = diag_list_new ();

  if (words->counts != NULL || words->types != NULL || words->searches || words->emitted != NULL
      || words->search.n_varied > 0 || first->strategy == NULL)
    diag_error (diags, NULL, "a scenario with a cluster and a strategy",
                "--membership follows a scenario as it is: nothing is searched, and the trace says "
                "how many nodes there are");
  if (common->html != NULL || common->plot != NULL)
    diag_error (diags, NULL, "--format csv", "--membership draws no pictures and pages");
  return stream_report_diags (diags) != EXIT_DONE
             ? EXIT_USAGE
             : plan_membership (common, scenarios, words->membership, options);
}

/* NULL after diagnostics. */
static EmitArguments *
take_emit (const PlanWords *words, DiagList *diags)
{
  if (words->emitted != NULL && words->types != NULL && words->types[1] != NULL)
    diag_error (diags, NULL, "one --gpu-nodes", "--emit writes the answer of one type of node");
  return emit_arguments_new (words->emitted, diags);
}

/* A search goes out from one scenario, and emits one. */
static gboolean
is_one (const PlanWords *words, const GPtrArray *scenarios)
{
  gboolean complete = TRUE;

  for (guint i = 0; i < scenarios->len; i++)
    complete = complete && ((const Scenario *) g_ptr_array_index (scenarios, i))->strategy != NULL;
  return words->searches || words->search.n_varied > 0 || words->emitted != NULL || !complete;
}

/* The scenarios in place: those on a node of the first type asked for. NULL after diagnostics. */
static GPtrArray *
load_scenario (Common *common, const PlanWords *words)
{
  g_autofree char       *first = NULL;
  g_autoptr (GPtrArray)  scenarios = NULL;
  const ScenarioOverride cluster = {
    "cluster.name",
    words->types != NULL ? first = g_strdup_printf ("1 x %s", words->types[0]) : NULL,
    "--gpu-nodes",
  };

  if (first != NULL)
    g_array_append_val (common->overrides, cluster);
  scenarios = common_load_open_scenarios (common);
  if (first != NULL)
    g_array_set_size (common->overrides, common->overrides->len - 1);
  if (scenarios == NULL || (is_one (words, scenarios) && !common_want_one (common, scenarios)))
    return NULL;
  return g_steal_pointer (&scenarios);
}

int
cmd_plan (int argc, char **argv)
{
  g_auto (Common)           common = { 0 };
  g_auto (PlanWords)        words = { 0 };
  RunOptions                options = { 0 };
  SearchOptions             search = { 0 };
  gboolean                  done = FALSE;
  g_autoptr (GPtrArray)     scenarios = NULL;
  g_autoptr (EmitArguments) emit = NULL;
  g_autoptr (DiagList)      diags = diag_list_new ();
  GStringChunk             *strings = g_string_chunk_new (1024);
  g_autoptr (GArray)        entries = entries_new (&words, strings);
  gboolean                  parsed;
  ExitStatus                status = EXIT_USAGE;

  parsed = common_parse (
      &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS | COMMON_PAGES, "[SCENARIO.yaml]",
      "Plans a run: how many nodes train so many tokens by a deadline, within a budget; days, "
      "GPU-hours, money and energy, with failures, checkpoints, spare and slow nodes. Where the "
      "scenario names no strategy, each number of nodes runs the best configuration that a search "
      "finds.\n"
      "Exit status: 0 some number of nodes meets it, 3 none does, 2 bad input, 1 runtime failure.",
      "Examples:\n"
      "  shardsim plan --model llama-3-70b --seq-len 8192 --global-batch 1024 \\\n"
      "    --tokens 2T --days 30 --gpu-nodes dgx-h100\n"
      "  shardsim plan --model llama-3-8b --strategy fsdp2 --seq-len 8192 --tokens 1T \\\n"
      "    --days 30 --gpu-nodes dgx-h100 --gpu-nodes dgx-a100\n"
      "  shardsim plan run.yaml --tokens 15T --days 90 --gpu-mtbf '50000 h' \\\n"
      "    --restart '10 min' --checkpoint-bandwidth '400 GB/s' --price 2.5\n",
      (const GOptionEntry *) (void *) entries->data, argc, argv, &done);
  if (parsed && !done && search_words_take (&words.search, &common, &search)
      && take_counts (&words, diags) && take_options (&words, &options, diags)
      && (emit = take_emit (&words, diags)) != NULL
      && (scenarios = load_scenario (&common, &words)) != NULL)
    {
      status = emit_arguments_check (emit);
      if (status == EXIT_DONE && words.membership != NULL)
        status = follow (&common, scenarios, &words, &options);
      else if (status == EXIT_DONE)
        status = plan (&common, scenarios, &words, &options, &search, emit);
    }
  if (stream_report_diags (diags) != EXIT_DONE)
    status = EXIT_USAGE;
  option_table_clear (run_options, &options);
  g_string_chunk_free (strings);
  return parsed && done ? EXIT_DONE : status;
}
