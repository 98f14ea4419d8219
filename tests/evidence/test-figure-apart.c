/*
 * Attention and experts apart: lines of a table by hand, what a ratio is of, what the shipped table
 * is right about by mechanism, and mistakes of a table. Not asserted: published gains over engines
 * that nobody can look into.
 */
#include <check.h>
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "../suite.h"
#include "base/file/layout.h"
#include "evidence/figures/figure-apart.h"

static const PredictOptions options = { 0 }; /* nothing is predicted by scenarios */

#define HEAD                                                                                   \
  "figure,row,quantity,system,model,attention,experts,attention_tp,stages,replicas,expert_tp," \
  "micro_batches,micro_batch,attention_price,expert_price,peers,bytes,over,x,published,"       \
  "assumptions\n"
#define MIXTRAL "m2n,mixtral-8x22b,4 x dgx-a100,,2,,4,2,"

static Figures *
apart_of (const char *rows, DiagList *diags)
{
  g_autofree char *folder = g_dir_make_tmp ("shardsim-apart-XXXXXX", NULL);
  g_autofree char *csv = g_build_filename (folder, "test.apart.csv", NULL);
  g_autofree char *text = g_strconcat (HEAD, rows, NULL);
  Figures         *self;

  ck_assert (g_file_set_contents (csv, text, -1, NULL));
  self = figures_compute (folder, "test", &options, 1, diags);
  g_remove (csv);
  g_rmdir (folder);
  return self;
}

static const ApartLine *
line_at (const Figures *self, guint i)
{
  return FIGURE_LINE (self, ApartLine, i);
}

/*
 * M2N of 8 messages of 256 KiB over 0.94 x 25 GB/s: 9.6 us and what 2 MiB take; their rate follows.
 * Three micro-batches of 128 sequences in 4 replicas: tokens/s of 24 GPUs, of a price of 4 x 2 x 3
 * + 8 x 2 x 1 units, and the time between tokens are the same number. Their ratios are of raw ones.
 */
START_TEST (test_by_hand)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self =
      apart_of ("f,a,exchange_us,m2n,,2 x dgx-a100,,,,,,,,,,8,262144,,,100,\n"
                "f,b,exchange_gb_per_s,m2n,,2 x dgx-a100,,,,,,,,,,8,262144,,,,\n"
                "f,c,tokens_per_s," MIXTRAL "3,128,,,,,,,,\n"
                "f,d,tokens_per_s_per_gpu," MIXTRAL "3,128,,,,,,,,\n"
                "f,e,tokens_per_s_per_price," MIXTRAL "3,128,3,1,,,,,,\n"
                "f,g,between_tokens_ms," MIXTRAL "3,128,,,,,,,,\n"
                "f,h,tokens_per_s," MIXTRAL "1,128,,,,,c,,0.4,\n"
                "f,i,tokens_per_s," MIXTRAL "2,128,,,,,c | h,,0.8,\n",
                diags);
  const double us = 9.6 + 8 * 262144 / (0.94 * 25e3);
  double       tokens;

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  ck_assert_double_eq_tol (line_at (self, 0)->high, us, 1e-6);
  ck_assert_double_eq_tol (line_at (self, 1)->high, 8 * 262.144 / us, 1e-6);
  tokens = line_at (self, 2)->high;
  ck_assert_str_eq (line_at (self, 2)->layout, "4 x tp 2, experts 8 x tp 2, 3 x 128");
  ck_assert_double_eq_tol (line_at (self, 3)->high, tokens / 24, 1e-6);
  ck_assert_double_eq_tol (line_at (self, 4)->high, tokens / 40, 1e-6);
  ck_assert_double_eq_tol (line_at (self, 5)->high, 1e3 * 4 * 3 * 128 / tokens, 1e-6);
  ck_assert_double_eq_tol (line_at (self, 6)->high, line_at (self, 6)->raw / tokens, 1e-9);
  ck_assert_double_eq_tol (line_at (self, 7)->low, line_at (self, 7)->raw / tokens, 1e-9);
  ck_assert_double_eq_tol (line_at (self, 7)->high, line_at (self, 7)->raw / line_at (self, 6)->raw,
                           1e-9);
  ck_assert_uint_eq (self->evidence->len, 3); /* what has a published number */
}
END_TEST

/* Of a model without experts, of pools without room and of caches without any: why, not a number.
 */
