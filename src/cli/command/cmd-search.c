/* shardsim search: the best configuration of what a scenario leaves open. */
#include "cli/argument/emit-arguments.h"
#include "cli/argument/value-lists.h"
#include "cli/output/progress.h"
#include "decide/search/search-options.h"
#include "predict/idle-figures.h"
#include "report/answer/rl-search.h"
#include "report/answer/search.h"
#include "report/export/runners.h"

/* The answer if the frameworks asked for can be told it, else the best that they can; else the
 * answer, which says what they lack. */
static const SearchFound *
find_emitted (const Common *common, const SearchResult *result, const EmitArguments *emit)
{
  if (emit_arguments_can (emit, common, result->headline->scenario))
    return result->headline;
  for (guint i = 0; i < result->found->len; i++)
    {
      const SearchFound *found = g_ptr_array_index (result->found, i);

      if (!emit_arguments_can (emit, common, found->scenario))
        continue;
      stream_say ("shardsim search: --emit: the framework lacks what the answer%s need%s: number "
                  "%u is written: %s\n",
                  i > 1 ? " and others" : "", i > 1 ? "" : "s", i + 1, found->label);
      return found;
    }
  return result->headline;
}

static ExitStatus
print_result (const Common *common, const SearchResult *result, const SearchOptions *options)
{
  const SearchAnswer  answer = { .result = result, .options = options };
  g_autoptr (GString) out = g_string_new (NULL);

  report_answer (&search_page, &answer, common->format, out);
  return common_print_result (common, out);
}

/* With the steps of the best, which are simulated again for that. */
static ExitStatus
write_pages (const Common *common, const SearchResult *result, PredictOptions predict,
             ExitStatus status)
{
  g_autoptr (DiagList)   diags = diag_list_new (); /* the search had them */
  g_autoptr (Replay)     replay = NULL;
  g_autoptr (ProfileSet) profiles = NULL;
  g_autofree char       *command = NULL;
  SearchAnswer           answer = { .result = result };

  if (common->plot == NULL && common->html == NULL)
    return status;
  predict.replay.keep_pools = TRUE;
  predict.count = NULL;
  predict.replay.stop = NULL; /* its work is over */
  if (result->found->len > 0)
    {
      const SearchFound *best = result->headline;

      prediction_free (
          predict_with_replay (best->scenario, &predict, &replay, &profiles, diags, NULL));
      answer.replay = replay;
      command = common_command_line (common, "simulate", best->options);
      answer.command = command;
    }
  return common_write_pages (common, &search_page, &answer, status);
}

/* The result, its pictures and the settings of its best. */
static ExitStatus
tell (const Common *common, const SearchResult *result, const SearchOptions *options,
      const PredictOptions *predict, EmitArguments *emit)
{
  const Scenario *emitted =
      result->found->len > 0 ? find_emitted (common, result, emit)->scenario : NULL;
  ExitStatus status = EXIT_DONE;

  if (emitted != NULL && emit_arguments_prints (emit))
    return emit_arguments_make (emit, common, emitted);
  status = print_result (common, result, options);
  status = write_pages (common, result, *predict, status);
  if (status != EXIT_DONE || emitted == NULL)
    return status != EXIT_DONE ? status : EXIT_NO;
  status = emit_arguments_make (emit, common, emitted);
  return status == EXIT_DONE ? emit_arguments_write (emit, status) : status;
}

typedef struct
{
  SearchWords    words;
  SearchGoal     goal;
  char         **varied, **emitted;
  SearchOptions  options;
  EmitArguments *emit;
} Settings;

/* Figures that are set and play no part in the answer. */
static void
warn_of_idle_figures (const SearchResult *result, const PredictOptions *predict, DiagList *diags)
{
  g_autoptr (ProfileSet) profiles = NULL;

  if (result == NULL || result->headline == NULL)
    return;
  profiles = profile_set_new_shared (predict->profile_dir, NULL, predict->files);
  idle_figures_warn (result->headline->scenario, profiles, diags);
}

/* ---- reinforcement learning ------------------------------------------------------------------ */

/* What is asked of training alone: a step that is made of several things is the fastest, or not. */
static ExitStatus
check_rl (const Common *common)
{
  static const char *const alone[] = { "vary",   "only", "objective", "price",
                                       "within", "emit", "plot" };

  for (guint i = 0; i < G_N_ELEMENTS (alone); i++)
    if (common_has (common, alone[i]))
      return common_refuse (common,
                            "--%s is about training alone, and the scenario is of reinforcement "
                            "learning\n  hint: set 'rl.algorithm' to none\n",
                            alone[i]);
  return EXIT_DONE;
}

