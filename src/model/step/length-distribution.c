#include "model/step/length-distribution.h"

#include <math.h>
#include <string.h>

/*
 * Bins of documents: tokens up to which each reaches, from where the one before ends; a k of the
 * source is taken as 1000.
 */
static const struct
{
  double most, percent;
} bins[] = {
  { 10, 0.22 },    { 50, 2.91 },    { 100, 5.20 },    { 200, 10.23 },   { 500, 28.19 },
  { 1000, 24.64 }, { 2000, 15.65 }, { 4000, 7.34 },   { 8000, 3.05 },   { 16000, 1.29 },
  { 32000, 0.85 }, { 64000, 0.14 }, { 128000, 0.17 }, { 192000, 0.14 },
};

#define PROLONG_LENGTH 65536
#define PROLONG_SHARE  0.6                /* of its tokens that are in sequences of that length */
#define NORMAL_P99     2.3263478740408408 /* the 99th percentile of the normal distribution */

static const char *const names[LENGTHS_N] = { "magi", "prolong-64k", "log-normal" };

LengthDraw
length_distribution_of_mean (double mean, double spread)
{
  const double variance = log1p (spread * spread); /* of the logarithm */
  const double median = mean * exp (-variance / 2);

  return (LengthDraw){ .distribution = LENGTHS_LOG_NORMAL,
                       .median = median,
                       .tail = median * exp (NORMAL_P99 * sqrt (variance)) };
}

LengthDistribution
length_distribution_find (const char *name)
{
  guint i = 0;

  while (i < LENGTHS_N && strcmp (name, names[i]) != 0)
    i++;
  return (LengthDistribution) i;
}

/* Of documents, which are spread evenly inside a bin. */
static double
bin_quantile (double u)
{
  double all = 0, least = 0, left;
  guint  i = 0;

  for (guint b = 0; b < G_N_ELEMENTS (bins); b++)
    all += bins[b].percent;
  for (left = u * all; i + 1 < G_N_ELEMENTS (bins) && left > bins[i].percent; i++)
    {
      left -= bins[i].percent;
      least = bins[i].most;
    }
  return fmin (least + (bins[i].most - least) * left / bins[i].percent, bins[i].most);
}

/* Mean length of a document that is cut at MOST. */
static double
bin_mean (double most)
{
  double least = 0, sum = 0, all = 0;

  for (guint i = 0; i < G_N_ELEMENTS (bins); i++)
    {
      const double top = bins[i].most, width = top - least;
      const double inside = fmax (fmin (most, top) - least, 0) / width;

      sum +=
          bins[i].percent * (inside * (least + inside * width / 2) + (1 - inside) * fmax (most, 0));
      all += bins[i].percent;
      least = top;
    }
  return sum / all;
}

/* Shares of tokens become shares of sequences. */
static double
prolong_quantile (double u)
{
  const double whole = PROLONG_SHARE / PROLONG_LENGTH;
  const double rest = (1 - PROLONG_SHARE) / bin_mean (PROLONG_LENGTH);
  const double cut = rest / (whole + rest);

  return u < cut ? fmin (bin_quantile (u / cut), PROLONG_LENGTH) : PROLONG_LENGTH;
}

/* Halves an interval that holds all that 53 bits tell from 0 and 1. */
static double
normal_quantile (double u)
{
  double low = -40, high = 40;

  for (guint i = 0; i < 64; i++)
    {
      double middle = (low + high) / 2;

      if (erfc (-middle / G_SQRT2) / 2 < u)
        low = middle;
      else
        high = middle;
    }
  return (low + high) / 2;
}

double
length_distribution_quantile (const LengthDraw *self, double u)
{
  switch (self->distribution)
    {
    case LENGTHS_MAGI:
      return bin_quantile (u);
    case LENGTHS_PROLONG:
      return prolong_quantile (u);
    case LENGTHS_LOG_NORMAL:
      return self->median
             * exp (log (self->tail / self->median) / NORMAL_P99 * normal_quantile (u));
    case LENGTHS_N:
      break;
    }
  g_assert_not_reached ();
}

GArray *
length_distribution_draw (const LengthDraw *self, guint64 n, gint64 unit, gint64 longest)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (self->seed);
  GArray           *lengths = g_array_sized_new (FALSE, FALSE, sizeof (gint64), (guint) n);

  for (guint64 i = 0; i < n; i++)
    {
      double length = length_distribution_quantile (self, g_rand_double (rand));
      gint64 units = (gint64) fmax (ceil (fmin (length, (double) longest) / (double) unit), 1);
      gint64 whole = MIN (units * unit, longest);

      g_array_append_val (lengths, whole);
    }
  return lengths;
}