START_TEST (test_reasons)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Figures)  self =
      apart_of ("f,a,tokens_per_s,m2n,llama-3-8b,2 x dgx-a100,,1,,1,1,1,1,,,,,,,,\n"
                "f,b,tokens_per_s,m2n,mixtral-8x22b,2 x dgx-a100,,8,,4,8,1,1,,,,,,,,\n"
                "f,c,tokens_per_s,m2n,mixtral-8x22b,4 x dgx-a100,,2,,1,2,1,9999,,,,,,,,\n"
                "f,d,tokens_per_s,m2n,mixtral-8x22b,4 x dgx-a100,,2,,1,2,1,1,,,,,c,,2,\n",
                diags);

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  for (guint i = 0; i < 4; i++)
    {
      ck_assert (isnan (line_at (self, i)->high));
      ck_assert_ptr_nonnull (line_at (self, i)->reason);
    }
  ck_assert_ptr_nonnull (strstr (line_at (self, 0)->reason, "no experts"));
  ck_assert_ptr_nonnull (strstr (line_at (self, 1)->reason, "need 96 GPUs"));
  ck_assert_str_eq (line_at (self, 2)->reason, "does not fit memory");
  ck_assert_str_eq (line_at (self, 3)->reason, "does not fit memory"); /* what divides */
}
END_TEST

START_TEST (test_mistakes)
{
  static const struct
  {
    const char *row, *message;
  } mistakes[] = {
    { "f,a,tokens_per_s,m2n,mixtral-8x22b,dgx-a100,,,,,,,,,,,,nobody,,,\n", "no row 'nobody'" },
    { "f,a,exchange_us,m2n,,2 x dgx-a100,,,,,,,,,,8,,,,,\n", "'peers' and 'bytes'" },
    { "f,a,tokens_per_s,m2n,,2 x dgx-a100,,,,,,,,,,8,1,,,,\n", "all else has one" },
    { "f,a,tokens_per_s,rdma,mixtral-8x22b,dgx-a100,,,,,,,,,,,,,,,\n", "unknown value 'rdma'" },
  };
  g_autoptr (DiagList) diags = diag_list_new ();

  ck_assert_ptr_null (apart_of (mistakes[_i].row, diags));
  ck_assert_msg (strstr (diag_list_first_message (diags), mistakes[_i].message) != NULL, "%s",
                 diag_list_first_message (diags));
}
END_TEST

static double
computed_of (const Figures *self, const char *row)
{
  for (guint i = 0; i < self->lines->len; i++)
    if (g_str_equal (line_at (self, i)->row, row))
      return line_at (self, i)->high;
  ck_abort_msg ("no row '%s'", row);
}

/*
 * What the shipped table says by mechanism: every line has a number; a second micro-batch nearly
 * doubles, a third gives less, most to the model with the longest exchange, a fourth next to
 * nothing; replicas of attention cost nothing up to 4, and pay up to 8.
 */
START_TEST (test_the_shipped_one)
{
  static const char *const models[] = { "Mixtral 8x22B", "DBRX", "Scaled-MoE" };
  g_autofree char         *folder = layout_data_file ("workloads/figures");
  g_autoptr (DiagList)     diags = diag_list_new ();
  g_autoptr (Figures)      self = figures_compute (folder, "megascale-infer", &options, 1, diags);
  double                   third = 0;

  ck_assert_msg (self != NULL, "%s", diag_list_first_message (diags));
  for (guint i = 0; i < self->lines->len; i++)
    ck_assert_msg (isfinite (line_at (self, i)->high), "%s: %s", line_at (self, i)->row,
                   line_at (self, i)->reason);
  for (guint i = 0; i < G_N_ELEMENTS (models); i++)
    {
      g_autofree char *two = g_strdup_printf ("%s, m = 2 over 1", models[i]);
      g_autofree char *three = g_strdup_printf ("%s, m = 3 over 2", models[i]);
      g_autofree char *four = g_strdup_printf ("%s, m = 4 over 3", models[i]);

      ck_assert_double_eq_tol (computed_of (self, two), 1.9, 0.1);
      ck_assert_double_gt (computed_of (self, three), third);
      third = computed_of (self, three);
      ck_assert_double_lt (third, 1.5);
      ck_assert_double_lt (computed_of (self, four), 1.05);
    }
  ck_assert_double_eq_tol (computed_of (self, "DBRX, 4 replicas over 1"), 4, 0.01);
  ck_assert_double_eq_tol (computed_of (self, "DBRX, replicas of the most tokens/s a GPU"), 8, 2);
}
END_TEST

SUITE_MAIN (figure_apart)
{
  Suite *suite = suite_create ("figure-apart");
  TCase *tcase = tcase_create ("all");

  tcase_set_timeout (tcase, 120);
  tcase_add_test (tcase, test_by_hand);
  tcase_add_test (tcase, test_reasons);
  tcase_add_loop_test (tcase, test_mistakes, 0, 4);
  tcase_add_test (tcase, test_the_shipped_one);
  suite_add_tcase (suite, tcase);
  return suite_run (suite);
}
