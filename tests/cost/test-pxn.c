/*
 * By which cards messages leave their nodes with PXN and without, by arithmetic done by hand: bytes
 * on cards, NVLink ports, leaves and memory; who may relay; which release, GPU and network does so.
 * That sums over pairs agree with counting is test-collective's; that steps do, test-fabric-step's.
 * Not asserted: agreement with measurements.
 */
#include "../suite.h"
#include "fixture.h"

#include <string.h>

/* On rails. Card k of a dgx-h100 is GPU k's. */
typedef struct
{
  Fixture  fixture;
  Cluster *cluster;
  Laid    *plan;
} Case;

static void
case_init (Case *self, const char *node, guint nodes, guint leaf_nodes)
{
  fixture_init (&self->fixture, node, nodes);
  self->fixture.options.fabric = FABRIC_RAILS;
  self->fixture.options.leaf_nodes = leaf_nodes;
  self->cluster = fixture_cluster (&self->fixture);
  self->plan = NULL;
}

static void
case_lay (Case *self, CollectiveKind kind, const guint32 *ranks, guint n, PxnWish pxn)
{
  laid_free (self->plan);
  self->plan = laid_new_with (self->cluster, kind, ranks, n, ALGORITHM_N, pxn);
}

/* Over all GPUs. */
static void
case_lay_all (Case *self, CollectiveKind kind, PxnWish pxn)
{
  g_autofree guint32 *ranks = fixture_all (self->cluster);

  case_lay (self, kind, ranks, cluster_n_gpus (self->cluster), pxn);
}

static void
case_clear (Case *self)
{
  laid_free (self->plan);
  cluster_free (self->cluster);
  fixture_clear (&self->fixture);
}

static double
gpu_load (const Case *self, guint gpu, ResourceKind kind)
{
  return plan_payload (self->plan, cluster_gpu_resource (self->cluster, gpu, kind));
}

static double
card_load (const Case *self, guint node, guint card, ResourceKind kind)
{
  return plan_payload (self->plan, cluster_node_resource (self->cluster, node, kind, card));
}

static double
sum_of (const Case *self, ResourceKind kind)
{
  return plan_sum (self->plan, self->cluster, kind, G_MAXUINT32);
}

/*
 * 0 -> 11 -> 3 -> 8 -> 0 on two nodes of 8: to the receivers 11 and 8, numbers 3 and 0 of their
 * node, the messages leave by cards 3 and 0, past GPUs 3 and 0; 11 -> 3 and 8 -> 0 stay on their
 * rails anyway. The relays' memory moves 2 S more than what each sends and gets. Without PXN cards
 * 0 and 3 still send one message each, but to the other's rail.
 */
START_TEST (test_messages)
{
  static const guint32 ranks[] = { 0, 11, 3, 8 };
  const gboolean       pxn = _i == 1;
  Case                 self;

  case_init (&self, "dgx-h100", 2, 2);
  case_lay (&self, COLLECTIVE_SEND_RECV, ranks, 4, pxn ? PXN_AUTO : PXN_OFF);
  for (guint k = 0; k < 8; k++)
    for (guint node = 0; node < 2; node++)
      {
        const double   one = k == 0 || k == 3 ? 1 : 0;
        const double   relayed = node == 0 && pxn ? one : 0;
        const guint    gpu = 8 * node + k;
        const gboolean crosses = !pxn && node == 0 && one > 0;

        assert_near (card_load (&self, node, k, RESOURCE_NIC_TX), one);
        assert_near (card_load (&self, node, k, RESOURCE_NIC_RX), one);
        assert_near (gpu_load (&self, gpu, RESOURCE_PCIE_UP), one);
        assert_near (gpu_load (&self, gpu, RESOURCE_PCIE_DOWN), one);
        assert_near (gpu_load (&self, gpu, RESOURCE_NVLINK_OUT), relayed);
        assert_near (gpu_load (&self, gpu, RESOURCE_NVLINK_IN), relayed);
        assert_near (gpu_load (&self, gpu, RESOURCE_HBM), 2 * one + 2 * relayed);
        if (node == 0)
          {
            guint32 up = cluster_fabric_port (self.cluster, 0, k).up[0];

            assert_near (plan_payload (self.plan, up), crosses ? 1 : 0);
          }
      }
  case_clear (&self);
}
END_TEST

