#include "calibrate/robust-fit.h"

#include <math.h>
#include <stdlib.h>

#include "evidence/tables/statistics.h"

#define MAX_SIZES 256 /* trying all pairs takes their number cubed */

static int
compare_numbers (const void *a, const void *b)
{
  const double x = *(const double *) a, y = *(const double *) b;

  return (x > y) - (x < y);
}

static int
compare_points (const void *a, const void *b)
{
  const FitPoint *p = a, *q = b;

  return p->x != q->x ? (p->x > q->x) - (p->x < q->x) : (p->y > q->y) - (p->y < q->y);
}

/* Median and 90th percentile of N numbers, which are sorted. */
static void
summarise (double *numbers, guint n, double *median, double *p90)
{
  qsort (numbers, n, sizeof *numbers, compare_numbers);
  *median = statistics_quantile (numbers, n, 0.5);
  *p90 = statistics_quantile (numbers, n, 0.9);
}

/*
 * One outlier of three, and three of ten, leave it alone; of two that differ nobody knows which is
 * right.
 */
double
robust_agreement (const double *sorted, guint n)
{
  guint  most = (2 * n + 2) / 3;
  double ratio = INFINITY;

  for (guint i = 0; i + most <= n; i++)
    ratio = MIN (ratio, sorted[i + most - 1] / sorted[i]);
  return ratio;
}

