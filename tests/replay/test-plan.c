/*
 * Plan, bound and run as three: what each knows without the next, that one may be bound and run
 * many times and says the same each time, and that each keeps what it refers to. Not what a run
 * says: the other tests of the replay have that.
 */
#include "../suite.h"
#include "fixture.h"

static Scenario *
small (const char *strategy)
{
  return fixture_scenario ("cluster.name", "2 x dgx-a100", "model.arch", "gpt", "model.n_layers",
                           "3", "model.d_model", "1024", "model.n_heads", "8", "model.vocab",
                           "1000", "training.seq_len", "512", "strategy.name", strategy, NULL);
}

static ReplayPlan *
plan_of (const Scenario *scenario, ProfileSet *profiles)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  ReplayPlan          *plan = replay_plan_scenario (scenario, profiles, diags);

  ck_assert_msg (plan != NULL, "%s", diag_list_first_message (diags));
  return plan;
}

static GBytes *
record_of (const ReplayBound *bound, const ReplayOptions *options)
{
  g_autoptr (GError) error = NULL;
  g_autoptr (Replay) replay = replay_new (bound, options, &error);

  ck_assert_msg (replay != NULL, "%s", error != NULL ? error->message : "");
  ck_assert_ptr_eq (replay_bound (replay), bound);
  ck_assert_ptr_eq (replay_plan (replay), replay_bound_plan (bound));
  return fixture_record (replay);
}

/* Of all ranks: a run of one host may end with its first period anyway. */
START_TEST (test_runs_are_alike)
{
  g_autoptr (ProfileSet)  profiles = profile_set_new (NULL);
  g_autoptr (Scenario)    scenario = small ("fsdp2");
  g_autoptr (ReplayPlan)  plan = plan_of (scenario, profiles);
  g_autoptr (ReplayBound) bound = replay_bound_new (plan, TRUE);
  const ReplayOptions     first = { .first_only = TRUE };
  g_autoptr (GBytes)      once = record_of (bound, NULL), short_ = record_of (bound, &first),
                     twice = record_of (bound, NULL), afresh = NULL;
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, TRUE, 0);

  afresh = fixture_record (replay);
  ck_assert (g_bytes_equal (once, twice));
  ck_assert (g_bytes_equal (once, afresh));
  ck_assert_uint_lt (g_bytes_get_size (short_), g_bytes_get_size (once));
}
END_TEST

/* A plan is bound in both ways; what they move is known before either runs. */
START_TEST (test_bound_knows_traffic)
{
  g_autoptr (ProfileSet)  profiles = profile_set_new (NULL);
  g_autoptr (Scenario)    scenario = small ("zero1");
  g_autoptr (ReplayPlan)  plan = plan_of (scenario, profiles);
  g_autoptr (ReplayBound) folded = replay_bound_new (plan, FALSE),
                          full = replay_bound_new (plan, TRUE);
  g_autoptr (GArray) a = replay_bound_traffic (folded, WHOLE_PERIOD),
                     b = replay_bound_traffic (full, WHOLE_PERIOD);
  PlanTotals totals = { 0 };
  double     sum = 0, bytes = 0;

  ck_assert_uint_eq (replay_bound_n_ranks (folded), 1);
  ck_assert_uint_eq (replay_bound_n_ranks (full), 16);
  ck_assert (replay_bound_executed_flops (folded, WHOLE_PERIOD) > 0);
  ck_assert (replay_bound_executed_flops (folded, WHOLE_PERIOD)
             == replay_bound_executed_flops (full, WHOLE_PERIOD));
  ck_assert (replay_plan_expect (plan, &totals));
  for (guint i = 0; i < totals.n_traffic; i++)
    bytes += totals.traffic[i].bytes;
  ck_assert_uint_eq (a->len, b->len);
  for (guint i = 0; i < a->len; i++)
    {
      const ReplayTraffic *x = &g_array_index (a, ReplayTraffic, i),
                          *y = &g_array_index (b, ReplayTraffic, i);

      ck_assert (x->bytes == y->bytes && x->calls == y->calls);
      sum += x->bytes;
    }
  ck_assert_double_gt (sum, 0);
  ck_assert_double_eq_tol (sum, bytes, 1e-9 * bytes);
}
END_TEST

/* One scenario, resolved once, planned for several lengths of its rounds. */
START_TEST (test_rounds)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Scenario)   scenario =
      fixture_scenario ("cluster.name", "2 x dgx-a100", "model.arch", "gpt", "model.n_layers", "2",
                        "model.d_model", "256", "model.n_heads", "8", "model.vocab", "1000",
                        "training.seq_len", "256", "strategy.name", "local-sgd",
                        "strategy.local_steps", "12", "strategy.inner.name", "ddp", NULL);
  g_autoptr (ResolvedScenario) resolved = resolved_new (scenario, profiles, diags);
  g_autoptr (ReplayPlan)       whole = replay_plan_new (resolved, (PlanOptions){ 0 }, diags),
                         few = replay_plan_new (resolved, (PlanOptions){ .round_steps = 4 }, diags);
  Exchange exchange = { 0 };

  ck_assert_ptr_eq (replay_plan_resolved (whole), resolved);
  ck_assert_ptr_eq (replay_plan_resolved (few), resolved);
  ck_assert_uint_eq (schedule_steps_per_period (replay_plan_schedule (whole)), 12);
  ck_assert_uint_eq (schedule_steps_per_period (replay_plan_schedule (few)), 4);
  ck_assert (strategy_whole_exchange (&resolved->input, resolved->strategy, &exchange));
  ck_assert_uint_eq (exchange.every, 12);
}
END_TEST

START_TEST (test_keeps_what_it_refers_to)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  Scenario              *scenario = small ("ddp");
  ReplayPlan            *plan = plan_of (scenario, profiles);
  ReplayBound           *bound = replay_bound_new (plan, FALSE);
  g_autoptr (Replay)     replay = replay_new (bound, NULL, NULL);
  g_autofree char       *label = NULL;

  scenario_free (scenario);
  replay_plan_unref (plan);
  replay_bound_unref (bound);
  ck_assert_str_eq (replay_resolved (replay)->strategy->strategy->name, "ddp");
  ck_assert_uint_eq (cluster_n_gpus (replay_cluster (replay)), 16);
  ck_assert_uint_gt (engine_n_ops (replay_engine (replay)), 0);
  label = replay_op_label (replay, 0);
  ck_assert_ptr_nonnull (label);
}
END_TEST

SUITE_MAIN (plan)
{
  Suite *suite = suite_create ("plan");
  TCase *tcase = tcase_create ("core");

  tcase_add_test (tcase, test_runs_are_alike);
  tcase_add_test (tcase, test_bound_knows_traffic);
  tcase_add_test (tcase, test_rounds);
  tcase_add_test (tcase, test_keeps_what_it_refers_to);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
