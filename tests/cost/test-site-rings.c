/*
 * Collectives between sites: rings of the hosts and of the GPUs' library against arithmetic done by
 * hand and against themselves step by step; orders of rings against all permutations. It does not
 * assert that a real wide-area network behaves so.
 */
#include <string.h>

#include "../suite.h"
#include "cost/collective/layout/ring-order.h"
#include "cost/collective/steps/steps.h"
#include "fixture.h"
#include "hardware/sites/sites.h"
#include "replay/run/collective-run.h"

#define GBIT 125e6

static Cluster *
cluster_with (Fixture *fixture, const char *node, guint nodes, const char *matrix,
              const char *site_nodes)
{
  const char *root = g_getenv ("SHARDSIM_SOURCE_ROOT");

  fixture_init (fixture, node, nodes);
  fixture->options.sites = g_build_filename (root, "tests/hardware/sites", matrix, NULL);
  fixture->options.site_nodes = g_strdup (site_nodes);
  return fixture_cluster (fixture);
}

/* The first GPU of each node, over the hosts. */
static CollectivePlan *
plan_hosts (const Cluster *cluster, CollectiveKind kind, const CollectiveOptions *asked)
{
  const guint         n = cluster_n_nodes (cluster);
  CollectiveOptions   options = *asked;
  g_autofree guint32 *ranks = g_new (guint32, n);

  options.transport = TRANSPORT_HOST;
  for (guint i = 0; i < n; i++)
    ranks[i] = cluster_first_gpu (cluster, i);
  return collective_plan_new (cluster, kind, ranks, n, &options);
}

/* N plans at once, each of BYTES: when the last is over, s. */
static double
run (const Cluster *cluster, CollectivePlan **plans, guint n, double bytes, gboolean steps)
{
  g_autofree CollectiveRunItem *items = g_new0 (CollectiveRunItem, n);
  g_autofree SimTime           *finish = g_new0 (SimTime, n);
  SimTime                       last = 0;

  for (guint i = 0; i < n; i++)
    items[i] = (CollectiveRunItem){ .plan = plans[i], .bytes = bytes };
  ck_assert (steps ? collective_run_step (cluster, items, n, finish, NULL)
                   : collective_run_fluid (cluster, items, n, finish, NULL));
  for (guint i = 0; i < n; i++)
    last = MAX (last, finish[i]);
  return sim_time_to_seconds (last);
}

static void
assert_hosts (const Cluster *cluster, CollectiveKind kind, double bytes, double expected)
{
  g_autoptr (CollectivePlan) plan = plan_hosts (cluster, kind, &collective_default_options);
  CollectiveCost             cost;
  double                     stepped = run (cluster, &plan, 1, bytes, TRUE);

  collective_plan_cost (plan, bytes, &cost);
  ck_assert_msg (fabs (cost.time - expected) < 1e-9 * expected, "%.12g, expected %.12g", cost.time,
                 expected);
  ck_assert_msg (fabs (stepped - expected) < 1e-6 * expected, "stepped %.12g, expected %.12g",
                 stepped, expected);
}

/*
 * a -> b 4 Gbit/s, 10 ms one way; b -> c 2 and 30; c -> a 1 and 60. An all-reduce makes 4 steps of
 * S / 3. Of 3 GB an item takes 2, 4 and 8 s: all wait for c -> a, 4 x 8 s and its way. Of 3 B the
 * ways count: the four longest in a row are 60 + 10 + 30 + 60 ms. An all-gather makes half of the
 * steps: 30 + 60.
 */
START_TEST (test_three)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_with (&fixture, "dgx-a100", 3, "three.csv", NULL);
  const double        card = cluster_nic_profile (cluster, 0)->latency.value;

  assert_hosts (cluster, COLLECTIVE_ALL_REDUCE, 3e9, 32 + 0.06 + card);
  assert_hosts (cluster, COLLECTIVE_ALL_REDUCE, 3, 0.160 + 4 * card + 2 * 8e-9 + 2e-9 + 4e-9);
  assert_hosts (cluster, COLLECTIVE_ALL_GATHER, 3, 0.090 + 2 * card + 8e-9 + 4e-9);
  assert_hosts (cluster, COLLECTIVE_REDUCE_SCATTER, 3e9, 16 + 0.06 + card);
  fixture_clear (&fixture);
}
END_TEST

