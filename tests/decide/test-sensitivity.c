/*
 * What a change of a figure does, on the hand-made hardware, against what can be said without the
 * search: the share of a step that a figure's part takes by arithmetic on docs/worked's first page,
 * and the homogeneity of time. Not asserted: which figures of shipped profiles matter.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "cost/kernel/kernel.h"
#include "decide/explore/advice.h"
#include "decide/explore/heat-map.h"
#include "decide/explore/sensitivity.h"

/* docs/worked/1-ddp-two-gpus.md: the all-reduce's bytes over the bridge, all else in ps. */
#define BYTES      1201200.0
#define STEP_PS    157231602.0
#define BRIDGE_PS  20.0       /* a byte */
#define MOST_PS    0.1        /* a byte at 10 TB/s, the most that a bandwidth may be */
#define LIBRARY_PS 15200000.0 /* of the all-reduce: NCCL's constants, no figure of the hardware */

typedef struct
{
  char          *profiles;
  Scenario      *scenario;
  PredictOptions options;
} Fixture;

static void
fixture_start (Fixture *self, const char *file, const ScenarioOverride *overrides, guint n)
{
  const char           *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *path = g_build_filename (root, "docs/worked", file, NULL);
  g_autoptr (GPtrArray) all = scenario_load (NULL, path, overrides, n, diags);

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  *self = (Fixture){ .profiles = g_build_filename (root, "docs/worked/hwprofiles", NULL),
                     .scenario = scenario_copy (g_ptr_array_index (all, 0)) };
  self->options.profile_dir = self->profiles;
}

static void
fixture_end (Fixture *self)
{
  scenario_free (self->scenario);
  g_free (self->profiles);
}

static Sensitivity *
find (const Fixture *self, const SensitivityOptions *wanted)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (GError)   error = NULL;
  Sensitivity         *result =
      sensitivity_find (self->scenario, NULL, wanted, &self->options, diags, &error);

  ck_assert_msg (result != NULL, "%s", diag_list_first_message (diags));
  return result;
}

static const FigureEffect *
effect_of (const Sensitivity *self, const char *name)
{
  for (guint i = 0; i < self->figures->len; i++)
    {
      const FigureEffect *effect = &g_array_index (self->figures, FigureEffect, i);

      if (g_str_equal (effect->figure.name, name))
        return effect;
    }
  ck_abort_msg ("there is no figure '%s'", name);
}

/* The all-reduce is too short for its own use of the GPU's memory to bind. */
static double
ddp_step_ps (double byte_ps)
{
  return STEP_PS + BYTES * (byte_ps - BRIDGE_PS);
}

/* The bridge's bandwidth buys what the page says that its bytes take. */
START_TEST (test_bridge)
{
  static const char *const figures[] = { "intra.bandwidth", NULL };
  const SensitivityOptions wanted = { .factor = 2, .figures = figures, .break_even = TRUE };
  Fixture                  fixture;
  g_autoptr (Sensitivity)  found = NULL;
  const FigureEffect      *effect;
  const double             unlimited = ddp_step_ps (MOST_PS);
  const double             enough_ps = MOST_PS + BREAK_EVEN_SHARE * unlimited / BYTES; /* a byte */

  fixture_start (&fixture, "1-ddp-two-gpus.yaml", NULL, 0);
  found = find (&fixture, &wanted);
  ck_assert_uint_eq (found->figures->len, 1);
  effect = effect_of (found, "intra.bandwidth");
  ck_assert_double_eq_tol (effect->up.step_time_s * 1e12, ddp_step_ps (BRIDGE_PS / 2), 1);
  ck_assert_double_eq_tol (effect->down.step_time_s * 1e12, ddp_step_ps (BRIDGE_PS * 2), 1);
  ck_assert_double_eq_tol (
      effect->elasticity, log (ddp_step_ps (BRIDGE_PS / 2) / ddp_step_ps (BRIDGE_PS * 2)) / log (4),
      1e-7);
  ck_assert_int_eq (effect->break_even.kind, BREAK_EVEN_AT);
  ck_assert_double_eq_tol (effect->break_even.unlimited_step_s * 1e12, unlimited, 1);
  ck_assert_double_ge (effect->break_even.value, 1e12 / enough_ps);
  ck_assert_double_le (effect->break_even.value, 1e12 / enough_ps * 1.0021);
  fixture_end (&fixture);
}
END_TEST

