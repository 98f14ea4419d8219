/*
 * What a page shows of a store, against what SQL says of the same rows: the best, the front, the
 * grid, numbers of GPUs, failures. Bounds hold; runs of other contexts count nowhere.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <sqlite3.h>
#include <string.h>

#include "../suite.h"
#include "decide/sweep/store-view.h"

#define N_ROWS    900
#define TIGHT_GIB 60

static const ResultColumn columns[] = {
  { "scenario", RESULT_TEXT },
  { "strategy", RESULT_TEXT },
  { "fits", RESULT_WHOLE },
  { "step_time_s", RESULT_REAL },
  { "tokens_per_s_per_gpu", RESULT_REAL },
  { "peak_device_gib", RESULT_REAL },
  { "binding_resource", RESULT_TEXT },
  { "model", RESULT_TEXT },
  { "n_gpus", RESULT_REAL },
  { "tokens_per_s", RESULT_REAL },
  { "mfu_percent", RESULT_REAL },
  { "tight", RESULT_WHOLE },
  { NULL, RESULT_NULL },
};
static const char *const options[] = { "training.micro_batch", "training.seq_len", NULL };

static char    *folder, *file;
static sqlite3 *db;

static ResultStore *
open_store (const char *context)
{
  g_autoptr (GError) error = NULL;
  ResultStore       *store = result_store_open (file, columns, options, &error);

  ck_assert_msg (store != NULL, "%s", error != NULL ? error->message : "");
  ck_assert (result_store_set_context (store, context, "hash", "steps=0", &error));
  ck_assert (result_store_add_base (store, "name: base\n", &error));
  return store;
}

static void
set_up (void)
{
  folder = g_dir_make_tmp ("store-view-XXXXXX", NULL);
  file = g_build_filename (folder, "runs.db", NULL);
}

static void
tear_down (void)
{
  g_autofree char *command = g_strdup_printf ("rm -r '%s'", folder);

  ck_assert (g_spawn_command_line_sync (command, NULL, NULL, NULL, NULL));
  g_free (folder);
  g_free (file);
}

static ResultValue
text (const char *text)
{
  return (ResultValue){ .type = RESULT_TEXT, .text = g_strdup (text) };
}

static ResultValue
real (double value)
{
  return (ResultValue){ .type = RESULT_REAL, .real = value };
}

/* A row of few distinct values, so that there are ties. */
static void
put (ResultStore *store, GRand *rand, guint64 point)
{
  static const char *const strategies[] = { "fsdp2", "ddp", "zero3" };
  g_autoptr (ResultRow)    row = g_new0 (ResultRow, 1);
  g_autoptr (GError)       error = NULL;
  const double             gpus = 8 << g_rand_int_range (rand, 0, 3);
  const double             speed = g_rand_int_range (rand, 1, 400);

  row->digest = g_strdup_printf ("%" G_GUINT64_FORMAT, point);
  row->base = result_base_id ("name: base\n");
  row->point = point;
  row->settings = g_new0 (char *, 3);
  row->settings[0] = g_strdup_printf ("%d", 1 << g_rand_int_range (rand, 0, 5));
  row->settings[1] = g_strdup_printf ("%d", 3 * g_rand_int_range (rand, 0, 40)); /* too many */
  if (g_rand_int_range (rand, 0, 12) == 0)
    row->failure = g_strdup_printf ("reason %d", g_rand_int_range (rand, 0, 30));
  else
    {
      row->n_values = 12;
      row->values = g_new0 (ResultValue, 12);
      row->values[0] = text ("run");
      row->values[1] = text (strategies[g_rand_int_range (rand, 0, 3)]);
      row->values[2] =
          (ResultValue){ .type = RESULT_WHOLE, .whole = g_rand_int_range (rand, 0, 4) > 0 };
      row->values[3] = real (1 / speed);
      row->values[4] = real (speed);
      row->values[5] = real (g_rand_int_range (rand, 1, 80) + speed / 20);
      row->values[6] = text ("sm");
      row->values[7] = text (g_rand_int_range (rand, 0, 3) == 0 ? "small" : "large");
      row->values[8] = real (gpus);
      row->values[9] = real (speed * gpus);
      row->values[10] = real (speed / 10);
      row->values[11] =
          (ResultValue){ .type = RESULT_WHOLE, .whole = row->values[5].real > TIGHT_GIB };
    }
  ck_assert (result_store_put (store, row, &error));
}

