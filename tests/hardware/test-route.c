/*
 * Routes on small nodes, link by link as drawn by hand, on made-up profiles and on the shipped
 * A40 and DGX A100 nodes.
 */
#include "../suite.h"
#include "fixture.h"

typedef struct
{
  const char *cluster; /* settings */
  guint       from, to;
  gint        card;
  PathClass   class_;
  double      latency;
  const char *links; /* names in order */
} RouteCase;

static char *
route_names (const Cluster *cluster, const Route *route)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < route->n; i++)
    {
      g_autofree char *name = cluster_resource_name (cluster, route->resources[i]);
      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", name);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

static void
assert_route (const Cluster *cluster, const Route *route, PathClass class_, double latency,
              const char *links)
{
  g_autofree char *names = route_names (cluster, route);
  ck_assert_str_eq (names, links);
  ck_assert_int_eq (route->class_, class_);
  ck_assert_double_eq_tol (route->latency, latency, 1e-15);
}

static void
check_cases (ProfileSet *profiles, const RouteCase *cases, guint n)
{
  for (guint i = 0; i < n; i++)
    {
      g_autoptr (Cluster) cluster = make_cluster (profiles, cases[i].cluster);
      Route               route;
      cluster_route_gpus (cluster, cases[i].from, cases[i].to, cases[i].card, &route);
      assert_route (cluster, &route, cases[i].class_, cases[i].latency, cases[i].links);
    }
}

/*
 * 'switched': GPUs 2i and 2i+1 and card i under switch i; switches 0 and 1 on socket 0. 'rooted':
 * GPUs 0 to 3 and the card on socket 0.
 */
static const RouteCase made_up[] = {
  /* one node, peer-to-peer over PCIe: one switch, one socket, across sockets */
  { "name=switched", 5, 5, -1, PATH_LOCAL, 0, "" },
  { "name=switched", 0, 1, -1, PATH_PIX, 2e-6, "node0.gpu0.pcie.up node0.gpu1.pcie.down" },
  { "name=switched", 0, 2, -1, PATH_PHB, 2e-6,
    "node0.gpu0.pcie.up node0.switch0.up node0.switch1.down node0.gpu2.pcie.down" },
  { "name=switched", 7, 0, -1, PATH_SYS, 2e-6,
    "node0.gpu7.pcie.up node0.switch3.up node0.socket1.to0 node0.switch0.down "
    "node0.gpu0.pcie.down" },
  /* two levels of switches: 0 and 1 under the fifth, 2 and 3 under the sixth */
  { "name=tiered", 0, 2, -1, PATH_PXB, 2e-6,
    "node0.gpu0.pcie.up node0.switch0.up node0.switch1.down node0.gpu2.pcie.down" },
  { "name=tiered", 7, 0, -1, PATH_SYS, 2e-6,
    "node0.gpu7.pcie.up node0.switch3.up node0.switch5.up node0.socket1.to0 node0.switch4.down "
    "node0.switch0.down node0.gpu0.pcie.down" },
  { "name=2 x tiered", 1, 8, 1, PATH_NET, 3e-6,
    "node0.gpu1.pcie.up node0.switch0.up node0.switch1.down node0.nic1.tx node1.nic1.rx "
    "node1.switch1.up node1.switch0.down node1.gpu0.pcie.down" },
  /*
   * placed by lists: 0 and 1 under the fifth at socket 0, 2 and 3 at socket 1, GPU 7 under root
   * complex 0
   */
  { "name=placed", 2, 3, -1, PATH_PXB, 2e-6,
    "node0.gpu2.pcie.up node0.switch1.up node0.switch0.down node0.gpu3.pcie.down" },
  { "name=placed", 2, 1, -1, PATH_SYS, 2e-6,
    "node0.gpu2.pcie.up node0.switch1.up node0.switch4.up node0.socket0.to1 node0.switch2.down "
    "node0.gpu1.pcie.down" },
  { "name=placed", 0, 7, -1, PATH_SYS, 2e-6,
    "node0.gpu0.pcie.up node0.switch3.up node0.socket1.to0 node0.gpu7.pcie.down" },
  { "name=placed", 0, 1, -1, PATH_PHB, 2e-6,
    "node0.gpu0.pcie.up node0.switch3.up node0.switch2.down node0.gpu1.pcie.down" },
  /* fewer GPUs: the first; the lists taken back: as 'switched' but all switches under one */
  { "name=placed;gpus_per_node=4", 2, 3, -1, PATH_PXB, 2e-6,
    "node0.gpu2.pcie.up node0.switch1.up node0.switch0.down node0.gpu3.pcie.down" },
  { "name=unplaced", 0, 1, -1, PATH_PIX, 2e-6, "node0.gpu0.pcie.up node0.gpu1.pcie.down" },
  /* no peer access: written to host memory, then read */
  { "name=switched;intra=host", 0, 1, -1, PATH_PHB, 2e-6,
    "node0.gpu0.pcie.up node0.switch0.up node0.socket0.dram node0.socket0.dram node0.switch0.down "
    "node0.gpu1.pcie.down" },
  { "name=switched;intra=host", 0, 6, -1, PATH_SYS, 2e-6,
    "node0.gpu0.pcie.up node0.switch0.up node0.socket0.dram node0.socket0.dram node0.socket0.to1 "
    "node0.switch3.down node0.gpu6.pcie.down" },
  { "name=rooted;intra=host", 4, 5, -1, PATH_PHB, 2e-6,
    "node0.gpu4.pcie.up node0.socket1.dram node0.socket1.dram node0.gpu5.pcie.down" },
  /* NVLink: switch, mesh, pairs and what has no bridge */
  { "name=switched;intra=switch", 0, 7, -1, PATH_NVLINK, 1e-6,
    "node0.gpu0.nvlink.out node0.gpu7.nvlink.in" },
  { "nodes=1;gpus_per_node=4;gpu=toy;intra=mesh", 0, 3, -1, PATH_NVLINK, 1e-6,
    "node0.gpu0.nvlink.to3" },
  { "nodes=1;gpus_per_node=4;gpu=toy;intra=mesh", 3, 0, -1, PATH_NVLINK, 1e-6,
    "node0.gpu3.nvlink.to0" },
  { "nodes=1;gpus_per_node=4;gpu=toy;intra=mesh", 2, 1, -1, PATH_NVLINK, 1e-6,
    "node0.gpu2.nvlink.to1" },
  { "name=rooted", 3, 2, -1, PATH_NVLINK, 0, "node0.gpu3.nvlink.to2" },
  { "name=rooted", 1, 2, -1, PATH_PHB, 0, "node0.gpu1.pcie.up node0.gpu2.pcie.down" },
  { "name=rooted", 3, 4, -1, PATH_SYS, 0,
    "node0.gpu3.pcie.up node0.socket0.to1 node0.gpu4.pcie.down" },
  { "name=rooted;gpus_per_node=3", 2, 0, -1, PATH_PHB, 0,
    "node0.gpu2.pcie.up node0.gpu0.pcie.down" },
  /* between nodes: the nearest card, a named one, and its number modulo the cards */
  { "name=2 x switched", 1, 8, -1, PATH_NET, 3e-6,
    "node0.gpu1.pcie.up node0.nic0.tx node1.nic0.rx node1.gpu0.pcie.down" },
  { "name=2 x switched", 3, 14, -1, PATH_NET, 3e-6,
    "node0.gpu3.pcie.up node0.nic1.tx node1.nic3.rx node1.gpu6.pcie.down" },
  { "name=2 x switched", 0, 8, 7, PATH_NET, 3e-6,
    "node0.gpu0.pcie.up node0.switch0.up node0.socket0.dram node0.socket0.dram node0.socket0.to1 "
    "node0.switch3.down node0.nic3.tx node1.nic3.rx node1.switch3.up node1.socket1.to0 "
    "node1.socket0.dram node1.socket0.dram node1.switch0.down node1.gpu0.pcie.down" },
  /* 'rooted' lets cards read memory of GPUs under their root complex, and no farther */
  { "name=2 x rooted", 7, 8, -1, PATH_NET, 3e-6,
    "node0.gpu7.pcie.up node0.socket1.dram node0.socket1.dram node0.socket1.to0 node0.nic0.tx "
    "node1.nic0.rx node1.gpu0.pcie.down" },
  /* 'switched' keeps to NCCL's default: no farther than its PCIe switch */
  { "name=2 x switched", 0, 8, 1, PATH_NET, 3e-6,
    "node0.gpu0.pcie.up node0.switch0.up node0.socket0.dram node0.socket0.dram node0.switch1.down "
    "node0.nic1.tx node1.nic1.rx node1.switch1.up node1.socket0.dram node1.socket0.dram "
    "node1.switch0.down node1.gpu0.pcie.down" },
  { "name=2 x switched;gpu_direct=off", 0, 8, -1, PATH_NET, 3e-6,
    "node0.gpu0.pcie.up node0.switch0.up node0.socket0.dram node0.socket0.dram node0.switch0.down "
    "node0.nic0.tx node1.nic0.rx node1.switch0.up node1.socket0.dram node1.socket0.dram "
    "node1.switch0.down node1.gpu0.pcie.down" },
  /* cards that cannot read GPU memory: staged beside the GPU at both ends */
  { "name=2 x switched;nic=staged", 0, 8, -1, PATH_NET, 30e-6,
    "node0.gpu0.pcie.up node0.switch0.up node0.socket0.dram node0.socket0.dram node0.switch0.down "
    "node0.nic0.tx node1.nic0.rx node1.switch0.up node1.socket0.dram node1.socket0.dram "
    "node1.switch0.down node1.gpu0.pcie.down" },
  { "name=2 x rooted;nic=staged", 7, 15, -1, PATH_NET, 30e-6,
    "node0.gpu7.pcie.up node0.socket1.dram node0.socket1.dram node0.socket1.to0 node0.nic0.tx "
    "node1.nic0.rx node1.socket0.to1 node1.socket1.dram node1.socket1.dram node1.gpu7.pcie.down" },
  /* the fabric: within a leaf, between leaves, and from rail to rail */
  { "name=4 x rooted;leaf_nodes=2", 0, 8, -1, PATH_NET, 3e-6,
    "node0.gpu0.pcie.up node0.nic0.tx node1.nic0.rx node1.gpu0.pcie.down" },
  { "name=4 x rooted;leaf_nodes=2", 0, 16, -1, PATH_NET, 3e-6,
    "node0.gpu0.pcie.up node0.nic0.tx leaf0.up leaf1.down node2.nic0.rx node2.gpu0.pcie.down" },
  { "name=2 x switched;fabric=rails", 2, 10, -1, PATH_NET, 3e-6,
    "node0.gpu2.pcie.up node0.nic1.tx node1.nic1.rx node1.gpu2.pcie.down" },
  { "name=2 x switched;fabric=rails", 0, 15, -1, PATH_NET, 3e-6,
    "node0.gpu0.pcie.up node0.nic0.tx leaf0.up leaf3.down node1.nic3.rx node1.gpu7.pcie.down" },
  /* rail r has leaves 2r and 2r + 1 here */
  { "name=4 x switched;fabric=rails;leaf_nodes=2", 2, 18, -1, PATH_NET, 3e-6,
    "node0.gpu2.pcie.up node0.nic1.tx leaf2.up leaf3.down node2.nic1.rx node2.gpu2.pcie.down" },
  /* unlike nodes: three GPUs on node 2, whose only card is its nearest */
  { "name=two-kinds", 2, 18, -1, PATH_NET, 3e-6,
    "node0.gpu2.pcie.up node0.nic1.tx leaf0.up leaf1.down node2.nic0.rx node2.gpu2.pcie.down" },
};

START_TEST (test_made_up)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  check_cases (profiles, made_up, G_N_ELEMENTS (made_up));
}
END_TEST

