/*
 * Every word that "What binds it" can print has a row in docs/glossary.md, which `shardsim help`
 * explains words from. That the explanations are right is not tested.
 */
#include <check.h>

#include "../suite.h"
#include "engine/engine.h"
#include "hardware/cluster/cluster.h"

static char *
glossary (void)
{
  g_autofree char *path =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "glossary.md", NULL);
  char *text = NULL;

  ck_assert (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

static void
assert_explained (const char *text, const char *word)
{
  g_autofree char *pattern = g_strdup_printf ("(?m)^\\|[^|]*`%s`[^|]*\\|", word);

  ck_assert_msg (g_regex_match_simple (pattern, text, 0, 0), "docs/glossary.md has no row of '%s'",
                 word);
}

START_TEST (test_bindings)
{
  g_autofree char *text = glossary ();

  for (guint kind = 0; kind < RESOURCE_N_KINDS; kind++)
    assert_explained (text, resource_kind_name (kind));
  assert_explained (text, "channels"); /* CAUSE_CAP */
  assert_explained (text, cause_name (CAUSE_LATENCY));
  assert_explained (text, cause_name (CAUSE_HOST));
  assert_explained (text, cause_name (CAUSE_MEMORY));
}
END_TEST

SUITE_MAIN (glossary)
{
  TCase *tcase = tcase_create ("glossary");
  Suite *suite = suite_create ("glossary");

  tcase_add_test (tcase, test_bindings);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
