/*
 * One ring's way through a node for all rings, by arithmetic done by hand. Not asserted: that rings
 * are alike (test-step-ranks.c runs all of them step by step).
 */
#include <check.h>

#include "collective/ring-fold-private.h"

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

int
main (void)
{
  Suite   *suite = suite_create ("ring-fold");
  TCase   *by_hand = tcase_create ("by-hand");
  SRunner *runner;
  int      failed;

  tcase_add_test (by_hand, edges_share_a_link);
  tcase_add_test (by_hand, those_that_fall_behind_meet_fewer);
  tcase_add_test (by_hand, many_steps_go_on_alike);
  suite_add_tcase (suite, by_hand);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
