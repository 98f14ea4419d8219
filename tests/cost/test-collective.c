/*
 * Asserts the bytes that collectives put on links, by arithmetic done by hand, and the latency
 * formula. It does not assert that times agree with measured runs: that is validation's business.
 */
#include "../cases.h"
#include "../suite.h"
#include "fixture.h"

#include "cost/collective/layout/rings-private.h"

#include <stdlib.h>
#include <string.h>

/*
 * ---- bytes by hand
 * ----------------------------------------------------------------------------------------------
 */

typedef struct
{
  guint  nodes;
  double flat, ratio;
} TrapCase;

static const TrapCase trap_cases[] = {
  { 2, 15.0 / 16, 15.0 / 8 }, /* (R-1)/R; (R-1)/(R-G) = 15/8 */
  { 4, 31.0 / 32, 31.0 / 24 },
};

/*
 * What a node sends: (R-1)/R in a flat ring, (N-1)/N in a hierarchical one, shared by its 8 cards.
 */
START_TEST (test_convention)
{
  const TrapCase     *trap = &trap_cases[_i];
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    flat = NULL;
  g_autoptr (Laid)    levels = NULL;
  double              low, high;

  fixture_init (&fixture, "dgx-a100", trap->nodes);
  cluster = fixture_cluster (&fixture);
  flat = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  levels = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_HIERARCHICAL);
  ck_assert_int_eq (flat->algorithm, ALGORITHM_RING);
  ck_assert_int_eq (levels->algorithm, ALGORITHM_HIERARCHICAL);
  for (guint node = 0; node < trap->nodes; node++)
    {
      assert_near (plan_sum (flat, cluster, RESOURCE_NIC_TX, node), trap->flat);
      assert_near (plan_sum (flat, cluster, RESOURCE_NIC_RX, node), trap->flat);
      assert_near (plan_sum (levels, cluster, RESOURCE_NIC_TX, node),
                   (trap->nodes - 1.0) / trap->nodes);
    }
  assert_near (
      plan_sum (flat, cluster, RESOURCE_NIC_TX, 0) / plan_sum (levels, cluster, RESOURCE_NIC_TX, 0),
      trap->ratio);
  ck_assert_uint_eq (plan_range (flat, cluster, RESOURCE_NIC_TX, &low, &high),
                     8 * (guint64) trap->nodes);
  assert_near (low, trap->flat / 8);
  assert_near (high, trap->flat / 8);
  /* each GPU feeds one card's worth: two cards behind one GPU's PCIe link would halve the rate */
  ck_assert_uint_eq (plan_range (flat, cluster, RESOURCE_PCIE_UP, &low, &high),
                     8 * (guint64) trap->nodes);
  assert_near (high, trap->flat / 8);
  ck_assert_uint_eq (plan_range (flat, cluster, RESOURCE_PCIE_DOWN, &low, &high),
                     8 * (guint64) trap->nodes);
  assert_near (high, trap->flat / 8);
  /* hierarchical, inside: the 8 GPUs gather all of S from each other */
  plan_range (levels, cluster, RESOURCE_NVLINK_OUT, &low, &high);
  assert_near (low, 7.0 / 8);
  assert_near (high, 7.0 / 8);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * Hierarchical all-reduce: 2 (N-1)/N out of a node, 2 * 7/8 over NVLink; reduce-scatter mirrors
 * all-gather.
 */
START_TEST (test_hierarchical_kinds)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    reduce = NULL;
  g_autoptr (Laid)    scatter = NULL;
  g_autoptr (Laid)    gather = NULL;
  double              low, high;

  fixture_init (&fixture, "dgx-h100", 4);
  cluster = fixture_cluster (&fixture);
  reduce = fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, ALGORITHM_HIERARCHICAL);
  scatter = fixture_plan (cluster, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_HIERARCHICAL);
  gather = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_HIERARCHICAL);
  assert_near (plan_sum (reduce, cluster, RESOURCE_NIC_TX, 3), 2 * 3.0 / 4);
  plan_range (reduce, cluster, RESOURCE_NVLINK_OUT, &low, &high);
  assert_near (low, 2 * 7.0 / 8);
  assert_near (high, 2 * 7.0 / 8);
  assert_near (plan_sum (scatter, cluster, RESOURCE_NIC_TX, 1), 3.0 / 4);
  assert_near (gather->link_seconds_per_byte, scatter->link_seconds_per_byte);
  assert_near (reduce->link_seconds_per_byte, 2 * gather->link_seconds_per_byte);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * 8 GPUs on one switch: each sends (n-1)/n once, although a switch that is modelled as a node would
 * count it twice.
 */
START_TEST (test_switch_is_crossed_once)
{
  static const double per_gpu[COLLECTIVE_N_KINDS] = {
    7.0 / 8, 7.0 / 8, 14.0 / 8, 1, 1, 7.0 / 8, 1
  };
  Fixture                fixture;
  g_autoptr (Cluster)    cluster = NULL;
  g_autoptr (Laid)       plan = NULL;
  const ClusterResource *port;
  double                 low, high;

  fixture_init (&fixture, "dgx-a100", 1);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, (CollectiveKind) _i, ALGORITHM_N);
  plan_range (plan, cluster, RESOURCE_NVLINK_OUT, &low, &high);
  assert_near (low, per_gpu[_i]);
  assert_near (high, per_gpu[_i]);
  assert_near (plan_sum (plan, cluster, RESOURCE_NVLINK_OUT, 0),
               8 * collective_wire_factor ((CollectiveKind) _i, 8));
  assert_near (plan_sum (plan, cluster, RESOURCE_NVLINK_IN, 0),
               8 * collective_wire_factor ((CollectiveKind) _i, 8));
  ck_assert (plan_sum (plan, cluster, RESOURCE_PCIE_UP, 0) == 0);
  port = cluster_resource (cluster, cluster_gpu_resource (cluster, 0, RESOURCE_NVLINK_OUT));
  assert_near (plan->link_seconds_per_byte, per_gpu[_i] / (port->capacity * port->efficiency));
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

