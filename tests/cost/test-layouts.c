/*
 * Asserts what trees, NVLS, PAT, CollNet and all pairs put on links, by arithmetic done by hand;
 * that the two trees are trees that share their work; what NCCL's rule chooses and what is in its
 * way; that channels, fill and wire overheads follow their formulas. Not asserted: agreement with
 * measurements.
 */
#include "../suite.h"
#include "cost/collective/layout/trees-private.h"
#include "cost/collective/time/time-private.h"
#include "fixture.h"

#include <math.h>
#include <stdlib.h>

/* ---- trees ----------------------------------------------------------------------------------- */

/*
 * Each tree of N nodes has one root, reaches it from everywhere in a step a bit of N - 1, and gives
 * no node more than 2 children; inner nodes of one are leaves of the other, but for one where N is
 * odd.
 */
START_TEST (test_trees_are_trees)
{
  guint             n = (guint) _i;
  g_autofree guint *children = g_new0 (guint, 2 * n);
  guint             in_both = 0;

  for (guint tree = 0; tree < 2; tree++)
    {
      guint roots = 0;

      for (guint node = 0; node < n; node++)
        {
          guint parent = tree_parent (tree, node, n), steps = 0;

          roots += parent == n;
          if (parent < n)
            children[tree * n + parent]++;
          for (guint at = node; at < n && steps <= n; steps++)
            at = tree_parent (tree, at, n);
          ck_assert_msg (steps <= g_bit_storage (n - 1) + 1,
                         "tree %u of %u nodes is too deep at %u", tree, n, node);
        }
      ck_assert_uint_eq (roots, 1);
    }
  for (guint node = 0; node < n; node++)
    {
      ck_assert_uint_le (children[node], 2);
      ck_assert_uint_le (children[n + node], 2);
      in_both += children[node] > 0 && children[n + node] > 0;
    }
  ck_assert_uint_eq (in_both, n % 2);
}
END_TEST

/*
 * Two nodes of 8 H100, 8 cards: each is the root of one tree, so each card carries 1/8 of S each
 * way, not 2 (n-1)/n of it. Chains: every edge S / 8 up and down, 7 edges a lane.
 */
START_TEST (test_tree_two_nodes)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              low, high;

  fixture_init (&fixture, "dgx-h100", 2);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE);
  ck_assert_int_eq (plan->algorithm, ALGORITHM_TREE);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NIC_TX, &low, &high), 16);
  assert_near (low, 1.0 / 8);
  assert_near (high, 1.0 / 8);
  assert_near (plan_sum (plan, cluster, RESOURCE_NIC_RX, 0), 1);
  assert_near (plan_sum (plan, cluster, RESOURCE_NVLINK_OUT, 1), 2 * 7);
  assert_near (plan_sum (plan, cluster, RESOURCE_NVLINK_IN, 1), 2 * 7);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * Two ranks have trees as well: over the network each is the root of one, so each sends S; in a
 * node they are a chain of one edge, S up and S down.
 */
START_TEST (test_tree_of_two)
{
  for (guint nodes = 1; nodes <= 2; nodes++)
    {
      const ResourceKind  kind = nodes == 2 ? RESOURCE_NIC_TX : RESOURCE_NVLINK_OUT;
      Fixture             fixture;
      g_autoptr (Cluster) cluster = NULL;
      g_autoptr (Laid)    plan = NULL;

      fixture_init (&fixture, "dgx-h100", nodes);
      fixture.options.gpus_per_node = 2 / nodes;
      cluster = fixture_cluster (&fixture);
      plan = fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE);
      ck_assert_int_eq (plan->algorithm, ALGORITHM_TREE);
      assert_near (plan_sum (plan, cluster, kind, G_MAXUINT32), 2);
      if (nodes == 2)
        assert_near (plan_sum (plan, cluster, kind, 0), 1);
      g_clear_pointer (&cluster, cluster_free);
      fixture_clear (&fixture);
    }
}
END_TEST

/* N nodes: N - 1 edges a tree and direction carry S/2 each: 2 (N-1) S, whoever is the parent. */
START_TEST (test_tree_totals)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  guint               nodes = (guint) _i;
  double              sent = 0;

  fixture_init (&fixture, "dgx-a100", nodes);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE);
  for (guint node = 0; node < nodes; node++)
    {
      double out = plan_sum (plan, cluster, RESOURCE_NIC_TX, node);

      ck_assert_msg (out <= 2 + 1e-9, "node %u of %u sends %g S", node, nodes, out);
      assert_near (out, plan_sum (plan, cluster, RESOURCE_NIC_RX, node)); /* up is down */
      sent += out;
    }
  assert_near (sent, 2 * (nodes - 1.0));
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* ---- the switch ------------------------------------------------------------------------------ */

