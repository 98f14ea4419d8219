/*
 * Collectives between plain hosts, by arithmetic done by hand on cards of 100 Mbit/s: 12.5 MB/s of
 * frames, of which 0.9564 are data. Not asserted: that hosts do what the arithmetic says
 * (docs/validation.md).
 */
#include "../suite.h"
#include "fixture.h"

#include "replay/run/collective-run.h"

#include <stdlib.h>

#define MIB    1048576.0
#define RATE   (12.5e6 * 0.9564)
#define QUEUE  (163840 / RATE)          /* before the answer to a message that is announced */
#define RTT    (3 * 60e-6)              /* request, answer, data */
#define ADD(b) (3 * (b) / (15e9 * 0.8)) /* reductions read two and write one */
#define CALL   1e-6
#define PS     1e-12

typedef struct
{
  Fixture  fixture;
  Cluster *cluster;
} Hosts;

static void
hosts_init (Hosts *self, guint n, const char *nic)
{
  fixture_init (&self->fixture, "dgx-a100", n);
  g_free (self->fixture.options.node);
  self->fixture.options.node = NULL;
  self->fixture.options.gpus_per_node = 1;
  self->fixture.options.gpu = g_strdup ("cpu-host");
  self->fixture.options.intra = g_strdup ("none");
  self->fixture.options.nics = 1;
  self->fixture.options.nic = g_strdup (nic);
  self->cluster = NULL;
}

static void
hosts_clear (Hosts *self)
{
  cluster_free (self->cluster);
  fixture_clear (&self->fixture);
}

static CollectivePlan *
hosts_plan (Hosts *self, CollectiveKind kind, CollectiveAlgorithm algorithm)
{
  CollectiveOptions   options = collective_default_options;
  g_autofree guint32 *ranks = NULL;

  if (self->cluster == NULL)
    self->cluster = fixture_cluster (&self->fixture);
  ranks = fixture_all (self->cluster);
  options.algorithm = algorithm;
  return collective_plan_new (self->cluster, kind, ranks, cluster_n_gpus (self->cluster), &options);
}

static void
assert_seconds (double got, double expected, const char *what)
{
  ck_assert_msg (fabs (got - expected) <= 1e-9 * expected + 10 * PS, "%s: %.12g, expected %.12g",
                 what, got, expected);
}

/* All three fidelities; without contention they agree. */
static void
assert_times (Hosts *self, CollectiveKind kind, CollectiveAlgorithm algorithm, double bytes,
              double fluid, double step)
{
  g_autoptr (CollectivePlan) plan = hosts_plan (self, kind, algorithm);
  CollectiveRunItem          item = { plan, bytes, 0 };
  SimTime                    finish;

  ck_assert (collective_run_fluid (self->cluster, &item, 1, &finish, NULL));
  assert_seconds ((double) finish / SIM_TIME_PER_SECOND, fluid, "fluid");
  ck_assert (collective_run_step (self->cluster, &item, 1, &finish, NULL));
  assert_seconds ((double) finish / SIM_TIME_PER_SECOND, step, "step");
  ck_assert (collective_plan_time (plan, bytes) <= MIN (fluid, step) * (1 + 1e-9));
}

/* 4 hosts, 4 MiB: parts of 1 MiB in 6, 3 and 3 steps. */
START_TEST (test_rings)
{
  Hosts  hosts;
  double part = MIB / RATE + RTT + QUEUE;
  double reduce = 6 * (part + ADD (MIB / 2)) + CALL;

  hosts_init (&hosts, 4, "lan-100m");
  assert_times (&hosts, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, 4 * MIB, reduce, reduce);
  assert_times (&hosts, COLLECTIVE_ALL_GATHER, ALGORITHM_N, 4 * MIB, 3 * part + CALL,
                3 * part + CALL);
  reduce = 3 * (part + ADD (MIB)) + CALL;
  assert_times (&hosts, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_N, 4 * MIB, reduce, reduce);
  hosts_clear (&hosts);
}
END_TEST

/* 256 KiB in parts of 64 KiB: nothing is announced. */
START_TEST (test_eager)
{
  Hosts  hosts;
  double time = 3 * (65536 / RATE + 60e-6) + CALL;

  hosts_init (&hosts, 4, "lan-100m");
  assert_times (&hosts, COLLECTIVE_ALL_GATHER, ALGORITHM_N, 262144, time, time);
  hosts_clear (&hosts);
}
END_TEST

