#include "schedule/schedule-private.h"

/* ---- life ------------------------------------------------------------------------------------ */

static GPtrArray *
distinct_layers (const Workload *workload)
{
  GPtrArray *layers = g_ptr_array_new ();

  for (guint i = 0; i < workload_n_layers (workload); i++)
    {
      gpointer layer = (gpointer) workload_layer (workload, i);

      if (!g_ptr_array_find (layers, layer, NULL))
        g_ptr_array_add (layers, layer);
    }
  return layers;
}

static void
role_init (ScheduleRole *role, const Workload *workload)
{
  role->workload = workload;
  for (guint s = 0; s < SECTION_N; s++)
    {
      role->programs[s].items = g_array_new (FALSE, FALSE, sizeof (ScheduleItem));
      role->programs[s].uses = g_array_new (FALSE, FALSE, sizeof (ScheduleUse));
      role->programs[s].micros = g_array_new (FALSE, FALSE, sizeof (ScheduleMicro));
    }
  role->buffers = g_array_new (FALSE, FALSE, sizeof (ScheduleBuffer));
  role->data = g_ptr_array_new ();
}

static void
unit_clear (gpointer data)
{
  g_free (((ScheduleUnit *) data)->name);
}

GArray *
schedule_units_new (void)
{
  GArray *units = g_array_new (FALSE, FALSE, sizeof (ScheduleUnit));

  g_array_set_clear_func (units, unit_clear);
  return units;
}

ScheduleBuilder *
schedule_builder_new (ScheduleShape shape)
{
  ScheduleBuilder *self = g_new0 (ScheduleBuilder, 1);
  Schedule        *schedule = g_new0 (Schedule, 1);

  schedule->workload = shape.workload;
  schedule->units = shape.units;
  schedule->roles = g_new0 (ScheduleRole, shape.n_roles);
  schedule->n_roles = shape.n_roles;
  schedule->n_stages = shape.n_stages;
  schedule->role_of_rank = shape.role_of_rank;
  schedule->n_ranks = shape.n_ranks;
  schedule->steps_per_period = shape.steps_per_period;
  schedule->streams = g_array_new (FALSE, FALSE, sizeof (ScheduleStream));
  schedule->comms = g_array_new (FALSE, FALSE, sizeof (ScheduleComm));
  schedule->kernels = g_ptr_array_new_with_free_func (g_free);
  schedule->strings = g_string_chunk_new (1024);
  for (guint r = 0; r < shape.n_roles; r++)
    role_init (&schedule->roles[r], shape.workload);

  self->schedule = schedule;
  self->layers = distinct_layers (shape.workload);
  schedule_builder_select (self, 0, SECTION_INIT);
  schedule_stream (self, "compute", 0);
  return self;
}

void
schedule_builder_set_stage (ScheduleBuilder *self, guint role, guint stage,
                            const Workload *workload, guint offset)
{
  self->schedule->roles[role].stage = stage;
  self->schedule->roles[role].workload = workload;
  self->schedule->roles[role].unit_offset = self->unit_offset = offset;
  g_ptr_array_unref (self->layers);
  self->layers = distinct_layers (workload);
}

void
schedule_builder_select (ScheduleBuilder *self, guint role, ScheduleSection section)
{
  self->program = schedule_program (self->schedule, role, section);
  self->role = &self->schedule->roles[role];
  self->section = section;
  self->phase = PHASE_NONE;
  self->unit = SCHEDULE_NONE;
  self->last_op = self->last_stream = SCHEDULE_NONE;
  self->compute = SCHEDULE_COMPUTE;
}

void
schedule_builder_set_compute (ScheduleBuilder *self, StreamRef stream)
{
  self->compute = stream;
  if (stream != SCHEDULE_COMPUTE)
    self->beside = stream;
}

static StreamRef
actual_stream (const ScheduleBuilder *b, StreamRef stream)
{
  return stream == SCHEDULE_COMPUTE ? b->compute : stream;
}

guint
schedule_builder_n_items (const ScheduleBuilder *self)
{
  return self->program->items->len;
}

const Schedule *
schedule_builder_peek (const ScheduleBuilder *self)
{
  return self->schedule;
}

Schedule *
schedule_builder_finish (ScheduleBuilder *self)
{
  Schedule *schedule = self->schedule;

  g_ptr_array_unref (self->layers);
  g_free (self);
  return schedule;
}

static const char *
intern (ScheduleBuilder *b, const char *text)
{
  return text != NULL ? g_string_chunk_insert_const (b->schedule->strings, text) : NULL;
}

/* ---- streams and communicators --------------------------------------------------------------- */

