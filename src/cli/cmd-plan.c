/* shardsim plan: tokens, a deadline and a budget to nodes, days, money and energy. */
#include "analysis/plan-membership.h"
#include "cli/emit-arguments.h"
#include "cli/progress.h"
#include "cli/table-words.h"
#include "report/membership.h"
#include "report/run-plan.h"
#include "report/runners.h"

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
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  patience_close (common->patience);
  return tell (common, plans.plans, plans.goals, emit);
}

/* ---- nodes that leave and join --------------------------------------------------------------- */

static ExitStatus
print_runs (const Common *common, const GPtrArray *runs)
{
  static void (*const print[]) (const GPtrArray *, GString *) = {
    [FORMAT_TEXT] = report_membership_text,
    [FORMAT_CSV] = report_membership_csv,
    [FORMAT_JSON] = report_membership_json,
  };
  g_autoptr (GString) out = g_string_new (NULL);

  print[common->format](runs, out);
  return common_print_result (common, out);
}

/* EXIT_NO where no run is known to train the tokens, by the deadline if there is one. */
static ExitStatus
follow (const Common *common, const GPtrArray *scenarios, const PlanWords *words, const char *file,
        gboolean emits)
{
  g_auto (MembershipPlan) plan = { 0 };
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
  told = print_runs (common, plan.runs);
  return told != EXIT_DONE ? told : status;
}

/* ---- the command line ------------------------------------------------------------------------ */

/* The command's own options, beside those of the scenario. */
typedef struct
{
  GArray     *entries;
  TableWords *run, *plan, *search;
  char      **varied, **emitted;
  char       *membership;
} PlanLine;

static void
plan_line_clear (PlanLine *self)
{
  table_words_free (self->run);
  table_words_free (self->plan);
  table_words_free (self->search);
  g_strfreev (self->varied);
  g_strfreev (self->emitted);
  g_free (self->membership);
  g_array_unref (self->entries);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (PlanLine, plan_line_clear)

static void
plan_line_init (PlanLine *self, PlanWords *words)
{
  const GOptionEntry own[] = {
    { "gpu-nodes", 0, 0, G_OPTION_ARG_STRING_ARRAY, &words->types,
      "types of node, in the place of the scenario's cluster: NODE[,NODE]; may be repeated",
      "NODES" },
    { "membership", 0, 0, G_OPTION_ARG_FILENAME, &self->membership,
      "nodes leave and join: a CSV file 'time,nodes', or a column a site, of how many are there "
      "from when on",
      "FILE" },
    VARY_OPTION (&self->varied),
  };
  const GOptionEntry emit = EMIT_OPTION (&self->emitted);

  self->entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  self->run = table_words_new (run_options, self->entries);
  g_array_append_vals (self->entries, own, G_N_ELEMENTS (own));
  self->plan = table_words_new (plan_options, self->entries);
  self->search = table_words_new (search_options, self->entries);
  g_array_append_val (self->entries, emit);
}

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

/* FALSE after diagnostics. */
static gboolean
take_words (const PlanLine *line, PlanWords *words, DiagList *diags)
{
  split_types (words);
  table_words_take (line->search, &words->search, diags);
  for (guint i = 0; line->varied != NULL && line->varied[i] != NULL; i++)
    search_words_vary (&words->search, line->varied[i], "--vary", diags);
  table_words_take (line->plan, words, diags);
  table_words_take (line->run, &words->run, diags);
  return !diag_list_has_errors (diags) && plan_words_check (words, diags);
}

/* NULL after diagnostics. */
static EmitArguments *
take_emit (const PlanLine *line, const PlanWords *words, DiagList *diags)
{
  if (line->emitted != NULL && words->types != NULL && words->types[1] != NULL)
    diag_error (diags, NULL, "one --gpu-nodes", "--emit writes the answer of one type of node");
  return emit_arguments_new (line->emitted, diags);
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
answer (Common *common, const PlanLine *line, PlanWords *words)
{
  g_autoptr (DiagList)      diags = diag_list_new ();
  g_autoptr (EmitArguments) emit = NULL;
  g_autoptr (GPtrArray)     scenarios = NULL;
  ExitStatus                status;

  if (take_words (line, words, diags))
    emit = take_emit (line, words, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  scenarios = load_scenarios (common, words, line->emitted != NULL);
  if (scenarios == NULL)
    return EXIT_USAGE;
  status = stream_worse (emit_arguments_check (emit), common_check_files (common));
  if (status != EXIT_DONE)
    return status;
  return line->membership != NULL
             ? follow (common, scenarios, words, line->membership, line->emitted != NULL)
             : plan (common, scenarios, words, emit);
}

int
cmd_plan (int argc, char **argv)
{
  g_auto (Common)    common = { 0 };
  g_auto (PlanWords) words = { 0 };
  g_auto (PlanLine)  line = { 0 };
  gboolean           done = FALSE;

  plan_line_init (&line, &words);
  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS | COMMON_PAGES | COMMON_TIME,
          "[SCENARIO.yaml]",
          "Plans a run: how many nodes train so many tokens by a deadline, within a budget; days, "
          "GPU-hours, money and energy, with failures, checkpoints, spare and slow nodes. Where "
          "the scenario names no strategy, each number of nodes runs the best configuration that a "
          "search finds.\n"
          "Exit status: 0 some number of nodes meets it, 3 none does, 2 bad input, 1 runtime "
          "failure.",
          "Examples:\n"
          "  shardsim plan --model llama-3-70b --seq-len 8192 --global-batch 1024 \\\n"
          "    --tokens 2T --days 30 --gpu-nodes dgx-h100\n"
          "  shardsim plan --model llama-3-8b --strategy fsdp2 --seq-len 8192 --tokens 1T \\\n"
          "    --days 30 --gpu-nodes dgx-h100 --gpu-nodes dgx-a100\n"
          "  shardsim plan run.yaml --tokens 15T --days 90 --gpu-mtbf '50000 h' \\\n"
          "    --restart '10 min' --checkpoint-bandwidth '400 GB/s' --price 2.5\n",
          (const GOptionEntry *) (void *) line.entries->data, argc, argv, &done))
    return EXIT_USAGE;
  return done ? EXIT_DONE
              : (int) patience_status (common.patience, answer (&common, &line, &words));
}
