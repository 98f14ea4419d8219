/*
 * Where a job lies on a fabric that is larger than it, and what hashing makes of its connections:
 * by hand, by properties of every draw, and against the table of docs/hardware.md, which was
 * simulated apart from this program.
 */
#include <math.h>

#include "../suite.h"
#include "fixture.h"

/* 8 leaves of 2 nodes, a node being 4 cards of 10 GB/s. */
#define FABRIC "name=4 x switched;leaf_nodes=2;fabric_nodes=16"

/* The number of the leaf that node NODE hangs under, read off where its traffic goes. */
static guint
leaf_of (const Cluster *cluster, guint node)
{
  const FabricPort port = cluster_fabric_port (cluster, node, 0);
  return cluster_resource (cluster, port.up[0])->index;
}

static char *
leaves (ProfileSet *profiles, const char *settings)
{
  g_autofree char    *text = g_strdup_printf ("%s;%s", FABRIC, settings);
  g_autoptr (Cluster) cluster = make_cluster (profiles, text);
  g_autoptr (GString) all = g_string_new (NULL);
  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    g_string_append_printf (all, "%s%u", node > 0 ? " " : "", leaf_of (cluster, node));
  return g_string_free (g_steal_pointer (&all), FALSE);
}

/* ---- by hand --------------------------------------------------------------------------------- */

static char *
hosts_file (const char *name)
{
  g_autofree char *relative = g_build_filename ("tests/hardware/hosts", name, NULL);
  return source_file (relative);
}

START_TEST (test_words)
{
  static const char *const cases[][2] = {
    { "placement=packed", "0 0 1 1" },
    { "placement=spread:4", "0 1 2 3" },
    { "placement=Spread:2", "0 0 1 1" },
    { "placement=spread:3", "0 0 1 2" },
  };
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autofree char       *got = leaves (profiles, cases[_i][0]);
  ck_assert_str_eq (got, cases[_i][1]);
}
END_TEST

/* gpu003 gpu001 gpu008 gpu006 of 'gpu[001-008],x[1-8]' are slots 2, 0, 7, 5. */
START_TEST (test_host_files)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autofree char       *names = hosts_file ("names.txt");
  g_autofree char       *numbers = hosts_file ("numbers.txt");
  g_autofree char       *named = g_strdup_printf ("hosts=gpu[001-008],x[1-8];placement=%s", names);
  g_autofree char       *listed = g_strdup_printf ("hosts=gpu[001,002,003-005,006],gpu007,gpu008,"
                                                         "a[9-10]-ib,b[1-6];placement=%s",
                                                   names);
  g_autofree char       *numbered = g_strdup_printf ("placement=%s", numbers);
  g_autofree char       *a = leaves (profiles, named);
  g_autofree char       *b = leaves (profiles, listed);
  g_autofree char       *c = leaves (profiles, numbered);
  ck_assert_str_eq (a, "1 0 3 2");
  ck_assert_str_eq (b, "1 0 3 2");
  ck_assert_str_eq (c, "2 1 3 0");
}
END_TEST

/* d-mod-k counts cards by slot: card 2 of slot 7 is number 30, on spine 30 mod 8 = 6. */
START_TEST (test_numbers_are_slots)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autofree char       *file = hosts_file ("numbers.txt");
  g_autofree char       *text = g_strdup_printf (FABRIC ";routing=d-mod-k;placement=%s", file);
  g_autoptr (Cluster)    cluster = make_cluster (profiles, text);
  FabricLink             links[FABRIC_MAX];
  const guint            n = cluster_route_fabric (cluster, 0, 0, 2, 2, 1, links);
  g_autofree char       *up = cluster_resource_name (cluster, links[0].resource);
  g_autofree char       *down = cluster_resource_name (cluster, links[1].resource);
  ck_assert_uint_eq (n, 2);
  ck_assert_str_eq (up, "leaf2.up6");
  ck_assert_str_eq (down, "leaf3.down6");
}
END_TEST

/* A leaf has its cables, whoever is under it: 2 nodes x 40 / 2, less what others use. */
START_TEST (test_capacities)
{
  static const char *const placements[] = { "packed", "spread:4", "random", "scattered" };
  g_autoptr (ProfileSet)   profiles = test_profiles ();
  g_autofree char         *text =
      g_strdup_printf (FABRIC ";oversubscription=2;background=30 %%;placement=%s", placements[_i]);
  g_autoptr (Cluster) cluster = make_cluster (profiles, text);
  guint               n = 0;
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    if (cluster_resource (cluster, id)->kind == RESOURCE_LEAF_UP)
      {
        ck_assert_double_eq_tol (cluster_resource (cluster, id)->capacity, 0.7 * 40e9, 1);
        n++;
      }
  ck_assert_uint_eq (n, 8);
}
END_TEST

