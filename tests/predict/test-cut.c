/*
 * Work that is cut before the engine runs: a schedule that is built or checked, a plan that is
 * bound and a replay that is read end soon after their stop is due, with nothing, without a
 * diagnostic and with all that they held given back; a prediction says that it was left out. Soon
 * is a number of asks (Stop.asked): a loop asks every STOP_POLL_TURNS turns, and its turns are ops
 * or less. Not asserted: time.
 */
#include <check.h>

#include "../suite.h"
#include "cost/collective/layout/layout-store.h"
#include "predict/prediction.h"
#include "strategy/registry.h"

/* Asks of a phase after the one that cuts it: each loop and function on the way out has one. */
#define ON_THE_WAY_OUT 40

/* Places where a test cuts one phase, evenly apart. */
#define N_CUTS       30
#define N_LARGE_CUTS 8

typedef struct
{
  ProfileSet       *profiles;
  ResolvedScenario *resolved;
} Fixture;

static Scenario *
load (ScenarioOverride *overrides, guint n)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = scenario_load (NULL, NULL, overrides, n, diags);

  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  return scenario_copy (g_ptr_array_index (all, 0));
}

/* MICROS micro-steps of a small model, on two pipeline stages of four GPUs each. */
static Scenario *
staged (const char *micros)
{
  ScenarioOverride overrides[] = {
    { "cluster.node", "dgx-a100", "test" },    { "cluster.nodes", "1", "test" },
    { "model.arch", "llama", "test" },         { "model.n_layers", "16", "test" },
    { "model.d_model", "512", "test" },        { "model.n_heads", "4", "test" },
    { "model.d_ff", "1024", "test" },          { "model.vocab", "4096", "test" },
    { "training.seq_len", "512", "test" },     { "training.micro_batch", "1", "test" },
    { "training.grad_accum", micros, "test" }, { "mesh.pp", "2", "test" },
    { "strategy.name", "fsdp2", "test" },      { "replay.extrapolate", "false", "test" },
  };

  return load (overrides, G_N_ELEMENTS (overrides));
}

static void
fixture_init (Fixture *self, const Scenario *scenario)
{
  const PredictOptions options = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();

  self->profiles = predict_profiles (&options);
  self->resolved = resolved_new (scenario, self->profiles, diags);
  ck_assert_ptr_nonnull (self->resolved);
}

static void
fixture_clear (Fixture *self)
{
  resolved_unref (self->resolved);
  profile_set_free (self->profiles);
}

/* Of FIXTURE; STOP is due from the MOST-th ask on. Diagnoses nothing. */
static ReplayPlan *
plan_until (const Fixture *fixture, Stop *stop, gint most)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ReplayPlan          *plan;

  *stop = (Stop){ .most_asked = most };
  plan = replay_plan_new (fixture->resolved, (PlanOptions){ .stop = stop }, diags);
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  return plan;
}

static guint64
n_ops (const ReplayPlan *plan)
{
  const Schedule *schedule = replay_plan_schedule (plan);
  guint64         n = 0;

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    for (guint s = 0; s < SECTION_N; s++)
      n += schedule_items (schedule, role, (ScheduleSection) s).n;
  return n;
}

/* ---- phases ---------------------------------------------------------------------------------- */

