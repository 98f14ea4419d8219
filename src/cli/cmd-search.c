/* shardsim search: the best configuration of what a scenario leaves open. */
#include "analysis/search-options.h"
#include "cli/emit-arguments.h"
#include "cli/progress.h"
#include "cli/table-words.h"
#include "report/runners.h"
#include "report/search.h"

/* ---- the command ----------------------------------------------------------------------------- */

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
  g_autoptr (GString) out = g_string_new (NULL);

  if (common->format == FORMAT_CSV)
    report_search_csv (result, out);
  else if (common->format == FORMAT_JSON)
    report_search_json (result, out);
  else
    report_search_text (result, options, out);
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

static ExitStatus
search (Common *common, const SearchWords *words, SearchOptions *options, EmitArguments *emit)
{
  g_autoptr (GPtrArray)    scenarios = common_load_open_scenarios (common);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (SearchResult) result = NULL;
  PredictOptions           predict = common_predict_options (common);
  g_autoptr (Runners)      runners = runners_new (&predict);
  Progress                *progress;
  ExitStatus               status;

  search_words_take (words, options);
  options->n_threads = common_n_jobs (common);
  options->runners = runners_find;
  options->runners_user = runners;
  if (scenarios == NULL || !common_want_one (common, scenarios))
    return EXIT_USAGE;
  status = common_check_files (common);
  if (status == EXIT_DONE)
    status = emit_arguments_check (emit);
  if (status != EXIT_DONE)
    return status;
  progress = patience_begin (common->patience, "searching", "steps");
  predict.count = progress_count (progress);
  result = search_run (g_ptr_array_index (scenarios, 0), common->strategies, words->varied,
                       words->n_varied, words->only, options, &predict, diags, &error);
  patience_end (common->patience, progress);
  patience_close (common->patience);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (result == NULL)
    return stream_report_error (error);
  return tell (common, result, options, &predict, emit);
}

/* FALSE after diagnostics. */
static gboolean
take_words (const TableWords *table, const TableWords *goals, char *const *varied,
            SearchWords *words, SearchOptions *options, DiagList *diags)
{
  SearchGoal goal = { 0 };

  table_words_take (table, words, diags);
  for (guint i = 0; varied != NULL && varied[i] != NULL; i++)
    search_words_vary (words, varied[i], "--vary", diags);
  if (table_words_take (goals, &goal, diags))
    search_goal_take (&goal, options, diags);
  return !diag_list_has_errors (diags);
}

int
cmd_search (int argc, char **argv)
{
  g_auto (Common)           common = { 0 };
  g_auto (SearchWords)      words = { 0 };
  g_auto (GStrv)            varied = NULL, emitted = NULL;
  g_autoptr (EmitArguments) emit = NULL;
  gboolean                  done = FALSE;
  SearchOptions             options = { 0 };
  g_autoptr (DiagList)      diags = diag_list_new ();
  g_autoptr (GArray)        entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  const GOptionEntry        own[] = { VARY_OPTION (&varied), EMIT_OPTION (&emitted) };
  g_autoptr (TableWords)    table = NULL, goals = NULL;

  g_array_append_vals (entries, own, 1);
  table = table_words_new (search_options, entries);
  goals = table_words_new (search_goal_options, entries);
  g_array_append_vals (entries, own + 1, 1);
  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_JOBS | COMMON_PAGES | COMMON_TIME,
          "[SCENARIO.yaml]",
          "Finds the fastest configuration that fits. What the scenario sets stays; what it leaves "
          "open of strategy, mesh, micro-batch and checkpointing is searched.",
          "Examples:\n"
          "  shardsim search --cluster '8 x dgx-h100' --model llama-3-70b --seq-len 8192 \\\n"
          "    --global-batch 512\n"
          "  shardsim search --cluster '8 x dgx-h100' --model llama-3-70b --seq-len 8192 \\\n"
          "    --global-batch 512 --strategy fsdp2 --html best.html \\\n"
          "    --emit torchtitan:best.toml --emit scenario:best.yaml\n",
          (const GOptionEntry *) (void *) entries->data, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (take_words (table, goals, varied, &words, &options, diags))
    emit = emit_arguments_new (emitted, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  return (int) patience_status (common.patience, search (&common, &words, &options, emit));
}
