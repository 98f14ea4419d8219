/*
 * Clusters: the three ways to say one, what each resource can carry, numbering, and every mistake
 * with its message.
 */
#include "../suite.h"
#include "fixture.h"

static double
capacity (const Cluster *cluster, guint node, ResourceKind kind, guint index)
{
  const guint id = cluster_node_resource (cluster, node, kind, index);
  ck_assert_uint_ne (id, G_MAXUINT32);
  return cluster_resource (cluster, id)->capacity;
}

static guint
count_kind (const Cluster *cluster, ResourceKind kind)
{
  guint n = 0;
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    n += cluster_resource (cluster, id)->kind == kind;
  return n;
}

/* ---- the main job's cluster ------------------------------------------------------------------ */

START_TEST (test_a40)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Cluster)    cluster = make_cluster (profiles, "name=4 x a40x8-nvlink-pairs");
  ck_assert_str_eq (cluster_title (cluster), "4 nodes x 8 a40-48, nvlink-pairs, 1 ib-edr-100");
  ck_assert_uint_eq (cluster_n_nodes (cluster), 4);
  ck_assert_uint_eq (cluster_n_gpus (cluster), 32);
  ck_assert (cluster_is_uniform (cluster));
  /*
   * a node: 8 x (sm, hbm, up, down), 2 socket links, 2 dram, cores, 8 bridges' directions, tx, rx =
   * 47
   */
  ck_assert_uint_eq (cluster_n_resources (cluster), 188); /* 4 x 47 */
  ck_assert_double_eq (capacity (cluster, 3, RESOURCE_NVLINK_PAIR, 7), 56e9);
  ck_assert_double_eq (capacity (cluster, 3, RESOURCE_NIC_TX, 0), 12.5e9);
  ck_assert_double_eq (capacity (cluster, 3, RESOURCE_PCIE_UP, 5), 31.5e9);
  ck_assert_double_eq (capacity (cluster, 3, RESOURCE_HBM, 5), 696e9);
  ck_assert_double_eq (capacity (cluster, 3, RESOURCE_SM, 5), 84);
  ck_assert_double_eq (cluster_node_profile (cluster, 0)->dram_bytes.value, 512e9);
  ck_assert_str_eq (cluster_nic_profile (cluster, 0)->id, "ib-edr-100");
  ck_assert_str_eq (cluster_intra_profile (cluster, 0)->id, "nvlink-pairs");
}
END_TEST

START_TEST (test_name_and_parts_agree)
{
  static const char *const same[] = { "name=2 x switched", "name=2xswitched",
                                      "name=switched;nodes=2", "node=switched;nodes=2" };
  g_autoptr (ProfileSet)   profiles = test_profiles ();
  g_autoptr (Cluster)      first = make_cluster (profiles, same[0]);
  for (guint i = 1; i < G_N_ELEMENTS (same); i++)
    {
      g_autoptr (Cluster) other = make_cluster (profiles, same[i]);
      ck_assert_str_eq (cluster_title (other), cluster_title (first));
      ck_assert_uint_eq (cluster_n_resources (other), cluster_n_resources (first));
      for (guint id = 0; id < cluster_n_resources (first); id++)
        ck_assert_double_eq (cluster_resource (other, id)->capacity,
                             cluster_resource (first, id)->capacity);
    }
}
END_TEST

START_TEST (test_parts)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster =
      make_cluster (profiles, "nodes=3;gpus_per_node=16;gpu=toy;intra=switch;nics=2;nic=staged");
  g_autoptr (Cluster) single = make_cluster (profiles, "nodes=1;gpus_per_node=1;gpu=toy");
  g_autoptr (Cluster) bare =
      make_cluster (profiles, "nodes=2;gpus_per_node=1;gpu=toy;intra=none;nics=1;nic=direct");
  ck_assert_str_eq (cluster_title (cluster), "3 nodes x 16 toy, switch, 2 staged");
  ck_assert_str_eq (cluster_title (single), "1 node x 1 toy, none");
  ck_assert_str_eq (cluster_title (bare), "2 nodes x 1 toy, none, 1 direct");
  ck_assert_uint_eq (cluster_socket_of_gpu (cluster, 7), 0);
  ck_assert_uint_eq (cluster_socket_of_gpu (cluster, 8), 1);
  ck_assert_ptr_null (cluster_nic_profile (single, 0));
}
END_TEST