static const RouteCase shipped[] = {
  { "name=4 x a40x8-nvlink-pairs", 6, 7, -1, PATH_NVLINK, 0, "node0.gpu6.nvlink.to7" },
  { "name=4 x a40x8-nvlink-pairs", 1, 2, -1, PATH_PHB, 0,
    "node0.gpu1.pcie.up node0.gpu2.pcie.down" },
  { "name=4 x a40x8-nvlink-pairs", 3, 4, -1, PATH_SYS, 0,
    "node0.gpu3.pcie.up node0.socket0.to1 node0.gpu4.pcie.down" },
  { "name=4 x a40x8-nvlink-pairs", 7, 8, -1, PATH_NET, 0,
    "node0.gpu7.pcie.up node0.socket1.dram node0.socket1.dram node0.socket1.to0 node0.nic0.tx "
    "node1.nic0.rx node1.socket0.dram node1.socket0.dram node1.gpu0.pcie.down" },
  { "name=2 x dgx-a100", 0, 7, -1, PATH_NVLINK, 0, "node0.gpu0.nvlink.out node0.gpu7.nvlink.in" },
  { "name=2 x dgx-a100", 5, 13, -1, PATH_NET, 0,
    "node0.gpu5.pcie.up node0.nic5.tx node1.nic5.rx node1.gpu5.pcie.down" },
};

