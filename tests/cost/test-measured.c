/*
 * The network as it was measured: what was measured is predicted again, by a scale that by hand is
 * measured over carried where cards are all that counts; a network that is measured as predicted
 * keeps its scale; several take the geometric mean; hops are scaled where they are most of it all;
 * what is above the cards' line rate, by hand, is an error; a network is not raised beyond what
 * helps, and what holds it then is said. Not asserted: that real networks are slower by one factor.
 */
#include "../suite.h"
#include "cost/collective/library/measured.h"
#include "fixture.h"

#include <string.h>

#define SIZE 1073741824.0

static Cluster *
measured_cluster (const char *node, guint nodes, const char *measured, ProfileSet **profiles)
{
  Fixture  fixture;
  Cluster *cluster;

  fixture_init (&fixture, node, nodes);
  fixture.options.measured = g_strdup (measured);
  cluster = fixture_cluster (&fixture);
  *profiles = fixture.profiles;
  fixture.profiles = profile_set_new (NULL); /* whose cluster outlives the fixture */
  fixture_clear (&fixture);
  return cluster;
}

/* Bus bandwidth of KIND over all GPUs, B/s. */
static double
bus_of (const Cluster *cluster, CollectiveKind kind, double bytes)
{
  const guint                n = cluster_n_gpus (cluster);
  g_autofree guint32        *ranks = fixture_all (cluster);
  g_autoptr (CollectivePlan) plan =
      collective_plan_new (cluster, kind, ranks, n, &collective_default_options);
  CollectiveCost cost;

  collective_plan_cost (plan, bytes, &cost);
  return bytes * collective_bus_factor (kind, n) / cost.time;
}

static gboolean
fit (Cluster *cluster, gboolean nearest, DiagList *diags)
{
  return collective_scale_to_measured (cluster, &collective_default_options, nearest, NULL, diags);
}

static const struct
{
  const char    *node;
  guint          nodes;
  CollectiveKind kind;
} cases[] = {
  { "dgx-h100", 2, COLLECTIVE_ALL_REDUCE },     { "dgx-h100", 16, COLLECTIVE_ALL_GATHER },
  { "dgx-a100", 4, COLLECTIVE_REDUCE_SCATTER }, { "p5", 8, COLLECTIVE_ALL_REDUCE },
  { "mn5-acc", 32, COLLECTIVE_ALL_REDUCE },     { "alps", 4, COLLECTIVE_ALL_TO_ALL },
};

/* A part of what is predicted: the scale explains it, and less of it takes a smaller scale. */
START_TEST (test_predicts_what_was_measured)
{
  ProfileSet          *profiles;
  Cluster             *plain = measured_cluster (cases[_i].node, cases[_i].nodes, NULL, &profiles);
  const double         bus = bus_of (plain, cases[_i].kind, SIZE);
  g_autoptr (DiagList) diags = diag_list_new ();
  double               last = 0;

  for (guint part = 1; part <= 4; part++)
    {
      const double     measured = bus * part / 4;
      g_autofree char *rate = quantity_format_exact (QUANTITY_BANDWIDTH, measured);
      g_autofree char *text =
          g_strdup_printf ("%s 1GiB %s", collective_kind_name (cases[_i].kind), rate);
      ProfileSet         *own;
      g_autoptr (Cluster) cluster = measured_cluster (cases[_i].node, cases[_i].nodes, text, &own);
      const ClusterMeasured *entry = cluster_measured (cluster, 0);
      gboolean               good = fit (cluster, FALSE, diags);
      const double           scale = cluster_network_scale (cluster);
      const guint            tx = cluster_node_resource (cluster, 1, RESOURCE_NIC_TX, 0);
      const guint            hbm = cluster_gpu_resource (cluster, 0, RESOURCE_HBM);

      ck_assert_msg (good, "%s", diag_list_first_message (diags));
      ck_assert_double_eq_tol (bus_of (cluster, cases[_i].kind, SIZE) / measured, 1, 1e-6);
      ck_assert_double_eq_tol (entry->after / measured, 1, 1e-6);
      ck_assert_msg (scale == entry->scale && scale > last, "%g %g %g", scale, entry->scale, last);
      assert_near (cluster_resource (cluster, tx)->capacity,
                   scale * cluster_resource (plain, tx)->capacity);
      ck_assert (cluster_resource (cluster, hbm)->capacity
                 == cluster_resource (plain, hbm)->capacity);
      last = scale;
      profile_set_free (own);
    }
  ck_assert_double_eq_tol (last, 1, 1e-6); /* measured as predicted */
  cluster_free (plain);
  profile_set_free (profiles);
}
END_TEST

