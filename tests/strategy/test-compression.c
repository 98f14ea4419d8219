/*
 * Compressed gradients by hand. A llama of 2 blocks on 4 ranks, in bf16: 8 matrices of 64 x 64, 6
 * of 128 x 64, 2 tables of 100 x 64 and 5 norms of 64, 95 040 elements in one bucket. Not asserted:
 * times.
 */
#include <check.h>

#include "small-llama.h"

#define ELEMENTS 95040

static PlanTotals
totals_of (const char *text)
{
  const Strategy      *strategy = strategy_find ("ddp");
  g_autofree gpointer  options = g_malloc0 (strategy->options_size);
  g_autoptr (Workload) workload = llama_of (2, 1, NULL, NULL);
  const PlanInput      in = { .workload = workload,
                              .mesh = { .n_ranks = 4, .ranks_per_node = 4, .world = 4 } };
  const StrategyChoice choice = { strategy, options, NULL };
  g_autoptr (DiagList) diags = diag_list_new ();
  g_autoptr (Schedule) schedule = NULL;
  PlanTotals           totals = { 0 };

  set_options (strategy, options, text);
  schedule = schedule_build (&in, &choice, diags);
  ck_assert_msg (schedule != NULL, "%s", diag_list_first_message (diags));
  schedule_totals (schedule, 0, &totals);
  option_table_clear (strategy->options, options);
  return totals;
}

/* Bytes of all collectives of KIND, which are the only ones beside OTHER's. */
static double
bytes_of (const PlanTotals *totals, CollectiveKind kind, CollectiveKind other)
{
  double sum = 0;

  for (guint i = 0; i < totals->n_traffic; i++)
    {
      ck_assert (totals->traffic[i].kind == kind || totals->traffic[i].kind == other);
      sum += totals->traffic[i].kind == kind ? totals->traffic[i].bytes : 0;
    }
  return sum;
}

static double
reduced (const char *text)
{
  const PlanTotals totals = totals_of (text);

  return bytes_of (&totals, COLLECTIVE_ALL_REDUCE, COLLECTIVE_ALL_REDUCE);
}

START_TEST (casts)
{
  ck_assert_double_eq (reduced ("compression=none"), 2 * ELEMENTS);
  ck_assert_double_eq (reduced ("compression=none,gradient_dtype=fp32"), 4 * ELEMENTS);
  ck_assert_double_eq (reduced ("compression=bf16,gradient_dtype=fp32"), 2 * ELEMENTS);
  ck_assert_double_eq (reduced ("compression=fp16"), 2 * ELEMENTS);
}
END_TEST

/* 4 bits: 47 520 B; 186 buckets of an offset and a scale of 2 B each: 744 B. */
START_TEST (codes)
{
  const PlanTotals totals = totals_of ("compression=qsgd");

  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_TO_ALL, COLLECTIVE_ALL_GATHER), 48264);
  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_GATHER, COLLECTIVE_ALL_TO_ALL), 48264);
}
END_TEST

/*
 * Rank 4: 8 x 128 + 6 x 192 + 2 x 164 rows and columns, 2 504, of 4 values each, and norms of 320
 * elements as they are. Its three products are of 94 720 elements' matrices. The errors of all
 * gradients and the factors stay.
 */
START_TEST (low_rank)
{
  const char      *text = "compression=powersgd,matrix_approximation_rank=4";
  const PlanTotals plain = totals_of ("compression=none"), totals = totals_of (text);

  ck_assert_double_eq (reduced (text), 2 * (4 * 2504 + 320));
  ck_assert_double_eq (totals.flops - plain.flops, 3 * 2 * 4 * 94720.0);
  ck_assert_double_eq (totals.states - plain.states, 2 * (ELEMENTS + 4 * 2504));
}
END_TEST

/* Rank 16: 128 x 16 x 2 is not below 64 x 64, so those matrices are sent as they are. */
START_TEST (too_small_to_compress)
{
  ck_assert_double_eq (reduced ("compression=powersgd,matrix_approximation_rank=16"),
                       2 * (16 * (6 * 192 + 2 * 164) + 8 * 4096 + 320));
  ck_assert_double_eq (
      reduced ("compression=powersgd,matrix_approximation_rank=16,min_compression_rate=1"),
      2 * (16 * 2504 + 320));
}
END_TEST

/* 1 %: 8 x 40 + 6 x 81 + 2 x 64 and one of each norm, 939; of 100 each, all 64 of a norm. */
START_TEST (largest)
{
  const PlanTotals plain = totals_of ("compression=none");
  PlanTotals       totals = totals_of ("compression=top-k");

  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_GATHER, COLLECTIVE_ALL_GATHER),
                       4 * 939 * (2 + 4));
  ck_assert_double_eq (totals.states - plain.states, 2 * ELEMENTS);
  totals = totals_of ("compression=top-k,top_k=100,use_error_feedback=false");
  ck_assert_double_eq (bytes_of (&totals, COLLECTIVE_ALL_GATHER, COLLECTIVE_ALL_GATHER),
                       4 * (1600 + 320) * (2 + 4));
  ck_assert_double_eq (totals.states, plain.states);
}
END_TEST

int
main (void)
{
  Suite   *suite = suite_create ("compression");
  TCase   *tcase = tcase_create ("all");
  SRunner *runner;
  int      failed;

  tcase_add_test (tcase, casts);
  tcase_add_test (tcase, codes);
  tcase_add_test (tcase, low_rank);
  tcase_add_test (tcase, too_small_to_compress);
  tcase_add_test (tcase, largest);
  suite_add_tcase (suite, tcase);
  runner = srunner_create (suite);
  srunner_run_all (runner, CK_ENV);
  failed = srunner_ntests_failed (runner);
  srunner_free (runner);
  return failed == 0 ? 0 : 1;
}
