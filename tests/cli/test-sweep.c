/*
 * Sweeps in threads: the same rows from one and from several, each made once, also where the
 * keeper is reached through calls as bytes, and where an earlier sweep made some of them. Run under
 * ThreadSanitizer as well.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <pthread.h>

#include "../suite.h"
#include "decide/sweep/sweep-remote.h"
#include "report/answer/sweep.h"

static const char scenario[] =
    "cluster: { node: hand-pair, nodes: 2 }\n"
    "model: { arch: llama, n_layers: 2, d_model: 200, n_heads: 2, d_ff: 400, vocab: 500 }\n"
    "training: { seq_len: 100 }\n"
    "strategy: { name: fsdp2 }\n";

typedef struct
{
  char         *folder, *profiles;
  InputFiles   *files;
  Vary         *vary;
  GPtrArray    *bases;
  ResultColumn *columns;
  char         *base_id;
  SweepPlan     plan;
} Fixture;

static Fixture fixture;

static void
set_up (void)
{
  g_autofree char     *file = NULL;
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *yaml = NULL;

  fixture.folder = g_dir_make_tmp ("sweep-XXXXXX", NULL);
  file = g_build_filename (fixture.folder, "s.yaml", NULL);
  ck_assert (g_file_set_contents (file, scenario, -1, NULL));
  fixture.profiles =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  fixture.files = input_files_new ();
  fixture.vary = vary_new ();
  ck_assert (vary_add (fixture.vary, "training.micro_batch=1..6", NULL, diags));
  ck_assert (vary_add (fixture.vary, "mesh.tp=1,2,3", NULL, diags)); /* 3 fails */
  fixture.bases = scenario_load (NULL, file, NULL, 0, diags);
  ck_assert (fixture.bases != NULL);
  g_unlink (file);
  yaml = scenario_print (g_ptr_array_index (fixture.bases, 0));
  fixture.base_id = result_base_id (yaml);
  fixture.columns = report_result_columns ();
  fixture.plan =
      (SweepPlan){ .bases = fixture.bases,
                   .source = sweep_source_of_vary (fixture.vary),
                   .predict = { .profile_dir = fixture.profiles, .files = fixture.files },
                   .columns = fixture.columns,
                   .results = report_result_values };
}

static void
tear_down (void)
{
  fixture.plan.source->free (fixture.plan.source);
  g_free (fixture.columns);
  g_free (fixture.base_id);
  g_ptr_array_unref (fixture.bases);
  vary_free (fixture.vary);
  input_files_free (fixture.files);
  g_free (fixture.profiles);
  g_rmdir (fixture.folder);
  g_free (fixture.folder);
}

static gboolean
print_row (const char *const *names, const ResultValue *values, guint n, gpointer user)
{
  report_stored_csv (names, values, n, FALSE, user);
  return TRUE;
}

/* How the points are worked off. */
typedef void (*Workers) (SweepKeeper *keeper);

static void
work_here (SweepKeeper *keeper, guint n_threads)
{
  const char        *ids[] = { fixture.base_id, NULL };
  g_autoptr (GError) error = NULL;

  ck_assert (sweep_work (&fixture.plan, ids, sweep_keeper_desk (keeper), n_threads, &error));
}

static void
work_alone (SweepKeeper *keeper)
{
  work_here (keeper, 1);
}

static void
work_in_threads (SweepKeeper *keeper)
{
  work_here (keeper, 4);
}

/* A world whose calls are answered in the process itself. */
static struct
{
  WorldAnswer answer;
  gpointer    user;
  gboolean    ended;
} world_state;

static void
serve (WorldAnswer answer, gpointer user)
{
  world_state.answer = answer;
  world_state.user = user;
}

static void
call (const guint8 *bytes, gsize n, GByteArray *reply)
{
  world_state.ended |= !world_state.answer (bytes, n, reply, world_state.user);
}

static void
work_remotely (SweepKeeper *keeper)
{
  const SweepWorld   world = { 1, 2, serve, call, NULL };
  const char        *ids[] = { fixture.base_id, NULL };
  SweepRemote       *remote;
  g_autoptr (GError) error = NULL;

  world_state.ended = FALSE;
  sweep_remote_serve (keeper, &world);
  remote = sweep_remote_new (&world);
  ck_assert (sweep_work (&fixture.plan, ids, sweep_remote_desk (remote), 3, &error));
  ck_assert (!world_state.ended);
  sweep_remote_free (remote);
  ck_assert (world_state.ended);
}

