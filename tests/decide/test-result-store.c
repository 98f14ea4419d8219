/* The store of a sweep: rows come back as they went in, once; other databases are refused. */
#include <check.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include "../suite.h"
#include "decide/sweep/result-store.h"

static const ResultColumn columns[] = {
  { "scenario", RESULT_TEXT },    { "fits", RESULT_WHOLE },
  { "step_time_s", RESULT_REAL }, { "tokens_per_s_per_gpu", RESULT_REAL },
  { NULL, RESULT_NULL },
};
static const char *const options[] = { "training.micro_batch", "strategy.name", NULL };

static char *folder;

static void
make_folder (void)
{
  folder = g_dir_make_tmp ("result-store-XXXXXX", NULL);
}

static void
remove_folder (void)
{
  g_autoptr (GDir) dir = g_dir_open (folder, 0, NULL);
  const char      *name;

  while ((name = g_dir_read_name (dir)) != NULL)
    {
      g_autofree char *path = g_build_filename (folder, name, NULL);

      g_unlink (path);
    }
  g_rmdir (folder);
  g_free (folder);
}

static char *
path_of (const char *name)
{
  return g_build_filename (folder, name, NULL);
}

static ResultStore *
open_store (const char *name, const char *version)
{
  g_autofree char   *path = path_of (name);
  g_autoptr (GError) error = NULL;
  ResultStore       *store = result_store_open (path, columns, options, &error);

  ck_assert_msg (store != NULL, "%s", error != NULL ? error->message : "");
  ck_assert (result_store_set_context (store, version, "profiles", "", &error));
  return store;
}

static void
put (ResultStore *store, const char *digest, guint64 point, const char *failure, double step)
{
  g_autoptr (ResultRow) row = g_new0 (ResultRow, 1);
  g_autoptr (GError)    error = NULL;

  row->digest = g_strdup (digest);
  ck_assert (result_store_add_base (store, "name: base\n", &error));
  row->base = result_base_id ("name: base\n");
  row->point = point;
  row->failure = g_strdup (failure);
  row->settings = g_strsplit ("4,fsdp2", ",", -1);
  if (failure == NULL)
    {
      row->n_values = 4;
      row->values = g_new0 (ResultValue, 4);
      row->values[0] = (ResultValue){ .type = RESULT_TEXT, .text = g_strdup ("a \"b\", c") };
      row->values[1] = (ResultValue){ .type = RESULT_WHOLE, .whole = 1 };
      row->values[2] = (ResultValue){ .type = RESULT_REAL, .real = step };
      row->values[3] = (ResultValue){ .type = RESULT_REAL, .real = 1 / step };
    }
  ck_assert (result_store_put (store, row, &error));
}

static gboolean
print_row (const char *const *names, const ResultValue *values, guint n, gpointer user)
{
  GString *out = user;

  for (guint i = 0; i < n; i++)
    if (!g_str_equal (names[i], "context") && !g_str_equal (names[i], "base"))
      {
        if (values[i].type == RESULT_TEXT)
          g_string_append (out, values[i].text);
        else if (values[i].type == RESULT_WHOLE)
          g_string_append_printf (out, "%" G_GINT64_FORMAT, values[i].whole);
        else if (values[i].type == RESULT_REAL)
          g_string_append_printf (out, "%a", values[i].real);
        g_string_append_c (out, '|');
      }
  g_string_append_c (out, '\n');
  return TRUE;
}

static char *
print_all (ResultStore *store)
{
  GString           *out = g_string_new (NULL);
  g_autoptr (GError) error = NULL;

  ck_assert (result_store_visit_all (store, print_row, out, &error));
  return g_string_free (out, FALSE);
}

static gint64
ask (const char *name, const char *sql)
{
  g_autofree char *path = path_of (name);
  sqlite3         *db;
  sqlite3_stmt    *statement;
  gint64           number;

  ck_assert_int_eq (sqlite3_open (path, &db), SQLITE_OK);
  ck_assert_int_eq (sqlite3_prepare_v2 (db, sql, -1, &statement, NULL), SQLITE_OK);
  sqlite3_step (statement);
  number = sqlite3_column_int64 (statement, 0);
  sqlite3_finalize (statement);
  sqlite3_close (db);
  return number;
}

START_TEST (test_round_trip)
{
  ResultStore       *store = open_store ("a.db", "1");
  g_autoptr (GError) error = NULL;
  g_autofree char   *before = NULL, *after = NULL;
  ResultBrief        brief;

  put (store, "d1", 7, NULL, 0.1);
  put (store, "d0", 3, "why not", 0);
  put (store, "d1", 7, NULL, 0.2); /* known: counted, not changed */
  before = print_all (store);
  ck_assert_str_eq (before, "||||4|fsdp2|d0|3|why not||0|\n"
                            "a \"b\", c|1|0x1.999999999999ap-4|0x1.4p+3|4|fsdp2|d1|7|||1|\n");
  ck_assert (result_store_find (store, "d1", &brief, &error));
  ck_assert (brief.known && !brief.failed && brief.fits && brief.speed == 10);
  ck_assert (result_store_find (store, "d0", &brief, &error));
  ck_assert (brief.known && brief.failed && !brief.fits);
  ck_assert (result_store_find (store, "d2", &brief, &error));
  ck_assert (!brief.known);
  result_store_free (store);
  ck_assert_int_eq (ask ("a.db", "SELECT sum(repeats) FROM run"), 1);

  store = open_store ("a.db", "1");
  after = print_all (store);
  ck_assert_str_eq (before, after);
  ck_assert (result_store_forget_failures (store, &error));
  ck_assert (result_store_find (store, "d0", &brief, &error) && !brief.known);
  ck_assert (result_store_find (store, "d1", &brief, &error) && brief.known);
  result_store_free (store);
}
END_TEST

