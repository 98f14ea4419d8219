/* Where data files are looked for, and the names of memory categories. */
#include "../suite.h"
#include "base/file/layout.h"
#include "base/memory.h"
#include "fixture.h"

START_TEST (test_environment_wins)
{
  g_autofree char *dir = NULL, *file = NULL;

  g_setenv ("SHARDSIM_DATADIR", "/some/where", TRUE);
  dir = layout_data_dir ();
  file = layout_data_file ("hwprofiles/gpu/a40-48.yaml");
  ck_assert_str_eq (dir, "/some/where");
  ck_assert_str_eq (file, "/some/where/hwprofiles/gpu/a40-48.yaml");
}
END_TEST

/*
 * The source tree while it holds profiles, else the folder of an installation, which ends in the
 * program's name.
 */
START_TEST (test_without_environment)
{
  const char      *source = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char *profiles = g_build_filename (source, "hwprofiles", NULL);
  g_autofree char *dir = NULL;

  g_setenv ("SHARDSIM_DATADIR", "", TRUE);
  dir = layout_data_dir ();
  if (g_file_test (profiles, G_FILE_TEST_IS_DIR))
    ck_assert_str_eq (dir, source);
  else
    ck_assert (g_path_is_absolute (dir) && g_str_has_suffix (dir, "/shardsim"));
}
END_TEST

START_TEST (test_category_names)
{
  for (guint i = 0; i < POOL_N_CATEGORIES; i++)
    for (guint j = 0; j < i; j++)
      ck_assert_str_ne (pool_category_name ((PoolCategory) i),
                        pool_category_name ((PoolCategory) j));
  ck_assert_str_eq (pool_category_name (POOL_PARAMETER), "parameter");
  ck_assert_str_eq (pool_category_name (POOL_RUNTIME), "runtime");
}
END_TEST

SUITE_MAIN (layout)
{
  TCase *tcase = tcase_create ("layout");

  tcase_add_test (tcase, test_environment_wins);
  tcase_add_test (tcase, test_without_environment);
  tcase_add_test (tcase, test_category_names);
  return run_case (suite_create ("layout"), tcase);
}