/*
 * 8 GPUs: an all-reduce reads S from each and writes its eighth, and the other way round; a
 * reduce-scatter and an all-gather are its halves.
 */
START_TEST (test_nvls)
{
  static const struct
  {
    CollectiveKind kind;
    double         out, in;
  } cases[] = { { COLLECTIVE_ALL_REDUCE, 1.125, 1.125 },
                { COLLECTIVE_REDUCE_SCATTER, 1, 0.125 },
                { COLLECTIVE_ALL_GATHER, 0.125, 1 } };
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              low, high;

  fixture_init (&fixture, "dgx-h100", 1);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, cases[_i].kind, ALGORITHM_NVLS);
  ck_assert_int_eq (plan->algorithm, ALGORITHM_NVLS);
  plan_range (plan, cluster, RESOURCE_NVLINK_OUT, &low, &high);
  assert_near (low, cases[_i].out);
  assert_near (high, cases[_i].out);
  plan_range (plan, cluster, RESOURCE_NVLINK_IN, &low, &high);
  assert_near (low, cases[_i].in);
  assert_near (high, cases[_i].in);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * NVLSTree on 4 nodes: the ports as on one, the cards as the tree's. CollNet: every node's cards S
 * up and S down.
 */
START_TEST (test_several_nodes)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    tree = NULL;
  g_autoptr (Laid)    collnet = NULL;
  g_autoptr (Laid)    chain = NULL;
  double              low, high;

  fixture_init (&fixture, "dgx-h100", 4);
  cluster = fixture_cluster (&fixture);
  tree = fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE);
  plan_range (tree, cluster, RESOURCE_NVLINK_OUT, &low, &high);
  assert_near (low, 1.125);
  assert_near (plan_sum (tree, cluster, RESOURCE_NIC_TX, G_MAXUINT32), 2 * 3);
  collnet = fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_DIRECT);
  plan_range (collnet, cluster, RESOURCE_NIC_TX, &low, &high);
  assert_near (low, 1.0 / 8);
  assert_near (high, 1.0 / 8);
  plan_range (collnet, cluster, RESOURCE_NVLINK_OUT, &low, &high);
  assert_near (low, 2 * 7.0 / 8); /* 7 parts to the others' heads, and the own part back to 7 */
  assert_near (high, 2 * 7.0 / 8);
  chain = fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_CHAIN);
  assert_near (plan_sum (chain, cluster, RESOURCE_NVLINK_OUT, 2), 2 * 7);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* One GPU of each of 6 nodes: distances 4, 2, 1 carry 1, 1 and 3 sixths. */
START_TEST (test_pat)
{
  static const guint32 ranks[] = { 0, 8, 16, 24, 32, 40 };
  Fixture              fixture;
  g_autoptr (Cluster)  cluster = NULL;
  g_autoptr (Laid)     plan = NULL;

  fixture_init (&fixture, "dgx-h100", 6);
  cluster = fixture_cluster (&fixture);
  plan = laid_new (cluster, COLLECTIVE_ALL_GATHER, ranks, 6, ALGORITHM_PAT);
  ck_assert_int_eq (plan->algorithm, ALGORITHM_PAT);
  for (guint node = 0; node < 6; node++)
    {
      assert_near (plan_sum (plan, cluster, RESOURCE_NIC_TX, node), 5.0 / 6);
      assert_near (plan_sum (plan, cluster, RESOURCE_NIC_RX, node), 5.0 / 6);
    }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* ---- the choice ------------------------------------------------------------------------------ */

static CollectiveCost
cost_of (const Cluster *cluster, CollectiveKind kind, double bytes,
         const CollectiveOptions *options)
{
  g_autofree guint32        *ranks = fixture_all (cluster);
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, kind, ranks, cluster_n_gpus (cluster), options);
  CollectiveCost cost;

  collective_plan_cost (plan, bytes, &cost);
  cost.loads = NULL;
  return cost;
}

