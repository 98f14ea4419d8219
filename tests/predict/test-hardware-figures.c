/*
 * Figures of the hardware that a scenario sets: the profile's figure is that from then on, in a
 * file as in an override, and nothing else is. Random scenarios with any of their figures changed
 * take what the same change of the profiles gives, and are the same when printed and read again.
 * What no profile has, what this cluster has not and bad values are errors; parts that have nothing
 * to do are warned of. Not asserted: what a figure is worth, which test-sensitivity does.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include <glib/gstdio.h>

#include "../cases.h"
#include "hardware/profile/figure-settings.h"
#include "predict/idle-figures.h"
#include "predict/variation.h"

#define N_RANDOM 60
#define SEED     71

/* ---- the text -------------------------------------------------------------------------------- */

START_TEST (test_text)
{
  static const char *const cases[][3] = {
    { NULL, "nic.bandwidth=0.2 Tbit/s", "nic.bandwidth=200 Gbit/s" },
    { NULL, "nic.bandwidth = 25 GB/s , gpu.sustained_clock=0.9",
      "gpu.sustained_clock=0.9, nic.bandwidth=200 Gbit/s" },
    { "nic.bandwidth=200 Gbit/s", "nic.bandwidth=100 Gbit/s", "nic.bandwidth=100 Gbit/s" },
    { "nic.bandwidth=200 Gbit/s", "nic:ib-hdr-200.latency=2 us",
      "nic.bandwidth=200 Gbit/s, nic:ib-hdr-200.latency=2 us" },
  };
  g_autoptr (DiagList) diags = diag_list_new ();

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *text = g_strdup (cases[i][0]);

      ck_assert (figure_settings_add (&text, cases[i][1], NULL, diags));
      ck_assert_str_eq (text, cases[i][2]);
    }
}
END_TEST

/* ---- what is wrong --------------------------------------------------------------------------- */

/* What is said of a scenario of two nodes, or one, with KEY at VALUE. Newly allocated. */
static char *
said_of (const char *nodes, const char *key, const char *value)
{
  const ScenarioOverride overrides[] = {
    { "cluster.node", "dgx-a100", "test" },
    { "cluster.nodes", nodes, "test" },
    { "cluster.gpus_per_node", "1", "test" },
    { "model.config", "gpt2-xl", "test" },
    { "training.seq_len", "64", "test" },
    { "strategy.name", "ddp", "test" },
    { key, value, "test" },
  };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (GPtrArray)  all =
      scenario_load (NULL, NULL, overrides, G_N_ELEMENTS (overrides), diags);
  g_autoptr (ResolvedScenario) resolved =
      all != NULL ? resolved_new (g_ptr_array_index (all, 0), profiles, diags) : NULL;

  if (resolved != NULL)
    idle_figures_warn (g_ptr_array_index (all, 0), profiles, diags);
  return diag_list_format (diags, FALSE);
}

