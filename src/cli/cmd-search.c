/* shardsim search: the best configuration of what a scenario leaves open. */
#include "base/suggest.h"
#include "cli/emit-arguments.h"
#include "cli/progress.h"
#include "cli/search-arguments.h"
#include "report/search.h"

typedef struct
{
  char  *objective, **emitted;
  double price;
  gint   best;
} Wishes;

static void
wishes_clear (Wishes *self)
{
  g_free (self->objective);
  g_strfreev (self->emitted);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Wishes, wishes_clear)

/* ---- what is asked for ----------------------------------------------------------------------- */

static gboolean
take_objective (const Wishes *wishes, SearchOptions *options)
{
  g_autofree char *hint = NULL;
  gint             found;

  if (wishes->objective == NULL)
    return TRUE;
  found = name_index (wishes->objective, search_objective_names);
  if (found < 0)
    {
      hint = suggest_hint (wishes->objective, search_objective_names);
      stream_say ("shardsim search: --objective: unknown '%s': %s\n", wishes->objective, hint);
      return FALSE;
    }
  options->objective = (SearchObjective) found;
  if (options->objective != SEARCH_COST || options->price_per_gpu_hour > 0)
    return TRUE;
  stream_say ("shardsim search: --objective cost needs a price: add --price 2.50 (a GPU-hour)\n");
  return FALSE;
}

/* FALSE after a message. */
static gboolean
take_wishes (const Common *common, const Wishes *wishes, SearchOptions *options)
{
  gint best = 0; /* the usual */

  if (wishes->price != NOT_GIVEN && !(wishes->price > 0 && wishes->price <= 1e12))
    {
      stream_say ("shardsim search: --price takes what a GPU-hour costs: a number above 0\n");
      return FALSE;
    }
  if (!common_take_count (common, "--best", wishes->best, &best))
    return FALSE;
  options->price_per_gpu_hour = wishes->price != NOT_GIVEN ? wishes->price : 0;
  options->n_best = (guint) best;
  return take_objective (wishes, options);
}

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
search (Common *common, const SearchWords *words, const SearchOptions *options, EmitArguments *emit)
{
  g_autoptr (GPtrArray)    scenarios = common_load_open_scenarios (common);
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (GError)       error = NULL;
  g_autoptr (SearchResult) result = NULL;
  PredictOptions           predict = common_predict_options (common);
  Progress                *progress;
  ExitStatus               status;

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
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  if (result == NULL)
    return stream_report_error (error);
  return tell (common, result, options, &predict, emit);
}

int
cmd_search (int argc, char **argv)
{
  g_auto (Common)           common = { 0 };
  g_auto (Wishes)           wishes = { .price = NOT_GIVEN, .best = NOT_GIVEN };
  g_auto (SearchWords)      words = { 0 };
  g_autoptr (EmitArguments) emit = NULL;
  gboolean                  done = FALSE;
  SearchOptions             options = { 0 };
  g_autoptr (DiagList)      diags = diag_list_new ();
  g_autoptr (GArray)        entries = g_array_new (TRUE, TRUE, sizeof (GOptionEntry));
  const GOptionEntry        own[] = {
           { "objective", 0, 0, G_OPTION_ARG_STRING, &wishes.objective,
             "what is wanted most: throughput, efficiency (a GPU) or cost", "WORD" },
           { "price", 0, 0, G_OPTION_ARG_DOUBLE, &wishes.price, "price of a GPU-hour", "MONEY" },
           { "best", 0, 0, G_OPTION_ARG_INT, &wishes.best, "how many are listed (10)", "N" },
           EMIT_OPTION (&wishes.emitted),
  };

  search_words_add_options (&words, entries);
  g_array_append_vals (entries, own, G_N_ELEMENTS (own));
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
  if (!search_words_take (&words, &common, &options) || !take_wishes (&common, &wishes, &options))
    return EXIT_USAGE;
  emit = emit_arguments_new (wishes.emitted, diags);
  if (stream_report_diags (diags) != EXIT_DONE)
    return EXIT_USAGE;
  return (int) patience_status (common.patience, search (&common, &words, &options, emit));
}