/* Another version's runs stand beside, and count for nobody else. */
START_TEST (test_contexts)
{
  ResultStore       *store = open_store ("a.db", "1");
  g_autoptr (GError) error = NULL;
  ResultBrief        brief;
  guint64            others;

  put (store, "d", 0, NULL, 1);
  result_store_free (store);
  store = open_store ("a.db", "2");
  ck_assert (result_store_find (store, "d", &brief, &error) && !brief.known);
  ck_assert (result_store_count (store, TRUE, &others, &error));
  ck_assert_uint_eq (others, 1);
  put (store, "d", 0, NULL, 2);
  ck_assert (result_store_find (store, "d", &brief, &error) && brief.speed == 0.5);
  result_store_free (store);
  ck_assert_int_eq (ask ("a.db", "SELECT count(*) FROM run"), 2);
}
END_TEST

/* A column that a store lacks is added; what was there stays. */
START_TEST (test_new_columns)
{
  static const ResultColumn more[] = {
    { "scenario", RESULT_TEXT },    { "fits", RESULT_WHOLE },
    { "step_time_s", RESULT_REAL }, { "tokens_per_s_per_gpu", RESULT_REAL },
    { "new one", RESULT_REAL },     { NULL, RESULT_NULL }
  };
  static const char *const other[] = { "mesh.\"tp\"", NULL };
  ResultStore             *store = open_store ("a.db", "1");
  g_autofree char         *path = path_of ("a.db"), *rows = NULL;
  g_autoptr (GError)       error = NULL;

  put (store, "d", 0, NULL, 1);
  result_store_free (store);
  store = result_store_open (path, more, other, &error);
  ck_assert (store != NULL);
  rows = print_all (store);
  ck_assert_str_eq (rows, "a \"b\", c|1|0x1p+0|0x1p+0|4|fsdp2|||d|0|||0|\n");
  result_store_free (store);
}
END_TEST

START_TEST (test_merge)
{
  ResultStore       *a = open_store ("a.db", "1"), *b = open_store ("b.db", "1");
  g_autofree char   *path = path_of ("b.db"), *rows = NULL;
  g_autoptr (GError) error = NULL;
  ResultMerge        merge;

  put (a, "d0", 0, NULL, 1);
  put (a, "d1", 1, NULL, 1);
  put (b, "d1", 1, NULL, 2); /* differs */
  put (b, "d2", 2, NULL, 1);
  result_store_free (b);
  ck_assert (result_store_merge (a, path, &merge, &error));
  ck_assert_uint_eq (merge.rows, 2);
  ck_assert_uint_eq (merge.added, 1);
  ck_assert_uint_eq (merge.differing, 1);
  ck_assert (result_store_merge (a, path, &merge, &error));
  ck_assert_uint_eq (merge.added, 0);
  rows = print_all (a);
  ck_assert_str_eq (rows, "a \"b\", c|1|0x1p+0|0x1p+0|4|fsdp2|d0|0|||0|\n"
                          "a \"b\", c|1|0x1p+0|0x1p+0|4|fsdp2|d1|1|||0|\n"
                          "a \"b\", c|1|0x1p+0|0x1p+0|4|fsdp2|d2|2|||0|\n");
  result_store_free (a);
}
END_TEST

START_TEST (test_refused)
{
  g_autofree char *text = path_of ("text"), *other = path_of ("other.db"),
                  *newer = path_of ("newer.db"), *none = path_of ("none/a.db"),
                  *missing = path_of ("missing.db");
  g_autoptr (GError)       error = NULL;
  const char *const        names[] = { text, other, newer };
  static const char *const words[] = { "is no result store", "is no result store",
                                       "is a result store of version 99" };

  ck_assert (g_file_set_contents (text, "not a database, and longer than a header\n", -1, NULL));
  ask ("other.db", "CREATE TABLE t (x)");
  result_store_free (open_store ("newer.db", "1"));
  ask ("newer.db", "PRAGMA user_version = 99");
  for (guint i = 0; i < G_N_ELEMENTS (names); i++)
    {
      ck_assert (result_store_open (names[i], columns, options, &error) == NULL);
      ck_assert (g_error_matches (error, RESULT_STORE_ERROR, RESULT_STORE_REFUSED));
      ck_assert_msg (strstr (error->message, words[i]) != NULL, "%s", error->message);
      g_clear_error (&error);
    }
  ck_assert (result_store_open (none, columns, options, &error) == NULL);
  ck_assert (g_error_matches (error, RESULT_STORE_ERROR, RESULT_STORE_FAILED));
  g_clear_error (&error);
  ck_assert (result_store_open_existing (missing, &error) == NULL);
  ck_assert (!g_file_test (missing, G_FILE_TEST_EXISTS));
}
END_TEST

SUITE_MAIN (result_store)
{
  Suite *suite = suite_create ("result-store");
  TCase *tcase = tcase_create ("store");

  tcase_add_checked_fixture (tcase, make_folder, remove_folder);
  tcase_add_test (tcase, test_round_trip);
  tcase_add_test (tcase, test_contexts);
  tcase_add_test (tcase, test_new_columns);
  tcase_add_test (tcase, test_merge);
  tcase_add_test (tcase, test_refused);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