START_TEST (test_broadcast)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  guint32             ranks[8] = { 5, 0, 1, 2, 3, 4, 6, 7 };

  fixture_init (&fixture, "dgx-a100", 1);
  cluster = fixture_cluster (&fixture);
  plan = laid_new (cluster, COLLECTIVE_BROADCAST, ranks, 8, ALGORITHM_HIERARCHICAL);
  ck_assert_int_eq (plan->algorithm, ALGORITHM_RING);
  /*
   * nothing into the root, the first of the group; nothing out of the last, the root's predecessor
   */
  ck_assert (plan_payload (plan, cluster_gpu_resource (cluster, 5, RESOURCE_NVLINK_IN)) == 0);
  assert_near (plan_payload (plan, cluster_gpu_resource (cluster, 5, RESOURCE_NVLINK_OUT)), 1);
  ck_assert (plan_payload (plan, cluster_gpu_resource (cluster, 4, RESOURCE_NVLINK_OUT)) == 0);
  assert_near (plan_sum (plan, cluster, RESOURCE_NVLINK_IN, 0), 7);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* One ring over leaves of 16 nodes leaves each leaf once. */
START_TEST (test_leaf_crossings)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              low, high;

  fixture_init (&fixture, "dgx-a100", 64);
  fixture.options.leaf_nodes = 16;
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_LEAF_UP, &low, &high), 4);
  assert_near (low, 511.0 / 512);
  assert_near (high, 511.0 / 512);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_LEAF_DOWN, &low, &high), 4);
  assert_near (low, 511.0 / 512);
  assert_near (high, 511.0 / 512);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* On rails, ring k stays on rail k: no leaf is left while a rail has one. */
START_TEST (test_rails)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;

  fixture_init (&fixture, "dgx-h100", 8);
  fixture.options.fabric = FABRIC_RAILS;
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_REDUCE_SCATTER, ALGORITHM_N);
  assert_near (plan_sum (plan, cluster, RESOURCE_NIC_TX, 2), 63.0 / 64);
  ck_assert (plan_sum (plan, cluster, RESOURCE_LEAF_UP, G_MAXUINT32) == 0);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* Two cards carry half each of what one carries. */
START_TEST (test_cards_share)
{
  double busiest[3] = { 0 };

  for (guint cards = 1; cards <= 2; cards++)
    {
      Fixture             fixture;
      g_autoptr (Cluster) cluster = NULL;
      g_autoptr (Laid)    plan = NULL;
      double              low;

      fixture_init (&fixture, "dgx-a100", 2);
      fixture.options.nics = cards;
      cluster = fixture_cluster (&fixture);
      plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
      ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NIC_TX, &low, &busiest[cards]),
                         2 * (guint64) cards);
      assert_near (low, busiest[cards]);
      g_clear_pointer (&cluster, cluster_free);
      fixture_clear (&fixture);
    }
  assert_near (busiest[1], 15.0 / 16);
  assert_near (busiest[2], 15.0 / 32);
}
END_TEST

/*
 * More cards than GPUs: every card works, and every GPU feeds as many as the others, in a ring and
 * alone.
 */
START_TEST (test_many_cards)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  g_autoptr (Laid)    pair = NULL;
  g_autoptr (Laid)    unlike = NULL;
  guint32             ranks[2] = { 2, 10 }, corners[2] = { 7, 8 };
  double              low, high;

  fixture_init (&fixture, "p5", 2);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NIC_TX, &low, &high), 64);
  assert_near (low, 15.0 / 16 / 32);
  assert_near (high, 15.0 / 16 / 32);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_PCIE_UP, &low, &high), 16);
  assert_near (low, 15.0 / 16 / 8);
  assert_near (high, 15.0 / 16 / 8);
  pair = laid_new (cluster, COLLECTIVE_SEND_RECV, ranks, 2, ALGORITHM_N);
  ck_assert_uint_eq (plan_range (pair, cluster, RESOURCE_NIC_TX, &low, &high), 8);
  assert_near (high, 0.25);
  /* unlike GPUs: each end uses its own four cards, and nothing crosses a socket */
  unlike = laid_new (cluster, COLLECTIVE_SEND_RECV, corners, 2, ALGORITHM_N);
  ck_assert_uint_eq (plan_range (unlike, cluster, RESOURCE_NIC_RX, &low, &high), 8);
  assert_near (high, 0.25);
  ck_assert (plan_sum (unlike, cluster, RESOURCE_SOCKET_LINK, G_MAXUINT32) == 0);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * Half the GPUs of a node, those of one socket: the other socket's cards stay unused, so the socket
 * link carries nothing and 4 of 8 cards carry (8-1)/8 of S, 7/32 each: what a board with 4 of each
 * does. With its own two cards per GPU a GPU would feed 2 * 25 GB/s over 31.5 GB/s of PCIe.
 */
