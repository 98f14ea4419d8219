/*
 * One ring's way through a node for all rings, by arithmetic done by hand, and what rings meet on.
 * Not asserted: that rings are alike (test-step-ranks.c runs all of them step by step).
 */
#include "../suite.h"
#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/layout/layout-private.h"
#include "cost/collective/time/ring-fold-private.h"
#include "fixture.h"

/* Two items over three edges: two share a link of 1 s an item, the third has a longer hop. */
static const RingFold three = { .places = 3,
                                .steps = 2,
                                .meet = 1,
                                .link = 1,
                                .inside = 1,
                                .net = 1,
                                .hop_intra = 1,
                                .hop_net = 4,
                                .credits = TRUE };

/*
 * Two edges inside share a link, 1 s each: their items last 2 s and arrive after 3. That of the
 * third one arrives after 1 + 4. Item 1 of both waits for it, by the chunk or by the credit: 5 + 2
 * + 1 = 8; that of the third one begins at 3 and arrives at 8 too.
 */
START_TEST (edges_share_a_link)
{
  RingFold fold = three;

  ck_assert_double_eq_tol (ring_fold_seconds (&fold), 8, 1e-9);
  fold.inside = 4; /* they cannot use their shares: 5 s, item 1 begins at 5 and takes 5 more */
  ck_assert_double_eq_tol (ring_fold_seconds (&fold), 10, 1e-9);
}
END_TEST

/*
 * The third edge crosses the link first: all three items last 3 s. Its item 1 begins at 4, alone,
 * and lasts 1 s; the others' begin at 3 + 4 and last 2: 7 + 2 + 1 = 10, where in step with it they
 * would be through at 7 + 3 + 4.
 */
START_TEST (those_that_fall_behind_meet_fewer)
{
  RingFold fold = three;

  fold.meet_net = 1;
  ck_assert_double_eq_tol (ring_fold_seconds (&fold), 10, 1e-9);
}
END_TEST

/* Nothing is shared: each two items take both edges' times and hops, 2 + 1 + 3 + 5. */
START_TEST (many_steps_go_on_alike)
{
  RingFold fold = { .places = 2,
                    .steps = 1000,
                    .meet = 1,
                    .link = 2,
                    .inside = 2,
                    .net = 3,
                    .hop_intra = 1,
                    .hop_net = 5,
                    .credits = TRUE };

  ck_assert_double_eq_tol (ring_fold_seconds (&fold), 500 * 11, 1e-6);
  fold.steps = 999; /* the longer ones first and last */
  ck_assert_double_eq_tol (ring_fold_seconds (&fold), 499 * 11 + 8, 1e-6);
  fold.steps = 1000;
  fold.credits = FALSE; /* each of 999 chunks more takes an edge and its hop in turn, too */
  ck_assert_double_eq_tol (ring_fold_seconds (&fold), 500 * 11, 1e-6);
}
END_TEST

/*
 * Links inside a billion times slower than those between nodes, a second an item: what the latter
 * have left of an item is below the clock's rounding after a while. Two places share the link, and
 * an item of both lasts 2 s: a step is 2 + 1 s, and nothing of the third place is seen.
 */
START_TEST (links_far_apart_end)
{
  RingFold fold = three;

  fold.steps = 64;
  fold.net = 3e-9;
  fold.hop_net = 0;
  ck_assert_double_eq_tol (ring_fold_seconds (&fold), 64 * 3, 1e-3);
}
END_TEST

/*
 * Three GPUs without access to each other: an edge goes through the memory of the node, and at
 * 30 GB/s that is slower than each GPU's PCIe, which has one edge of a ring a direction. Of each
 * ring both edges inside the node meet there, and the one that leaves it, as its card is at another
 * GPU. On an edge of either ring are 5/6 of S (two nodes of three GPUs, half of S a ring), written
 * and read: 6 edges x 2 x 5/6 in all.
 */
START_TEST (rings_meet_on_the_slowest_link)
{
  Fixture fixture;
  Members members;

  fixture_init_staged (&fixture, 2, 30e9, 2);
  {
    g_autoptr (Cluster)          cluster = fixture_cluster (&fixture);
    g_autofree guint32          *all = fixture_all (cluster);
    g_autoptr (CollectiveLayout) layout = NULL;

    members_init (&members, cluster, all, 6);
    layout = collective_layout_new (cluster, COLLECTIVE_ALL_REDUCE, algorithm_list[ALGORITHM_RING],
                                    &members, all, 1);
    ck_assert_uint_eq (layout->ring.n_rings, 2);
    assert_near (layout->ring.intra, 6 * 2 * 5 / 6. / 30e9);
    assert_near (layout->ring.meet, 2);
    assert_near (layout->ring.meet_net, 2);
    members_clear (&members);
  }
  fixture_clear (&fixture);
}
END_TEST

SUITE_MAIN (ring_fold)
{
  Suite *suite = suite_create ("ring-fold");
  TCase *by_hand = tcase_create ("by-hand");

  tcase_add_test (by_hand, edges_share_a_link);
  tcase_add_test (by_hand, those_that_fall_behind_meet_fewer);
  tcase_add_test (by_hand, many_steps_go_on_alike);
  tcase_add_test (by_hand, links_far_apart_end);
  tcase_add_test (by_hand, rings_meet_on_the_slowest_link);
  suite_add_tcase (suite, by_hand);
  return suite_run (suite);
}
