/*
 * What trees, NVLSTree, PAT, CollNet and all pairs put on each card, port and leaf, by hand, and
 * for every algorithm on random clusters: sums by rule, as much in as out, edges that make up the
 * sums, the same again. Not how long they take, nor which is chosen: that is the business of
 * test-layouts.c.
 */
#include "../suite.h"
#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/layout/layout-private.h"
#include "cost/collective/layout/trees-private.h"
#include "fixture.h"

typedef struct
{
  Fixture  fixture;
  Cluster *cluster;
  Laid    *plan;
} Case;

/* KIND by ALGORITHM over all GPUs, GPUS (0: all) of each node. */
static void
case_init (Case *self, const char *node, guint nodes, guint gpus, CollectiveKind kind,
           CollectiveAlgorithm algorithm)
{
  fixture_init (&self->fixture, node, nodes);
  if (gpus > 0)
    self->fixture.options.gpus_per_node = gpus;
  self->cluster = fixture_cluster (&self->fixture);
  self->plan = fixture_plan (self->cluster, kind, algorithm);
  ck_assert_int_eq (self->plan->algorithm, algorithm);
}

/* Another plan on the same cluster with nodes under leaves of LEAF. */
static void
case_under_leaves (Case *self, guint leaf)
{
  CollectiveKind      kind = self->plan->kind;
  CollectiveAlgorithm algorithm = self->plan->algorithm;

  laid_free (self->plan);
  cluster_free (self->cluster);
  self->fixture.options.leaf_nodes = leaf;
  self->cluster = fixture_cluster (&self->fixture);
  self->plan = fixture_plan (self->cluster, kind, algorithm);
}

static void
case_clear (Case *self)
{
  laid_free (self->plan);
  cluster_free (self->cluster);
  fixture_clear (&self->fixture);
}

static double
total (const Case *self, ResourceKind kind)
{
  return plan_sum (self->plan, self->cluster, kind, G_MAXUINT32);
}

/* Every one of the N resources of KIND carries BYTES. */
static void
assert_each (const Case *self, ResourceKind kind, guint n, double bytes)
{
  double low, high;

  ck_assert_uint_eq (plan_range (self->plan, self->cluster, kind, &low, &high), n);
  assert_near (low, bytes);
  assert_near (high, bytes);
}

static double
leaf_payload (const Case *self, ResourceKind kind, guint leaf)
{
  for (guint i = 0; i < self->plan->n_loads; i++)
    {
      const ClusterResource *r = cluster_resource (self->cluster, self->plan->loads[i].resource);

      if (r->kind == kind && r->index == leaf)
        return self->plan->loads[i].payload;
    }
  return 0;
}

/* ---- the double tree ------------------------------------------------------------------------- */

/* By hand: 1 and 3 under 2, that under 0; mirrored 2 and 0 under 1, that under 3. */
START_TEST (test_tree_of_four)
{
  static const guint parents[2][4] = { { 4, 2, 0, 2 }, { 1, 3, 1, 4 } };

  for (guint tree = 0; tree < 2; tree++)
    for (guint node = 0; node < 4; node++)
      ck_assert_uint_eq (tree_parent (tree, node, 4), parents[tree][node]);
}
END_TEST

/*
 * Four nodes: nodes 0 and 3 are a leaf and a root with an only child (2 edges of S/2 each way), 1
 * and 2 a leaf and an inner node with two children (4 edges).
 */
START_TEST (test_tree_four_nodes)
{
  static const double sent[] = { 1, 2, 2, 1 };
  Case                self;

  case_init (&self, "dgx-h100", 4, 0, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE);
  for (guint node = 0; node < 4; node++)
    {
      assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NIC_TX, node), sent[node]);
      assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NIC_RX, node), sent[node]);
      for (guint card = 0; card < 8; card++)
        assert_near (plan_payload (self.plan, cluster_node_resource (self.cluster, node,
                                                                     RESOURCE_NIC_TX, card)),
                     sent[node] / 8);
    }
  assert_each (&self, RESOURCE_NVLINK_OUT, 32, 14.0 / 8);
  case_clear (&self);
}
END_TEST