START_TEST (test_cards_of_the_other_socket)
{
  static const char *const nodes[] = { "dgx-a100", "hgx-a100-4" };
  double                   seconds[2];

  for (guint i = 0; i < 2; i++)
    {
      Fixture                fixture;
      g_autoptr (Cluster)    cluster = NULL;
      g_autoptr (Laid)       plan = NULL;
      const ClusterResource *card;
      double                 low, high;

      fixture_init (&fixture, nodes[i], 2);
      fixture.options.gpus_per_node = 4;
      cluster = fixture_cluster (&fixture);
      plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
      ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NIC_TX, &low, &high), 8);
      assert_near (low, 7.0 / 32);
      assert_near (high, 7.0 / 32);
      ck_assert (plan_sum (plan, cluster, RESOURCE_SOCKET_LINK, G_MAXUINT32) == 0);
      card = cluster_resource (cluster, cluster_node_resource (cluster, 0, RESOURCE_NIC_TX, 0));
      ck_assert (card->capacity == 25e9);
      seconds[i] = plan->link_seconds_per_byte;
      assert_near (seconds[i], 7.0 / 32 / (25e9 * card->efficiency));
      g_clear_pointer (&cluster, cluster_free);
      fixture_clear (&fixture);
    }
  ck_assert (seconds[0] == seconds[1]);
}
END_TEST

/* One card, on the other socket: it is used all the same, over the socket link. */
START_TEST (test_only_card_is_far)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  guint32             ranks[2] = { 7, 15 };

  fixture_init (&fixture, "dgx-a100", 2);
  fixture.options.nics = 1;
  cluster = fixture_cluster (&fixture);
  plan = laid_new (cluster, COLLECTIVE_ALL_GATHER, ranks, 2, ALGORITHM_N);
  assert_near (plan_sum (plan, cluster, RESOURCE_NIC_TX, 0), 0.5);
  /* out on the way to the card, in on the way back */
  assert_near (plan_sum (plan, cluster, RESOURCE_SOCKET_LINK, 0), 2 * 0.5);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

static double
link_seconds (const char *node, guint gpus, guint cards, CollectiveKind kind)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              seconds;

  fixture_init (&fixture, node, 2);
  fixture.options.gpus_per_node = gpus;
  fixture.options.nics = cards;
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, kind, ALGORITHM_N);
  seconds = plan->link_seconds_per_byte;
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
  return seconds;
}

/*
 * Another card in each node never slows a ring down. Not so where a cube mesh is cut to 5 or 6
 * GPUs: its links are no longer alike, and the ring of another card may take a busy one.
 */
START_TEST (test_property_more_cards)
{
  static const char *const nodes[] = { "dgx-a100", "dgx-h100", "p5",         "dgx-1v",
                                       "dgx-2",    "a3-mega",  "hgx-a100-4", "a40x8-nvlink-pairs" };
  const char              *node = nodes[_i % (int) G_N_ELEMENTS (nodes)];
  guint                    gpus = 1 + (guint) _i / G_N_ELEMENTS (nodes);
  double                   before = INFINITY;

  if (gpus > 4 && g_str_equal (node, "hgx-a100-4"))
    return;
  if ((gpus == 5 || gpus == 6) && g_str_equal (node, "dgx-1v"))
    return;
  for (guint cards = 1; cards <= 16; cards++)
    {
      double seconds = link_seconds (node, gpus, cards, COLLECTIVE_ALL_GATHER);

      ck_assert_msg (seconds <= 1.01 * before,
                     "%s, %u GPUs, %u cards: %.6g s/GB, with one card less %.6g", node, gpus, cards,
                     1e9 * seconds, 1e9 * before);
      before = seconds;
    }
}
END_TEST

/* The same local GPU of each node: only its own card is used. */
START_TEST (test_replica_group)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  guint32             ranks[4] = { 3, 11, 19, 27 };
  double              low, high;

  fixture_init (&fixture, "dgx-h100", 4);
  cluster = fixture_cluster (&fixture);
  plan = laid_new (cluster, COLLECTIVE_ALL_REDUCE, ranks, 4, ALGORITHM_N);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NIC_TX, &low, &high), 4);
  assert_near (high, 2 * 3.0 / 4);
  for (guint node = 0; node < 4; node++)
    assert_near (
        plan_payload (plan, cluster_node_resource (cluster, node, RESOURCE_NIC_TX,
                                                   cluster_nearest_card (cluster, ranks[node]))),
        2 * 3.0 / 4);
  ck_assert (plan_sum (plan, cluster, RESOURCE_NVLINK_OUT, G_MAXUINT32) == 0);
  ck_assert (plan_payload (plan, cluster_gpu_resource (cluster, 2, RESOURCE_PCIE_UP)) == 0);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* A full mesh: every directed pair carries S/4 of an all-gather among 4. */
START_TEST (test_mesh_is_even)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              low, high;

  fixture_init (&fixture, "hgx-a100-4", 1);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NVLINK_PAIR, &low, &high), 12);
  assert_near (low, 0.25);
  assert_near (high, 0.25);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* Every cycle visits all once; together they use every directed pair equally often. */