/*
 * 2 x 8 H100 over NDR: small all-reduces by trees under LL, then LL128, large ones by NVLSTree;
 * gathers stay rings (NCCL's tables, worked with a pocket calculator in the comment's terms: 25 us
 * + S / 11 GB/s against 48 us + S / 88 GB/s meet near 256 KiB).
 */
START_TEST (test_choice)
{
  static const struct
  {
    CollectiveKind      kind;
    double              bytes;
    CollectiveAlgorithm algorithm;
    CollectiveProtocol  protocol;
  } cases[] = {
    { COLLECTIVE_ALL_REDUCE, 64 << 10, ALGORITHM_TREE, PROTOCOL_LL },
    { COLLECTIVE_ALL_REDUCE, 1 << 20, ALGORITHM_TREE, PROTOCOL_LL128 },
    { COLLECTIVE_ALL_REDUCE, 1 << 30, ALGORITHM_NVLS_TREE, PROTOCOL_SIMPLE },
    { COLLECTIVE_ALL_GATHER, 64 << 10, ALGORITHM_RING, PROTOCOL_LL },
    { COLLECTIVE_ALL_GATHER, 16 << 20, ALGORITHM_RING, PROTOCOL_LL128 },
    { COLLECTIVE_REDUCE_SCATTER, 1 << 30, ALGORITHM_RING, PROTOCOL_SIMPLE },
    { COLLECTIVE_ALL_TO_ALL, 1 << 20, ALGORITHM_PAIRWISE, PROTOCOL_SIMPLE },
  };
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveCost      cost;

  fixture_init (&fixture, "dgx-h100", 2);
  cluster = fixture_cluster (&fixture);
  cost = cost_of (cluster, cases[_i].kind, cases[_i].bytes, NULL);
  ck_assert_str_eq (collective_algorithm_name (cost.algorithm),
                    collective_algorithm_name (cases[_i].algorithm));
  ck_assert_str_eq (collective_protocol_name (cost.protocol),
                    collective_protocol_name (cases[_i].protocol));
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * LL128 goes between nodes only where cards hang near their GPUs: one switch (dgx-a100) or none
 * (perlmutter); by parts an NVSwitch board has such switches, 4 A100 joined all to all have not,
 * 4 H100 have. Inside a node nothing changes.
 */
START_TEST (test_near_cards)
{
  static const struct
  {
    const char *node, *gpu, *intra; /* node NULL: by parts */
    guint       nodes, gpus;
    gboolean    near;
  } cases[] = {
    { "dgx-a100", NULL, NULL, 4, 8, TRUE },
    { "perlmutter", NULL, NULL, 4, 4, FALSE },
    { "perlmutter", NULL, NULL, 1, 4, TRUE },
    { NULL, "h100-sxm-80", "nvlink4-switch", 4, 8, TRUE },
    { NULL, "a100-sxm-64", "nvlink3-mesh", 4, 4, FALSE },
    { NULL, "h100-sxm-64", "nvlink4-mesh", 4, 4, TRUE },
    { NULL, "h100-sxm-64", "nvlink4-mesh", 1, 4, TRUE },
  };
  CollectiveOptions   options = collective_default_options;
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveCost      cost;

  fixture_init (&fixture, cases[_i].node, cases[_i].nodes);
  if (cases[_i].node == NULL)
    {
      fixture.options.gpus_per_node = cases[_i].gpus;
      fixture.options.gpu = g_strdup (cases[_i].gpu);
      fixture.options.intra = g_strdup (cases[_i].intra);
      fixture.options.nics = cases[_i].gpus;
      fixture.options.nic = g_strdup ("ib-ndr-200");
    }
  cluster = fixture_cluster (&fixture);
  options.algorithm = ALGORITHM_RING;
  options.protocol = PROTOCOL_LL128;
  cost = cost_of (cluster, COLLECTIVE_ALL_GATHER, 4 << 20, &options);
  ck_assert_int_eq (cost.protocol == PROTOCOL_LL128, cases[_i].near);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * Trees under LL and LL128 hand the network whole messages (NVIDIA/nccl src/transport/net.cc). The
 * first takes the card on every stage, 4 levels less 2, of which the slowest link's time has 4 (on
 * two nodes both). 8 channels; each tree has half of the data, a card a quarter of that. LL: 32 KiB
 * a channel at most, two bytes on the wire each. LL128: 576 000 bytes, halved while there are too
 * few (src/enqueue.cc); by hand for 4 nodes of 4, 3.4 steps: 1 MiB is none of them, below 54, then
 * 7 of 18 000, where 32 KiB are reached; 8 MiB are 14 of 72 000, above 13.6. 64 nodes of 4, 7.4
 * steps: 8 MiB are 58 of 18 000. Within nodes lines are passed on one by one: nothing there.
 */
START_TEST (test_line_fill)
{
  static const struct
  {
    guint              nodes;
    CollectiveProtocol protocol;
    double             bytes, message, stages, wire;
  } cases[] = {
    { 1, PROTOCOL_LL, 128 << 10, 16 << 10, 0, 2 },
    { 2, PROTOCOL_LL, 128 << 10, 16 << 10, 0, 2 },
    { 4, PROTOCOL_LL, 128 << 10, 16 << 10, 2, 2 },
    { 4, PROTOCOL_LL, 1 << 20, 32 << 10, 2, 2 },
    { 64, PROTOCOL_LL, 4 << 20, 32 << 10, 18, 2 },
    { 4, PROTOCOL_LL128, 1 << 20, 18000, 2, 1 / 0.92 },
    { 4, PROTOCOL_LL128, 8 << 20, 72000, 2, 1 / 0.92 },
    { 64, PROTOCOL_LL128, 8 << 20, 18000, 18, 1 / 0.92 },
  };
  CollectiveOptions      options = collective_default_options;
  Fixture                fixture;
  g_autoptr (Cluster)    cluster = NULL;
  const ClusterResource *card;
  CollectiveCost         least, cost;
  double                 wait = 0;

  fixture_init (&fixture, NULL, cases[_i].nodes);
  fixture.options.gpus_per_node = 4;
  fixture.options.gpu = g_strdup ("h100-sxm-64");
  fixture.options.intra = g_strdup ("nvlink4-mesh");
  fixture.options.nics = 4;
  fixture.options.nic = g_strdup ("ib-ndr-200");
  cluster = fixture_cluster (&fixture);
  options.algorithm = ALGORITHM_TREE;
  options.protocol = cases[_i].protocol;
  least = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 1e-3, &options);
  cost = cost_of (cluster, COLLECTIVE_ALL_REDUCE, cases[_i].bytes, &options);
  if (cases[_i].nodes > 1)
    {
      ck_assert_uint_eq (cost.channels, 8);
      card = cluster_resource (cluster, cluster_node_resource (cluster, 0, RESOURCE_NIC_TX, 0));
      wait = cases[_i].stages * cases[_i].wire * 8 * cases[_i].message / 2 / 4
             / (card->capacity * card->efficiency);
    }
  ck_assert_double_eq_tol (cost.latency - least.latency, wait, 1e-9);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * NCCL's own estimate of what it chooses, us: the formulas of its tuning.cc worked in a program of
 * their own (not this code; Intel's `post`), and by hand for CollNet on 2 x 8 H100, 8 channels of
 * 45 GB/s: direct 2 (3.7 + 7 x 0.4) + 31 us and S / (0.85 / 2 x 360 GB/s), chain 2 x 7 x 2.8 + 30
 * us and S / (360 / 2 GB/s); the tree, Simple, 8.4 + 2 (7 x 4 + 14) us and S / (0.92 x 360 / 2
 * GB/s), times 0.8 at 64 MiB, the 21st size of its row.
 */
START_TEST (test_estimate)
{
  static const struct
  {
    const char         *node;
    guint               nodes, gpus;
    CollectiveKind      kind;
    CollectiveAlgorithm algorithm; /* ALGORITHM_N: what it chooses */
    CollectiveProtocol  protocol;
    double              bytes, us;
  } cases[] = {
    { "dgx-a100", 1, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, PROTOCOL_LL, 1 << 20, 35.9 },
    { "dgx-a100", 1, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, PROTOCOL_LL128, 16 << 20, 173.6 },
    { "dgx-a100", 1, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, PROTOCOL_SIMPLE, 1 << 30, 7885 },
    { "dgx-a100", 1, 8, COLLECTIVE_ALL_GATHER, ALGORITHM_N, PROTOCOL_SIMPLE, 1 << 30, 3947 },
    { "dgx-h100", 1, 2, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, PROTOCOL_SIMPLE, 1 << 30, 2998 },
    { "dgx-b200", 1, 8, COLLECTIVE_ALL_GATHER, ALGORITHM_N, PROTOCOL_SIMPLE, 8.0 * (1 << 30),
      10471 },
    { "dgx-h100", 2, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, PROTOCOL_SIMPLE, 16 << 20, 134.9 },
    { "dgx-h100", 2, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, PROTOCOL_SIMPLE, 8.0 * (1 << 30),
      34959 },
    { "dgx-b200", 2, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_N, PROTOCOL_SIMPLE, 8.0 * (1 << 30),
      21038 },
    { "dgx-b200", 2, 8, COLLECTIVE_ALL_GATHER, ALGORITHM_N, PROTOCOL_SIMPLE, 8.0 * (1 << 30),
      21042 },
    { "dgx-h100", 2, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_DIRECT, PROTOCOL_SIMPLE, 1 << 30,
      7062 },
    { "dgx-h100", 2, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_CHAIN, PROTOCOL_SIMPLE, 1 << 30,
      6034 },
    { "dgx-h100", 2, 8, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, PROTOCOL_SIMPLE, 64 << 20, 598.96 },
  };
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autofree guint32 *ranks = NULL;
  CollectiveOptions   asked = collective_default_options;
  CollectiveChoice    choice;
  CollectiveGraph     graph;
  Members             members;

  fixture_init (&fixture, cases[_i].node, cases[_i].nodes);
  fixture.options.gpus_per_node = cases[_i].gpus;
  cluster = fixture_cluster (&fixture);
  ranks = fixture_all (cluster);
  members_init (&members, cluster, ranks, cluster_n_gpus (cluster));
  collective_graph_init (&graph, cluster, &members, cluster_library (cluster, NULL), NULL);
  asked.algorithm = cases[_i].algorithm;
  if (asked.algorithm != ALGORITHM_N)
    asked.protocol = cases[_i].protocol;
  choice = collective_choose (&graph, cases[_i].kind, cases[_i].bytes, &asked, TRUE);
  ck_assert_int_eq (choice.protocol, cases[_i].protocol);
  ck_assert_msg (fabs (1e6 * choice.seconds / cases[_i].us - 1) < 1e-3,
                 "case %d: %g us, expected %g", _i, 1e6 * choice.seconds, cases[_i].us);
  members_clear (&members);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* Forced: what exists is taken whatever the size, what does not leaves the choice to the rule. */
START_TEST (test_forced)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;
  CollectiveCost      cost;

  fixture_init (&fixture, "dgx-h100", 2);
  cluster = fixture_cluster (&fixture);
  options.algorithm = ALGORITHM_RING;
  options.protocol = PROTOCOL_LL;
  cost = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 1 << 30, &options);
  ck_assert_int_eq (cost.algorithm, ALGORITHM_RING);
  ck_assert_int_eq (cost.protocol, PROTOCOL_LL);
  ck_assert_double_eq (cost.service_scale, 2);
  options.algorithm = ALGORITHM_PAT; /* several ranks a node: there is none */
  options.protocol = PROTOCOL_N;
  cost = cost_of (cluster, COLLECTIVE_ALL_GATHER, 1 << 30, &options);
  ck_assert_int_eq (cost.algorithm, ALGORITHM_RING);
  options.algorithm = ALGORITHM_N;
  options.sharp = TRUE;
  cost = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 4 << 20, &options);
  ck_assert (cost.algorithm == ALGORITHM_COLLNET_DIRECT
             || cost.algorithm == ALGORITHM_COLLNET_CHAIN);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* ---- channels and protocols ------------------------------------------------------------------ */

/*
 * 8 A100: a ring under LL gets a channel for each 512 x 8 x 8 B = 32 KiB, up to 24; Simple one for
 * each 32 KiB, too.
 */
START_TEST (test_channels_follow_size)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;

  fixture_init (&fixture, "dgx-a100", 1);
  cluster = fixture_cluster (&fixture);
  options.algorithm = ALGORITHM_RING;
  options.protocol = PROTOCOL_LL;
  ck_assert_uint_eq (cost_of (cluster, COLLECTIVE_ALL_GATHER, 8, &options).channels, 1);
  ck_assert_uint_eq (cost_of (cluster, COLLECTIVE_ALL_GATHER, 64 << 10, &options).channels, 2);
  ck_assert_uint_eq (cost_of (cluster, COLLECTIVE_ALL_GATHER, 320 << 10, &options).channels, 10);
  ck_assert_uint_eq (cost_of (cluster, COLLECTIVE_ALL_GATHER, 64 << 20, &options).channels, 24);
  options.protocol = PROTOCOL_SIMPLE;
  ck_assert_uint_eq (cost_of (cluster, COLLECTIVE_ALL_GATHER, 96 << 10, &options).channels, 3);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * One process for 8 GPUs: few bytes take its 8 launches, many start later by a while for each
 * channel.
 */
START_TEST (test_one_process)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;
  CollectiveCost      many, one;

  fixture_init (&fixture, "dgx-a100", 1);
  cluster = fixture_cluster (&fixture);
  many = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 8, &options);
  options.single_process = TRUE;
  one = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 8, &options);
  ck_assert_double_lt (many.time, 30e-6);
  assert_near (one.time, 8 * 4.1e-6); /* the host's floor: 8 launches */
  one = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 1 << 30, &options);
  options.single_process = FALSE;
  many = cost_of (cluster, COLLECTIVE_ALL_REDUCE, 1 << 30, &options);
  ck_assert_double_eq_tol (one.time - many.time, 24 * 1.5e-6, 1e-12); /* 24 channels start later */
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * The alone time is the roofline of what the cost says, for every kind, algorithm, protocol and
 * size.
 */
