/*
 * What collectives put on fabrics, by hand: leaves, pods and groups, uplinks that routing chose,
 * and the worst cut of a ring with one slow card.
 */
#include "../suite.h"
#include "fixture.h"

/* Loads and time of KIND over all GPUs, with the options that SETTINGS ("key=value;...") add. */
typedef struct
{
  Fixture  fixture;
  Cluster *cluster;
  Laid    *plan;
} Case;

static void
case_init (Case *self, const char *node, guint nodes, const char *settings, CollectiveKind kind)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_auto (GStrv)       items = g_strsplit (settings, ";", -1);

  fixture_init (&self->fixture, node, nodes);
  for (guint i = 0; items[i] != NULL; i++)
    {
      g_auto (GStrv) pair = g_strsplit (items[i], "=", 2);

      ck_assert (
          option_set_key (cluster_options, &self->fixture.options, pair[0], pair[1], NULL, diags));
    }
  self->cluster = fixture_cluster (&self->fixture);
  self->plan = fixture_plan (self->cluster, kind, ALGORITHM_N);
}

static void
case_clear (Case *self)
{
  laid_free (self->plan);
  cluster_free (self->cluster);
  fixture_clear (&self->fixture);
}

static double
payload_of (const Case *self, const char *name)
{
  for (guint id = 0; id < cluster_n_resources (self->cluster); id++)
    {
      g_autofree char *own = cluster_resource_name (self->cluster, id);

      if (strcmp (own, name) == 0)
        return plan_payload (self->plan, id);
    }
  ck_abort_msg ("no resource '%s'", name);
}

/* The rate of the ring: bytes of S a second through the busiest link. */
static double
rate (const Case *self)
{
  return 1 / self->plan->link_seconds_per_byte;
}

/*
 * Card k of every node under rail k's leaf: rings in node order cross no uplink while a leaf covers
 * the nodes; of two leaves each of the 8 rings leaves each once, with 63/64 / 8.
 */
START_TEST (test_rails_cross_nothing)
{
  Case whole, halves;

  case_init (&whole, "dgx-a100", 8, "fabric=rails;leaf_nodes=8", COLLECTIVE_ALL_GATHER);
  case_init (&halves, "dgx-a100", 8, "fabric=rails;leaf_nodes=4", COLLECTIVE_ALL_GATHER);
  for (guint rail = 0; rail < 8; rail++)
    {
      g_autofree char *one = g_strdup_printf ("leaf%u.up", rail);
      g_autofree char *two = g_strdup_printf ("leaf%u.up", 2 * rail + 1);

      ck_assert_double_eq (payload_of (&whole, one), 0);
      assert_near (payload_of (&halves, two), 63.0 / 64 / 8);
    }
  case_clear (&whole);
  case_clear (&halves);
}
END_TEST

/*
 * dgx-a100: 8 cards of 25 GB/s at 0.94, a GPU and a ring each. 16 nodes under leaves of 4: each
 * leaf is left once by each of the 8 rings, which carry 127/128 / 8 each, so it carries as much as
 * the 8 cards of ONE node, not of four. Oversubscribed 4 times, its uplinks are those of one node:
 * no loss. 16 times: a quarter of them, and the rings run at a quarter.
 */
START_TEST (test_ring_leaves_once)
{
  Case flat, four, sixteen;

  case_init (&flat, "dgx-a100", 16, "leaf_nodes=0", COLLECTIVE_ALL_GATHER);
  case_init (&four, "dgx-a100", 16, "leaf_nodes=4;oversubscription=4", COLLECTIVE_ALL_GATHER);
  case_init (&sixteen, "dgx-a100", 16, "leaf_nodes=4;oversubscription=16", COLLECTIVE_ALL_GATHER);
  assert_near (payload_of (&four, "leaf2.up"), 127.0 / 128);
  assert_near (payload_of (&four, "leaf2.down"), 127.0 / 128);
  assert_near (rate (&flat), 8 * 25e9 * 0.94 * 128 / 127);
  assert_near (rate (&four), rate (&flat));
  assert_near (rate (&sixteen), rate (&flat) / 4);
  case_clear (&flat);
  case_clear (&four);
  case_clear (&sixteen);
}
END_TEST

/* A pod and a group of a dragonfly are left once as well. */
START_TEST (test_ring_leaves_groups_once)
{
  static const char *const settings[] = {
    "fabric=fat-tree;leaf_nodes=2;group_nodes=4;spine_oversubscription=8",
    "fabric=dragonfly;group_nodes=4;taper=0.125",
  };
  Case self;

  case_init (&self, "dgx-a100", 16, settings[_i], COLLECTIVE_REDUCE_SCATTER);
  assert_near (payload_of (&self, "group3.up"), 127.0 / 128);
  assert_near (payload_of (&self, "group0.down"), 127.0 / 128);
  /* 4 nodes of 8 cards, an eighth of them: 4 cards' rate for what 8 cards carry */
  assert_near (rate (&self), 4 * 25e9 * 0.94 * 128 / 127);
  case_clear (&self);
}
END_TEST

