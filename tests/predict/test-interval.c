/*
 * The interval of a prediction holds it, whatever better and worse figures make of its schedule: by
 * every optimizer, and of random scenarios. Its ends are what was run. Not asserted: that a
 * measured step lies within.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include "../cases.h"
#include "predict/prediction.h"

#define N_RANDOM 100
#define SEED     22

static Prediction *
predict_interval (const Scenario *scenario, const char *what)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  const PredictOptions   options = { .interval = TRUE }, plain = { .interval = FALSE };
  g_autoptr (Prediction) alone = predict (scenario, &plain, diags, NULL);
  Prediction            *p = predict (scenario, &options, diags, NULL);

  if (p == NULL) /* a combination that the strategy refuses */
    return NULL;
  ck_assert_msg (p->step_time_s == alone->step_time_s, "%s: %.17g s, alone %.17g s", what,
                 p->step_time_s, alone->step_time_s);
  ck_assert_msg (p->step_time_low_s <= p->step_time_s && p->step_time_s <= p->step_time_high_s,
                 "%s: %g s is not from %g to %g s", what, p->step_time_s, p->step_time_low_s,
                 p->step_time_high_s);
  return p;
}

START_TEST (test_optimizers)
{
  const OptionSpec *spec = option_table_find (training_options, "optimizer");

  for (guint i = 0; spec->choices[i] != NULL; i++)
    for (guint sharded = 0; sharded < 2; sharded++)
      {
        g_autofree char *what =
            g_strdup_printf ("%s, %s", spec->choices[i], sharded ? "fsdp2" : "ddp");
        g_autoptr (Scenario) scenario = fixture_scenario (
            "cluster.name", "dgx-h100", "model.config", "gpt-10b", "model.n_layers", "8",
            "training.seq_len", "512", "training.optimizer", spec->choices[i], "strategy.name",
            sharded ? "fsdp2" : "ddp", NULL);
        g_autoptr (Prediction) p = predict_interval (scenario, what);

        ck_assert_ptr_nonnull (p);
        ck_assert_msg (p->step_time_low_s < p->step_time_high_s, "%s: an interval of nothing",
                       what);
      }
}
END_TEST

START_TEST (test_random)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  guint                  n_cases = cases_of (N_RANDOM), n = 0;

  for (guint i = 0; i < n_cases; i++)
    {
      g_autoptr (Scenario)   scenario = fixture_random_case (SEED, i, profiles);
      g_autofree char       *what = g_strdup_printf ("seed %u", SEED + i);
      g_autoptr (Prediction) p = predict_interval (scenario, what);

      n += p != NULL;
    }
  ck_assert_uint_gt (n, n_cases / 2);
}
END_TEST

SUITE_MAIN (interval)
{
  Suite *suite = suite_create ("interval");
  TCase *tcase = tcase_create ("interval");

  tcase_set_timeout (tcase, 600);
  tcase_add_test (tcase, test_optimizers);
  tcase_add_test (tcase, test_random);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