/* s_i -> s_i+1: (1 + i) Gbit/s and 5 (1 + i) ms. 14 steps; twice around but 5 and 10 ms. */
START_TEST (test_eight)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_with (&fixture, "dgx-a100", 8, "eight.csv", NULL);
  const double        card = cluster_nic_profile (cluster, 0)->latency.value;
  double              small = 0;

  for (guint i = 0; i < 8; i++)
    small += (i < 2 ? 1 : 2) / (GBIT * (1 + i)); /* S / 8 = 1 B */
  assert_hosts (cluster, COLLECTIVE_ALL_REDUCE, 8e9, 14 * 8 + 0.005 + card);
  assert_hosts (cluster, COLLECTIVE_ALL_REDUCE, 8, 0.345 + 14 * card + small);
  fixture_clear (&fixture);
}
END_TEST

/* Two sites, 0.5 Gbit/s back: S over it, in two steps; TCP's limit where that is less. */
START_TEST (test_two)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_with (&fixture, "dgx-a100", 2, "two.csv", NULL);
  const double        card = cluster_nic_profile (cluster, 0)->latency.value;
  WanLink             link;

  cluster_wan_between (cluster, 0, 1, &link);
  ck_assert (link.flow < 62.5e6); /* 2.2 MB/s, by its loss */
  assert_hosts (cluster, COLLECTIVE_ALL_REDUCE, 1e9, 1e9 / link.flow + 0.04 + card);
  fixture_clear (&fixture);
  g_clear_pointer (&cluster, cluster_free);
  cluster = cluster_with (&fixture, "dgx-a100", 2, "two.csv", NULL);
  g_clear_pointer (&cluster, cluster_free);
  fixture.options.wan_streams = 64; /* 143 MB/s: more than either link */
  cluster = fixture_cluster (&fixture);
  assert_hosts (cluster, COLLECTIVE_ALL_REDUCE, 1e9, 1e9 / (GBIT / 2) + 0.04 + card);
  fixture_clear (&fixture);
}
END_TEST

/* Ring i: GPU i of either node. */
static void
plan_locals (const Cluster *cluster, CollectivePlan **plans)
{
  CollectiveOptions options = collective_default_options;

  options.transport = TRANSPORT_HOST;
  for (guint i = 0; i < 8; i++)
    {
      const guint32 ranks[] = { i, 8 + i };

      plans[i] = collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, 2, &options);
    }
}

/*
 * Eight rings of the local ranks share the link of 0.5 Gbit/s from b to a: 8 S over it. A window
 * that lets each have a twentieth of it holds all of them to that, whoever else there is. With one
 * card of 10 Gbit/s a node and wide links, they share the card.
 */
START_TEST (test_shared)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_with (&fixture, "dgx-a100", 2, "two.csv", NULL);
  CollectivePlan     *plans[8];
  const double        card = cluster_nic_profile (cluster, 0)->latency.value;
  struct
  {
    gint64 streams;
    double window, expected;
  } cases[] = { { 1000, 0, 8 * 1e8 / 62.5e6 }, { 1, 0.08 * 62.5e6 / 40, 40 * 1e8 / 62.5e6 } };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_clear_pointer (&cluster, cluster_free);
      fixture.options.wan_streams = cases[i].streams;
      fixture.options.wan_window = cases[i].window;
      cluster = fixture_cluster (&fixture);
      plan_locals (cluster, plans);
      for (guint steps = 0; steps < 2; steps++)
        {
          const double took = run (cluster, plans, 8, 1e8, steps > 0);

          ck_assert_msg (fabs (took / (cases[i].expected + 0.04 + card) - 1) < 1e-3, "%u: %g", i,
                         took);
        }
      for (guint k = 0; k < 8; k++)
        collective_plan_free (plans[k]);
    }
  fixture_clear (&fixture);
}
END_TEST