START_TEST (test_refused)
{
  static const char *const cases[][3] = {
    { "nic.bandwith", "1 Gbit/s", "did you mean 'bandwidth'?" },
    { "nic.bandwidth", "1 us", "expected a bandwidth" },
    { "nic.bandwidth", "1e9 Gbit/s", "is out of range" },
    { "gpu.sms", "100", "no figure of the hardware" }, /* of parts there is not a little more */
    { "nic:ib-edr-100.bandwidth", "1 Gbit/s",
      "the cluster has no figure 'nic:ib-edr-100.bandwidth'" },
    { "nic:ib-edr-100.bandwidth", "1 Gbit/s", "nic" },
    { "cluster.figure", "training.seq_len=4", "'training.seq_len' is no figure of the hardware" },
    { "cluster.figure", "nic.bandwidth", "gives a figure no value" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *said = said_of ("2", cases[i][0], cases[i][1]);

      ck_assert_msg (strstr (said, "error") != NULL && strstr (said, cases[i][2]) != NULL,
                     "%s=%s: '%s' is not in: %s", cases[i][0], cases[i][1], cases[i][2], said);
    }
}
END_TEST

START_TEST (test_idle)
{
  g_autofree char *one = said_of ("1", "nic.bandwidth", "100 Gbit/s");
  g_autofree char *two = said_of ("2", "nic.bandwidth", "100 Gbit/s");
  g_autofree char *none = said_of ("2", "framework.issue_eager", "3 us");
  g_autofree char *alone = said_of ("2", "intra.bandwidth", "100 GB/s");
  g_autofree char *adam = said_of ("2", "node.cpu_adam_rate", "1e9");
  g_autofree char *zero = said_of ("2", "gpu.jitter", "0");

  ck_assert_ptr_nonnull (strstr (adam, "'node.cpu_adam_rate' has no effect: a tenth of it"));
  ck_assert_str_eq (zero, ""); /* ten times nothing is nothing */
  ck_assert_ptr_nonnull (strstr (one, "'nic.bandwidth' has no effect without a second node"));
  ck_assert_str_eq (two, "");
  ck_assert_ptr_nonnull (
      strstr (none, "'framework.issue_eager' has no effect without a framework"));
  ck_assert_ptr_nonnull (
      strstr (alone, "'intra.bandwidth' has no effect without a second GPU in a node"));
}
END_TEST

/* What is said of FIGURE, "NAME=VALUE", in an all-reduce over NODES of two GPUs. */
static char *
said_of_collective (gint64 nodes, const char *figure, Fidelity fidelity)
{
  const guint32                all[] = { 0, 1, 2, 3 };
  const CollectiveSweepOptions options = { .kind = COLLECTIVE_ALL_REDUCE,
                                           .min_bytes = 1 << 10,
                                           .max_bytes = 1 << 30,
                                           .step_factor = 1 << 20,
                                           .fidelity = fidelity };
  g_autoptr (InputFiles)       files = input_files_new ();
  g_autoptr (ProfileSet)       profiles = profile_set_new_shared (NULL, NULL, files);
  g_autoptr (DiagList)         diags = diag_list_new ();
  ClusterOptions               wanted = { 0 };
  g_autoptr (Cluster)          cluster = NULL;
  char                        *said;

  option_table_defaults (cluster_options, &wanted);
  option_set_key (cluster_options, &wanted, "node", "dgx-a100", NULL, diags);
  wanted.nodes = nodes;
  wanted.gpus_per_node = 2;
  figure_settings_add (&wanted.figure, figure, NULL, diags);
  cluster = cluster_new (&wanted, profiles, NULL, diags);
  ck_assert_msg (cluster != NULL, "%s", diag_list_first_message (diags));
  idle_figures_warn_collective (&(CollectiveBandInput){ .cluster = &wanted,
                                                        .files = files,
                                                        .ranks = all,
                                                        .n_ranks = 2 * (guint) nodes,
                                                        .library = &collective_default_options,
                                                        .options = &options },
                                cluster, NULL, diags);
  said = diag_list_format (diags, FALSE);
  option_table_clear (cluster_options, &wanted);
  return said;
}

/* Memory is of no use to a collective, nor is what a framework issues; links and launches are. */
START_TEST (test_idle_in_a_collective)
{
  static const struct
  {
    gint64      nodes;
    const char *figure, *said; /* NULL: it plays a part */
  } cases[] = {
    { 2, "gpu.hbm_bytes=10 GB", "'gpu.hbm_bytes' has no effect: a tenth of it" },
    { 2, "framework.issue_eager=3 us", "'framework.issue_eager' has no effect: a tenth" },
    { 2, "node.dram_bandwidth=100 GB/s", "'node.dram_bandwidth' has no effect: a tenth" },
    { 1, "nic.bandwidth=100 Gbit/s", "'nic.bandwidth' has no effect without a second node" },
    { 2, "nic.bandwidth=100 Gbit/s", NULL },
    { 1, "intra.bandwidth=100 GB/s", NULL },
    { 2, "nic.hop_ll=9 us", NULL }, /* in small sizes */
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (Fidelity fidelity = FIDELITY_ANALYTIC; fidelity <= FIDELITY_STEP; fidelity++)
      {
        g_autofree char *said = said_of_collective (cases[i].nodes, cases[i].figure, fidelity);

        if (cases[i].said == NULL)
          ck_assert_str_eq (said, "");
        else
          ck_assert_msg (strstr (said, cases[i].said) != NULL, "%s: %s", cases[i].figure, said);
      }
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------- */

/* A map of a file, its text, and overrides are the same scenario; the later of two counts. */
START_TEST (test_file)
{
  static const char *const figures[] = {
    "{ nic.bandwidth: 100 Gbit/s, gpu.hbm_bandwidth: 1 TB/s }",
    "'gpu.hbm_bandwidth=1 TB/s, nic.bandwidth=100 Gbit/s'",
    "{ nic.bandwidth: 50 Gbit/s, gpu.hbm_bandwidth: 1000 GB/s }",
  };
  const ScenarioOverride over = { "nic.bandwidth", "100 Gbit/s", "--figure" };
  g_autofree char       *first = NULL;
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);

  for (guint i = 0; i < G_N_ELEMENTS (figures); i++)
    {
      g_autoptr (DiagList) diags = diag_list_new ();
      g_autofree char     *text =
          g_strdup_printf ("cluster: { name: 2 x dgx-a100, figure: %s }\n"
                           "model: gpt2-xl\ntraining: { seq_len: 64 }\nstrategy: ddp\n",
                           figures[i]);
      g_autoptr (GPtrArray) all = scenario_load_text (NULL, "s.yaml", text, &over, i == 2, diags);
      g_autoptr (ResolvedScenario) resolved = NULL;
      g_autofree char             *key = NULL;

      ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
      resolved = resolved_new (g_ptr_array_index (all, 0), profiles, diags);
      ck_assert_ptr_nonnull (resolved);
      ck_assert (cluster_nic_profile (resolved->cluster, 0)->bandwidth.value == 12.5e9);
      ck_assert (cluster_gpu_profile (resolved->cluster, 0)->hbm_bandwidth.value == 1e12);
      ck_assert (profile_set_gpu (profiles, "a100-sxm-40", NULL, diags)->hbm_bandwidth.value
                 != 1e12); /* of this scenario alone */
      key = scenario_digest (g_ptr_array_index (all, 0));
      if (first == NULL)
        first = g_steal_pointer (&key);
      else
        ck_assert_str_eq (key, first);
    }
}
END_TEST

/* ---- at random ------------------------------------------------------------------------------- */

static void
check_same (const Scenario *varied, const Scenario *scenario, const HardwareFigure *figure,
            double value, const char *what)
{
  const FigureChange     change = { figure->kind, figure->id, figure->key, value, FALSE };
  const PredictOptions   plain = { 0 }, changed = { .changes = &change, .n_changes = 1 };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) set = predict (varied, &plain, diags, NULL);
  g_autoptr (Prediction) made = predict (scenario, &changed, diags, NULL);

  ck_assert_msg ((set == NULL) == (made == NULL), "%s: %s", what, diag_list_first_message (diags));
  if (set != NULL)
    ck_assert_msg (set->step_time_s == made->step_time_s && set->hbm.device == made->hbm.device,
                   "%s: %.17g s, of a changed profile %.17g s", what, set->step_time_s,
                   made->step_time_s);
}

static void
check_printed (const Scenario *varied, const char *what)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *text = scenario_print (varied), *again = NULL;
  g_autoptr (GPtrArray) all = scenario_load_text (NULL, "printed.yaml", text, NULL, 0, diags);

  ck_assert_msg (all != NULL, "%s: %s", what, diag_list_first_message (diags));
  again = scenario_print (g_ptr_array_index (all, 0));
  ck_assert_str_eq (again, text);
}