/* The number that SQL says of the rows of the context. */
static double
ask (const char *context, const char *format, ...)
{
  va_list          arguments;
  g_autofree char *sql = NULL, *all = NULL;
  sqlite3_stmt    *statement;
  double           number;

  va_start (arguments, format);
  sql = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  all = g_strdup_printf ("WITH r AS (SELECT run.*, \"training.micro_batch\" AS mb FROM run "
                         "JOIN context c ON c.id = run.context WHERE c.program_version = '%s'), "
                         "f AS (SELECT * FROM r WHERE fits AND model = 'large') %s",
                         context, sql);
  ck_assert_msg (sqlite3_prepare_v2 (db, all, -1, &statement, NULL) == SQLITE_OK, "%s",
                 sqlite3_errmsg (db));
  ck_assert_int_eq (sqlite3_step (statement), SQLITE_ROW);
  number = sqlite3_column_type (statement, 0) == SQLITE_NULL ? NAN
                                                             : sqlite3_column_double (statement, 0);
  sqlite3_finalize (statement);
  return number;
}

static const StoreRun *
run_at (const GPtrArray *runs, guint i)
{
  return g_ptr_array_index (runs, i);
}

static void
check_best (const StoreView *view)
{
  ck_assert_uint_eq (view->best->len, STORE_VIEW_RUNS);
  for (guint i = 0; i < view->best->len; i += 7)
    {
      const StoreRun *run = run_at (view->best, i);
      const char     *rank = "SELECT %s FROM r WHERE failure IS NULL ORDER BY fits DESC, "
                             "tokens_per_s_per_gpu DESC, point LIMIT 1 OFFSET %u";

      ck_assert_double_eq (ask ("1", rank, "tokens_per_s_per_gpu", i), run->tokens_per_s_per_gpu);
      ck_assert_double_eq (ask ("1", rank, "peak_device_gib", i), run->peak_gib);
      ck_assert_double_eq (ask ("1", rank, "fits", i), run->fits);
      ck_assert_double_eq (ask ("1", rank, "tight", i), run->tight);
    }
}

static void
check_front (const StoreView *view)
{
  const double n = ask (
      "1", "SELECT count(*) FROM (SELECT DISTINCT peak_device_gib, tokens_per_s_per_gpu FROM f "
           "WHERE NOT EXISTS (SELECT 1 FROM f o WHERE o.peak_device_gib <= f.peak_device_gib "
           "AND o.tokens_per_s_per_gpu >= f.tokens_per_s_per_gpu AND (o.peak_device_gib < "
           "f.peak_device_gib OR o.tokens_per_s_per_gpu > f.tokens_per_s_per_gpu)))");

  ck_assert_double_gt (n, 4);
  ck_assert_uint_eq (view->front->len, (guint) n);
  for (guint i = 0; i < view->front->len; i++)
    {
      const StoreRun *run = run_at (view->front, i);

      ck_assert_double_eq (
          ask ("1", "SELECT max(tokens_per_s_per_gpu) FROM f WHERE peak_device_gib <= %.17g",
               run->peak_gib),
          run->tokens_per_s_per_gpu);
      if (i > 0)
        ck_assert_double_gt (run->peak_gib, run_at (view->front, i - 1)->peak_gib);
    }
}

/* Sequence lengths are too many for an axis; strategies are the second one. */
static void
check_grid (const StoreView *view)
{
  ck_assert_uint_eq (view->n_axes, 3);
  ck_assert_str_eq (view->x->name, "training.micro_batch");
  ck_assert_str_eq (view->y->name, "strategy");
  ck_assert_uint_eq (view->x->values->len, 5 + 1);
  ck_assert_uint_eq (view->y->values->len, 3 + 1);
  ck_assert_str_eq (g_ptr_array_index (view->x->values, 4), "16");
  for (guint y = 0; y < 3; y++)
    for (guint x = 0; x < 5; x++)
      ck_assert_double_eq (
          ask ("1", "SELECT max(tokens_per_s_per_gpu) FROM f WHERE mb = %s AND strategy = '%s'",
               (char *) g_ptr_array_index (view->x->values, x),
               (char *) g_ptr_array_index (view->y->values, y)),
          view->cells[y * 5 + x]);
}

