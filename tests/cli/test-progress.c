/*
 * The words of the progress line: counts, rates and the time left. What a terminal shows is tested
 * in files.sh.
 */
#include <check.h>
#include <glib.h>

#include "cli/progress.h"

static const struct
{
  guint       done, todo;
  double      seconds;
  const char *text;
} lines[] = {
  { 0, 0, 3.2, "w: 3 s" },
  { 0, 40, 61, "w: 0 of 40 us, 1 min 1 s" },
  { 12, 40, 4, "w: 12 of 40 us, 3.0/s, 9 s left" },
  { 40, 40, 4, "w: 40 of 40 us, 10/s, 0 s left" },
  { 1, 2, 120, "w: 1 of 2 us, 0.5/min, 2 min 0 s left" },
  { 1, 100, 100, "w: 1 of 100 us, 0.6/min, 2 h 45 min left" },
  { 5000, 100000, 2, "w: 5000 of 100000 us, 2500/s, 38 s left" },
};

START_TEST (test_text)
{
  g_autofree char *text =
      progress_text ("w", "us", lines[_i].done, lines[_i].todo, lines[_i].seconds);

  ck_assert_str_eq (text, lines[_i].text);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("progress");
  TCase   *tcase = tcase_create ("text");
  SRunner *runner;
  int      n_failed;

  tcase_add_loop_test (tcase, test_text, 0, G_N_ELEMENTS (lines));
  suite_add_tcase (suite, tcase);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  n_failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return n_failed == 0 ? 0 : 1;
}
