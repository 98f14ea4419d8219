/*
 * What tokens put on cards, NVLink and memory on their way to their experts, by arithmetic done by
 * hand. A byte of S is 1 / G of a token that reaches G GPUs. That a layer sends as many is
 * test-context's. Not asserted: agreement with measurements.
 */
#include "../suite.h"
#include "fixture.h"

#include "replay/run/collective-run.h"

/* 64 experts on 32 GPUs, 2 each: 32 (1 - C (62, 8) / C (64, 8)) = 32 (1 - 56 x 55 / (64 x 63)). */
#define GPUS (68 / 9.)

static Laid *
lay (const Cluster *cluster, guint most_nodes)
{
  g_autofree guint32 *ranks = fixture_all (cluster);
  CollectiveOptions   options = collective_default_options;
  CollectiveCost      cost;
  Laid               *self = g_new0 (Laid, 1);

  options.dispatch = (Dispatch){ .experts = 64, .chosen = 8, .most_nodes = most_nodes, .sms = 20 };
  self->plan = collective_plan_new (cluster, COLLECTIVE_ALL_TO_ALL, ranks, cluster_n_gpus (cluster),
                                    &options);
  collective_plan_cost (self->plan, 0x1p30, &cost);
  self->algorithm = cost.algorithm;
  self->loads = cost.loads;
  self->n_loads = cost.n_loads;
  self->latency = cost.latency;
  self->channels = cost.channels;
  ck_assert (cost.rate_cap == 0);
  return self;
}

static void
assert_all (const Laid *plan, const Cluster *cluster, ResourceKind kind, guint n, double payload)
{
  double low, high;

  ck_assert_uint_eq (plan_range (plan, cluster, kind, &low, &high), n);
  if (n == 0)
    return;
  assert_near (low, payload);
  assert_near (high, payload);
}

/*
 * 4 nodes, each token on 2 of them at most: 3/4 of the 2 are other nodes. 7 of 8 copies leave the
 * GPU at which they arrive on a node. Unlimited: 4 (1 - C (48, 8) / C (64, 8)) = 3.659 nodes.
 */