START_TEST (test_random)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const PredictOptions   plain = { 0 };

  for (guint i = 0; i < cases_of (N_RANDOM); i++)
    {
      g_autoptr (GRand)     rand = g_rand_new_with_seed (SEED + i);
      g_autoptr (Scenario)  scenario = fixture_random (rand, profiles), varied = NULL;
      g_autoptr (DiagList)  diags = diag_list_new ();
      g_autoptr (GArray)    figures = scenario_figures (scenario, &plain, diags);
      const HardwareFigure *figure;
      g_autofree char      *text = NULL, *what = NULL;
      ScenarioOverride      set = { .origin = "test" };
      double                value;

      if (figures == NULL) /* a combination that the strategy refuses */
        continue;
      figure = &g_array_index (figures, HardwareFigure,
                               (guint) g_rand_int_range (rand, 0, (gint) figures->len));
      value = hardware_figure_clamp (figure, figure->value * g_rand_double_range (rand, 0.5, 2));
      text = hardware_figure_format_exact (figure, value);
      what = g_strdup_printf ("seed %u, %s=%s", SEED + i, figure->name, text);
      set.key = figure->name;
      set.value = text;
      varied = scenario_with (scenario, NULL, &set, 1, diags);
      ck_assert_msg (varied != NULL, "%s: %s", what, diag_list_first_message (diags));
      check_printed (varied, what);
      if (!g_str_equal (figure->kind, "cluster"))
        check_same (varied, scenario, figure, value, what);
    }
}
END_TEST

SUITE_MAIN (hardware_figures)
{
  Suite *suite = suite_create ("hardware-figures");
  TCase *tcase = tcase_create ("hardware-figures");

  tcase_set_timeout (tcase, 600);
  tcase_add_test (tcase, test_text);
  tcase_add_test (tcase, test_refused);
  tcase_add_test (tcase, test_idle);
  tcase_add_test (tcase, test_idle_in_a_collective);
  tcase_add_test (tcase, test_file);
  tcase_add_test (tcase, test_random);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