/*
 * N nodes of 8, one leaf a rail. Of a GPU's n - 8 messages of S/n to other nodes one in eight is
 * for its own rail; the others come past the GPU of their rail. So each port sends 7/n inside and
 * 7 (N-1)/n to relays, all in all 7/8, as each card does (n-8)/n, and memory moves 2 (n-1)/n and
 * twice what it relays. Leaves carry nothing; without PXN each 7 (N-1)/8 out: N GPUs to 7 (N-1).
 */
START_TEST (test_one_leaf_a_rail)
{
  const guint    nodes = _i < 2 ? 2 : 4, n = 8 * nodes;
  const gboolean pxn = _i % 2 == 0;
  const double   relayed = pxn ? 7.0 * (nodes - 1) / n : 0;
  Case           self;

  case_init (&self, "dgx-h100", nodes, nodes);
  case_lay_all (&self, COLLECTIVE_ALL_TO_ALL, pxn ? PXN_AUTO : PXN_OFF);
  for (guint gpu = 0; gpu < n; gpu++)
    {
      assert_near (gpu_load (&self, gpu, RESOURCE_NVLINK_OUT), 7.0 / n + relayed);
      assert_near (gpu_load (&self, gpu, RESOURCE_NVLINK_IN), 7.0 / n + relayed);
      assert_near (gpu_load (&self, gpu, RESOURCE_PCIE_UP), (n - 8.0) / n);
      assert_near (gpu_load (&self, gpu, RESOURCE_PCIE_DOWN), (n - 8.0) / n);
      assert_near (gpu_load (&self, gpu, RESOURCE_HBM), 2 * (n - 1.0) / n + 2 * relayed);
      assert_near (card_load (&self, gpu / 8, gpu % 8, RESOURCE_NIC_TX), (n - 8.0) / n);
      assert_near (card_load (&self, gpu / 8, gpu % 8, RESOURCE_NIC_RX), (n - 8.0) / n);
    }
  assert_near (sum_of (&self, RESOURCE_LEAF_UP), pxn ? 0 : 7.0 * (nodes - 1));
  assert_near (sum_of (&self, RESOURCE_LEAF_DOWN), pxn ? 0 : 7.0 * (nodes - 1));
  case_clear (&self);
}
END_TEST

/*
 * Four nodes, two leaves a rail: with PXN a leaf is left by the 16 GPUs of its two nodes for the
 * two of its rail under the other leaf, 32/32. Without by its two GPUs for all but those of their
 * own node and the other of the leaf: 2 (32 - 8 - 1) / 32.
 */
START_TEST (test_two_leaves_a_rail)
{
  Case self;

  case_init (&self, "dgx-h100", 4, 2);
  for (guint pxn = 0; pxn < 2; pxn++)
    {
      case_lay_all (&self, COLLECTIVE_ALL_TO_ALL, pxn == 1 ? PXN_AUTO : PXN_OFF);
      for (guint card = 0; card < 8; card++)
        for (guint node = 0; node < 4; node += 2)
          {
            FabricPort port = cluster_fabric_port (self.cluster, node, card);

            assert_near (plan_payload (self.plan, port.up[0]), pxn == 1 ? 1 : 46.0 / 32);
            assert_near (plan_payload (self.plan, port.down[0]), pxn == 1 ? 1 : 46.0 / 32);
          }
    }
  case_clear (&self);
}
END_TEST

/*
 * p4d: GPUs 2k and 2k + 1 share card k, and the first relays for it. 1 -> 8: card 0 is GPU 1's own
 * and the receiver's rail, and still the message goes past GPU 0.
 */
START_TEST (test_shared_card)
{
  static const guint32 ranks[] = { 1, 8, 0, 9 };
  Case                 self;

  case_init (&self, "p4d", 2, 2);
  case_lay (&self, COLLECTIVE_SEND_RECV, ranks, 4, PXN_AUTO);
  assert_near (gpu_load (&self, 1, RESOURCE_NVLINK_OUT), 1);
  assert_near (gpu_load (&self, 0, RESOURCE_NVLINK_IN), 1);
  assert_near (gpu_load (&self, 0, RESOURCE_PCIE_UP), 2); /* 1 -> 8 and 0 -> 9 */
  assert_near (gpu_load (&self, 1, RESOURCE_PCIE_UP), 0);
  assert_near (card_load (&self, 0, 0, RESOURCE_NIC_TX), 2);
  case_clear (&self);
}
END_TEST

