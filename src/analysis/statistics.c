#include "analysis/statistics.h"

#include <math.h>
#include <stdlib.h>

double
statistics_quantile (const double *sorted, guint n, double q)
{
  double place = (n - 1) * q;
  guint  below = (guint) place;
  guint  above = MIN (below + 1, n - 1);

  g_assert (n > 0 && q >= 0 && q <= 1);
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

static gint
compare_doubles (gconstpointer a, gconstpointer b)
{
  double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
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
      sorted[i] = fabs (errors[i]);
    }
  self.geometric_mean = exp (logs / n);
  qsort (sorted, n, sizeof *sorted, compare_doubles);
  self.median_abs = statistics_quantile (sorted, n, 0.5);
  self.p90_abs = statistics_quantile (sorted, n, 0.9);
  return self;
}