/* The rows of a store of its own after WORKERS, FIRST only every third point. */
static char *
rows_after (Workers workers, gboolean first, SweepSummary *summary)
{
  g_autofree char   *file = g_build_filename (fixture.folder, "s.db", NULL);
  g_autoptr (GError) error = NULL;
  GString           *rows = g_string_new (NULL);

  for (guint pass = first ? 0 : 1; pass < 2; pass++)
    {
      /* Each pass opens the store anew: what an earlier one has stored is from before. */
      g_autoptr (ResultStore) store =
          result_store_open (file, fixture.columns, fixture.plan.source->options, &error);
      g_autoptr (SweepKeeper) keeper = NULL;

      ck_assert (store != NULL);
      ck_assert (result_store_set_context (store, "1", "p", "", &error));
      ck_assert (result_store_add_base (store, "base", &error));
      keeper = sweep_keeper_new (store, fixture.columns, pass == 0 ? 1 : 0, pass == 0 ? 3 : 1,
                                 sweep_length (&fixture.plan), NULL);
      workers (keeper);
      sweep_summary_clear (summary);
      ck_assert (sweep_keeper_finish (keeper, summary, &error));
      if (pass == 1)
        ck_assert (result_store_visit_all (store, print_row, rows, &error));
    }
  g_unlink (file);
  return g_string_free (rows, FALSE);
}

START_TEST (test_workers)
{
  static const Workers  workers[] = { work_alone, work_in_threads, work_remotely };
  g_auto (SweepSummary) summary = { 0 };
  g_autofree char      *alone = rows_after (work_alone, FALSE, &summary);
  const CountedText    *reason = &g_array_index (summary.reasons, CountedText, 0);

  ck_assert_uint_eq (summary.n, 18);
  ck_assert_uint_eq (summary.known, 0);
  ck_assert_uint_eq (summary.failed, 6);
  ck_assert_uint_eq (summary.misfits, 0);
  ck_assert_uint_eq (summary.n_best, SWEEP_N_BEST);
  ck_assert_uint_eq (summary.reasons->len, 1);
  ck_assert_uint_eq (reason->n, 6);
  for (guint b = 1; b < summary.n_best; b++)
    ck_assert (summary.best[b - 1].speed >= summary.best[b].speed);
  for (guint w = 0; w < G_N_ELEMENTS (workers); w++)
    for (guint first = 0; first < 2; first++)
      {
        g_auto (SweepSummary) other = { 0 };
        g_autofree char      *rows = rows_after (workers[w], first, &other);

        ck_assert_str_eq (rows, alone);
        ck_assert_uint_eq (other.n, 18);
        ck_assert_uint_eq (other.known, first ? 6 : 0);
        ck_assert_uint_eq (other.failed, 6);
        for (guint b = 0; b < SWEEP_N_BEST; b++)
          ck_assert_str_eq (other.best[b].digest, summary.best[b].digest);
      }
}
END_TEST

/* A name changes no digest; all else does, and so does the text of a file that an option names. */
START_TEST (test_key)
{
  const Scenario        *base = g_ptr_array_index (fixture.bases, 0);
  g_autoptr (InputFiles) before = input_files_new (), after = input_files_new ();
  g_autoptr (DiagList)   diags = diag_list_new ();
  g_autofree char       *file = g_build_filename (fixture.folder, "lengths.csv", NULL);
  const ScenarioOverride name[] = { { "name", "other", "--set" } },
                         batch[] = { { "training.micro_batch", "2", "--set" } },
                         lengths[] = { { "training.lengths", file, "--set" } };
  g_autoptr (Scenario) named = scenario_with (base, NULL, name, 1, diags),
                       larger = scenario_with (base, NULL, batch, 1, diags),
                       packed = scenario_with (base, NULL, lengths, 1, diags);
  g_autofree char *key = scenario_key (base, before), *named_key = scenario_key (named, before),
                  *larger_key = scenario_key (larger, before), *one = NULL, *two = NULL;

  ck_assert_str_eq (key, named_key);
  ck_assert_str_ne (key, larger_key);
  ck_assert (g_file_set_contents (file, "1\n", -1, NULL));
  one = scenario_key (packed, before);
  ck_assert (g_file_set_contents (file, "2\n", -1, NULL));
  two = scenario_key (packed, after);
  ck_assert_str_ne (one, two);
  g_unlink (file);
}
END_TEST

SUITE_MAIN (sweep)
{
  Suite *suite = suite_create ("sweep");
  TCase *tcase = tcase_create ("workers");

  tcase_add_checked_fixture (tcase, set_up, tear_down);
  tcase_add_test (tcase, test_workers);
  tcase_add_test (tcase, test_key);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
