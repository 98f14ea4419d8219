/*
 * Robust fits against lines and medians whose figures are known, by hand: with outliers, too little
 * and contradictory data.
 */
#include <check.h>
#include <math.h>

#include "../suite.h"
#include "calibrate/robust-fit.h"

/* t = 3 + x at 1, 2, 4, 8 and 16, but for 4, which takes 21 instead of 7: off by 1/3 - 1 = -2/3. */
static const FitPoint bent[] = { { 16, 19 }, { 1, 4 }, { 8, 11 }, { 2, 5 }, { 4, 21 } };

/*
 * The outlier is met by nobody; p90 is 0.6 of the way from the fourth residual, 0, to the fifth:
 * 0.4.
 */
START_TEST (test_outlier)
{
  LineFit fit = line_fit (bent, 5, "bytes");

  ck_assert_int_eq (fit.verdict, FIT_GOOD);
  ck_assert_ptr_null (fit.why);
  ck_assert_double_eq_tol (fit.latency, 3, 1e-12);
  ck_assert_double_eq_tol (fit.rate, 1, 1e-12);
  ck_assert_double_eq_tol (fit.half, 3, 1e-12);
  ck_assert_uint_eq (fit.n, 5);
  ck_assert_uint_eq (fit.n_outliers, 1);
  ck_assert_double_eq_tol (fit.residual_median, 0, 1e-12);
  ck_assert_double_eq_tol (fit.residual_p90, 0.6 * 2 / 3, 1e-12);
}
END_TEST

/*
 * 2 us and 50 GB/s from 4 KiB to 1 GiB: half-way at 100 000 bytes. A hiccup of a large copy and one
 * of a small one.
 */
START_TEST (test_decades)
{
  FitPoint points[10];
  LineFit  fit;

  for (guint i = 0; i < 10; i++)
    {
      points[i].x = 4096.0 * (double) (1 << (2 * i));
      points[i].y = 2e-6 + points[i].x / 50e9;
    }
  points[2].y *= 5;
  points[8].y *= 1.5;
  fit = line_fit (points, 10, "bytes");
  ck_assert_int_eq (fit.verdict, FIT_GOOD);
  ck_assert_double_eq_tol (fit.latency, 2e-6, 1e-15);
  ck_assert_double_eq_tol (fit.rate / 50e9, 1, 1e-9);
  ck_assert_double_eq_tol (fit.half / 1e5, 1, 1e-9);
  ck_assert_uint_eq (fit.n_outliers, 1);
}
END_TEST

/*
 * t = 3 + x at ten sizes, but for two that take a third of it: too short weighs no more than too
 * long.
 */
START_TEST (test_too_short)
{
  FitPoint points[10];
  LineFit  fit;

  for (guint i = 0; i < 10; i++)
    points[i] = (FitPoint){ 1 << i, 3 + (1 << i) };
  points[1].y /= 3;
  points[2].y /= 3;
  fit = line_fit (points, 10, "bytes");
  ck_assert_int_eq (fit.verdict, FIT_GOOD);
  ck_assert_double_eq_tol (fit.latency, 3, 1e-12);
  ck_assert_double_eq_tol (fit.rate, 1, 1e-12);
  ck_assert_uint_eq (fit.n_outliers, 2);
}
END_TEST

/* Fitted times never fall with the size, nor start below 0, where the data would have it. */
START_TEST (test_signs)
{
  const FitPoint steep[] = { { 1, 1 }, { 2, 2.1 }, { 3, 3.3 }, { 4, 4.6 } };
  LineFit        fit = line_fit (steep, 4, "bytes");

  ck_assert_int_eq (fit.verdict, FIT_GOOD);
  ck_assert_double_eq (fit.latency, 0);
  ck_assert_double_ge (fit.rate, 4 / 4.6);
  ck_assert_double_le (fit.rate, 1);
}
END_TEST

static void
expect_line (const FitPoint *points, guint n, FitVerdict verdict, const char *why)
{
  LineFit fit = line_fit (points, n, "bytes");

  ck_assert_int_eq (fit.verdict, verdict);
  ck_assert_str_eq (fit.why, why);
  g_free (fit.why);
}

START_TEST (test_lines_refused)
{
  const FitPoint twice[] = { { 1, 4 }, { 2, 5 }, { 4, 7 }, { 8, 11 }, { 4, 15 }, { 2, 5 } };
  const FitPoint flat[] = { { 1, 5 }, { 2, 5 }, { 4, 5 }, { 8, 5 } };
  const FitPoint early[] = { { 1, 101 }, { 2, 102 }, { 3, 103 }, { 4, 104 } };
  /* best is t = 1: off by 0 or 8/9, so the median is 4/9 */
  const FitPoint wild[] = { { 1, 1 }, { 2, 9 }, { 3, 1 }, { 4, 9 }, { 5, 1 }, { 6, 9 } };
  /* t = 3 + x for five of eight, three times that for the rest */
  const FitPoint torn[] = { { 1, 4 },   { 2, 5 },    { 4, 7 },    { 8, 11 },
                            { 16, 19 }, { 32, 105 }, { 64, 201 }, { 128, 393 } };

  expect_line (NULL, 0, FIT_TOO_LITTLE, "too little data: 0 sizes, at least 4 are needed");
  expect_line (bent, 3, FIT_TOO_LITTLE, "too little data: 3 sizes, at least 4 are needed");
  expect_line (twice, 6, FIT_CONTRADICTORY,
               "measurements of 4 bytes differ by a factor of 2.14 (at most 2)");
  expect_line (flat, 4, FIT_TOO_LITTLE,
               "too little data: the largest size, 8 bytes, is still mostly latency");
  expect_line (early, 4, FIT_TOO_LITTLE,
               "too little data: the largest size, 4 bytes, is still mostly latency");
  expect_line (wild, 6, FIT_CONTRADICTORY,
               "no line: half of the measurements are off it by more than 44 % (at most 20 %)");
  expect_line (torn, 8, FIT_CONTRADICTORY,
               "3 of 8 measurements are off the line by more than a factor of 2");
}
END_TEST

