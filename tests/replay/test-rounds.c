/*
 * Exchanges count training steps, whatever stands inside of them: another exchange, or an inner
 * strategy with work that crosses the end of a step. Periods and calls by hand, closed forms of the
 * whole.
 */
#include "../suite.h"
#include "fixture.h"

static guint64
calls_on (const Replay *replay, const char *comm)
{
  g_autoptr (GArray) traffic = replay_bound_traffic (replay_bound (replay), WHOLE_PERIOD);

  for (guint i = 0; i < traffic->len; i++)
    {
      const ReplayTraffic *t = &g_array_index (traffic, ReplayTraffic, i);

      if (g_str_equal (schedule_comm_info (replay_schedule (replay), t->comm)->name, comm))
        return t->calls;
    }
  return 0;
}

static void
assert_expected (const Replay *replay)
{
  PlanTotals       measured, expected;
  g_autofree char *why = NULL;

  ck_assert (replay_plan_expect (replay_plan (replay), &expected));
  schedule_totals (replay_schedule (replay), 0, &measured);
  ck_assert_msg (plan_totals_match (&measured, &expected, &why), "%s", why);
}

#define SMALL                                                                                     \
  "cluster.node", "dgx-a100", "cluster.nodes", "4", "model.arch", "llama", "model.n_layers", "2", \
      "model.d_model", "256", "model.n_heads", "4", "model.d_ff", "512", "model.vocab", "512",    \
      "training.seq_len", "128", "training.micro_batch", "1"

/* Every 6 steps around every 4: all repeats after 12, with 2 and 3 exchanges. */
START_TEST (exchanges_stack)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = fixture_scenario (
        SMALL, "strategy.name", "co2", "strategy.worker", "16", "strategy.local_steps", "6",
        "strategy.inner.name", "local-sgd", "strategy.inner.worker", "node",
        "strategy.inner.local_steps", "4", "strategy.inner.inner.name", "zero2", NULL);
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);

  ck_assert_uint_eq (schedule_steps_per_period (replay_schedule (replay)), 12);
  ck_assert_uint_eq (calls_on (replay, "workers"), 3);
  ck_assert_uint_eq (calls_on (replay, "workers 2"), 2);
  assert_expected (replay);
}
END_TEST

/*
 * A delayed update crosses the end of each step, with the gradients that it reads: every 3 steps is
 * still every 3, and two steps' gradients are there at once.
 */
START_TEST (what_crosses_a_step_does_not_stretch_a_round)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = fixture_scenario (
        SMALL, "strategy.name", "local-sgd", "strategy.local_steps", "3", "strategy.inner.name",
        "zero-offload", "strategy.inner.delayed_update", "true", NULL);
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);

  ck_assert_uint_eq (schedule_steps_per_period (replay_schedule (replay)), 3);
  ck_assert_uint_eq (calls_on (replay, "workers"), 1);
  assert_expected (replay);
}
END_TEST

static void
totals_of (const Scenario *scenario, ProfileSet *profiles, PlanTotals *totals)
{
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);

  schedule_totals (replay_schedule (replay), 0, totals);
  assert_expected (replay);
}

#define AROUND(name_) \
  SMALL, "strategy.name", name_, "strategy.local_steps", "3", "strategy.inner.name", "zero-offload"

/*
 * The host updates from its own fp32 copy: the average of the own slice goes there, once a round,
 * and the cores take it over. Else the next update would bring back what each worker had before.
 */
