/*
 * Runs over the number of nodes: order, names and units of the points, and that the shipped tables
 * hold rows of the tables that predictions are validated with. Says nothing about how near the
 * predictions are.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "base/config/csv.h"
#include "evidence/figures/figure-scaling.h"

#define COLLECTIVES                                   \
  "id,node,nodes,collective,bytes,time_us,env\n"      \
  "a-01,hand-pair,4,all_gather,1073741824,2000000,\n" \
  "b-01,hand-pair,2,all_gather,1073741824,1000000,\n" \
  "a-02,hand-pair,2,all_gather,1536,1000,algo=ring\n" \
  "a-03,hand-pair,2,all_gather,1073741824,1000000,\n" \
  "a-04,hand-pair,3,all_gather,1073741824,1500000,\n" \
  "a-05,hand-pair,5,all_gather,1073741824,1500000,nvls=1\n"
#define RUN(id, nodes, shard, checkpoints, metric, value)                                   \
  id ",hand-pair," nodes ",gpt,2,200,2,500,100,3,1,fsdp2," shard "," checkpoints "," metric \
     "," value "\n"
#define TRAINING                                                                               \
  "id,node,nodes,arch,n_layers,d_model,n_heads,vocab,seq_len,micro_batch,grad_accum,strategy," \
  "shard,activation_checkpointing,metric,value\n" RUN ("c-1", "2", "all", "none",              \
                                                       "tokens_per_s_per_gpu", "900")          \
      RUN ("c-2", "1", "all", "none", "tokens_per_s_per_gpu", "1000")                          \
          RUN ("c-3", "2", "all", "none", "step_time_s", "1")                                  \
              RUN ("c-4", "2", "node", "full", "tokens_per_s_per_gpu", "800")

static char *
put (const char *folder, const char *name, const char *text)
{
  char *file = g_build_filename (folder, name, NULL);

  ck_assert (g_file_set_contents (file, text, -1, NULL));
  return file;
}

/*
 * By part, page, series, then nodes. 1 GiB in 2 s over 8 GPUs: 2^30 / 2 x 7/8. What cannot be
 * predicted has a reason and no numbers.
 */
START_TEST (test_points)
{
  static const struct
  {
    const char *id, *page, *series;
    guint       nodes;
    double      measured;
  } expected[] = {
    { "a-03", "a: hand-pair", "all_gather 1 GiB", 2, 1073741824.0 * 3 / 4 },
    { "a-04", "a: hand-pair", "all_gather 1 GiB", 3, 1073741824.0 / 1.5 * 5 / 6 },
    { "a-01", "a: hand-pair", "all_gather 1 GiB", 4, 1073741824.0 / 2 * 7 / 8 },
    { "a-02", "a: hand-pair", "all_gather 1.5 KiB, algo=ring", 2, 1536 / 1e-3 * 3 / 4 },
    { "a-05", "a: hand-pair", "all_gather 1 GiB, nvls=1", 5, NAN },
    { "b-01", "b: hand-pair", "all_gather 1 GiB", 2, 1073741824.0 * 3 / 4 },
    { "c-2", "c: hand-pair", "2 x 200, 100 x 3 tokens", 1, 1000 },
    { "c-1", "c: hand-pair", "2 x 200, 100 x 3 tokens", 2, 900 },
    { "c-4", "c: hand-pair", "2 x 200, 100 x 3 tokens, shard node, full", 2, 800 },
  };
  g_autofree char *folder = g_dir_make_tmp ("shardsim-scaling-XXXXXX", NULL);
  g_autofree char *collectives = put (folder, "s.collectives.csv", COLLECTIVES);
  g_autofree char *training = put (folder, "s.training.csv", TRAINING);
  g_autofree char *profiles =
      g_build_filename (g_getenv ("SHARDSIM_SOURCE_ROOT"), "docs", "worked", "hwprofiles", NULL);
  const PredictOptions options = { .profile_dir = profiles };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  one = figures_compute (folder, "s", &options, 1, diags);
  g_autoptr (Figures)  more = figures_compute (folder, "s", &options, 3, diags);

  ck_assert_msg (one != NULL && more != NULL, "%s", diag_list_first_message (diags));
  ck_assert_uint_eq (one->rows->len, G_N_ELEMENTS (expected));
  for (guint i = 0; i < one->rows->len; i++)
    {
      const ScalingPoint *point = &g_array_index (one->rows, ScalingPoint, i);
      const ScalingPoint *same = &g_array_index (more->rows, ScalingPoint, i);

      ck_assert_str_eq (point->id, expected[i].id);
      ck_assert_str_eq (point->page, expected[i].page);
      ck_assert_str_eq (point->series, expected[i].series);
      ck_assert_uint_eq (point->nodes, expected[i].nodes);
      ck_assert_int_eq (point->part, i < 6 ? SCALING_BUS_BANDWIDTH : SCALING_THROUGHPUT);
      ck_assert_int_eq (point->reason != NULL, isnan (expected[i].measured));
      if (point->reason != NULL)
        continue;
      ck_assert_double_eq_tol (point->measured / expected[i].measured, 1, 1e-12);
      ck_assert_double_gt (point->predicted, 0);
      ck_assert_double_eq (point->predicted, same->predicted);
    }
  g_unlink (collectives);
  g_unlink (training);
  g_rmdir (folder);
}
END_TEST

