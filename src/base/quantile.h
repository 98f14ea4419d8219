/* Quantiles of values that are in order. */
#pragma once

#include <glib.h>

/*
 * Quantile Q (0 to 1) of N > 0 SORTED values: at place (N - 1) Q, linear between its neighbours
 * (Hyndman and Fan's type 7).
 */
static inline double
quantile_of_sorted (const double *sorted, guint n, double q)
{
  const double place = (n - 1) * q;
  const guint  below = (guint) place, above = MIN (below + 1, n - 1);

  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}