/*
 * Whole messages from host to host; 64 segments of 64 KiB, of which the first takes two more cards;
 * a message each to the next.
 */
START_TEST (test_chain_and_shift)
{
  Hosts  hosts;
  double message = 4 * MIB / RATE + RTT;
  double pipeline = 4 * MIB / RATE + 2 * 65536 / RATE + 3 * 60e-6 + CALL;

  hosts_init (&hosts, 4, "lan-100m");
  assert_times (&hosts, COLLECTIVE_BROADCAST, ALGORITHM_RING, 4 * MIB, 3 * message + CALL,
                3 * message + CALL);
  assert_times (&hosts, COLLECTIVE_BROADCAST, ALGORITHM_N, 4 * MIB, pipeline, pipeline);
  assert_times (&hosts, COLLECTIVE_BROADCAST, ALGORITHM_N, 1000, 3 * (1000 / RATE + 60e-6) + CALL,
                3 * (1000 / RATE + 60e-6) + CALL);
  assert_times (&hosts, COLLECTIVE_SEND_RECV, ALGORITHM_N, 4 * MIB, message + CALL, message + CALL);
  hosts_clear (&hosts);
}
END_TEST

/* Two hosts send each other messages one after the other: 2 steps of 2 x 2 MiB. */
START_TEST (test_exchange)
{
  Hosts  hosts;
  double reduce = 2 * (4 * MIB / RATE + RTT + ADD (MIB)) + CALL;
  double exchange = 4 * MIB / RATE + RTT + CALL; /* 2 MiB one way, then the other */

  hosts_init (&hosts, 2, "lan-100m");
  assert_times (&hosts, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, 4 * MIB, reduce, reduce);
  assert_times (&hosts, COLLECTIVE_ALL_TO_ALL, ALGORITHM_N, 4 * MIB, exchange, exchange);
  exchange = 8 * MIB / RATE + RTT + CALL;
  assert_times (&hosts, COLLECTIVE_SEND_RECV, ALGORITHM_N, 4 * MIB, exchange, exchange);
  hosts_clear (&hosts);
}
END_TEST

/*
 * Rounds 1 and 3 of 4 hosts take 1 MiB, round 2 is an exchange: 4 in all. 3 hosts have none. All at
 * once there is no round.
 */
START_TEST (test_all_to_all)
{
  Hosts  hosts;
  double rounds = 4 * MIB / RATE + 3 * (RTT + QUEUE) + CALL;
  double linear = 3 * MIB / RATE + RTT + QUEUE + CALL;

  hosts_init (&hosts, 4, "lan-100m");
  assert_times (&hosts, COLLECTIVE_ALL_TO_ALL, ALGORITHM_N, 4 * MIB, rounds, rounds);
  assert_times (&hosts, COLLECTIVE_ALL_TO_ALL, ALGORITHM_PAIRWISE, 4 * MIB, rounds, rounds);
  assert_times (&hosts, COLLECTIVE_ALL_TO_ALL, ALGORITHM_LINEAR, 4 * MIB, linear, linear);
  hosts_clear (&hosts);
  hosts_init (&hosts, 3, "lan-100m");
  rounds = 2 * (MIB / RATE + RTT + QUEUE) + CALL;
  assert_times (&hosts, COLLECTIVE_ALL_TO_ALL, ALGORITHM_N, 3 * MIB, rounds, rounds);
  hosts_clear (&hosts);
}
END_TEST

/*
 * One of 4 hosts at half the rate holds all others back, whose waits for answers hide behind its
 * transfers: but for the last, and step by step for both edges at it.
 */
START_TEST (test_slow_host)
{
  Hosts  hosts;
  double slow = 6 * MIB / (RATE / 2), wait = RTT + QUEUE + ADD (MIB / 2);

  hosts_init (&hosts, 4, "lan-100m");
  hosts.fixture.options.slow_nics = g_strdup ("0.0:0.5");
  assert_times (&hosts, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, 4 * MIB, slow + wait + CALL,
                slow + 2 * wait + CALL);
  hosts_clear (&hosts);
}
END_TEST

/*
 * 4 hosts in leaves of 2 whose uplink carries one card's rate: a ring crosses it once a step.
 * All-to-all crosses it with 1, 2 (in each half of the exchange 1) and 1 messages.
 */