/* The same without anything inside nodes. */
START_TEST (test_tree_one_gpu_a_node)
{
  Case self;

  case_init (&self, "dgx-h100", 4, 1, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE);
  assert_near (total (&self, RESOURCE_NIC_TX), 2 * 3);
  assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NIC_TX, 1), 2);
  assert_near (plan_sum (self.plan, self.cluster, RESOURCE_PCIE_UP, 0), 1);
  ck_assert_double_eq (total (&self, RESOURCE_NVLINK_OUT), 0);
  case_clear (&self);
}
END_TEST

/* One node: a chain from each of 8 GPUs, S/8 each, both ways. */
START_TEST (test_tree_one_node)
{
  Case self;

  case_init (&self, "dgx-h100", 1, 0, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE);
  assert_each (&self, RESOURCE_NVLINK_OUT, 8, 14.0 / 8);
  assert_each (&self, RESOURCE_NVLINK_IN, 8, 14.0 / 8);
  ck_assert_double_eq (total (&self, RESOURCE_NIC_TX), 0);
  ck_assert_double_eq (total (&self, RESOURCE_PCIE_UP), 0);
  case_clear (&self);
}
END_TEST

/*
 * 16 nodes under leaves of 4. The first tree's edges between leaves are 2-4, 10-12, 4-8, 12-8 and
 * 8-0: they end at leaf 0 twice, 1 twice, 2 four times, 3 twice. The second is its mirror image.
 */
START_TEST (test_tree_leaves)
{
  static const double crossings[] = { 2 + 2, 2 + 4, 4 + 2, 2 + 2 };
  Case                self;

  case_init (&self, "dgx-h100", 16, 0, COLLECTIVE_ALL_REDUCE, ALGORITHM_TREE);
  case_under_leaves (&self, 4);
  for (guint leaf = 0; leaf < 4; leaf++)
    {
      assert_near (leaf_payload (&self, RESOURCE_LEAF_UP, leaf), crossings[leaf] / 2);
      assert_near (leaf_payload (&self, RESOURCE_LEAF_DOWN, leaf), crossings[leaf] / 2);
    }
  case_clear (&self);
}
END_TEST

/* ---- NVLS ------------------------------------------------------------------------------------ */

/* The ports' efficiency is their own under NVLS; the cards' is not touched. */
START_TEST (test_nvls_efficiency)
{
  Case                     self;
  const LinkProfile       *intra;
  const LibraryGeneration *generation;
  const ClusterResource   *card;
  double                   efficiency;

  case_init (&self, "dgx-h100", 2, 0, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE);
  intra = cluster_intra_profile (self.cluster, 0);
  generation = library_profile_generation (cluster_library (self.cluster, NULL),
                                           cluster_gpu_profile (self.cluster, 0));
  efficiency = intra->nvls_efficiency.value > 0
                   ? intra->nvls_efficiency.value
                   : generation->nvls_efficiency * generation->link_factor;
  card =
      cluster_resource (self.cluster, cluster_node_resource (self.cluster, 0, RESOURCE_NIC_TX, 0));
  for (guint i = 0; i < self.plan->n_loads; i++)
    {
      const CollectiveLoad *load = &self.plan->loads[i];

      switch (cluster_resource (self.cluster, load->resource)->kind)
        {
        case RESOURCE_NVLINK_OUT:
        case RESOURCE_NVLINK_IN:
          assert_near (load->service, 9.0 / 8 / efficiency);
          break;
        case RESOURCE_NIC_TX:
        case RESOURCE_NIC_RX:
          assert_near (load->service, 1.0 / 8 / card->efficiency);
          break;
        default:
          break;
        }
    }
  case_clear (&self);
}
END_TEST

