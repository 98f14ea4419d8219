/* Rows of the results, and what is fitted to them: what the rules are made of. */
#include <math.h>
#include <string.h>

#include "calibrate/profile.h"

#define LARGE_TIMES \
  8 /* sizes of this many times a line's half-bandwidth size tell the spread of its rate */

/* ---- rows ------------------------------------------------------------------------------------ */

/* TRUE when TEXT is one of the words of LIST, which are separated by '|'. */
static gboolean
is_listed (const char *list, const char *text)
{
  g_auto (GStrv) words = g_strsplit (list, "|", -1);

  return g_strv_contains ((const char *const *) words, text);
}

GPtrArray *
calibration_rows (const Calibration *self, const char *benchmark, const char *variant,
                  const char *dtype, guint ranks)
{
  GPtrArray *rows = g_ptr_array_new ();

  for (guint i = 0; i < self->results->rows->len; i++)
    {
      BenchRow *row = &g_array_index (self->results->rows, BenchRow, i);

      if (!is_listed (benchmark, row->benchmark) || !is_listed (variant, row->variant)
          || (dtype != NULL && !is_listed (dtype, row->dtype))
          || (ranks > 0 && row->ranks != ranks))
        continue;
      g_ptr_array_add (rows, row);
      g_hash_table_add (self->used, row);
    }
  return rows;
}

/* ---- fits ------------------------------------------------------------------------------------ */

void
calibration_refuse (FittedValue *out, FitVerdict verdict, char *why)
{
  g_free (out->why);
  out->verdict = verdict;
  out->why = why;
}

LineFit
calibration_line (const GPtrArray *rows, double factor, FittedValue *out)
{
  g_autofree FitPoint *points = g_new (FitPoint, rows->len + 1);
  LineFit              line;
  guint                n = 0;

  for (guint i = 0; i < rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);

      if (row->bytes > 0 && row->value > 0)
        points[n++] = (FitPoint){ factor * (double) row->bytes, row->value };
    }
  line = line_fit (points, n, "bytes");
  if (n == 0)
    calibration_refuse (out, FIT_TOO_LITTLE, g_strdup ("not measured"));
  else if (out->verdict == FIT_GOOD && line.verdict != FIT_GOOD)
    calibration_refuse (out, line.verdict, g_strdup (line.why));
  g_clear_pointer (&line.why, g_free);
  out->n += line.n;
  if (line.verdict == FIT_TOO_LITTLE)
    return line;
  out->residual_median = fmax (out->residual_median, line.residual_median);
  out->residual_p90 = fmax (out->residual_p90, line.residual_p90);
  return line;
}

void
calibration_median (const GPtrArray *rows, FittedValue *out)
{
  g_autofree double *values = g_new (double, rows->len + 1);
  MedianFit          fit;
  double             low = INFINITY, high = 0;

  for (guint i = 0; i < rows->len; i++)
    values[i] = ((const BenchRow *) g_ptr_array_index (rows, i))->value;
  fit = median_fit (values, rows->len);
  out->n = fit.n;
  if (fit.verdict != FIT_GOOD)
    {
      calibration_refuse (out, fit.verdict, fit.why);
      return;
    }
  for (guint i = 0; i < rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);

      if (robust_is_outlier (fit.median, row->value))
        continue;
      low = MIN (low, row->low);
      high = MAX (high, row->high);
    }
  out->after = fit.median;
  out->low = low;
  out->high = high;
  if (fit.n < 2)
    return;
  out->residual_median = fit.residual_median;
  out->residual_p90 = fit.residual_p90;
}

gboolean
calibration_rate_spread (const GPtrArray *rows, double factor, const LineFit *line, double *low,
                         double *high)
{
  double from = LARGE_TIMES * line->half;

  *low = INFINITY;
  *high = 0;
  for (guint i = 0; i < rows->len; i++)
    {
      const BenchRow *row = g_ptr_array_index (rows, i);
      double          bytes = factor * (double) row->bytes;

      if (bytes < from || row->low <= line->latency
          || robust_is_outlier (line->latency + bytes / line->rate, row->value))
        continue;
      *low = MIN (*low, bytes / (row->high - line->latency));
      *high = MAX (*high, bytes / (row->low - line->latency));
    }
  return *high > 0;
}
