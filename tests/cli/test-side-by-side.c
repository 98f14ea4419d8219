/*
 * Many simulations in threads give the bytes that one gives alone: no state is shared.
 * Scenarios are random, of every strategy; what is compared is the whole JSON report.
 */
#include "../cases.h"
#include "../replay/fixture.h"
#include "../suite.h"

#include <pthread.h>

#include "report/prediction/report.h"

#define N_SCENARIOS   40
#define N_SIMULATIONS 2000
#define N_THREADS     8

static char *
report_of (const Scenario *scenario)
{
  PredictOptions       options = { .replay = { 0 } };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  Prediction          *prediction = predict (scenario, &options, diags, &error);
  GPtrArray           *one;
  GString             *out = g_string_new (NULL);

  /* What cannot run says why: that is compared, too. */
  if (prediction == NULL)
    {
      g_string_free (out, TRUE);
      return error != NULL ? g_strdup (error->message) : diag_list_format (diags, FALSE);
    }
  one = g_ptr_array_new_with_free_func ((GDestroyNotify) prediction_free);
  g_ptr_array_add (one, prediction);
  report_json (one, out);
  g_ptr_array_unref (one);
  return g_string_free (out, FALSE);
}

typedef struct
{
  Scenario *const *scenarios;
  char           **alone;
  guint            first;
  guint            differ;
} Part;

static void *
simulate_part (void *data)
{
  Part *part = data;

  for (guint i = part->first; i < cases_of (N_SIMULATIONS); i += N_THREADS)
    {
      g_autofree char *text = report_of (part->scenarios[i % N_SCENARIOS]);

      part->differ += !g_str_equal (text, part->alone[i % N_SCENARIOS]);
    }
  return NULL;
}

START_TEST (test_many)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (GRand)      rand = g_rand_new_with_seed (20);
  Scenario              *scenarios[N_SCENARIOS];
  char                  *alone[N_SCENARIOS];
  pthread_t              threads[N_THREADS];
  Part                   parts[N_THREADS];
  guint                  n_reports = 0;

  for (guint i = 0; i < N_SCENARIOS; i++)
    {
      scenarios[i] = fixture_random (rand, profiles);
      alone[i] = report_of (scenarios[i]);
      n_reports += *alone[i] == '{';
    }
  ck_assert_uint_gt (n_reports, N_SCENARIOS / 2);
  for (guint t = 0; t < N_THREADS; t++)
    {
      parts[t] = (Part){ scenarios, alone, t, 0 };
      ck_assert_int_eq (pthread_create (&threads[t], NULL, simulate_part, &parts[t]), 0);
    }
  for (guint t = 0; t < N_THREADS; t++)
    {
      pthread_join (threads[t], NULL);
      ck_assert_msg (parts[t].differ == 0, "%u simulations of thread %u differ", parts[t].differ,
                     t);
    }
  for (guint i = 0; i < N_SCENARIOS; i++)
    {
      scenario_free (scenarios[i]);
      g_free (alone[i]);
    }
}
END_TEST

SUITE_MAIN (side_by_side)
{
  Suite *suite = suite_create ("side-by-side");
  TCase *tests = tcase_create ("side-by-side");

  tcase_add_test (tests, test_many);
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
