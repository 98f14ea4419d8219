/*
 * The pace of the slowest of many GPUs: the expected maximum of normal deviates against its closed
 * forms and published tables, draws against the expectation, and what it does to a replay: kernels
 * take as much longer as the header says, one node and switched off nothing. Not asserted: that
 * GPUs differ by so much.
 */
#include <math.h>

#include "../suite.h"
#include "fixture.h"
#include "predict/prediction.h"
#include "replay/run/skew.h"

/*
 * 1 / sqrt (pi), 3 / (2 sqrt (pi)); 8, 100 and 1000 from tables of normal order statistics (Harter
 * 1961; Tippett 1925). The last three were simulated, to about a hundredth: where
 * sqrt (2 ln n) would say 2.9, 3.5 and 4.1.
 */
START_TEST (test_expected_maximum)
{
  static const struct
  {
    guint  n;
    double mean, error;
  } known[] = { { 1, 0, 1e-9 },         { 2, 0.5641895835, 1e-9 }, { 3, 0.8462843753, 1e-9 },
                { 8, 1.42360, 5e-6 },   { 100, 2.50759, 5e-6 },    { 1000, 3.24144, 5e-6 },
                { 100000, 4.38, 0.02 }, { 64, 2.35, 0.01 },        { 512, 3.04, 0.01 },
                { 4096, 3.65, 0.03 } };

  ck_assert_msg (fabs (skew_expected_maximum (known[_i].n) - known[_i].mean) <= known[_i].error,
                 "of %u: %.10f", known[_i].n, skew_expected_maximum (known[_i].n));
}
END_TEST

/* The mean of 4000 draws is within four standard errors; the spread of a maximum is below 1. */
START_TEST (test_draws)
{
  static const guint sizes[] = { 1, 8, 512 };
  guint              n = sizes[_i];
  double             sum = 0;

  for (guint seed = 0; seed < 4000; seed++)
    sum += skew_sampled_maximum (n, seed);
  ck_assert (fabs (sum / 4000 - skew_expected_maximum (n)) < 4 / sqrt (4000));
  ck_assert (skew_sampled_maximum (n, 7) == skew_sampled_maximum (n, 7));
  ck_assert (skew_sampled_maximum (n, 7) != skew_sampled_maximum (n, 8));
}
END_TEST

static Prediction *
predict_on (const char *nodes, const char *skew, const char *seed)
{
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.node", "dgx-a100", "cluster.nodes", nodes, "model.arch", "llama", "model.n_layers",
      "2", "model.d_model", "4096", "model.n_heads", "32", "model.d_ff", "11008", "model.vocab",
      "32000", "training.seq_len", "4096", "training.micro_batch", "2", "strategy.name", "ddp",
      "replay.skew", skew, "replay.seed", seed, NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  PredictOptions       options = { 0 };
  Prediction          *self = predict (scenario, &options, diags, NULL);

  ck_assert_ptr_nonnull (self);
  return self;
}

START_TEST (test_one_node_goes_at_its_own_pace)
{
  g_autoptr (Prediction) with = predict_on ("1", "expected", "0");
  g_autoptr (Prediction) without = predict_on ("1", "off", "0");

  ck_assert (with->step_time_s == without->step_time_s);
  ck_assert (with->parts[TIME_SKEW] == 0);
}
END_TEST

/*
 * 64 nodes of 8: kernels take 1 + 0.015 (M (512) - M (8)) times as long, and a collective or the
 * host no longer.
 */
START_TEST (test_many_nodes_wait_for_the_slowest)
{
  g_autoptr (Prediction) with = predict_on ("64", "expected", "0");
  g_autoptr (Prediction) without = predict_on ("64", "off", "0");
  g_autoptr (Prediction) one = predict_on ("64", "sampled", "1");
  g_autoptr (Prediction) other = predict_on ("64", "sampled", "2");
  double factor = 1 + 0.015 * (skew_expected_maximum (512) - skew_expected_maximum (8));
  double kernels =
      with->parts[TIME_COMPUTE] + with->parts[TIME_OPTIMIZER] + with->parts[TIME_COPY_KERNELS];
  double sum = 0;

  ck_assert (factor > 1.023 && factor < 1.026);
  ck_assert (fabs (with->parts[TIME_SKEW] / kernels - (factor - 1)) < 1e-9);
  ck_assert (with->step_time_s > without->step_time_s);
  ck_assert (with->step_time_s < factor * without->step_time_s * (1 + 1e-9));
  for (guint i = 0; i < TIME_N; i++)
    sum += with->parts[i];
  ck_assert (fabs (sum / with->step_time_s - 1) < 1e-9);
  ck_assert (one->step_time_s != other->step_time_s);
}
END_TEST

static Suite *
skew_suite (void)
{
  Suite *suite = suite_create ("skew");
  TCase *tcase = tcase_create ("skew");

  tcase_add_loop_test (tcase, test_expected_maximum, 0, 10);
  tcase_add_loop_test (tcase, test_draws, 0, 3);
  tcase_add_test (tcase, test_one_node_goes_at_its_own_pace);
  tcase_add_test (tcase, test_many_nodes_wait_for_the_slowest);
  suite_add_tcase (suite, tcase);
  return suite;
}

SUITE_MAIN (skew)
{
  return fixture_main (skew_suite ());
}