/*
 * Two ranks whose int8 blocks of 2048 take 1 + 4 / 2048 B an element on the wire: k = 4 / that of
 * kept bytes a byte of S. Each quantises all (k + 1), adds half (1 + 2 k) / 2 and decodes half (1 +
 * k) / 2; an edge of S reads and writes S in either memory. dgx-a100 has two sockets.
 */
START_TEST (test_codec)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_with (&fixture, "dgx-a100", 2, "three.csv", "b:1,c:1");
  CollectiveOptions   options = collective_default_options;
  const double        k = 4 / (1 + 4.0 / 2048), work = (k + 1) + (1 + 2 * k) / 2 + (1 + k) / 2;
  const double        memory = cluster_node_profile (cluster, 0)->dram_bandwidth.value;
  const guint         socket = cluster_socket_of_gpu (cluster, 0);
  CollectiveCost      cost, plain;

  options.codec = codec_find ("int8-block");
  g_autoptr (CollectivePlan) plan = plan_hosts (cluster, COLLECTIVE_ALL_REDUCE, &options);
  g_autoptr (CollectivePlan) other =
      plan_hosts (cluster, COLLECTIVE_ALL_REDUCE, &collective_default_options);

  collective_plan_cost (plan, 1e9, &cost);
  collective_plan_cost (other, 1e9, &plain);
  for (guint i = 0; i < cost.n_loads; i++)
    if (cost.loads[i].resource == cluster_node_resource (cluster, 0, RESOURCE_DRAM, socket))
      ck_assert_double_eq_tol (cost.loads[i].payload, 2 + work / 2, 1e-4);
  ck_assert_double_eq_tol (cost.time, plain.time, 1e-9); /* the wire is slower: it hides the work */
  g_clear_pointer (&plan, collective_plan_free);
  g_clear_pointer (&other, collective_plan_free);
  fixture_clear (&fixture);
  g_clear_pointer (&cluster, cluster_free);

  fixture_init (&fixture, "dgx-a100", 2); /* at one place the memory is slower than the card */
  cluster = fixture_cluster (&fixture);
  plan = plan_hosts (cluster, COLLECTIVE_ALL_REDUCE, &options);
  collective_plan_cost (plan, 1e9, &cost);
  ck_assert_double_eq_tol (cost.time - cost.latency, 1e9 * (2 + work / 2) / memory, 1e-6);
  fixture_clear (&fixture);
}
END_TEST

/*
 * 600 edges of 1 s and a way of 0.1 s, but every 200th: 2, 3 and 4 s, and 5, 6 and 7 s of way. 1198
 * steps stay on the slowest: 1198 x 4 + 7 s. Where no edge takes time, the path is 1198 edges long:
 * twice around but for two of 0.1 s.
 */
START_TEST (test_long_ring)
{
  const guint           n = 600;
  g_autofree StepClass *ring = g_new0 (StepClass, n);

  for (guint i = 0; i < n; i++)
    ring[i] = i % 200 == 0 ? (StepClass){ 2 + i / 200, 5 + i / 200 } : (StepClass){ 1, 0.1 };
  assert_near (step_ring_unlike (ring, n, 2 * (n - 1)), 1198 * 4 + 7.0);
  for (guint i = 0; i < n; i++)
    ring[i].item = 0;
  assert_near (step_ring_unlike (ring, n, 2 * (n - 1)), 2 * (5 + 6 + 7) + 1192 * 0.1);
}
END_TEST

