/* The main of a suite, and its end. */
#pragma once

#include <check.h>

/*
 * The suites of a layer are one program, which runs the one that it is told (tests/meson.build).
 * This begins the main of test-NAME.c, NAME with '_' for '-'; `argv` has what follows the name.
 */
#define SUITE_MAIN(name)                   \
  int name##_main (int argc, char **argv); \
  int name##_main (__attribute__ ((unused)) int argc, __attribute__ ((unused)) char **argv)

/* Runs SUITE; the program's exit status. */
static inline int
suite_run (Suite *suite)
{
  SRunner *runner = srunner_create (suite);
  int      n_failed;

  srunner_run_all (runner, CK_ENV);
  n_failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return n_failed == 0 ? 0 : 1;
}
