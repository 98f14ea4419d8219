/*
 * Asserts what the tuner of a network's plug-in changes: its regions by arithmetic done by hand on
 * their corners (aws/aws-ofi-nccl, src/tuner/nccl_ofi_regions.cpp), where it is silent and the
 * library chooses, what a forced wish leaves of it, and that mistakes in a profile are named. Not
 * asserted: agreement with measurements.
 */
#include "../suite.h"
#include "fixture.h"

#include <glib/gstdio.h>
#include <stdlib.h>

#include "base/file/layout.h"

typedef struct
{
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
} Chosen;

static Chosen
chosen (const char *node, guint nodes, guint of_each, CollectiveKind kind, double bytes,
        const CollectiveOptions *options)
{
  Fixture             fixture;
  g_autoptr (Cluster) cluster = NULL;
  Chosen              found;

  fixture_init (&fixture, node, nodes);
  cluster = fixture_cluster (&fixture);
  {
    const guint                per_node = cluster_n_gpus (cluster) / nodes, n = nodes * of_each;
    g_autofree guint32        *ranks = g_new (guint32, n);
    g_autoptr (CollectivePlan) plan = NULL;
    CollectiveCost             cost;

    for (guint i = 0; i < n; i++)
      ranks[i] = i / of_each * per_node + i % of_each;
    plan = collective_plan_new (cluster, kind, ranks, n, options);
    collective_plan_cost (plan, bytes, &cost);
    found = (Chosen){ cost.algorithm, cost.protocol };
  }
  g_clear_pointer (&cluster, cluster_free);
  fixture_clear (&fixture);
  return found;
}

static void
assert_chosen (Chosen found, CollectiveAlgorithm algorithm, CollectiveProtocol protocol, guint at)
{
  ck_assert_msg (found.algorithm == algorithm && found.protocol == protocol,
                 "case %u: %s %s, expected %s %s", at, collective_algorithm_name (found.algorithm),
                 collective_protocol_name (found.protocol), collective_algorithm_name (algorithm),
                 collective_protocol_name (protocol));
}

/*
 * p5en, all-gather: LL up to 4 718 592 bytes on 128 ranks, and up to 786 432 on 16, so on 64, two
 * of three doublings on, up to 786 432 x 6^(2/3) = 2 596 750. LL128 from there to 956 301 312.
 * p5, all-reduce: under a tree and LL128 up to 117 440 512 on 64 ranks and 301 989 888 on 128,
 * then LL128 rings up to 2 GiB on both. p5en, one rank a node: PAT up to 8 388 608 on 8 ranks.
 * RCCL on MI350: LL128 up to 17 660 227 of an all-reduce on two nodes and 3 145 728 more a
 * doubling, 4 194 304 a rank of a reduce-scatter; on MI300 no LL128, LL up to 98 304 a rank of an
 * all-gather.
 */