/*
 * A GPU and a card each on two nodes: of an all-gather of S a card carries S / 2, and that is what
 * the bus bandwidth counts, so the scale is measured / (rate x efficiency): 10 of 25 x 0.94 GB/s.
 * Latency is no thousandth of 8 GiB.
 */
START_TEST (test_by_hand)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  const LinkProfile     *card = profile_set_link (profiles, "ib-hdr-200", NULL, diags);
  ClusterOptions         options = { 0 };
  g_autoptr (Cluster)    cluster = NULL;

  option_table_defaults (cluster_options, &options);
  options.nodes = 2;
  options.gpus_per_node = options.nics = 1;
  options.gpu = g_strdup ("a100-sxm-80");
  options.intra = g_strdup ("nvlink3-switch");
  options.nic = g_strdup ("ib-hdr-200");
  options.measured = g_strdup ("all_gather 8GiB 10 GB/s");
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  ck_assert_msg (cluster != NULL && fit (cluster, FALSE, diags), "%s",
                 diag_list_first_message (diags));
  ck_assert_double_eq_tol (cluster_network_scale (cluster) * 25e9 * card->efficiency.value / 10e9,
                           1, 2e-3);
}
END_TEST

START_TEST (test_several)
{
  ProfileSet          *profiles;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  cluster = measured_cluster (
       "dgx-h100", 8, "all_reduce 1GiB 100 GB/s, all_gather 256 MiB 100 GB/s", &profiles);
  const ClusterMeasured *first = cluster_measured (cluster, 0), *second;
  g_autofree char       *title = NULL;

  second = cluster_measured (cluster, 1);
  ck_assert (fit (cluster, FALSE, diags));
  ck_assert (first->scale != second->scale);
  assert_near (cluster_network_scale (cluster), sqrt (first->scale * second->scale));
  /* one is predicted faster than it was measured, the other slower */
  ck_assert ((first->after - first->bus) * (second->after - second->bus) < 0);
  assert_near (first->after, bus_of (cluster, COLLECTIVE_ALL_REDUCE, SIZE));
  title = cluster_network_title (cluster);
  ck_assert_msg (g_str_has_prefix (title, "scaled to measured all_reduce 100 GB/s at 1.000 GiB, "
                                          "all_gather 100 GB/s at 256.0 MiB: x 0."),
                 "%s", title);
  ck_assert_ptr_nonnull (strstr (title, " of the profile, all_reduce predicted "));
  g_clear_pointer (&cluster, cluster_free);
  profile_set_free (profiles);
}
END_TEST

/*
 * 64 nodes of p5 under the plug-in of 2023: of an all-gather of 1 MiB 256 hops of 69 + 2 x 10 us
 * (511 steps, two chunks on their way) are nearly all, and 22.784 ms that are measured beyond what
 * is predicted are as much again. The cards stay as they are.
 */
START_TEST (test_hops_are_what_was_measured)
{
  const double         steps = 256 * 89e-6;
  ProfileSet          *profiles, *own;
  g_autoptr (DiagList) diags = diag_list_new ();
  CollectiveOptions    options = collective_default_options;
  g_autofree guint32  *ranks = NULL;
  CollectiveCost       cost;

  options.library = "2.18.1";
  for (guint more = 1; more <= 2; more++)
    {
      g_autoptr (CollectivePlan) plan = NULL;
      g_autofree char           *rate = NULL, *text = NULL;
      Cluster                   *plain = measured_cluster ("p5", 64, NULL, &profiles), *cluster;
      double                     before;

      ranks = fixture_all (plain);
      plan = collective_plan_new (plain, COLLECTIVE_ALL_GATHER, ranks, 512, &options);
      collective_plan_cost (plan, 1 << 20, &cost);
      before = cost.time;
      rate = quantity_format_exact (
          QUANTITY_BANDWIDTH,
          (1 << 20) * collective_bus_factor (COLLECTIVE_ALL_GATHER, 512) / (before + more * steps));
      text = g_strdup_printf ("all_gather 1MiB %s", rate);
      cluster = measured_cluster ("p5", 64, text, &own);
      ck_assert_msg (collective_scale_to_measured (cluster, &options, FALSE, NULL, diags), "%s",
                     diag_list_first_message (diags));
      ck_assert_double_eq_tol (cluster_hop_scale (cluster), 1 + more, 1e-6);
      ck_assert (cluster_network_scale (cluster) == 1);
      ck_assert_double_eq_tol (
          cluster_measured (cluster, 0)->after / cluster_measured (cluster, 0)->bus, 1, 1e-6);
      g_clear_pointer (&plan, collective_plan_free);
      g_clear_pointer (&ranks, g_free);
      cluster_free (cluster);
      cluster_free (plain);
      profile_set_free (own);
      profile_set_free (profiles);
    }
}
END_TEST

