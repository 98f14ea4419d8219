/*
 * docs/strategies: a page for every built-in strategy, with every option and its default, and no
 * option that does not exist. Those of compression, which many have, are on a page of their own, to
 * which theirs link.
 */
#include <check.h>
#include <string.h>

#include "strategy/registry.h"

#define SHARED "(../compression.md#options)"

static char *
read_page (const char *folder, const char *name)
{
  g_autofree char *file = g_strconcat (name, ".md", NULL), *page = NULL;
  g_autofree char *path = g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), folder, file, NULL);

  ck_assert_msg (g_file_get_contents (path, &page, NULL, NULL), "no page %s", path);
  return g_steal_pointer (&page);
}

/* The rows of PAGE's table of options. */
static char *
options_of (const char *page)
{
  const char *begin = strstr (page, "\n## Options\n"), *end;

  ck_assert_ptr_nonnull (begin);
  end = strstr (begin + 1, "\n## ");
  return end != NULL ? g_strndup (begin, (gsize) (end - begin)) : g_strdup (begin);
}

/* Options of compression are those that ddp has of what nobody proposes. */
static gboolean
is_of_compression (const OptionSpec *option)
{
  const OptionSpec *of_ddp = option_table_find (strategy_find ("ddp")->options, option->key);

  return of_ddp != NULL && of_ddp->what_if;
}

static void
assert_row (const char *table, const OptionSpec *option, const char *page)
{
  g_autofree char *row = g_strdup_printf ("\n| `%s` | %s |", option->key,
                                          option->fallback != NULL ? option->fallback : "unset");

  ck_assert_msg (strstr (table, row) != NULL, "%s.md: no row%s", page, row);
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
  g_autofree char *page = read_page ("docs/strategies", strategy->name);
  g_autofree char *table = options_of (page), *compression = read_page ("docs", "compression");
  g_autofree char *shared = options_of (compression);
  const char      *sections[] = { "\n## Schedule\n",     "\n## Equations\n", "\n## Assumptions\n",
                                  "\n## Not modelled\n", "\n## Source\n",    "\n## Validation\n" };
  guint            n = 0, n_shared = 0;

  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    ck_assert_msg (strstr (page, sections[i]) != NULL, "%s.md: no section%s", strategy->name,
                   sections[i]);
  for (const OptionSpec *o = strategy->options; o->key != NULL; o++)
    {
      gboolean elsewhere = is_of_compression (o);

      assert_row (elsewhere ? shared : table, o, elsewhere ? "compression" : strategy->name);
      n += !elsewhere;
      n_shared += elsewhere;
    }
  ck_assert_uint_eq (count_rows (table), n);
  ck_assert_msg ((strstr (table, SHARED) != NULL) == (n_shared > 0), "%s.md: " SHARED,
                 strategy->name);
  if (n_shared > 0)
    ck_assert_uint_eq (count_rows (shared), n_shared);
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