START_TEST (test_shipped)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  check_cases (profiles, shipped, G_N_ELEMENTS (shipped));
}
END_TEST

START_TEST (test_host_memory)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    switched = make_cluster (profiles, "name=2 x switched");
  g_autoptr (Cluster)    rooted = make_cluster (profiles, "name=rooted");
  g_autoptr (Cluster)    tiered = make_cluster (profiles, "name=tiered");
  Route                  route;
  cluster_route_to_host (switched, 13, &route);
  assert_route (switched, &route, PATH_PHB, 0,
                "node1.gpu5.pcie.up node1.switch2.up node1.socket1.dram");
  cluster_route_from_host (switched, 13, &route);
  assert_route (switched, &route, PATH_PHB, 0,
                "node1.socket1.dram node1.switch2.down node1.gpu5.pcie.down");
  cluster_route_from_host (tiered, 2, &route);
  assert_route (tiered, &route, PATH_PHB, 0,
                "node0.socket0.dram node0.switch4.down node0.switch1.down node0.gpu2.pcie.down");
  cluster_route_to_host (rooted, 3, &route);
  assert_route (rooted, &route, PATH_PHB, 0, "node0.gpu3.pcie.up node0.socket0.dram");
  ck_assert_uint_eq (cluster_socket_of_gpu (rooted, 3), 0);
  ck_assert_uint_eq (cluster_socket_of_gpu (rooted, 4), 1);
}
END_TEST