START_TEST (test_overrides)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster = make_cluster (
         profiles,
         "name=2 x switched;gpus_per_node=3;gpu=toy-small;nics=2;nic=staged;dram_bytes=64 GB");
  const NodeProfile *node = cluster_node_profile (cluster, 1);
  ck_assert_str_eq (cluster_title (cluster), "2 nodes x 3 toy-small, pcie, 2 staged");
  ck_assert_double_eq (node->dram_bytes.value, 64e9);
  ck_assert_double_eq (node->gpus.value, 3);
  ck_assert_double_eq (node->nics.value, 2);
  ck_assert_str_eq (node->gpu, "toy-small");
  ck_assert_str_eq (node->dram_bytes.source, "the scenario");
  ck_assert_double_eq (cluster_gpu_profile (cluster, 5)->hbm_bytes.value, 5.0 * (1 << 30));
  /* the first three of eight positions: switches 0, 0, 1, all on socket 0 */
  ck_assert_uint_eq (cluster_socket_of_gpu (cluster, 2), 0);
  ck_assert_uint_eq (cluster_first_gpu (cluster, 1), 3);
  /* the profile in the set is untouched */
  g_autoptr (Cluster) plain = make_cluster (profiles, "name=switched");
  ck_assert_double_eq (cluster_node_profile (plain, 0)->dram_bytes.value, 256e9);
}
END_TEST

/* toy: host link 20 GB/s, ports 60 GB/s; pcie: 16 GB/s at 0.7; switch: 100 GB/s; mesh: 25 GB/s. */
START_TEST (test_capacities)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    pcie = make_cluster (profiles, "name=switched");
  g_autoptr (Cluster)    nvswitch = make_cluster (profiles, "name=switched;intra=switch");
  g_autoptr (Cluster)    mesh = make_cluster (profiles, "name=switched;intra=mesh;gpus_per_node=4");
  g_autoptr (Cluster) mesh2 = make_cluster (profiles, "name=switched;intra=mesh;gpus_per_node=2");
  const ClusterResource *up =
      cluster_resource (pcie, cluster_gpu_resource (pcie, 3, RESOURCE_PCIE_UP));
  const ClusterResource *out =
      cluster_resource (nvswitch, cluster_gpu_resource (nvswitch, 3, RESOURCE_PCIE_UP));
  const ClusterResource *hbm =
      cluster_resource (pcie, cluster_gpu_resource (pcie, 3, RESOURCE_HBM));
  ck_assert_double_eq (up->capacity, 16e9);
  ck_assert_double_eq (up->efficiency, 0.7);
  ck_assert_double_eq (out->capacity, 20e9);
  ck_assert_double_eq (out->efficiency, 0.8);
  ck_assert_double_eq (hbm->capacity, 1e12);
  ck_assert_double_eq (hbm->efficiency, 0.75);
  ck_assert_double_eq (capacity (nvswitch, 0, RESOURCE_NVLINK_OUT, 2), 60e9);
  ck_assert_double_eq (capacity (mesh, 0, RESOURCE_NVLINK_PAIR, 11), 20e9); /* 60 over 3 peers */
  ck_assert_double_eq (capacity (mesh2, 0, RESOURCE_NVLINK_PAIR, 1), 25e9); /* the link's own */
  ck_assert_uint_eq (count_kind (mesh, RESOURCE_NVLINK_PAIR), 12);
  ck_assert_double_eq (capacity (pcie, 0, RESOURCE_SWITCH_DOWN, 3), 15e9);
  ck_assert_double_eq (capacity (pcie, 0, RESOURCE_SOCKET_LINK, 1), 12e9);
  ck_assert_double_eq (capacity (pcie, 0, RESOURCE_DRAM, 1), 150e9);
  ck_assert_double_eq (capacity (pcie, 0, RESOURCE_CORES, 0), 32);
  ck_assert_double_eq (capacity (pcie, 0, RESOURCE_NVME_READ, 0), 6e9);
  ck_assert_double_eq (capacity (pcie, 0, RESOURCE_NVME_WRITE, 0), 3e9);
  ck_assert_uint_eq (cluster_gpu_resource (pcie, 3, RESOURCE_NVLINK_OUT), G_MAXUINT32);
  ck_assert_uint_eq (cluster_node_resource (pcie, 0, RESOURCE_NIC_TX, 4), G_MAXUINT32);
}
END_TEST