/*
 * Twice all rates and half of all times make half the step, but for the library's constants: the
 * elasticities add up.
 */
START_TEST (test_sum)
{
  const SensitivityOptions wanted = { .factor = 1.001 };
  Fixture                  fixture;
  g_autoptr (Sensitivity)  found = NULL;
  double                   sum = 0;

  fixture_start (&fixture, "1-ddp-two-gpus.yaml", NULL, 0);
  found = find (&fixture, &wanted);
  for (guint i = 0; i < found->figures->len; i++)
    {
      const FigureEffect *effect = &g_array_index (found->figures, FigureEffect, i);
      const QuantityKind  kind = effect->figure.quantity;

      sum += kind == QUANTITY_BANDWIDTH || kind == QUANTITY_COMPUTE ? effect->elasticity
             : kind == QUANTITY_TIME                                ? -effect->elasticity
                                                                    : 0;
    }
  ck_assert_double_eq_tol (sum, -(1 - LIBRARY_PS / STEP_PS), 1e-4);
  fixture_end (&fixture);
}
END_TEST

/* Where memory is nearly free, kernels take what their products take. */
START_TEST (test_compute_bound)
{
  static const char *const  figures[] = { "gpu.matmul_16bit", "intra.bandwidth", "nic.bandwidth",
                                          NULL };
  static const FigureChange changes[] = {
    { "gpu", "hand", "hbm_bandwidth", 1e14, FALSE },
    { "gpu", "hand", "kernel_latency", 1e-9, FALSE },
  };
  static const ScenarioOverride large[] = {
    { "model.d_model", "4000", "test" },    { "model.d_ff", "8000", "test" },
    { "model.vocab", "4000", "test" },      { "model.n_heads", "40", "test" },
    { "training.seq_len", "1000", "test" }, { "cluster.gpus_per_node", "1", "test" },
  };
  const SensitivityOptions wanted = { .factor = 1.1, .figures = figures };
  Fixture                  fixture;
  g_autoptr (Sensitivity)  found = NULL;

  fixture_start (&fixture, "1-ddp-two-gpus.yaml", large, G_N_ELEMENTS (large));
  fixture.options.changes = changes;
  fixture.options.n_changes = G_N_ELEMENTS (changes);
  found = find (&fixture, &wanted);
  ck_assert_double_le (effect_of (found, "gpu.matmul_16bit")->elasticity, -0.99);
  ck_assert_double_ge (effect_of (found, "gpu.matmul_16bit")->elasticity, -1);
  ck_assert_double_eq (effect_of (found, "intra.bandwidth")->elasticity, 0);
  ck_assert_double_eq (effect_of (found, "nic.bandwidth")->elasticity, 0);
  ck_assert (!effect_of (found, "nic.bandwidth")->matters);
  fixture_end (&fixture);
}
END_TEST

