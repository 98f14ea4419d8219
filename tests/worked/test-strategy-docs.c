/*
 * docs/strategies: a page for every built-in strategy. Its table of options, behind a mark
 * `<!-- options: NAME -->`, is what `shardsim strategies NAME` tells; UPDATE_GOLDEN=1 writes it.
 * Options of compression, which many have, are on a page of their own, to which theirs link.
 */
#include <check.h>
#include <string.h>

#include "../suite.h"
#include "base/config/csv.h"
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

/* Options of compression are those that ddp has of what nobody proposes. */
static gboolean
is_of_compression (const OptionSpec *option)
{
  const OptionSpec *of_ddp = option_table_find (strategy_find ("ddp")->options, option->key);

  return of_ddp != NULL && of_ddp->what_if;
}

/* What the program tells of the strategy NAME, as CSV. */
static CsvReader *
told_of (const char *name, char **csv, DiagList *diags)
{
  g_autofree char *program = g_build_filename (g_getenv ("SHARDSIM_BUILD_ROOT"), "shardsim", NULL);
  char            *words[] = { program, "strategies", (char *) name, "--format", "csv", NULL };
  int              status = -1;

  ck_assert (
      g_spawn_sync (NULL, words, NULL, G_SPAWN_DEFAULT, NULL, NULL, csv, NULL, &status, NULL));
  ck_assert_int_eq (status, 0);
  return csv_reader_open_text (name, *csv, strlen (*csv), diags);
}

static const char *
cell (const CsvReader *told, const char *column)
{
  gint i = csv_reader_find (told, column);

  ck_assert_int_ge (i, 0);
  return csv_reader_field (told, (guint) i);
}

/* The table of STRATEGY's own options, or of those that it SHARES; "" without any. */
static char *
table_of (const Strategy *strategy, gboolean shares)
{
  g_autoptr (DiagList)  diags = diag_list_new ();
  g_autofree char      *csv = NULL;
  g_autoptr (CsvReader) told = told_of (strategy->name, &csv, diags);
  g_autoptr (GString)   table = g_string_new (NULL);

  ck_assert_ptr_nonnull (told);
  while (csv_reader_next (told, diags))
    {
      const char *key = cell (told, "name"), *range = cell (told, "range");
      const char *value = cell (told, "value");

      if (!g_str_equal (cell (told, "part"), "option")
          || is_of_compression (option_table_find (strategy->options, key)) != shares)
        continue;
      if (table->len == 0)
        g_string_append (table, "| option | values | default | what it does |\n"
                                "| --- | --- | --- | --- |\n");
      g_string_append_printf (table, "| `%s` | %s%s%s | %s | %s |\n", key, cell (told, "type"),
                              *range != '\0' ? ": " : "", range, *value != '\0' ? value : "unset",
                              cell (told, "help"));
    }
  return g_string_free (g_steal_pointer (&table), FALSE);
}

/* Compares what stands behind the mark of the page FOLDER/NAME.md with TABLE, or writes it. */
static void
check_table (const char *folder, const char *name, const char *table)
{
  g_autofree char *page = read_page (folder, name), *now = NULL;
  g_autofree char *mark = g_strdup_printf ("\n<!-- options: %s -->\n\n", name);
  char            *begin = strstr (page, mark), *end;

  ck_assert_msg (begin != NULL, "%s/%s.md: no mark%s", folder, name, mark);
  begin += strlen (mark);
  for (end = begin; *end == '|'; end = strchr (end, '\n') + 1)
    ;
  now = g_strndup (begin, (gsize) (end - begin));
  if (g_getenv ("UPDATE_GOLDEN") != NULL && !g_str_equal (now, table))
    {
      g_autofree char *path =
          g_strdup_printf ("%s/%s/%s.md", g_getenv ("SHARDSIM_SOURCE_ROOT"), folder, name);
      g_autofree char *head = g_strndup (page, (gsize) (begin - page));
      g_autofree char *whole = g_strconcat (head, table, end, NULL);

      ck_assert (g_file_set_contents (path, whole, -1, NULL));
    }
  else
    ck_assert_msg (
        g_str_equal (now, table),
        "%s/%s.md: the options are not those of the program; UPDATE_GOLDEN=1 writes them", folder,
        name);
}

START_TEST (test_options)
{
  const Strategy  *strategy = strategy_list ()[_i];
  g_autofree char *own = table_of (strategy, FALSE), *shared = table_of (strategy, TRUE);
  g_autofree char *page = read_page ("docs/strategies", strategy->name);
  const char      *sections[] = { "\n## Schedule\n",    "\n## Equations\n",    "\n## Options\n",
                                  "\n## Assumptions\n", "\n## Not modelled\n", "\n## Source\n",
                                  "\n## Validation\n" };

  for (guint i = 0; i < G_N_ELEMENTS (sections); i++)
    ck_assert_msg (strstr (page, sections[i]) != NULL, "%s.md: no section%s", strategy->name,
                   sections[i]);
  check_table ("docs/strategies", strategy->name, own);
  ck_assert_msg ((strstr (page, SHARED) != NULL) == (*shared != '\0'), "%s.md: " SHARED,
                 strategy->name);
  if (*shared != '\0')
    check_table ("docs", "compression", shared);
}
END_TEST

/*
 * The table of all strategies has a row for each that is registered, and for no other; what each is
 * made of stands in the architecture.
 */
START_TEST (test_table)
{
  g_autofree char *page = read_page ("docs/strategies", "README");
  g_autofree char *parts = read_page ("docs", "architecture");
  guint            n = 0, n_rows = 0;

  for (const Strategy *const *list = strategy_list (); *list != NULL; list++, n++)
    {
      g_autofree char *cell = g_strdup_printf ("\n| [%s](%s.md) |", (*list)->name, (*list)->name);
      g_autofree char *word = g_strdup_printf ("`%s`", (*list)->name);

      ck_assert_msg (strstr (page, cell) != NULL, "docs/strategies/README.md: no row of %s",
                     (*list)->name);
      ck_assert_msg (strstr (parts, word) != NULL, "docs/architecture.md: no %s", word);
    }
  for (const char *at = strstr (page, "\n| ["); at != NULL; at = strstr (at + 1, "\n| ["))
    n_rows++;
  ck_assert_uint_eq (n_rows, n);
}
END_TEST

SUITE_MAIN (strategy_docs)
{
  Suite *suite = suite_create ("strategy-docs");
  TCase *tcase = tcase_create ("pages");
  int    n = 0;

  while (strategy_list ()[n] != NULL)
    n++;
  tcase_add_loop_test (tcase, test_options, 0, n);
  tcase_add_test (tcase, test_table);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
