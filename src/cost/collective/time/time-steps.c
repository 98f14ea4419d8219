#include "cost/collective/time/time-parts-private.h"

/*
 * One step after another, with all that runs in it or each edge ALONE, or what the channels let
 * through.
 */
static double
sum_steps (const Timed *self, gboolean alone, double cap)
{
  double sum = 0;

  for (guint i = 0; i < self->layout->n_steps; i++)
    {
      const StepHop *step = &self->layout->steps[i];

      sum += MAX ((alone ? step->alone : step->seconds) * timed_wire_scale (self->protocol),
                  cap > 0 ? step->share / cap : 0);
    }
  return self->bytes * sum;
}

/*
 * The steps do not all wait for the same link (far ones cross the leaves, near ones the cards):
 * what they take one by one beyond the link that is busy longest.
 */
double
timed_steps_unlike (const Timed *self, double cap)
{
  double links = self->layout->link_seconds_per_byte * timed_wire_scale (self->protocol);

  return MAX (sum_steps (self, FALSE, cap) - self->bytes * MAX (links, cap > 0 ? 1 / cap : 0), 0);
}

double
timed_steps_alone (const Timed *self, double cap)
{
  return sum_steps (self, TRUE, cap);
}

double
timed_steps_bound (const Timed *self, double hop, double cap)
{
  return MAX (
      self->bytes * self->layout->link_seconds_per_byte * timed_wire_scale (self->protocol) + hop,
      sum_steps (self, TRUE, cap) + self->layout->n_steps * hop);
}
