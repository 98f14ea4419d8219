/*
 * Padding over ranks: what the shipped table says holds, each number by arithmetic on shapes; how a
 * statement is judged; a table's errors are golden text (tests/cli). Not asserted: what formats
 * make of other models (tests/decide/test-shards.c).
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "base/file/layout.h"
#include "evidence/figures/figure-padding.h"

static const PredictOptions options = { 0 }; /* nothing is predicted */

#define HEAD "figure,row,model,format,block,unit,ranks,quantity,published,assumptions\n"

static Figures *
padding_of (const char *rows, DiagList *diags)
{
  g_autofree char *folder = g_dir_make_tmp ("shardsim-padding-XXXXXX", NULL);
  g_autofree char *csv = g_build_filename (folder, "test.padding.csv", NULL);
  g_autofree char *text = g_strconcat (HEAD, rows, NULL);
  Figures         *self;

  ck_assert (g_file_set_contents (csv, text, -1, NULL));
  self = figures_compute (folder, "test", &options, 1, diags);
  g_remove (csv);
  g_rmdir (folder);
  return self;
}

static const PaddingLine *
line_at (const Figures *self, guint i)
{
  return FIGURE_LINE (self, PaddingLine, i);
}

START_TEST (test_the_shipped_one)
{
  g_autofree char     *folder = layout_data_file ("workloads/figures");
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self = figures_compute (folder, "vescale-padding", &options, 1, diags);
  guint                n_said = 0, n_vectors = 0;

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  for (guint i = 0; i < self->lines->len; i++)
    {
      const PaddingLine *row = line_at (self, i);

      if (isnan (row->published))
        continue;
      n_said++;
      ck_assert_msg (row->holds, "%s: %g to %g, said '%s'", row->row, row->low, row->high,
                     row->said);
      if (row->percent)
        continue;
      n_vectors++;
      ck_assert_double_eq (row->error, 0);
    }
  ck_assert_uint_eq (n_said, 22);
  ck_assert_uint_eq (n_vectors, 8);
}
END_TEST

/*
 * gpt-oss-120b: all tensors of experts have 128 rows, so 256 ranks pad each to twice its size, and
 * 96 ranks to 192 rows. Its q_proj has 4096 rows, k and v 512, o and norms 2880 and less: on a rank
 * alone nothing is padded.
 */
START_TEST (test_by_hand)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self =
      padding_of ("f,a,gpt-oss-120b,rows,,experts,\"64,96,128,256\",padding_percent,100,\n"
                  "f,b,gpt-oss-120b,rows,,layer,1,padding_percent,,\n"
                  "f,c,gpt-oss-120b,rows,,experts,256,shard_elements,24891840,\n",
                  diags);
  const PaddingLine *a, *c;
  const double       expert = 2 * 2880.0 * 2880 + 2880.0 * 2880 + 2 * 2880 + 2880;

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  a = line_at (self, 0);
  c = line_at (self, 2);
  ck_assert_double_eq (FIGURE_ROW (self, PaddingPoint, a->first + 0)->value, 0);
  ck_assert_double_eq_tol (FIGURE_ROW (self, PaddingPoint, a->first + 1)->value, 50, 1e-9);
  ck_assert_double_eq (FIGURE_ROW (self, PaddingPoint, a->first + 2)->value, 0);
  ck_assert_double_eq_tol (FIGURE_ROW (self, PaddingPoint, a->first + 3)->value, 100, 1e-9);
  ck_assert_double_eq (line_at (self, 1)->high, 0);
  ck_assert (isnan (line_at (self, 1)->error) && !line_at (self, 1)->holds);
  ck_assert_double_eq (c->low, expert);
  ck_assert (c->holds);
}
END_TEST

/* 0, 50 and 100 %: of each the worst counts, of the others the most. */
START_TEST (test_judgement)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self =
      padding_of ("f,a,gpt-oss-120b,rows,,experts,\"64,96,256\",padding_percent,80,\n"
                  "f,b,gpt-oss-120b,rows,,experts,\"64,96,256\",padding_percent,< 80,\n"
                  "f,c,gpt-oss-120b,rows,,experts,\"64,96,256\",padding_percent,< 100,\n"
                  "f,d,gpt-oss-120b,rows,,experts,\"64,96,256\",padding_percent,up to 80,\n"
                  "f,e,gpt-oss-120b,rows,,experts,96,padding_percent,50.4,\n"
                  "f,f,gpt-oss-120b,rows,,experts,96,padding_percent,50,\n",
                  diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_double_eq_tol (line_at (self, 0)->error, -1, 1e-9);
  ck_assert_double_eq_tol (line_at (self, 1)->error, 0.25, 1e-9);
  ck_assert_double_eq (line_at (self, 2)->error, 0);
  ck_assert (line_at (self, 2)->holds);
  ck_assert_double_eq_tol (line_at (self, 3)->error, 0.25, 1e-9);
  ck_assert (!line_at (self, 4)->holds); /* a digit more was said */
  ck_assert (line_at (self, 5)->holds);
}
END_TEST

START_TEST (test_no_experts)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self =
      padding_of ("f,a,llama-3-8b,rows,,experts,8,padding_percent,1,\n", diags);

  ck_assert_ptr_null (self);
  ck_assert_uint_eq (diag_list_n_errors (diags), 1);
  ck_assert_str_eq (diag_list_first_message (diags), "llama-3-8b has no experts");
}
END_TEST

SUITE_MAIN (figure_padding)
{
  Suite *suite = suite_create ("figure-padding");
  TCase *tcase = tcase_create ("all");

  tcase_add_test (tcase, test_the_shipped_one);
  tcase_add_test (tcase, test_by_hand);
  tcase_add_test (tcase, test_judgement);
  tcase_add_test (tcase, test_no_experts);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