/* Nodes of a cluster profile are those of its fabric; a job of fewer leaves the fabric as it is. */
START_TEST (test_profile_is_the_fabric)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Cluster)    job = make_cluster (profiles, "name=leonardo-system;nodes=64;"
                                                          "placement=scattered");
  g_autofree char       *title = cluster_fabric_title (job);
  ck_assert_uint_eq (cluster_n_nodes (job), 64);
  ck_assert_ptr_nonnull (strstr (title, "346 leaves of 10 nodes"));
  ck_assert_ptr_nonnull (strstr (title, "64 of 3456 nodes, scattered"));
}
END_TEST

/* ---- every draw ------------------------------------------------------------------------------ */

/* A leaf a node, so that its leaf is its slot. */
static void
drawn_slots (ProfileSet *profiles, const char *word, guint seed, guint *slots)
{
  g_autofree char *text =
      g_strdup_printf ("name=12 x switched;leaf_nodes=1;fabric_nodes=40;placement=%s;"
                       "placement_seed=%u",
                       word, seed);
  g_autoptr (Cluster) cluster = make_cluster (profiles, text);
  for (guint node = 0; node < 12; node++)
    slots[node] = leaf_of (cluster, node);
}

/* Never a slot twice, the same for a seed; scattered is random in order; every slot comes up. */
START_TEST (test_draws)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  guint                  hits[40] = { 0 }, sorted = 0, alike = 0, before[12] = { 0 };
  const guint            n_seeds = 100;
  for (guint seed = 0; seed < n_seeds; seed++)
    {
      guint random[12], again[12], scattered[12], seen[40] = { 0 };
      drawn_slots (profiles, "random", seed, random);
      drawn_slots (profiles, "random", seed, again);
      drawn_slots (profiles, "scattered", seed, scattered);
      ck_assert_mem_eq (random, again, sizeof random);
      alike += memcmp (random, before, sizeof random) == 0;
      memcpy (before, random, sizeof random);
      for (guint i = 0; i < 12; i++)
        {
          ck_assert_uint_lt (random[i], 40);
          ck_assert_uint_eq (seen[random[i]]++, 0);
          hits[random[i]]++;
          ck_assert (i == 0 || scattered[i] > scattered[i - 1]);
        }
      for (guint i = 0; i < 12; i++)
        ck_assert_uint_eq (seen[scattered[i]], 1);
      sorted += memcmp (random, scattered, sizeof random) == 0;
    }
  ck_assert_uint_eq (alike, 0);
  ck_assert_uint_eq (sorted, 0); /* one order in 12! */
  /* binomial of 100 draws at 12 / 40: mean 30, standard deviation 4.6 */
  for (guint slot = 0; slot < 40; slot++)
    ck_assert_double_lt (fabs (hits[slot] - 30.0), 5 * sqrt (100 * 0.3 * 0.7));
}
END_TEST

/* ---- hashing --------------------------------------------------------------------------------- */

/* Queue pairs share what their cards send; the shares of each level add up to it. */
START_TEST (test_shares_add_up)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  for (guint flows = 1; flows <= FABRIC_FLOWS_MAX; flows++)
    {
      g_autofree char *text =
          g_strdup_printf ("name=8 x switched;fabric=fat-tree;leaf_nodes=2;group_nodes=4;"
                           "routing=ecmp;routing_seed=%u",
                           flows);
      g_autoptr (Cluster) cluster = make_cluster (profiles, text);
      FabricLink          links[FABRIC_MAX];
      const guint         n = cluster_route_fabric (cluster, 0, 1, 6, 2, flows, links);
      double              sums[RESOURCE_N_KINDS] = { 0 };
      for (guint i = 0; i < n; i++)
        {
          for (guint k = 0; k < i; k++)
            ck_assert_uint_ne (links[i].resource, links[k].resource);
          sums[cluster_resource (cluster, links[i].resource)->kind] += links[i].share;
        }
      ck_assert_double_eq_tol (sums[RESOURCE_LEAF_UP], 1, 1e-12);
      ck_assert_double_eq_tol (sums[RESOURCE_LEAF_DOWN], 1, 1e-12);
      ck_assert_double_eq_tol (sums[RESOURCE_GROUP_UP], 1, 1e-12);
      ck_assert_double_eq_tol (sums[RESOURCE_GROUP_DOWN], 1, 1e-12);
    }
}
END_TEST

