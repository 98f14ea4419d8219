/*
 * Asserts the chunks of a double tree under Simple, by arithmetic done by hand on two nodes of
 * eight: what a connection's buffer, the network's plug-in and an older release make of them. Where
 * channels are slower than links, a chunk takes 1 / cap a byte on each of 14 edges inside nodes and
 * 2 between them, and all but one of these 16 are fill: so two runs differ by 15 (c - c') / cap.
 * And what few chunks take where a node's memory is slower than channels. Not asserted: what else a
 * tree takes, and agreement with measurements.
 */
#include "../suite.h"
#include "fixture.h"

#include <stdlib.h>

#define KIB    1024.0
#define MIB    (1024 * KIB)
#define STAGES 16

typedef struct
{
  const char *node, *library;
  double      buffer; /* asked for; 0: not */
} Run;

static CollectiveCost
cost_of (const Run *run, double bytes)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  CollectiveOptions   options = collective_default_options;
  CollectiveCost      cost;

  fixture_init (&fixture, run->node, 2);
  cluster = fixture_cluster (&fixture);
  options.algorithm = ALGORITHM_TREE;
  options.protocol = PROTOCOL_SIMPLE;
  options.library = run->library;
  options.buffsize = run->buffer;
  options.channels = 4; /* few enough to bind */
  {
    g_autofree guint32        *all = fixture_all (cluster);
    g_autoptr (CollectivePlan) plan = collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, all,
                                                           cluster_n_gpus (cluster), &options);

    collective_plan_cost (plan, bytes, &cost);
    cost.loads = NULL; /* the plan's */
  }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
  ck_assert_int_eq (cost.algorithm, ALGORITHM_TREE);
  ck_assert_int_eq (cost.protocol, PROTOCOL_SIMPLE);
  assert_near (cost.time, cost.latency + bytes / cost.rate_cap); /* channels bind */
  return cost;
}

/*
 * A channel's part of S over the chunk is held against 8, 4 and 1 times the depth of 7 + 1. Four
 * channels carry 1 MiB: 256 KiB each, one chunk, before 2.20 halved to 128, 64 and 32 KiB, of which
 * there are 8. 4 MiB: 1 MiB each, 2 chunks of 512 KiB, halved to 64 KiB (16 are enough for the last
 * rule). 64 MiB: 16 MiB each, halved once to 64 of 256 KiB. 256 MiB: 128 of 512 KiB, not halved. Of
 * a buffer of 8 MiB the slots are 1 MiB: 64 MiB are 16 chunks instead of 32, and 256 MiB has just
 * 64 a channel. The plug-in of p4d
 * and p5 asks for that, not the one that goes with an older library.
 */
START_TEST (test_chunks)
{
  static const struct
  {
    Run    run, other;
    double bytes, chunk, other_chunk; /* of all channels */
  } cases[] = {
    { { "dgx-a100", "2.20", 0 }, { "dgx-a100", "2.19", 0 }, MIB, MIB, 128 * KIB },
    { { "dgx-a100", "2.28", 0 }, { "dgx-a100", "2.18.5", 0 }, 4 * MIB, 2 * MIB, 256 * KIB },
    { { "dgx-a100", "2.20", 0 }, { "dgx-a100", "2.12", 0 }, 64 * MIB, 2 * MIB, MIB },
    { { "dgx-a100", "2.20", 0 }, { "dgx-a100", "2.12", 0 }, 256 * MIB, 2 * MIB, 2 * MIB },
    { { "dgx-a100", "2.20", 8 * MIB }, { "dgx-a100", "2.20", 0 }, 64 * MIB, 4 * MIB, 2 * MIB },
    { { "dgx-a100", "2.20", 4 * MIB }, { "dgx-a100", "2.20", 0 }, 64 * MIB, 2 * MIB, 2 * MIB },
    { { "dgx-a100", "2.19", 8 * MIB }, { "dgx-a100", "2.19", 0 }, 256 * MIB, 4 * MIB, 2 * MIB },
    { { "p4d", "2.20", 0 }, { "p4d", "2.20", 4 * MIB }, 64 * MIB, 4 * MIB, 2 * MIB },
    { { "p5", "2.28", 0 }, { "p5", "2.28", 4 * MIB }, 256 * MIB, 4 * MIB, 2 * MIB },
    { { "p5", "2.18.1", 0 }, { "p5", "2.18.1", 8 * MIB }, 256 * MIB, 2 * MIB, 4 * MIB },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const CollectiveCost one = cost_of (&cases[i].run, cases[i].bytes);
      const CollectiveCost other = cost_of (&cases[i].other, cases[i].bytes);
      const double differ = (STAGES - 1) * (cases[i].chunk - cases[i].other_chunk) / one.rate_cap;

      assert_near (one.rate_cap, other.rate_cap);
      ck_assert_msg (fabs (one.time - other.time - differ) < 1e-9 * one.time,
                     "case %u: %g s longer, expected %g", i, one.time - other.time, differ);
    }
}
END_TEST

