#include "report/trace/timeline-boxes.h"

/* Whether each lane is asked for: newly allocated. */
static gboolean *
find_lanes (const Timeline *self, guint rank)
{
  gboolean            *shown = g_new0 (gboolean, self->lanes->len + 1);
  g_autofree SimTime  *computes = g_new0 (SimTime, self->lanes->len + 1);
  g_autofree SimTime  *runs = g_new0 (SimTime, self->lanes->len + 1);
  const TimelineSlice *slices = (const TimelineSlice *) (gconstpointer) self->slices->data;

  for (guint i = 0; i < self->slices->len; i++)
    {
      runs[slices[i].lane] += slices[i].duration;
      computes[slices[i].lane] += slices[i].part == TIME_COMPUTE ? slices[i].duration : 0;
    }
  for (guint i = 0; i < self->lanes->len; i++)
    shown[i] = rank == TIMELINE_ALL_RANKS
                   ? 2 * computes[i] > runs[i]
                   : g_array_index (self->lanes, TimelineLane, i).rank == rank;
  return shown;
}

static SimTime
span_of (const TimelineBox *box)
{
  return box->end - box->begin;
}

/* SLICE as a box of its own, as far as it lies in WINDOW. */
static TimelineBox
box_of (const TimelineSlice *slice, const TimelineWindow *window)
{
  return (TimelineBox){ .begin = MAX (slice->begin, window->from),
                        .end = MIN (slice->begin + slice->duration, window->to),
                        .n = 1,
                        .longest = slice };
}

/* Whether NEXT, which follows LAST in time, cannot be told apart from it. */
static gboolean
is_one_with (const TimelineBox *last, const TimelineBox *next, SimTime grain)
{
  return last->longest->lane == next->longest->lane && span_of (next) < grain
         && next->end - last->begin < grain;
}

static void
add_box (GArray *boxes, const TimelineBox *next, SimTime *longest, SimTime grain)
{
  TimelineBox *last = boxes->len > 0 ? &g_array_index (boxes, TimelineBox, boxes->len - 1) : NULL;

  if (last == NULL || !is_one_with (last, next, grain))
    {
      g_array_append_val (boxes, *next);
      *longest = span_of (next);
      return;
    }
  last->end = MAX (last->end, next->end);
  last->n++;
  if (span_of (next) <= *longest)
    return;
  last->longest = next->longest;
  *longest = span_of (next);
}

/* With GRAIN; NULL: there are more than the window's most. */
static GArray *
cut (const Timeline *self, const TimelineWindow *window, const gboolean *shown, SimTime grain)
{
  GArray *boxes = g_array_new (FALSE, FALSE, sizeof (TimelineBox));
  SimTime longest = 0; /* of the slices of the last box */

  for (guint i = 0; i < self->slices->len; i++)
    {
      const TimelineSlice *slice = &g_array_index (self->slices, TimelineSlice, i);
      const TimelineBox    next = box_of (slice, window);

      if (shown[slice->lane] && next.end > next.begin)
        add_box (boxes, &next, &longest, grain);
      if (boxes->len > MAX (window->most, self->lanes->len))
        {
          g_array_unref (boxes);
          return NULL;
        }
    }
  return boxes;
}

GArray *
timeline_boxes (const Timeline *self, const TimelineWindow *window)
{
  g_autofree gboolean *shown = find_lanes (self, window->rank);
  TimelineWindow       own = *window;
  GArray              *boxes = NULL;
  SimTime              grain;

  own.to = own.to == 0 ? self->length : MIN (own.to, self->length);
  own.from = MIN (own.from, own.to);
  grain = (own.to - own.from) / TIMELINE_PIXELS + 1;
  for (; boxes == NULL; grain *= 2)
    boxes = cut (self, &own, shown, grain);
  return boxes;
}