typedef struct
{
  guint  uplinks, leaves, flows;
  double rate;
} HashCase;

/* Slowest edge over a card's rate: docs/hardware.md, from a simulation that is not this program. */
static const HashCase hash_cases[] = {
  { 32, 1, 1, 0.29 },  { 32, 1, 2, 0.38 },  { 32, 1, 4, 0.46 }, { 32, 1, 8, 0.56 },
  { 32, 1, 16, 0.65 }, { 32, 1, 32, 0.73 }, { 32, 8, 1, 0.22 }, { 32, 8, 4, 0.38 },
  { 32, 8, 32, 0.66 }, { 64, 1, 1, 0.40 },  { 64, 1, 4, 0.70 }, { 64, 1, 16, 0.98 },
  { 64, 8, 1, 0.29 },  { 64, 8, 4, 0.54 },  { 64, 8, 32, 1.0 },
};

/* Every card under a leaf sends to the same card of the next leaf: rate of the slowest. */
static double
slowest_edge (ProfileSet *profiles, const HashCase *c, guint seed)
{
  const guint      leaves = c->leaves + 1; /* the first ones send, their uplinks count */
  g_autofree char *text = g_strdup_printf (
      "name=%u x switched;leaf_nodes=8;oversubscription=%g;uplinks=%u;routing=ecmp;"
      "routing_seed=%u",
      8 * leaves, 32.0 / c->uplinks, c->uplinks, seed);
  g_autoptr (Cluster) cluster = make_cluster (profiles, text);
  g_autofree double  *loads = g_new0 (double, cluster_n_resources (cluster));
  double              most = 0;
  for (guint node = 0; node < 8 * c->leaves; node++)
    for (guint card = 0; card < 4; card++)
      {
        FabricLink  links[FABRIC_MAX];
        const guint n = cluster_route_fabric (cluster, node, card, node + 8, card, c->flows, links);
        for (guint i = 0; i < n; i++)
          if (cluster_resource (cluster, links[i].resource)->kind == RESOURCE_LEAF_UP)
            loads[links[i].resource] += links[i].share * 10e9;
      }
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    if (loads[id] > 0)
      most = MAX (most, loads[id] / cluster_resource (cluster, id)->capacity);
  return MIN (1, 1 / most);
}

/*
 * The mean over 48 seeds is within 4 standard errors of the table's, which has two digits and is
 * taken over at least as many.
 */
START_TEST (test_hashing_table)
{
  g_autoptr (ProfileSet) profiles = test_profiles ();
  const HashCase        *c = &hash_cases[_i];
  const guint            n = 48;
  double                 sum = 0, squares = 0;
  for (guint seed = 0; seed < n; seed++)
    {
      const double rate = slowest_edge (profiles, c, seed);
      sum += rate;
      squares += rate * rate;
    }
  const double mean = sum / n, deviation = sqrt (MAX (squares / n - mean * mean, 0));
  g_printerr ("# %u uplinks, %u leaves, %u queue pairs: %.3f +- %.3f, table %.2f\n", c->uplinks,
              c->leaves, c->flows, mean, deviation / sqrt (n), c->rate);
  ck_assert_double_lt (fabs (mean - c->rate), 0.005 + 4 * deviation * sqrt (2.0 / n));
}
END_TEST

/* A word of the card's profile decides where nothing else is said, and only under leaves. */
START_TEST (test_routing_of_the_card)
{
  static const struct
  {
    const char *text;
    gboolean    symmetric;
  } cases[] = {
    { "node=dgx-h100;nodes=4;nic=roce-400", TRUE },
    { "node=dgx-h100;nodes=4;nic=roce-400;leaf_nodes=2", FALSE },
    { "node=dgx-h100;nodes=4;nic=roce-400;leaf_nodes=2;routing=adaptive", TRUE },
    { "node=dgx-h100;nodes=4;leaf_nodes=2", TRUE },
    { "node=dgx-h100;nodes=4;nic=efa-200;leaf_nodes=2", TRUE },
  };
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Cluster)    cluster = make_cluster (profiles, cases[_i].text);
  ck_assert_int_eq (cluster_routing_is_symmetric (cluster), cases[_i].symmetric);
}
END_TEST