/* GPU and card: their PCIe class, the class with PXN, whether the card reads the GPU's memory. */
typedef struct
{
  const char *cluster;
  guint       gpu, card;
  PathClass   pcie, path;
  gboolean    direct;
} CardCase;

static const CardCase card_cases[] = {
  { "name=switched", 1, 0, PATH_PIX, PATH_PIX, TRUE },
  { "name=switched", 1, 1, PATH_PHB, PATH_PHB, FALSE },
  { "name=switched", 1, 2, PATH_SYS, PATH_SYS, FALSE },
  { "name=tiered", 1, 1, PATH_PXB, PATH_PXB, TRUE },
  { "name=tiered;intra=switch", 1, 2, PATH_SYS, PATH_PXN, FALSE },
  { "name=placed", 3, 0, PATH_PIX, PATH_PIX, TRUE },
  { "name=placed", 2, 0, PATH_PXB, PATH_PXB, TRUE },
  { "name=placed", 0, 2, PATH_PIX, PATH_PIX, TRUE },
  { "name=placed", 0, 3, PATH_PHB, PATH_PHB, FALSE },
  { "name=placed", 1, 2, PATH_PHB, PATH_PHB, FALSE },
  { "name=placed", 0, 0, PATH_SYS, PATH_SYS, FALSE },
  { "name=placed", 7, 0, PATH_PHB, PATH_PHB, FALSE },
  { "name=placed", 7, 3, PATH_SYS, PATH_SYS, FALSE },
  { "name=placed;nics=2", 0, 1, PATH_PIX, PATH_PIX, TRUE }, /* cards 0 and 2 of four */
  { "name=placed;gpus_per_node=4", 3, 1, PATH_PIX, PATH_PIX, TRUE },
  { "name=switched;intra=switch", 1, 0, PATH_PIX, PATH_PIX, TRUE },
  { "name=switched;intra=switch", 1, 2, PATH_SYS, PATH_PXN, FALSE },
  { "name=switched;nic=staged", 1, 0, PATH_PIX, PATH_PIX, FALSE },
  { "name=2 x switched;gpu_direct=off", 1, 0, PATH_PIX, PATH_PIX, FALSE },
  /* bridged to GPU 0, which is no nearer */
  { "name=rooted", 1, 0, PATH_PHB, PATH_PHB, TRUE },
  { "name=rooted", 4, 0, PATH_SYS, PATH_SYS, FALSE },
  { "name=rooted;gpu=toy-c2c", 1, 0, PATH_C2C, PATH_C2C, TRUE },
};

