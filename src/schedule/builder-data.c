/* What a strategy allocates, and what its ops do to data. */
#include "schedule/schedule-private.h"

/* ---- memory ---------------------------------------------------------------------------------- */

BufferRef
schedule_alloc_on (ScheduleBuilder *b, StreamRef stream, Place place, PoolCategory category,
                   guint64 bytes, const char *label)
{
  ScheduleItem   item = builder_item (b, ITEM_ALLOC);
  ScheduleBuffer buffer = { .place = place,
                            .category = category,
                            .bytes = bytes,
                            .label = builder_intern (b, label),
                            .unit = b->unit,
                            .stream = builder_stream (b, stream),
                            .frame = SCHEDULE_NONE };

  g_assert (place < PLACE_N && category < POOL_N_CATEGORIES);
  if (bytes == 0)
    return SCHEDULE_NONE;
  item.ref = b->role->buffers->len;
  item.label = buffer.label;
  g_array_append_val (b->role->buffers, buffer);
  builder_append (b, &item);
  return item.ref;
}

BufferRef
schedule_alloc (ScheduleBuilder *b, Place place, PoolCategory category, guint64 bytes,
                const char *label)
{
  return schedule_alloc_on (b, SCHEDULE_COMPUTE, place, category, bytes, label);
}

ScheduleBuffer *
builder_buffer (const ScheduleBuilder *b, BufferRef buffer)
{
  return &g_array_index (b->role->buffers, ScheduleBuffer, buffer);
}

void
schedule_buffer_program (ScheduleBuilder *b, BufferRef buffer, const MemoryProgram *program,
                         BufferRef frame)
{
  if (buffer == SCHEDULE_NONE || frame == SCHEDULE_NONE || program->n_tensors == 0)
    return;
  g_assert (frame <= buffer);
  builder_buffer (b, buffer)->program = program;
  builder_buffer (b, buffer)->frame = frame;
  builder_buffer (b, frame)->n_frame = program->n_tensors;
}

void
schedule_buffer_restored (ScheduleBuilder *b, BufferRef frame, const MemoryProgram *program)
{
  if (program->n_tensors > 0)
    schedule_buffer_program (b, frame, program, frame);
}

void
schedule_free (ScheduleBuilder *b, BufferRef buffer)
{
  EventRef event = SCHEDULE_NONE;

  if (buffer < b->role->buffers->len)
    {
      StreamRef home = builder_buffer (b, buffer)->stream;

      if (home != b->compute && (home == SCHEDULE_COMPUTE || home == b->other_compute))
        event = schedule_record (b, SCHEDULE_COMPUTE);
    }
  schedule_free_after (b, buffer, event);
}

void
schedule_free_after (ScheduleBuilder *b, BufferRef buffer, EventRef event)
{
  ScheduleItem item = builder_item (b, ITEM_FREE);

  if (buffer == SCHEDULE_NONE)
    return;
  item.ref = buffer;
  item.event = event != SCHEDULE_NONE ? builder_event (b, event) : SCHEDULE_NONE;
  if (buffer < b->role->buffers->len)
    item.label = g_array_index (b->role->buffers, ScheduleBuffer, buffer).label;
  builder_append (b, &item);
}

static CarriedBuffer *
find_carried (const ScheduleBuilder *b, const char *name)
{
  for (guint i = 0; i < b->role->passed->len; i++)
    {
      CarriedBuffer *carried = &g_array_index (b->role->passed, CarriedBuffer, i);

      if (g_str_equal (carried->name, name))
        return carried;
    }
  return NULL;
}

void
schedule_carry_buffer (ScheduleBuilder *b, const char *name, BufferRef buffer)
{
  ScheduleItem         item = builder_item (b, ITEM_PASS);
  const CarriedBuffer *found = find_carried (b, name);
  CarriedBuffer        carried = { builder_intern (b, name), b->role->buffers->len };
  ScheduleBuffer       info;

  if (buffer == SCHEDULE_NONE)
    return;
  info = *builder_buffer (b, buffer);
  g_assert (info.program == NULL && info.n_frame == 0);
  if (found != NULL)
    carried = *found;
  else
    {
      g_array_append_val (b->role->buffers, info);
      g_array_append_val (b->role->passed, carried);
    }
  item.ref = buffer;
  item.event = carried.buffer;
  item.label = carried.name;
  builder_append (b, &item);
}

BufferRef
schedule_carried_buffer (const ScheduleBuilder *b, const char *name)
{
  const CarriedBuffer *found = find_carried (b, name);

  return found != NULL ? found->buffer : SCHEDULE_NONE;
}

/* ---- data ------------------------------------------------------------------------------------ */

/* What is before an item comes before what the item does. */
static guint64
place_of (const ScheduleUse *use)
{
  return 2 * (guint64) use->item + (use->stream == USE_BY_ITEM);
}

/* Mostly at the end: uses are declared as ops are emitted. */
static void
add_use (ScheduleBuilder *b, ScheduleUse use)
{
  Vector *uses = b->program->uses;
  guint   at = uses->len;

  if (use.buffer == SCHEDULE_NONE)
    return;
  while (at > 0 && place_of (&vector_at (uses, ScheduleUse, at - 1)) > place_of (&use))
    at--;
  vector_insert (uses, at, use);
}

void
schedule_builder_use (ScheduleBuilder *self, OpRef op, BufferRef buffer, guint part,
                      ScheduleAccess access)
{
  add_use (self, (ScheduleUse){ op, buffer, part, USE_BY_ITEM, (guint8) access });
}

void
schedule_uses (ScheduleBuilder *b, BufferRef buffer, guint part, ScheduleAccess access)
{
  if (b->last_op != SCHEDULE_NONE)
    schedule_builder_use (b, b->last_op, buffer, part, access);
  else if (b->last_stream != SCHEDULE_NONE)
    add_use (b,
             (ScheduleUse){ b->last_at, buffer, part, (guint16) b->last_stream, (guint8) access });
}

void
schedule_touches (ScheduleBuilder *b, StreamRef stream, BufferRef buffer, guint part,
                  ScheduleAccess access)
{
  g_assert (stream < b->schedule->streams->len);
  add_use (b, (ScheduleUse){ b->program->items->len, buffer, part,
                             (guint16) builder_stream (b, stream), (guint8) access });
}

void
schedule_host_touches (ScheduleBuilder *b, BufferRef buffer, guint part, ScheduleAccess access)
{
  add_use (b, (ScheduleUse){ b->program->items->len, buffer, part, USE_BY_HOST, (guint8) access });
}

void
schedule_uses_kept (ScheduleBuilder *b, Place place, PoolCategory category, ScheduleAccess access)
{
  const Vector *items = b->role->programs[SECTION_INIT].items;

  for (guint i = 0; i < items->len; i++)
    {
      const ScheduleItem *item = &vector_at (items, ScheduleItem, i);

      if (item->kind == ITEM_ALLOC && builder_buffer (b, item->ref)->category == category
          && builder_buffer (b, item->ref)->place == place)
        schedule_uses (b, item->ref, SCHEDULE_WHOLE, access);
    }
}

BufferRef
schedule_data (ScheduleBuilder *b, const char *label)
{
  g_ptr_array_add (b->role->data, (gpointer) builder_intern (b, label));
  return SCHEDULE_FIRST_DATA + b->role->data->len - 1;
}
