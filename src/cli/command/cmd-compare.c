/* shardsim compare: scenarios side by side, simulated in threads, reported in their order. */
#include "base/config/suggest.h"
#include "cli/argument/override-lists.h"
#include "cli/help/page-values.h"
#include "cli/output/progress.h"
#include "predict/batch.h"
#include "report/prediction/report.h"

/* Everything there is to say about ONE. Newly allocated. */
static char *
words_of (const Predicted *one)
{
  g_autofree char *diags = diag_list_format (one->diags, FALSE);

  return g_strconcat (diags, one->error != NULL ? one->error->message : NULL, NULL);
}

/*
 * Says what is new about scenario I, and N_MORE of the same words, which are left out where they
 * failed among others that did not: AMONG_OTHERS.
 */
static void
report_one (const PredictionBatch *batch, guint i, guint n_more, gboolean among_others,
            GHashTable *said)
{
  const Predicted *one = &batch->each[i];
  const Scenario  *scenario = g_ptr_array_index (batch->scenarios, i);
  const GError    *error = one->error;
  g_autofree char *more = n_more > 0 ? g_strdup_printf (" and %u more are", n_more) : NULL;
  gboolean         again;

  diag_list_drop_said (one->diags, said);
  if (error != NULL && !g_hash_table_add (said, g_strdup (error->message)))
    error = NULL;
  again = error == NULL && diag_list_first_message (one->diags) == NULL;
  if (predicted_failed (one) && among_others)
    stream_say ("shardsim compare: '%s'%s left out%s\n", scenario->name,
                more != NULL ? more : " is", again ? " for errors above" : ":");
  stream_report_diags (one->diags);
  if (error != NULL)
    stream_report_error (error);
}

/*
 * Diagnostics and errors of all scenarios, in their order, each once: those of a grid share most.
 * What fails among others is left out, and said to be.
 */
static ExitStatus
report_failures (const PredictionBatch *batch)
{
  g_autoptr (GHashTable) said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) alike = g_hash_table_new (g_str_hash, g_str_equal); /* words: how many */
  g_autoptr (GPtrArray)  words = g_ptr_array_new_with_free_func (g_free);
  ExitStatus             status = EXIT_DONE;
  guint                  n_failed = 0, n;

  for (guint i = 0; i < batch->n; i++)
    {
      const Predicted *one = &batch->each[i];

      g_ptr_array_add (words, words_of (one));
      n = GPOINTER_TO_UINT (g_hash_table_lookup (alike, words->pdata[i]));
      g_hash_table_insert (alike, words->pdata[i], GUINT_TO_POINTER (n + 1));
      n_failed += predicted_failed (one);
      status = stream_worse (status, diag_list_has_errors (one->diags) ? EXIT_USAGE
                                     : one->prediction == NULL         ? EXIT_RUNTIME
                                                                       : EXIT_DONE);
    }
  for (guint i = 0; i < batch->n; i++)
    {
      n = GPOINTER_TO_UINT (g_hash_table_lookup (alike, words->pdata[i]));
      if (n > 0)
        report_one (batch, i, n - 1, n_failed < batch->n, said);
      g_hash_table_remove (alike, words->pdata[i]);
    }
  return status;
}

typedef struct
{
  gboolean explain;
  char    *sort;
} Settings;

static ExitStatus
compare_all (Common *common, const GPtrArray *scenarios, const Settings *settings)
{
  PredictOptions            options = common_predict_options (common);
  g_autoptr (GPtrArray)     predictions = g_ptr_array_new ();
  g_autofree const Replay **kept = g_new0 (const Replay *, scenarios->len); /* of the predictions */
  g_auto (PredictionBatch)  batch = { 0 };
  Progress                 *progress;
  ExitStatus                status = common_check_outputs (common);

  if (status != EXIT_DONE)
    return status;
  options.replay.keep_pools = common_keeps_replays (common, scenarios->len);
  options.idle_figures = TRUE;
  progress = progress_start ("predicting", "scenarios", NULL);
  options.count = progress_count (progress);
  batch =
      prediction_batch_of (scenarios, &options, common_n_jobs (common), options.replay.keep_pools);
  progress_end (progress);
  status = report_failures (&batch);
  for (guint i = 0; i < batch.n; i++)
    if (!predicted_failed (&batch.each[i]))
      g_ptr_array_add (predictions, batch.each[i].prediction);
  if (settings->sort != NULL)
    report_sort (predictions, settings->sort);
  for (guint p = 0; p < predictions->len; p++)
    for (guint i = 0; i < batch.n; i++)
      if (batch.each[i].prediction == g_ptr_array_index (predictions, p))
        kept[p] = batch.each[i].inputs.replay;
  if (predictions->len > 0)
    {
      void (*text) (const GPtrArray *, GString *) =
          settings->explain ? report_comparison_explained : report_comparison_text;

      status = stream_worse (status, common_print_report (common, predictions, text));
      status = common_write_files (common, predictions, kept, status);
    }
  return status;
}

static gboolean
check (Common *common, gpointer data, DiagList *diags)
{
  const Settings         *settings = data;
  g_autofree const char **names = report_column_names ();
  g_autofree char        *hint = NULL;

  (void) diags;
  if (settings->sort == NULL || name_index (settings->sort, names) >= 0)
    return TRUE;
  hint = suggest_hint (settings->sort, names);
  common_say (common, "--sort: there is no result '%s'\n  hint: %s\n", settings->sort, hint);
  return FALSE;
}

static ExitStatus
run (Common *common, gpointer data)
{
  g_autoptr (GPtrArray) scenarios = common_load_grid (common);

  if (scenarios == NULL)
    return EXIT_USAGE;
  return common->print_scenario ? common_print_scenarios (common, scenarios)
                                : compare_all (common, scenarios, data);
}

static const CommandOption options[] = {
  { OPTION ("sort", VALUE_TEXT, sort, "KEY",
            "order by a result, the best first (such as tokens_per_s_per_gpu); what fits comes "
            "first"),
    .words = &words_results },
  { OPTION ("explain", VALUE_SWITCH, explain, NULL,
            "also say by how much rows do not fit, and why each differs from the first of its "
            "model") },
  { 0 },
};

const Command command_compare = {
  .name = "compare",
  .help = "several strategies or scenarios side by side, with the difference explained",
  .arguments = "[SCENARIOS.yaml]",
  .summary = "Predicts every scenario of the file, one line each. Lists of values make a grid, in "
             "the file and on the command line.",
  .examples = "Examples:\n  shardsim compare workloads/quickstart.yaml --explain\n"
              "  shardsim compare workloads/quickstart.yaml --sort tokens_per_s_per_gpu\n"
              "  shardsim compare workloads/quickstart.yaml --micro-batch 4 --format csv\n"
              "  shardsim compare --cluster '2 x dgx-h100' --model llama-3-8b --seq-len 4096 \\\n"
              "    --strategy fsdp2,zero3 --tp 1,2\n",
  .takes = COMMON_SCENARIO | COMMON_FORMAT | COMMON_RUN | COMMON_TRACE | COMMON_PAGES,
  .options = options,
  .settings_size = sizeof (Settings),
  .most_words = ANY_WORDS,
  .check = check,
  .run = run,
};