/*
 * Memory of 8 GPUs: an all-reduce copies S in (2), is read by the switch (1), written by it (1) and
 * copied out (2); the others do without the one copy, but for an eighth of S.
 */
START_TEST (test_nvls_memory)
{
  static const double expected[] = { [COLLECTIVE_ALL_GATHER] = 3 + 1.0 / 8,
                                     [COLLECTIVE_REDUCE_SCATTER] = 3 + 1.0 / 8,
                                     [COLLECTIVE_ALL_REDUCE] = 6 };
  Case                self;

  case_init (&self, "dgx-h100", 1, 0, (CollectiveKind) _i, ALGORITHM_NVLS);
  assert_each (&self, RESOURCE_HBM, 8, expected[_i]);
  case_clear (&self);
  if (_i != COLLECTIVE_ALL_REDUCE)
    return;
  /* 4 nodes: a node's cards send and receive 2 * 3/4 S each, through buffers: 4 * 1.5 / 8 a GPU */
  case_init (&self, "dgx-h100", 4, 0, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE);
  assert_each (&self, RESOURCE_HBM, 32, 6 + 0.75);
  case_clear (&self);
}
END_TEST

/* NVLS inside, the trees of test_tree_four_nodes between: no chains. */
START_TEST (test_nvls_tree)
{
  Case self;

  case_init (&self, "dgx-h100", 4, 0, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE);
  assert_each (&self, RESOURCE_NVLINK_OUT, 32, 9.0 / 8);
  assert_each (&self, RESOURCE_NVLINK_IN, 32, 9.0 / 8);
  assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NIC_TX, 0), 1);
  assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NIC_TX, 2), 2);
  case_clear (&self);
  /* two nodes: S out of 8 cards */
  case_init (&self, "dgx-h100", 2, 0, COLLECTIVE_ALL_REDUCE, ALGORITHM_NVLS_TREE);
  assert_each (&self, RESOURCE_NIC_TX, 16, 1.0 / 8);
  case_clear (&self);
}
END_TEST

/* ---- PAT ------------------------------------------------------------------------------------- */

/* All parts but a rank's own arrive once: x gets each over the distance of its lowest bit. */
START_TEST (test_pat_parts)
{
  guint n = (guint) _i, sum = 0;

  for (guint distance = 1; distance < n; distance *= 2)
    {
      guint parts = 0;

      for (guint x = 1; x < n; x++)
        parts += (x & -x) == distance;
      ck_assert_uint_eq (pat_parts (distance, n), parts);
      sum += parts;
    }
  ck_assert_uint_eq (sum, n - 1);
}
END_TEST

/*
 * 8 nodes under leaves of 4. Steps send 1 part 4 nodes on, 2 parts 2 on and 4 parts 1 on; of a
 * leaf's nodes 4, 2 and 1 reach the next leaf: (4 + 4 + 4) / 8 of S. With the near steps first, as
 * recursive doubling has it, it would be (16 + 4 + 1) / 8.
 */
START_TEST (test_pat)
{
  CollectiveKind kind = _i == 0 ? COLLECTIVE_ALL_GATHER : COLLECTIVE_REDUCE_SCATTER;
  Case           self;

  case_init (&self, "dgx-h100", 8, 1, kind, ALGORITHM_PAT);
  case_under_leaves (&self, 4);
  for (guint node = 0; node < 8; node++)
    {
      assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NIC_TX, node), 7.0 / 8);
      assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NIC_RX, node), 7.0 / 8);
      assert_near (plan_sum (self.plan, self.cluster, RESOURCE_PCIE_UP, node), 7.0 / 8);
    }
  assert_each (&self, RESOURCE_LEAF_UP, 2, 12.0 / 8);
  assert_each (&self, RESOURCE_LEAF_DOWN, 2, 12.0 / 8);
  case_clear (&self);
  case_init (&self, "dgx-h100", 6, 1, kind, ALGORITHM_PAT);
  assert_near (total (&self, RESOURCE_NIC_TX), 5);
  assert_near (plan_sum (self.plan, self.cluster, RESOURCE_NIC_TX, 4), 5.0 / 6);
  case_clear (&self);
}
END_TEST

