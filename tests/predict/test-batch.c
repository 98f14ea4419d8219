/*
 * Predictions of a list: each in its place, or why there is none, the same in one thread and in
 * several; what was read is gone, and what a stop leaves out is said to be. Not asserted: when
 * memory is given back, and how many threads there are.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "predict/batch.h"

#define N 6

/* A small model in MICROS micro-steps on one node; FAILS: on a mesh that does not divide it. */
static Scenario *
scenario_of (const char *micros, gboolean fails)
{
  ScenarioOverride overrides[] = {
    { "cluster.node", "dgx-a100", "test" },
    { "cluster.nodes", "1", "test" },
    { "model.arch", "llama", "test" },
    { "model.n_layers", "2", "test" },
    { "model.d_model", "512", "test" },
    { "model.n_heads", "4", "test" },
    { "model.d_ff", "1024", "test" },
    { "model.vocab", "4096", "test" },
    { "training.seq_len", "512", "test" },
    { "training.grad_accum", micros, "test" },
    { "strategy.name", "fsdp2", "test" },
    { "mesh.tp", fails ? "3" : "1", "test" }, /* divides no eight GPUs */
  };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);

  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  return g_ptr_array_steal_index (all, 0);
}

static Scenario *
numbered (guint i)
{
  g_autofree char *micros = g_strdup_printf ("%u", i + 1);

  return scenario_of (micros, i % 2 == 1);
}

static GPtrArray *
list (void)
{
  GPtrArray *all = g_ptr_array_new_with_free_func ((GDestroyNotify) scenario_free);

  for (guint i = 0; i < N; i++)
    g_ptr_array_add (all, numbered (i));
  return all;
}

START_TEST (test_in_order)
{
  g_autoptr (GPtrArray)    scenarios = list ();
  const PredictOptions     options = { 0 };
  g_auto (PredictionBatch) one = prediction_batch_of (scenarios, &options, 1, FALSE);
  g_auto (PredictionBatch) some = prediction_batch_of (scenarios, &options, 3, TRUE);

  ck_assert_uint_eq (one.n, N);
  for (guint i = 0; i < N; i++)
    {
      const Predicted *a = &one.each[i], *b = &some.each[i];

      ck_assert_int_eq (predicted_failed (a), i % 2 == 1);
      ck_assert_str_eq (a->reason != NULL ? a->reason : "", b->reason != NULL ? b->reason : "");
      ck_assert_ptr_null (a->inputs.resolved); /* nobody reads it */
      if (i % 2 == 1)
        {
          ck_assert_ptr_nonnull (strstr (a->reason, "does not divide"));
          ck_assert_ptr_null (b->prediction);
          continue;
        }
      ck_assert (a->prediction->step_time_s == b->prediction->step_time_s);
      ck_assert_ptr_nonnull (b->inputs.replay);
      if (i > 0) /* more micro-steps take longer: they did not change places */
        ck_assert (a->prediction->step_time_s > one.each[i - 2].prediction->step_time_s);
    }
}
END_TEST

/* What READ saw. */
typedef struct
{
  double   seconds[N];
  gboolean resolved[N];
} Seen;

static Scenario *
build (gpointer user, guint i, DiagList *diags)
{
  (void) user;
  if (i == N - 1)
    diag_error (diags, NULL, NULL, "there is no last one");
  return i == N - 1 ? NULL : numbered (i);
}

static void
read_seconds (gpointer user, guint i, Predicted *one)
{
  Seen *self = user;

  self->resolved[i] = one->inputs.resolved != NULL;
  if (one->prediction != NULL)
    self->seconds[i] = one->prediction->step_time_s;
}

START_TEST (test_read_and_gone)
{
  const PredictOptions     options = { 0 };
  Seen                     seen = { 0 };
  g_auto (PredictionBatch) batch = {
    .n = N, .n_threads = 2, .options = &options, .build = build, .read = read_seconds, .user = &seen
  };

  prediction_batch_run (&batch);
  for (guint i = 0; i < N; i++)
    {
      ck_assert_int_eq (seen.seconds[i] > 0, i % 2 == 0);
      ck_assert_int_eq (seen.resolved[i], i % 2 == 0);
      ck_assert_int_eq (batch.each[i].reason == NULL, i % 2 == 0);
      ck_assert_ptr_null (batch.each[i].prediction);
      ck_assert_ptr_null (batch.each[i].scenario);
      ck_assert_ptr_null (batch.each[i].inputs.profiles);
    }
  ck_assert_str_eq (batch.each[N - 1].reason, "there is no last one");
}
END_TEST

/* A bound of one event: none of them is simulated to its end, and each says what it took. */
START_TEST (test_limit_of_each)
{
  g_autoptr (GPtrArray)    scenarios = list ();
  const PredictOptions     options = { 0 };
  g_auto (PredictionBatch) batch = {
    .n = N, .n_threads = 2, .options = &options, .most_events = 1, .scenarios = scenarios
  };

  prediction_batch_run (&batch);
  for (guint i = 0; i < N; i += 2)
    {
      ck_assert_ptr_null (batch.each[i].prediction);
      ck_assert (g_error_matches (batch.each[i].error, ENGINE_ERROR, ENGINE_ERROR_OVER));
      ck_assert_uint_gt (batch.each[i].n_events, 0);
    }
}
END_TEST

/* The stop is due from the second ask on: the first scenario may end, all others are left out. */
START_TEST (test_left_out)
{
  g_autoptr (GPtrArray)    scenarios = list ();
  Stop                     stop = { .most_asked = 2 };
  WorkCount                count = { .stop = &stop };
  const PredictOptions     options = { .replay.stop = &stop, .count = &count };
  g_auto (PredictionBatch) batch = prediction_batch_of (scenarios, &options, 1, FALSE);

  ck_assert_ptr_null (batch.each[N - 1].prediction);
  ck_assert (!batch.each[N - 1].done);
  ck_assert_str_eq (batch.each[N - 1].reason, STOP_LEFT_OUT);
  ck_assert_ptr_nonnull (stop_reason (&stop));
}
END_TEST

SUITE_MAIN (batch)
{
  Suite *suite = suite_create ("batch");
  TCase *tcase = tcase_create ("batch");

  tcase_set_timeout (tcase, 300);
  tcase_add_test (tcase, test_in_order);
  tcase_add_test (tcase, test_read_and_gone);
  tcase_add_test (tcase, test_limit_of_each);
  tcase_add_test (tcase, test_left_out);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