/* Where the network is very slow, the step is the network's; threads change nothing. */
START_TEST (test_network_bound)
{
  static const char *const      figures[] = { "gpu.hbm_bandwidth", "nic.bandwidth", "nic.latency",
                                              NULL };
  static const FigureChange     changes[] = { { "link", "hand-net", "bandwidth", 1e6, FALSE } };
  static const ScenarioOverride two[] = { { "cluster.nodes", "2", "test" },
                                          { "cluster.gpus_per_node", "1", "test" } };
  SensitivityOptions            wanted = {
               .factor = 1.25, .figures = figures, .break_even = TRUE, .n_threads = 1
  };
  Fixture                 fixture;
  g_autoptr (Sensitivity) found = NULL, again = NULL;

  fixture_start (&fixture, "1-ddp-two-gpus.yaml", two, G_N_ELEMENTS (two));
  fixture.options.changes = changes;
  fixture.options.n_changes = G_N_ELEMENTS (changes);
  found = find (&fixture, &wanted);
  ck_assert_double_le (effect_of (found, "nic.bandwidth")->elasticity, -0.99);
  ck_assert_double_ge (effect_of (found, "nic.bandwidth")->elasticity, -1);
  ck_assert_str_eq (effect_of (found, "nic.bandwidth")->break_even.binds_below, "nic.tx");
  wanted.n_threads = 5;
  again = find (&fixture, &wanted);
  ck_assert_uint_eq (found->figures->len, again->figures->len);
  ck_assert_uint_eq (found->n_simulated, again->n_simulated);
  for (guint i = 0; i < found->figures->len; i++)
    {
      const FigureEffect *a = &g_array_index (found->figures, FigureEffect, i);
      const FigureEffect *b = &g_array_index (again->figures, FigureEffect, i);

      ck_assert_str_eq (a->figure.name, b->figure.name);
      ck_assert (a->elasticity == b->elasticity && a->break_even.value == b->break_even.value
                 && a->break_even.binds_at == b->break_even.binds_at);
    }
  fixture_end (&fixture);
}
END_TEST

/* Advice that may try few figures has one of each part among them: the network's. */
START_TEST (test_little_advice)
{
  static const FigureChange     changes[] = { { "link", "hand-net", "bandwidth", 1e6, FALSE } };
  static const ScenarioOverride two[] = { { "cluster.nodes", "2", "test" },
                                          { "cluster.gpus_per_node", "1", "test" } };
  const AdviceBudget            budget = { 16, 1, 1 };
  Fixture                       fixture;
  g_autoptr (DiagList)          diags = diag_list_new ();
  g_autoptr (Prediction)        given = NULL;

  fixture_start (&fixture, "1-ddp-two-gpus.yaml", two, G_N_ELEMENTS (two));
  fixture.options.changes = changes;
  fixture.options.n_changes = G_N_ELEMENTS (changes);
  given = predict (fixture.scenario, &fixture.options, diags, NULL);
  ck_assert_ptr_nonnull (given);
  given->advice = advice_find (fixture.scenario, NULL, given, &fixture.options, &budget);
  ck_assert (given->advice->cut);
  ck_assert_uint_eq (given->advice->n_simulated, 16);
  ck_assert_uint_eq (given->advice->figures->len, 1);
  ck_assert_str_eq (g_array_index (given->advice->figures, FigureAdvice, 0).figure.name,
                    "nic.bandwidth");
  ck_assert_double_eq_tol (g_array_index (given->advice->figures, FigureAdvice, 0).gain, 0.25,
                           0.01);
  fixture_end (&fixture);
}
END_TEST