/* Millions of ops: nearly none of them is built once the stop is due before the first. */
START_TEST (test_before)
{
  g_autoptr (Scenario)   scenario = staged ("2000");
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (ReplayPlan) plan = NULL;
  PlanInput              input;
  Fixture                fixture;
  Stop                   stop;

  fixture_init (&fixture, scenario);
  plan = plan_until (&fixture, &stop, G_MAXINT);
  ck_assert_uint_gt (n_ops (plan), 2000000);
  ck_assert_int_gt (stop.asked, 1000);
  stop = (Stop){ .most_asked = 1 };
  input = fixture.resolved->input;
  input.stop = &stop;
  ck_assert_ptr_null (schedule_build (&input, fixture.resolved->strategy, diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  ck_assert_int_le (stop.asked, ON_THE_WAY_OUT);
  ck_assert_str_eq (stop_reason (&stop), "time limit");
  fixture_clear (&fixture);
}
END_TEST

/* Wherever the building and the check of a schedule are cut. */
START_TEST (test_plan)
{
  g_autoptr (Scenario)   scenario = staged ("60");
  g_autoptr (ReplayPlan) whole = NULL;
  Fixture                fixture;
  Stop                   stop;
  gint                   n;

  fixture_init (&fixture, scenario);
  whole = plan_until (&fixture, &stop, G_MAXINT);
  n = stop.asked;
  ck_assert_int_gt (n, 2 * (gint) (n_ops (whole) / STOP_POLL_TURNS)); /* built, and checked */
  for (gint most = 1; most <= n; most += 1 + n / N_CUTS)
    {
      ck_assert_ptr_null (plan_until (&fixture, &stop, most));
      ck_assert_int_le (stop.asked, most + ON_THE_WAY_OUT);
    }
  fixture_clear (&fixture);
}
END_TEST

static ReplayBound *
bind_until (const ReplayPlan *plan, Stop *stop, gint most, gboolean unfolded)
{
  *stop = (Stop){ .most_asked = most };
  return replay_bound_new_with (plan, &(BoundOptions){ .unfolded = unfolded, .stop = stop });
}

/* The same of a plan that is bound, with all ranks or those that differ. */
START_TEST (test_bind)
{
  g_autoptr (Scenario)    scenario = staged ("60");
  g_autoptr (ReplayPlan)  plan = NULL;
  g_autoptr (ReplayBound) whole = NULL;
  Fixture                 fixture;
  Stop                    stop;
  gint                    n;

  fixture_init (&fixture, scenario);
  plan = plan_until (&fixture, &stop, G_MAXINT);
  whole = bind_until (plan, &stop, G_MAXINT, _i);
  ck_assert_ptr_nonnull (whole);
  n = stop.asked;
  ck_assert_int_gt (n, (gint) (n_ops (plan) / STOP_POLL_TURNS));
  for (gint most = 1; most <= n; most += 1 + n / N_CUTS)
    {
      ck_assert_ptr_null (bind_until (plan, &stop, most, _i));
      ck_assert_int_le (stop.asked, most + ON_THE_WAY_OUT);
    }
  fixture_clear (&fixture);
}
END_TEST

/* Collectives over all of many GPUs, each of which is laid out at once. */
static const struct
{
  const char         *node;
  CollectiveKind      kind;
  CollectiveAlgorithm algorithm;
} large[] = {
  { "dgx-a100", COLLECTIVE_ALL_REDUCE, ALGORITHM_RING },
  { "dgx-a100", COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE },
  { "dgx-a100", COLLECTIVE_BROADCAST, ALGORITHM_RING },
  { "dgx-h100", COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE },
  { "dgx-h100", COLLECTIVE_ALL_TO_ALL, ALGORITHM_N },
  { "dgx-h100", COLLECTIVE_SEND_RECV, ALGORITHM_N },
};

static Cluster *
new_large (const char *node, ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ClusterOptions       wanted = { 0 };
  Cluster             *cluster;

  option_table_defaults (cluster_options, &wanted);
  option_set_key (cluster_options, &wanted, "node", node, NULL, diags);
  wanted.nodes = 512;
  cluster = cluster_new (&wanted, profiles, NULL, diags);
  ck_assert_msg (cluster != NULL, "%s", diag_list_first_message (diags));
  option_table_clear (cluster_options, &wanted);
  return cluster;
}

/* The time of the I-th; STOP is due from the MOST-th ask on. */
static double
time_until (const Cluster *cluster, guint i, LayoutStore *layouts, Stop *stop, gint most)
{
  const guint                n = cluster_n_gpus (cluster);
  g_autofree guint32        *all = g_new (guint32, n);
  CollectiveOptions          options = collective_default_options;
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveCost             cost;

  for (guint32 gpu = 0; gpu < n; gpu++)
    all[gpu] = gpu;
  *stop = (Stop){ .most_asked = most };
  options.algorithm = large[i].algorithm;
  options.layouts = layouts;
  options.stop = stop;
  plan = collective_plan_new (cluster, large[i].kind, all, n, &options);
  collective_plan_cost (plan, 1e9, &cost);
  ck_assert_uint_eq (cost.n_loads > 0, cost.time > 0);
  return cost.time;
}

/* A layout that is cut is soon over, its cost says nothing, and nobody gets it from a store. */
START_TEST (test_large_groups)
{
  const guint             i = (guint) _i;
  g_autoptr (ProfileSet)  profiles = profile_set_new (NULL);
  g_autoptr (LayoutStore) layouts = layout_store_new ();
  g_autoptr (Cluster)     cluster = new_large (large[i].node, profiles);
  Stop                    stop;
  const double            whole = time_until (cluster, i, NULL, &stop, G_MAXINT);
  const gint              n = stop.asked;

  ck_assert_double_gt (whole, 0);
  ck_assert_int_ge (n, 4);
  for (gint most = 1; most <= n; most += 1 + n / N_LARGE_CUTS)
    {
      ck_assert_double_eq (time_until (cluster, i, layouts, &stop, most), 0);
      ck_assert_int_le (stop.asked, most + ON_THE_WAY_OUT);
    }
  ck_assert_double_eq (time_until (cluster, i, layouts, &stop, G_MAXINT), whole);
}
END_TEST

/* What has been replayed is read in parts. */
START_TEST (test_read)
{
  g_autoptr (Scenario)    scenario = staged ("8");
  g_autoptr (ReplayPlan)  plan = NULL;
  g_autoptr (ReplayBound) bound = NULL;
  g_autoptr (Replay)      replay = NULL;
  g_autoptr (Prediction)  whole = NULL;
  Fixture                 fixture;
  Stop                    stop;
  gint                    n;

  fixture_init (&fixture, scenario);
  plan = plan_until (&fixture, &stop, G_MAXINT);
  bound = replay_bound_new (plan, FALSE);
  replay = replay_new (bound, NULL, NULL);
  stop = (Stop){ .most_asked = G_MAXINT };
  whole = prediction_from_replay (replay, &stop);
  ck_assert_ptr_nonnull (whole);
  n = stop.asked;
  ck_assert_int_gt (n, 1);
  for (gint most = 1; most <= n; most += 1 + n / N_CUTS)
    {
      stop = (Stop){ .most_asked = most };
      ck_assert_ptr_null (prediction_from_replay (replay, &stop));
    }
  fixture_clear (&fixture);
}
END_TEST

/* ---- the whole ------------------------------------------------------------------------------- */

static Prediction *
predict_until (const Scenario *scenario, Stop *stop, gint most, GError **error)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  PredictOptions       options = { .replay.stop = stop };
  Prediction          *self;

  *stop = (Stop){ .most_asked = most };
  self = predict (scenario, &options, diags, error);
  ck_assert_uint_eq (diag_list_n_errors (diags), 0);
  return self;
}

/* Whichever phase is cut, it is as when the engine is: left out. */
START_TEST (test_predict)
{
  g_autoptr (Scenario)   scenario = staged ("24");
  g_autoptr (Prediction) whole = NULL;
  Stop                   stop;
  gint                   n;

  scenario->replay.extrapolate = _i;
  whole = predict_until (scenario, &stop, G_MAXINT, NULL);
  ck_assert_ptr_nonnull (whole);
  n = stop.asked;
  for (gint most = 1; most <= n; most += 1 + n / N_CUTS)
    {
      g_autoptr (GError) error = NULL;

      ck_assert_ptr_null (predict_until (scenario, &stop, most, &error));
      ck_assert (g_error_matches (error, ENGINE_ERROR, ENGINE_ERROR_OVER));
      ck_assert (g_str_has_suffix (error->message, STOP_LEFT_OUT));
      ck_assert_int_le (stop.asked, most + ON_THE_WAY_OUT);
    }
  prediction_free (whole);
  whole = predict_until (scenario, &stop, n + 1, NULL);
  ck_assert_ptr_nonnull (whole);
}
END_TEST

/* ---- strategies ------------------------------------------------------------------------------ */

/* A step of STRATEGY on a model of many units; NULL where it wants other training or hardware. */
static Scenario *
deep (const Strategy *strategy)
{
  ScenarioOverride overrides[] = {
    { "cluster.node", "dgx-a100", "test" },
    { "cluster.nodes", "2", "test" },
    { "model.arch", "llama", "test" },
    { "model.n_layers", "96", "test" },
    { "model.d_model", "512", "test" },
    { "model.n_heads", "4", "test" },
    { "model.d_ff", "1024", "test" },
    { "model.vocab", "4096", "test" },
    { "training.seq_len", "512", "test" },
    { "training.grad_accum", "2", "test" },
    { "strategy.name", strategy->name, "test" },
    { "strategy.inner.name", "ddp", "test" },
    { "strategy.local_steps", "4", "test" },
  };
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autoptr (GPtrArray) all = scenario_load (
      NULL, NULL, overrides, G_N_ELEMENTS (overrides) - (strategy->outer ? 0 : 2), diags);

  return all != NULL ? scenario_copy (g_ptr_array_index (all, 0)) : NULL;
}

/* Hooks that find their pass cut in its midst hold nothing that is not given back. */
START_TEST (test_strategies)
{
  guint n = 0;

  for (const Strategy *const *s = strategy_list (); *s != NULL; s++)
    {
      g_autoptr (Scenario)   scenario = deep (*s);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (ReplayPlan) whole = NULL;
      Fixture                fixture;
      Stop                   stop = { .most_asked = G_MAXINT };

      if (scenario == NULL)
        continue;
      fixture_init (&fixture, scenario);
      whole = replay_plan_new (fixture.resolved, (PlanOptions){ .stop = &stop }, diags);
      n += whole != NULL;
      for (gint most = 1, all = stop.asked; whole != NULL && most <= all; most += 1 + all / 4)
        ck_assert_ptr_null (plan_until (&fixture, &stop, most));
      fixture_clear (&fixture);
    }
  ck_assert_uint_gt (n, 20);
}
END_TEST

SUITE_MAIN (cut)
{
  Suite *suite = suite_create ("cut");
  TCase *tcase = tcase_create ("cut");

  tcase_set_timeout (tcase, 300);
  tcase_add_test (tcase, test_before);
  tcase_add_test (tcase, test_plan);
  tcase_add_loop_test (tcase, test_bind, FALSE, TRUE + 1);
  tcase_add_loop_test (tcase, test_large_groups, 0, G_N_ELEMENTS (large));
  tcase_add_test (tcase, test_read);
  tcase_add_loop_test (tcase, test_predict, FALSE, TRUE + 1);
  tcase_add_test (tcase, test_strategies);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