gboolean
robust_is_outlier (double fitted, double measured)
{
  return fitted > ROBUST_MAX_REPEAT * measured || measured > ROBUST_MAX_REPEAT * fitted;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/*
 * One point a size, its median, from sorted ones. *WORST: the size whose measurements agree least,
 * *RATIO: how far they do.
 */
static GArray *
merge_sizes (const FitPoint *sorted, guint n, double *worst, double *ratio)
{
  GArray *merged = g_array_new (FALSE, FALSE, sizeof (FitPoint));

  *ratio = 1;
  *worst = 0;
  for (guint first = 0, end; first < n; first = end)
    {
      g_autofree double *times = NULL;
      FitPoint           point = { .x = sorted[first].x };

      for (end = first + 1; end < n && sorted[end].x == point.x; end++)
        continue;
      times = g_new (double, end - first);
      for (guint i = first; i < end; i++)
        times[i - first] = sorted[i].y;
      point.y = statistics_quantile (times, end - first, 0.5);
      g_array_append_val (merged, point);
      if (robust_agreement (times, end - first) <= *ratio)
        continue;
      *ratio = robust_agreement (times, end - first);
      *worst = point.x;
    }
  return merged;
}

/* Leaves at most MAX_SIZES points, evenly over their order. */
static void
thin_out (GArray *points)
{
  FitPoint *p = (FitPoint *) points->data;
  guint     n = points->len;

  if (n <= MAX_SIZES)
    return;
  for (guint i = 0; i < MAX_SIZES; i++)
    p[i] = p[(gsize) i * (n - 1) / (MAX_SIZES - 1)];
  g_array_set_size (points, MAX_SIZES);
}

/* Sum of |log ((A + B x) / y)|, each at most that of an outlier. */
static double
deviation (const GArray *points, double a, double b)
{
  double sum = 0;

  for (guint i = 0; i < points->len; i++)
    {
      const FitPoint *p = &g_array_index (points, FitPoint, i);

      sum += MIN (fabs (log ((a + b * p->x) / p->y)), log (ROBUST_MAX_REPEAT));
    }
  return sum;
}

typedef struct
{
  double a, b, deviation;
} Line;

static void
try_line (const GArray *points, double a, double b, Line *best)
{
  double sum;

  if (a < 0 || b < 0 || !isfinite (a) || !isfinite (b))
    return;
  sum = deviation (points, a, b);
  if (sum < best->deviation)
    *best = (Line){ a, b, sum };
}

static Line
best_line (const GArray *points)
{
  Line best = { 0, 0, INFINITY };

  for (guint i = 0; i < points->len; i++)
    {
      const FitPoint *p = &g_array_index (points, FitPoint, i);

      try_line (points, p->y, 0, &best);
      try_line (points, 0, p->y / p->x, &best);
      for (guint j = i + 1; j < points->len; j++)
        {
          const FitPoint *q = &g_array_index (points, FitPoint, j);
          double          b = (q->y - p->y) / (q->x - p->x);

          try_line (points, p->y - b * p->x, b, &best);
        }
    }
  return best;
}

static void
fill_residuals (LineFit *self, const Line *line, const FitPoint *points, guint n)
{
  g_autofree double *errors = g_new (double, n);

  for (guint i = 0; i < n; i++)
    {
      double fitted = line->a + line->b * points[i].x;

      errors[i] = fabs (fitted / points[i].y - 1);
      self->n_outliers += robust_is_outlier (fitted, points[i].y);
    }
  summarise (errors, n, &self->residual_median, &self->residual_p90);
}

static void
refuse (FitVerdict *verdict, char **why, FitVerdict what, char *text)
{
  *verdict = what;
  *why = text;
}

static void
judge_line (LineFit *self, double largest, const char *unit)
{
  if (self->residual_median > ROBUST_MAX_RESIDUAL)
    refuse (
        &self->verdict, &self->why, FIT_CONTRADICTORY,
        g_strdup_printf (
            "no line: half of the measurements are off it by more than %.0f %% (at most %.0f %%)",
            self->residual_median * 100, ROBUST_MAX_RESIDUAL * 100));
  else if (self->n_outliers * 4 > self->n)
    refuse (&self->verdict, &self->why, FIT_CONTRADICTORY,
            g_strdup_printf ("%u of %u measurements are off the line by more than a factor of %g",
                             self->n_outliers, self->n, ROBUST_MAX_REPEAT));
  else if (self->rate == 0 || largest <= self->half)
    refuse (&self->verdict, &self->why, FIT_TOO_LITTLE,
            g_strdup_printf ("too little data: the largest size, %.0f %s, is still mostly latency",
                             largest, unit));
}

LineFit
line_fit (const FitPoint *points, guint n, const char *unit)
{
  LineFit              self = { .n = n };
  g_autofree FitPoint *sorted = g_memdup2 (points, n * sizeof *points);
  g_autoptr (GArray)   sizes = NULL;
  double               worst = 0, ratio = 1;
  Line                 line;

  if (n > 0)
    qsort (sorted, n, sizeof *sorted, compare_points);
  sizes = merge_sizes (sorted, n, &worst, &ratio);
  if (ratio > ROBUST_MAX_REPEAT)
    {
      refuse (&self.verdict, &self.why, FIT_CONTRADICTORY,
              g_strdup_printf ("measurements of %.0f %s differ by a factor of %.2f (at most %g)",
                               worst, unit, ratio, ROBUST_MAX_REPEAT));
      return self;
    }
  if (sizes->len < ROBUST_MIN_SIZES)
    {
      refuse (&self.verdict, &self.why, FIT_TOO_LITTLE,
              g_strdup_printf ("too little data: %u sizes, at least %d are needed", sizes->len,
                               ROBUST_MIN_SIZES));
      return self;
    }
  thin_out (sizes);
  line = best_line (sizes);
  self.latency = line.a;
  self.rate = line.b > 0 ? 1 / line.b : 0;
  self.half = self.latency * self.rate;
  fill_residuals (&self, &line, sorted, n);
  judge_line (&self, sorted[n - 1].x, unit);
  return self;
}

/* ---- medians --------------------------------------------------------------------------------- */

MedianFit
median_fit (const double *values, guint n)
{
  MedianFit          self = { .n = n };
  g_autofree double *sorted = g_memdup2 (values, n * sizeof *values);
  double             ratio;

  if (n == 0)
    {
      refuse (&self.verdict, &self.why, FIT_TOO_LITTLE, g_strdup ("not measured"));
      return self;
    }
  qsort (sorted, n, sizeof *sorted, compare_numbers);
  ratio = robust_agreement (sorted, n);
  self.median = statistics_quantile (sorted, n, 0.5);
  for (guint i = 0; i < n; i++)
    sorted[i] = fabs (self.median / sorted[i] - 1);
  summarise (sorted, n, &self.residual_median, &self.residual_p90);
  if (ratio > ROBUST_MAX_REPEAT)
    refuse (
        &self.verdict, &self.why, FIT_CONTRADICTORY,
        g_strdup_printf ("measurements of the same thing differ by a factor of %.2f (at most %g)",
                         ratio, ROBUST_MAX_REPEAT));
  return self;
}