/* Cells are what the page says of their bridge, line by line; threads change nothing. */
START_TEST (test_map)
{
  static const double  byte_ps[] = { 40, 20, 10 };
  Fixture              fixture;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (HeatMap)  map = NULL, again = NULL;
  const char *x = "intra.bandwidth=25 GB/s..100 GB/s:3", *y = "training.micro_batch=1..2:5,1,4";

  fixture_start (&fixture, "1-ddp-two-gpus.yaml", NULL, 0);
  map = heat_map_find (fixture.scenario, NULL, x, y, &fixture.options, 1, diags);
  again = heat_map_find (fixture.scenario, NULL, x, y, &fixture.options, 4, diags);
  ck_assert_msg (map != NULL && again != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (map->x.texts->len, 3);
  ck_assert_uint_eq (map->y.texts->len, 3); /* 1, 2, 4 */
  for (guint i = 0; i < G_N_ELEMENTS (byte_ps); i++)
    {
      ck_assert_double_eq_tol (heat_map_cell (map, i, 0)->step_time_s * 1e12,
                               ddp_step_ps (byte_ps[i]), 1);
      ck_assert_double_gt (heat_map_cell (map, i, 1)->step_time_s,
                           heat_map_cell (map, i, 0)->step_time_s);
      ck_assert_double_gt (heat_map_cell (map, i, 2)->tokens_per_s_per_gpu,
                           heat_map_cell (map, i, 1)->tokens_per_s_per_gpu);
    }
  for (guint i = 0; i < map->cells->len; i++)
    ck_assert (g_array_index (map->cells, HeatCell, i).step_time_s
               == g_array_index (again->cells, HeatCell, i).step_time_s);
  fixture_end (&fixture);
}
END_TEST

/* A figure in the map is that of the cell's own cluster: another node has another card. */
START_TEST (test_map_of_clusters)
{
  const ScenarioOverride words[] = {
    { "cluster.name", "2 x dgx-a100", "test" }, { "model.config", "llama-3-8b", "test" },
    { "model.n_layers", "2", "test" },          { "training.seq_len", "2048", "test" },
    { "strategy.name", "fsdp2", "test" },
  };
  const char           *x = "nic.bandwidth=1 Gbit/s,200 Gbit/s";
  const char           *y = "cluster.name=2 x dgx-a100,2 x dgx-h100";
  const PredictOptions  plain = { 0 };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = scenario_load (NULL, NULL, words, G_N_ELEMENTS (words), diags);
  g_autoptr (HeatMap)   map = NULL;

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  map = heat_map_find (g_ptr_array_index (all, 0), NULL, x, y, &plain, 1, diags);
  ck_assert_msg (map != NULL, "%s", diag_list_first_message (diags));
  for (guint row = 0; row < 2; row++)
    ck_assert_double_gt (heat_map_cell (map, 0, row)->step_time_s,
                         10 * heat_map_cell (map, 1, row)->step_time_s);
}
END_TEST

/*
 * Two cards of 300 Gbit/s a GPU share its PCIe slot, and NCCL uses both; of those of 420 it takes
 * one, which alone is slower than two were: the answer says that the rings run over fewer links.
 * What gains says nothing.
 */
START_TEST (test_setback)
{
  static const char *const figures[] = { "nic.bandwidth", "gpu.hbm_bandwidth", NULL };
  const SensitivityOptions wanted = { .factor = 1.4, .figures = figures };
  const ScenarioOverride   words[] = {
      { "cluster.nodes", "4", "test" },         { "cluster.gpus_per_node", "2", "test" },
      { "cluster.gpu", "h100-sxm-80", "test" }, { "cluster.intra", "nvlink4-switch", "test" },
      { "cluster.nics", "4", "test" },          { "cluster.nic", "ib-hdr-200", "test" },
      { "model.config", "llama-3-8b", "test" }, { "model.n_layers", "2", "test" },
      { "training.seq_len", "512", "test" },    { "strategy.name", "fsdp2", "test" },
  };
  const FigureChange cards = {
    .kind = "link", .id = "ib-hdr-200", .key = "bandwidth", .value = 300e9 / 8
  };
  const PredictOptions    options = { .changes = &cards, .n_changes = 1 };
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (GPtrArray)   all = scenario_load (NULL, NULL, words, G_N_ELEMENTS (words), diags);
  g_autoptr (Sensitivity) found = NULL;
  const FigureEffect     *effect;

  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  found = sensitivity_find (g_ptr_array_index (all, 0), NULL, &wanted, &options, diags, NULL);
  ck_assert_msg (found != NULL, "%s", diag_list_first_message (diags));
  effect = effect_of (found, "nic.bandwidth");
  ck_assert_double_gt (effect->up.step_time_s, found->prediction->step_time_s * 1.02);
  ck_assert_ptr_nonnull (effect->setback);
  ck_assert_msg (strstr (effect->setback, "shard of 8, runs ") != NULL, "%s", effect->setback);
  ck_assert_ptr_null (effect_of (found, "gpu.hbm_bandwidth")->setback);
}
END_TEST

/*
 * Options keep the global batch, or double it where there are no micro-steps to save; a bounded
 * search tries one value of each lever first.
 */
START_TEST (test_options)
{
  const ScenarioOverride steps = { "training.grad_accum", _i == 0 ? "1" : "4", "test" };
  Fixture                fixture;
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) given = NULL;
  g_autoptr (GArray)     effects = NULL, few = NULL;
  gboolean               cut = TRUE;
  guint                  n_doubled = 0;

  fixture_start (&fixture, "1-ddp-two-gpus.yaml", &steps, 1);
  given = predict (fixture.scenario, &fixture.options, diags, NULL);
  ck_assert_ptr_nonnull (given);
  effects =
      option_effects_find (fixture.scenario, NULL, given, &fixture.options, G_MAXUINT, 0, 2, &cut);
  ck_assert (!cut);
  for (guint i = 0; i < effects->len; i++)
    {
      const OptionEffect *effect = &g_array_index (effects, OptionEffect, i);

      if (!effect->possible)
        continue;
      n_doubled += effect->batch > 1.5;
      ck_assert (fabs (effect->batch - 1) < 1e-9 || fabs (effect->batch - 2) < 1e-9);
      ck_assert_double_eq_tol (1 + effect->gain,
                               effect->batch * given->step_time_s / effect->step_time_s, 1e-9);
    }
  ck_assert_uint_eq (n_doubled, _i == 0 ? 1 : 0);
  few = option_effects_find (fixture.scenario, NULL, given, &fixture.options, 4, 0, 1, &cut);
  ck_assert (cut);
  ck_assert_uint_eq (few->len, 4);
  for (guint i = 0; i < few->len; i++)
    for (guint j = 0; j < i; j++)
      ck_assert_uint_ne (g_array_index (few, OptionEffect, i).lever,
                         g_array_index (few, OptionEffect, j).lever);
  fixture_end (&fixture);
}
END_TEST