START_TEST (test_uplinks)
{
  Hosts  hosts;
  double part = MIB / RATE + RTT + QUEUE;
  double rounds = 4 * MIB / RATE + 3 * (RTT + QUEUE) + CALL;

  hosts_init (&hosts, 4, "lan-100m");
  hosts.fixture.options.leaf_nodes = 2;
  hosts.fixture.options.oversubscription = 2;
  assert_times (&hosts, COLLECTIVE_ALL_GATHER, ALGORITHM_N, 4 * MIB, 3 * part + CALL,
                3 * part + CALL);
  assert_times (&hosts, COLLECTIVE_ALL_TO_ALL, ALGORITHM_N, 4 * MIB, rounds, rounds);
  hosts_clear (&hosts);
}
END_TEST

/*
 * Two rings of 3 that share host 0's card: each has half of it there. In `step` they also get out
 * of each other's way while they wait.
 */
START_TEST (test_shared_card)
{
  Hosts         hosts;
  const guint32 ranks[2][3] = { { 0, 1, 2 }, { 0, 3, 4 } };
  SimTime       finish[2];
  double        alone = 3 * MIB / (RATE / 2) / 3 * 2;

  hosts_init (&hosts, 5, "lan-100m");
  hosts.cluster = fixture_cluster (&hosts.fixture);
  g_autoptr (CollectivePlan) a =
      collective_plan_new (hosts.cluster, COLLECTIVE_ALL_GATHER, ranks[0], 3, NULL);
  g_autoptr (CollectivePlan) b =
      collective_plan_new (hosts.cluster, COLLECTIVE_ALL_GATHER, ranks[1], 3, NULL);
  const CollectiveRunItem items[] = { { a, 3 * MIB, 0 }, { b, 3 * MIB, 0 } };

  ck_assert (collective_run_fluid (hosts.cluster, items, 2, finish, NULL));
  for (guint i = 0; i < 2; i++)
    assert_seconds ((double) finish[i] / SIM_TIME_PER_SECOND, alone + 2 * (RTT + QUEUE) + CALL,
                    "fluid");
  ck_assert (collective_run_step (hosts.cluster, items, 2, finish, NULL));
  for (guint i = 0; i < 2; i++)
    ck_assert (fabs ((double) finish[i] / SIM_TIME_PER_SECOND / alone - 1) < 0.08);
  hosts_clear (&hosts);
}
END_TEST

/* One rank a host; hosts and GPUs are not mixed; only what MPI runs. */
START_TEST (test_what_exists)
{
  static const char *const   names[] = { "ring", "pairwise", "pipeline" };
  Hosts                      hosts;
  g_autoptr (DiagList)       diags = diag_list_new ();
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveCost             cost;

  hosts_init (&hosts, 4, "lan-50m");
  for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
    for (guint algorithm = 0; algorithm <= ALGORITHM_N; algorithm++)
      {
        gboolean pairwise = kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_SEND_RECV;
        gboolean rooted = kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE;
        guint    own = pairwise ? 1 : rooted ? 2 : 0;

        plan = hosts_plan (&hosts, (CollectiveKind) kind, (CollectiveAlgorithm) algorithm);
        collective_plan_cost (plan, MIB, &cost);
        if (!(algorithm == ALGORITHM_LINEAR && kind == COLLECTIVE_ALL_TO_ALL)
            && !(algorithm == ALGORITHM_RING && rooted))
          ck_assert_str_eq (collective_algorithm_name (cost.algorithm), names[own]);
        ck_assert_int_eq (cost.protocol, PROTOCOL_SIMPLE);
        g_clear_pointer (&plan, collective_plan_free);
      }
  hosts.fixture.options.gpus_per_node = 2;
  ck_assert_ptr_null (cluster_new (&hosts.fixture.options, hosts.fixture.profiles, NULL, diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "a plain host ('cpu-host') is one rank, but a node has 2");
  hosts_clear (&hosts);
}
END_TEST

SUITE_MAIN (messages)
{
  Suite *suite = suite_create ("messages");
  TCase *hand = tcase_create ("by hand");

  tcase_add_test (hand, test_rings);
  tcase_add_test (hand, test_eager);
  tcase_add_test (hand, test_chain_and_shift);
  tcase_add_test (hand, test_exchange);
  tcase_add_test (hand, test_all_to_all);
  tcase_add_test (hand, test_slow_host);
  tcase_add_test (hand, test_uplinks);
  tcase_add_test (hand, test_shared_card);
  tcase_add_test (hand, test_what_exists);
  suite_add_tcase (suite, hand);
  return suite_run (suite);
}
