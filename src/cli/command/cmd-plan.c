/* shardsim plan: tokens, a deadline and a budget to nodes, days, money and energy. */
#include "cli/argument/emit-arguments.h"
#include "cli/argument/value-lists.h"
#include "cli/output/progress.h"
#include "decide/plan/plan-membership.h"
#include "predict/idle-figures.h"
#include "report/answer/membership.h"
#include "report/answer/run-plan.h"
#include "report/export/runners.h"

static ExitStatus
print_plans (const Common *common, const GPtrArray *plans, const RunGoal *goals)
{
  const RunPlanAnswer answer = { plans, goals };
  g_autoptr (GString) out = g_string_new (NULL);

  report_answer (&run_plan_page, &answer, common->format, out);
  return common_print_result (common, out);
}

/* The answer, and its settings. */
static ExitStatus
tell (const Common *common, const GPtrArray *plans, const RunGoal *goals, EmitArguments *emit)
{
  const RunOption    *best = ((const RunPlan *) g_ptr_array_index (plans, 0))->best;
  const RunPlanAnswer answer = { plans, goals };
  ExitStatus          emitted = EXIT_DONE, told, status = EXIT_NO;

  for (guint i = 0; i < plans->len; i++) /* some type of node meets the goal */
    if (((const RunPlan *) g_ptr_array_index (plans, i))->best != NULL)
      status = EXIT_DONE;
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

static WorkCount *
begin_work (gpointer user, const char *work, const char *unit, gpointer *shown)
{
  const Common *common = user;
  Progress     *progress = patience_begin (common->patience, work, unit);

  *shown = progress;
  return progress_count (progress);
}

static void
end_work (gpointer user, const char *work, gpointer shown)
{
  const Common *common = user;

  patience_end (common->patience, shown);
  patience_name (common->patience, work);
}

static PlanContext
context_of (const Common *common, PlanProgress *progress)
{
  *progress = (PlanProgress){ begin_work, end_work, (gpointer) common };
  return (PlanContext){ .strategies = common->strategies,
                        .overrides = common->overrides,
                        .file = common->files[0],
                        .progress = progress };
}

/* Figures that are set and play no part in any configuration that was predicted. */
static void
warn_of_idle_figures (const GPtrArray *plans, const PredictOptions *predict, DiagList *diags)
{
  g_autoptr (GPtrArray)  scenarios = g_ptr_array_new ();
  g_autoptr (ProfileSet) profiles = NULL;

  for (guint i = 0; plans != NULL && i < plans->len; i++)
    {
      const GPtrArray *options = ((const RunPlan *) g_ptr_array_index (plans, i))->options;

      for (guint k = 0; k < options->len; k++)
        {
          Scenario *one = ((const RunOption *) g_ptr_array_index (options, k))->choice.scenario;

          if (one != NULL)
            g_ptr_array_add (scenarios, one);
        }
    }
  if (scenarios->len == 0)
    return;
  profiles = profile_set_new_shared (predict->profile_dir, NULL, predict->files);
  idle_figures_warn_of_all ((const Scenario *const *) scenarios->pdata, scenarios->len, profiles,
                            diags);
}

static ExitStatus
plan (const Common *common, const GPtrArray *scenarios, const PlanWords *words, EmitArguments *emit)
{
  g_auto (Plans)       plans = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  PlanProgress         progress;
  const PlanContext    context = context_of (common, &progress);
  const PredictOptions predict = common_predict_options (common);
  g_autoptr (Runners)  runners = runners_new (&predict);
  const SearchOptions  search = { .n_threads = common_n_jobs (common),
                                  .runners = runners_find,
                                  .runners_user = runners };

  plans_make (&plans, scenarios, words, &search, &predict, &context, diags);
  warn_of_idle_figures (plans.plans, &predict, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  patience_close (common->patience);
  return tell (common, plans.plans, plans.goals, emit);
}

/* ---- nodes that leave and join --------------------------------------------------------------- */

/* EXIT_NO where no run is known to train the tokens, by the deadline if there is one. */
static ExitStatus
follow (const Common *common, const GPtrArray *scenarios, const PlanWords *words, const char *file,
        gboolean emits)
{
  g_auto (MembershipPlan) plan = { 0 };
  g_autoptr (GString)     out = g_string_new (NULL);
  g_autoptr (DiagList)    diags = diag_list_new ();
  PlanProgress            progress;
  const PlanContext       context = context_of (common, &progress);
  const PredictOptions    predict = common_predict_options (common);
  ExitStatus              told, status = EXIT_NO;

  if (emits || common->html != NULL || common->plot != NULL)
    diag_error (diags, NULL, "--format csv",
                "--membership draws no pictures and pages, and emits nothing");
  membership_plan_make (&plan, scenarios, words, file, &predict, &context, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  for (guint i = 0; i < plan.runs->len; i++)
    {
      const MembershipRun *run = g_ptr_array_index (plan.runs, i);

      if (run->why == NULL && !run->is_cut && run->late_s == 0)
        status = EXIT_DONE;
    }
  report_answer (&membership_answer, plan.runs, common->format, out);
  told = common_print_result (common, out);
  return told != EXIT_DONE ? told : status;
}

/* ---- the command line ------------------------------------------------------------------------ */

typedef struct
{
  PlanWords      words;
  char         **varied, **emitted;
  char          *membership;
  EmitArguments *emit;
} Settings;

/* Each type of a list becomes one of its own. */
static void
split_types (PlanWords *words)
{
  g_autofree char *joined = words->types != NULL ? g_strjoinv (",", words->types) : NULL;

  if (joined == NULL)
    return;
  g_strfreev (words->types);
  words->types = g_strsplit (joined, ",", -1);
  for (char **type = words->types; *type != NULL; type++)
    g_strstrip (*type);
}

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  Settings  *settings = data;
  PlanWords *words = &settings->words;

  (void) common;
  split_types (words);
  for (guint i = 0; settings->varied != NULL && settings->varied[i] != NULL; i++)
    search_words_vary (&words->search, settings->varied[i], "--vary", diags);
  if (diag_list_has_errors (diags) || !plan_words_check (words, diags))
    return TRUE;
  if (settings->emitted != NULL && words->types != NULL && words->types[1] != NULL)
    diag_error (diags, NULL, "one --gpu-nodes", "--emit writes the answer of one type of node");
  settings->emit = emit_arguments_new (settings->emitted, diags);
  return TRUE;
}

/* The scenarios in place: those on a node of the first type asked for. NULL after diagnostics. */
static GPtrArray *
load_scenarios (Common *common, const PlanWords *words, gboolean emits)
{
  const guint           n = common->overrides->len;
  g_autoptr (GPtrArray) scenarios = NULL;

  plan_words_add_override (words, common->overrides);
  scenarios = common_load_open_scenarios (common);
  g_array_set_size (common->overrides, n);
  if (scenarios == NULL
      || ((emits || plan_words_search (words, scenarios)) && !common_want_one (common, scenarios)))
    return NULL;
  return g_steal_pointer (&scenarios);
}

static ExitStatus
run (Common *common, gpointer data)
{
  const Settings       *settings = data;
  const PlanWords      *words = &settings->words;
  const gboolean        emits = settings->emitted != NULL;
  g_autoptr (GPtrArray) scenarios = load_scenarios (common, words, emits);
  ExitStatus            status;

  if (scenarios == NULL)
    return EXIT_USAGE;
  status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  return settings->membership != NULL
             ? follow (common, scenarios, words, settings->membership, emits)
             : plan (common, scenarios, words, settings->emit);
}

static void
clear (gpointer data)
{
  Settings *settings = data;

  plan_words_clear (&settings->words);
  emit_arguments_free (settings->emit);
}

static const CommandOption options[] = {
  { OPTIONS_OF (run_options, words.run) },
  { OPTION ("gpu-nodes", VALUE_TEXTS, words.types, "NODES",
            "types of node, in the place of the scenario's cluster: NODE[,NODE]; may be "
            "repeated") },
  { OPTION ("membership", VALUE_FILE, membership, "FILE",
            "nodes leave and join: a CSV file 'time,nodes', or a column a site, of how many are "
            "there from when on") },
  { OPTION_VARY (varied) },
  { OPTIONS_OF (plan_options, words) },
  { OPTIONS_OF (search_options, words.search) },
  { OPTION_EMIT (emitted) },
  { 0 },
};

const Command command_plan = {
  .name = "plan",
  .help = "tokens, a deadline and a budget to nodes, days, money and energy",
  .arguments = "[SCENARIO.yaml]",
  .summary =
      "Plans a run: how many nodes train so many tokens by a deadline, within a budget; days, "
      "GPU-hours, money and energy, with failures, checkpoints, spare and slow nodes. Where the "
      "scenario names no strategy, each number of nodes runs the best configuration that a search "
      "finds.\n"
      "Exit status: 0 some number of nodes meets it, 3 none does, 2 bad input, 1 runtime failure.",
  .examples = "Examples:\n"
              "  shardsim plan --model llama-3-70b --seq-len 8192 --global-batch 1024 \\\n"
              "    --tokens 2T --days 30 --gpu-nodes dgx-h100\n"
              "  shardsim plan --model llama-3-8b --strategy fsdp2 --seq-len 8192 --tokens 1T \\\n"
              "    --days 30 --gpu-nodes dgx-h100 --gpu-nodes dgx-a100\n"
              "  shardsim plan run.yaml --tokens 15T --days 90 --gpu-mtbf '50000 h' \\\n"
              "    --restart '10 min' --checkpoint-bandwidth '400 GB/s' --price 2.5\n",
  .takes = COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS | COMMON_PAGES | COMMON_TIME,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .check = check,
  .run = run,
  .clear = clear,
};