/* A table of measured products corrects a faster GPU as the one that it was measured on. */
START_TEST (test_measured_products)
{
  const FigureChange      change = { "gpu", "h100-sxm-80", "matmul_16bit", 2 * 989e12, FALSE };
  const ProfileVariant    variant = { .changes = &change, .n_changes = 1 };
  g_autoptr (DiagList)    diags = diag_list_new ();
  g_autoptr (ProfileSet)  given = profile_set_new (NULL);
  g_autoptr (ProfileSet)  changed = profile_set_new_shared (NULL, &variant, NULL);
  const GpuProfile       *gpu = profile_set_gpu (given, "h100-sxm-80", NULL, diags);
  const GpuProfile       *faster = profile_set_gpu (changed, "h100-sxm-80", NULL, diags);
  g_autoptr (KernelModel) model = kernel_model_new (gpu);
  g_autoptr (KernelModel) fast = kernel_model_new (faster);
  const KernelDesc        kernel = { .kind = KERNEL_MATMUL,
                                     .dtype = DTYPE_BF16,
                                     .batch = 1,
                                     .m = 8192,
                                     .n = 8192,
                                     .k = 8192,
                                     .launches = 1,
                                     .flops = 2.0 * 8192 * 8192 * 8192,
                                     .read_bytes = 4.0 * 8192 * 8192,
                                     .write_bytes = 2.0 * 8192 * 8192 };
  KernelCost              plain, cost, plain_fast, cost_fast;

  ck_assert_ptr_nonnull (gpu->matmul_curve);
  kernel_cost (gpu, &kernel, &plain);
  kernel_cost (faster, &kernel, &plain_fast);
  kernel_model_cost (model, &kernel, &cost);
  kernel_model_cost (fast, &kernel, &cost_fast);
  ck_assert_double_lt (plain_fast.alone, 0.7 * plain.alone);
  ck_assert_double_gt (fabs (cost.alone / plain.alone - 1), 1e-3);
  ck_assert_double_eq_tol (cost_fast.alone / plain_fast.alone, cost.alone / plain.alone, 1e-9);
}
END_TEST

SUITE_MAIN (sensitivity)
{
  Suite *suite = suite_create ("sensitivity");
  TCase *tcase = tcase_create ("figures");

  tcase_add_test (tcase, test_bridge);
  tcase_add_test (tcase, test_sum);
  tcase_add_test (tcase, test_compute_bound);
  tcase_add_test (tcase, test_network_bound);
  tcase_add_test (tcase, test_little_advice);
  tcase_add_test (tcase, test_map);
  tcase_add_test (tcase, test_map_of_clusters);
  tcase_add_test (tcase, test_setback);
  tcase_add_loop_test (tcase, test_options, 0, 2);
  tcase_add_test (tcase, test_measured_products);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