/* ---- who relays ------------------------------------------------------------------------------ */

static gboolean
same_loads (const Laid *a, const Laid *b)
{
  if (a->n_loads != b->n_loads)
    return FALSE;
  for (guint i = 0; i < a->n_loads; i++)
    if (a->loads[i].resource != b->loads[i].resource || a->loads[i].payload != b->loads[i].payload)
      return FALSE;
  return TRUE;
}

/*
 * Only members relay, and only where the receiver's rail has one: of 0, 1 and 10, 11 nobody on node
 * 0 has the numbers 2 and 3. A message between two ranks alone never has one, on whatever rails.
 */
START_TEST (test_members_relay)
{
  static const guint32 groups[][4] = { { 0, 10, 1, 11 }, { 0, 11 } };
  const guint          n = _i == 0 ? 4 : 2;
  Case                 self;
  g_autoptr (Laid)     off = NULL;

  case_init (&self, "dgx-h100", 2, 2);
  off = laid_new_with (self.cluster, COLLECTIVE_SEND_RECV, groups[_i], n, ALGORITHM_N, PXN_OFF);
  case_lay (&self, COLLECTIVE_SEND_RECV, groups[_i], n, PXN_ON);
  ck_assert (same_loads (self.plan, off));
  case_clear (&self);
}
END_TEST

/*
 * Cards that do not read GPU memory send from host memory: the sender writes there itself, so the
 * card is the receiver's rail's and nothing crosses NVLink.
 */
START_TEST (test_without_gpu_direct)
{
  static const guint32 ranks[] = { 0, 11, 3, 8 };
  Case                 self;

  fixture_init (&self.fixture, "dgx-h100", 2);
  self.fixture.options.fabric = FABRIC_RAILS;
  self.fixture.options.leaf_nodes = 2;
  self.fixture.options.gpu_direct = GPU_DIRECT_OFF;
  self.cluster = fixture_cluster (&self.fixture);
  self.plan = NULL;
  case_lay (&self, COLLECTIVE_SEND_RECV, ranks, 4, PXN_AUTO);
  ck_assert (sum_of (&self, RESOURCE_NVLINK_OUT) == 0);
  ck_assert (sum_of (&self, RESOURCE_LEAF_UP) == 0);
  assert_near (gpu_load (&self, 0, RESOURCE_PCIE_UP), 1);
  assert_near (card_load (&self, 0, 3, RESOURCE_NIC_TX), 1);
  case_clear (&self);
}
END_TEST

/*
 * Whether an all-to-all keeps to its rails. H100: always. RCCL: from 64 ranks on MI300X and 32 on
 * MI355X, never on MI250X, where it can be asked for. TCPX: its provider's scripts turn it off.
 * Cards behind the CPU of a GH200: since 2.28. Cards under root complexes: never.
 */
typedef struct
{
  const char *node, *library;
  guint       nodes;
  PxnWish     wish;
  gboolean    relays;
} UseCase;

static const UseCase use_cases[] = {
  { "dgx-h100", NULL, 2, PXN_AUTO, TRUE },     { "dgx-h100", "2.20", 2, PXN_AUTO, TRUE },
  { "dgx-h100", NULL, 2, PXN_OFF, FALSE },     { "mi300x-8", "RCCL", 4, PXN_AUTO, FALSE },
  { "mi300x-8", "RCCL", 8, PXN_AUTO, TRUE },   { "mi300x-8", "RCCL", 4, PXN_ON, TRUE },
  { "mi355x-8", "RCCL", 2, PXN_AUTO, FALSE },  { "mi355x-8", "RCCL", 4, PXN_AUTO, TRUE },
  { "frontier", "RCCL", 16, PXN_AUTO, FALSE }, { "frontier", "RCCL", 16, PXN_ON, TRUE },
  { "a3-high", NULL, 2, PXN_AUTO, FALSE },     { "a3-high", NULL, 2, PXN_ON, TRUE },
  { "a3-mega", NULL, 2, PXN_AUTO, TRUE },      { "alps", "2.27", 2, PXN_AUTO, FALSE },
  { "alps", "2.28", 2, PXN_AUTO, TRUE },       { "perlmutter", NULL, 2, PXN_ON, FALSE },
};

