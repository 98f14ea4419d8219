/*
 * Fabrics beyond one level of leaves, and the routings that choose among uplinks: capacities and
 * tables by hand, and what holds for every choice.
 */
#include <math.h>

#include "../suite.h"
#include "fixture.h"

static const ClusterResource *
find (const Cluster *cluster, const char *name)
{
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    {
      g_autofree char *own = cluster_resource_name (cluster, id);
      if (strcmp (own, name) == 0)
        return cluster_resource (cluster, id);
    }
  ck_abort_msg ("no resource '%s'", name);
}

static guint
count_kind (const Cluster *cluster, ResourceKind kind)
{
  guint n = 0;
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    n += cluster_resource (cluster, id)->kind == kind;
  return n;
}

static char *
path_names (const Cluster *cluster, guint from, guint out, guint to, guint in)
{
  FabricLink          links[FABRIC_MAX];
  const guint         n = cluster_route_fabric (cluster, from, out, to, in, 1, links);
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < n; i++)
    {
      g_autofree char *name = cluster_resource_name (cluster, links[i].resource);
      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", name);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* ---- capacities, a node being 4 cards of 10 GB/s --------------------------------------------- */

typedef struct
{
  const char *cluster, *resource;
  double      capacity;
} CapacityCase;

static const CapacityCase capacities[] = {
  /* leaf: 2 x 40 / 2; pod: its 2 leaves' 40 each / 4 */
  { "name=8 x switched;fabric=fat-tree;leaf_nodes=2;group_nodes=4;oversubscription=2;"
    "spine_oversubscription=4",
    "leaf3.up", 40e9 },
  { "name=8 x switched;fabric=fat-tree;leaf_nodes=2;group_nodes=4;oversubscription=2;"
    "spine_oversubscription=4",
    "group1.down", 20e9 },
  /* the last pod has one leaf with one node left for it */
  { "name=5 x switched;fabric=fat-tree;leaf_nodes=2;group_nodes=4", "group1.up", 40e9 },
  /* a pod of rails: 4 nodes x 4 rails */
  { "name=8 x switched;fabric=rails;leaf_nodes=2;group_nodes=4", "leaf5.up", 20e9 },
  { "name=8 x switched;fabric=rails;leaf_nodes=2;group_nodes=4", "group0.up", 160e9 },
  /* dragonfly: 4 nodes x 40 x 0.5 out of a group; routers, where told, carry what they inject */
  { "name=12 x switched;fabric=dragonfly;group_nodes=4;taper=0.5", "group2.up", 80e9 },
  { "name=12 x switched;fabric=dragonfly;group_nodes=4;leaf_nodes=1;taper=0.5", "leaf7.up", 40e9 },
  /* minimal: 80 over 2 other groups = 4 links of 10 to each */
  { "name=12 x switched;fabric=dragonfly;group_nodes=4;taper=0.5;routing=d-mod-k", "group0.to2.3",
    10e9 },
  /* 8 cards a leaf = 8 uplinks; told: 2 of 40 */
  { "name=4 x switched;leaf_nodes=2;routing=d-mod-k", "leaf1.up7", 10e9 },
  { "name=4 x switched;leaf_nodes=2;routing=ecmp;uplinks=2", "leaf0.down1", 40e9 },
  /* 8 spines with a link to the core for each of 2 leaves */
  { "name=8 x switched;fabric=fat-tree;leaf_nodes=2;group_nodes=4;routing=ecmp", "group1.up15",
    10e9 },
};

START_TEST (test_capacities)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster = make_cluster (profiles, capacities[_i].cluster);
  ck_assert_double_eq_tol (find (cluster, capacities[_i].resource)->capacity,
                           capacities[_i].capacity, 1);
}
END_TEST