START_TEST (test_loads)
{
  static const struct
  {
    guint  most;
    double nodes;
  } cases[] = { { 2, 2 }, { 0, 4 * (1 - 377348994. / 4426165368.) }, { 1, 1 } };
  const double        nodes = cases[_i].nodes;
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;

  fixture_init (&fixture, "dgx-h100", 4);
  cluster = fixture_cluster (&fixture);
  plan = lay (cluster, cases[_i].most);
  ck_assert_int_eq (plan->algorithm, ALGORITHM_TWO_LEVEL);
  ck_assert (plan->channels == 20);
  assert_all (plan, cluster, RESOURCE_NIC_TX, 32, nodes * 3 / 4 / GPUS);
  assert_all (plan, cluster, RESOURCE_NIC_RX, 32, nodes * 3 / 4 / GPUS);
  assert_all (plan, cluster, RESOURCE_NVLINK_OUT, 32, 7 / 8.);
  assert_all (plan, cluster, RESOURCE_NVLINK_IN, 32, 7 / 8.);
  assert_all (plan, cluster, RESOURCE_HBM, 32, (1 + 4 * nodes * 3 / 4) / GPUS + 3);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * DeepSeek-V3's: 256 experts on 64 GPUs, 8 a token, on 4 of 8 nodes. 4096 tokens of 7168 elements
 * are 3.5 rows each on a card, and it binds: nothing but latency comes on top.
 */
START_TEST (test_time)
{
  const double        row = 7168 * (1 + 4 / 128.), tokens = 4096, rows = 4 * 7 / 8.;
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autofree guint32 *ranks = NULL;
  CollectiveOptions   options = collective_default_options;
  CollectivePlan     *plan;
  CollectiveCost      cost;
  double              gpus = 64, card;
  const LinkProfile  *nic;

  fixture_init (&fixture, "dgx-h100", 8);
  cluster = fixture_cluster (&fixture);
  ranks = fixture_all (cluster);
  for (guint i = 0; i < 4; i++) /* C (252, 8) / C (256, 8) = 248 247 246 245 / (256 255 254 253) */
    card = (i == 0 ? 1 : card) * (248. - i) / (256. - i);
  gpus *= 1 - card;
  options.dispatch = (Dispatch){ .experts = 256, .chosen = 8, .most_nodes = 4, .sms = 20 };
  plan = collective_plan_new (cluster, COLLECTIVE_ALL_TO_ALL, ranks, 64, &options);
  collective_plan_cost (plan, tokens * gpus * row, &cost);
  nic = cluster_nic_profile (cluster, 0);
  card = nic->bandwidth.value * nic->efficiency.value;
  ck_assert_msg (fabs (cost.time - cost.latency - tokens * rows * row / card) < 1e-9 * cost.time,
                 "%.9g + %.9g", cost.latency, tokens * rows * row / card);
  ck_assert_int_eq (cluster_resource (cluster, cost.binding)->kind, RESOURCE_NIC_TX);
  collective_plan_free (plan);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* One node: NVLink alone. Rails: every message stays on its leaf. */
START_TEST (test_where_nothing_goes)
{
  Fixture             fixture;
  g_autoptr (Cluster) one = NULL, rails = NULL;
  g_autoptr (Laid)    inside = NULL, plan = NULL;

  fixture_init (&fixture, "dgx-h100", 1);
  one = fixture_cluster (&fixture);
  inside = lay (one, 0);
  assert_all (inside, one, RESOURCE_NIC_TX, 0, 0);
  assert_all (inside, one, RESOURCE_NVLINK_OUT, 8, 7 / 8.);
  g_clear_pointer (&one, cluster_free);
  fixture_clear (&fixture);

  fixture_init (&fixture, "dgx-h100", 4);
  fixture.options.fabric = FABRIC_RAILS;
  fixture.options.leaf_nodes = 4;
  rails = fixture_cluster (&fixture);
  plan = lay (rails, 2);
  assert_all (plan, rails, RESOURCE_LEAF_UP, 0, 0);
  assert_all (plan, rails, RESOURCE_NIC_TX, 32, 1.5 / GPUS);
  g_clear_pointer (&rails, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* Step by step it takes as long, since all begin at once: cards bind. */
START_TEST (test_steps)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  CollectiveCost      cost;
  CollectiveRunItem   item = { 0 };
  SimTime             end;

  fixture_init (&fixture, "dgx-h100", 4);
  cluster = fixture_cluster (&fixture);
  plan = lay (cluster, 2);
  collective_plan_cost (plan->plan, 0x1p28, &cost);
  item.plan = plan->plan;
  item.bytes = 0x1p28;
  ck_assert (collective_run_step (cluster, &item, 1, &end, NULL));
  ck_assert_msg (fabs (1e-12 * (double) end / cost.time - 1) < 0.01, "%g s, fluid %g s",
                 1e-12 * (double) end, cost.time);
  g_clear_pointer (&plan, laid_free);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* ---- rings by proxies ---- */

static Laid *
lay_ring (const Cluster *cluster, guint proxies, double bytes, double *seconds)
{
  g_autofree guint32 *ranks = fixture_all (cluster);
  CollectiveOptions   options = collective_default_options;
  CollectiveCost      cost;
  Laid               *self = g_new0 (Laid, 1);

  options.dispatch.proxies = proxies;
  self->plan = collective_plan_new (cluster, COLLECTIVE_SEND_RECV, ranks, cluster_n_gpus (cluster),
                                    &options);
  collective_plan_cost (self->plan, bytes, &cost);
  self->algorithm = cost.algorithm;
  self->loads = cost.loads;
  self->n_loads = cost.n_loads;
  *seconds = cost.time - cost.latency;
  return self;
}

/* Of the resources of KIND the fullest, and how many are used. */
static double
most_of (const Laid *plan, const Cluster *cluster, ResourceKind kind, guint *n)
{
  double low, high = 0;

  *n = plan_range (plan, cluster, kind, &low, &high);
  return *n > 0 ? high : 0;
}

/*
 * A ring of 2 nodes of 8: rank r of a node sends to r + 1, its last one to the other node. By 4
 * proxies, the members 0, 2, 4 and 6, each card takes a quarter. Rank 7 sends four quarters to
 * proxies, rank 0 gets three from them, and one for which it is the proxy: a whole each. Ranks 2, 4
 * and 6 have their own message, and pass on a quarter either way: 5/4 out and in. By 8 proxies 7
 * keeps an eighth, and ranks 1 to 6 have 9/8.
 */
START_TEST (test_proxies)
{
  static const struct
  {
    guint  proxies, cards;
    double card, out, in;
  } cases[] = { { 1, 2, 1, 1, 1 },
                { 4, 8, 1 / 4., 1 + 1 / 4., 1 + 1 / 4. },
                { 8, 16, 1 / 8., 1 + 1 / 8., 1 + 1 / 8. } };
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              seconds;
  guint               n;

  fixture_init (&fixture, "dgx-h100", 2);
  cluster = fixture_cluster (&fixture);
  plan = lay_ring (cluster, cases[_i].proxies, 0x1p26, &seconds);
  ck_assert_int_eq (plan->algorithm == ALGORITHM_TWO_LEVEL, cases[_i].proxies > 1);
  assert_near (most_of (plan, cluster, RESOURCE_NIC_TX, &n), cases[_i].card);
  ck_assert_uint_eq (n, cases[_i].cards);
  assert_near (most_of (plan, cluster, RESOURCE_NIC_RX, &n), cases[_i].card);
  ck_assert_uint_eq (n, cases[_i].cards);
  assert_near (most_of (plan, cluster, RESOURCE_NVLINK_OUT, &n), cases[_i].out);
  assert_near (most_of (plan, cluster, RESOURCE_NVLINK_IN, &n), cases[_i].in);
  g_clear_pointer (&plan, laid_free);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* Cards bind: a quarter of 41.9 MB at a card's rate. */
START_TEST (test_time_of_proxies)
{
  const double        block = 4096. * 2 * 2560 * 2;
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    routed = NULL;
  const LinkProfile  *nic;
  double              seconds;

  fixture_init (&fixture, "dgx-h100", 2);
  cluster = fixture_cluster (&fixture);
  nic = cluster_nic_profile (cluster, 0);
  routed = lay_ring (cluster, 4, block, &seconds);
  assert_near (seconds, block / 4 / (nic->bandwidth.value * nic->efficiency.value));
  g_clear_pointer (&routed, laid_free);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * Zeppelin's figure 12 (arXiv:2509.21841): one sequence of 64k tokens on 16 A800 of two nodes with
 * four cards of 200 Gb/s, 25 GB/s. A block is 4096 tokens x 2 x 2560 x 2 bytes = 41.9 MB, the width
 * of no grouped heads at which four cards carry it. Over a card at 0.77 of its rate it takes 2.18
 * ms, over four at all of it 411 us: what a byte puts on the fullest card says so to 5 %.
 */
START_TEST (test_published_timeline)
{
  static const struct
  {
    guint  proxies;
    double share, seconds;
  } cases[] = { { 1, 0.77, 2.18e-3 }, { 4, 1, 411e-6 } };
  const double        block = 4096. * 2 * 2560 * 2;
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              seconds;
  guint               n;

  fixture_init (&fixture, "dgx-h100", 2);
  cluster = fixture_cluster (&fixture);
  plan = lay_ring (cluster, cases[_i].proxies, block, &seconds);
  seconds = most_of (plan, cluster, RESOURCE_NIC_TX, &n) * block / (cases[_i].share * 25e9);
  ck_assert_msg (fabs (seconds / cases[_i].seconds - 1) < 0.05, "%g s", seconds);
  g_clear_pointer (&plan, laid_free);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

SUITE_MAIN (two_level)
{
  Suite *suite = suite_create ("two-level");
  TCase *tcase = tcase_create ("two-level");

  tcase_add_loop_test (tcase, test_loads, 0, 3);
  tcase_add_test (tcase, test_time);
  tcase_add_test (tcase, test_where_nothing_goes);
  tcase_add_test (tcase, test_steps);
  tcase_add_loop_test (tcase, test_proxies, 0, 3);
  tcase_add_test (tcase, test_time_of_proxies);
  tcase_add_loop_test (tcase, test_published_timeline, 0, 2);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