static void
check_sizes (const StoreView *view)
{
  ck_assert_uint_eq (view->scaling->len, 9);
  for (guint i = 0; i < view->scaling->len; i++)
    {
      const StoreRun *run = run_at (view->scaling, i);

      ck_assert_double_eq (
          ask ("1", "SELECT max(tokens_per_s) FROM f WHERE n_gpus = %g AND strategy = '%s'",
               run->n_gpus, run->strategy),
          run->tokens_per_s);
      if (i > 0)
        ck_assert_double_ge (run->n_gpus, run_at (view->scaling, i - 1)->n_gpus);
    }
}

static void
check_reasons (const StoreView *view)
{
  ck_assert_uint_eq (view->reasons->len, STORE_VIEW_REASONS);
  for (guint i = 0; i < view->reasons->len; i++)
    {
      const CountedText *reason = &g_array_index (view->reasons, CountedText, i);

      ck_assert_double_eq (ask ("1", "SELECT count(*) FROM r WHERE failure = '%s'", reason->text),
                           (double) reason->n);
    }
}

START_TEST (test_view)
{
  g_autoptr (ResultStore) others = open_store ("2"), store = NULL;
  g_autoptr (GRand)       rand = g_rand_new_with_seed (20);
  g_autoptr (StoreView)   view = NULL;

  for (guint i = 0; i < 60; i++)
    put (others, rand, i);
  g_clear_pointer (&others, result_store_free);
  store = open_store ("1");
  for (guint i = 0; i < N_ROWS; i++)
    put (store, rand, i);
  view = store_view_new (store, NULL);
  ck_assert_ptr_nonnull (view);
  ck_assert_int_eq (sqlite3_open (file, &db), SQLITE_OK);
  ck_assert_uint_eq (view->n, N_ROWS);
  ck_assert_uint_eq (view->n_others, 60);
  ck_assert_double_eq (ask ("1", "SELECT count(*) FROM r WHERE failure IS NOT NULL"),
                       (double) view->n_failed);
  ck_assert_double_eq (ask ("1", "SELECT count(*) FROM r WHERE NOT fits"),
                       (double) view->n_misfits);
  ck_assert_str_eq (view->model, "large");
  ck_assert_uint_eq (view->n_models, 2);
  ck_assert_str_eq (view->base, "name: base\n");
  ck_assert_str_eq (view->program_version, "1");
  check_best (view);
  check_front (view);
  check_grid (view);
  check_sizes (view);
  check_reasons (view);
  sqlite3_close (db);
}
END_TEST

/* Without a context all runs count; with failures alone there is nothing else. */
START_TEST (test_bare)
{
  g_autoptr (ResultStore) store = open_store ("1"), all = NULL;
  g_autoptr (ResultRow)   row = g_new0 (ResultRow, 1);
  g_autoptr (StoreView)   empty = NULL, failed = NULL;

  empty = store_view_new (store, NULL);
  ck_assert_uint_eq (empty->n, 0);
  ck_assert_uint_eq (empty->best->len, 0);
  row->digest = g_strdup ("x");
  row->base = result_base_id ("name: base\n");
  row->failure = g_strdup ("no such node");
  row->settings = g_strsplit ("1,2", ",", -1);
  ck_assert (result_store_put (store, row, NULL));
  g_clear_pointer (&store, result_store_free);
  all = result_store_open_existing (file, NULL);
  failed = store_view_new (all, NULL);
  ck_assert_uint_eq (failed->n, 1);
  ck_assert_uint_eq (failed->n_failed, 1);
  ck_assert_uint_eq (failed->best->len, 0);
  ck_assert_ptr_null (failed->model);
  ck_assert_ptr_null (failed->cells);
}
END_TEST

SUITE_MAIN (store_view)
{
  Suite *suite = suite_create ("store-view");
  TCase *tcase = tcase_create ("view");

  tcase_add_checked_fixture (tcase, set_up, tear_down);
  tcase_add_test (tcase, test_view);
  tcase_add_test (tcase, test_bare);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
