/*
 * An indexed 4-ary min-heap of events, keyed by (time, sequence): the engine's agenda.
 *
 * An event is a small integer that its owner keeps for as long as it likes and schedules at most
 * once at a time; re-keying and removal take O(log n). The sequence breaks ties and also tells the
 * owner what the event is.
 */
#pragma once

#include "base/config/units.h"

typedef struct _EventHeap EventHeap;
typedef guint32           EventId;

EventHeap *event_heap_new (void);
void       event_heap_free (EventHeap *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (EventHeap, event_heap_free)

/* A new event, not scheduled. */
EventId event_heap_add (EventHeap *self);

/* Schedules EVENT at TIME, or moves it there. */
void event_heap_set (EventHeap *self, EventId event, SimTime time, guint64 sequence);

/* Takes EVENT off the agenda; no effect when it is not on it. */
void event_heap_remove (EventHeap *self, EventId event);

gboolean event_heap_is_empty (const EventHeap *self);

/* Time of the first event, or SIM_TIME_MAX when there is none. */
SimTime event_heap_next_time (const EventHeap *self);

/* Time of the first event; the heap must not be empty. */
SimTime event_heap_time (const EventHeap *self);

/* Time at which EVENT is scheduled, or SIM_TIME_MAX. */
SimTime event_heap_time_of (const EventHeap *self, EventId event);

/* Takes off the first event and returns its sequence; the heap must not be empty. */
guint64 event_heap_pop (EventHeap *self);
