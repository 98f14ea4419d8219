/* shardsim compare: scenarios side by side, simulated in threads, reported in their order. */
#include "base/parallel.h"
#include "base/suggest.h"
#include "cli/common.h"
#include "cli/override-lists.h"
#include "cli/progress.h"
#include "report/report.h"

/* Each scenario has slots of its own. */
typedef struct
{
  const GPtrArray      *scenarios;
  const PredictOptions *options;
  Prediction          **predictions;
  Replay              **replays; /* NULL unless a trace wants them */
  ProfileSet          **profiles;
  DiagList            **diags;
  GError              **errors;
} Jobs;

static void
predict_one (guint i, gpointer user)
{
  Jobs *jobs = user;

  jobs->predictions[i] = predict_with_replay (g_ptr_array_index (jobs->scenarios, i), jobs->options,
                                              jobs->replays != NULL ? &jobs->replays[i] : NULL,
                                              jobs->replays != NULL ? &jobs->profiles[i] : NULL,
                                              jobs->diags[i], &jobs->errors[i]);
}

static gboolean
has_failed (const Jobs *jobs, guint i)
{
  return jobs->predictions[i] == NULL || diag_list_has_errors (jobs->diags[i]);
}

static ExitStatus
status_of (const Jobs *jobs, guint i)
{
  if (diag_list_has_errors (jobs->diags[i]))
    return EXIT_USAGE;
  return jobs->predictions[i] == NULL ? EXIT_RUNTIME : EXIT_DONE;
}

/* Everything there is to say about scenario I. Newly allocated. */
static char *
words_of (const Jobs *jobs, guint i)
{
  g_autofree char *diags = diag_list_format (jobs->diags[i], FALSE);

  return g_strconcat (diags, jobs->errors[i] != NULL ? jobs->errors[i]->message : NULL, NULL);
}

/*
 * That scenario I, and N_MORE for the same reasons, are left out. AGAIN: all of them were said
 * before.
 */
static void
say_left_out (const Jobs *jobs, guint i, guint n_more, gboolean again)
{
  const Scenario  *scenario = g_ptr_array_index (jobs->scenarios, i);
  g_autofree char *more = n_more > 0 ? g_strdup_printf (" and %u more are", n_more) : NULL;

  stream_say ("shardsim compare: '%s'%s left out%s\n", scenario->name, more != NULL ? more : " is",
              again ? " for errors above" : ":");
}

/*
 * Says what is new about scenario I, and N_MORE of the same words; AMONG_OTHERS: some did not
 * fail.
 */
static void
report_one (const Jobs *jobs, guint i, guint n_more, gboolean among_others, GHashTable *said)
{
  const GError *error = jobs->errors[i];
  gboolean      again;

  diag_list_drop_said (jobs->diags[i], said);
  if (error != NULL && !g_hash_table_add (said, g_strdup (error->message)))
    error = NULL;
  again = error == NULL && diag_list_first_message (jobs->diags[i]) == NULL;
  if (has_failed (jobs, i) && among_others)
    say_left_out (jobs, i, n_more, again);
  stream_report_diags (jobs->diags[i]);
  if (error != NULL)
    stream_report_error (error);
}

/*
 * Diagnostics and errors of all scenarios, in their order, each once: those of a grid share most.
 * What fails among others is left out, and said to be.
 */
static ExitStatus
report_failures (const Jobs *jobs)
{
  g_autoptr (GHashTable) said = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GHashTable) alike = g_hash_table_new (g_str_hash, g_str_equal); /* words: how many */
  g_autoptr (GPtrArray)  words = g_ptr_array_new_with_free_func (g_free);
  ExitStatus             status = EXIT_DONE;
  guint                  n_failed = 0, n;

  for (guint i = 0; i < jobs->scenarios->len; i++)
    {
      g_ptr_array_add (words, words_of (jobs, i));
      n = GPOINTER_TO_UINT (g_hash_table_lookup (alike, words->pdata[i]));
      g_hash_table_insert (alike, words->pdata[i], GUINT_TO_POINTER (n + 1));
      n_failed += has_failed (jobs, i);
      status = stream_worse (status, status_of (jobs, i));
    }
  for (guint i = 0; i < jobs->scenarios->len; i++)
    {
      n = GPOINTER_TO_UINT (g_hash_table_lookup (alike, words->pdata[i]));
      if (n > 0)
        report_one (jobs, i, n - 1, n_failed < jobs->scenarios->len, said);
      g_hash_table_remove (alike, words->pdata[i]);
    }
  return status;
}

/* NULL where they are not kept. */
static const Replay *
replay_of (const Jobs *jobs, const Prediction *prediction)
{
  guint i = 0;

  while (jobs->predictions[i] != prediction)
    i++;
  return jobs->replays != NULL ? jobs->replays[i] : NULL;
}