/* Latency and fill of CHUNKS of 1 MiB over NODES; s per byte that CHANNEL takes. */
static double
filled (guint nodes, guint chunks, double *channel)
{
  CollectiveOptions options = collective_default_options;
  Fixture           fixture;
  CollectiveCost    cost;

  fixture_init_staged (&fixture, nodes, 24e9, 1);
  options.algorithm = ALGORITHM_TREE;
  options.protocol = PROTOCOL_SIMPLE;
  options.library = "2.20";
  {
    g_autoptr (Cluster)        cluster = fixture_cluster (&fixture);
    g_autofree guint32        *all = fixture_all (cluster);
    g_autoptr (CollectivePlan) plan =
        collective_plan_new (cluster, COLLECTIVE_ALL_REDUCE, all, 3 * nodes, &options);

    collective_plan_cost (plan, chunks * MIB, &cost);
  }
  fixture_clear (&fixture);
  *channel = 1 / cost.rate_cap;
  return cost.latency;
}

/*
 * Both trees' chains of three GPUs have 2 edges up and 2 down in a node, and each is written to its
 * memory and read: a byte of S keeps it for 8 / 24 GB/s, w. PCIe (31.5 GB/s x 0.3) of the GPU
 * beside the card takes 1 S from its neighbour, and from other nodes 1 S of two nodes, or 2 S of
 * four: of two children and the parent in one tree, of the parent in the other, S / 2 each. That is
 * p. A channel takes c on each edge, and where two children meet PCIe takes 2 x 1/2 S. So two nodes
 * have 6 stages of c; four have 4 + 2 of c and 2 of the others (s in all), in each of which two
 * edges are at work: 10. The first of n chunks passes the stages, and the others follow at w where
 * n keeps all edges at work, else at as much of w as there are chunks for, or at p if that is more;
 * n w is the memory's own time.
 * - Two nodes, 8 chunks: 6 c + 7 w - 8 w. 4: 6 c + 3 x 4/6 w - 4 w, which is less than nothing.
 * - Four, 16 chunks: s + 15 w - 16 w. 9: s + 8 p - 9 w, as p is more than 9/10 w.
 */
START_TEST (test_few_chunks_leave_stages_idle)
{
  const double w = 8 / 24e9, p = 3 / 9.45e9;
  double       c, few, many;

  few = filled (2, 4, &c);
  many = filled (2, 8, &c);
  ck_assert_double_eq_tol (many - few, MIB * (6 * c - w), 1e-12);
  ck_assert_double_eq_tol (filled (2, 1, &c), many, 1e-12); /* there is none that follows */
  few = filled (4, 9, &c);
  many = filled (4, 16, &c);
  ck_assert_double_eq_tol (many - few, MIB * 8 * (w - p), 1e-12);
}
END_TEST

SUITE_MAIN (tree_chunks)
{
  Suite *suite = suite_create ("tree-chunks");
  TCase *tcase = tcase_create ("chunks");

  tcase_add_test (tcase, test_chunks);
  tcase_add_test (tcase, test_few_chunks_leave_stages_idle);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
