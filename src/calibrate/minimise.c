#include "calibrate/minimise.h"

#include <math.h>

#define GOLDEN 0.6180339887498949

typedef struct
{
  double               *x;
  const MinimiseRange  *ranges;
  const MinimiseEffort *effort;
  MinimiseCost          cost;
  gpointer              user;
  double                best; /* cost of x */
} Search;

/* Places of a variable: 0 is its lower end, 1 its upper. */
static double
value_at (const MinimiseRange *range, double place)
{
  if (place <= 0 || place >= 1)
    return place <= 0 ? range->lower : range->upper;
  if (range->logarithmic)
    return range->lower * pow (range->upper / range->lower, place);
  return range->lower + place * (range->upper - range->lower);
}

static double
place_of (const MinimiseRange *range, double value)
{
  if (range->logarithmic)
    return value > 0 ? log (value / range->lower) / log (range->upper / range->lower) : -1;
  return (value - range->lower) / (range->upper - range->lower);
}

/* The cost with variable I at PLACE, the others as they are. */
static double
cost_at (Search *self, guint i, double place)
{
  double kept = self->x[i], cost;

  self->x[i] = value_at (&self->ranges[i], place);
  cost = self->cost (self->x, self->user);
  self->x[i] = kept;
  return cost;
}

static void
keep_better (double place, double cost, double *best_place, double *best)
{
  if (cost < *best)
    {
      *best = cost;
      *best_place = place;
    }
}

/* Golden section of variable I from LOW to HIGH; replaces *PLACE and *BEST by what is better. */
static void
golden_section (Search *self, guint i, double low, double high, double *place, double *best)
{
  double a = high - GOLDEN * (high - low), b = low + GOLDEN * (high - low);
  double at_a = cost_at (self, i, a), at_b = cost_at (self, i, b);

  for (guint step = 0;; step++)
    {
      keep_better (a, at_a, place, best);
      keep_better (b, at_b, place, best);
      if (step == self->effort->sections)
        return;
      if (at_a <= at_b)
        {
          high = b;
          b = a;
          at_b = at_a;
          a = high - GOLDEN * (high - low);
          at_a = cost_at (self, i, a);
        }
      else
        {
          low = a;
          a = b;
          at_a = at_b;
          b = low + GOLDEN * (high - low);
          at_b = cost_at (self, i, b);
        }
    }
}

/* Looks for a better value of variable I within WIDTH of its own, or anywhere. */
static void
improve (Search *self, guint i, gboolean anywhere, double width)
{
  double start = place_of (&self->ranges[i], self->x[i]), place = start, best = self->best;
  guint  grid = self->effort->grid;

  anywhere |= start < 0 || start > 1;
  for (guint g = 0; anywhere && g < grid; g++)
    {
      double at = (double) g / (grid - 1);

      keep_better (at, cost_at (self, i, at), &place, &best);
    }
  if (anywhere)
    width = 1.0 / (grid - 1);
  if (place >= 0 && place <= 1)
    golden_section (self, i, MAX (place - width, 0), MIN (place + width, 1), &place, &best);
  if (best < self->best - self->effort->tolerance)
    {
      self->x[i] = value_at (&self->ranges[i], place);
      self->best = best;
    }
}

double
minimise_coordinates (double *x, const MinimiseRange *ranges, guint n, const MinimiseEffort *effort,
                      MinimiseCost cost, gpointer user)
{
  Search self = { x, ranges, effort, cost, user, cost (x, user) };
  double width = 2.0 / (effort->grid - 1);

  for (guint round = 0; round < effort->rounds; round++, width /= 2)
    {
      double before = self.best;

      for (guint i = 0; i < n; i++)
        improve (&self, i, round == 0, width);
      if (before - self.best <= effort->tolerance)
        break;
    }
  return self.best;
}