static ExitStatus
compare_all (Common *common, const GPtrArray *scenarios, const char *sort, gboolean explain,
             GPtrArray *predictions)
{
  const gboolean            keeps = common_keeps_replays (common, scenarios->len);
  PredictOptions            options = common_predict_options (common);
  g_autofree Prediction   **slots = g_new0 (Prediction *, scenarios->len);
  g_autofree DiagList     **diags = g_new0 (DiagList *, scenarios->len);
  g_autofree GError       **errors = g_new0 (GError *, scenarios->len);
  g_autofree Replay       **replays = g_new0 (Replay *, scenarios->len);
  g_autofree const Replay **kept = g_new0 (const Replay *, scenarios->len); /* of the predictions */
  g_autofree ProfileSet   **profiles = g_new0 (ProfileSet *, scenarios->len);
  Jobs                      jobs = { .scenarios = scenarios,
                                     .options = &options,
                                     .predictions = slots,
                                     .diags = diags,
                                     .errors = errors,
                                     .replays = keeps ? replays : NULL,
                                     .profiles = profiles };
  Progress                 *progress;
  ExitStatus                status = common_check_files (common);

  if (status != EXIT_DONE)
    return status;
  options.replay.keep_pools = keeps;
  for (guint i = 0; i < scenarios->len; i++)
    diags[i] = diag_list_new ();
  progress = progress_start ("predicting", "scenarios", NULL);
  options.count = progress_count (progress);
  parallel_run (scenarios->len, common_n_jobs (common), predict_one, &jobs, options.count);
  progress_end (progress);
  status = report_failures (&jobs);
  for (guint i = 0; i < scenarios->len; i++)
    if (!has_failed (&jobs, i))
      g_ptr_array_add (predictions, slots[i]);
    else
      prediction_free (slots[i]);
  if (sort != NULL)
    report_sort (predictions, sort);
  for (guint i = 0; i < predictions->len; i++)
    kept[i] = replay_of (&jobs, g_ptr_array_index (predictions, i));
  if (predictions->len > 0)
    {
      void (*text) (const GPtrArray *, GString *) =
          explain ? report_comparison_explained : report_comparison_text;

      status = stream_worse (status, common_print_report (common, predictions, text));
      status = common_write_files (common, predictions, kept, status);
    }
  for (guint i = 0; i < scenarios->len; i++)
    {
      g_clear_pointer (&replays[i], replay_free);
      g_clear_pointer (&profiles[i], profile_set_free);
      diag_list_free (diags[i]);
      g_clear_error (&errors[i]);
    }
  return status;
}

/* FALSE after a message. */
static gboolean
is_column (const char *key)
{
  g_autofree const char **names = report_column_names ();
  g_autofree char        *hint = NULL;

  if (name_index (key, names) >= 0)
    return TRUE;
  hint = suggest_hint (key, names);
  stream_say ("shardsim compare: --sort: there is no result '%s'\n  hint: %s\n", key, hint);
  return FALSE;
}

int
cmd_compare (int argc, char **argv)
{
  g_auto (Common)       common = { 0 };
  gboolean              done = FALSE, explain = FALSE;
  g_autofree char      *sort = NULL;
  g_autoptr (GPtrArray) scenarios = NULL;
  const GOptionEntry    extra[] = {
       { "sort", 0, 0, G_OPTION_ARG_STRING, &sort,
         "order by a result, the best first (such as tokens_per_s_per_gpu); what fits comes first",
         "KEY" },
       { "explain", 0, 0, G_OPTION_ARG_NONE, &explain,
         "also say by how much rows do not fit, and why each differs from the first of its model",
         NULL },
       G_OPTION_ENTRY_NULL,
  };
  g_autoptr (GPtrArray) predictions =
      g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);

  if (!common_parse (
          &common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_RUN | COMMON_TRACE | COMMON_PAGES,
          "[SCENARIOS.yaml]",
          "Predicts every scenario of the file, one line each. Lists of values make a grid, in the "
          "file and on the command line.",
          "Examples:\n  shardsim compare workloads/quickstart.yaml --explain\n"
          "  shardsim compare workloads/quickstart.yaml --sort tokens_per_s_per_gpu\n"
          "  shardsim compare workloads/quickstart.yaml --micro-batch 4 --format csv\n"
          "  shardsim compare --cluster '2 x dgx-h100' --model llama-3-8b --seq-len 4096 \\\n"
          "    --strategy fsdp2,zero3 --tp 1,2\n",
          extra, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  if (sort != NULL && !is_column (sort))
    return EXIT_USAGE;
  scenarios = common_load_grid (&common);
  if (scenarios == NULL)
    return EXIT_USAGE;
  if (common.print_scenario)
    return common_print_scenarios (&common, scenarios);
  return compare_all (&common, scenarios, sort, explain, predictions);
}