/*
 * A card under a root complex moves at most host_bridge_rate, 16 GB/s of the shipped host of
 * clusters by parts, on PCIe 4: 16 / 25 of a card of 200 Gbit/s, while one of 100 has its own
 * efficiency, and a host of PCIe 5 moves twice as much.
 * Boards of 8, with an NVSwitch, and modules with their CPU have no such bridge.
 */
START_TEST (test_host_bridge)
{
  static const struct
  {
    const char *parts;
    double      bridge; /* 0: none, so the card has its own efficiency */
  } cases[] = {
    { "nodes=2;gpus_per_node=4;gpu=a100-sxm-64;intra=nvlink3-mesh;nics=4;nic=ib-hdr-200", 0.64 },
    { "nodes=2;gpus_per_node=4;gpu=h100-sxm-64;intra=nvlink4-mesh;nics=4;nic=ib-ndr-200", 0 },
    { "nodes=2;gpus_per_node=4;gpu=a100-sxm-64;intra=nvlink3-mesh;nics=4;nic=ib-hdr-100", 0 },
    { "nodes=2;gpus_per_node=8;gpu=h100-sxm-80;intra=nvlink4-switch;nics=8;nic=ib-ndr-200", 0 },
    { "nodes=2;gpus_per_node=8;gpu=mi300x-192;intra=xgmi-mi300-mesh;nics=8;nic=ib-ndr-200", 0 },
    { "nodes=2;gpus_per_node=1;gpu=h200-sxm-141;intra=none;nics=1;nic=ib-ndr-200", 0 },
    { "nodes=2;gpus_per_node=4;gpu=gb200-186;intra=nvlink4-mesh;nics=4;nic=ib-ndr-200", 0 },
    { "name=2 x mn5-acc", 0 }, /* its profile says where the cards are */
  };
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    for (guint kind = RESOURCE_NIC_TX; kind <= RESOURCE_NIC_RX; kind++)
      {
        g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
        g_autoptr (DiagList) diags = diag_list_new (); /* a warning: no board is like the GB200's */
        g_autoptr (Cluster)  cluster = try_cluster (profiles, cases[i].parts, diags);
        ck_assert_ptr_nonnull (cluster);
        const guint  id = cluster_node_resource (cluster, 1, (ResourceKind) kind, 0);
        const double own = cluster_nic_profile (cluster, 1)->efficiency.value;
        ck_assert_double_eq_tol (cluster_resource (cluster, id)->efficiency,
                                 cases[i].bridge > 0 ? cases[i].bridge : own, 1e-12);
        ck_assert_double_gt (own, 0.64);
      }
}
END_TEST

/*
 * Of a node whose devices are placed, the figure holds back only the cards under no switch: 4 of
 * `bridged`'s 10 GB/s.
 */
START_TEST (test_host_bridge_of_placed_cards)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster = make_cluster (profiles, "name=2 x bridged");
  for (guint card = 0; card < 4; card++)
    {
      const guint id = cluster_node_resource (cluster, 1, RESOURCE_NIC_RX, card);
      ck_assert_double_eq_tol (cluster_resource (cluster, id)->efficiency, card == 3 ? 0.4 : 0.9,
                               1e-12);
    }
}
END_TEST

static const ClusterResource *
find_leaf (const Cluster *cluster, ResourceKind kind, guint leaf)
{
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    if (cluster_resource (cluster, id)->kind == kind
        && cluster_resource (cluster, id)->index == leaf)
      return cluster_resource (cluster, id);
  return NULL;
}

/*
 * A card is 10 GB/s. two-kinds: leaf 0 has two nodes of four cards, leaf 1 one node of one; both
 * over 2.
 */