/* Measurements of one size count as one: three of the smallest do not outvote the rest. */
START_TEST (test_repeats)
{
  const FitPoint points[] = { { 1, 4 },   { 1, 4.4 },  { 1, 7 },    { 2, 5.4 },
                              { 4, 7.4 }, { 8, 11.4 }, { 16, 19.4 } };
  LineFit        fit = line_fit (points, 7, "bytes");

  ck_assert_int_eq (fit.verdict, FIT_GOOD);
  ck_assert_double_eq_tol (fit.latency, 3.4, 1e-12);
  ck_assert_double_eq_tol (fit.rate, 1, 1e-12);
}
END_TEST

/* More sizes than pairs are tried of: every n-th is looked at, and the first and the last. */
START_TEST (test_many_sizes)
{
  static FitPoint points[3000];
  LineFit         fit;

  for (guint i = 0; i < G_N_ELEMENTS (points); i++)
    points[i] = (FitPoint){ i + 1, 50 + 0.5 * (i + 1) };
  fit = line_fit (points, G_N_ELEMENTS (points), "bytes");
  ck_assert_int_eq (fit.verdict, FIT_GOOD);
  ck_assert_double_eq_tol (fit.latency, 50, 1e-9);
  ck_assert_double_eq_tol (fit.rate, 2, 1e-9);
}
END_TEST

/* Of 4, 5 and 8 the median is 5: off by 1/4, 0 and 3/8; p90 is 0.8 of the way from 1/4 to 3/8. */
START_TEST (test_median)
{
  const double values[] = { 8, 4, 5 }, unlike[] = { 4, 9, 20 };
  MedianFit fit = median_fit (values, 3), none = median_fit (NULL, 0), bad = median_fit (unlike, 3);

  ck_assert_int_eq (fit.verdict, FIT_GOOD);
  ck_assert_double_eq (fit.median, 5);
  ck_assert_double_eq_tol (fit.residual_median, 0.25, 1e-12);
  ck_assert_double_eq_tol (fit.residual_p90, 0.25 + 0.8 * 0.125, 1e-12);
  ck_assert_int_eq (none.verdict, FIT_TOO_LITTLE);
  ck_assert_str_eq (none.why, "not measured");
  ck_assert_int_eq (bad.verdict, FIT_CONTRADICTORY);
  ck_assert_str_eq (bad.why,
                    "measurements of the same thing differ by a factor of 2.22 (at most 2)");
  g_free (none.why);
  g_free (bad.why);
}
END_TEST

/* Two thirds of three are two, of four three: 8 / 4, 12 / 5. */
START_TEST (test_agreement)
{
  const double values[] = { 4, 5, 8, 12 };

  ck_assert_double_eq (robust_agreement (values, 1), 1);
  ck_assert_double_eq (robust_agreement (values, 2), 1.25);
  ck_assert_double_eq (robust_agreement (values, 3), 1.25);
  ck_assert_double_eq (robust_agreement (values, 4), 2);
  ck_assert (robust_is_outlier (1, 2.1) && robust_is_outlier (2.1, 1));
  ck_assert (!robust_is_outlier (1, 2) && !robust_is_outlier (2, 1));
}
END_TEST

/* Of eleven values a third may be anything. */
START_TEST (test_median_outliers)
{
  const double values[] = { 0.01, 10, 10, 10, 11, 11, 11, 12, 12, 50, 900 };
  MedianFit    fit = median_fit (values, 11);

  ck_assert_int_eq (fit.verdict, FIT_GOOD);
  ck_assert_double_eq (fit.median, 11);
}
END_TEST

SUITE_MAIN (robust_fit)
{
  Suite *suite = suite_create ("robust-fit");
  TCase *tcase = tcase_create ("all");

  suite_add_tcase (suite, tcase);
  tcase_add_test (tcase, test_outlier);
  tcase_add_test (tcase, test_decades);
  tcase_add_test (tcase, test_too_short);
  tcase_add_test (tcase, test_signs);
  tcase_add_test (tcase, test_lines_refused);
  tcase_add_test (tcase, test_repeats);
  tcase_add_test (tcase, test_many_sizes);
  tcase_add_test (tcase, test_median);
  tcase_add_test (tcase, test_agreement);
  tcase_add_test (tcase, test_median_outliers);
  return suite_run (suite);
}