/* ---- CollNet --------------------------------------------------------------------------------- */

/*
 * S up and S down over each node's 8 cards. Inside, each of 8 heads collects its S/8 from 7 others
 * and hands it back, directly or along a chain: 14/8 S a port either way.
 */
START_TEST (test_collnet)
{
  CollectiveAlgorithm algorithm = _i == 0 ? ALGORITHM_COLLNET_DIRECT : ALGORITHM_COLLNET_CHAIN;
  Case                self;

  case_init (&self, "dgx-h100", 4, 0, COLLECTIVE_ALL_REDUCE, algorithm);
  assert_each (&self, RESOURCE_NIC_TX, 32, 1.0 / 8);
  assert_each (&self, RESOURCE_NIC_RX, 32, 1.0 / 8);
  assert_each (&self, RESOURCE_NVLINK_OUT, 32, 14.0 / 8);
  assert_each (&self, RESOURCE_NVLINK_IN, 32, 14.0 / 8);
  assert_each (&self, RESOURCE_PCIE_UP, 32, 1.0 / 8);
  case_clear (&self);
}
END_TEST

/* A leaf has reduced what its nodes sent: S up and S down, in any order of the group's names. */
START_TEST (test_collnet_leaves)
{
  static const guint32 order[] = { 0, 4, 1, 5, 2, 6, 3, 7 };
  Case                 self;

  case_init (&self, "dgx-h100", 8, 1, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_CHAIN);
  case_under_leaves (&self, 4);
  assert_each (&self, RESOURCE_LEAF_UP, 2, 1);
  laid_free (self.plan);
  self.plan = laid_new (self.cluster, COLLECTIVE_ALL_REDUCE, order, 8, ALGORITHM_COLLNET_CHAIN);
  assert_each (&self, RESOURCE_LEAF_UP, 2, 1);
  assert_each (&self, RESOURCE_LEAF_DOWN, 2, 1);
  case_clear (&self);
}
END_TEST

/* On the cube mesh of a DGX-1 chains go over the links, never over PCIe. */
START_TEST (test_collnet_graph)
{
  Case self;

  case_init (&self, "dgx-1v", 2, 0, COLLECTIVE_ALL_REDUCE, ALGORITHM_COLLNET_CHAIN);
  /* 7 edges both ways in 2 nodes: each over one link, which a relay would double */
  assert_near (total (&self, RESOURCE_NVLINK_PAIR), 2.0 * 14);
  assert_near (total (&self, RESOURCE_PCIE_UP), total (&self, RESOURCE_NIC_TX));
  case_clear (&self);
}
END_TEST

/* ---- all pairs, chains with a root ----------------------------------------------------------- */

/* 8 GPUs of an xGMI mesh: S/8 to each other one to be reduced, and S/8 of the result. */
START_TEST (test_all_pairs)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              low, high;

  fixture_init (&fixture, "generic", 1);
  fixture.options.gpus_per_node = 8;
  fixture.options.gpu = g_strdup ("mi300x-192");
  fixture.options.intra = g_strdup ("xgmi-mi300-mesh");
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_ALL_PAIRS);
  ck_assert_int_eq (plan->algorithm, ALGORITHM_ALL_PAIRS);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NVLINK_PAIR, &low, &high), 8 * 7);
  assert_near (low, 2.0 / 8);
  assert_near (high, 2.0 / 8);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * One card a node, near GPU 0 and none of the others: what leaves GPU 6 is relayed through GPU 0.
 * GPU 6 is the root of a reduction, so that the relay of its node has nothing to carry: nothing
 * leaves that GPU, and nothing enters the first but over the network.
 */