/*
 * Every ring carries the same bytes, so one card at half its rate halves the whole collective; on
 * the others' account it would be 7.5 eighths.
 */
START_TEST (test_slow_card)
{
  Case whole, slow, two;

  case_init (&whole, "dgx-a100", 4, "leaf_nodes=0", COLLECTIVE_ALL_REDUCE);
  case_init (&slow, "dgx-a100", 4, "slow_nics=3.0:0.5", COLLECTIVE_ALL_REDUCE);
  case_init (&two, "dgx-a100", 4, "slow_nics=3.0:0.5,1.5:0.25", COLLECTIVE_ALL_REDUCE);
  /* t = max over channels of (2 * 31/32 / 8) / (25e9 * 0.94 * fraction) */
  assert_near (whole.plan->link_seconds_per_byte, 2.0 * 31 / 32 / 8 / (25e9 * 0.94));
  assert_near (slow.plan->link_seconds_per_byte, 2.0 * 31 / 32 / 8 / (25e9 * 0.94 * 0.5));
  assert_near (two.plan->link_seconds_per_byte, 2.0 * 31 / 32 / 8 / (25e9 * 0.94 * 0.25));
  assert_near (payload_of (&slow, "node3.nic0.tx"), payload_of (&slow, "node3.nic1.tx"));
  case_clear (&whole);
  case_clear (&slow);
  case_clear (&two);
}
END_TEST

/*
 * Rings in node order over d-mod-k: ring k goes to card k of the next node, number 8 * node + k, so
 * under leaves of 2 nodes (16 uplinks) it takes uplink 8 * (node mod 2) + k; leaves are entered at
 * an even node, so uplinks 0 to 7 carry a ring each and the others none.
 */
START_TEST (test_ring_d_mod_k)
{
  Case self;

  case_init (&self, "dgx-a100", 8, "leaf_nodes=2;routing=d-mod-k", COLLECTIVE_ALL_GATHER);
  for (guint uplink = 0; uplink < 16; uplink++)
    {
      g_autofree char *name = g_strdup_printf ("leaf1.up%u", uplink);

      if (uplink < 8)
        assert_near (payload_of (&self, name), 63.0 / 64 / 8);
      else
        ck_assert_double_eq (payload_of (&self, name), 0);
    }
  assert_near (rate (&self), 8 * 25e9 * 0.94 * 64 / 63); /* one ring an uplink: no loss */
  case_clear (&self);
}
END_TEST

/*
 * Eight rings out of a leaf on 4 uplinks, each of twice a card's rate: even draws would cost
 * nothing. A ring's two channels are connections of their own, so it is halves that are drawn.
 * Whatever the seed, the sum is that of spraying, and the rate is that of the uplink with most.
 */
START_TEST (test_ring_ecmp)
{
  g_autofree char *settings = g_strdup_printf (
      "leaf_nodes=2;oversubscription=2;routing=ecmp;uplinks=4;routing_seed=%d", _i);
  Case  self;
  guint most = 0;

  case_init (&self, "dgx-a100", 8, settings, COLLECTIVE_ALL_GATHER);
  for (guint leaf = 0; leaf < 4; leaf++)
    {
      double sum = 0;

      for (guint uplink = 0; uplink < 4; uplink++)
        {
          g_autofree char *name = g_strdup_printf ("leaf%u.up%u", leaf, uplink);
          double           halves = payload_of (&self, name) / (63.0 / 64 / 16);

          assert_near (halves, nearbyint (halves));
          most = MAX (most, (guint) nearbyint (halves));
          sum += halves;
        }
      assert_near (sum, 16);
    }
  for (guint i = 0; i < self.plan->n_loads; i++) /* they may meet on the way down as well */
    if (cluster_resource (self.cluster, self.plan->loads[i].resource)->kind == RESOURCE_LEAF_DOWN)
      most = MAX (most, (guint) nearbyint (self.plan->loads[i].payload / (63.0 / 64 / 16)));
  ck_assert_uint_ge (most, 4);
  /* an uplink: 16 cards of a leaf, over 2, on 4 of them */
  assert_near (rate (&self), MIN (1, 4.0 / most) * 8 * 25e9 * 0.94 * 64 / 63);
  case_clear (&self);
}
END_TEST

