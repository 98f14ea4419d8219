/*
 * The critical path of a period has no gap and no overlap, and its parts are the step, to the
 * picosecond; a step worked by hand is split as its page says. HFU is MFU and what is recomputed.
 * Not asserted: that another schedule could not be faster.
 */
#include "../replay/fixture.h"
#include "../suite.h"

#include <math.h>

#include "base/file/layout.h"
#include "cost/kernel/kernel.h"
#include "predict/prediction.h"

#define N_RANDOM 150
#define SEED     77

/* What an op is on the path for is its own run time: what it waited for is somebody else's. */
static void
check_runs (const Engine *engine, const PathStep *step)
{
  const OpRecord *record = engine_op_record (engine, step->op);

  ck_assert_uint_ge (step->start, record->begin);
  ck_assert_uint_le (step->end, record->end);
}

static void
check_path (const Replay *replay)
{
  g_autoptr (Vector) path = critical_path (replay);
  guint              last = replay_n_boundaries (replay) - 1;
  SimTime            sum = 0, at = vector_at (path, PathStep, 0).end, end = at;

  for (guint i = 0; i < path->len; i++)
    {
      const PathStep *step = &vector_at (path, PathStep, i);

      ck_assert_uint_eq (step->end, at);
      ck_assert_uint_lt (step->start, step->end);
      if (step->op != ENGINE_NONE)
        check_runs (replay_engine (replay), step);
      at = step->start;
      sum += step->end - step->start;
    }
  /* of unlike nodes it may end at another rank, later */
  ck_assert_uint_ge (end, replay_boundary (replay, last));
  ck_assert_uint_eq (at, end - replay_period (replay));
  ck_assert_uint_eq (sum, replay_period (replay));
}

static double
sum_of_parts (const Prediction *p)
{
  double sum = 0;

  for (guint part = 0; part < TIME_N; part++)
    sum += p->parts[part];
  return sum;
}

static double
sum_of_bindings (const Prediction *p)
{
  double sum = 0;

  for (guint i = 0; i < p->bindings->len; i++)
    sum += g_array_index (p->bindings, BindingUse, i).seconds;
  return sum;
}

/* Nothing is executed in less than the model's FLOPs, and more by recomputation only. */
static void
check_utilisation (const Prediction *p, const TrainingOptions *training)
{
  if (training->checkpointing == CHECKPOINT_NONE)
    ck_assert_double_eq (p->hfu_percent, p->mfu_percent);
  else
    ck_assert_double_ge (p->hfu_percent, p->mfu_percent);
}

START_TEST (test_random)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (GRand)      rand = g_rand_new_with_seed (SEED);
  guint                  n = 0;

  for (guint i = 0; i < N_RANDOM; i++)
    {
      g_autoptr (Scenario)   scenario = fixture_random (rand, profiles);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (GError)     error = NULL;
      ReplayOptions          options = { 0 };
      g_autoptr (Replay)     replay = replay_run (scenario, profiles, &options, diags, &error);
      g_autoptr (Prediction) p = NULL;

      ck_assert_msg (error == NULL, "seed %d, case %u: %s", SEED, i,
                     error != NULL ? error->message : "");
      if (replay == NULL) /* a combination that the strategy refuses */
        continue;
      n++;
      check_path (replay);
      p = prediction_from_replay (replay, NULL);
      ck_assert_msg (fabs (sum_of_parts (p) - p->step_time_s) <= 1e-12 * p->step_time_s,
                     "seed %d, case %u: parts sum to %.17g of %.17g", SEED, i, sum_of_parts (p),
                     p->step_time_s);
      ck_assert_double_eq_tol (sum_of_bindings (p), p->step_time_s, 1e-12 * p->step_time_s);
      ck_assert_double_le (p->exposed_comm_s, p->step_time_s);
      check_utilisation (p, &scenario->training);
    }
  ck_assert_uint_gt (n, N_RANDOM / 2);
}
END_TEST

static Scenario *
load_worked (const char *name, char **profile_dir)
{
  g_autofree char      *relative = g_strconcat ("docs/worked/", name, NULL);
  g_autofree char      *file = layout_data_file (relative);
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = scenario_load (NULL, file, NULL, 0, diags);

  *profile_dir = layout_data_file ("docs/worked/hwprofiles");
  ck_assert_msg (all != NULL, "%s", diag_list_first_message (diags));
  return scenario_copy (g_ptr_array_index (all, 0));
}

/*
 * docs/worked/1-ddp-two-gpus.md: nothing runs in parallel, so the path is everything. Of its
 * kernels' times, 0.1 us a launch is latency: 31 launches forward, 57 backward, 1 of the optimizer.
 * Two kernels are casts, and count as copies on the GPU: the logits' gradient to bf16 (300 000 B)
 * and dq to bf16 (120 000 B). The host is on the path until its first launch.
 */
