/*
 * The tables of docs/results.md that a mark `<!-- columns: NAME -->` stands before are those of the
 * columns of an answer: key, unit and what the column says about itself. UPDATE_GOLDEN=1 writes
 * them. What stands around them is not tested.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "predict/columns.h"
#include "report/answer/collective.h"
#include "report/answer/heat-map.h"
#include "report/answer/maximum.h"
#include "report/answer/sensitivity.h"
#include "report/answer/shards.h"
#include "report/document/html-private.h"
#include "report/prediction/describe.h"
#include "report/regress/regress.h"

#define MARK_BEGIN "<!-- columns: "
#define MARK_END   " -->\n\n"

static const Column *
columns_of (const char *name)
{
  const struct
  {
    const char   *name;
    const Column *columns;
  } tables[] = {
    { "simulate", prediction_columns },          { "stages", stage_columns },
    { "maximum", maximum_answer.columns },       { "sensitivity", sensitivity_answer.columns },
    { "options", option_effect_columns },        { "map", heat_map_answer.columns },
    { "shards", shards_page.columns },           { "regress", regress_page.columns },
    { "collective", collective_answer.columns },
  };

  for (guint i = 0; i < G_N_ELEMENTS (tables); i++)
    if (g_str_equal (tables[i].name, name))
      return tables[i].columns;
  ck_abort_msg ("docs/results.md: no columns '%s'", name);
}

static const char *
unit_of (const Column *column)
{
  static const char *const units[] = {
    [COLUMN_BOOL] = "switch", [COLUMN_RATE] = "1/s",     [COLUMN_TIME] = "s",
    [COLUMN_BYTES] = "bytes", [COLUMN_GIB] = "GiB",      [COLUMN_PERCENT] = "%",
    [COLUMN_RATIO] = "ratio", [COLUMN_CHANGE] = "ratio", [COLUMN_AMOUNT] = NULL,
  };

  if (column->unit != NULL)
    return column->unit;
  return units[column->kind] != NULL ? units[column->kind] : "";
}

/* The columns of CSV, as a table. */
static void
append_table (GString *out, const Column *columns)
{
  g_string_append (out, "| column | unit | meaning |\n| --- | --- | --- |\n");
  for (const Column *column = columns; column->kind != COLUMN_END; column++)
    {
      const char *unit = unit_of (column), *about = column->about;

      if (column->key == NULL || column->flags & COLUMN_JSON_ONLY)
        continue;
      g_string_append_printf (out, "| `%s` | %s%s| %s%s|\n", column->key, unit,
                              *unit != '\0' ? " " : "", about != NULL ? about : "",
                              about != NULL ? " " : "");
    }
}

START_TEST (test_tables)
{
  g_autofree char *path =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "results.md", NULL);
  g_autofree char    *text = NULL;
  g_autoptr (GString) want = g_string_new (NULL);
  const char         *at, *mark;
  guint               n = 0;

  ck_assert (g_file_get_contents (path, &text, NULL, NULL));
  for (at = text; (mark = strstr (at, MARK_BEGIN)) != NULL;)
    {
      const char      *begin = mark + strlen (MARK_BEGIN), *end = strstr (begin, MARK_END);
      g_autofree char *name = NULL;

      ck_assert_ptr_nonnull (end);
      name = g_strndup (begin, (gsize) (end - begin));
      end += strlen (MARK_END);
      g_string_append_len (want, at, end - at);
      append_table (want, columns_of (name));
      for (at = end; *at == '|'; at = strchr (at, '\n') + 1)
        ;
      n++;
    }
  g_string_append (want, at);
  ck_assert_uint_ge (n, 9);
  if (g_getenv ("UPDATE_GOLDEN") != NULL)
    ck_assert (g_file_set_contents (path, want->str, -1, NULL));
  else
    ck_assert_msg (g_str_equal (text, want->str),
                   "docs/results.md: tables are not those of the columns; UPDATE_GOLDEN=1 "
                   "writes them");
}
END_TEST

SUITE_MAIN (results_page)
{
  Suite *suite = suite_create ("results-page");
  TCase *tests = tcase_create ("results-page");

  tcase_add_test (tests, test_tables);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
