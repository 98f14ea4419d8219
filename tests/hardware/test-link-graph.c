/* The graphs of linked GPUs: the DGX-1's and the MI250X dies' as drawn by hand, routes, cycles. */
#include "../suite.h"
#include "fixture.h"

static const LinkGraph *
shipped (ProfileSet *profiles, const char *id)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  const LinkProfile   *link = profile_set_link (profiles, id, NULL, diags);
  ck_assert_msg (link != NULL, "%s", diag_list_first_message (diags));
  ck_assert_int_eq (link->kind, LINK_GRAPH);
  return &link->graph;
}

/*
 * DGX-1: six links a GPU. MI250X dies: even ones have 4 + 2 + 1 links, odd ones 4 + 1 + 1, for a
 * link of theirs is the network card's.
 */
START_TEST (test_degrees)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const LinkGraph       *cube = shipped (profiles, "nvlink2-mesh");
  const LinkGraph       *dies = shipped (profiles, "xgmi-mi250");
  ck_assert_uint_eq (cube->n, 8);
  ck_assert_uint_eq (dies->n, 8);
  for (guint gpu = 0; gpu < 8; gpu++)
    {
      ck_assert_uint_eq (link_graph_degree (cube, 8, gpu), 6);
      ck_assert_uint_eq (link_graph_degree (dies, 8, gpu), gpu % 2 == 0 ? 7 : 6);
    }
  ck_assert_uint_eq (link_graph_n_pairs (cube, 8), 2 * 16);
  ck_assert_uint_eq (link_graph_n_pairs (dies, 8), 2 * 12);
}
END_TEST

START_TEST (test_pair_numbers)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const LinkGraph       *cube = shipped (profiles, "nvlink2-mesh");
  for (guint n = 2; n <= 8; n++)
    for (guint pair = 0; pair < link_graph_n_pairs (cube, n); pair++)
      {
        guint a, b;
        link_graph_ends (cube, n, pair, &a, &b);
        ck_assert (a < n && b < n && cube->links[a][b] > 0);
        ck_assert_uint_eq (link_graph_pair (cube, n, a, b), pair);
      }
}
END_TEST

/* Cycles visit every member once and stay within the links; their number where it is known. */
typedef struct
{
  const char *link;
  guint       members[8], n, cycles;
} CycleCase;

static const CycleCase cycle_cases[] = {
  /* three interwoven rings, both ways round: all 24 links */
  { "nvlink2-mesh", { 0, 1, 2, 3, 4, 5, 6, 7 }, 8, 6 },
  /* one face: 1 + 1 + 2 links at GPUs 0 and 1 */
  { "nvlink2-mesh", { 0, 1, 2, 3 }, 4, 4 },
  { "nvlink2-mesh", { 0, 3 }, 2, 2 },
  { "nvlink2-mesh", { 0, 1 }, 2, 1 },
  { "nvlink2-mesh", { 0, 7 }, 2, 0 },
  { "nvlink2-mesh", { 0, 1, 7 }, 3, 0 },
  /* ten links between four cards, and each ring takes one more than four of them at least once */
  { "xgmi-mi250", { 0, 1, 2, 3, 4, 5, 6, 7 }, 8, 4 },
  { "xgmi-mi250", { 0, 1 }, 2, 4 },
  { "xgmi-mi250", { 0, 1, 2, 3 }, 4, 2 },
};

START_TEST (test_cycles)
{
  const CycleCase       *c = &cycle_cases[_i];
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  const LinkGraph       *graph = shipped (profiles, c->link);
  guint8                 cycles[LINK_GRAPH_MAX_CYCLES][LINK_GRAPH_MAX];
  guint                  used[8][8] = { { 0 } };
  const guint            n_cycles = link_graph_cycles (graph, c->members, c->n, cycles);
  ck_assert_uint_eq (n_cycles, c->cycles);
  for (guint i = 0; i < n_cycles; i++)
    {
      guint visited = 0;
      for (guint k = 0; k < c->n; k++)
        {
          const guint a = c->members[cycles[i][k]], b = c->members[cycles[i][(k + 1) % c->n]];
          visited |= 1u << cycles[i][k];
          ck_assert_uint_le (++used[a][b], graph->links[a][b]);
        }
      ck_assert_uint_eq (visited, (1u << c->n) - 1);
    }
}
END_TEST

