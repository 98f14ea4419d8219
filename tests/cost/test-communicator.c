/*
 * The device memory of communicators, by arithmetic done by hand and against two published
 * measurements (NVIDIA/nccl#964: 544 MiB for two, 688 MiB for four A100s on NVLink). The channels
 * of a group are the plans' own: their tests are elsewhere.
 */
#include "../suite.h"
#include "cost/collective/library/communicator.h"
#include "fixture.h"

#include <stdlib.h>

#define MIB (1024.0 * 1024)

static double
mib (const Cluster *cluster, guint first, guint n, guint step, guint uses)
{
  guint32 ranks[16];

  for (guint i = 0; i < n; i++)
    ranks[i] = first + i * step;
  return (double) communicator_bytes (cluster, ranks, n, (CommunicatorUse){ uses, 0 }, NULL) / MIB;
}

/*
 * 24 channels; a receiver's 10 MiB and a sender's 2; one connection of the ring and 2 x 1 / 2 or 2
 * x 3 / 4 of the tree.
 */
START_TEST (test_one_node)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;

  fixture_init (&fixture, "dgx-a100", 1);
  cluster = fixture_cluster (&fixture);
  assert_near (mib (cluster, 0, 2, 1, COMMUNICATOR_COLLECTIVES), 24 * 12 * 2.0);
  assert_near (mib (cluster, 0, 4, 1, COMMUNICATOR_COLLECTIVES), 24 * 12 * 2.5);
  ck_assert (fabs (mib (cluster, 0, 2, 1, COMMUNICATOR_COLLECTIVES) / 544 - 1) < 0.06);
  ck_assert (fabs (mib (cluster, 0, 4, 1, COMMUNICATOR_COLLECTIVES) / 688 - 1) < 0.05);
  assert_near (mib (cluster, 0, 1, 1, COMMUNICATOR_COLLECTIVES), 0);
  assert_near (mib (cluster, 0, 4, 1, 0), 0);
  /* with seven others seven times the connections to one */
  assert_near (mib (cluster, 0, 8, 1, COMMUNICATOR_ALL_TO_ALL),
               7 * mib (cluster, 0, 8, 1, COMMUNICATOR_MESSAGES));
  assert_near (mib (cluster, 0, 4, 1, COMMUNICATOR_COLLECTIVES | COMMUNICATOR_MESSAGES),
               mib (cluster, 0, 4, 1, COMMUNICATOR_COLLECTIVES)
                   + mib (cluster, 0, 4, 1, COMMUNICATOR_MESSAGES));
  fixture_clear (&fixture);
}
END_TEST

/*
 * Two nodes: alone in its node a member sends over the network, 20 MiB a connection; of eight one
 * in eight does, 13. EFA's plug-in has buffers of 8 MiB, 14 with the other protocols': 28, 17.5.
 */
START_TEST (test_two_nodes)
{
  static const struct
  {
    const char *node;
    guint       n, step;
    double      connection;
  } cases[] = {
    { "dgx-a100", 2, 8, 20 }, { "dgx-a100", 16, 1, 13 }, { "p4d", 2, 8, 28 }, { "p4d", 16, 1, 17.5 }
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      Fixture             fixture;
      g_autoptr (Cluster) cluster = NULL;
      double              channels;

      fixture_init (&fixture, cases[i].node, 2);
      cluster = fixture_cluster (&fixture);
      channels = mib (cluster, 0, cases[i].n, cases[i].step, COMMUNICATOR_COLLECTIVES)
                 / cases[i].connection / (1 + 2.0 * (cases[i].n - 1) / cases[i].n);

      ck_assert (channels >= 1 && channels <= 32);
      ck_assert (fabs (channels - round (channels)) < 1e-4);
      g_clear_pointer (&cluster, cluster_free);
      fixture_clear (&fixture);
    }
}
END_TEST

/*
 * Eight heads of a DGX H100, 16 channels, two buffers each: of 4 MiB and 2 MiB of counters until
 * 2.20, as a public log has it (nvlsTotalSize 1610612736); of 1 MiB (268435456) and a page of
 * counters since, which 2.28 takes for a large all-reduce alone. A pair of GPUs has none.
 */
START_TEST (test_nvls)
{
  const struct
  {
    const char *nccl;
    guint       n;
    double      all_reduced, nvls;
  } cases[] = {
    { "2.20", 8, 0, 1536 }, { "2.21", 8, 0, 258 }, { "2.28", 8, 1e9, 258 }, { "2.28", 8, 4, 0 },
    { "2.28", 8, 0, 0 },    { "2.20", 4, 0, 768 }, { "2.20", 2, 1e9, 0 },
  };
  static const guint32 ranks[] = { 0, 1, 2, 3, 4, 5, 6, 7 };
  Fixture              fixture;
  g_autoptr (Cluster)  cluster = NULL;

  fixture_init (&fixture, "dgx-h100", 1);
  cluster = fixture_cluster (&fixture);
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      CollectiveOptions options = collective_default_options;
      CommunicatorUse   use = { COMMUNICATOR_COLLECTIVES, cases[i].all_reduced };
      double            on, off;

      options.library = cases[i].nccl;
      on = (double) communicator_bytes (cluster, ranks, cases[i].n, use, &options);
      options.nvls = NVLS_OFF;
      off = (double) communicator_bytes (cluster, ranks, cases[i].n, use, &options);
      assert_near ((on - off) / MIB, cases[i].nvls);
      ck_assert_double_gt (off, 0);
    }
  fixture_clear (&fixture);
}
END_TEST

SUITE_MAIN (communicator)
{
  Suite *suite = suite_create ("communicator");
  TCase *tcase = tcase_create ("memory");

  tcase_add_test (tcase, test_one_node);
  tcase_add_test (tcase, test_two_nodes);
  tcase_add_test (tcase, test_nvls);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
