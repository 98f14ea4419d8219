/* Strings that live as long as the process. */
#include "../suite.h"
#include "base/intern.h"
#include "fixture.h"

/*
 * One copy of each, which stays where it is. Under the address sanitizer the number counts: GLib's
 * own table drops an array at every 2 048th string, and the test would end with a leak.
 */
START_TEST (test_many)
{
  const char *first = intern_text ("row 0");

  ck_assert_ptr_null (intern_text (NULL));
  for (guint i = 0; i < 10000; i++)
    {
      g_autofree char *text = g_strdup_printf ("row %u", i);
      const char      *kept = intern_text (text);

      ck_assert_ptr_ne (kept, text);
      ck_assert_str_eq (kept, text);
      ck_assert_ptr_eq (intern_text (text), kept);
    }
  ck_assert_ptr_eq (intern_text ("row 0"), first);
  ck_assert_str_eq (first, "row 0");
}
END_TEST

SUITE_MAIN (intern)
{
  TCase *tcase = tcase_create ("intern");

  tcase_add_test (tcase, test_many);
  return run_case (suite_create ("intern"), tcase);
}