START_TEST (test_what_is_drawn)
{
  static const struct
  {
    const char *text;
    guint       draws;
  } cases[] = {
    { FABRIC, 0 },
    { FABRIC ";placement=spread:4", 0 },
    { FABRIC ";placement=random", CLUSTER_DRAWS_PLACEMENT },
    { FABRIC ";routing=ecmp", CLUSTER_DRAWS_ROUTES },
    { FABRIC ";routing=d-mod-k;placement=scattered", CLUSTER_DRAWS_PLACEMENT },
    { FABRIC ";routing=ecmp;placement=random", CLUSTER_DRAWS_PLACEMENT | CLUSTER_DRAWS_ROUTES },
  };
  g_autoptr (ProfileSet) profiles = test_profiles ();
  g_autoptr (Cluster)    cluster = make_cluster (profiles, cases[_i].text);
  ck_assert_uint_eq (cluster_draws (cluster), cases[_i].draws);
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------- */

static const char *const mistakes[] = {
  FABRIC ";placement=spread:9",
  FABRIC ";placement=spread:1",
  FABRIC ";placement=spread:0",
  FABRIC ";placement=spread:",
  FABRIC ";placement=spread:5",
  FABRIC ";placement=pakced",
  FABRIC ";placement=packed:2",
  FABRIC ";placement=spraed:2",
  FABRIC ";placement=spread",
  FABRIC ";placement=no/such.txt",
  "name=4 x switched;placement=pakced",
  FABRIC ";hosts=a[1-15]",
  FABRIC ";hosts=a[1-16]b]",
  FABRIC ";hosts=a[16-1]",
  FABRIC ";hosts=a[1-99999999]",
  FABRIC ";hosts=a,,b",
  FABRIC ";background=100 %",
  "name=4 x switched;leaf_nodes=2;fabric_nodes=3",
  "name=4 x switched;leaf_nodes=2;placement=spread:3",
  "name=4 x switched;placement=random",
  "name=4 x switched;leaf_nodes=2;hosts=a[1-3],a2;placement=HOSTS/few.txt",
  FABRIC ";hosts=gpu[001-008],x[1-8];placement=HOSTS/bad-names.txt",
  FABRIC ";placement=HOSTS/bad-numbers.txt",
  FABRIC ";placement=HOSTS/few.txt",
  FABRIC ";placement=HOSTS/many.txt",
  FABRIC ";placement=HOSTS/nobody.txt",
  FABRIC ";placement=HOSTS",
  FABRIC ";placement=HOSTS/no-text.bin",
  FABRIC ";placement=HOSTS/empty.txt",
  "name=4 x switched;leaf_nodes=2;hosts=a[1-3],a2",
};

START_TEST (test_mistakes)
{
  g_autoptr (GString) all = g_string_new (NULL);
  g_autofree char    *folder = source_file ("tests/hardware/hosts");
  for (guint i = 0; i < G_N_ELEMENTS (mistakes); i++)
    {
      g_auto (GStrv)         parts = g_strsplit (mistakes[i], "HOSTS", -1);
      g_autofree char       *settings = g_strjoinv (folder, parts);
      g_autoptr (ProfileSet) profiles = test_profiles ();
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (Cluster)    cluster = try_cluster (profiles, settings, diags);
      g_autofree char       *text = diag_text (diags);
      ck_assert_msg (cluster == NULL && *text != '\0', "'%s' passed", mistakes[i]);
      g_string_append_printf (all, "== %s\n%s\n", mistakes[i], text);
    }
  assert_golden ("placement-mistakes.txt", all->str);
}
END_TEST

SUITE_MAIN (placement)
{
  TCase *tcase = tcase_create ("placement");
  tcase_add_loop_test (tcase, test_words, 0, 4);
  tcase_add_test (tcase, test_host_files);
  tcase_add_test (tcase, test_numbers_are_slots);
  tcase_add_loop_test (tcase, test_capacities, 0, 4);
  tcase_add_test (tcase, test_profile_is_the_fabric);
  tcase_add_test (tcase, test_draws);
  tcase_add_test (tcase, test_shares_add_up);
  tcase_add_loop_test (tcase, test_hashing_table, 0, G_N_ELEMENTS (hash_cases));
  tcase_add_loop_test (tcase, test_routing_of_the_card, 0, 5);
  tcase_add_loop_test (tcase, test_what_is_drawn, 0, 6);
  tcase_add_test (tcase, test_mistakes);
  return run_case ("placement", tcase);
}