static const struct
{
  const char         *node;
  guint               nodes, of_each;
  CollectiveKind      kind;
  double              bytes;
  CollectiveAlgorithm algorithm;
  CollectiveProtocol  protocol;
} tuned[] = {
  { "p5en", 16, 8, COLLECTIVE_ALL_GATHER, 4718592, ALGORITHM_RING, PROTOCOL_LL },
  { "p5en", 16, 8, COLLECTIVE_ALL_GATHER, 4718600, ALGORITHM_RING, PROTOCOL_LL128 },
  { "p5en", 8, 8, COLLECTIVE_ALL_GATHER, 2596700, ALGORITHM_RING, PROTOCOL_LL },
  { "p5en", 8, 8, COLLECTIVE_ALL_GATHER, 2596800, ALGORITHM_RING, PROTOCOL_LL128 },
  { "p5en", 8, 8, COLLECTIVE_ALL_GATHER, 956301312, ALGORITHM_RING, PROTOCOL_LL128 },
  { "p5en", 8, 8, COLLECTIVE_ALL_GATHER, 956310000, ALGORITHM_RING, PROTOCOL_SIMPLE },
  { "p5", 8, 8, COLLECTIVE_ALL_REDUCE, 8, ALGORITHM_TREE, PROTOCOL_LL128 },
  { "p5", 8, 8, COLLECTIVE_ALL_REDUCE, 117440512, ALGORITHM_TREE, PROTOCOL_LL128 },
  { "p5", 8, 8, COLLECTIVE_ALL_REDUCE, 117450000, ALGORITHM_RING, PROTOCOL_LL128 },
  { "p5", 16, 8, COLLECTIVE_ALL_REDUCE, 301990000, ALGORITHM_RING, PROTOCOL_LL128 },
  { "p5", 16, 8, COLLECTIVE_ALL_REDUCE, 2147483648, ALGORITHM_RING, PROTOCOL_LL128 },
  { "p5", 16, 8, COLLECTIVE_ALL_REDUCE, 4e9, ALGORITHM_NVLS_TREE, PROTOCOL_SIMPLE },
  { "p5", 16, 8, COLLECTIVE_ALL_REDUCE, 8e9, ALGORITHM_RING, PROTOCOL_SIMPLE },
  { "p5en", 8, 1, COLLECTIVE_ALL_GATHER, 8388608, ALGORITHM_PAT, PROTOCOL_SIMPLE },
  { "p5en", 8, 1, COLLECTIVE_ALL_GATHER, 8400000, ALGORITHM_RING, PROTOCOL_LL128 },
  { "mi355x-8", 2, 8, COLLECTIVE_ALL_REDUCE, 131071, ALGORITHM_TREE, PROTOCOL_LL },
  { "mi355x-8", 2, 8, COLLECTIVE_ALL_REDUCE, 17660227, ALGORITHM_TREE, PROTOCOL_LL128 },
  { "mi355x-8", 2, 8, COLLECTIVE_ALL_REDUCE, 17670000, ALGORITHM_TREE, PROTOCOL_SIMPLE },
  { "mi355x-8", 2, 8, COLLECTIVE_ALL_REDUCE, 268435456, ALGORITHM_RING, PROTOCOL_SIMPLE },
  { "mi355x-8", 4, 8, COLLECTIVE_ALL_REDUCE, 20805000, ALGORITHM_TREE, PROTOCOL_LL128 },
  { "mi300x-8", 4, 8, COLLECTIVE_ALL_GATHER, 98304 * 32, ALGORITHM_RING, PROTOCOL_LL },
  { "mi300x-8", 4, 8, COLLECTIVE_ALL_GATHER, 98400 * 32, ALGORITHM_RING, PROTOCOL_SIMPLE },
  { "mi355x-8", 4, 8, COLLECTIVE_REDUCE_SCATTER, 4194304.0 * 32, ALGORITHM_RING, PROTOCOL_LL128 },
};

START_TEST (test_regions)
{
  assert_chosen (chosen (tuned[_i].node, tuned[_i].nodes, tuned[_i].of_each, tuned[_i].kind,
                         tuned[_i].bytes, NULL),
                 tuned[_i].algorithm, tuned[_i].protocol, (guint) _i);
}
END_TEST

/*
 * On two nodes, with four ranks a node, on cards that it does not know, where it is off, and under
 * a release that asks no tuner.
 */
START_TEST (test_silent)
{
  static const struct
  {
    const char *node;
    guint       nodes, of_each;
    double      bytes;
  } cases[] = { { "p5en", 2, 8, 2097152 },
                { "p5en", 8, 4, 2097152 },
                { "dgx-h200", 8, 8, 2097152 } };
  CollectiveOptions own = collective_default_options, old = own, newer = own;

  own.library_chooses = TRUE;
  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      const Chosen free = chosen (cases[i].node, cases[i].nodes, cases[i].of_each,
                                  COLLECTIVE_ALL_GATHER, cases[i].bytes, &own);

      assert_chosen (chosen (cases[i].node, cases[i].nodes, cases[i].of_each, COLLECTIVE_ALL_GATHER,
                             cases[i].bytes, NULL),
                     free.algorithm, free.protocol, i);
    }
  assert_chosen (chosen ("p5en", 8, 8, COLLECTIVE_ALL_GATHER, 9e8, &own), ALGORITHM_RING,
                 PROTOCOL_SIMPLE, 9);
  old.library = "2.18.1";
  newer.library = "2.19";
  assert_chosen (chosen ("p5en", 8, 8, COLLECTIVE_ALL_GATHER, 9e8, &old), ALGORITHM_RING,
                 PROTOCOL_SIMPLE, 10);
  assert_chosen (chosen ("p5en", 8, 8, COLLECTIVE_ALL_GATHER, 9e8, &newer), ALGORITHM_RING,
                 PROTOCOL_LL128, 11);
}
END_TEST