START_TEST (test_mesh_cycles)
{
  guint             n = (guint) _i, cycles = ring_mesh_cycles (n);
  g_autofree guint *used = g_new0 (guint, n * n), *order = g_new (guint, n);

  for (guint j = 0; j < cycles; j++)
    {
      g_autofree gboolean *seen = g_new0 (gboolean, n);

      ring_mesh_cycle (n, j, order);
      for (guint i = 0; i < n; i++)
        {
          ck_assert_uint_lt (order[i], n);
          ck_assert (!seen[order[i]]);
          seen[order[i]] = TRUE;
          used[order[i] * n + order[(i + 1) % n]]++;
        }
    }
  for (guint a = 0; a < n; a++)
    for (guint b = 0; b < n; b++)
      ck_assert_uint_eq (used[a * n + b], a == b ? 0 : cycles / (n - 1));
}
END_TEST

/*
 * Pairs: every second hop goes over a bridge, the others over PCIe, so each GPU uses one direction
 * of its PCIe link.
 */
START_TEST (test_pairs_use_bridges)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              low, high;

  fixture_init (&fixture, "a40x8-nvlink-pairs", 1);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NVLINK_PAIR, &low, &high), 4);
  assert_near (high, 7.0 / 8);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_PCIE_UP, &low, &high), 4);
  assert_near (high, 7.0 / 8);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_PCIE_DOWN, &low, &high), 4);
  assert_near (high, 7.0 / 8);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * A ring enters and leaves a node between two pairs, whichever GPU is nearest to the card: no
 * bridge is lost.
 */
START_TEST (test_rings_keep_bridges)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  double              low, high;

  fixture_init (&fixture, "a40x8-nvlink-pairs", 2);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_RING);
  ck_assert_uint_eq (plan_range (plan, cluster, RESOURCE_NVLINK_PAIR, &low, &high), 8);
  assert_near (low, 15.0 / 16);
  assert_near (high, 15.0 / 16);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* HBM: twice what arrives for all-gather; (n-1)/n arrives. */
START_TEST (test_hbm)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    flat = NULL;
  g_autoptr (Laid)    levels = NULL;
  guint32             hbm;

  fixture_init (&fixture, "dgx-a100", 2);
  cluster = fixture_cluster (&fixture);
  flat = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_RING);
  levels = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_HIERARCHICAL);
  hbm = cluster_gpu_resource (cluster, 9, RESOURCE_HBM);
  assert_near (plan_payload (flat, hbm), 2 * 15.0 / 16);
  /* across: half of S/8 arrives; inside: 7/8 of S */
  assert_near (plan_payload (levels, hbm), 2 * (0.5 / 8 + 7.0 / 8));
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * ---- latency, channels
 * -------------------------------------------------------------------------------------------
 */

static double
figure_or_stock (const Figure *figure, const LinkProfile *link, const Cluster *cluster,
                 const char *key)
{
  return figure->value > 0 ? figure->value
                           : collective_default_figure (cluster_library (cluster, NULL), link,
                                                        cluster_gpu_profile (cluster, 0), key);
}

