/*
 * Collectives that the hosts carry, by arithmetic done by hand: bytes on each resource, latency and
 * time. It does not assert that the model agrees with a measured network.
 */
#include "../suite.h"
#include "fixture.h"

#include "replay/run/collective-run.h"

static double
payload_on (const Cluster *cluster, const CollectiveCost *cost, ResourceKind kind, guint node,
            guint index)
{
  guint resource = cluster_node_resource (cluster, node, kind, index);

  for (guint i = 0; i < cost->n_loads; i++)
    if (cost->loads[i].resource == resource)
      return cost->loads[i].payload;
  return 0;
}

/*
 * 2 nodes of 8 GPUs: of a ring of 16 edges two leave a node, 7 -> 8 and 15 -> 0. Each passes
 * 2 x 15 / 16 of an all-reduce. Half of a node's ranks are on either socket: 4 of its 8 edges begin
 * there and 4 end there.
 */
START_TEST (ring_by_hand)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;
  guint32             ranks[16];
  CollectiveCost      cost;

  fixture_init (&fixture, "dgx-a100", 2);
  cluster = fixture_cluster (&fixture);
  options.transport = TRANSPORT_HOST;
  for (guint i = 0; i < 16; i++)
    ranks[i] = i;
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, 16, &options);

  collective_plan_cost (plan, 1e9, &cost);
  ck_assert_uint_eq (cost.channels, 0);
  for (guint node = 0; node < 2; node++)
    {
      guint last = cluster_nearest_card (cluster, node * 8 + 7);
      guint first = cluster_nearest_card (cluster, node * 8);

      assert_near (payload_on (cluster, &cost, RESOURCE_NIC_TX, node, last), 1.875);
      assert_near (payload_on (cluster, &cost, RESOURCE_NIC_RX, node, first), 1.875);
      for (guint socket = 0; socket < 2; socket++)
        assert_near (payload_on (cluster, &cost, RESOURCE_DRAM, node, socket), 8 * 1.875);
      assert_near (payload_on (cluster, &cost, RESOURCE_NVLINK_OUT, node, 0), 0);
      assert_near (payload_on (cluster, &cost, RESOURCE_PCIE_UP, node, 0), 0);
    }
  assert_near (cost.latency, 30 * cluster_nic_profile (cluster, 0)->latency.value);
  /* 15 bytes a byte of S over a socket's memory, against 1.875 over a card */
  assert_near (cost.time - cost.latency,
               15 * 1e9 / cluster_node_profile (cluster, 0)->dram_bandwidth.value);
  assert_near (collective_plan_time (plan, 1e9), cost.time);
  fixture_clear (&fixture);
}
END_TEST

/*
 * A broadcast goes down a chain: of 4 ranks on 2 nodes, 0 -> 1 -> 8 -> 9, one edge leaves a node,
 * and every edge passes the whole buffer.
 */
START_TEST (chain_by_hand)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;
  const guint32       ranks[] = { 0, 1, 8, 9 };
  CollectiveCost      cost;

  fixture_init (&fixture, "dgx-a100", 2);
  cluster = fixture_cluster (&fixture);
  options.transport = TRANSPORT_HOST;
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, COLLECTIVE_BROADCAST, ranks, 4, &options);

  collective_plan_cost (plan, 1e9, &cost);
  assert_near (payload_on (cluster, &cost, RESOURCE_NIC_TX, 0, cluster_nearest_card (cluster, 1)),
               1);
  assert_near (payload_on (cluster, &cost, RESOURCE_NIC_RX, 1, cluster_nearest_card (cluster, 8)),
               1);
  assert_near (payload_on (cluster, &cost, RESOURCE_NIC_TX, 1, cluster_nearest_card (cluster, 9)),
               0);
  for (guint node = 0; node < 2; node++) /* 0 -> 1 twice, 1 -> 8 once */
    assert_near (payload_on (cluster, &cost, RESOURCE_DRAM, node, 0), 3);
  fixture_clear (&fixture);
}
END_TEST