START_TEST (test_leaves)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    flat = make_cluster (profiles, "name=5 x switched");
  g_autoptr (Cluster)    unlike = make_cluster (profiles, "name=two-kinds");
  g_autoptr (Cluster)    three =
      make_cluster (profiles, "name=5 x switched;leaf_nodes=2;oversubscription=4");
  g_autoptr (Cluster) rails =
      make_cluster (profiles, "name=5 x switched;leaf_nodes=2;fabric=rails");
  g_autoptr (Cluster) asked = make_cluster (profiles, "name=two-kinds;oversubscription=5");
  ck_assert_uint_eq (count_kind (flat, RESOURCE_LEAF_UP), 0);
  ck_assert_uint_eq (count_kind (unlike, RESOURCE_LEAF_UP), 2);
  ck_assert_double_eq (find_leaf (unlike, RESOURCE_LEAF_UP, 0)->capacity, 40e9);
  ck_assert_double_eq (find_leaf (unlike, RESOURCE_LEAF_DOWN, 1)->capacity, 5e9);
  ck_assert_double_eq (find_leaf (asked, RESOURCE_LEAF_UP, 1)->capacity, 2e9);
  ck_assert_uint_eq (count_kind (three, RESOURCE_LEAF_DOWN), 3);
  ck_assert_double_eq (find_leaf (three, RESOURCE_LEAF_UP, 1)->capacity, 20e9);
  ck_assert_double_eq (find_leaf (three, RESOURCE_LEAF_UP, 2)->capacity,
                       10e9); /* one node is left for it */
  ck_assert_double_eq (find_leaf (three, RESOURCE_LEAF_UP, 2)->efficiency, 0.9);
  ck_assert_uint_eq (count_kind (rails, RESOURCE_LEAF_UP), 12); /* 4 rails x 3 runs */
  ck_assert_double_eq (find_leaf (rails, RESOURCE_LEAF_UP, 9)->capacity, 20e9); /* rail 3, run 1 */
  ck_assert_double_eq (find_leaf (rails, RESOURCE_LEAF_UP, 11)->capacity, 10e9);
}
END_TEST

START_TEST (test_unlike_nodes)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster = make_cluster (profiles, "name=two-kinds");
  ck_assert_str_eq (cluster_title (cluster),
                    "2 nodes x 8 toy, pcie, 4 direct + 1 node x 3 toy, pairs, 1 direct");
  ck_assert (!cluster_is_uniform (cluster));
  ck_assert_uint_eq (cluster_n_gpus (cluster), 19);
  ck_assert_uint_eq (cluster_node_of_gpu (cluster, 15), 1);
  ck_assert_uint_eq (cluster_node_of_gpu (cluster, 16), 2);
  ck_assert_uint_eq (cluster_first_gpu (cluster, 2), 16);
  ck_assert_uint_eq (cluster_gpus_of_node (cluster, 2), 3);
  ck_assert_uint_eq (cluster_nics_of_node (cluster, 1), 4);
  ck_assert_uint_eq (cluster_nics_of_node (cluster, 2), 1);
  ck_assert_double_eq (cluster_node_profile (cluster, 2)->dram_bytes.value, 64e9);
  /* GPUs 0 and 1 are bridged, the third is not */
  ck_assert_uint_eq (count_kind (cluster, RESOURCE_NVLINK_PAIR), 2);
}
END_TEST

/* A cluster profile vouches for what the scenario leaves to it. */
START_TEST (test_facts)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster = make_cluster (profiles, "name=two-kinds");
  g_autoptr (Cluster)    own = make_cluster (profiles, "name=two-kinds;oversubscription=3");
  g_autofree char       *title = cluster_fabric_title (cluster);
  const Fact            *fact;
  ck_assert_ptr_nonnull (strstr (title, "oversubscribed 2;"));
  ck_assert_str_eq (cluster_fact (cluster, 0, &fact), "oversubscription");
  ck_assert_str_eq (fact->value, "2");
  ck_assert_str_eq (fact->source, "made up");
  ck_assert_int_eq (fact->confidence, CONFIDENCE_MEASURED);
  ck_assert_ptr_null (cluster_fact (cluster, 1, &fact));
  ck_assert_ptr_null (cluster_fact (own, 0, &fact));
}
END_TEST