START_TEST (test_counts)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    fly =
      make_cluster (profiles, "name=12 x switched;fabric=dragonfly;group_nodes=4;taper=0.5");
  g_autoptr (Cluster) minimal = make_cluster (
      profiles, "name=12 x switched;fabric=dragonfly;group_nodes=4;taper=0.5;routing=ecmp");
  g_autoptr (DiagList) warnings = diag_list_new (); /* that one group needs no 'group_nodes' */
  g_autoptr (Cluster)  one =
      try_cluster (profiles, "name=4 x switched;fabric=dragonfly;group_nodes=4", warnings);
  ck_assert_uint_eq (count_kind (fly, RESOURCE_GROUP_UP), 3);
  ck_assert_uint_eq (count_kind (fly, RESOURCE_LEAF_UP), 0); /* a group is one switch */
  ck_assert_uint_eq (count_kind (minimal, RESOURCE_GLOBAL_LINK), 3 * 2 * 4);
  ck_assert_uint_eq (count_kind (minimal, RESOURCE_GROUP_UP), 0);
  ck_assert_uint_eq (count_kind (one, RESOURCE_GROUP_UP), 0);
  ck_assert (cluster_routing_is_symmetric (fly));
  ck_assert (!cluster_routing_is_symmetric (minimal));
}
END_TEST

/* What is printed of a fabric; NULL for one switch. */
START_TEST (test_titles)
{
  static const char *const titles[][2] = {
    { "name=4 x switched", NULL },
    { "name=8 x switched;leaf_nodes=2;oversubscription=2",
      "4 leaves of 2 nodes, oversubscribed 2; spray" },
    { "name=8 x switched;fabric=rails;leaf_nodes=2;group_nodes=4",
      "16 rail leaves of 2 nodes, oversubscribed 1; 2 pods of 4 nodes, oversubscribed 1; spray" },
    { "name=8 x switched;fabric=fat-tree;leaf_nodes=2;routing=ecmp",
      "4 leaves of 2 nodes, oversubscribed 1; ecmp over 8 uplinks a leaf" },
    { "name=12 x switched;fabric=dragonfly;group_nodes=4;taper=0.5;routing=d-mod-k",
      "3 dragonfly groups of 4 nodes, taper 0.5; d-mod-k" },
  };
  g_autoptr (ProfileSet) profiles = test_profiles ();
  for (guint i = 0; i < G_N_ELEMENTS (titles); i++)
    {
      g_autoptr (Cluster) cluster = make_cluster (profiles, titles[i][0]);
      g_autofree char    *title = cluster_fabric_title (cluster);
      ck_assert_pstr_eq (title, titles[i][1]);
    }
}
END_TEST

/* ---- paths ----------------------------------------------------------------------------------- */

typedef struct
{
  const char *cluster;
  guint       from, out, to, in;
  const char *links;
} PathCase;

#define TREE "name=8 x switched;fabric=fat-tree;leaf_nodes=2;group_nodes=4"
static const PathCase paths[] = {
  { TREE, 0, 0, 1, 0, "" },
  { TREE, 0, 0, 2, 0, "leaf0.up leaf1.down" },
  { TREE, 0, 0, 6, 0, "leaf0.up group0.up group1.down leaf3.down" },
  { "name=12 x switched;fabric=dragonfly;group_nodes=4", 0, 0, 3, 0, "" },
  { "name=12 x switched;fabric=dragonfly;group_nodes=4", 0, 0, 9, 0, "group0.up group2.down" },
  /*
   * d-mod-k over 8 uplinks: card 2 of node 6 is number 26: spine 26 mod 8 = 2, core link 26/8 mod 2
   * = 1
   */
  { TREE ";routing=d-mod-k", 0, 3, 6, 2, "leaf0.up2 group0.up5 group1.down5 leaf3.down2" },
  { TREE ";routing=d-mod-k", 7, 1, 6, 2, "" },
  /* number 11 = card 3 of node 2 */
  { TREE ";routing=d-mod-k", 0, 0, 2, 3, "leaf0.up3 leaf1.down3" },
  /* rails count nodes: 2 uplinks a leaf of 2 nodes; leaf = rail * 4 + node / 2 */
  { "name=8 x switched;fabric=rails;leaf_nodes=2;routing=d-mod-k", 0, 1, 7, 1,
    "leaf4.up1 leaf7.down1" },
  { "name=8 x switched;fabric=rails;leaf_nodes=2;routing=d-mod-k", 0, 1, 6, 3,
    "leaf4.up0 leaf15.down0" },
  /* 4 links to each other group: card 1 of node 9 is number 37 */
  { "name=12 x switched;fabric=dragonfly;group_nodes=4;taper=0.5;routing=d-mod-k", 0, 0, 9, 1,
    "group0.to2.1" },
};

