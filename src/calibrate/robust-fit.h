/*
 * Robust fits of measured times, which hold where up to a quarter of the measurements are off, and
 * refuse where more are.
 *
 * A transfer of x bytes takes t = latency + x / bandwidth. Of all lines through two of the
 * measurements, or one and an axis, the one is taken that has the least sum of |log ((latency + x /
 * bandwidth) / t)|: relative errors, because sizes span decades and the small ones know the
 * latency, logarithms, because a time that is too short must weigh no more than one that is too
 * long, and each at most log ROBUST_MAX_REPEAT, because how far a hiccup is off says nothing.
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
 * The line through N points. UNIT is the unit of x in messages ("bytes"). Repeated measurements of
 * one size count as their median. A line is refused for
 *
 *   - too little data: fewer than ROBUST_MIN_SIZES unlike sizes, or none beyond `half`, so that the
 *     rate is not seen;
 *   - contradiction: no two thirds of the measurements of one size are within a factor of
 *     ROBUST_MAX_REPEAT of each other (of two, they are not), the median residual is above
 *     ROBUST_MAX_RESIDUAL, or more than a quarter of the points are outliers.
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
 * The median of N values (above 0) of one thing; contradictory where no two thirds of them are
 * within a factor of ROBUST_MAX_REPEAT of each other.
 */
MedianFit median_fit (const double *values, guint n);

/*
 * The least ratio of largest to smallest among any two thirds of N > 0 values above 0, in ascending
 * order.
 */
double robust_agreement (const double *sorted, guint n);

/* TRUE where FITTED and MEASURED, both above 0, differ by more than ROBUST_MAX_REPEAT. */
gboolean robust_is_outlier (double fitted, double measured);