START_TEST (test_sum_of_nodes)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster) cluster = make_cluster (profiles, "name=2 x switched + rooted;leaf_nodes=2");
  ck_assert_str_eq (cluster_title (cluster),
                    "2 nodes x 8 toy, pcie, 4 direct + 1 node x 8 toy, pairs, 1 direct");
  ck_assert_uint_eq (count_kind (cluster, RESOURCE_LEAF_UP), 2);
}
END_TEST

START_TEST (test_slow_gpus)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster =
      make_cluster (profiles, "name=2 x switched;slow_gpus=3:0.5, 15:0.25");
  ck_assert_double_eq (cluster_gpu_speed (cluster, 0), 1);
  ck_assert_double_eq (cluster_gpu_speed (cluster, 3), 0.5);
  ck_assert_double_eq (cluster_gpu_speed (cluster, 15), 0.25);
  ck_assert_double_eq (capacity (cluster, 0, RESOURCE_SM, 3), 10); /* speed is not in it */
}
END_TEST

/* Every id is found again by its node, kind and index, and has a name of its own. */
START_TEST (test_numbering)
{
  static const char *const settings[] = { "name=two-kinds",
                                          "name=2 x switched;intra=mesh;fabric=rails",
                                          "name=2 x switched;intra=switch" };
  g_autoptr (ProfileSet)   profiles = test_profiles ();
  for (guint s = 0; s < G_N_ELEMENTS (settings); s++)
    {
      g_autoptr (Cluster)    cluster = make_cluster (profiles, settings[s]);
      g_autoptr (GHashTable) names = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
      for (guint id = 0; id < cluster_n_resources (cluster); id++)
        {
          const ClusterResource *resource = cluster_resource (cluster, id);
          ck_assert (g_hash_table_add (names, cluster_resource_name (cluster, id)));
          ck_assert (resource->capacity > 0 && resource->efficiency > 0
                     && resource->efficiency <= 1);
          if (resource->node == G_MAXUINT32)
            continue;
          ck_assert_uint_eq (
              cluster_node_resource (cluster, resource->node, resource->kind, resource->index), id);
        }
    }
}
END_TEST

/* Resources by arithmetic; the time is printed, not asserted. */
START_TEST (test_hundred_thousand)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const gint64           start = g_get_monotonic_time ();
  g_autoptr (Cluster) cluster = make_cluster (profiles, "name=dgx-h100;nodes=12500;leaf_nodes=32");
  g_printerr ("# 100 000 GPUs: %.0f ms\n", (double) (g_get_monotonic_time () - start) / 1e3);
  ck_assert_uint_eq (cluster_n_gpus (cluster), 100000);
  /* 8 x (sm hbm up down out in) + 4 x 2 switches + 2 + 2 dram + cores + 8 x 2 cards + 2 nvme: 79 */
  ck_assert_uint_eq (cluster_n_resources (cluster), 12500 * 79 + 2 * 391);
  ck_assert_uint_eq (cluster_node_of_gpu (cluster, 99999), 12499);
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