START_TEST (test_reduce_ends_before_a_relay)
{
  static const guint32 ranks[] = { 6, 0, 2, 4, 8, 10, 12, 14 };
  Fixture              fixture;
  g_autoptr (Cluster)  cluster = NULL;
  g_autoptr (Laid)     plan = NULL;

  fixture_init (&fixture, "dgx-h100", 2);
  fixture.options.nics = 1;
  cluster = fixture_cluster (&fixture);
  plan = laid_new (cluster, COLLECTIVE_REDUCE, ranks, 8, ALGORITHM_RING);
  ck_assert_double_eq (plan_payload (plan, cluster_gpu_resource (cluster, 6, RESOURCE_NVLINK_OUT)),
                       0);
  ck_assert_double_eq (plan_payload (plan, cluster_gpu_resource (cluster, 0, RESOURCE_NVLINK_IN)),
                       0);
  ck_assert_double_eq (plan_sum (plan, cluster, RESOURCE_NIC_TX, 0), 0);
  assert_near (plan_payload (plan, cluster_gpu_resource (cluster, 6, RESOURCE_NVLINK_IN)), 1);
  assert_near (plan_sum (plan, cluster, RESOURCE_NIC_TX, 1), 1);
  /* the other node: 3 edges and the relay */
  assert_near (plan_sum (plan, cluster, RESOURCE_NVLINK_OUT, 1), 4);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* ---- random clusters ------------------------------------------------------------------------- */

static void
random_fixture (Fixture *fixture, GRand *rand)
{
  static const char *const nodes[] = { "dgx-h100", "dgx-h100", "dgx-a100",   "hgx-a100-4",
                                       "dgx-1v",   "frontier", "dgx-b200",   "a40x8-nvlink-pairs",
                                       "p4d",      "p5",       "perlmutter", "a3-high" };
  const char              *node = nodes[g_rand_int_range (rand, 0, G_N_ELEMENTS (nodes))];
  guint n_nodes = g_rand_boolean (rand) ? 1 + (guint) g_rand_int_range (rand, 0, 4)
                                        : (guint) g_rand_int_range (rand, 1, 14);

  fixture_init (fixture, node, n_nodes);
  if (g_rand_int_range (rand, 0, 3) == 0)
    fixture->options.gpus_per_node = 1;
  fixture->options.leaf_nodes = g_rand_int_range (rand, 0, 5);
  fixture->options.fabric = g_rand_boolean (rand) ? FABRIC_RAILS : FABRIC_LEAF_SPINE;
  if (fixture->options.leaf_nodes > 0 && g_rand_boolean (rand))
    {
      fixture->options.routing = ROUTING_ECMP;
      fixture->options.routing_seed = g_rand_int_range (rand, 0, 100);
    }
}

/* All GPUs, or each with even odds. */
static guint
random_group (GRand *rand, const Cluster *cluster, guint32 *ranks)
{
  gboolean all = g_rand_boolean (rand);
  guint    n = 0;

  for (guint32 gpu = 0; gpu < cluster_n_gpus (cluster); gpu++)
    if (all || g_rand_boolean (rand))
      ranks[n++] = gpu;
  return n;
}

/* Payload on all resources of KIND. */
static double
layout_sum (const CollectiveLayout *layout, const Cluster *cluster, ResourceKind kind)
{
  double sum = 0;

  for (guint i = 0; i < layout->n_loads; i++)
    if (cluster_resource (cluster, layout->loads[i].resource)->kind == kind)
      sum += layout->loads[i].payload;
  return sum;
}

/* What all cards together send, per byte of S; -1: not by a rule of its own. */
static double
expected_sent (CollectiveKind kind, CollectiveAlgorithm algorithm, const Members *members)
{
  double n = members->n_nodes;

  if (n == 1)
    return 0;
  switch (algorithm)
    {
    case ALGORITHM_TREE:
    case ALGORITHM_NVLS_TREE:
      return 2 * (n - 1); /* two trees of n - 1 edges, S/2 each way */
    case ALGORITHM_PAT:
      return n - 1;
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN:
      return n;
    case ALGORITHM_RING:
      if (kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE)
        return -1;
      return n * collective_wire_factor (kind, members->n_gpus);
    default:
      return -1;
    }
}

static void
check_sent (const CollectiveLayout *layout, const Cluster *cluster, const Members *members)
{
  double tx = layout_sum (layout, cluster, RESOURCE_NIC_TX);
  double rx = layout_sum (layout, cluster, RESOURCE_NIC_RX);
  double expected = expected_sent (layout->kind, layout->algorithm->id, members);

  ck_assert_double_eq_tol (tx, rx, 1e-9);
  if (expected >= 0)
    ck_assert_double_eq_tol (tx, expected, 1e-9);
  ck_assert_double_eq_tol (layout_sum (layout, cluster, RESOURCE_LEAF_UP),
                           layout_sum (layout, cluster, RESOURCE_LEAF_DOWN), 1e-9);
}

/* Inside switched nodes; multicast hands one byte to several. */
static void
check_ports (const CollectiveLayout *layout, const Cluster *cluster, const Members *members)
{
  double out = layout_sum (layout, cluster, RESOURCE_NVLINK_OUT);
  double in = layout_sum (layout, cluster, RESOURCE_NVLINK_IN);
  double others = 2.0 * (members->n_gpus - members->n_nodes);

  if (layout->algorithm->id == ALGORITHM_NVLS && layout->kind != COLLECTIVE_ALL_REDUCE)
    {
      ck_assert_double_eq_tol (MIN (out, in), 1, 1e-9);
      ck_assert_double_eq_tol (MAX (out, in), members->n_gpus, 1e-9);
      return;
    }
  ck_assert_double_eq_tol (out, in, 1e-9);
  if (members->n_gpus != cluster_n_gpus (cluster)
      || cluster_intra_profile (cluster, 0)->kind != LINK_SWITCH)
    return; /* a part of a node may reach its card by way of a GPU outside the group */
  switch (layout->algorithm->id)
    {
    case ALGORITHM_TREE:
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN: /* up and down, for each that is not at the card */
      ck_assert_double_eq_tol (out, others, 1e-9);
      break;
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
      ck_assert_double_eq_tol (out, members->n_gpus + members->n_nodes, 1e-9);
      break;
    default:
      break;
    }
}

/* The edges, one by one, make up the sums, memory included where they name it. */
static void
check_edges (const CollectiveLayout *layout, const Cluster *cluster, const Members *members,
             const guint32 *ranks)
{
  g_autoptr (RoutedEdges) edges =
      collective_layout_edges (cluster, layout->kind, layout->algorithm, members, ranks, 1);
  g_autofree double *bytes = g_new0 (double, cluster_n_resources (cluster));

  for (guint i = 0; i < edges->edges->len; i++)
    {
      const RoutedEdge *edge = &g_array_index (edges->edges, RoutedEdge, i);

      for (guint k = edge->first; k < edge->first + edge->n; k++)
        bytes[g_array_index (edges->resources, guint32, k)] +=
            edge->bytes * g_array_index (edges->shares, double, k);
    }
  for (guint i = 0; i < layout->n_loads; i++)
    {
      guint32      id = layout->loads[i].resource;
      ResourceKind kind = cluster_resource (cluster, id)->kind;

      if (kind != RESOURCE_HBM || edges->names_memory)
        ck_assert_double_eq_tol (layout->loads[i].payload, bytes[id], 1e-9);
      bytes[id] = 0;
    }
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    ck_assert_double_eq (bytes[id], 0);
}

static void
check_again (const CollectiveLayout *layout, const Cluster *cluster, const Members *members,
             const guint32 *ranks)
{
  g_autoptr (CollectiveLayout) again =
      collective_layout_new (cluster, layout->kind, layout->algorithm, members, ranks, 1);

  ck_assert_uint_eq (layout->n_loads, again->n_loads);
  for (guint i = 0; i < layout->n_loads; i++)
    {
      ck_assert_uint_eq (layout->loads[i].resource, again->loads[i].resource);
      ck_assert (layout->loads[i].payload == again->loads[i].payload);
      ck_assert (layout->loads[i].service == again->loads[i].service);
    }
}

static void
check_layout (const Cluster *cluster, const Members *members, const guint32 *ranks,
              CollectiveKind kind, const Algorithm *algorithm)
{
  g_autoptr (CollectiveLayout) layout =
      collective_layout_new (cluster, kind, algorithm, members, ranks, 1);

  check_sent (layout, cluster, members);
  check_ports (layout, cluster, members);
  check_again (layout, cluster, members, ranks);
  if (!algorithm->multicasts) /* multicast has no edges */
    check_edges (layout, cluster, members, ranks);
}

/* Every algorithm that exists for every kind; each exists somewhere among the seeds (below). */
static void
check_seed (guint32 seed, guint laid[ALGORITHM_N])
{
  g_autoptr (GRand)   rand = g_rand_new_with_seed (seed);
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autofree guint32 *ranks = NULL;
  Members             members;
  CollectiveGraph     graph;
  guint               n;

  random_fixture (&fixture, rand);
  cluster = fixture_cluster (&fixture);
  ranks = g_new (guint32, cluster_n_gpus (cluster));
  n = random_group (rand, cluster, ranks);
  if (n > 1)
    {
      members_init (&members, cluster, ranks, n);
      members.pxn = seed % 8; /* each of PxnUse or none */
      collective_graph_init (&graph, cluster, &members, cluster_library (cluster, NULL), NULL);
      for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
        for (guint algorithm = 0; algorithm < ALGORITHM_N; algorithm++)
          {
            const Algorithm *found = algorithm_find (graph.hosts, (CollectiveKind) kind,
                                                     (CollectiveAlgorithm) algorithm);

            if (found == NULL || !algorithm_exists (found, &graph, members_are_even (&members)))
              continue;
            check_layout (cluster, &members, ranks, (CollectiveKind) kind, found);
            laid[algorithm]++;
          }
      members_clear (&members);
    }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}

START_TEST (test_property_layouts)
{
  guint laid[ALGORITHM_N] = { 0 };

  for (guint32 i = 0; i < 60; i++)
    check_seed (1000 * (guint32) _i + i, laid);
  for (guint algorithm = 0; algorithm < ALGORITHM_N; algorithm++)
    ck_assert_msg (algorithm == ALGORITHM_ALL_PAIRS || algorithm >= ALGORITHM_LINEAR
                       || laid[algorithm] > 0,
                   "%s is never laid", collective_algorithm_name ((CollectiveAlgorithm) algorithm));
}
END_TEST

SUITE_MAIN (layout_bytes)
{
  Suite *suite = suite_create ("layout-bytes");
  TCase *tcase = tcase_create ("layout-bytes");

  tcase_add_test (tcase, test_tree_of_four);
  tcase_add_test (tcase, test_tree_four_nodes);
  tcase_add_test (tcase, test_tree_one_gpu_a_node);
  tcase_add_test (tcase, test_tree_one_node);
  tcase_add_test (tcase, test_tree_leaves);
  tcase_add_test (tcase, test_nvls_efficiency);
  tcase_add_loop_test (tcase, test_nvls_memory, COLLECTIVE_ALL_GATHER, COLLECTIVE_ALL_REDUCE + 1);
  tcase_add_test (tcase, test_nvls_tree);
  tcase_add_loop_test (tcase, test_pat_parts, 2, 70);
  tcase_add_loop_test (tcase, test_pat, 0, 2);
  tcase_add_loop_test (tcase, test_collnet, 0, 2);
  tcase_add_test (tcase, test_collnet_leaves);
  tcase_add_test (tcase, test_collnet_graph);
  tcase_add_test (tcase, test_all_pairs);
  tcase_add_test (tcase, test_reduce_ends_before_a_relay);
  tcase_add_loop_test (tcase, test_property_layouts, 0, 5);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
