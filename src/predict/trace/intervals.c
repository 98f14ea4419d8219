#include "predict/trace/intervals.h"

GArray *
intervals_new (void)
{
  return g_array_new (FALSE, FALSE, sizeof (Interval));
}

void
intervals_add (GArray *list, SimTime start, SimTime end, Interval within)
{
  Interval  interval = { MAX (start, within.start), MIN (end, within.end) };
  Interval *last = list->len > 0 ? &g_array_index (list, Interval, list->len - 1) : NULL;

  if (interval.start >= interval.end)
    return;
  if (last != NULL && last->start <= interval.start && interval.start <= last->end)
    last->end = MAX (last->end, interval.end);
  else
    g_array_append_val (list, interval);
}

gint
intervals_compare (gconstpointer a, gconstpointer b)
{
  const Interval *x = a, *y = b;

  return x->start < y->start ? -1 : x->start > y->start;
}

void
intervals_sort (GArray *list)
{
  for (guint i = 1; i < list->len; i++)
    if (g_array_index (list, Interval, i).start < g_array_index (list, Interval, i - 1).start)
      {
        g_array_sort (list, intervals_compare);
        return;
      }
}

SimTime
intervals_outside (const GArray *list, const GArray *busy)
{
  SimTime sum = 0, done = 0; /* everything before `done` has been counted or skipped */
  guint   b = 0;

  for (guint i = 0; i < list->len; i++)
    {
      Interval at = g_array_index (list, Interval, i);

      at.start = MAX (at.start, done);
      while (at.start < at.end)
        {
          const Interval *block;

          while (b < busy->len && g_array_index (busy, Interval, b).end <= at.start)
            b++;
          block = b < busy->len ? &g_array_index (busy, Interval, b) : NULL;
          if (block == NULL || block->start >= at.end)
            {
              sum += at.end - at.start;
              at.start = at.end;
            }
          else
            {
              if (block->start > at.start)
                sum += block->start - at.start;
              at.start = MIN (block->end, at.end);
            }
        }
      done = MAX (done, at.end);
    }
  return sum;
}
