/*
 * The words of the progress line: counts, rates and the time left. What a terminal shows is tested
 * in files.sh.
 */
#include <check.h>
#include <glib.h>

#include "../suite.h"
#include "cli/output/progress.h"

static const struct
{
  ProgressView view;
  const char  *text;
} lines[] = {
  { { .seconds = 3.2 }, "w: 3 s" },
  { { .todo = 40, .seconds = 61 }, "w: 0 of 40 us, 1 min 1 s" },
  { { .done = 12, .todo = 40, .seconds = 4 }, "w: 12 of 40 us, 3.0/s, 9 s left" },
  { { .done = 1, .todo = 2, .seconds = 120 }, "w: 1 of 2 us, 0.5/min, 2 min 0 s left" },
  { { .done = 1, .todo = 100, .seconds = 100 }, "w: 1 of 100 us, 0.6/min, 2 h 45 min left" },
  { { .done = 5000, .todo = 100000, .seconds = 2 }, "w: 5000 of 100000 us, 2500/s, 38 s left" },
  /* what follows on the last piece is not counted, and may take long */
  { { .done = 40, .todo = 40, .seconds = 400, .idle_s = 390 }, "w: 40 of 40 us, 6 min 40 s" },
  /* since the last piece ended, less is left; the rate is as measured up to it */
  { { .done = 10, .todo = 40, .seconds = 22, .idle_s = 2 }, "w: 10 of 40 us, 0.5/s, 58 s left" },
  /* the last one begins late, and is under way */
  { { .done = 39, .todo = 40, .seconds = 42, .idle_s = 3 }, "w: 39 of 40 us, 1.0/s, 1 s left" },
  /* nothing is known of pieces that last longer than those before */
  { { .done = 37, .todo = 40, .seconds = 62, .idle_s = 25 },
    "w: 37 of 40 us, 1.0/s, none ended for 25 s" },
  { { .done = 1, .todo = 40, .seconds = 40, .idle_s = 30 },
    "w: 1 of 40 us, 0.1/s, 6 min 0 s left" },
  { { .step = "screening", .done = 812, .todo = 3000, .seconds = 9 },
    "w: screening, 812 of 3000, 90/s, 24 s left" },
  { { .step = "screening", .seconds = 9 }, "w: screening, 9 s" },
  { { .step = "trying", .done = 37, .todo = 40, .more = TRUE, .seconds = 95 },
    "w: trying, 37 so far, 1 min 35 s" },
  { { .step = "trying", .done = 37, .more = TRUE, .best = "2 s a step", .seconds = 3 },
    "w: trying, 37 so far, 3 s; best: 2 s a step" },
};

START_TEST (test_text)
{
  ProgressView     view = lines[_i].view;
  g_autofree char *text = NULL;

  view.work = "w";
  view.unit = "us";
  text = progress_text (&view);
  ck_assert_str_eq (text, lines[_i].text);
}
END_TEST

SUITE_MAIN (progress)
{
  Suite *suite = suite_create ("progress");
  TCase *tcase = tcase_create ("text");

  tcase_add_loop_test (tcase, test_text, 0, G_N_ELEMENTS (lines));
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