START_TEST (test_cost_is_consistent)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autofree guint32 *ranks = NULL;

  fixture_init (&fixture, "dgx-h100", _i / COLLECTIVE_N_KINDS == 0 ? 1 : 3);
  cluster = fixture_cluster (&fixture);
  ranks = fixture_all (cluster);
  for (guint a = 0; a <= ALGORITHM_N; a++)
    for (guint p = 0; p <= PROTOCOL_N; p++)
      {
        CollectiveOptions          options = collective_default_options;
        g_autoptr (CollectivePlan) plan = NULL;

        options.algorithm = (CollectiveAlgorithm) a;
        options.protocol = (CollectiveProtocol) p;
        plan = collective_plan_new (cluster, (CollectiveKind) (_i % COLLECTIVE_N_KINDS), ranks,
                                    cluster_n_gpus (cluster), &options);
        for (double bytes = 1; bytes < 1e11; bytes *= 7)
          {
            CollectiveCost cost;
            double         longest = 0;

            collective_plan_cost (plan, bytes, &cost);
            for (guint i = 0; i < cost.n_loads; i++)
              longest =
                  MAX (longest, bytes * cost.loads[i].service * cost.service_scale
                                    / cluster_resource (cluster, cost.loads[i].resource)->capacity);
            if (cost.rate_cap > 0)
              longest = MAX (longest, bytes / cost.rate_cap);
            ck_assert (cost.channels >= 1 && cost.latency > 0 && isfinite (cost.time));
            ck_assert_double_eq_tol (cost.time, cost.latency + longest, 1e-12 * cost.time + 1e-18);
          }
      }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