/* Of two nodes under leaves with more uplinks than there are queue pairs: the least on one. */
static double
least_on_uplinks (gint64 qps, gboolean split, CollectiveKind kind, CollectiveAlgorithm algorithm)
{
  g_autofree char *settings =
      g_strdup_printf ("leaf_nodes=1;routing=ecmp;uplinks=4096;qps=%" G_GINT64_FORMAT, qps);
  g_autofree guint32 *ranks = NULL;
  CollectiveOptions   options = collective_default_options;
  CollectivePlan     *plan;
  CollectiveCost      cost;
  double              least = G_MAXDOUBLE;
  Case                self;

  case_init (&self, "dgx-a100", 2, settings, kind);
  ranks = fixture_all (self.cluster);
  options.algorithm = algorithm;
  options.protocol = PROTOCOL_SIMPLE;
  options.split_data = split;
  plan = collective_plan_new (self.cluster, kind, ranks, 16, &options);
  collective_plan_cost (plan, 1 << 30, &cost);
  for (guint i = 0; i < cost.n_loads; i++)
    if (cluster_resource (self.cluster, cost.loads[i].resource)->kind == RESOURCE_LEAF_UP)
      least = MIN (least, cost.loads[i].payload);
  collective_plan_free (plan);
  case_clear (&self);
  return least;
}

/*
 * dgx-a100 runs 16 channels over 8 cards. A ring: two connections of two cards, which send slices
 * of two of eight steps, so that four of a connection's queue pairs have a message in turn; cut,
 * each message is on all. Of two trees each has a channel a card, and messages of one step, as have
 * the two channels (25 GB/s at 14 each) of an all-to-all's pair, whose messages to one receiver all
 * leave by one card (PXN).
 */
START_TEST (test_queue_pairs)
{
  static const struct
  {
    CollectiveKind      kind;
    CollectiveAlgorithm algorithm;
    double              between; /* two cards, one way, per byte of S */
    gint64              qps;
    guint               in_turn, cut;
  } cases[] = {
    { COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 15.0 / 16 / 8, 1, 2, 2 },
    { COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 15.0 / 16 / 8, 3, 6, 6 },
    { COLLECTIVE_ALL_GATHER, ALGORITHM_RING, 15.0 / 16 / 8, 16, 8, 32 },
    { COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 1.0 / 8, 4, 4, 4 },
    { COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE, 1.0 / 8, 16, 8, 16 },
    { COLLECTIVE_ALL_TO_ALL, ALGORITHM_PAIRWISE, 8.0 / 16, 1, 2, 2 },
    { COLLECTIVE_ALL_TO_ALL, ALGORITHM_PAIRWISE, 8.0 / 16, 32, 16, 64 },
  };
  const gint64 qps = cases[_i].qps;

  assert_near (
      cases[_i].between / least_on_uplinks (qps, FALSE, cases[_i].kind, cases[_i].algorithm),
      (double) cases[_i].in_turn);
  assert_near (
      cases[_i].between / least_on_uplinks (qps, TRUE, cases[_i].kind, cases[_i].algorithm),
      (double) cases[_i].cut);
}
END_TEST

/*
 * The sum over all pairs of what lies between their cards: card k of a node is GPU k's. With PXN
 * (the second half of the cases) a message leaves by the card of its receiver's number. A
 * pair's two channels (25 GB/s at 14 each) split what is hashed.
 */
START_TEST (test_all_to_all)
{
  static const char *const settings[] = {
    "leaf_nodes=2",
    "fabric=fat-tree;leaf_nodes=2;group_nodes=4",
    "fabric=rails;leaf_nodes=2;group_nodes=4",
    "fabric=rails",
    "fabric=dragonfly;group_nodes=2;taper=0.5",
    "leaf_nodes=2;routing=d-mod-k",
    "fabric=rails;leaf_nodes=3;routing=ecmp",
    "fabric=fat-tree;leaf_nodes=1;group_nodes=3;routing=ecmp;routing_seed=3",
    "fabric=dragonfly;group_nodes=2;routing=d-mod-k",
  };
  const guint         n_settings = G_N_ELEMENTS (settings);
  const gboolean      pxn = (guint) _i >= n_settings;
  Case                self;
  guint               n;
  g_autofree guint32 *ranks = NULL;
  g_autofree double  *expected = NULL;

  case_init (&self, "dgx-a100", 6, settings[(guint) _i % n_settings], COLLECTIVE_ALL_TO_ALL);
  n = cluster_n_gpus (self.cluster);
  ranks = fixture_all (self.cluster);
  laid_free (self.plan);
  self.plan = laid_new_with (self.cluster, COLLECTIVE_ALL_TO_ALL, ranks, n, ALGORITHM_N,
                             pxn ? PXN_ON : PXN_OFF);
  expected = g_new0 (double, cluster_n_resources (self.cluster));
  for (guint i = 0; i < n * n; i++)
    if (i / n / 8 != i % n / 8)
      {
        FabricLink links[FABRIC_MAX];
        guint n_links = cluster_route_fabric (self.cluster, i / n / 8, pxn ? i % n % 8 : i / n % 8,
                                              i % n / 8, i % n % 8, 2, links);

        for (guint k = 0; k < n_links; k++)
          expected[links[k].resource] += links[k].share / n;
      }
  for (guint id = 0; id < cluster_n_resources (self.cluster); id++)
    if (cluster_resource (self.cluster, id)->node == G_MAXUINT32)
      ck_assert_double_eq_tol (plan_payload (self.plan, id), expected[id], 1e-12);
  case_clear (&self);
}
END_TEST

