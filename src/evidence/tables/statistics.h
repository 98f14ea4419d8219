/* Statistics of relative errors. */
#pragma once

#include <glib.h>

/*
 * Quantile Q (0 to 1) of N > 0 values in ascending order: linear interpolation between the two
 * neighbours of place (N - 1) Q, counted from 0 (Hyndman and Fan's type 7). The median of an even
 * number is the mean of the middle two.
 */
double statistics_quantile (const double *sorted, guint n, double q);

typedef struct
{
  guint  n;              /* 0: everything else is 0 */
  double median_abs;     /* median of |error| */
  double p90_abs;        /* 90th percentile of |error| */
  double geometric_mean; /* of predicted / measured */
  double median, mean;   /* of the signed error */
} ErrorStatistics;

/* Of N errors (predicted / measured - 1, above -1), in any order. */
ErrorStatistics statistics_of_errors (const double *errors, guint n);

/*
 * How Y grows with X by Theil and Sen: the median of the slopes of all pairs that X tells apart. A
 * few outliers do not move it. NAN where X tells none apart.
 */
double statistics_slope (const double *x, const double *y, guint n);

/*
 * Kendall's tau-b of N pairs: (concordant - discordant) / sqrt ((pairs - ties in X) (pairs - ties
 * in Y)). NAN where all X or all Y are equal, or N < 2.
 */
double statistics_kendall_tau_b (const double *x, const double *y, guint n);