START_TEST (test_latency_by_hand)
{
  Fixture             fixture;
  g_autoptr (Cluster) one = NULL;
  g_autoptr (Cluster) two = NULL;
  g_autoptr (Laid)    plan_one = NULL;
  g_autoptr (Laid)    plan_two = NULL;
  g_autoptr (Laid)    plan_reduce = NULL;
  double              launch, link, wire, hop, step, net;
  CollectiveCost      small;
  Route               route;

  fixture_init (&fixture, "dgx-a100", 1);
  one = fixture_cluster (&fixture);
  fixture.options.nodes = 2;
  two = fixture_cluster (&fixture);
  launch = cluster_gpu_profile (one, 0)->kernel_latency.value
           + cluster_intra_profile (one, 0)->launch.value;
  hop = figure_or_stock (&cluster_intra_profile (one, 0)->hop_simple,
                         cluster_intra_profile (one, 0), one, "hop_simple");
  net = figure_or_stock (&cluster_nic_profile (two, 0)->hop_simple, cluster_nic_profile (two, 0),
                         two, "hop_simple");
  step = cluster_library (two, NULL)->post[PROTOCOL_SIMPLE];
  ck_assert (hop > 0 && net > 0 && step > 0);
  cluster_route_gpus (one, 0, 1, -1, &route);
  link = route.latency;
  cluster_route_gpus (two, 0, 8, -1, &route);
  wire = route.latency;
  plan_one = fixture_plan (one, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  /* 8.4 us + 7 hops */
  assert_near (plan_one->latency, launch + 8.4e-6 + 7 * (hop + link));
  plan_two = fixture_plan (two, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  step = MAX (hop + link, step); /* the cards' posting keeps all ranks at its pace */
  /*
   * 1 TiB: a GPU's 192 GB/s into the switch wait for its 25 GB/s card longer than a hop, so that of
   * the longest path only a hop of the network counts: and twice the wire
   */
  assert_near (plan_two->latency, launch + 8.4e-6 + net + 2 * wire);
  plan_reduce = fixture_plan (two, COLLECTIVE_ALL_REDUCE, ALGORITHM_N);
  assert_near (plan_reduce->latency, launch + 8.4e-6 + net + 2 * wire);
  /* 1 byte: 15 steps, or 30, that take a hop of the network and one inside in turn: credits */
  collective_plan_cost (plan_two->plan, 1, &small);
  ck_assert_double_eq_tol (small.latency, launch + 8.4e-6 + 7 * step + 8 * (net + 2 * wire), 1e-9);
  collective_plan_cost (plan_reduce->plan, 1, &small);
  ck_assert_double_eq_tol (small.latency, launch + 8.4e-6 + 15 * step + 15 * (net + 2 * wire),
                           1e-9);
  g_clear_pointer (&one, cluster_free);
  g_clear_pointer (&two, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

typedef struct
{
  const char *node;
  guint       nodes;
  double      channels, rings; /* rings: of its layout, one a card between nodes */
} ChannelCase;

static const ChannelCase channel_cases[] = {
  { "a40x8-nvlink-pairs", 1, 2, 1 }, /* PCIe: one ring of 24 GB/s, doubled */
  { "dgx-a100", 1, 24, 1 },          /* 6 rings of 40 GB/s, split and doubled; logs */
  { "dgx-a100", 2, 16, 8 },          /* 8 rings of 24 GB/s, doubled */
  { "dgx-h100", 1, 24, 1 },
  { "dgx-h100", 2, 16, 8 },          /* 8 rings of 48 GB/s, not split, doubled; logs */
  { "a40x8-nvlink-pairs", 4, 2, 1 }, /* one ring of 12 GB/s, doubled */
};

START_TEST (test_channels)
{
  const ChannelCase  *expected = &channel_cases[_i];
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  CollectiveCost      full, little;

  fixture_init (&fixture, expected->node, expected->nodes);
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  ck_assert_double_eq (plan->channels, expected->channels);
  /* a full channel is a connection; the little that one channel carries crosses every card */
  collective_plan_cost (plan->plan, 0x1p40, &full);
  collective_plan_cost (plan->plan, 64, &little);
  ck_assert_double_eq (full.weight, expected->channels);
  ck_assert_uint_eq (little.channels, 1);
  ck_assert_double_eq (little.weight, expected->rings);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * GPUs joined all to all: what NCCL's search finds has the links to each of the others, none to
 * itself. Two A100 with four links run 8 thread blocks in a public log (NVIDIA/nccl-tests issue
 * 331); the others by hand, rates in GB/s: links to the others at what the search takes a link for,
 * in rings of its list, split in two from 25 (many rings of newer GPUs: from 50), and doubled.
 */
static const struct
{
  const char *gpu, *intra;
  int         gpus;
  double      channels;
} mesh_cases[] = {
  { "a100-sxm-64", "nvlink3-mesh", 2, 8 },    /* 80: 2 of 40, 4 of 20 */
  { "a100-sxm-64", "nvlink3-mesh", 4, 24 },   /* 240: 6 of 40, 12 of 20 */
  { "h100-sxm-64", "nvlink4-mesh", 4, 24 },   /* 371: 6 of 60, 12 of 30 */
  { "mi300x-192", "xgmi-mi300-mesh", 8, 32 }, /* 336: 8 of 40, 16 of 20 */
  { "mi300x-192", "xgmi-mi300-mesh", 4, 14 }, /* 144: 7 of 20 */
};

START_TEST (test_mesh_channels)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;

  fixture_init (&fixture, "generic", 1);
  fixture.options.gpus_per_node = mesh_cases[_i].gpus;
  fixture.options.gpu = g_strdup (mesh_cases[_i].gpu);
  fixture.options.intra = g_strdup (mesh_cases[_i].intra);
  fixture.options.nic = g_strdup ("none");
  fixture.options.nics = 0;
  cluster = fixture_cluster (&fixture);
  plan = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  ck_assert_double_eq (plan->channels, mesh_cases[_i].channels);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * ---- groups -------------------------------------------------------------------------------------
 * -------------------
 */

START_TEST (test_one_rank)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  guint32             rank = 5;

  fixture_init (&fixture, "dgx-a100", 2);
  cluster = fixture_cluster (&fixture);
  for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
    {
      g_autoptr (Laid) plan = laid_new (cluster, (CollectiveKind) kind, &rank, 1, ALGORITHM_N);

      ck_assert_uint_eq (plan->n_loads, 0);
      ck_assert_double_eq (laid_time (plan, 1e9), 0);
      ck_assert_double_eq (plan->channels, 0);
      ck_assert_double_eq (collective_wire_factor ((CollectiveKind) kind, 1), 0);
    }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

START_TEST (test_names)
{
  ck_assert_str_eq (collective_kind_name (COLLECTIVE_ALL_GATHER), "all_gather");
  ck_assert_str_eq (collective_kind_name (COLLECTIVE_SEND_RECV), "send_recv");
  ck_assert_str_eq (collective_algorithm_name (ALGORITHM_HIERARCHICAL), "hierarchical");
}
END_TEST

/* Uneven members fall back to the flat ring. */
START_TEST (test_uneven_is_flat)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    plan = NULL;
  guint32             ranks[5] = { 0, 1, 2, 8, 9 };

  fixture_init (&fixture, "dgx-a100", 2);
  cluster = fixture_cluster (&fixture);
  plan = laid_new (cluster, COLLECTIVE_ALL_GATHER, ranks, 5, ALGORITHM_HIERARCHICAL);
  ck_assert_int_eq (plan->algorithm, ALGORITHM_RING);
  assert_near (plan_sum (plan, cluster, RESOURCE_NIC_TX, 0), 0.8);
  assert_near (plan_sum (plan, cluster, RESOURCE_NIC_TX, 1), 0.8);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

static void
assert_plans_equal (const Laid *a, const Laid *b)
{
  ck_assert_uint_eq (a->n_loads, b->n_loads);
  for (guint i = 0; i < a->n_loads; i++)
    {
      ck_assert_uint_eq (a->loads[i].resource, b->loads[i].resource);
      ck_assert_double_eq (a->loads[i].payload, b->loads[i].payload);
      ck_assert_double_eq (a->loads[i].service, b->loads[i].service);
    }
  ck_assert_double_eq (a->latency, b->latency);
  ck_assert_double_eq (a->channels, b->channels);
}

static void
shuffle (GRand *rand, guint32 *values, guint n)
{
  for (guint i = n; i > 1; i--)
    {
      guint   j = (guint) g_rand_int_range (rand, 0, (gint32) i);
      guint32 value = values[i - 1];

      values[i - 1] = values[j];
      values[j] = value;
    }
}

START_TEST (test_order_inside_a_node)
{
  static const char *const nodes[] = { "dgx-a100", "dgx-h100", "hgx-a100-4", "a40x8-nvlink-pairs" };
  g_autoptr (GRand)        rand = g_rand_new_with_seed (7);
  Fixture                  fixture;
  g_autoptr (Cluster)      cluster = NULL;
  g_autofree guint32      *ranks = NULL;

  fixture_init (&fixture, nodes[_i], 3);
  cluster = fixture_cluster (&fixture);
  ranks = fixture_all (cluster);
  for (guint node = 0; node < 3; node++)
    shuffle (rand, ranks + cluster_first_gpu (cluster, node), cluster_gpus_of_node (cluster, node));
  for (guint algorithm = ALGORITHM_RING; algorithm <= ALGORITHM_HIERARCHICAL; algorithm++)
    {
      g_autoptr (Laid) sorted =
          fixture_plan (cluster, COLLECTIVE_ALL_REDUCE, (CollectiveAlgorithm) algorithm);
      g_autoptr (Laid) mixed = laid_new (cluster, COLLECTIVE_ALL_REDUCE, ranks,
                                         cluster_n_gpus (cluster), (CollectiveAlgorithm) algorithm);

      assert_plans_equal (sorted, mixed);
    }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* ---- properties ------------------------------------------------------------------------------ */

/* The boxes take turns by SEED; one in four of each stands alone, where other algorithms run. */
static void
random_fixture (Fixture *fixture, guint seed, GRand *rand)
{
  static const char *const nodes[] = { "dgx-a100",           "dgx-h100", "hgx-a100-4",
                                       "a40x8-nvlink-pairs", "dgx-2",    "p4d" };
  const guint              turn = seed / G_N_ELEMENTS (nodes);
  const guint              n_nodes = turn % 4 == 0 ? 1 : (guint) g_rand_int_range (rand, 2, 13);

  fixture_init (fixture, nodes[seed % G_N_ELEMENTS (nodes)], n_nodes);
  fixture->options.leaf_nodes = g_rand_int_range (rand, 0, 5);
  fixture->options.fabric = g_rand_boolean (rand) ? FABRIC_RAILS : FABRIC_LEAF_SPINE;
  if (fixture->options.leaf_nodes > 0)
    fixture->options.oversubscription = g_rand_double_range (rand, 1, 4);
}

/* Some of the cluster's GPUs, at least one. */
static guint32 *
random_group (GRand *rand, const Cluster *cluster, guint *n)
{
  guint32 *ranks = fixture_all (cluster);

  *n = cluster_n_gpus (cluster);
  if (g_rand_boolean (rand))
    return ranks;
  shuffle (rand, ranks, *n);
  *n = (guint) g_rand_int_range (rand, 1, (gint32) *n + 1);
  return ranks;
}

static void
check_plan (const Laid *plan, const Cluster *cluster, guint seed)
{
  double worst = 0;

  for (guint i = 0; i < plan->n_loads; i++)
    {
      const CollectiveLoad  *load = &plan->loads[i];
      const ClusterResource *resource = cluster_resource (cluster, load->resource);

      ck_assert_msg (i == 0 || plan->loads[i - 1].resource < load->resource, "seed %u", seed);
      ck_assert_msg (isfinite (load->payload) && load->payload > 0
                         && load->service >= load->payload,
                     "seed %u", seed);
      worst = MAX (worst, load->service / resource->capacity);
    }
  ck_assert_msg (plan->link_seconds_per_byte == worst, "seed %u", seed);
  ck_assert_msg ((plan->n_ranks > 1) == (plan->latency > 0 && plan->channels > 0 && worst > 0),
                 "seed %u", seed);
  ck_assert_msg (fabs (laid_time (plan, 3e9) - laid_time (plan, 1e9) - 2e9 * worst)
                     <= 1e-12 * laid_time (plan, 3e9),
                 "seed %u", seed);
}

/*
 * How often what is sent inside nodes is received. A switch that multicasts hands each part of an
 * all-gather to the whole group; one that reduces hands on a sum of what the group sends.
 */
static double
received_of_sent (const Laid *plan)
{
  if (plan->algorithm == ALGORITHM_NVLS && plan->kind == COLLECTIVE_ALL_GATHER)
    return plan->n_ranks;
  if (plan->algorithm == ALGORITHM_NVLS && plan->kind == COLLECTIVE_REDUCE_SCATTER)
    return 1.0 / plan->n_ranks;
  return 1;
}

/*
 * What leaves the nodes: one crossing a node and ring, each with its part; what is sent is
 * received.
 */
static void
check_conservation (const Laid *plan, const Cluster *cluster)
{
  static const ResourceKind pairs[][2] = { { RESOURCE_NIC_TX, RESOURCE_NIC_RX },
                                           { RESOURCE_NVLINK_OUT, RESOURCE_NVLINK_IN },
                                           { RESOURCE_LEAF_UP, RESOURCE_LEAF_DOWN } };
  double                    sent;

  for (guint i = 0; i < G_N_ELEMENTS (pairs); i++)
    assert_near (plan_sum (plan, cluster, pairs[i][0], G_MAXUINT32) * received_of_sent (plan),
                 plan_sum (plan, cluster, pairs[i][1], G_MAXUINT32));
  if (plan->algorithm != ALGORITHM_RING || plan->n_nodes == 1)
    return;
  sent = plan_sum (plan, cluster, RESOURCE_NIC_TX, G_MAXUINT32);
  if (plan->kind == COLLECTIVE_BROADCAST
      || plan->kind == COLLECTIVE_REDUCE) /* rings entering the root's node elsewhere come back */
    ck_assert (sent > plan->n_nodes - 1 - 1e-9 && sent < plan->n_nodes + 1e-9);
  else
    assert_near (sent, plan->n_nodes * collective_wire_factor (plan->kind, plan->n_ranks));
}

START_TEST (test_property_plans)
{
  const guint32       seed = 4711 + (guint32) _i;
  g_autoptr (GRand)   rand = g_rand_new_with_seed (seed);
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autofree guint32 *ranks = NULL;
  guint               n;

  random_fixture (&fixture, seed, rand);
  cluster = fixture_cluster (&fixture);
  ranks = random_group (rand, cluster, &n);
  for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
    for (guint algorithm = 0; algorithm < ALGORITHM_N; algorithm++)
      {
        g_autoptr (Laid) plan =
            laid_new (cluster, (CollectiveKind) kind, ranks, n, (CollectiveAlgorithm) algorithm);
        g_autoptr (Laid) again =
            laid_new (cluster, (CollectiveKind) kind, ranks, n, (CollectiveAlgorithm) algorithm);

        check_plan (plan, cluster, seed);
        assert_plans_equal (plan, again);
        check_conservation (plan, cluster);
      }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

static void
expect_route (const Route *route, double bytes, double *expected)
{
  for (guint k = 0; k < route->n; k++)
    expected[route->resources[k]] += bytes;
}

/*
 * The GPU of FROM's node, of the N RANKS, that hands what FROM sends to TO to the card *OUT; FROM
 * without PXN. Every GPU has one card.
 */
static guint32
relay_of (const Cluster *cluster, const guint32 *ranks, guint n, guint32 from, guint32 to,
          guint *out)
{
  const guint node = cluster_node_of_gpu (cluster, from), first = cluster_first_gpu (cluster, node);
  const guint32 rail = first + to - cluster_first_gpu (cluster, cluster_node_of_gpu (cluster, to));
  const guint   card = cluster_nearest_card (cluster, rail);
  guint32       relay = G_MAXUINT32;
  gboolean      in_group = FALSE;
  Route         route;

  *out = cluster_nearest_card (cluster, from);
  for (guint i = 0; i < n; i++)
    {
      if (cluster_node_of_gpu (cluster, ranks[i]) == node
          && cluster_nearest_card (cluster, ranks[i]) == card)
        relay = MIN (relay, ranks[i]);
      in_group |= ranks[i] == rail;
    }
  if (!in_group || cluster_gpu_card_pcie (cluster, relay, card) > PATH_PXB)
    return from;
  cluster_route_gpus (cluster, from, relay, -1, &route);
  if (from != relay && route.class_ != PATH_NVLINK)
    return from;
  *out = card;
  return relay;
}

static void
expect_pair (const Cluster *cluster, const guint32 *ranks, guint n, guint32 from, guint32 to,
             gboolean pxn, double *expected)
{
  guint32 sender = from;
  gint    card = -1;
  Route   route;

  if (pxn && cluster_node_of_gpu (cluster, from) != cluster_node_of_gpu (cluster, to))
    {
      guint out;

      sender = relay_of (cluster, ranks, n, from, to, &out);
      card = (gint) out;
      cluster_route_gpus (cluster, from, sender, -1, &route);
      expect_route (&route, 1.0 / n, expected);
    }
  cluster_route_cards (cluster, sender, card, to, -1, 1, &route);
  expect_route (&route, 1.0 / n, expected);
}

/* The all-to-all that is counted by members equals the sum over all pairs. */
static void
check_all_to_all (const Cluster *cluster, const guint32 *ranks, guint n, gboolean pxn, guint seed)
{
  g_autoptr (Laid)   plan = NULL;
  g_autofree double *expected = g_new0 (double, cluster_n_resources (cluster));

  plan =
      laid_new_with (cluster, COLLECTIVE_ALL_TO_ALL, ranks, n, ALGORITHM_N, pxn ? PXN_ON : PXN_OFF);
  for (guint i = 0; i < n; i++)
    for (guint j = 0; j < n; j++)
      if (i != j)
        expect_pair (cluster, ranks, n, ranks[i], ranks[j], pxn, expected);
  for (guint id = 0; id < cluster_n_resources (cluster); id++)
    {
      g_autofree char *name = cluster_resource_name (cluster, id);
      double           payload = plan_payload (plan, id);

      if (cluster_resource (cluster, id)->kind != RESOURCE_HBM)
        ck_assert_msg (fabs (payload - expected[id]) <= 1e-9 * expected[id],
                       "seed %u, %s: %.15g, expected %.15g", seed, name, payload, expected[id]);
    }
}

START_TEST (test_property_all_to_all)
{
  const guint32       seed = 815 + (guint32) _i;
  g_autoptr (GRand)   rand = g_rand_new_with_seed (seed);
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autofree guint32 *ranks = NULL;
  guint               n;

  random_fixture (&fixture, seed, rand);
  cluster = fixture_cluster (&fixture);
  ranks = random_group (rand, cluster, &n);
  check_all_to_all (cluster, ranks, n, FALSE, seed);
  check_all_to_all (cluster, ranks, n, TRUE, seed);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/*
 * On rails: two rails in the first node and one of them in each other node; then a second rail in
 * the last node only. Both need more than a look at each node's first member to see who hangs under
 * which leaf.
 */
START_TEST (test_all_to_all_mixed_rails)
{
  static const guint32 groups[][4] = { { 0, 1, 9, 16 }, { 0, 8, 16, 17 } };
  Fixture              fixture;
  g_autoptr (Cluster)  cluster = NULL;

  fixture_init (&fixture, "dgx-h100", 3);
  fixture.options.fabric = FABRIC_RAILS;
  cluster = fixture_cluster (&fixture);
  check_all_to_all (cluster, groups[_i], 4, FALSE, 0);
  check_all_to_all (cluster, groups[_i], 4, TRUE, 0);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

/* 2 048 nodes: every node sends (n-1)/n. How long planning takes is the benchmark's business. */
START_TEST (test_large)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  g_autoptr (Laid)    ring = NULL;
  g_autoptr (Laid)    exchange = NULL;
  double              low, high;

  fixture_init (&fixture, "dgx-h100", 2048);
  fixture.options.leaf_nodes = 32;
  cluster = fixture_cluster (&fixture);
  ring = fixture_plan (cluster, COLLECTIVE_ALL_GATHER, ALGORITHM_N);
  ck_assert_uint_eq (plan_range (ring, cluster, RESOURCE_NIC_TX, &low, &high), 16384);
  assert_near (low, 16383.0 / 16384 / 8);
  assert_near (high, 16383.0 / 16384 / 8);
  plan_range (ring, cluster, RESOURCE_PCIE_UP, &low, &high);
  assert_near (high, 16383.0 / 16384 / 8);
  exchange = fixture_plan (cluster, COLLECTIVE_ALL_TO_ALL, ALGORITHM_N);
  plan_range (exchange, cluster, RESOURCE_NIC_TX, &low, &high);
  assert_near (low, 16376.0 / 16384);
  assert_near (high, 16376.0 / 16384);
  /* a leaf of 256 GPUs: each to the 16 128 others */
  plan_range (exchange, cluster, RESOURCE_LEAF_UP, &low, &high);
  ck_assert_double_le (fabs (high - 256.0 * 16128 / 16384), 1e-9);
  ck_assert_double_le (fabs (low - 256.0 * 16128 / 16384), 1e-9);
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
}
END_TEST

static Suite *
collective_suite (void)
{
  Suite *suite = suite_create ("collective");
  TCase *bytes = tcase_create ("bytes"), *other = tcase_create ("latency and groups"),
        *property = tcase_create ("property");

  tcase_add_loop_test (bytes, test_convention, 0, G_N_ELEMENTS (trap_cases));
  tcase_add_test (bytes, test_hierarchical_kinds);
  tcase_add_loop_test (bytes, test_switch_is_crossed_once, 0, COLLECTIVE_BROADCAST);
  tcase_add_loop_test (bytes, test_switch_is_crossed_once, COLLECTIVE_ALL_TO_ALL,
                       COLLECTIVE_N_KINDS);
  tcase_add_test (bytes, test_broadcast);
  tcase_add_test (bytes, test_leaf_crossings);
  tcase_add_test (bytes, test_rails);
  tcase_add_test (bytes, test_cards_share);
  tcase_add_test (bytes, test_many_cards);
  tcase_add_test (bytes, test_cards_of_the_other_socket);
  tcase_add_test (bytes, test_only_card_is_far);
  tcase_add_test (bytes, test_replica_group);
  tcase_add_test (bytes, test_mesh_is_even);
  tcase_add_loop_test (bytes, test_mesh_cycles, 2, 17);
  tcase_add_test (bytes, test_pairs_use_bridges);
  tcase_add_test (bytes, test_rings_keep_bridges);
  tcase_add_test (bytes, test_hbm);
  tcase_add_test (bytes, test_large);
  tcase_add_loop_test (bytes, test_all_to_all_mixed_rails, 0, 2);
  tcase_add_test (other, test_latency_by_hand);
  tcase_add_loop_test (other, test_channels, 0, G_N_ELEMENTS (channel_cases));
  tcase_add_loop_test (other, test_mesh_channels, 0, G_N_ELEMENTS (mesh_cases));
  tcase_add_test (other, test_one_rank);
  tcase_add_test (other, test_names);
  tcase_add_test (other, test_uneven_is_flat);
  tcase_add_loop_test (other, test_order_inside_a_node, 0, 4);
  tcase_add_loop_test (property, test_property_plans, 0, (int) cases_of (1000));
  tcase_add_loop_test (property, test_property_more_cards, 0, 8 * 8);
  tcase_add_loop_test (property, test_property_all_to_all, 0, (int) cases_of (2000));
  suite_add_tcase (suite, bytes);
  suite_add_tcase (suite, other);
  suite_add_tcase (suite, property);
  return suite;
}

SUITE_MAIN (collective)
{
  return suite_run (collective_suite ());
}