/* What is forced stands; a region that it rules out is passed over. */
START_TEST (test_forced)
{
  CollectiveOptions simple = collective_default_options, ring = collective_default_options,
                    without = collective_default_options;

  simple.protocol = PROTOCOL_SIMPLE;
  ring.algorithm = ALGORITHM_RING;
  without.nvls = NVLS_OFF;
  ck_assert_int_eq (chosen ("p5", 8, 8, COLLECTIVE_ALL_REDUCE, 1e6, &simple).protocol,
                    PROTOCOL_SIMPLE);
  ck_assert_int_eq (chosen ("p5", 8, 8, COLLECTIVE_ALL_REDUCE, 1e6, &ring).algorithm,
                    ALGORITHM_RING);
  ck_assert_int_ne (chosen ("p5", 16, 8, COLLECTIVE_ALL_REDUCE, 4e9, &without).algorithm,
                    ALGORITHM_NVLS_TREE);
}
END_TEST

#define HEAD \
  "title: made up\ngpus: a\nnics: b\nsince: \"2.19\"\nsource: made up\nconfidence: estimate\n"
#define REGION(corners)                                                                \
  HEAD "regions:\n  - { collective: all_gather, ranks_per_node: 8, algorithm: ring,\n" \
       "      protocol: ll, corners: \"" corners "\" }\n"

/* A profile with a mistake is named, and no cluster is built. */
START_TEST (test_mistakes)
{
  static const char *const cases[][2] = {
    { REGION ("0:16 1024:16"), "'corners' has 2 corners, expected at least 3" },
    { REGION ("0:16 1024:16 x:3"), "'x:3' of 'corners' is no corner" },
    { REGION ("0:16 1024:0 5:3"), "'1024:0' of 'corners' is no corner" },
    { REGION ("0:16 1024 5:3"), "'1024' of 'corners' is no corner" },
    { REGION ("0:16 1024:16 99999999999999999999:3"),
      "'99999999999999999999:3' of 'corners' is no corner" },
    { HEAD, "a tuner without regions" },
    { REGION ("0:16 1024:16 5:3") "colour: red\n", "unknown key 'colour' in a tuner profile" },
  };

  for (guint i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char       *folder = g_dir_make_tmp ("shardsim-tuner-XXXXXX", NULL);
      g_autofree char       *sub = g_build_filename (folder, "tuner", NULL);
      g_autofree char       *file = g_build_filename (sub, "made-up.yaml", NULL);
      g_autoptr (DiagList)   diags = diag_list_new ();
      g_autoptr (ProfileSet) profiles = NULL;

      ck_assert_int_eq (g_mkdir (sub, 0700), 0);
      ck_assert (g_file_set_contents (file, cases[i][0], -1, NULL));
      profiles = profile_set_new (folder);
      ck_assert_ptr_null (profile_set_tuner (profiles, "made-up", diags));
      ck_assert_str_eq (diag_list_first_message (diags), cases[i][1]);
      g_unlink (file);
      g_rmdir (sub);
      g_rmdir (folder);
    }
}
END_TEST

SUITE_MAIN (tuner)
{
  Suite *suite = suite_create ("tuner");
  TCase *cases = tcase_create ("tuner");

  tcase_add_loop_test (cases, test_regions, 0, G_N_ELEMENTS (tuned));
  tcase_add_test (cases, test_silent);
  tcase_add_test (cases, test_forced);
  tcase_add_test (cases, test_mistakes);
  suite_add_tcase (suite, cases);
  return suite_run (suite);
}
