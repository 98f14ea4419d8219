#include "evidence/tables/statistics.h"

#include "base/compare.h"
#include "base/quantile.h"

#include <math.h>
#include <stdlib.h>

double
statistics_quantile (const double *sorted, guint n, double q)
{
  g_assert (n > 0 && q >= 0 && q <= 1);
  return quantile_of_sorted (sorted, n, q);
}

ErrorStatistics
statistics_of_errors (const double *errors, guint n)
{
  g_autofree double *sorted = g_memdup2 (errors, n * sizeof *errors);
  ErrorStatistics    self = { .n = n };
  double             logs = 0;

  if (n == 0)
    return self;
  qsort (sorted, n, sizeof *sorted, compare_doubles);
  self.median = statistics_quantile (sorted, n, 0.5);
  for (guint i = 0; i < n; i++)
    {
      logs += log1p (errors[i]);
      self.mean += errors[i] / n;
      sorted[i] = fabs (errors[i]);
    }
  self.geometric_mean = exp (logs / n);
  qsort (sorted, n, sizeof *sorted, compare_doubles);
  self.median_abs = statistics_quantile (sorted, n, 0.5);
  self.p90_abs = statistics_quantile (sorted, n, 0.9);
  return self;
}

double
statistics_slope (const double *x, const double *y, guint n)
{
  g_autofree double *slopes = g_new (double, MAX (n, 1) * (gsize) n / 2 + 1);
  guint              n_slopes = 0;

  for (guint i = 0; i < n; i++)
    for (guint j = i + 1; j < n; j++)
      if (x[i] != x[j])
        slopes[n_slopes++] = (y[j] - y[i]) / (x[j] - x[i]);
  if (n_slopes == 0)
    return NAN;
  qsort (slopes, n_slopes, sizeof *slopes, compare_doubles);
  return statistics_quantile (slopes, n_slopes, 0.5);
}

double
statistics_kendall_tau_b (const double *x, const double *y, guint n)
{
  double agree = 0, pairs_x = 0, pairs_y = 0; /* pairs that X, that Y tells apart */

  for (guint i = 0; i < n; i++)
    for (guint j = i + 1; j < n; j++)
      {
        int in_x = (x[i] > x[j]) - (x[i] < x[j]), in_y = (y[i] > y[j]) - (y[i] < y[j]);

        agree += in_x * in_y;
        pairs_x += in_x != 0;
        pairs_y += in_y != 0;
      }
  return pairs_x > 0 && pairs_y > 0 ? agree / sqrt (pairs_x * pairs_y) : NAN;
}