/*
 * An all-gather of 1 MiB that takes no longer than without its hops: they do not become free. What
 * is left of them is 3 % of the rest, beyond which they would help no more.
 */
START_TEST (test_hops_are_not_free)
{
  ProfileSet          *profiles;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  cluster = measured_cluster ("p5", 64, "all_gather 1MiB 300 GB/s", &profiles);
  const ClusterMeasured *entry = cluster_measured (cluster, 0);
  g_autofree char       *warning = NULL;
  double                 rest;

  ck_assert (fit (cluster, FALSE, diags));
  warning = diag_list_first_of (diags, DIAG_WARNING);
  ck_assert_msg (warning != NULL && strstr (warning, "latency alone, which is ") != NULL, "%s",
                 warning);
  ck_assert (entry->hops && cluster_network_scale (cluster) == 1);
  ck_assert_double_lt (entry->before, entry->after);
  cluster_scale_hops (cluster, 1e-9);
  rest = bus_of (cluster, COLLECTIVE_ALL_GATHER, 1 << 20);
  ck_assert_double_eq_tol (rest / entry->after, 1.03, 1e-6);
  g_clear_pointer (&cluster, cluster_free);
  profile_set_free (profiles);
}
END_TEST

/*
 * On two nodes without what switches multicast, channels hold an all-reduce at 271 GB/s: one that
 * is measured at 430 says nothing of the network beside an all-gather, and little alone.
 */
START_TEST (test_others_say_what_channels_hide)
{
  CollectiveOptions options = collective_default_options;
  const char       *texts[] = { "all_reduce 1GiB 430 GB/s, all_gather 1GiB 200 GB/s",
                                "all_gather 1GiB 200 GB/s", "all_reduce 1GiB 430 GB/s" };
  double            scales[G_N_ELEMENTS (texts)] = { 0 };

  options.library = "2.18.1";
  for (guint i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      ProfileSet          *own;
      g_autoptr (DiagList) diags = diag_list_new ();
      Cluster             *cluster = measured_cluster ("p5", 2, texts[i], &own);
      g_autofree char     *warning = NULL;

      ck_assert (collective_scale_to_measured (cluster, &options, FALSE, NULL, diags));
      warning = diag_list_first_of (diags, DIAG_WARNING);
      ck_assert_msg ((warning != NULL) == (i != 1), "%s", texts[i]);
      scales[i] = cluster_network_scale (cluster);
      cluster_free (cluster);
      profile_set_free (own);
    }
  ck_assert_double_lt (scales[0], 1);
  ck_assert (scales[0] == scales[1]);
  ck_assert (scales[2] > 1 && scales[2] < 1.03); /* cards held it at 268: 271 / 268 is 1.01 */
}
END_TEST

/*
 * What no cards do at their line rate, by hand. Four nodes of eight GPUs, whose cards sum to L =
 * 400 GB/s: of an all-gather or a reduce-scatter 24 / 32 of S cross, and bus bandwidth counts 31 /
 * 32, so L 31 / 24; of an all-to-all eight ranks send 24 / 32 of theirs, L 31 / 192; of a broadcast
 * and a reduce all, L; of an all-reduce 2 x 3 S are sent by four nodes, 1.5 S each, and 62 / 32
 * counted, L 62 / 48; in switches S, L 62 / 32. On two nodes an all-reduce sends S either way: L 30
 * / 16.
 */
static const struct
{
  guint          nodes;
  CollectiveKind kind;
  gboolean       sharp;
  double         share; /* of L */
} line_rates[] = {
  { 4, COLLECTIVE_ALL_GATHER, FALSE, 31.0 / 24 },
  { 4, COLLECTIVE_REDUCE_SCATTER, FALSE, 31.0 / 24 },
  { 4, COLLECTIVE_ALL_TO_ALL, FALSE, 31.0 / 192 },
  { 4, COLLECTIVE_BROADCAST, FALSE, 1 },
  { 4, COLLECTIVE_REDUCE, FALSE, 1 },
  { 4, COLLECTIVE_ALL_REDUCE, FALSE, 62.0 / 48 },
  { 4, COLLECTIVE_ALL_REDUCE, TRUE, 62.0 / 32 },
  { 2, COLLECTIVE_ALL_REDUCE, FALSE, 30.0 / 16 },
  { 2, COLLECTIVE_ALL_REDUCE, TRUE, 30.0 / 16 },
};