/* Random rings, against every run of theirs. */
START_TEST (test_unlike_rings)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (17 + (guint32) _i);
  const guint       n = (guint) g_rand_int_range (rand, 2, 30), steps = 2 * (n - 1);
  StepClass         ring[30];
  double            most = 0;

  for (guint i = 0; i < n; i++)
    ring[i] = i > 0 && g_rand_boolean (rand)
                  ? ring[i - 1]
                  : (StepClass){ g_rand_int_range (rand, 0, 9), g_rand_int_range (rand, 0, 9) };
  for (guint first = 0; first < n; first++)
    for (guint k = 1; k <= steps; k++)
      {
        double sum = 0, slowest = 0;

        for (guint i = first; i < first + k; i++)
          {
            sum += ring[i % n].item + ring[i % n].hop;
            slowest = MAX (slowest, ring[i % n].item);
          }
        most = MAX (most, (steps - k) * slowest + sum);
      }
  assert_near (step_ring_unlike (ring, n, steps), most);
}
END_TEST

/* ---- order ----------------------------------------------------------------------------------- */

static gboolean
next_permutation (guint *order, guint n)
{
  guint i = n - 1, j = n - 1;

  while (i > 1 && order[i - 1] >= order[i])
    i--;
  if (i <= 1) /* the first stays */
    return FALSE;
  while (order[j] <= order[i - 1])
    j--;
  const guint kept = order[i - 1];
  order[i - 1] = order[j];
  order[j] = kept;
  for (guint a = i, b = n - 1; a < b; a++, b--)
    {
      const guint swapped = order[a];
      order[a] = order[b];
      order[b] = swapped;
    }
  return TRUE;
}

static SiteEdge
worth_of (const SiteEdge *edges, guint n, const guint *order)
{
  SiteEdge worth = { INFINITY, 0 };

  for (guint i = 0; i < n; i++)
    {
      worth.rate = MIN (worth.rate, edges[order[i] * n + order[(i + 1) % n]].rate);
      worth.rtt += edges[order[i] * n + order[(i + 1) % n]].rtt;
    }
  return worth;
}

static SiteEdge *
random_edges (GRand *rand, guint n)
{
  SiteEdge *edges = g_new (SiteEdge, (gsize) n * n);

  for (guint i = 0; i < n * n; i++)
    edges[i] = (SiteEdge){ g_rand_int_range (rand, 1, 12), g_rand_int_range (rand, 1, 100) };
  return edges;
}

/* All orders that begin with 0: no slowest edge is faster, no equal one has shorter round trips. */
START_TEST (test_order)
{
  g_autoptr (GRand)    rand = g_rand_new_with_seed (171 + (guint32) _i);
  const guint          n = 1 + (guint) _i % 8;
  g_autofree SiteEdge *edges = random_edges (rand, n);
  g_autofree guint    *found = g_new (guint, n), *order = g_new (guint, n);
  SiteEdge             best = { 0, 0 };

  const double rate = ring_order_sites (edges, n, found);
  for (guint i = 0; i < n; i++)
    order[i] = i;
  do
    {
      const SiteEdge one = worth_of (edges, n, order);

      if (one.rate > best.rate || (one.rate == best.rate && one.rtt < best.rtt))
        best = one;
    }
  while (next_permutation (order, n));
  ck_assert_uint_eq (found[0], 0);
  ck_assert_double_eq (rate, best.rate);
  ck_assert_double_eq (worth_of (edges, n, found).rate, best.rate);
  ck_assert_double_eq (worth_of (edges, n, found).rtt, best.rtt);
}
END_TEST

/* More sites than are searched exactly: an order of all of them, better than that of the ranks. */
START_TEST (test_order_of_many)
{
  g_autoptr (GRand)    rand = g_rand_new_with_seed (4711);
  const guint          n = 40;
  g_autofree SiteEdge *edges = random_edges (rand, n);
  guint                found[40], ranks[40];
  guint64              seen = 0;
  SiteEdge             before, after;

  ring_order_sites (edges, n, found);
  for (guint i = 0; i < n; i++)
    {
      ranks[i] = i;
      seen |= G_GUINT64_CONSTANT (1) << found[i];
    }
  ck_assert_uint_eq (seen, (G_GUINT64_CONSTANT (1) << n) - 1);
  before = worth_of (edges, n, ranks);
  after = worth_of (edges, n, found);
  ck_assert (after.rate > before.rate);
}
END_TEST