START_TEST (test_paths)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  const PathCase        *c = &paths[_i];
  g_autoptr (Cluster)    cluster = make_cluster (profiles, c->cluster);
  g_autofree char       *names = path_names (cluster, c->from, c->out, c->to, c->in);
  ck_assert_str_eq (names, c->links);
}
END_TEST

/* Bytes on KIND when every card sends 1 to every card of another node, by resource. */
static double *
exchange (const Cluster *cluster)
{
  const guint n = cluster_n_nodes (cluster);
  double     *bytes = g_new0 (double, cluster_n_resources (cluster));
  for (guint a = 0; a < n; a++)
    for (guint b = 0; b < n; b++)
      for (guint i = 0; a != b && i < cluster_nics_of_node (cluster, a); i++)
        for (guint k = 0; k < cluster_nics_of_node (cluster, b); k++)
          {
            FabricLink  links[FABRIC_MAX];
            const guint count = cluster_route_fabric (cluster, a, i, b, k, 1, links);
            for (guint l = 0; l < count; l++)
              bytes[links[l].resource] += links[l].share;
          }
  return bytes;
}

static void
sum_kinds (const Cluster *cluster, const double *bytes, double *sums)
{
  memset (sums, 0, RESOURCE_N_KINDS * sizeof *sums);
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    sums[cluster_resource (cluster, id)->kind] += bytes[id];
}

static const char *const fabrics[] = {
  "name=8 x switched;leaf_nodes=2",
  "name=7 x switched;leaf_nodes=3",
  "name=8 x switched;fabric=rails;leaf_nodes=2",
  "name=8 x switched;fabric=rails;leaf_nodes=2;group_nodes=4",
  TREE,
  TREE ";oversubscription=2;spine_oversubscription=2",
  "name=two-kinds",
};

/* What is sprayed on a level is the sum over its uplinks, whoever chose them. */
START_TEST (test_levels_conserve)
{
  static const char *const routings[] = { "d-mod-k", "ecmp" };
  g_autoptr (ProfileSet)   profiles = test_profiles ();
  g_autoptr (Cluster)      spray = make_cluster (profiles, fabrics[_i]);
  g_autofree double       *sprayed = exchange (spray);
  double                   expected[RESOURCE_N_KINDS], sums[RESOURCE_N_KINDS];
  sum_kinds (spray, sprayed, expected);
  for (guint r = 0; r < G_N_ELEMENTS (routings); r++)
    {
      g_autofree char    *text = g_strdup_printf ("%s;routing=%s", fabrics[_i], routings[r]);
      g_autoptr (Cluster) chosen = make_cluster (profiles, text);
      g_autofree double  *bytes = exchange (chosen);
      sum_kinds (chosen, bytes, sums);
      for (guint kind = RESOURCE_LEAF_UP; kind < RESOURCE_N_KINDS; kind++)
        ck_assert_double_eq (sums[kind], expected[kind]);
      ck_assert (sums[RESOURCE_LEAF_UP] > 0);
    }
}
END_TEST