static double
leaf_bytes (const Cluster *cluster, const UseCase *one, PxnWish wish)
{
  CollectiveOptions          options = collective_default_options;
  g_autofree guint32        *ranks = fixture_all (cluster);
  g_autoptr (CollectivePlan) plan = NULL;
  CollectiveCost             cost;
  double                     sum = 0;

  options.library = one->library;
  options.pxn = wish;
  plan = collective_plan_new (cluster, COLLECTIVE_ALL_TO_ALL, ranks, cluster_n_gpus (cluster),
                              &options);
  collective_plan_cost (plan, 0x1p30, &cost);
  for (guint i = 0; i < cost.n_loads; i++)
    if (cluster_resource (cluster, cost.loads[i].resource)->kind == RESOURCE_LEAF_UP)
      sum += cost.loads[i].payload;
  return sum;
}

START_TEST (test_who_uses_it)
{
  const UseCase *one = &use_cases[_i];
  Case           self;
  double         off, found;

  case_init (&self, one->node, one->nodes, one->nodes);
  off = leaf_bytes (self.cluster, one, PXN_OFF);
  found = leaf_bytes (self.cluster, one, one->wish);
  ck_assert (off > 0);
  if (one->relays)
    ck_assert_msg (found < 0.9 * off, "%s: %g of %g", one->node, found, off);
  else
    ck_assert_msg (found == off, "%s: %g instead of %g", one->node, found, off);
  case_clear (&self);
}
END_TEST

/*
 * Clusters by parts do not say where cards are. GPUs behind a switch, on boards of 8 or of H100 are
 * taken to be next to theirs; 4 A100 joined all to all are not, and PCIe alone joins nobody.
 */
typedef struct
{
  const char *gpu, *intra, *library;
  guint       gpus;
  gboolean    relays;
} PartsCase;

static const PartsCase parts_cases[] = {
  { "a100-sxm-80", "nvlink3-switch", NULL, 8, TRUE },
  { "a100-sxm-64", "nvlink3-mesh", NULL, 4, FALSE },
  { "h100-sxm-64", "nvlink4-mesh", NULL, 4, TRUE },
  { "mi300x-192", "xgmi-mi300-mesh", "RCCL", 8, TRUE },
  { "gh200-96", "nvlink4-mesh", "2.27", 4, FALSE },
  { "gh200-96", "nvlink4-mesh", "2.28", 4, TRUE },
  { "h100-pcie-80", "pcie5", NULL, 8, FALSE },
};

START_TEST (test_by_parts)
{
  const PartsCase *one = &parts_cases[_i];
  const UseCase    use = { .library = one->library };
  Case             self = { .plan = NULL };
  double           off, found;

  fixture_init (&self.fixture, NULL, 8);
  self.fixture.options.gpus_per_node = self.fixture.options.nics = one->gpus;
  self.fixture.options.gpu = g_strdup (one->gpu);
  self.fixture.options.intra = g_strdup (one->intra);
  self.fixture.options.nic = g_strdup ("ib-ndr-400");
  self.fixture.options.fabric = FABRIC_RAILS;
  self.fixture.options.leaf_nodes = 8;
  self.cluster = fixture_cluster (&self.fixture);
  off = leaf_bytes (self.cluster, &use, PXN_OFF);
  found = leaf_bytes (self.cluster, &use, PXN_AUTO);
  ck_assert (off > 0);
  ck_assert_msg (found == (one->relays ? 0 : off), "%s: %g of %g", one->gpu, found, off);
  case_clear (&self);
}
END_TEST

SUITE_MAIN (pxn)
{
  Suite *suite = suite_create ("pxn");
  TCase *bytes = tcase_create ("bytes"), *use = tcase_create ("use");

  tcase_add_loop_test (bytes, test_messages, 0, 2);
  tcase_add_loop_test (bytes, test_one_leaf_a_rail, 0, 4);
  tcase_add_test (bytes, test_two_leaves_a_rail);
  tcase_add_test (bytes, test_shared_card);
  tcase_add_loop_test (use, test_members_relay, 0, 2);
  tcase_add_test (use, test_without_gpu_direct);
  tcase_add_loop_test (use, test_who_uses_it, 0, G_N_ELEMENTS (use_cases));
  tcase_add_loop_test (use, test_by_parts, 0, G_N_ELEMENTS (parts_cases));
  suite_add_tcase (suite, bytes);
  suite_add_tcase (suite, use);
  return suite_run (suite);
}