START_TEST (test_card_classes)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  const CardCase        *c = &card_cases[_i];
  g_autoptr (Cluster)    cluster = make_cluster (profiles, c->cluster);
  ck_assert_str_eq (path_class_name (cluster_gpu_card_pcie (cluster, c->gpu, c->card)),
                    path_class_name (c->pcie));
  ck_assert_str_eq (path_class_name (cluster_gpu_card_path (cluster, c->gpu, c->card)),
                    path_class_name (c->path));
  ck_assert_int_eq (cluster_gpu_card_is_direct (cluster, c->gpu, c->card), c->direct);
}
END_TEST

static void
assert_cards (const Cluster *cluster, const char *expected)
{
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint gpu = 0; gpu < cluster_gpus_of_node (cluster, 0); gpu++)
    g_string_append_printf (text, "%s%u", gpu > 0 ? " " : "", cluster_nearest_card (cluster, gpu));
  ck_assert_str_eq (text->str, expected);
}

/* Under the same switch first, then the same socket, then any; in turn among equals. */
START_TEST (test_nearest_card)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    switched = make_cluster (profiles, "name=switched");
  g_autoptr (Cluster)    eight = make_cluster (profiles, "name=switched;nics=8");
  g_autoptr (Cluster)    many = make_cluster (profiles, "name=switched;nics=16");
  g_autoptr (Cluster)    one = make_cluster (profiles, "name=switched;nics=1");
  g_autoptr (Cluster)    tiered = make_cluster (profiles, "name=tiered;nics=2");
  g_autoptr (Cluster)    two = make_cluster (profiles, "name=rooted;nics=2");
  g_autoptr (Cluster)    none = make_cluster (profiles, "name=rooted;nics=0");
  g_autoptr (Cluster)    placed = make_cluster (profiles, "name=placed");
  g_autoptr (Cluster)    braided = make_cluster (profiles, "name=braided");
  assert_cards (switched, "0 0 1 1 2 2 3 3");
  assert_cards (eight, "0 1 2 3 4 5 6 7");
  assert_cards (many, "0 2 4 6 8 10 12 14");
  assert_cards (one, "0 0 0 0 0 0 0 0");
  assert_cards (tiered, "0 0 0 0 1 1 1 1"); /* under the other switch below the same one */
  assert_cards (two, "0 0 0 0 1 1 1 1");
  assert_cards (placed, "2 2 0 0 1 1 3 1"); /* socket 1: GPUs 0, 1 and 6 share cards 2 and 3 */
  assert_cards (braided, "0 2 2 2 1 3 3 3");
  ck_assert_uint_eq (cluster_nearest_card (none, 0), G_MAXUINT32);
}
END_TEST

/*
 * There and back cross the same kinds of links in both directions, and every route stays within
 * its bound.
 */
START_TEST (test_all_pairs)
{
  static const char *const settings[] = {
    "name=two-kinds", "name=3 x switched;nic=staged;fabric=rails", "name=2 x rooted;intra=host",
    "name=2 x tiered;gpu_direct=off;fabric=dragonfly;group_nodes=1"
  };
  g_autoptr (ProfileSet) profiles = test_profiles ();
  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    {
      g_autoptr (Cluster) cluster = make_cluster (profiles, settings[s]);
      const guint         n = cluster_n_gpus (cluster);
      for (guint i = 0; i < n * n; i++)
        {
          Route there, back;
          cluster_route_gpus (cluster, i / n, i % n, -1, &there);
          cluster_route_gpus (cluster, i % n, i / n, -1, &back);
          ck_assert_uint_le (there.n, ROUTE_MAX);
          ck_assert_uint_eq (there.n, back.n);
          ck_assert_int_eq (there.class_, back.class_);
          ck_assert ((there.n == 0) == (i / n == i % n));
          for (guint k = 0; k < there.n; k++)
            ck_assert_uint_lt (there.resources[k], cluster_n_resources (cluster));
        }
    }
}
END_TEST

SUITE_MAIN (route)
{
  TCase *tcase = tcase_create ("route");
  tcase_add_test (tcase, test_made_up);
  tcase_add_test (tcase, test_shipped);
  tcase_add_test (tcase, test_host_memory);
  tcase_add_loop_test (tcase, test_card_classes, 0, G_N_ELEMENTS (card_cases));
  tcase_add_test (tcase, test_nearest_card);
  tcase_add_test (tcase, test_all_pairs);
  return run_case ("route", tcase);
}
