/*
 * docs/strategies: a page for every built-in strategy, with every option and its default, and no
 * option that does not exist.
 */
#include <check.h>
#include <string.h>

#include "strategy/registry.h"

static char *
page_path (const char *name)
{
  g_autofree char *file = g_strconcat (name, ".md", NULL);

  return g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "strategies", file, NULL);
}

static guint
count_rows (const char *text)
{
  guint n = 0;

  for (const char *row = strstr (text, "\n| `"); row != NULL; row = strstr (row + 1, "\n| `"))
    n++;
  return n;
}

/* Rows "| `key` | default |". */
START_TEST (test_options)
{
  const Strategy  *strategy = strategy_list ()[_i];
  g_autofree char *path = page_path (strategy->name), *page = NULL;
  const char      *table;
  const char      *sections[] = { "\n## Schedule\n",     "\n## Equations\n", "\n## Assumptions\n",
                                  "\n## Not modelled\n", "\n## Source\n",    "\n## Validation\n" };
  guint            n = 0;

  ck_assert_msg (g_file_get_contents (path, &page, NULL, NULL), "no page %s", path);
  table = strstr (page, "\n## Options\n");
  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    ck_assert_msg (strstr (page, sections[i]) != NULL, "%s.md: no section%s", strategy->name,
                   sections[i]);
  ck_assert_ptr_nonnull (table);
  for (const OptionSpec *o = strategy->options; o->key != NULL; o++, n++)
    {
      g_autofree char *row =
          g_strdup_printf ("\n| `%s` | %s |", o->key, o->fallback != NULL ? o->fallback : "unset");

      ck_assert_msg (strstr (table, row) != NULL, "%s.md: no row%s", strategy->name, row);
    }
  ck_assert_uint_eq (count_rows (table), n);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("strategy-docs");
  TCase   *tcase = tcase_create ("pages");
  SRunner *runner = srunner_create (suite);
  int      failed, n = 0;

  while (strategy_list ()[n] != NULL)
    n++;
  tcase_add_loop_test (tcase, test_options, 0, n);
  suite_add_tcase (suite, tcase);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