StreamRef
schedule_stream (ScheduleBuilder *b, const char *name, gint priority)
{
  GArray        *streams = b->schedule->streams;
  ScheduleStream stream = { intern (b, name), priority };

  for (guint i = 0; i < streams->len; i++)
    if (g_str_equal (g_array_index (streams, ScheduleStream, i).name, name))
      {
        g_assert (g_array_index (streams, ScheduleStream, i).priority == priority);
        return i;
      }
  g_array_append_val (streams, stream);
  return streams->len - 1;
}

CommRef
schedule_comm (ScheduleBuilder *b, const char *name, MeshGroup group)
{
  GArray      *comms = b->schedule->comms;
  ScheduleComm comm = { intern (b, name), group };

  for (guint i = 0; i < comms->len; i++)
    {
      const ScheduleComm *known = &g_array_index (comms, ScheduleComm, i);

      if (g_str_equal (known->name, name))
        {
          g_assert (known->group.size == group.size && known->group.stride == group.stride);
          return i;
        }
    }
  g_array_append_val (comms, comm);
  return comms->len - 1;
}

/* ---- items ----------------------------------------------------------------------------------- */

static ScheduleItem
item_new (const ScheduleBuilder *b, ItemKind kind)
{
  return (ScheduleItem){
    .kind = (guint8) kind,
    .phase = (guint8) b->phase,
    .stream = SCHEDULE_NONE,
    .unit = b->unit,
    .ref = SCHEDULE_NONE,
    .event = SCHEDULE_NONE,
  };
}

static guint
append (ScheduleBuilder *b, const ScheduleItem *item)
{
  GArray *items = b->program->items;

  g_array_append_vals (items, item, 1);
  return items->len - 1;
}

static OpRef
append_op (ScheduleBuilder *b, const ScheduleItem *item)
{
  g_assert (item->stream < b->schedule->streams->len);
  b->last_op = append (b, item);
  return b->last_op;
}

/* An op that would have stood on STREAM is left out. */
static OpRef
leave_out (ScheduleBuilder *b, StreamRef stream)
{
  b->last_op = SCHEDULE_NONE;
  b->last_at = b->program->items->len;
  b->last_stream = actual_stream (b, stream);
  return SCHEDULE_NONE;
}

static gboolean
range_holds (const KernelDesc *kernels, guint n, const KernelDesc *kernel)
{
  return n > 0 && (guintptr) kernel >= (guintptr) kernels
         && (guintptr) kernel < (guintptr) (kernels + n);
}

static gboolean
workload_owns (const ScheduleBuilder *b, const KernelDesc *kernel)
{
  for (guint i = 0; i < b->layers->len; i++)
    {
      const LayerDesc *layer = g_ptr_array_index (b->layers, i);

      if (range_holds (layer->forward, layer->n_forward, kernel)
          || range_holds (layer->backward, layer->n_backward, kernel)
          || range_holds (layer->recompute, layer->n_recompute, kernel))
        return TRUE;
    }
  return FALSE;
}

static const KernelDesc *
own_kernel (ScheduleBuilder *b, const KernelDesc *kernel)
{
  KernelDesc *copy;

  if (workload_owns (b, kernel))
    return kernel;
  copy = g_memdup2 (kernel, sizeof *kernel);
  copy->name = intern (b, kernel->name);
  g_ptr_array_add (b->schedule->kernels, copy);
  return copy;
}

OpRef
schedule_layer_kernel (ScheduleBuilder *b, const KernelDesc *kernel)
{
  ScheduleItem item = item_new (b, ITEM_KERNEL);

  item.stream = b->compute;
  item.kernel = kernel;
  item.label = kernel->name;
  return append_op (b, &item);
}

OpRef
schedule_kernel (ScheduleBuilder *b, StreamRef stream, const KernelDesc *kernel)
{
  ScheduleItem item = item_new (b, ITEM_KERNEL);

  item.stream = actual_stream (b, stream);
  item.kernel = own_kernel (b, kernel);
  item.label = item.kernel->name;
  return append_op (b, &item);
}

OpRef
schedule_collective (ScheduleBuilder *b, StreamRef stream, CommRef comm, CollectiveKind kind,
                     guint64 bytes, const char *label)
{
  ScheduleItem item = item_new (b, ITEM_COLLECTIVE);

  g_assert (comm < b->schedule->comms->len && kind < COLLECTIVE_N_KINDS);
  if (g_array_index (b->schedule->comms, ScheduleComm, comm).group.size == 1 || bytes == 0)
    return leave_out (b, stream);
  item.collective = (guint8) kind;
  item.stream = actual_stream (b, stream);
  item.ref = comm;
  item.bytes = bytes;
  item.label = intern (b, label);
  return append_op (b, &item);
}

OpRef
schedule_all_gather (ScheduleBuilder *b, StreamRef stream, CommRef comm, guint64 bytes,
                     const char *label)
{
  return schedule_collective (b, stream, comm, COLLECTIVE_ALL_GATHER, bytes, label);
}

