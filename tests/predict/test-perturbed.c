/*
 * Predictions of steps of zeroth order on hardware of round numbers: what counts as FLOPs and as
 * tokens, what a profiler's bars add up to, and what pageable copies cost, by arithmetic. And what
 * is said of options that have no meaning there. Not asserted: what a step takes as a whole.
 */
#include <check.h>

#include "../suite.h"
#include "predict/prediction.h"

#define D      512
#define LAYERS 8
/* biases and two norms: 13 D */
#define BLOCK (12.0 * D * D + 13.0 * D)

static GPtrArray *
load (const char *const (*set)[2], guint n, DiagList *diags)
{
  static const char *const always[][2] = {
    { "cluster.node", "hand-pair" },  { "cluster.nodes", "1" },
    { "model.arch", "gpt" },          { "model.n_layers", G_STRINGIFY (LAYERS) },
    { "model.d_model", "512" },       { "model.n_heads", "4" },
    { "model.d_ff", "2048" },         { "model.vocab", "1024" },
    { "training.seq_len", "256" },    { "training.micro_batch", "1" },
    { "training.precision", "fp16" },
  };
  g_autoptr (GArray) overrides = g_array_new (FALSE, FALSE, sizeof (ScenarioOverride));

  for (guint i = 0; i < G_N_ELEMENTS (always) + n; i++)
    {
      const char *const *pair =
          i < G_N_ELEMENTS (always) ? always[i] : set[i - G_N_ELEMENTS (always)];
      const ScenarioOverride one = { pair[0], pair[1], "test" };

      g_array_append_val (overrides, one);
    }
  return scenario_load (NULL, NULL, (const ScenarioOverride *) overrides->data, overrides->len,
                        diags);
}

static Prediction *
predict_it (const char *const (*set)[2], guint n, DiagList *diags)
{
  g_autofree char *dir =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  const PredictOptions  options = { .profile_dir = dir };
  g_autoptr (GPtrArray) scenarios = load (set, n, diags);

  return scenarios != NULL ? predict (g_ptr_array_index (scenarios, 0), &options, diags, NULL)
                           : NULL;
}

static Prediction *
predicted (const char *const (*set)[2], guint n)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Prediction          *self = predict_it (set, n, diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  return self;
}

/* Two forward passes are two thirds of training's FLOPs; both GPUs have their own batch. */
START_TEST (two_passes_are_two_thirds)
{
  static const char *const zo[][2] = { { "strategy.name", "zo2" } };
  static const char *const gradients[][2] = { { "strategy.name", "ddp" } };
  g_autoptr (Prediction)   a = predicted (zo, 1), b = predicted (gradients, 1);

  ck_assert_double_eq_tol (a->model_flops, b->model_flops * 2 / 3, 1e-9 * b->model_flops);
  ck_assert_double_eq_tol (a->hardware_flops, a->model_flops, 1e-9 * a->model_flops);
  ck_assert_double_eq (a->tokens_per_step, 2 * 256);
}
END_TEST

/* A pair has one batch: half of the tokens, half of the FLOPs a GPU, which runs one pass. */
START_TEST (a_pair_has_one_batch)
{
  static const char *const alone[][2] = { { "strategy.name", "distzo2" } };
  static const char *const pair[][2] = { { "strategy.name", "distzo2" },
                                         { "strategy.perturbation_parallel", "true" } };
  g_autoptr (Prediction)   a = predicted (alone, 1), b = predicted (pair, 2);

  ck_assert_uint_eq (b->n_data_ranks, 1);
  ck_assert_double_eq (b->tokens_per_step, 256);
  ck_assert_double_eq_tol (b->model_flops, a->model_flops / 2, 1e-9 * a->model_flops);
}
END_TEST

/* As many bytes come as go, over a link that is as fast in both directions; the rest is kernels. */
START_TEST (bars_add_up)
{
  static const char *const set[][2] = { { "strategy.name", "zo2" } };
  g_autoptr (Prediction)   p = predicted (set, 1);
  double                   sum = 0;

  for (guint k = 0; k < BUSY_N; k++)
    sum += p->busy_percent[k];
  ck_assert_double_eq_tol (sum, 100, 1e-9);
  ck_assert_double_gt (p->busy_percent[BUSY_KERNELS], 50); /* 37 passes of 1 TB/s to 0.1 TB/s */
  ck_assert_double_gt (p->busy_percent[BUSY_TO_HOST], 0);
  ck_assert_double_eq_tol (p->busy_percent[BUSY_TO_HOST], p->busy_percent[BUSY_FROM_HOST],
                           0.2 * p->busy_percent[BUSY_TO_HOST]);
}
END_TEST

/*
 * Kernels take longer than a copy, so pinned copies are hidden. A pageable one to the host ends
 * before the next block begins: a step is longer by what all blocks take that way at 100 GB/s.
 */
START_TEST (pageable_offloads_are_not_hidden)
{
  static const char *const pinned[][2] = { { "cluster.gpus_per_node", "1" },
                                           { "strategy.name", "zo2" },
                                           { "strategy.communicate_optimize_method", "bucket" } };
  static const char *const pageable[][2] = { { "cluster.gpus_per_node", "1" },
                                             { "strategy.name", "zo2" },
                                             { "strategy.communicate_optimize_method", "bucket" },
                                             { "strategy.host_memory", "pageable" } };
  g_autoptr (Prediction)   a = predicted (pinned, 3), b = predicted (pageable, 4);
  double                   least = (LAYERS - 1) * BLOCK * 2 / 100e9;

  ck_assert_double_ge (b->step_time_s - a->step_time_s, least);
  ck_assert_double_le (b->step_time_s - a->step_time_s, 2 * least);
}
END_TEST

static const struct
{
  const char *set[3][2];
  guint       n;
  const char *message;
} bad[] = {
  { { { "strategy.name", "zo2" }, { "training.optimizer", "sgd" } },
    2,
    "strategy 'zo2' has no gradients: 'optimizer' has no meaning" },
  { { { "strategy.name", "zo2" }, { "training.activation_checkpointing", "full" } },
    2,
    "strategy 'zo2' has no gradients: 'activation_checkpointing' has no meaning" },
  { { { "strategy.name", "zo2" }, { "training.cuda_graphs", "step" } },
    2,
    "strategy 'zo2' changes weights between passes, and its host waits inside a step" },
  { { { "strategy.name", "zo2" }, { "mesh.pp", "2" } },
    2,
    "strategy 'zo2' takes no pipeline stages: all passes of a unit are in one use" },
  { { { "strategy.name", "distzo2" },
      { "strategy.perturbation_parallel", "true" },
      { "training.global_batch", "2" } },
    3,
    "strategy 'distzo2' gives 2 GPUs one batch: 'global_batch' is not divided so" },
};

START_TEST (is_refused)
{
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) p = predict_it (bad[_i].set, bad[_i].n, diags);

  ck_assert_ptr_null (p);
  ck_assert_str_eq (diag_list_first_message (diags), bad[_i].message);
}
END_TEST

SUITE_MAIN (perturbed)
{
  Suite *suite = suite_create ("perturbed");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, two_passes_are_two_thirds);
  tcase_add_test (tcase, a_pair_has_one_batch);
  tcase_add_test (tcase, bars_add_up);
  tcase_add_test (tcase, pageable_offloads_are_not_hidden);
  tcase_add_loop_test (tcase, is_refused, 0, G_N_ELEMENTS (bad));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