/* Shift traffic, on which d-mod-k is known to be balanced: every uplink carries one flow. */
START_TEST (test_d_mod_k_is_balanced)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster =
      make_cluster (profiles, "name=8 x switched;leaf_nodes=2;routing=d-mod-k");
  for (guint shift = 2; shift <= 6; shift++)
    {
      g_autofree guint *flows = g_new0 (guint, cluster_n_resources (cluster));
      for (guint node = 0; node < 8; node++)
        for (guint card = 0; card < 4; card++)
          {
            FabricLink  links[FABRIC_MAX];
            const guint n =
                cluster_route_fabric (cluster, node, card, (node + shift) % 8, card, 1, links);
            for (guint i = 0; i < n; i++)
              flows[links[i].resource]++;
          }
      for (guint id = 0; id < cluster_n_resources (cluster); id++)
        ck_assert_uint_le (flows[id], 1);
    }
}
END_TEST

static char *
all_paths (ProfileSet *profiles, guint seed)
{
  g_autofree char    *settings = g_strdup_printf (TREE ";routing=ecmp;routing_seed=%u", seed);
  g_autoptr (Cluster) cluster = make_cluster (profiles, settings);
  g_autoptr (GString) text = g_string_new (NULL);
  for (guint i = 0; i < 8 * 8; i++)
    {
      g_autofree char *names = path_names (cluster, i / 8, 1, i % 8, 3);
      g_string_append_printf (text, "%s\n", names);
    }
  return g_string_free (g_steal_pointer (&text), FALSE);
}

/* The same seed, the same ways; another, others. */
START_TEST (test_ecmp_seed)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autofree char       *first = all_paths (profiles, 7);
  g_autofree char       *again = all_paths (profiles, 7);
  g_autofree char       *other = all_paths (profiles, 8);
  ck_assert_str_eq (first, again);
  ck_assert_str_ne (first, other);
}
END_TEST

/*
 * 64 x 4 x 4 x 56 pairs on 8 uplinks a leaf: each draw falls on an uplink with 1/8, so their loads
 * lie within 5 standard deviations of the mean, and not all on it.
 */
START_TEST (test_ecmp_spreads)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster =
      make_cluster (profiles, "name=16 x switched;leaf_nodes=2;routing=ecmp");
  g_autofree double *bytes = exchange (cluster);
  const double       flows = 8 * 56, mean = flows / 8;
  gboolean           uneven = FALSE;
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    if (cluster_resource (cluster, id)->kind == RESOURCE_LEAF_UP)
      {
        ck_assert_double_lt (fabs (bytes[id] - mean), 5 * sqrt (flows / 8 * 7 / 8));
        uneven |= bytes[id] != mean;
      }
  ck_assert (uneven);
}
END_TEST

/* ---- one slow card --------------------------------------------------------------------------- */

START_TEST (test_slow_nics)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster =
      make_cluster (profiles, "name=4 x switched;leaf_nodes=2;slow_nics=3.0:0.5, 1.2:0.25");
  ck_assert_double_eq (find (cluster, "node3.nic0.tx")->capacity, 5e9);
  ck_assert_double_eq (find (cluster, "node3.nic0.rx")->capacity, 5e9);
  ck_assert_double_eq (find (cluster, "node3.nic1.tx")->capacity, 10e9);
  ck_assert_double_eq (find (cluster, "node1.nic2.rx")->capacity, 2.5e9);
  ck_assert_double_eq (find (cluster, "leaf1.up")->capacity, 80e9); /* its cables are whole */
  ck_assert (cluster_is_uniform (cluster));
}
END_TEST

SUITE_MAIN (fabric)
{
  TCase *tcase = tcase_create ("fabric");
  tcase_add_loop_test (tcase, test_capacities, 0, G_N_ELEMENTS (capacities));
  tcase_add_test (tcase, test_counts);
  tcase_add_test (tcase, test_titles);
  tcase_add_loop_test (tcase, test_paths, 0, G_N_ELEMENTS (paths));
  tcase_add_loop_test (tcase, test_levels_conserve, 0, G_N_ELEMENTS (fabrics));
  tcase_add_test (tcase, test_d_mod_k_is_balanced);
  tcase_add_test (tcase, test_ecmp_seed);
  tcase_add_test (tcase, test_ecmp_spreads);
  tcase_add_test (tcase, test_slow_nics);
  return run_case ("fabric", tcase);
}