/*
 * Ranks of s1 s0 s1 s7 s3 s0 s3 s7, whose links are all of 3 Gbit/s but s7 -> s0, 8, and s0 -> s1,
 * 1. As they come, the ring passes s0 -> s1; at best it does not, and visits a site once.
 */
START_TEST (test_ordered_ranks)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster =
      cluster_with (&fixture, "dgx-a100", 8, "eight.csv", "s1:2,s3:2,s0:2,s7:2");
  const guint32     ranks[] = { 0, 32, 8, 48, 16, 40, 24, 56 };
  CollectiveOptions options = collective_default_options;
  CollectiveCost    cost;
  guint32           ordered[8];

  ring_order_ranks (cluster, ranks, 8, ordered);
  ck_assert_uint_eq (ordered[0], 0);
  for (guint i = 0; i < 8; i += 2) /* both of a site */
    ck_assert_uint_eq (ordered[i] + 8, ordered[i + 1]);
  options.transport = TRANSPORT_HOST;
  options.ring_order = RING_ORDER_BEST;
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, 8, &options);
  collective_plan_cost (plan, 1e10, &cost);
  ck_assert_double_eq_tol (1e10 * 14 / 8 / (cost.time - cost.latency), 3 * GBIT, 1);
  options.ring_wish = RING_WISH_RANKS;
  g_autoptr (CollectivePlan) plain =
      collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, 8, &options);
  collective_plan_cost (plain, 1e10, &cost);
  ck_assert_double_eq_tol (1e10 * 14 / 8 / (cost.time - cost.latency), GBIT, 1);
  fixture_clear (&fixture);
}
END_TEST

/* ---- the GPUs' library ----------------------------------------------------------------------- */

/* Step by step within 3 % from 64 MiB on, 15 % below; PAT from there on only (docs/sites.md). */
START_TEST (test_library)
{
  static const CollectiveKind kinds[] = { COLLECTIVE_ALL_REDUCE,     COLLECTIVE_ALL_GATHER,
                                          COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_BROADCAST,
                                          COLLECTIVE_ALL_TO_ALL,     COLLECTIVE_SEND_RECV };
  static const double         sizes[] = { 1 << 16, 1 << 20, 1 << 24, 1 << 27, 1 << 30 };
  Fixture                     fixture;
  g_autoptr (Cluster)         cluster = cluster_with (&fixture, "dgx-a100", 8, "three.csv", NULL);

  for (guint case_ = 0; case_ < 4 * G_N_ELEMENTS (kinds); case_++)
    {
      const CollectiveKind kind = kinds[case_ / 4];
      CollectiveOptions    options = collective_default_options;
      g_autofree guint32  *all = fixture_all (cluster);
      const guint          each = case_ % 2 == 0 ? 8 : 1, n = 8 * each;

      for (guint i = 0; i < n; i++)
        all[i] = each == 8 ? i : 8 * i;
      if (case_ % 4 >= 2)
        options.algorithm = ALGORITHM_RING;
      g_autoptr (CollectivePlan) plan = collective_plan_new (cluster, kind, all, n, &options);
      for (guint s = 0; s < G_N_ELEMENTS (sizes); s++)
        {
          const double   fluid = run (cluster, &plan, 1, sizes[s], FALSE);
          const double   stepped = run (cluster, &plan, 1, sizes[s], TRUE);
          const double   bound = sizes[s] >= 1 << 26 ? 0.03 : 0.15;
          CollectiveCost cost;

          collective_plan_cost (plan, sizes[s], &cost);
          ck_assert_msg (fabs (fluid / stepped - 1) <= bound
                             || (cost.algorithm == ALGORITHM_PAT && sizes[s] < 1 << 26),
                         "case %u, %g B: %g, stepped %g", case_, sizes[s], fluid, stepped);
          ck_assert_msg (collective_plan_time (plan, sizes[s]) <= fluid * (1 + 1e-9),
                         "case %u, %g B: analytic above fluid", case_, sizes[s]);
        }
    }
  fixture_clear (&fixture);
}
END_TEST