static Suite *
layouts_suite (void)
{
  Suite *suite = suite_create ("layouts");
  TCase *bytes = tcase_create ("bytes"), *choice = tcase_create ("choice");

  tcase_add_loop_test (bytes, test_trees_are_trees, 2, 200);
  tcase_add_test (bytes, test_tree_two_nodes);
  tcase_add_test (bytes, test_tree_of_two);
  tcase_add_loop_test (bytes, test_tree_totals, 2, 10);
  tcase_add_loop_test (bytes, test_nvls, 0, 3);
  tcase_add_test (bytes, test_several_nodes);
  tcase_add_test (bytes, test_pat);
  tcase_add_loop_test (choice, test_choice, 0, 7);
  tcase_add_loop_test (choice, test_estimate, 0, 13);
  tcase_add_loop_test (choice, test_near_cards, 0, 7);
  tcase_add_loop_test (choice, test_line_fill, 0, 8);
  tcase_add_test (choice, test_forced);
  tcase_add_test (choice, test_channels_follow_size);
  tcase_add_test (choice, test_one_process);
  tcase_add_loop_test (choice, test_cost_is_consistent, 0, 2 * COLLECTIVE_N_KINDS);
  suite_add_tcase (suite, bytes);
  suite_add_tcase (suite, choice);
  return suite;
}

SUITE_MAIN (layouts)
{
  return suite_run (layouts_suite ());
}
