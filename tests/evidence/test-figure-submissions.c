/*
 * Submissions of a benchmark: what rows of the table and configuration files beside it come to as
 * rows of the figure, their summary by hand, and that the shipped table holds rows of the table
 * that predictions are validated with. Says nothing about how near the predictions are.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "evidence/figures/figure-submissions.h"

#define TABLE                                                                                  \
  "id,cluster,arch,n_layers,d_model,n_heads,vocab,seq_len,micro_batch,grad_accum,strategy,tp," \
  "precision,metric,value\n"                                                                   \
  "old-1,1 x dgx-h100,gpt,2,1024,8,512,256,1,4,zero1,2,bf16-mixed,step_time_s,%s\n"            \
  "old-2,1 x dgx-h100,gpt,2,1024,8,512,256,1,4,zero1,2,bf16-mixed,tokens_per_s_per_gpu,1\n"    \
  "old-3,1 x dgx-h100,gpt,2,1024,8,512,256,1,4,zero1,3,bf16-mixed,step_time_s,1\n"
#define JOBS                                     \
  "id,job,cluster,model,framework,step_time_s\n" \
  "new-1,config_one.sh,1 x dgx-h100,,megatron-bridge-2025,1\n"
#define JOB                                                                                   \
  "export MINIBS=4\nexport MICRO_BATCH_SIZE=1\nexport TENSOR_MODEL_PARALLEL=4\nexport SP=1\n" \
  "export MODEL_SIZE=8b\nexport FP8=True\nexport FP8_RECIPE=tensorwise\nexport DGXNNODES=1\n" \
  "export DGXNGPU=8\n"

typedef struct
{
  char *folder, *table, *jobs, *job, *inner;
} Files;

static char *
put (const char *folder, const char *name, const char *text)
{
  char *file = g_build_filename (folder, name, NULL);

  ck_assert (g_file_set_contents (file, text, -1, NULL));
  return file;
}

/* The figure of both tables, its first row published as taking VALUE seconds. */
static Figures *
compute (Files *files, const char *value)
{
  const PredictOptions options = { 0 };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autofree char     *table = g_strdup_printf (TABLE, value);
  Figures             *self;

  files->folder = g_dir_make_tmp ("shardsim-submissions-XXXXXX", NULL);
  files->inner = g_build_filename (files->folder, "s", NULL);
  ck_assert_int_eq (g_mkdir (files->inner, 0700), 0);
  files->table = put (files->folder, "s.submissions.csv", table);
  files->jobs = put (files->folder, "s.jobs.csv", JOBS);
  files->job = put (files->inner, "config_one.sh", JOB);
  self = figures_compute (files->folder, "s", &options, 1, diags);
  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  return self;
}

static void
files_clear (Files *self)
{
  char *const all[] = { self->table, self->jobs, self->job, self->inner, self->folder };

  for (guint i = 0; i < G_N_ELEMENTS (all); i++)
    {
      g_remove (all[i]);
      g_free (all[i]);
    }
}

/* Step times count alone; what is not possible says why; a configuration file is a row. */
START_TEST (test_rows)
{
  Files               files = { 0 };
  g_autoptr (Figures) self = compute (&files, "1");
  const Submission   *row;

  ck_assert_uint_eq (self->rows->len, 3);
  row = FIGURE_ROW (self, Submission, 0);
  ck_assert_str_eq (row->id, "old-1");
  ck_assert_str_eq (row->round, "old");
  ck_assert_str_eq (row->hardware, "1 x dgx-h100");
  ck_assert_str_eq (row->configuration, "2 x 1024, tp 2, 1 x 4 sequences, bf16-mixed");
  ck_assert_ptr_null (row->reason);
  ck_assert_double_gt (row->predicted, 0);
  ck_assert_double_gt (row->memory_share, 0);
  row = FIGURE_ROW (self, Submission, 1);
  ck_assert_str_eq (row->id, "old-3");
  ck_assert_ptr_nonnull (row->reason);
  ck_assert (isnan (row->predicted));
  row = FIGURE_ROW (self, Submission, 2);
  ck_assert_str_eq (row->round, "new");
  ck_assert_str_eq (row->configuration, "llama-3-8b, tp 4, 1 x 4 sequences, fp8 tensorwise");
  ck_assert_ptr_null (row->reason);
  ck_assert_double_gt (row->predicted, 0);
  files_clear (&files);
}
END_TEST

/* Published at what is predicted, the first row is right, and the job is what it is. */
START_TEST (test_summary)
{
  Files               files = { 0 }, again = { 0 };
  g_autoptr (Figures) first = compute (&files, "1");
  const Submission   *row = FIGURE_ROW (first, Submission, 0);
  g_autofree char    *same = g_strdup_printf ("%.12g", row->predicted);
  const double        job = fabs (FIGURE_ROW (first, Submission, 2)->predicted - 1);
  g_autoptr (Figures) self = compute (&again, same);
  SubmissionSummary   all = figure_submissions_summary (self);

  ck_assert_uint_eq (all.n, 2);
  ck_assert_uint_eq (all.n_near, job <= SUBMISSION_NEAR ? 2 : 1);
  ck_assert_uint_eq (all.n_unfit, 0);
  ck_assert_double_eq_tol (all.median_abs, job / 2, 1e-6); /* of 0 and the job's */
  files_clear (&files);
  files_clear (&again);
}
END_TEST

/* Each line of the shipped table stands in the table of measurements. */
START_TEST (test_shipped)
{
  const char      *root = g_getenv ("SHARDSIM_SOURCE_ROOT");
  g_autofree char *shipped =
      g_build_filename (root, "workloads/figures/mlperf.submissions.csv", NULL);
  g_autofree char *whole = g_build_filename (root, "tests/data/validation/training-2026.csv", NULL);
  g_autofree char *chosen = NULL, *all = NULL;
  g_auto (GStrv)   lines = NULL, known = NULL;

  ck_assert (g_file_get_contents (shipped, &chosen, NULL, NULL));
  ck_assert (g_file_get_contents (whole, &all, NULL, NULL));
  lines = g_strsplit (chosen, "\n", -1);
  known = g_strsplit (all, "\n", -1);
  ck_assert_uint_gt (g_strv_length (lines), 1);
  for (guint i = 0; lines[i] != NULL; i++)
    ck_assert_msg (g_strv_contains ((const char *const *) known, lines[i]), "%s", lines[i]);
}
END_TEST

SUITE_MAIN (figure_submissions)
{
  Suite *suite = suite_create ("figure-submissions");
  TCase *tests = tcase_create ("figure-submissions");

  tcase_add_test (tests, test_rows);
  tcase_add_test (tests, test_summary);
  tcase_add_test (tests, test_shipped);
  suite_add_tcase (suite, tests);
  return suite_run (suite);
}
