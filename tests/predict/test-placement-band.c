/*
 * Bands over placements and hashes against the same scenario simulated seed by seed, sorted here:
 * of 5 values the median is the third, the 10th percentile lies 0.4 of the way from the first to
 * the second. Nothing of it depends on the number of threads; what draws nothing has no width.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "../suite.h"
#include "base/intern.h"
#include "predict/placement-band.h"

#define SHARED                                                                                 \
  "cluster.node=dgx-h100", "cluster.nodes=16", "cluster.nic=roce-400", "cluster.leaf_nodes=4", \
      "model.config=llama-3-8b", "training.seq_len=2048"

static Scenario *
make_scenario (const char *const *settings)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) scenarios = NULL;
  g_autofree char      *said = NULL;
  ScenarioOverride      overrides[24];
  guint                 n = 0;

  for (; settings[n] != NULL; n++)
    {
      g_auto (GStrv) pair = g_strsplit (settings[n], "=", 2);

      overrides[n] = (ScenarioOverride){ intern_text (pair[0]), intern_text (pair[1]), "--set" };
    }
  scenarios = scenario_load (NULL, NULL, overrides, n, diags);
  said = diag_list_format (diags, FALSE);
  ck_assert_msg (scenarios != NULL, "%s", said);
  return scenario_copy (g_ptr_array_index (scenarios, 0));
}

static Prediction *
predict_in (const Scenario *scenario, guint n_threads)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  PredictOptions       options = { .n_threads = n_threads };
  Prediction          *prediction = predict (scenario, &options, diags, NULL);
  g_autofree char     *said = diag_list_format (diags, FALSE);

  ck_assert_msg (prediction != NULL, "%s", said);
  return prediction;
}

static int
compare_doubles (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static void
assert_same (const QuantileBand *a, const QuantileBand *b)
{
  ck_assert_double_eq (a->p10, b->p10);
  ck_assert_double_eq (a->p50, b->p50);
  ck_assert_double_eq (a->p90, b->p90);
}

/* Placements and hashes are drawn, with the seeds 3 and 7 on. */
START_TEST (test_seed_by_seed)
{
  static const char *const settings[] = { SHARED,
                                          "strategy.name=zero3",
                                          "cluster.fabric_nodes=64",
                                          "cluster.placement=random",
                                          "cluster.placement_seed=3",
                                          "cluster.routing_seed=7",
                                          "cluster.placements=5",
                                          NULL };
  g_autoptr (Scenario)     scenario = make_scenario (settings);
  g_autoptr (Prediction)   band = predict_in (scenario, 1);
  g_autoptr (Prediction)   threaded = predict_in (scenario, 4);
  double                   t[5];

  scenario->cluster.placements = 0;
  for (guint i = 0; i < 5; i++)
    {
      g_autoptr (Prediction) one = predict_in (scenario, 1);

      ck_assert_uint_eq (one->n_placements, 0);
      t[i] = one->step_time_s;
      scenario->cluster.placement_seed++;
      scenario->cluster.routing_seed++;
    }
  ck_assert_double_eq (band->step_time_s, t[0]);
  qsort (t, 5, sizeof *t, compare_doubles);
  ck_assert_double_gt (t[4], t[0]);
  ck_assert_uint_eq (band->n_placements, 5);
  ck_assert (band->band_is_drawn);
  ck_assert_double_eq_tol (band->step_band.p10, 0.6 * t[0] + 0.4 * t[1], 1e-12);
  ck_assert_double_eq (band->step_band.p50, t[2]);
  ck_assert_double_eq_tol (band->step_band.p90, 0.4 * t[3] + 0.6 * t[4], 1e-12);
  assert_same (&band->step_band, &threaded->step_band);
  ck_assert_double_eq_tol (prediction_tokens_at (band, band->step_time_s),
                           band->tokens_per_s_per_gpu, 1e-6);
}
END_TEST

/* Adaptive routing of a packed job: nothing is drawn, the band is the step. */
START_TEST (test_nothing_is_drawn)
{
  static const char *const settings[] = { SHARED, "strategy.name=fsdp2", "cluster.routing=adaptive",
                                          "cluster.placements=32", NULL };
  g_autoptr (Scenario)     scenario = make_scenario (settings);
  g_autoptr (Prediction)   band = predict_in (scenario, 2);

  ck_assert_uint_eq (band->n_placements, 32);
  ck_assert (!band->band_is_drawn);
  ck_assert_double_eq (band->step_band.p10, band->step_time_s);
  ck_assert_double_eq (band->step_band.p50, band->step_time_s);
  ck_assert_double_eq (band->step_band.p90, band->step_time_s);
}
END_TEST

/*
 * An all-reduce under ring whose messages are cut over all queue pairs: more of them even out the
 * uplinks, so that the median falls with them, and sprayed it is lowest; in any number of threads.
 */
START_TEST (test_collective)
{
  static const gint64    qps[] = { 1, 4, 32 };
  g_autoptr (InputFiles) files = input_files_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new_shared (NULL, NULL, files);
  g_autoptr (DiagList)   diags = diag_list_new ();
  CollectiveOptions      library = collective_default_options;
  CollectiveSweepOptions options = {
    .kind = COLLECTIVE_ALL_REDUCE, .min_bytes = 1 << 30, .max_bytes = 1 << 30, .step_factor = 2
  };
  guint32 ranks[128];
  double  before = G_MAXDOUBLE;

  library.algorithm = ALGORITHM_RING;
  library.split_data = TRUE;
  for (guint i = 0; i < 128; i++)
    ranks[i] = i;
  for (guint i = 0; i < G_N_ELEMENTS (qps); i++)
    {
      ClusterOptions              wanted = { 0 };
      g_autoptr (Cluster)         cluster = NULL;
      g_autoptr (CollectiveSweep) one = NULL, many = NULL;
      CollectiveBandInput     input = { &wanted, NULL, files, ranks, 128, 1, &library, &options };
      const CollectiveSample *a, *b;

      option_table_defaults (cluster_options, &wanted);
      wanted.node = g_strdup ("dgx-h100");
      wanted.nodes = 16;
      wanted.leaf_nodes = 4;
      wanted.oversubscription = 4; /* 8 uplinks for the 8 rings that leave a leaf */
      wanted.routing = ROUTING_ECMP;
      wanted.qps = qps[i];
      wanted.placements = 9;
      cluster = cluster_new (&wanted, profiles, NULL, diags);
      one = collective_sweep (cluster, ranks, 128, &library, &options, NULL);
      many = collective_sweep (cluster, ranks, 128, &library, &options, NULL);
      ck_assert (placement_band_collective (one, cluster, &input, NULL));
      input.n_threads = 4;
      ck_assert (placement_band_collective (many, cluster, &input, NULL));
      a = &g_array_index (one->samples, CollectiveSample, 0);
      b = &g_array_index (many->samples, CollectiveSample, 0);
      assert_same (&a->time_band, &b->time_band);
      ck_assert_double_le (a->time_band.p10, a->time_band.p50);
      ck_assert_double_le (a->time_band.p50, a->time_band.p90);
      ck_assert_double_lt (a->time_band.p50, before);
      before = a->time_band.p50;
      option_table_clear (cluster_options, &wanted);
    }
}
END_TEST

SUITE_MAIN (placement_band)
{
  Suite *suite = suite_create ("placement-band");
  TCase *tcase = tcase_create ("placement-band");

  tcase_add_test (tcase, test_seed_by_seed);
  tcase_add_test (tcase, test_nothing_is_drawn);
  tcase_add_test (tcase, test_collective);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