START_TEST (test_by_hand)
{
  g_autofree char       *dir = NULL;
  g_autoptr (Scenario)   scenario = load_worked ("1-ddp-two-gpus.yaml", &dir);
  PredictOptions         options = { .replay = { 0 }, .profile_dir = dir };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) p = predict (scenario, &options, diags, NULL);
  const struct
  {
    TimePart part;
    double   ps;
  } want[] = {
    { TIME_COMPUTE, 33804402 + 67086400 - (31 + 57) * 100000 - 300000 - 120000 },
    { TIME_OPTIMIZER, 28 * 600600 },
    { TIME_INTRA_NODE, 100000 + 8400000 + 2 * 3400000 + 1201200 * 20 },
    { TIME_LATENCY, (31 + 57 + 1) * 100000 },
    { TIME_HOST, 100000 },
    { TIME_INTER_NODE, 0 },
    { TIME_HOST_COPIES, 0 },
    { TIME_COPY_KERNELS, 300000 + 120000 },
    { TIME_MEMORY, 0 },
  };

  ck_assert_ptr_nonnull (p);
  for (guint i = 0; i < G_N_ELEMENTS (want); i++)
    ck_assert_msg (fabs (p->parts[want[i].part] * 1e12 - want[i].ps) < 0.01,
                   "%s: %.3f ps, by hand %.0f", time_part_name (want[i].part),
                   p->parts[want[i].part] * 1e12, want[i].ps);
  /*
   * One stream carries kernels and the all-reduce, one after the other: all of the all-reduce is
   * exposed.
   */
  ck_assert_double_eq_tol (p->exposed_comm_s * 1e12, want[2].ps, 0.01);
}
END_TEST

/* Worse figures make the step longer, better ones shorter; without ranges, neither moves it. */
START_TEST (test_interval)
{
  g_autoptr (Scenario) scenario =
      fixture_scenario ("cluster.name", "2 x a40x8-nvlink-pairs", "model.config", "gpt2-xl",
                        "training.seq_len", "512", "strategy.name", "fsdp2", NULL);
  PredictOptions         options = { .replay = { 0 }, .interval = TRUE };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) p = predict (scenario, &options, diags, NULL);
  g_autofree char       *dir = NULL;
  g_autoptr (Scenario)   exact = load_worked ("1-ddp-two-gpus.yaml", &dir);
  g_autoptr (Prediction) q = NULL;

  ck_assert_ptr_nonnull (p);
  ck_assert_double_gt (p->step_time_low_s, 0);
  ck_assert_double_lt (p->step_time_low_s, p->step_time_s);
  ck_assert_double_gt (p->step_time_high_s, p->step_time_s);
  options.profile_dir = dir;
  q = predict (exact, &options, diags, NULL);
  ck_assert_ptr_nonnull (q);
  ck_assert_double_eq (q->step_time_low_s, q->step_time_s);
  ck_assert_double_eq (q->step_time_high_s, q->step_time_s);
}
END_TEST

/*
 * MFU of unlike GPUs: 16 A100 of 312 TFLOP/s and 16 A40 of 149.7 make (312 + 149.7) / 2 a GPU, not
 * the rate of rank 0's.
 */
START_TEST (test_mixed_mfu)
{
  g_autoptr (Scenario) scenario =
      fixture_scenario ("cluster.name", "mixed-a100-a40", "model.config", "gpt2-xl",
                        "training.seq_len", "256", "strategy.name", "fsdp2", NULL);
  PredictOptions         options = { .replay = { 0 } };
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Prediction) p = predict (scenario, &options, diags, NULL);

  ck_assert_ptr_nonnull (p);
  ck_assert_double_eq_tol (p->mfu_base, 230.85e12, 1e3);
  ck_assert_double_eq_tol (p->mfu_percent, 100 * p->model_tflops_per_gpu / 230.85, 1e-9);
  ck_assert_double_eq_tol (p->hfu_percent, 100 * p->hardware_tflops_per_gpu / 230.85, 1e-9);
}
END_TEST

/*
 * Local SGD's average scales every parameter once a round, 4 bytes read and 4 written: a part of
 * its own, and none of the model's.
 */
START_TEST (test_outer_step)
{
  g_autoptr (Scenario) scenario = fixture_scenario (
      "cluster.name", "2 x dgx-a100", "model.config", "gpt2-xl", "training.seq_len", "256",
      "replay.skew", "off", "strategy.name", "local-sgd", "strategy.inner.name", "ddp",
      "strategy.local_steps", "4", NULL);
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Replay)     replay = fixture_replay (scenario, profiles, FALSE, 1);
  g_autoptr (Prediction) p = prediction_from_replay (replay, NULL);
  double                 bytes = 4 * (double) workload_n_parameters (replay_workload (replay));
  KernelDesc scale = kernel_desc_stream (KERNEL_ELEMENTWISE, "scale", DTYPE_FP32, bytes, bytes, 1);
  KernelCost cost;

  kernel_cost (cluster_gpu_profile (replay_cluster (replay), 0), &scale, &cost);
  ck_assert_double_eq_tol (p->parts[TIME_OUTER], (cost.alone - cost.latency) / 4, 1e-9);
  ck_assert_str_eq (time_part_key (TIME_OUTER), "outer");
}
END_TEST

SUITE_MAIN (critical_path)
{
  Suite *suite = suite_create ("critical-path");
  TCase *tests = tcase_create ("critical-path");

  tcase_add_test (tests, test_random);
  tcase_add_test (tests, test_by_hand);
  tcase_add_test (tests, test_interval);
  tcase_add_test (tests, test_mixed_mfu);
  tcase_add_test (tests, test_outer_step);
  suite_add_tcase (suite, tests);
  return fixture_main (suite);
}
