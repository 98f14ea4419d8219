#include "replay/run/skew.h"

#include <math.h>

#define RANGE 12.0 /* standard deviations: the tail beyond does not count for any number of GPUs */
/* Of the trapezoidal rule, which converges geometrically for what is smooth and dies away; even. */
#define STEPS 768

static double
normal_below (double x)
{
  return 0.5 * erfc (-x / sqrt (2));
}

/* As P (x) < exp (-x^2 / 2), all of n are below x with less than exp (-NOTHING) up to there. */
#define NOTHING 80.0

/*
 * Integral of 1 - P (max <= x) over x > 0 less that of P (max <= x) over x < 0. Where all are below
 * x but for rounding, what is left adds nothing.
 */
double
skew_expected_maximum (guint n)
{
  const double h = 2 * RANGE / STEPS, first = RANGE - sqrt (2 * NOTHING / n);
  double       sum = 0, below = 0;

  g_assert (n >= 1);
  for (guint i = first > 0 ? (guint) (first / h) : 0; i <= STEPS && below < 1; i++)
    {
      below = pow (normal_below (-RANGE + h * i), n);
      sum += i < STEPS / 2 ? -below : i > STEPS / 2 ? 1 - below : 0.5 - below;
    }
  return sum * h;
}

/* Uniform in (0, 1), by splitmix64. */
static double
draw (guint64 seed)
{
  guint64 z = seed + G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);

  z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  z ^= z >> 31;
  return ((double) (z >> 11) + 0.5) / 9007199254740992.0;
}

/* The largest of n is below x with probability P (x)^n: the x where that is a uniform deviate. */
double
skew_sampled_maximum (guint n, guint64 seed)
{
  double target = draw (seed), low = -RANGE, high = RANGE;

  g_assert (n >= 1);
  for (guint i = 0; i < 60; i++)
    {
      double middle = (low + high) / 2;

      if (pow (normal_below (middle), n) < target)
        low = middle;
      else
        high = middle;
    }
  return low;
}

double
skew_factor (const Cluster *cluster, const ReplayConfig *config, const GpuProfile *gpu)
{
  guint  n = cluster_n_gpus (cluster), node = cluster_gpus_of_node (cluster, 0);
  double largest, factor;

  if (config->skew == SKEW_OFF || !(gpu->jitter.value > 0) || n <= node)
    return 1;
  largest = config->skew == SKEW_SAMPLED ? skew_sampled_maximum (n, (guint64) config->seed)
                                         : skew_expected_maximum (n);
  factor = 1 + gpu->jitter.value * (largest - skew_expected_maximum (node));
  return MAX (1, factor);
}