START_TEST (an_average_reaches_the_hosts_master)
{
  static const char *const outer[] = { "local-sgd", "co2" };
  g_autoptr (ProfileSet)   profiles = profile_set_new (NULL);
  const char              *late = _i % 2 == 0 ? "false" : "true";
  g_autoptr (Scenario)     alone =
      fixture_scenario (SMALL, "cluster.nodes", "1", "strategy.name", "zero-offload",
                        "strategy.delayed_update", late, NULL);
  g_autoptr (Scenario) around =
      fixture_scenario (AROUND (outer[_i / 2]), "strategy.inner.delayed_update", late, NULL);
  const guint to_host = move_kind (PLACE_HBM, PLACE_PINNED);
  const guint to_gpu = move_kind (PLACE_PINNED, PLACE_HBM);
  PlanTotals  step, round;

  totals_of (alone, profiles, &step);
  totals_of (around, profiles, &round);
  /* what comes from the host in a step of one micro-step is the own slice, 2 bytes an element */
  ck_assert_double_eq (round.moves[to_host], 3 * step.moves[to_host] + step.moves[to_gpu]);
  ck_assert_double_eq (round.moves[to_gpu], 3 * step.moves[to_gpu]);
  /* clipping in each step, and the refreshed copy once */
  ck_assert_double_eq (round.host[HOST_STREAM],
                       3 * step.host[HOST_STREAM] + step.moves[to_gpu] / 2);
}
END_TEST

/* Kept in fp32, the parameters that come from the host are the optimizer's own: no second copy. */
START_TEST (an_average_in_full_precision_is_the_hosts)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   around =
      fixture_scenario (AROUND ("local-sgd"), "training.precision", "fp32", NULL);
  PlanTotals round;

  totals_of (around, profiles, &round);
  ck_assert_double_eq (round.host[HOST_STREAM], round.host[HOST_ADAM]); /* clipping alone */
}
END_TEST

/* Seconds of a step of SMALL over 10 Gbit/s of sockets, one card a node. */
#define IN_TWO "strategy.local_steps", "16", "strategy.fragments", "2", "strategy.payload", "fp8"
#define SLOW   SMALL, "cluster.nics", "1", "cluster.nic", "tcp-10", "strategy.inner.name", "ddp"

static double
step_of (const Scenario *scenario, ProfileSet *profiles)
{
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);

  assert_expected (replay);
  return replay_step_time (replay);
}

/*
 * What blocks is paid in full, a round: rounds of 8 and of 4 steps differ by 4 steps of a worker
 * alone. What the control plane takes is added to it.
 */
START_TEST (a_blocking_exchange_is_paid_once)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   alone =
      fixture_scenario (SMALL, "cluster.nodes", "1", "cluster.nics", "1", "cluster.nic", "tcp-10",
                        "strategy.name", "ddp", NULL);
  g_autoptr (Scenario) four =
      fixture_scenario (SLOW, "strategy.name", "diloco", "strategy.local_steps", "4", NULL);
  g_autoptr (Scenario) eight =
      fixture_scenario (SLOW, "strategy.name", "diloco", "strategy.local_steps", "8", NULL);
  g_autoptr (Scenario) asked =
      fixture_scenario (SLOW, "strategy.name", "diloco", "strategy.local_steps", "4",
                        "strategy.control_plane", "1 s", NULL);
  double one = step_of (alone, profiles), of_four = 4 * step_of (four, profiles);

  ck_assert_double_eq_tol (8 * step_of (eight, profiles) - of_four, 4 * one, 4 * one * 0.02);
  ck_assert_double_gt (of_four, 4 * one);
  ck_assert_double_eq_tol (4 * step_of (asked, profiles) - of_four, 1, 1e-3);
}
END_TEST

/*
 * A fragment that may travel for three steps costs less than one that is waited for, and both send
 * the same. Each of two fragments is an all-to-all of parts and an all-gather of sums.
 */
START_TEST (a_fragment_travels_while_training_goes_on)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario) waits = fixture_scenario (SLOW, IN_TWO, "strategy.name", "streaming-diloco",
                                                 "strategy.overlap", "0", NULL);
  g_autoptr (Scenario) travels = fixture_scenario (
      SLOW, IN_TWO, "strategy.name", "streaming-diloco", "strategy.overlap", "3", NULL);
  g_autoptr (Replay) replay = fixture_replay (travels, profiles, FALSE, 0);

  ck_assert_uint_eq (schedule_steps_per_period (replay_schedule (replay)), 16);
  ck_assert_uint_eq (calls_on (replay, "workers"), 2); /* all-to-alls, as many gathers */
  ck_assert_double_lt (step_of (travels, profiles), step_of (waits, profiles));
}
END_TEST

