/*
 * A figure's rows by arithmetic: where scenarios fit, those that do not are left out; where none
 * does, all count, and the row says so; MFU of published numbers follows from the predicted one,
 * the other way round for times. Not asserted: what is predicted.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>

#include "../suite.h"
#include "evidence/figures/figure-published.h"

static const char scenarios[] =
    "cluster: { node: dgx-a100, nodes: 1 }\n"
    "model: { arch: gpt, n_layers: 2, d_model: 256, n_heads: 2, vocab: 512 }\n"
    "training: { seq_len: 128, flops_convention: palm }\n"
    "strategy: { name: fsdp2 }\n"
    "scenarios:\n"
    "  - { name: small, training: { micro_batch: 1 } }\n"
    "  - { name: large, training: { micro_batch: 2 } }\n"
    "  - { name: huge, training: { micro_batch: 200000 } }\n"
    "  - { name: more, training: { micro_batch: 400000 } }\n";

static const char rows[] = "figure,row,scenario,metric,published,assumptions\n"
                           "f,time,small,step_time_s,2,\n"
                           "f,rate,small,tokens_per_s_per_gpu,100,\n"
                           "f,band,small,tokens_per_s_per_gpu,100,\n"
                           "f,band,large,tokens_per_s_per_gpu,100,\n"
                           "f,band,huge,tokens_per_s_per_gpu,100,\n"
                           "f,none,huge,mfu_percent,40,\n"
                           "f,none,more,mfu_percent,40,\n"
                           "f,memory,small,peak_allocated_gib,1,\n"
                           "f,alone,small,step_flops_per_gpu,,\n"
                           "f,copy,small,op_ms:copy_out,,\n"
                           "f,gather,small,op_ms:all_gather,,\n"
                           "f,nothing,small,op_ms:no_such_op,,\n"
                           "f,below,small,step_time_s,1000 to 2000,\n"
                           "f,above,small,step_time_s,1e-9 to 2e-9,\n"
                           "f,about,small,step_time_s,1e-9 to 2000,\n"
                           "f,both,small,op_ms:copy_out+all_gather,,\n";

static Figures *
figures_of (void)
{
  g_autofree char     *folder = g_dir_make_tmp ("shardsim-figures-XXXXXX", NULL);
  g_autofree char     *yaml = g_build_filename (folder, "test.yaml", NULL);
  g_autofree char     *csv = g_build_filename (folder, "test.csv", NULL);
  g_autoptr (DiagList) diags = diag_list_new ();
  PredictOptions       options = { .replay = { 0 } };
  Figures             *figures;

  ck_assert_ptr_nonnull (folder);
  ck_assert (g_file_set_contents (yaml, scenarios, -1, NULL));
  ck_assert (g_file_set_contents (csv, rows, -1, NULL));
  figures = figures_compute (folder, "test", &options, 1, diags);
  g_remove (yaml);
  g_remove (csv);
  g_rmdir (folder);
  ck_assert_ptr_nonnull (figures);
  return figures;
}

static const FigureRow *
row_at (const Figures *figures, guint i)
{
  return &g_array_index (figures->rows, FigureRow, i);
}

static const FigureCase *
case_at (const FigureRow *row, guint i)
{
  return &g_array_index (row->cases, FigureCase, i);
}

START_TEST (test_mfu)
{
  g_autoptr (Figures) figures = figures_of ();
  const FigureRow    *time = row_at (figures, 0), *rate = row_at (figures, 1);
  double              mfu = case_at (time, 0)->mfu_percent;

  ck_assert_double_gt (mfu, 0);
  ck_assert_double_eq (time->mfu_low, mfu);
  ck_assert_double_eq_tol (time->mfu_published, mfu * time->low / 2, 1e-12 * mfu);
  ck_assert_double_eq_tol (rate->mfu_published, mfu * 100 / rate->low, 1e-12 * mfu);
  ck_assert_double_eq (row_at (figures, 3)->mfu_published, 40);
  ck_assert_double_eq (row_at (figures, 4)->mfu_published, 0);
}
END_TEST

START_TEST (test_what_does_not_fit)
{
  g_autoptr (Figures) figures = figures_of ();
  const FigureRow    *band = row_at (figures, 2), *none = row_at (figures, 3);

  ck_assert_uint_eq (band->n_used, 2);
  ck_assert (!band->misfits);
  ck_assert_double_eq (band->high, case_at (band, 1)->predicted);
  ck_assert_double_eq (band->mfu_low, case_at (band, 0)->mfu_percent);
  ck_assert_double_eq (band->mfu_high, case_at (band, 1)->mfu_percent);
  ck_assert_uint_eq (none->n_used, 2);
  ck_assert (none->misfits);
  ck_assert (!case_at (none, 0)->fits && !case_at (none, 1)->fits);
}
END_TEST

/*
 * Without a published number there is no error. 128 tokens of a GPT of two blocks of 12 x 256^2 and
 * a head of 256 x 512: 6 FLOPs of each, and 12 x 256 x 128 of attention a block, by PaLM.
 */
START_TEST (test_alone)
{
  g_autoptr (Figures) figures = figures_of ();
  const FigureRow    *row = row_at (figures, 5);
  double              matrices = 2 * 12 * 256.0 * 256 + 256.0 * 512;

  ck_assert (isnan (row->published) && isnan (row->error));
  ck_assert_double_eq (row->mfu_published, 0);
  ck_assert_double_eq_tol (row->low, 128 * (6 * matrices + 2 * 12 * 256.0 * 128), 1);
}
END_TEST

/* Ops' labels tell rows apart, not pictures; a label that no op has is why there is no number. */
START_TEST (test_ops)
{
  g_autoptr (Figures) figures = figures_of ();
  const FigureRow    *copy = row_at (figures, 6), *gather = row_at (figures, 7);
  const FigureRow    *nothing = row_at (figures, 8), *both = row_at (figures, 12);

  ck_assert_str_eq (copy->title, "op_ms:copy_out");
  ck_assert_str_eq (copy->picture, "op_ms");
  ck_assert_str_eq (gather->picture, "op_ms");
  ck_assert_double_gt (copy->low, 0);
  ck_assert_double_ne (copy->low, gather->low);
  ck_assert_double_eq (both->low, copy->low + gather->low);
  ck_assert_uint_eq (nothing->n_used, 0);
  ck_assert_str_eq (case_at (nothing, 0)->reason, "'small' has no 'op_ms:no_such_op'");
}
END_TEST

/* From the nearer end; none where the prediction lies between both. Faster is the shorter time. */
START_TEST (test_range)
{
  g_autoptr (Figures) figures = figures_of ();
  const FigureRow    *below = row_at (figures, 9), *above = row_at (figures, 10);
  const double        step = below->low;

  ck_assert_double_eq (below->published_high, 2000);
  ck_assert_double_eq_tol (below->error, step / 1000 - 1, 1e-12);
  ck_assert_double_eq_tol (above->error, step / 2e-9 - 1, 1e-3);
  ck_assert_double_eq (row_at (figures, 11)->error, 0);
  ck_assert_double_eq_tol (below->mfu_published_high, below->mfu_low * step / 1000, 1e-9);
  ck_assert_double_eq_tol (below->mfu_published, below->mfu_low * step / 2000, 1e-9);
}
END_TEST

SUITE_MAIN (figures)
{
  Suite *suite = suite_create ("figure-rows");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_mfu);
  tcase_add_test (tcase, test_what_does_not_fit);
  tcase_add_test (tcase, test_alone);
  tcase_add_test (tcase, test_ops);
  tcase_add_test (tcase, test_range);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