OpRef
schedule_reduce_scatter (ScheduleBuilder *b, StreamRef stream, CommRef comm, guint64 bytes,
                         const char *label)
{
  return schedule_collective (b, stream, comm, COLLECTIVE_REDUCE_SCATTER, bytes, label);
}

OpRef
schedule_all_reduce (ScheduleBuilder *b, StreamRef stream, CommRef comm, guint64 bytes,
                     const char *label)
{
  return schedule_collective (b, stream, comm, COLLECTIVE_ALL_REDUCE, bytes, label);
}

OpRef
schedule_copy (ScheduleBuilder *b, StreamRef stream, ScheduleCopy kind, guint64 bytes,
               const char *label)
{
  ScheduleItem item = item_new (b, ITEM_COPY);

  g_assert (kind < COPY_N);
  if (bytes == 0)
    return leave_out (b, stream);
  item.collective = (guint8) kind;
  item.stream = actual_stream (b, stream);
  item.bytes = bytes;
  item.label = intern (b, label);
  return append_op (b, &item);
}

OpRef
schedule_p2p (ScheduleBuilder *b, StreamRef stream, const ScheduleP2p *messages, guint n)
{
  leave_out (b, stream);
  for (guint i = 0; i < n; i++)
    {
      const ScheduleP2p *m = &messages[i];
      ScheduleItem       item = item_new (b, ITEM_P2P);
      MeshGroup          group;

      g_assert (m->comm < b->schedule->comms->len && m->way < MESSAGE_N);
      group = g_array_index (b->schedule->comms, ScheduleComm, m->comm).group;
      g_assert (m->peer < group.size);
      if (group.size == 1 || m->bytes == 0)
        continue;
      if (b->last_op != SCHEDULE_NONE)
        g_array_index (b->program->items, ScheduleItem, b->last_op).more = TRUE;
      item.collective = (guint8) m->way;
      item.stream = actual_stream (b, stream);
      item.ref = m->comm;
      item.peer = m->peer;
      item.bytes = m->bytes;
      item.label = intern (b, m->label);
      append_op (b, &item);
      schedule_uses (b, m->buffer, SCHEDULE_WHOLE,
                     m->way == MESSAGE_SEND ? ACCESS_READ : ACCESS_WRITE);
    }
  return b->last_op;
}

/* ---- events ---------------------------------------------------------------------------------- */

static guint32
bare_event (const ScheduleBuilder *b, EventRef event)
{
  if (event >> SCHEDULE_EVENT_BITS != b->section)
    return SCHEDULE_FOREIGN;
  return event & ((1u << SCHEDULE_EVENT_BITS) - 1);
}

EventRef
schedule_record (ScheduleBuilder *b, StreamRef stream)
{
  ScheduleItem item = item_new (b, ITEM_RECORD);

  g_assert (stream < b->schedule->streams->len);
  g_assert (b->program->n_events < 1u << SCHEDULE_EVENT_BITS);
  item.stream = actual_stream (b, stream);
  item.ref = b->program->n_events++;
  append (b, &item);
  return (guint32) b->section << SCHEDULE_EVENT_BITS | item.ref;
}

/* STREAM is SCHEDULE_NONE for the host. */
static void
append_wait (ScheduleBuilder *b, ItemKind kind, StreamRef stream, EventRef event, ScheduleWait what)
{
  ScheduleItem item = item_new (b, kind);

  if (event == SCHEDULE_NONE)
    return;
  item.stream = stream;
  item.collective = (guint8) what;
  item.ref = bare_event (b, event);
  append (b, &item);
}

void
schedule_wait (ScheduleBuilder *b, StreamRef stream, EventRef event)
{
  g_assert (stream < b->schedule->streams->len);
  append_wait (b, ITEM_WAIT, actual_stream (b, stream), event, WAIT_FOR_DATA);
}