START_TEST (test_line_rate)
{
  for (guint above = 0; above < 2; above++)
    {
      const double     bus = line_rates[_i].share * 400e9 * (above ? 1.0001 : 0.9999);
      g_autofree char *rate = quantity_format_exact (QUANTITY_BANDWIDTH, bus);
      g_autofree char *text =
          g_strdup_printf ("%s 1GiB %s", collective_kind_name (line_rates[_i].kind), rate);
      g_autoptr (DiagList) diags = diag_list_new (), none = diag_list_new ();
      CollectiveOptions    options = collective_default_options;
      ProfileSet          *profiles;
      Cluster *cluster = measured_cluster ("dgx-h100", line_rates[_i].nodes, text, &profiles);

      options.sharp = line_rates[_i].sharp;
      ck_assert_msg (collective_scale_to_measured (cluster, &options, FALSE, NULL, diags) == !above,
                     "%s", text);
      ck_assert_uint_eq (diag_list_n_errors (diags), above);
      ck_assert (!above || strstr (diag_list_first_message (diags), "above what the cards carry"));
      ck_assert (collective_scale_to_measured (cluster, &options, TRUE, NULL, none));
      ck_assert (diag_list_is_empty (none));
      cluster_free (cluster);
      profile_set_free (profiles);
    }
}
END_TEST

/* What is predicted to be out of reach, and what is said to hold it. */
typedef enum
{
  SCALE_STAYS,
  SCALE_IS_MOST,
  SCALE_IS_BETWEEN,
} Scale;

static const struct
{
  const char *node;
  guint       nodes;
  const char *measured, *message;
  Scale       scale;
} bounds[] = {
  { "p4d", 4, "all_gather 1GiB 55 GB/s", "'node0.nic0.tx', at the line rate of cards, holds it",
    SCALE_IS_MOST },
  { "dgx-a100", 2, "all_reduce 1KiB 1 GB/s", "latency alone, which is ", SCALE_STAYS },
  { "dgx-h100", 2, "all_reduce 4GiB 700 GB/s", "what the library's channels carry holds it at",
    SCALE_STAYS },
  { "p5", 4, "all_reduce 256MiB 273.17 GB/s", "what the library's channels carry holds it at",
    SCALE_STAYS },
  { "p5", 16, "all_reduce 8GiB 329 GB/s", "what the library's channels carry holds it at",
    SCALE_IS_BETWEEN },
  { "dgx-a100", 4, "all_reduce 1GiB 250 GB/s", "pcie.up', inside the node, holds it at",
    SCALE_IS_BETWEEN },
};

/* A tenth less of what the network was raised by is slower; all that was left out helps nothing. */
static void
assert_least (Cluster *cluster, const ClusterMeasured *entry)
{
  const double scale = cluster_network_scale (cluster);
  const double most = cluster_most_network_scale (cluster);

  ck_assert_msg (scale > 1 && scale < most, "%g of %g", scale, most);
  cluster_scale_network (cluster, most);
  ck_assert_double_le (bus_of (cluster, entry->kind, entry->bytes), 1.00101 * entry->after);
  cluster_scale_network (cluster, 1 + 0.9 * (scale - 1));
  ck_assert_double_lt (bus_of (cluster, entry->kind, entry->bytes), (1 - 1e-4) * entry->after);
}

START_TEST (test_out_of_reach)
{
  ProfileSet          *profiles;
  g_autoptr (DiagList) diags = diag_list_new (), none = diag_list_new ();
  g_autoptr (Cluster)  cluster =
      measured_cluster (bounds[_i].node, bounds[_i].nodes, bounds[_i].measured, &profiles);
  const ClusterMeasured *entry = cluster_measured (cluster, 0);
  const double           before = bus_of (cluster, entry->kind, entry->bytes);
  g_autofree char       *warning = NULL;

  ck_assert_msg (fit (cluster, FALSE, diags), "%s", diag_list_first_message (diags));
  warning = diag_list_first_of (diags, DIAG_WARNING);
  ck_assert_msg (warning != NULL && strstr (warning, bounds[_i].message) != NULL, "%s", warning);
  assert_near (entry->before, before);
  assert_near (entry->after, bus_of (cluster, entry->kind, entry->bytes));
  ck_assert_double_lt (entry->after, entry->bus / 1.03);
  if (bounds[_i].scale == SCALE_STAYS)
    ck_assert (cluster_network_scale (cluster) == 1);
  else if (bounds[_i].scale == SCALE_IS_MOST)
    ck_assert (cluster_network_scale (cluster) == cluster_most_network_scale (cluster));
  else
    assert_least (cluster, entry);
  ck_assert (fit (cluster, TRUE, none) && diag_list_is_empty (none));
  g_clear_pointer (&cluster, cluster_free);
  profile_set_free (profiles);
}
END_TEST

