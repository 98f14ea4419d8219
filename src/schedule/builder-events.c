/* Events: what a stream or the host records, waits for, and carries over the end of a section. */
#include "schedule/schedule-private.h"

guint32
builder_event (const ScheduleBuilder *b, EventRef event)
{
  if (event >> SCHEDULE_EVENT_BITS != b->section)
    return SCHEDULE_FOREIGN;
  return event & ((1u << SCHEDULE_EVENT_BITS) - 1);
}

static EventRef
new_event (ScheduleBuilder *b, ScheduleItem *item)
{
  g_assert (b->program->n_events < 1u << SCHEDULE_EVENT_BITS);
  item->ref = b->program->n_events++;
  builder_append (b, item);
  return (guint32) b->section << SCHEDULE_EVENT_BITS | item->ref;
}

EventRef
schedule_record (ScheduleBuilder *b, StreamRef stream)
{
  ScheduleItem item = builder_item (b, ITEM_RECORD);

  g_assert (stream < b->schedule->streams->len);
  item.stream = builder_stream (b, stream);
  return new_event (b, &item);
}

/* STREAM is SCHEDULE_NONE for the host. */
static void
append_wait (ScheduleBuilder *b, ItemKind kind, StreamRef stream, EventRef event, ScheduleWait what)
{
  ScheduleItem item = builder_item (b, kind);

  if (event == SCHEDULE_NONE)
    return;
  item.stream = stream;
  item.collective = (guint8) what;
  item.ref = builder_event (b, event);
  builder_append (b, &item);
}

void
schedule_wait (ScheduleBuilder *b, StreamRef stream, EventRef event)
{
  g_assert (stream < b->schedule->streams->len);
  append_wait (b, ITEM_WAIT, builder_stream (b, stream), event, WAIT_FOR_DATA);
}

void
schedule_pace (ScheduleBuilder *b, StreamRef stream, EventRef event)
{
  g_assert (stream < b->schedule->streams->len);
  append_wait (b, ITEM_WAIT, builder_stream (b, stream), event, WAIT_FOR_PACE);
}

/* A stream without ops: waiting there holds nothing up. */
EventRef
schedule_join (ScheduleBuilder *b, EventRef one, EventRef other)
{
  StreamRef stream;

  if (one == SCHEDULE_NONE || other == SCHEDULE_NONE)
    return one != SCHEDULE_NONE ? one : other;
  stream = schedule_stream (b, "joined", 0);
  schedule_wait (b, stream, one);
  schedule_wait (b, stream, other);
  return schedule_record (b, stream);
}

void
schedule_wait_stream (ScheduleBuilder *b, StreamRef waiting, StreamRef for_stream)
{
  if (builder_stream (b, waiting) != builder_stream (b, for_stream))
    schedule_wait (b, waiting, schedule_record (b, for_stream));
}

void
schedule_host_wait (ScheduleBuilder *b, EventRef event)
{
  append_wait (b, ITEM_HOST_WAIT, SCHEDULE_NONE, event, WAIT_FOR_DATA);
}

void
schedule_host_pace (ScheduleBuilder *b, EventRef event)
{
  append_wait (b, ITEM_HOST_WAIT, SCHEDULE_NONE, event, WAIT_FOR_PACE);
}

/* The slot of NAME, made at its first mention. */
static guint32
carried_slot (ScheduleBuilder *b, const char *name)
{
  GPtrArray *carried = b->role->carried;
  guint      slot;

  name = builder_intern (b, name);
  if (g_ptr_array_find (carried, name, &slot))
    return slot;
  g_ptr_array_add (carried, (gpointer) name);
  return carried->len - 1;
}

void
schedule_carry (ScheduleBuilder *b, const char *name, EventRef event)
{
  ScheduleItem item = builder_item (b, ITEM_CARRY);

  if (event == SCHEDULE_NONE)
    return;
  item.event = carried_slot (b, name);
  item.ref = builder_event (b, event);
  item.label = builder_intern (b, name);
  builder_append (b, &item);
}

EventRef
schedule_carried (ScheduleBuilder *b, const char *name)
{
  ScheduleItem item = builder_item (b, ITEM_TAKE);

  item.event = carried_slot (b, name);
  item.label = builder_intern (b, name);
  return new_event (b, &item);
}