/* Of an all-to-all each rank sends a fourth of S to each of three others, two of them elsewhere. */
START_TEST (pairs_by_hand)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;
  const guint32       ranks[] = { 0, 1, 8, 9 };
  CollectiveCost      cost;
  double              sent = 0;

  fixture_init (&fixture, "dgx-a100", 2);
  cluster = fixture_cluster (&fixture);
  options.transport = TRANSPORT_HOST;
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, COLLECTIVE_ALL_TO_ALL, ranks, 4, &options);

  collective_plan_cost (plan, 1e6, &cost);
  for (guint card = 0; card < cluster_nics_of_node (cluster, 0); card++)
    sent += payload_on (cluster, &cost, RESOURCE_NIC_TX, 0, card);
  assert_near (sent, 2 * 2 * 0.25);
  fixture_clear (&fixture);
}
END_TEST

#define LOCALS 8
#define NODES  4

/* N plans at once, each of BYTES: when the last is over, s. */
static double
run (const Cluster *cluster, CollectivePlan **plans, guint n, double bytes, gboolean steps)
{
  CollectiveRunItem items[LOCALS] = { 0 };
  SimTime           finish[LOCALS] = { 0 }, last = 0;

  for (guint i = 0; i < n; i++)
    items[i] = (CollectiveRunItem){ .plan = plans[i], .bytes = bytes };
  ck_assert (steps ? collective_run_step (cluster, items, n, finish, NULL)
                   : collective_run_fluid (cluster, items, n, finish, NULL));
  for (guint i = 0; i < n; i++)
    last = MAX (last, finish[i]);
  return sim_time_to_seconds (last);
}

/*
 * PRIME's rings: GPU i of each of 4 nodes, one ring for each i, all eight over the node's one card
 * of 10 Gbit/s. Of S a ring sends 2 x 3 / 4; eight of them 12 S, as one ring of 8 S does, in 6
 * steps. One ring alone takes an eighth of the bytes' time: nothing but the card is shared.
 */
START_TEST (locals_share_card)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;
  CollectivePlan     *plans[LOCALS];
  double              rate, latency;

  fixture_init (&fixture, "dgx-a100", NODES);
  fixture.options.nic = g_strdup ("tcp-10");
  fixture.options.nics = 1;
  cluster = fixture_cluster (&fixture);
  options.transport = TRANSPORT_HOST;
  rate = cluster_nic_profile (cluster, 0)->efficiency.value * 1250e6;
  latency = 6 * cluster_nic_profile (cluster, 0)->latency.value;
  for (guint i = 0; i < LOCALS; i++)
    {
      const guint32 ranks[NODES] = { i, 8 + i, 16 + i, 24 + i };

      plans[i] = collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, NODES, &options);
    }
  for (guint steps = 0; steps < 2; steps++)
    {
      const double together = run (cluster, plans, LOCALS, 1e7, steps > 0);
      const double alone = run (cluster, plans, 1, 1e7, steps > 0);
      const double large = run (cluster, plans, 1, 8e7, steps > 0);

      ck_assert_double_eq_tol (together, 12e7 / rate + latency, 1e-6);
      ck_assert_double_eq_tol (alone, 1.5e7 / rate + latency, 1e-6);
      ck_assert_double_eq_tol (large, together, 1e-6);
    }
  for (guint i = 0; i < LOCALS; i++)
    collective_plan_free (plans[i]);
  fixture_clear (&fixture);
}
END_TEST

SUITE_MAIN (host_ring)
{
  Suite *suite = suite_create ("host ring");
  TCase *tcase = tcase_create ("by hand");

  tcase_add_test (tcase, ring_by_hand);
  tcase_add_test (tcase, chain_by_hand);
  tcase_add_test (tcase, pairs_by_hand);
  tcase_add_test (tcase, locals_share_card);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
