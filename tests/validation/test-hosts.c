/*
 * Predictions against collectives that were measured between plain hosts
 * (hwprofiles/measured/netns). Asserted of messages of 4 MiB and more: a median |error| of 10 %,
 * and 5 % for each row with one slow host. Nothing is fitted to these rows.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>

#include "../suite.h"
#include "report/validation/validate.h"

static void
check_table (const char *name, const char *overlay)
{
  const char          *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char     *file = g_build_filename (root, "hwprofiles/measured/netns", name, NULL);
  g_autofree char     *shipped = g_build_filename (root, "hwprofiles", NULL);
  g_autofree char     *measured = g_build_filename (root, "hwprofiles", overlay, NULL);
  g_autofree char     *path = g_strjoin (G_SEARCHPATH_SEPARATOR_S, measured, shipped, NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  GPtrArray           *rows = measurement_table_load (file, BAD_ROWS_FAIL, diags);
  g_autoptr (CollectiveValidation) v = NULL;
  g_autoptr (GString)              text = g_string_new (NULL);

  ck_assert_msg (rows != NULL, "%s", diag_list_first_message (diags));
  v = validate_collectives (rows, path);
  ck_assert_uint_eq (v->n_failed, 0);
  for (guint i = 0; i < v->rows->len; i++)
    {
      const ValidatedRow *row = &g_array_index (v->rows, ValidatedRow, i);

      ck_assert_uint_ge (row->measured->bytes, 4 << 20);
      if (row->measured->cluster.slow_nics != NULL)
        ck_assert_msg (fabs (row->error) <= 0.05, "row %u, %s: %g", i, row->measured->id,
                       row->error);
    }
  ck_assert_double_le (collective_validation_overall (v, VALIDATION_MAIN)->errors.median_abs, 0.1);
  report_answer (&collective_rows, v, FORMAT_TEXT, text);
  fputs (text->str, stderr);
}

/* Open MPI's defaults, whose figures are the shipped link's. */
START_TEST (test_stock)
{
  check_table ("stock.csv", "");
}
END_TEST

/* Messages sent at once, by the link that is fitted to two hosts. */
START_TEST (test_eager)
{
  check_table ("eager.csv", "measured/netns");
}
END_TEST

SUITE_MAIN (hosts)
{
  Suite *suite = suite_create ("measured-hosts");
  TCase *tests = tcase_create ("tests");

  tcase_add_test (tests, test_stock);
  tcase_add_test (tests, test_eager);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