static ExitStatus
tell_rl (const Common *common, const RlSearchResult *result)
{
  const RlFound   *best = result->found->len > 0 ? g_ptr_array_index (result->found, 0) : NULL;
  g_autofree char *command =
      best != NULL ? common_command_line (common, "simulate", best->options) : NULL;
  const RlSearchAnswer answer = { result, NULL }, page = { result, command };
  g_autoptr (GString)  out = g_string_new (NULL);
  ExitStatus           status;

  report_answer (&rl_search_answer, &answer, common->format, out);
  status = common_write_pages (common, &rl_search_answer, &page, common_print_result (common, out));
  return status != EXIT_DONE ? status : best != NULL ? EXIT_DONE : EXIT_NO;
}

static ExitStatus
search_rl (const Common *common, const Scenario *scenario, const SearchOptions *options)
{
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (GError)         error = NULL;
  g_autoptr (RlSearchResult) result = NULL;
  PredictOptions             predict = common_predict_options (common);
  ExitStatus                 status = check_rl (common);
  Progress                  *progress;

  if (status == EXIT_DONE)
    status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  progress = patience_begin (common->patience, "searching", "steps");
  predict.count = progress_count (progress);
  result = rl_search_run (scenario, common->strategies, options, &predict, diags, &error);
  patience_end (common->patience, progress);
  patience_close (common->patience);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  return result != NULL ? tell_rl (common, result) : stream_report_error (error);
}

/* ---- training alone -------------------------------------------------------------------------- */

static ExitStatus
run (Common *common, gpointer data)
{
  Settings                *settings = data;
  const SearchWords       *words = &settings->words;
  SearchOptions           *options = &settings->options;
  g_autoptr (GPtrArray)    scenarios = common_load_open_scenarios (common);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (SearchResult) result = NULL;
  PredictOptions           predict = common_predict_options (common);
  g_autoptr (Runners)      runners = runners_new (&predict);
  Progress                *progress;
  ExitStatus               status;

  search_words_apply (words, options);
  options->n_threads = common_n_jobs (common);
  options->runners = runners_find;
  options->runners_user = runners;
  if (scenarios == NULL || !common_want_one (common, scenarios))
    return EXIT_USAGE;
  if (((const Scenario *) g_ptr_array_index (scenarios, 0))->rl.algorithm != RL_NONE)
    return search_rl (common, g_ptr_array_index (scenarios, 0), options);
  status = common_check_outputs (common);
  if (status != EXIT_DONE)
    return status;
  progress = patience_begin (common->patience, "searching", "steps");
  predict.count = progress_count (progress);
  result = search_run (g_ptr_array_index (scenarios, 0), common->strategies, words->varied,
                       words->n_varied, words->only, options, &predict, diags, &error);
  patience_end (common->patience, progress);
  patience_close (common->patience);
  warn_of_idle_figures (result, &predict, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (result == NULL)
    return stream_report_error (error);
  return tell (common, result, options, &predict, settings->emit);
}

/* ---- the command ----------------------------------------------------------------------------- */

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  Settings *settings = data;

  (void) common;
  for (guint i = 0; settings->varied != NULL && settings->varied[i] != NULL; i++)
    search_words_vary (&settings->words, settings->varied[i], "--vary", diags);
  if (!diag_list_has_errors (diags))
    search_goal_apply (&settings->goal, &settings->options, diags);
  settings->emit = emit_arguments_new (settings->emitted, diags);
  return TRUE;
}

static void
clear (gpointer data)
{
  Settings *settings = data;

  search_words_clear (&settings->words);
  emit_arguments_free (settings->emit);
}

static const CommandOption options[] = {
  { OPTION_VARY (varied) },
  { OPTIONS_OF (search_options, words) },
  { OPTIONS_OF (search_goal_options, goal) },
  { OPTION_EMIT (emitted) },
  { 0 },
};

const Command command_search = {
  .name = "search",
  .help = "the best configuration of what a scenario leaves open, and why",
  .arguments = "[SCENARIO.yaml]",
  .summary = "Finds the fastest configuration that fits. What the scenario sets stays; what it "
             "leaves open of strategy, mesh, micro-batch and checkpointing is searched.",
  .examples = "Examples:\n"
              "  shardsim search --cluster '8 x dgx-h100' --model llama-3-70b --seq-len 8192 \\\n"
              "    --global-batch 512\n"
              "  shardsim search --cluster '8 x dgx-h100' --model llama-3-70b --seq-len 8192 \\\n"
              "    --global-batch 512 --strategy fsdp2 --html best.html \\\n"
              "    --emit torchtitan:best.toml --emit scenario:best.yaml\n",
  .takes = COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS | COMMON_PAGES | COMMON_TIME,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .check = check,
  .run = run,
  .clear = clear,
};
