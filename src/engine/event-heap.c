#include "engine/event-heap.h"

#include "base/vector.h"

#define ARITY  4
#define ABSENT G_MAXUINT32

typedef struct
{
  SimTime time;
  guint64 sequence;
  EventId event;
} Entry;

struct _EventHeap
{
  Vector *entries;   /* Entry: the heap */
  Vector *positions; /* guint32 an event: its index in `entries`, or ABSENT */
};

EventHeap *
event_heap_new (void)
{
  EventHeap *self = g_new0 (EventHeap, 1);

  self->entries = vector_new (sizeof (Entry));
  self->positions = vector_new (sizeof (guint32));
  return self;
}

void
event_heap_free (EventHeap *self)
{
  if (self == NULL)
    return;
  vector_free (self->entries);
  vector_free (self->positions);
  g_free (self);
}

static inline Entry *
entries (const EventHeap *self)
{
  return (Entry *) (gpointer) self->entries->data;
}

static inline guint32 *
position (const EventHeap *self, EventId event)
{
  return &vector_at (self->positions, guint32, event);
}

static inline gboolean
before (const Entry *a, const Entry *b)
{
  return a->time < b->time || (a->time == b->time && a->sequence < b->sequence);
}

static inline void
place (EventHeap *self, guint i, Entry entry)
{
  entries (self)[i] = entry;
  *position (self, entry.event) = i;
}

/* Puts ENTRY into the hole at I, moving the hole towards the root as far as needed. */
static void
sift_up (EventHeap *self, guint i, Entry entry)
{
  while (i > 0)
    {
      guint parent = (i - 1) / ARITY;
      if (!before (&entry, &entries (self)[parent]))
        break;
      place (self, i, entries (self)[parent]);
      i = parent;
    }
  place (self, i, entry);
}

static void
sift_down (EventHeap *self, guint i, Entry entry)
{
  guint n = self->entries->len;

  for (;;)
    {
      guint first = i * ARITY + 1, last = MIN (first + ARITY, n), least = first;
      if (first >= n)
        break;
      for (guint child = first + 1; child < last; child++)
        if (before (&entries (self)[child], &entries (self)[least]))
          least = child;
      if (!before (&entries (self)[least], &entry))
        break;
      place (self, i, entries (self)[least]);
      i = least;
    }
  place (self, i, entry);
}

static void
settle (EventHeap *self, guint i, Entry entry)
{
  if (i > 0 && before (&entry, &entries (self)[(i - 1) / ARITY]))
    sift_up (self, i, entry);
  else
    sift_down (self, i, entry);
}

EventId
event_heap_add (EventHeap *self)
{
  guint32 absent = ABSENT;

  vector_push (self->positions, absent);
  return self->positions->len - 1;
}

void
event_heap_set (EventHeap *self, EventId event, SimTime time, guint64 sequence)
{
  Entry entry = { time, sequence, event };

  if (*position (self, event) != ABSENT)
    {
      settle (self, *position (self, event), entry);
      return;
    }
  vector_push (self->entries, entry);
  sift_up (self, self->entries->len - 1, entry);
}

void
event_heap_remove (EventHeap *self, EventId event)
{
  guint i = *position (self, event);

  if (i == ABSENT)
    return;
  *position (self, event) = ABSENT;

  Entry last = entries (self)[self->entries->len - 1];
  vector_cut (self->entries, self->entries->len - 1);
  if (i < self->entries->len)
    settle (self, i, last);
}

gboolean
event_heap_is_empty (const EventHeap *self)
{
  return self->entries->len == 0;
}

SimTime
event_heap_next_time (const EventHeap *self)
{
  return self->entries->len > 0 ? entries (self)[0].time : SIM_TIME_MAX;
}

SimTime
event_heap_time (const EventHeap *self)
{
  g_assert (self->entries->len > 0);
  return entries (self)[0].time;
}

SimTime
event_heap_time_of (const EventHeap *self, EventId event)
{
  guint i = *position (self, event);

  return i == ABSENT ? SIM_TIME_MAX : entries (self)[i].time;
}

guint64
event_heap_pop (EventHeap *self)
{
  g_assert (self->entries->len > 0);

  Entry first = entries (self)[0];
  event_heap_remove (self, first.event);
  return first.sequence;
}
