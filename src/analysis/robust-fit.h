/*
 * Robust fits of measured times, which hold where less than half of the measurements are off.
 *
 * A transfer of x bytes takes t = latency + x / bandwidth. The two figures minimise the sum of |(latency + x / bandwidth) / t - 1|: relative errors,
 * because sizes span decades and the small ones know the latency, and absolute values, because a hiccup must not bend the line (least absolute
 * deviations; the minimum is where two of the measurements, or one and an axis, are met exactly, so it is found by trying them).
 */
#pragma once

#include <glib.h>

#define ROBUST_MIN_SIZES    4   /* unlike sizes that a line wants */
#define ROBUST_MAX_REPEAT   2.0 /* ratio of measurements of the same thing that still agree */
#define ROBUST_MAX_RESIDUAL 0.2 /* median relative error of a line that is none */

/* Measured more than once where X repeats. */
typedef struct
{
  double x; /* what the time depends on: bytes; above 0 */
  double y; /* s; above 0 */
} FitPoint;

typedef enum
{
  FIT_GOOD,
  FIT_TOO_LITTLE,    /* data */
  FIT_CONTRADICTORY, /* the same thing measured unlike, or no line at all */
} FitVerdict;

typedef struct
{
  FitVerdict verdict;
  char      *why;             /* of a verdict that is not good, else NULL; the caller's */
  guint      n;               /* points */
  double     latency;         /* s, not negative */
  double     rate;            /* units of x per s; 0: no term in x was found (not FIT_GOOD) */
  double     half;            /* units of x that take twice the latency: latency times rate */
  double     residual_median; /* of |fitted / measured - 1| over all points */
  double     residual_p90;
  guint      n_outliers; /* points off by more than ROBUST_MAX_REPEAT */
} LineFit;

/*
 * The line through N points. UNIT is the unit of x in messages ("bytes"). Repeated measurements of one size count as their median. A line is
 * refused for
 *
 *   too little data: fewer than ROBUST_MIN_SIZES unlike sizes, or none beyond `half`, so that the rate is not seen;
 *   contradiction: measurements of one size differ by more than ROBUST_MAX_REPEAT (the largest over the smallest), the median residual is
 *   above ROBUST_MAX_RESIDUAL, or a quarter of the points are outliers.
 */
LineFit line_fit (const FitPoint *points, guint n, const char *unit);

typedef struct
{
  FitVerdict verdict;
  char      *why; /* as of a line */
  guint      n;
  double     median;
  double     residual_median, residual_p90; /* of |median / value - 1| */
} MedianFit;

/*
 * The median of N values (above 0) of one thing; contradictory where the middle eight in ten differ by more than ROBUST_MAX_REPEAT (of fewer than ten
 * values: all).
 */
MedianFit median_fit (const double *values, guint n);
