/* What a share of many draws stays below. */
#pragma once

#include <glib.h>

typedef struct
{
  double p10, p50, p90;
} QuantileBand;

/* Quantile Q of N > 0 SORTED values: at place (N - 1) Q, linear between its neighbours. */
static inline double
quantile_of_sorted (const double *sorted, guint n, double q)
{
  const double place = (n - 1) * q;
  const guint  below = (guint) place, above = MIN (below + 1, n - 1);

  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}
