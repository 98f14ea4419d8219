/*
 * Where better hardware or more bytes make a collective slower or faster than they should.
 *
 * Which cards of a node its rings use, where it has more of them than GPUs, and what better ones do
 * to a ring. NCCL's search goes by the rates that cards and slots report, and has its channels at
 * one speed: with two cards of 100 Gbit/s a GPU both are used, whatever packets cost and however
 * slow one of them has become; with two of 200 Gbit/s on PCIe 4 one. Of two that are a little too
 * fast for their slot both are used, at half of its rate.
 */
#include "../suite.h"
#include "fixture.h"

#include "base/file/input-files.h"

typedef struct
{
  guint       gpus, cards;
  const char *gpu, *intra, *nic, *slow;
} Node;

/* Two nodes like NODE, with one figure of a profile another (KEY NULL: none). */
static double
link_seconds (InputFiles *files, const Node *node, const char *kind, const char *id,
              const char *key, double value, guint *n_used)
{
  const FigureChange   change = { .kind = kind, .id = id, .key = key, .value = value };
  const ProfileVariant variant = { .changes = &change, .n_changes = key != NULL };
  Fixture              fixture;
  Cluster             *cluster;
  Laid                *plan;
  double               seconds, low, high;

  fixture_init (&fixture, NULL, 2);
  profile_set_free (fixture.profiles);
  fixture.profiles = profile_set_new_shared (NULL, &variant, files);
  g_free (fixture.options.gpu);
  g_free (fixture.options.intra);
  g_free (fixture.options.nic);
  fixture.options.gpu = g_strdup (node->gpu);
  fixture.options.intra = g_strdup (node->intra);
  fixture.options.nic = g_strdup (node->nic);
  fixture.options.gpus_per_node = node->gpus;
  fixture.options.nics = node->cards;
  fixture.options.slow_nics = g_strdup (node->slow);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  seconds = plan->link_seconds_per_byte;
  *n_used = plan_range (plan, cluster, RESOURCE_NIC_TX, &low, &high) / 2;
  laid_free (plan);
  cluster_free (cluster);
  fixture_clear (&fixture);
  return seconds;
}

START_TEST (test_by_what_is_reported)
{
  const Node edr = { 2, 4, "a40-48", "pcie4", "ib-edr-100", NULL };
  const Node slow = { 2, 4, "a40-48", "pcie4", "ib-edr-100", "1.0:0.5" };
  const Node hdr = { 2, 4, "a40-48", "pcie4", "ib-hdr-200", NULL };
  guint      n;

  for (guint percent = 50; percent <= 100; percent += 10)
    {
      link_seconds (NULL, &edr, "link", "ib-edr-100", "efficiency", percent / 100.0, &n);
      ck_assert_uint_eq (n, 4);
      link_seconds (NULL, &slow, "link", "ib-edr-100", "efficiency", percent / 100.0, &n);
      ck_assert_uint_eq (n, 4);
      link_seconds (NULL, &hdr, "link", "ib-hdr-200", "efficiency", percent / 100.0, &n);
      ck_assert_uint_eq (n, 2);
    }
}
END_TEST

/* PCIe 5 x16 counts as 48 GB/s: two cards of 24, two of 240 Gbit/s at 24 each, or one of 48. */
START_TEST (test_at_one_speed)
{
  static const struct
  {
    double gbit;
    guint  used;
  } rows[] = { { 100, 4 }, { 200, 4 }, { 240, 4 }, { 390, 4 }, { 400, 2 }, { 500, 2 } };
  const Node node = { 2, 4, "h100-sxm-80", "nvlink4-switch", "ib-hdr-200", NULL };

  for (guint i = 0; i < G_N_ELEMENTS (rows); i++)
    {
      guint n;

      link_seconds (NULL, &node, "link", "ib-hdr-200", "bandwidth", rows[i].gbit * 1e9 / 8, &n);
      ck_assert_msg (n == rows[i].used, "%g Gbit/s: %u cards", rows[i].gbit, n);
    }
}
END_TEST

/*
 * A better card or slot, whatever the node: no ring takes longer for it, unless the search then
 * takes another number of cards, which by its list of speeds carry more; what packets cost changes
 * none.
 */
START_TEST (test_property_no_slower)
{
  static const Node parts[] = {
    { 0, 0, "a40-48", "pcie4", "ib-edr-100", NULL },
    { 0, 0, "a40-48", "pcie4", "ib-hdr-200", "1.0:0.5" },
    { 0, 0, "h100-sxm-80", "nvlink4-switch", "ib-edr-100", "0.0:0.8" },
    { 0, 0, "a100-sxm-80", "nvlink3-switch", "ib-hdr-200", NULL },
  };
  static const struct
  {
    const char *kind, *key;
    double      from, to; /* B/s, or a ratio */
  } figures[] = { { "link", "efficiency", 0.5, 1 },
                  { "link", "bandwidth", 5e9, 60e9 },
                  { "gpu", "host_link", 8e9, 63e9 } };
  g_autoptr (InputFiles) files = input_files_new ();
  Node                   node = parts[_i % (int) G_N_ELEMENTS (parts)];

  node.gpus = 1 + (guint) _i / G_N_ELEMENTS (parts);
  for (node.cards = 1; node.cards <= 8; node.cards += 1 + node.cards / 5)
    for (guint f = 0; f < G_N_ELEMENTS (figures); f++)
      {
        const char *id = g_str_equal (figures[f].kind, "gpu") ? node.gpu : node.nic;
        double      before = INFINITY;
        guint       n_before = 0;

        for (guint step = 0; step <= 12; step++)
          {
            const double value =
                figures[f].from * pow (figures[f].to / figures[f].from, step / 12.0);
            guint        n;
            const double seconds =
                link_seconds (files, &node, figures[f].kind, id, figures[f].key, value, &n);

            ck_assert (step == 0 || n == n_before || f > 0); /* not by what packets cost */
            ck_assert_msg (n != n_before || seconds <= before * (1 + 1e-9),
                           "%u %s, %u %s, %s %g: %.6g s/GB, %.6g before", node.gpus, node.gpu,
                           node.cards, node.nic, figures[f].key, value, 1e9 * seconds,
                           1e9 * before);
            before = seconds;
            n_before = n;
          }
      }
}
END_TEST

