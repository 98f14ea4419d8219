/*
 * What a communicator of the hosts says of its rings reaches what they cost: their order, and a
 * codec that every hop decodes and encodes again. Costs themselves are tested in site-rings.
 */
#include <check.h>
#include <math.h>
#include <string.h>

#include "../schedule/toy.h"
#include "../suite.h"
#include "replay/bind/bind-private.h"

/* Four nodes of dgx-a100, at SITE_NODES of eight.csv. */
static Cluster *
cluster_new_at_sites (ProfileSet *profiles, const char *site_nodes)
{
  const char          *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autoptr (DiagList) diags = diag_list_new ();
  ClusterOptions       options = { 0 };
  Cluster             *cluster;

  option_table_defaults (cluster_options, &options);
  options.node = g_strdup ("dgx-a100");
  options.nodes = 4;
  options.sites = g_build_filename (root, "tests/hardware/sites/eight.csv", NULL);
  options.site_nodes = g_strdup (site_nodes);
  cluster = cluster_new (&options, profiles, NULL, diags);
  ck_assert_msg (cluster != NULL, "%s", diag_list_first_message (diags));
  option_table_clear (cluster_options, &options);
  return cluster;
}

/* Eight rings of the local ranks: all-reduces of a million elements, encoded by CODEC. */
static Schedule *
schedule_of (const Workload *workload, RingOrder order, const Codec *codec)
{
  const Payload    payload = { 1000000, DTYPE_FP32, codec };
  ScheduleBuilder *b = toy_builder (workload, 1, NULL, 32);
  StreamRef        stream = schedule_stream (b, "outer", 0);
  CommRef comm = schedule_host_ring (b, "rings", (MeshGroup){ .size = 4, .stride = 8 }, order);

  for (ScheduleSection s = SECTION_INIT; s < SECTION_N; s++)
    {
      schedule_builder_select (b, 0, s);
      schedule_all_reduce (b, stream, comm, payload, "average");
      if (s != SECTION_INIT)
        schedule_builder_end_step (b);
    }
  return schedule_builder_finish (b);
}

/* What a byte of the first ring's all-reduce puts on RESOURCE. */
static double
load_on (const BindGraph *graph, guint32 resource)
{
  const GraphUse *use = &graph->uses[COLLECTIVE_ALL_REDUCE];
  const GraphOp  *op = &g_array_index (graph->ops, GraphOp, use->first_op);

  for (guint i = op->first_load; i < op->first_load + op->n_loads; i++)
    if (g_array_index (graph->loads, OpLoad, i).resource == resource)
      return g_array_index (graph->loads, OpLoad, i).service;
  return 0;
}

/* Loads per byte on the way from s0 to s1, and on a memory. */
typedef struct
{
  double slow_link, memory;
} Found;

static Found
bind (RingOrder order, gint wish, const Codec *codec)
{
  g_autoptr (ProfileSet) profiles = profile_set_new (NULL);
  g_autoptr (Cluster)    cluster = cluster_new_at_sites (profiles, "s0:1,s1:1,s4:1,s6:1");
  g_autoptr (Workload)   workload = workload_new (&toy_shape, &toy_training);
  g_autoptr (Schedule)   schedule = schedule_of (workload, order, codec);
  CollectiveOptions      options = collective_default_options;
  BindGraph              graph;
  Found                  found;

  options.ring_wish = wish;
  ck_assert (schedule_comm_info (schedule, 0)->ring_order == order);
  bind_graph_init (&graph, cluster, schedule, &options, &(StopPoll){ 0 });
  bind_graph_build (&graph);
  for (guint i = 0; i < cluster_n_resources (cluster); i++)
    {
      g_autofree char *name = cluster_resource_name (cluster, i);

      if (g_str_equal (name, "s0.to.s1"))
        found.slow_link = load_on (&graph, i);
    }
  found.memory = load_on (&graph, cluster_node_resource (cluster, 0, RESOURCE_DRAM,
                                                         cluster_socket_of_gpu (cluster, 0)));
  bind_graph_clear (&graph);
  return found;
}

/* s0 -> s1 is the one link of 1 Gbit/s; all others have 3. 2 x 3 / 4 of S pass every edge. */
START_TEST (order_arrives)
{
  ck_assert_double_eq_tol (bind (RING_ORDER_RANKS, RING_WISH_AUTO, NULL).slow_link, 1.5, 1e-12);
  ck_assert_double_eq (bind (RING_ORDER_BEST, RING_WISH_AUTO, NULL).slow_link, 0);
  ck_assert_double_eq (bind (RING_ORDER_RANKS, RING_WISH_BEST, NULL).slow_link, 0);
  ck_assert_double_eq_tol (bind (RING_ORDER_BEST, RING_WISH_RANKS, NULL).slow_link, 1.5, 1e-12);
}
END_TEST

/* An edge in and one out: 2 x 1.5. With int8 each socket works on half of what is re-encoded. */
START_TEST (codec_arrives)
{
  const double k = 4 / (1 + 4.0 / 2048), work = (k + 1) + 0.75 * (1 + 2 * k) + 0.75 * (1 + k);

  ck_assert_double_eq_tol (bind (RING_ORDER_RANKS, RING_WISH_AUTO, NULL).memory, 3, 1e-12);
  ck_assert_double_eq_tol (
      bind (RING_ORDER_RANKS, RING_WISH_AUTO, codec_find ("int8-block")).memory, 3 + work / 2,
      1e-4);
}
END_TEST

SUITE_MAIN (bind_hosts)
{
  Suite *suite = suite_create ("bind hosts");
  TCase *tcase = tcase_create ("hosts");

  tcase_add_test (tcase, order_arrives);
  tcase_add_test (tcase, codec_arrives);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