static void
assert_links (const Cluster *cluster, guint from, guint to, PathClass class_, const char *links)
{
  g_autoptr (GString) text = g_string_new (NULL);
  Route               route;
  cluster_route_gpus (cluster, from, to, -1, &route);
  for (guint i = 0; i < route.n; i++)
    {
      g_autofree char *name = cluster_resource_name (cluster, route.resources[i]);
      g_string_append_printf (text, "%s%s", i > 0 ? " " : "", name);
    }
  ck_assert_str_eq (text->str, links);
  ck_assert_int_eq (route.class_, class_);
}

static double
capacity (const Cluster *cluster, guint from, guint to)
{
  Route route;
  cluster_route_gpus (cluster, from, to, -1, &route);
  ck_assert_uint_eq (route.n, 1);
  return cluster_resource (cluster, route.resources[0])->capacity;
}

START_TEST (test_routes)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Cluster)    dgx = make_cluster (profiles, "name=dgx-1v");
  g_autoptr (Cluster)    five = make_cluster (profiles, "name=dgx-1v;gpus_per_node=5");
  g_autoptr (Cluster)    frontier = make_cluster (profiles, "name=frontier");
  ck_assert_double_eq (capacity (dgx, 0, 3), 50e9);
  ck_assert_double_eq (capacity (dgx, 7, 3), 25e9);
  ck_assert_double_eq (capacity (frontier, 5, 4), 200e9);
  ck_assert_double_eq (capacity (frontier, 0, 6), 100e9);
  ck_assert_double_eq (capacity (frontier, 3, 1), 50e9);
  assert_links (dgx, 0, 3, PATH_NVLINK, "node0.gpu0.nvlink.to3");
  /* both links of 0-4 and of 4-7 are double; 3 and 7 have one */
  assert_links (dgx, 0, 7, PATH_NVB, "node0.gpu0.nvlink.to4 node0.gpu4.nvlink.to7");
  /* without GPUs 5 to 7, GPU 4 is linked to 0 only */
  assert_links (five, 4, 2, PATH_NVB, "node0.gpu4.nvlink.to0 node0.gpu0.nvlink.to2");
  assert_links (five, 4, 3, PATH_NVB, "node0.gpu4.nvlink.to0 node0.gpu0.nvlink.to3");
  assert_links (frontier, 0, 7, PATH_NVB, "node0.gpu0.nvlink.to6 node0.gpu6.nvlink.to7");
}
END_TEST

typedef struct
{
  const char *text, *hint;
} Mistake;

static const Mistake mistakes[] = {
  { "", NULL },
  { "0-1 1", "write pairs of GPUs and their links, as in '0-1:2 0-2'" },
  { "0-1x2", "write pairs of GPUs and their links, as in '0-1:2 0-2'" },
  { "0-1:", "write pairs of GPUs and their links, as in '0-1:2 0-2'" },
  { "0-16", "GPUs are numbered from 0 to 15" },
  { "2-2", "a GPU is not linked to itself" },
  { "0-1:0", "a pair has 1 to 16 links" },
  { "0-1:17", "a pair has 1 to 16 links" },
  { "0-1 1-0:2", "the pair is there already" },
};

START_TEST (test_mistakes)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  LinkGraph            graph;
  ck_assert (!link_graph_parse (&graph, mistakes[_i].text, NULL, diags));
  g_autofree char *said = diag_list_format (diags, FALSE);
  if (mistakes[_i].hint != NULL)
    ck_assert_ptr_nonnull (strstr (said, mistakes[_i].hint));
  else
    ck_assert_str_eq (said, "error: 'links' has no pairs\n");
}
END_TEST

START_TEST (test_too_many_gpus)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  ck_assert_ptr_null (
      try_cluster (profiles, "nodes=1;gpus_per_node=9;gpu=v100-sxm-32;intra=nvlink2-mesh", diags));
  ck_assert_str_eq (diag_list_first_message (diags),
                    "intra 'nvlink2-mesh' joins 8 GPUs, but a node has 9");
}
END_TEST

SUITE_MAIN (link_graph)
{
  TCase *tcase = tcase_create ("link-graph");
  tcase_add_test (tcase, test_degrees);
  tcase_add_test (tcase, test_pair_numbers);
  tcase_add_loop_test (tcase, test_cycles, 0, G_N_ELEMENTS (cycle_cases));
  tcase_add_test (tcase, test_routes);
  tcase_add_loop_test (tcase, test_mistakes, 0, G_N_ELEMENTS (mistakes));
  tcase_add_test (tcase, test_too_many_gpus);
  return run_case ("link-graph", tcase);
}