/*
 * 4 workers of a node, 2 slices: of what all train, embedding and head (512 x 256 each), attention
 * (4 x 256 x 256) and norms, one sum over all workers; of a slice, half of 3 x 256 x 512 a block, a
 * sum over the 2 that train it (every other node), and both slices gathered by neighbours. In fp32,
 * at once or in 2 fragments.
 */
START_TEST (slices_are_summed_by_their_owners)
{
  const double           shared = 4 * (2.0 * 512 * 256 + 2 * (4 * 256 * 256 + 2 * 256) + 256);
  const double           slice = 4 * (2 * 3.0 * 256 * 512 / 2);
  const MeshGroup        all = { .size = 4, .stride = 8 }, owners = { .size = 2, .stride = 16 };
  const MeshGroup        peers = { .size = 2, .stride = 8 };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   scenario = fixture_scenario (
        SMALL, "training.trained_slices", "2", "strategy.name", "ppu", "strategy.local_steps", "4",
        "strategy.fragments", _i == 0 ? "1" : "2", "strategy.inner.name", "ddp", NULL);
  g_autoptr (Replay) replay = fixture_replay (scenario, profiles, FALSE, 0);
  PlanTotals         measured;

  schedule_totals (replay_schedule (replay), 0, &measured);
  ck_assert_double_eq (plan_totals_traffic (&measured, COLLECTIVE_ALL_REDUCE, all), shared);
  ck_assert_double_eq (plan_totals_traffic (&measured, COLLECTIVE_ALL_REDUCE, owners), slice);
  ck_assert_double_eq (plan_totals_traffic (&measured, COLLECTIVE_ALL_GATHER, peers), 2 * slice);
  ck_assert_uint_eq (calls_on (replay, "owners"), 1 + (guint) _i);
  assert_expected (replay);
}
END_TEST

/*
 * 2 blocks, the embedding and the head are 4 units: PRIME's rings carry one each. The first rank of
 * a worker of opendiloco carries all at once, and broadcasts.
 */
START_TEST (who_carries_what)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Scenario)   prime =
      fixture_scenario (SMALL, "strategy.name", "prime", "strategy.local_steps", "2",
                        "strategy.inner.name", "fsdp2", NULL);
  g_autoptr (Scenario) open =
      fixture_scenario (SLOW, "strategy.name", "opendiloco", "strategy.local_steps", "2", NULL);
  g_autoptr (Replay) rings = fixture_replay (prime, profiles, FALSE, 0);
  g_autoptr (Replay) led = fixture_replay (open, profiles, FALSE, 0);

  ck_assert_uint_eq (calls_on (rings, "workers"), 4);
  assert_expected (rings);
  ck_assert_uint_eq (schedule_n_roles (replay_schedule (led)), 2);
  ck_assert_uint_eq (calls_on (led, "workers"), 1);
  ck_assert_uint_eq (calls_on (led, "worker"), 1);
  /* 15 s of matchmaking over two steps */
  ck_assert_double_gt (replay_step_time (led), 7.5);
}
END_TEST

SUITE_MAIN (rounds)
{
  Suite *suite = suite_create ("rounds");
  TCase *tcase = tcase_create ("by hand");

  tcase_add_test (tcase, exchanges_stack);
  tcase_add_test (tcase, what_crosses_a_step_does_not_stretch_a_round);
  tcase_add_loop_test (tcase, an_average_reaches_the_hosts_master, 0, 4);
  tcase_add_test (tcase, an_average_in_full_precision_is_the_hosts);
  tcase_add_test (tcase, a_blocking_exchange_is_paid_once);
  tcase_add_test (tcase, a_fragment_travels_while_training_goes_on);
  tcase_add_loop_test (tcase, slices_are_summed_by_their_owners, 0, 2);
  tcase_add_test (tcase, who_carries_what);
  suite_add_tcase (suite, tcase);
  return fixture_main (suite);
}