void
schedule_pace (ScheduleBuilder *b, StreamRef stream, EventRef event)
{
  g_assert (stream < b->schedule->streams->len);
  append_wait (b, ITEM_WAIT, actual_stream (b, stream), event, WAIT_FOR_PACE);
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
  if (actual_stream (b, waiting) != actual_stream (b, for_stream))
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

void
schedule_host_hooks (ScheduleBuilder *b, guint n)
{
  ScheduleItem item = item_new (b, ITEM_HOST_HOOK);

  if (n == 0)
    return;
  item.ref = n;
  append (b, &item);
}

void
schedule_builder_begin_micro (ScheduleBuilder *self, guint micro)
{
  ScheduleMicro begin = { self->program->items->len, micro };

  g_array_append_val (self->program->micros, begin);
}

void
schedule_builder_end_step (ScheduleBuilder *self)
{
  ScheduleItem item = item_new (self, ITEM_STEP);

  append (self, &item);
}

/* ---- memory ---------------------------------------------------------------------------------- */

BufferRef
schedule_alloc_on (ScheduleBuilder *b, StreamRef stream, MemoryTier tier, PoolCategory category,
                   guint64 bytes, const char *label)
{
  ScheduleItem   item = item_new (b, ITEM_ALLOC);
  ScheduleBuffer buffer = { .tier = tier,
                            .category = category,
                            .bytes = bytes,
                            .label = intern (b, label),
                            .unit = b->unit,
                            .stream = actual_stream (b, stream),
                            .frame = SCHEDULE_NONE };

  g_assert (tier < TIER_N && category < POOL_N_CATEGORIES);
  if (bytes == 0)
    return SCHEDULE_NONE;
  item.ref = b->role->buffers->len;
  item.label = buffer.label;
  g_array_append_val (b->role->buffers, buffer);
  append (b, &item);
  return item.ref;
}

BufferRef
schedule_alloc (ScheduleBuilder *b, MemoryTier tier, PoolCategory category, guint64 bytes,
                const char *label)
{
  return schedule_alloc_on (b, SCHEDULE_COMPUTE, tier, category, bytes, label);
}

static ScheduleBuffer *
buffer_at (const ScheduleBuilder *b, BufferRef buffer)
{
  return &g_array_index (b->role->buffers, ScheduleBuffer, buffer);
}

void
schedule_buffer_program (ScheduleBuilder *b, BufferRef buffer, const MemoryProgram *program,
                         BufferRef frame)
{
  if (buffer == SCHEDULE_NONE || frame == SCHEDULE_NONE || program->n_tensors == 0)
    return;
  g_assert (frame < buffer);
  buffer_at (b, buffer)->program = program;
  buffer_at (b, buffer)->frame = frame;
  buffer_at (b, frame)->n_frame = program->n_tensors;
}

void
schedule_free (ScheduleBuilder *b, BufferRef buffer)
{
  EventRef event = SCHEDULE_NONE;

  if (buffer < b->role->buffers->len)
    {
      StreamRef home = buffer_at (b, buffer)->stream;

      if (home != b->compute && (home == SCHEDULE_COMPUTE || home == b->beside))
        event = schedule_record (b, SCHEDULE_COMPUTE);
    }
  schedule_free_after (b, buffer, event);
}

void
schedule_free_after (ScheduleBuilder *b, BufferRef buffer, EventRef event)
{
  ScheduleItem item = item_new (b, ITEM_FREE);

  if (buffer == SCHEDULE_NONE)
    return;
  item.ref = buffer;
  item.event = event != SCHEDULE_NONE ? bare_event (b, event) : SCHEDULE_NONE;
  if (buffer < b->role->buffers->len)
    item.label = g_array_index (b->role->buffers, ScheduleBuffer, buffer).label;
  append (b, &item);
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
  GArray *uses = b->program->uses;
  guint   at = uses->len;

  if (use.buffer == SCHEDULE_NONE)
    return;
  while (at > 0 && place_of (&g_array_index (uses, ScheduleUse, at - 1)) > place_of (&use))
    at--;
  g_array_insert_val (uses, at, use);
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
                             (guint16) actual_stream (b, stream), (guint8) access });
}

void
schedule_host_touches (ScheduleBuilder *b, BufferRef buffer, guint part, ScheduleAccess access)
{
  add_use (b, (ScheduleUse){ b->program->items->len, buffer, part, USE_BY_HOST, (guint8) access });
}

void
schedule_uses_kept (ScheduleBuilder *b, PoolCategory category, ScheduleAccess access)
{
  const GArray *items = b->role->programs[SECTION_INIT].items;

  for (guint i = 0; i < items->len; i++)
    {
      const ScheduleItem *item = &g_array_index (items, ScheduleItem, i);

      if (item->kind == ITEM_ALLOC && buffer_at (b, item->ref)->category == category)
        schedule_uses (b, item->ref, SCHEDULE_WHOLE, access);
    }
}

BufferRef
schedule_data (ScheduleBuilder *b, const char *label)
{
  g_ptr_array_add (b->role->data, (gpointer) intern (b, label));
  return SCHEDULE_FIRST_DATA + b->role->data->len - 1;
}

SchedulePhase
schedule_set_phase (ScheduleBuilder *b, SchedulePhase phase)
{
  SchedulePhase old = b->phase;

  b->phase = phase;
  return old;
}

guint
schedule_set_unit (ScheduleBuilder *b, guint unit)
{
  guint old = b->unit == SCHEDULE_NONE ? SCHEDULE_NONE : b->unit - b->unit_offset;

  b->unit = unit == SCHEDULE_NONE ? SCHEDULE_NONE : b->unit_offset + unit;
  return old;
}