/*
 * One GPU a node, ring: each edge passes 14 / 8 S over one flow a channel. With a window of 20 kB a
 * round trip of 20 ms lets through 1 MB/s, of 120 ms a sixth of it a connection: the channels
 * together three times as many of these on c -> a.
 */
START_TEST (test_library_window)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = cluster_with (&fixture, "dgx-a100", 3, "three.csv", NULL);
  const guint32       ranks[] = { 0, 8, 16 };
  CollectiveOptions   options = collective_default_options;
  CollectiveCost      cost;

  g_clear_pointer (&cluster, cluster_free);
  fixture.options.wan_window = 20e3;
  fixture.options.wan_streams = 3;
  cluster = fixture_cluster (&fixture);
  options.algorithm = ALGORITHM_RING;
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, 3, &options);
  collective_plan_cost (plan, 1e9, &cost);
  ck_assert_double_eq_tol (cost.rate_cap, cost.channels * 3 * (20e3 / 0.12) / (4.0 / 3), 1);
  fixture_clear (&fixture);
}
END_TEST

/*
 * The same with three GPUs a node, 16 / 9 S an edge, and one to six cards: channels do not divide
 * by them, and there are as many flows as channels whatever the cards.
 */
START_TEST (test_library_cards)
{
  const char *root = g_getenv ("SHARDSIM_SOURCE_ROOT");

  for (guint cards = 1; cards <= 6; cards++)
    {
      Fixture             fixture;
      g_autoptr (Cluster) cluster = NULL;
      CollectiveOptions   options = collective_default_options;
      g_autofree guint32 *all = NULL;
      CollectiveCost      cost;

      fixture_init (&fixture, NULL, 3);
      fixture.options.sites = g_build_filename (root, "tests/hardware/sites/three.csv", NULL);
      fixture.options.gpu = g_strdup ("a40-48");
      fixture.options.intra = g_strdup ("nvlink-pairs");
      fixture.options.nic = g_strdup ("ib-edr-100");
      fixture.options.gpus_per_node = 3;
      fixture.options.nics = cards;
      fixture.options.wan_window = 20e3;
      cluster = fixture_cluster (&fixture);
      options.algorithm = ALGORITHM_RING;
      options.channels = 7;
      all = fixture_all (cluster);
      g_autoptr (CollectivePlan) plan =
          collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, all, 9, &options);
      collective_plan_cost (plan, 1e9, &cost);
      ck_assert_uint_eq (cost.channels, 7);
      ck_assert_double_eq_tol (cost.rate_cap, 7 * (20e3 / 0.12) / (16.0 / 9), 1);
      fixture_clear (&fixture);
    }
}
END_TEST

SUITE_MAIN (site_rings)
{
  Suite *suite = suite_create ("site rings");
  TCase *tcase = tcase_create ("sites");

  tcase_add_test (tcase, test_three);
  tcase_add_test (tcase, test_eight);
  tcase_add_test (tcase, test_two);
  tcase_add_test (tcase, test_shared);
  tcase_add_test (tcase, test_codec);
  tcase_add_test (tcase, test_long_ring);
  tcase_add_loop_test (tcase, test_unlike_rings, 0, 200);
  tcase_add_loop_test (tcase, test_order, 0, 80);
  tcase_add_test (tcase, test_order_of_many);
  tcase_add_test (tcase, test_ordered_ranks);
  tcase_add_test (tcase, test_library);
  tcase_add_test (tcase, test_library_window);
  tcase_add_test (tcase, test_library_cards);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