START_TEST (test_mistakes)
{
  g_autofree char     *folder = g_dir_make_tmp ("shardsim-scaling-XXXXXX", NULL);
  g_autofree char     *collectives = put (folder, "s.collectives.csv", "id,nodes\na,1\n");
  const PredictOptions options = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self = figures_compute (folder, "s", &options, 1, diags);

  ck_assert_ptr_null (self);
  ck_assert_uint_ge (diag_list_n_errors (diags), 2); /* of both tables, one of which is not there */
  g_unlink (collectives);
  g_rmdir (folder);
}
END_TEST

/* The shipped tables are rows of those that predictions are validated with. */
static void
assert_rows_are_in (const char *figure, const char *table)
{
  static const char *const columns[] = { "id",    "nodes",   "gpu",      "nic",     "collective",
                                         "bytes", "d_model", "strategy", "seq_len", "micro_batch",
                                         "value", "time_us", "env" };
  const char              *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char         *whole = g_build_filename (root, "tests/data/validation", table, NULL);
  g_autofree char         *chosen = g_build_filename (root, "workloads/figures", figure, NULL);
  const char *const        names[] = { whole, chosen };
  g_autoptr (GHashTable)   known = g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  guint                    n = 0;

  for (guint f = 0; f < G_N_ELEMENTS (names); f++)
    {
      g_autoptr (DiagList)  diags = diag_list_new ();
      g_autoptr (CsvReader) reader = csv_reader_open (names[f], diags);

      ck_assert_msg (reader != NULL, "%s", names[f]);
      while (csv_reader_next (reader, diags))
        {
          g_autoptr (GString) key = g_string_new (NULL);

          for (guint c = 0; c < G_N_ELEMENTS (columns); c++)
            {
              const gint at = csv_reader_find (reader, columns[c]);

              g_string_append_printf (key, "%s\n",
                                      at >= 0 ? csv_reader_field (reader, (guint) at) : "");
            }
          if (f == 0)
            g_hash_table_add (known, g_strdup (key->str));
          else
            {
              n++;
              ck_assert_msg (g_hash_table_contains (known, key->str), "%s", key->str);
            }
        }
    }
  ck_assert_uint_gt (n, 0);
}

START_TEST (test_shipped)
{
  assert_rows_are_in ("scaling.collectives.csv", "collectives.csv");
  assert_rows_are_in ("scaling.training.csv", "training.csv");
}
END_TEST

SUITE_MAIN (figure_scaling)
{
  Suite *suite = suite_create ("figure-scaling");
  TCase *tests = tcase_create ("figure-scaling");

  tcase_add_test (tests, test_points);
  tcase_add_test (tests, test_mistakes);
  tcase_add_test (tests, test_shipped);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