/*
 * Six rings on the cube mesh of a DGX-1, four on the dies of four MI250X: each uses every GPU's
 * links once, so each direction of a link carries as many sixths (quarters) as it is in rings, and
 * the rate is that of one link times the rings.
 */
START_TEST (test_graph_rings)
{
  Case self;

  case_init (&self, _i == 0 ? "dgx-1v" : "frontier", 1, "leaf_nodes=0", COLLECTIVE_ALL_GATHER);
  assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NVLINK_PAIR, 0), 8 * 7.0 / 8);
  ck_assert_double_eq (plan_sum (self.plan, self.cluster, RESOURCE_PCIE_UP, 0), 0);
  if (_i == 0) /* six of 25 GB/s at 0.74: all links in use */
    assert_near (rate (&self), 6 * 25e9 * 0.74 * 8 / 7);
  else /* four of 50 GB/s at 0.7 */
    assert_near (rate (&self), 4 * 50e9 * 0.7 * 8 / 7);
  case_clear (&self);
}
END_TEST

/*
 * The chains of a tree follow the same cycles: 7 edges both ways, from each GPU on, are 14 S over
 * the 48 directed links of a DGX-1, evenly.
 */
START_TEST (test_graph_tree)
{
  Case             self;
  g_autoptr (Laid) tree = NULL;

  case_init (&self, "dgx-1v", 1, "leaf_nodes=0", COLLECTIVE_ALL_REDUCE);
  tree = fixture_plan (self.cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE);
  ck_assert_int_eq (tree->algorithm, ALGORITHM_TREE);
  assert_near (plan_sum (tree, self.cluster, RESOURCE_NVLINK_PAIR, 0), 14);
  assert_near (tree->link_seconds_per_byte, 14.0 / 48 / (25e9 * 0.74));
  case_clear (&self);
}
END_TEST

/*
 * GPU 0 of a dgx-a100 without GPUDirect: what it sends is written to and read from its socket's
 * memory.
 */
START_TEST (test_without_gpu_direct)
{
  Case direct, staged;

  case_init (&direct, "dgx-a100", 2, "leaf_nodes=0", COLLECTIVE_ALL_GATHER);
  case_init (&staged, "dgx-a100", 2, "gpu_direct=off", COLLECTIVE_ALL_GATHER);
  ck_assert_double_eq (payload_of (&direct, "node0.socket0.dram"), 0);
  /* half of the cards hang under a socket: out and in, each twice */
  assert_near (payload_of (&staged, "node0.socket0.dram"), 15.0 / 16 / 2 * 4);
  assert_near (payload_of (&staged, "node0.nic0.tx"), payload_of (&direct, "node0.nic0.tx"));
  case_clear (&direct);
  case_clear (&staged);
}
END_TEST

SUITE_MAIN (fabric_loads)
{
  Suite *suite = suite_create ("fabric-loads");
  TCase *tcase = tcase_create ("fabric-loads");

  tcase_add_test (tcase, test_rails_cross_nothing);
  tcase_add_test (tcase, test_ring_leaves_once);
  tcase_add_loop_test (tcase, test_ring_leaves_groups_once, 0, 2);
  tcase_add_test (tcase, test_slow_card);
  tcase_add_test (tcase, test_ring_d_mod_k);
  tcase_add_loop_test (tcase, test_ring_ecmp, 0, 8);
  tcase_add_loop_test (tcase, test_queue_pairs, 0, 7);
  tcase_add_loop_test (tcase, test_all_to_all, 0, 2 * 9);
  tcase_add_loop_test (tcase, test_graph_rings, 0, 2);
  tcase_add_test (tcase, test_graph_tree);
  tcase_add_test (tcase, test_without_gpu_direct);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
