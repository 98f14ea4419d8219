/*
 * Work that ends early: when a stop is due, what counts as cut, what is left of the jobs of
 * parallel_run, and how a partial result is told. That the program listens to signals is tested in
 * tests/cli/patience.sh.
 */
#include <check.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../suite.h"
#include "base/file/temporary.h"
#include "base/parallel.h"

START_TEST (test_never)
{
  Stop stop = { 0 };

  ck_assert (!stop_is_due (NULL) && !stop_cuts (NULL));
  ck_assert_ptr_null (stop_reason (NULL));
  stop_after (&stop, 0);
  ck_assert (!stop_is_due (&stop) && !stop_cuts (&stop));
  stop_after (&stop, 1e300);
  ck_assert (!stop_is_due (&stop));
}
END_TEST

START_TEST (test_limit)
{
  Stop stop = { 0 };

  stop_after (&stop, 1e-9);
  g_usleep (10);
  ck_assert (stop_is_due (&stop));
  ck_assert_ptr_null (stop_reason (&stop)); /* nothing was left out for it */
  ck_assert (stop_cuts (&stop));
  ck_assert_str_eq (stop_reason (&stop), "time limit");
}
END_TEST

START_TEST (test_signal)
{
  Stop stop = { 0 };

  ck_assert (stop_by_signal (&stop, SIGTERM));
  ck_assert (!stop_by_signal (&stop, SIGINT)); /* a second one */
  ck_assert (stop_cuts (&stop));
  ck_assert_str_eq (stop_reason (&stop), "SIGTERM");
}
END_TEST

typedef struct
{
  Stop stop;
  gint begun, last; /* the job that the signal comes in */
} Jobs;

static void
job (guint i, gpointer user)
{
  Jobs *jobs = user;

  g_atomic_int_inc (&jobs->begun);
  if ((gint) i == jobs->last)
    stop_by_signal (&jobs->stop, SIGINT);
}

START_TEST (test_jobs)
{
  Jobs      jobs = { .last = 6 };
  WorkCount count = { .stop = &jobs.stop };
  Partial   partial;

  work_count_step (&count, "counting", FALSE, 0);
  parallel_run (20, 1, job, &jobs, &count);
  work_count_step (&count, "what comes after", FALSE, 0);
  partial = work_count_partial (&count);
  ck_assert_int_eq (jobs.begun, 7);
  ck_assert_str_eq (partial.reason, "SIGINT");
  ck_assert_str_eq (partial.step, "counting");
  ck_assert_uint_eq (partial.done, 6); /* the one of the signal may be cut itself */
  ck_assert_uint_eq (partial.todo, 20);
  parallel_run (20, 3, job, &jobs, &count);
  ck_assert_int_eq (jobs.begun, 7);
}
END_TEST

START_TEST (test_last_job)
{
  Jobs      jobs = { .last = 19 };
  WorkCount count = { .stop = &jobs.stop };

  parallel_run (20, 1, job, &jobs, &count);
  ck_assert_int_eq (jobs.begun, 20);
  ck_assert_ptr_null (work_count_partial (&count).reason);
}
END_TEST

static const struct
{
  Partial     partial;
  const char *text;
} texts[] = {
  { { "time limit", NULL, 0, 0, FALSE }, "ended by the time limit" },
  { { "SIGINT", NULL, 12, 40, FALSE }, "ended by SIGINT after 12 of 40" },
  { { "SIGTERM", "screening structures", 0, 40, FALSE },
    "ended by SIGTERM while screening structures, after 0 of 40" },
  { { "time limit", "simulating candidates", 37, 40, TRUE },
    "ended by the time limit while simulating candidates, after 37" },
};

START_TEST (test_text)
{
  g_autofree char *text = partial_text (&texts[_i].partial);

  ck_assert_str_eq (text, texts[_i].text);
}
END_TEST

/*
 * The signal that ends a process of its own in which RUN runs; 0: none. Sanitizers want all tests
 * in one process, so check's own forks do not do.
 */
static int
ended_by (void (*run) (void))
{
  int   status = 0;
  pid_t child = fork ();

  ck_assert_int_ge (child, 0);
  if (child == 0)
    {
      run ();
      _exit (0);
    }
  ck_assert_int_eq (waitpid (child, &status, 0), child);
  return WIFSIGNALED (status) ? WTERMSIG (status) : 0;
}

/* The first signal is told, and ends nothing; the second one does. */
static void
signal_twice (void)
{
  Stop stop = { 0 };

  temporary_watch_signals ();
  temporary_set_stop (&stop);
  kill (getpid (), SIGINT);
  while (!stop_is_due (&stop))
    g_usleep (1000);
  if (!stop_cuts (&stop) || g_strcmp0 (stop_reason (&stop), "SIGINT") != 0)
    return;
  kill (getpid (), SIGINT); /* the same once more, as launchers send it */
  g_usleep (G_USEC_PER_SEC / 2);
  kill (getpid (), SIGTERM);
  g_usleep (30 * G_USEC_PER_SEC);
}

static void
signal_after (void)
{
  Stop stop = { 0 };

  temporary_watch_signals ();
  temporary_set_stop (&stop);
  temporary_set_stop (NULL);
  kill (getpid (), SIGINT);
  g_usleep (30 * G_USEC_PER_SEC);
}

START_TEST (test_process)
{
  ck_assert_int_eq (ended_by (signal_twice), SIGTERM);
  ck_assert_int_eq (ended_by (signal_after), SIGINT);
}
END_TEST

SUITE_MAIN (stop)
{
  Suite *suite = suite_create ("stop");
  TCase *tcase = tcase_create ("stop");

  tcase_set_timeout (tcase, 60);
  tcase_add_test (tcase, test_never);
  tcase_add_test (tcase, test_limit);
  tcase_add_test (tcase, test_signal);
  tcase_add_test (tcase, test_jobs);
  tcase_add_test (tcase, test_last_job);
  tcase_add_loop_test (tcase, test_text, 0, G_N_ELEMENTS (texts));
  tcase_add_test (tcase, test_process);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