static const char *const mistakes[] = {
  "",
  "name=0 x switched",
  "nodes=0;node=switched",
  "node=switched",
  "name=switchd",
  "name=4 x switchd",
  "name=4 x",
  "name=../gpu/toy",
  "name=2 x switched;nodes=3",
  "name=switched;node=rooted",
  "name=two-kinds;gpu=toy",
  "name=two-kinds;nodes=4",
  "name=2 x two-kinds",
  "name=switched + two-kinds",
  "name=2 x switched + 2 x root",
  "name=switched+rooted;nodes=3;nics=2",
  "name=switched+",
  "node=swiched;nodes=2",
  "name=switched;gpu=tyo;intra=mash;nic=dirct",
  "name=switched;gpus_per_node=9",
  "nodes=2;gpu=toy;intra=mesh",
  "nodes=2;gpus_per_node=4;intra=mesh;nics=1;nic=direct",
  "nodes=2;gpus_per_node=4;gpu=toy;nics=1;nic=direct",
  "nodes=2;gpus_per_node=4;gpu=toy;intra=none;nics=1;nic=direct",
  "nodes=2;gpus_per_node=4;gpu=toy;intra=mesh",
  "nodes=2;gpus_per_node=4;gpu=toy;intra=mesh;nics=2",
  "nodes=2;gpus_per_node=4;gpu=toy;intra=mesh;nics=0;nic=direct",
  "name=2 x switched;intra=direct",
  "name=2 x switched;nic=mesh",
  "name=2 x switched;nic=none",
  "name=2 x switched;fabric=rail",
  "name=switched;slow_gpus=8:0.5,0:0,1:2,2,3:x,4:0.5 5:0.5,6:0.0009",
  "name=switched;slow_gpus=3:0.5,4:1,3:0.6",
  "name=2 x",
  "name=switched;nodes=1000000",
  "nodes=900;gpus_per_node=1024;gpu=toy;intra=mesh;nics=1;nic=direct",
  ("name=2 x switched;slow_nics=2.0:0.5,0.4:0.5,0.0:0,0.1:1.5,1:0.5,0.0:x,0.1:9e-4,1.1:0.5 "
   ",1.1:0.25"),
  "name=4 x switched;group_nodes=2",
  "name=4 x switched;fabric=fat-tree",
  "name=4 x switched;fabric=rails;group_nodes=2",
  "name=4 x switched;fabric=dragonfly;taper=0",
  "name=4 x switched;fabric=dragonfly;spine_oversubscription=2;uplinks=3",
  "name=4 x switched;fabric=fat-tree;leaf_nodes=2;group_nodes=3;taper=0.5",
  "name=4 x switched;routing=valiant",
  "name=4 x switched;gpu_direct=on",
  "name=empty",
  "name=bad",
  "name=bad-facts",
};

START_TEST (test_mistakes)
{
  g_autoptr (GString) all = g_string_new (NULL);
  for (guint i = 0; i < G_N_ELEMENTS (mistakes); i++)
    {
      g_autoptr (ProfileSet) profiles = test_profiles ();
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Cluster)    cluster = try_cluster (profiles, mistakes[i], diags);
      g_autofree char       *text = diag_text (diags);
      ck_assert_msg (cluster == NULL && *text != '\0', "'%s' passed", mistakes[i]);
      g_string_append_printf (all, "== %s\n%s\n", mistakes[i], text);
    }
  assert_golden ("cluster-mistakes.txt", all->str);
}
END_TEST

/*
 * A GPU where a node is wanted: the hint names the shipped nodes that have it, and how to build
 * one. 'h100' stands for every H100; no shipped node has an L4.
 */
START_TEST (test_gpu_for_a_node)
{
  static const struct
  {
    const char *name, *in_hint, *not_in_hint;
  } cases[] = {
    { "name=h100", "dgx-h100", "dgx-a100" },
    { "name=64xh100", "nodes that have it: ", "dgx-a100" },
    { "name=8 x a100-sxm-40", "p4d", "dgx-h100" },
    { "name=l4", "--gpu l4-24", "nodes that have it" },
    { "name=dgx-h10", "did you mean", "that is a GPU" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Cluster)    cluster = try_cluster (profiles, cases[i].name, diags);
      g_autofree char       *text = diag_text (diags);

      ck_assert_ptr_null (cluster);
      ck_assert_msg (strstr (text, cases[i].in_hint) != NULL, "%s", text);
      ck_assert_msg (strstr (text, cases[i].not_in_hint) == NULL, "%s", text);
    }
}
END_TEST

SUITE_MAIN (cluster)
{
  TCase *tcase = tcase_create ("cluster");
  tcase_add_test (tcase, test_a40);
  tcase_add_test (tcase, test_name_and_parts_agree);
  tcase_add_test (tcase, test_parts);
  tcase_add_test (tcase, test_overrides);
  tcase_add_test (tcase, test_capacities);
  tcase_add_test (tcase, test_host_bridge);
  tcase_add_test (tcase, test_host_bridge_of_placed_cards);
  tcase_add_test (tcase, test_leaves);
  tcase_add_test (tcase, test_unlike_nodes);
  tcase_add_test (tcase, test_facts);
  tcase_add_test (tcase, test_sum_of_nodes);
  tcase_add_test (tcase, test_slow_gpus);
  tcase_add_test (tcase, test_numbering);
  tcase_add_test (tcase, test_hundred_thousand);
  tcase_add_test (tcase, test_mistakes);
  tcase_add_test (tcase, test_gpu_for_a_node);
  return run_case ("cluster", tcase);
}