/* ---- what the library's tables choose late, or early ----------------------------------------- */

static CollectiveCost
cost_of (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks, guint n, double bytes,
         CollectiveAlgorithm algorithm, CollectiveProtocol protocol)
{
  CollectiveOptions options = collective_default_options;
  CollectivePlan   *plan;
  CollectiveCost    cost;

  options.algorithm = algorithm;
  options.protocol = protocol;
  plan = collective_plan_new (cluster, kind, ranks, n, &options);
  collective_plan_cost (plan, bytes, &cost);
  collective_plan_free (plan);
  return cost;
}

/*
 * Two GPUs on two nodes gather 448 KiB under LL and 512 KiB under Simple, which is the faster one
 * for both: more bytes take less.
 */
START_TEST (test_simple_comes_late)
{
  static const guint32 ranks[] = { 0, 8 };
  Fixture              fixture;
  Cluster             *cluster;
  CollectiveCost       less, more, best;

  fixture_init (&fixture, "dgx-h100", 2);
  g_free (fixture.options.nic);
  fixture.options.nic = g_strdup ("ib-hdr-200");
  cluster = fixture_cluster (&fixture);
  less = cost_of (cluster, COLLECTIVE_ALL_GATHER, ranks, 2, 448 << 10, ALGORITHM_N, PROTOCOL_N);
  more = cost_of (cluster, COLLECTIVE_ALL_GATHER, ranks, 2, 512 << 10, ALGORITHM_N, PROTOCOL_N);
  best =
      cost_of (cluster, COLLECTIVE_ALL_GATHER, ranks, 2, 448 << 10, ALGORITHM_N, PROTOCOL_SIMPLE);
  ck_assert_int_eq (less.protocol, PROTOCOL_LL);
  ck_assert_int_eq (more.protocol, PROTOCOL_SIMPLE);
  ck_assert_double_lt (more.time, less.time);
  ck_assert_double_lt (best.time, less.time);
  cluster_free (cluster);
  fixture_clear (&fixture);
}
END_TEST

/* Two nodes of two GPUs, at two sites 80 ms apart, whose card has RATE (B/s). */
static Cluster *
two_sites (Fixture *fixture, double rate)
{
  const FigureChange change = {
    .kind = "link", .id = "tcp-100", .key = "bandwidth", .value = rate
  };
  const ProfileVariant variant = { .changes = &change, .n_changes = 1 };

  fixture_init (fixture, NULL, 2);
  profile_set_free (fixture->profiles);
  fixture->profiles = profile_set_new_shared (NULL, &variant, NULL);
  fixture->options.gpu = g_strdup ("h100-sxm-80");
  fixture->options.intra = g_strdup ("nvlink4-switch");
  fixture->options.nic = g_strdup ("tcp-100");
  fixture->options.gpus_per_node = 2;
  fixture->options.nics = 1;
  fixture->options.sites =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "tests/hardware/sites/two.csv", NULL);
  return fixture_cluster (fixture);
}

/*
 * The tables know cards and no distance between sites: with cards twice as fast an all-reduce of
 * some sizes goes by rings, which cross that distance more often than its tree.
 */
START_TEST (test_ring_comes_early)
{
  static const guint32 ranks[] = { 0, 1, 2, 3 };
  Fixture              fixtures[2];
  Cluster *clusters[] = { two_sites (&fixtures[0], 12.5e9), two_sites (&fixtures[1], 25e9) };
  guint    n = 0;

  for (double bytes = 1 << 14; bytes <= 1 << 22; bytes *= 1.1)
    {
      CollectiveCost cost[2];

      for (guint i = 0; i < 2; i++)
        cost[i] =
            cost_of (clusters[i], COLLECTIVE_ALL_REDUCE, ranks, 4, bytes, ALGORITHM_N, PROTOCOL_N);
      if (cost[0].algorithm == cost[1].algorithm)
        continue;
      ck_assert_int_eq (cost[0].algorithm, ALGORITHM_TREE);
      ck_assert_int_eq (cost[1].algorithm, ALGORITHM_RING);
      ck_assert_double_lt (cost[0].time, cost[1].time);
      n++;
    }
  ck_assert_uint_gt (n, 0);
  for (guint i = 0; i < 2; i++)
    {
      cluster_free (clusters[i]);
      fixture_clear (&fixtures[i]);
    }
}
END_TEST

SUITE_MAIN (better_cards)
{
  Suite *suite = suite_create ("better-cards");
  TCase *tcase = tcase_create ("cards");

  tcase_add_test (tcase, test_by_what_is_reported);
  tcase_add_test (tcase, test_at_one_speed);
  tcase_add_loop_test (tcase, test_property_no_slower, 0, 4 * 4);
  tcase_add_test (tcase, test_simple_comes_late);
  tcase_add_test (tcase, test_ring_comes_early);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
