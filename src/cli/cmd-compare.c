/* shardsim compare: several scenarios side by side, simulated in threads, reported in their order. */
#include <pthread.h>
#include <stdio.h>

#include "cli/common.h"
#include "report/report.h"

/* Threads take the next scenario under the lock; everything else of a slot is its thread's alone. */
typedef struct
{
  const GPtrArray      *scenarios;
  const PredictOptions *options;
  Prediction          **predictions;
  Replay              **replays; /* NULL unless a trace wants them */
  ProfileSet          **profiles;
  DiagList            **diags;
  GError              **errors;
  pthread_mutex_t       lock;
  guint                 next, done;
  gboolean              progress;
} Jobs;

static void
show_progress (const Jobs *jobs)
{
  if (jobs->progress)
    fprintf (stderr, "\r%u of %u scenarios%s", jobs->done, jobs->scenarios->len,
             jobs->done == jobs->scenarios->len ? "\r\033[K" : "");
}

static void *
work (void *data)
{
  Jobs *jobs = data;

  for (;;)
    {
      guint i;

      pthread_mutex_lock (&jobs->lock);
      i = jobs->next < jobs->scenarios->len ? jobs->next++ : jobs->scenarios->len;
      pthread_mutex_unlock (&jobs->lock);
      if (i == jobs->scenarios->len)
        return NULL;
      jobs->predictions[i] = predict_with_replay (
          g_ptr_array_index (jobs->scenarios, i), jobs->options,
          jobs->replays != NULL ? &jobs->replays[i] : NULL,
          jobs->replays != NULL ? &jobs->profiles[i] : NULL, jobs->diags[i], &jobs->errors[i]);
      pthread_mutex_lock (&jobs->lock);
      jobs->done++;
      show_progress (jobs);
      pthread_mutex_unlock (&jobs->lock);
    }
}

static void
run_jobs (Jobs *jobs, guint n_threads)
{
  g_autofree pthread_t *threads = g_new (pthread_t, n_threads);
  guint                 started = 0;

  pthread_mutex_init (&jobs->lock, NULL);
  while (started + 1 < n_threads && pthread_create (&threads[started], NULL, work, jobs) == 0)
    started++;
  work (jobs);
  for (guint i = 0; i < started; i++)
    pthread_join (threads[i], NULL);
  pthread_mutex_destroy (&jobs->lock);
}

/* Diagnostics and errors of all scenarios, in their order. */
static ExitStatus
report_failures (const Jobs *jobs)
{
  ExitStatus status = EXIT_DONE;

  for (guint i = 0; i < jobs->scenarios->len; i++)
    {
      if (common_report_diags (jobs->diags[i]) != EXIT_DONE)
        status = EXIT_USAGE;
      else if (jobs->predictions[i] == NULL)
        status = MAX (status, common_report_error (jobs->errors[i]));
    }
  return status;
}

static ExitStatus
compare_all (Common *common, const GPtrArray *scenarios, GPtrArray *predictions)
{
  PredictOptions          options = common_predict_options (common);
  g_autofree Prediction **slots = g_new0 (Prediction *, scenarios->len);
  g_autofree DiagList   **diags = g_new0 (DiagList *, scenarios->len);
  g_autofree GError     **errors = g_new0 (GError *, scenarios->len);
  g_autofree Replay     **replays = g_new0 (Replay *, scenarios->len);
  g_autofree ProfileSet **profiles = g_new0 (ProfileSet *, scenarios->len);
  Jobs                    jobs = { .scenarios = scenarios,
                                   .options = &options,
                                   .predictions = slots,
                                   .diags = diags,
                                   .errors = errors,
                                   .replays = common->trace != NULL ? replays : NULL,
                                   .profiles = profiles,
                                   .progress = common_stderr_is_terminal () };
  g_autoptr (GError)      error = NULL;
  ExitStatus              status;

  for (guint i = 0; i < scenarios->len; i++)
    diags[i] = diag_list_new ();
  run_jobs (&jobs, MIN (scenarios->len, common_n_jobs (common)));
  status = report_failures (&jobs);
  for (guint i = 0; i < scenarios->len; i++)
    if (slots[i] != NULL)
      g_ptr_array_add (predictions, slots[i]);
  if (status == EXIT_DONE
      && !common_write_files (common, predictions, (const Replay *const *) replays, &error))
    status = common_report_error (error);
  for (guint i = 0; i < scenarios->len; i++)
    {
      g_clear_pointer (&replays[i], replay_free);
      g_clear_pointer (&profiles[i], profile_set_free);
      diag_list_free (diags[i]);
      g_clear_error (&errors[i]);
    }
  return status;
}

int
cmd_compare (int argc, char **argv)
{
  g_auto (Common)       common = { 0 };
  gboolean              done = FALSE;
  g_autoptr (GPtrArray) scenarios = NULL;
  g_autoptr (GPtrArray) predictions =
      g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  ExitStatus status;

  if (!common_parse (&common, COMMON_SCENARIO | COMMON_FORMAT | COMMON_RUN, "SCENARIOS.yaml",
                     "Predicts every scenario of the file and explains how each differs from the first.",
                     "Examples:\n  shardsim compare workloads/quickstart.yaml\n"
                     "  shardsim compare workloads/quickstart.yaml --micro-batch 4 --format csv\n",
                     NULL, argc, argv, &done))
    return EXIT_USAGE;
  if (done)
    return EXIT_DONE;
  scenarios = common_load_scenarios (&common);
  if (scenarios == NULL)
    return EXIT_USAGE;
  if (common.print_scenario)
    return common_print_scenarios (scenarios);
  status = compare_all (&common, scenarios, predictions);
  if (status != EXIT_DONE)
    return status;
  return common_print_report (&common, predictions, report_comparison_text);
}