START_TEST (test_below_a_thousandth)
{
  ProfileSet          *profiles;
  g_autoptr (DiagList) diags = diag_list_new (), none = diag_list_new ();
  g_autoptr (Cluster)  cluster =
      measured_cluster ("dgx-a100", 4, "all_reduce 1GiB 10 MB/s", &profiles);

  ck_assert (!fit (cluster, FALSE, diags));
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
  ck_assert (strstr (diag_list_first_message (diags), "less than a thousandth") != NULL);
  ck_assert (fit (cluster, TRUE, none));
  ck_assert_double_eq_tol (cluster_network_scale (cluster), 0.001, 1e-5);
  g_clear_pointer (&cluster, cluster_free);
  profile_set_free (profiles);
}
END_TEST

/* On two nodes half of an all-reduce crosses: above the sum of the cards, 200 GB/s, it is none. */
START_TEST (test_two_nodes_above_the_sum)
{
  ProfileSet          *profiles;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  cluster =
      measured_cluster ("dgx-h100", 2, "all_reduce 4GiB 450 GB/s", &profiles);

  ck_assert_msg (fit (cluster, FALSE, diags), "%s", diag_list_first_message (diags));
  ck_assert_double_lt (cluster_network_scale (cluster), 1.05);
  g_clear_pointer (&cluster, cluster_free);
  profile_set_free (profiles);
}
END_TEST

/*
 * Channels hold it at 457 GB/s, whatever the network does: one that is measured within a few
 * percent of that leaves the network alone, and nothing is said.
 */
START_TEST (test_close_to_channels)
{
  ProfileSet          *profiles;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Cluster)  cluster =
      measured_cluster ("dgx-h100", 2, "all_reduce 4GiB 465 GB/s", &profiles);

  ck_assert_double_lt (bus_of (cluster, COLLECTIVE_ALL_REDUCE, 4 * SIZE), 460e9);
  ck_assert (fit (cluster, FALSE, diags) && diag_list_is_empty (diags));
  ck_assert (cluster_network_scale (cluster) == 1);
  g_clear_pointer (&cluster, cluster_free);
  profile_set_free (profiles);
}
END_TEST

/* Uplinks of leaves are a part of the network. */
START_TEST (test_fabric_is_scaled)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autoptr (Cluster)    cluster = NULL;
  ClusterOptions         options = { 0 };
  guint                  n = 0;

  option_table_defaults (cluster_options, &options);
  options.name = g_strdup ("4 x dgx-a100");
  options.leaf_nodes = 2;
  options.oversubscription = 4;
  cluster = cluster_new (&options, profiles, NULL, diags);
  option_table_clear (cluster_options, &options);
  ck_assert_ptr_nonnull (cluster);
  for (guint i = 0; i < cluster_n_resources (cluster); i++)
    {
      const ClusterResource *resource = cluster_resource (cluster, i);
      const double           before = resource->capacity;

      cluster_scale_network (cluster, 0.5);
      n += resource->kind == RESOURCE_LEAF_UP;
      ck_assert (resource->capacity
                 == before * (resource_kind_is_network (resource->kind) ? 0.5 : 1));
      cluster_scale_network (cluster, 1);
      ck_assert (resource->capacity == before);
    }
  ck_assert_uint_eq (n, 2);
}
END_TEST

SUITE_MAIN (measured)
{
  Suite *suite = suite_create ("measured-network");
  TCase *tcase = tcase_create ("measured-network");

  tcase_add_loop_test (tcase, test_predicts_what_was_measured, 0, G_N_ELEMENTS (cases));
  tcase_add_test (tcase, test_by_hand);
  tcase_add_test (tcase, test_several);
  tcase_add_loop_test (tcase, test_line_rate, 0, G_N_ELEMENTS (line_rates));
  tcase_add_loop_test (tcase, test_out_of_reach, 0, G_N_ELEMENTS (bounds));
  tcase_add_test (tcase, test_below_a_thousandth);
  tcase_add_test (tcase, test_two_nodes_above_the_sum);
  tcase_add_test (tcase, test_close_to_channels);
  tcase_add_test (tcase, test_fabric_is_scaled);
  tcase_add_test (tcase, test_hops_are_what_was_measured);
  tcase_add_test (tcase, test_hops_are_not_free);
  tcase_add_test (tcase, test_others_say_what_channels_hide);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
