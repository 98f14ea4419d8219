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
      role->programs[s].items = vector_new (sizeof (ScheduleItem));
      role->programs[s].uses = vector_new (sizeof (ScheduleUse));
      role->programs[s].micros = g_array_new (FALSE, FALSE, sizeof (ScheduleMicro));
    }
  role->buffers = g_array_new (FALSE, FALSE, sizeof (ScheduleBuffer));
  role->data = g_ptr_array_new ();
  role->carried = g_ptr_array_new ();
  role->passed = g_array_new (FALSE, FALSE, sizeof (CarriedBuffer));
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
  schedule->gap = shape.gap;
  schedule->ahead = shape.ahead;
  schedule->crosses = shape.crosses;
  schedule->streams = g_array_new (FALSE, FALSE, sizeof (ScheduleStream));
  schedule->comms = g_array_new (FALSE, FALSE, sizeof (ScheduleComm));
  schedule->kernels = g_ptr_array_new_with_free_func (g_free);
  schedule->strings = g_string_chunk_new (1024);
  for (guint r = 0; r < shape.n_roles; r++)
    role_init (&schedule->roles[r], shape.workload);

  self->schedule = schedule;
  self->poll.stop = shape.stop;
  self->layers = distinct_layers (shape.workload);
  schedule_builder_select (self, 0, SECTION_INIT);
  schedule_compute_stream (self, "compute");
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
  if (section == SECTION_STEADY && self->program->items->len == 0)
    {
      vector_reserve (self->program->items, self->role->programs[SECTION_FIRST].items->len);
      vector_reserve (self->program->uses, self->role->programs[SECTION_FIRST].uses->len);
    }
}

void
schedule_builder_set_compute (ScheduleBuilder *self, StreamRef stream)
{
  self->compute = stream;
  if (stream != SCHEDULE_COMPUTE)
    self->other_compute = stream;
}

StreamRef
builder_stream (const ScheduleBuilder *b, StreamRef stream)
{
  return stream == SCHEDULE_COMPUTE ? b->compute : stream;
}

guint
schedule_builder_n_items (const ScheduleBuilder *self)
{
  return self->program->items->len;
}

gboolean
schedule_builder_is_cut (const ScheduleBuilder *self)
{
  return self->poll.cut;
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

/* Most texts are literals that come again and again: where they stand is where to look first. */
const char *
builder_intern (ScheduleBuilder *b, const char *text)
{
  const char **recent = &b->texts[((guintptr) text / 8) % RECENT_TEXTS];

  if (text == NULL)
    return NULL;
  if (*recent == NULL || !g_str_equal (*recent, text))
    *recent = g_string_chunk_insert_const (b->schedule->strings, text);
  return *recent;
}

/* ---- streams and communicators --------------------------------------------------------------- */

static StreamRef
stream_of (ScheduleBuilder *b, ScheduleStream stream)
{
  GArray *streams = b->schedule->streams;

  for (guint i = 0; i < streams->len; i++)
    {
      const ScheduleStream *known = &g_array_index (streams, ScheduleStream, i);

      if (g_str_equal (known->name, stream.name))
        {
          g_assert (known->priority == stream.priority && known->role == stream.role);
          return i;
        }
    }
  stream.name = builder_intern (b, stream.name);
  g_array_append_val (streams, stream);
  return streams->len - 1;
}

StreamRef
schedule_stream (ScheduleBuilder *b, const char *name, gint priority)
{
  return stream_of (b, (ScheduleStream){ name, priority, STREAM_SERVES });
}

StreamRef
schedule_compute_stream (ScheduleBuilder *b, const char *name)
{
  return stream_of (b, (ScheduleStream){ name, 0, STREAM_COMPUTES });
}

static CommRef
find_comm (ScheduleBuilder *b, ScheduleComm comm)
{
  GArray *comms = b->schedule->comms;

  comm.name = builder_intern (b, comm.name);
  for (guint i = 0; i < comms->len; i++)
    {
      ScheduleComm *known = &g_array_index (comms, ScheduleComm, i);

      if (g_str_equal (known->name, comm.name))
        {
          g_assert (mesh_group_equal (known->group, comm.group)
                    && known->transport == comm.transport && known->ring_order == comm.ring_order);
          known->role = MAX (known->role, comm.role);
          return i;
        }
    }
  g_array_append_val (comms, comm);
  return comms->len - 1;
}

CommRef
schedule_comm (ScheduleBuilder *b, const char *name, MeshGroup group)
{
  return find_comm (
      b, (ScheduleComm){ name, group, TRANSPORT_GPU, COMM_EXCHANGES, { 0 }, RING_ORDER_RANKS });
}

CommRef
schedule_sharing_comm (ScheduleBuilder *b, const char *name, MeshGroup group)
{
  return find_comm (
      b, (ScheduleComm){ name, group, TRANSPORT_GPU, COMM_SHARES, { 0 }, RING_ORDER_RANKS });
}

CommRef
schedule_token_comm (ScheduleBuilder *b, const char *name, MeshGroup group, Dispatch dispatch)
{
  return find_comm (
      b, (ScheduleComm){ name, group, TRANSPORT_GPU, COMM_SHARES, dispatch, RING_ORDER_RANKS });
}

CommRef
schedule_host_comm (ScheduleBuilder *b, const char *name, MeshGroup group)
{
  return schedule_host_ring (b, name, group, RING_ORDER_RANKS);
}

CommRef
schedule_host_ring (ScheduleBuilder *b, const char *name, MeshGroup group, RingOrder order)
{
  return find_comm (b, (ScheduleComm){ name, group, TRANSPORT_HOST, COMM_EXCHANGES, { 0 }, order });
}

/* ---- items ----------------------------------------------------------------------------------- */

ScheduleItem
builder_item (const ScheduleBuilder *b, ItemKind kind)
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

guint
builder_append (ScheduleBuilder *b, const ScheduleItem *item)
{
  Vector      *items = b->program->items;
  ScheduleItem one = *item;

  stop_poll (&b->poll);
  vector_push (items, one);
  return items->len - 1;
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
  ScheduleItem item = builder_item (self, ITEM_STEP);

  builder_append (self, &item);
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
