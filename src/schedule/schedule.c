#include "schedule/schedule-private.h"

static const char
    *const message_names[MESSAGE_N] = { [MESSAGE_SEND] = "send", [MESSAGE_RECEIVE] = "receive" };

static const char *const phase_names[PHASE_N] = {
  [PHASE_NONE] = "none",         [PHASE_FORWARD] = "forward",     [PHASE_RECOMPUTE] = "recompute",
  [PHASE_BACKWARD] = "backward", [PHASE_OPTIMIZER] = "optimizer", [PHASE_OUTER] = "outer",
};

static const char *const section_names[SECTION_N] = { [SECTION_INIT] = "init",
                                                      [SECTION_FIRST] = "first",
                                                      [SECTION_STEADY] = "steady" };

static const char *const item_kind_names[ITEM_N_KINDS] = {
  [ITEM_KERNEL] = "kernel",
  [ITEM_COLLECTIVE] = "collective",
  [ITEM_MOVE] = "copy",
  [ITEM_HOST_OP] = "host_op",
  [ITEM_RECORD] = "record",
  [ITEM_WAIT] = "wait",
  [ITEM_HOST_WAIT] = "host_wait",
  [ITEM_HOST_HOOK] = "host_hook",
  [ITEM_ALLOC] = "alloc",
  [ITEM_FREE] = "free",
  [ITEM_STEP] = "step",
  [ITEM_CARRY] = "carry",
  [ITEM_PASS] = "pass",
  [ITEM_TAKE] = "take",
  [ITEM_P2P] = "p2p",
};

const char *
schedule_message_name (ScheduleMessage way)
{
  g_assert (way < MESSAGE_N);
  return message_names[way];
}

const char *
schedule_phase_name (SchedulePhase phase)
{
  g_assert (phase < PHASE_N);
  return phase_names[phase];
}

const char *
schedule_section_name (ScheduleSection section)
{
  g_assert (section < SECTION_N);
  return section_names[section];
}

const char *
schedule_item_kind_name (ItemKind kind)
{
  g_assert (kind < ITEM_N_KINDS);
  return item_kind_names[kind];
}

static void
role_clear (ScheduleRole *role)
{
  for (guint s = 0; s < SECTION_N; s++)
    if (s != SECTION_STEADY || role->programs[s].items != role->programs[SECTION_FIRST].items)
      {
        vector_free (role->programs[s].items);
        vector_free (role->programs[s].uses);
        g_array_unref (role->programs[s].micros);
      }
  g_array_unref (role->buffers);
  g_ptr_array_unref (role->data);
  g_ptr_array_unref (role->carried);
  g_array_unref (role->passed);
}

void
schedule_free_all (Schedule *self)
{
  if (self == NULL)
    return;
  for (guint r = 0; r < self->n_roles; r++)
    role_clear (&self->roles[r]);
  g_free (self->roles);
  g_free (self->role_of_rank);
  g_array_unref (self->units);
  g_array_unref (self->streams);
  g_array_unref (self->comms);
  g_ptr_array_unref (self->kernels);
  g_string_chunk_free (self->strings);
  g_free (self);
}

guint
schedule_n_roles (const Schedule *self)
{
  return self->n_roles;
}

guint
schedule_role_of_rank (const Schedule *self, guint rank)
{
  g_assert (rank < self->n_ranks);
  return self->role_of_rank != NULL ? self->role_of_rank[rank] : 0;
}

guint
schedule_role_stage (const Schedule *self, guint role)
{
  g_assert (role < self->n_roles);
  return self->roles[role].stage;
}

guint
schedule_n_stages (const Schedule *self)
{
  return self->n_stages;
}

const Workload *
schedule_role_workload (const Schedule *self, guint role)
{
  g_assert (role < self->n_roles);
  return self->roles[role].workload;
}

ScheduleItems
schedule_items (const Schedule *self, guint role, ScheduleSection section)
{
  const Vector *items = schedule_program (self, role, section)->items;

  return (ScheduleItems){ (const ScheduleItem *) (void *) items->data, items->len };
}

const ScheduleMicro *
schedule_micros (const Schedule *self, guint role, ScheduleSection section, guint *n)
{
  const GArray *micros = schedule_program (self, role, section)->micros;

  *n = micros->len;
  return (const ScheduleMicro *) (void *) micros->data;
}

ScheduleItems
schedule_span (const Schedule *self, guint role, MicroSpan span)
{
  ScheduleItems        items = schedule_items (self, role, SECTION_STEADY);
  guint                n;
  const ScheduleMicro *micros = schedule_micros (self, role, SECTION_STEADY, &n);

  if (span.n == 0)
    return items;
  g_assert (span.first + span.n < n);
  items.items += micros[span.first].item;
  items.n = micros[span.first + span.n].item - micros[span.first].item;
  return items;
}

guint
schedule_n_events (const Schedule *self, guint role, ScheduleSection section)
{
  return schedule_program (self, role, section)->n_events;
}

guint
schedule_n_streams (const Schedule *self)
{
  return self->streams->len;
}

const ScheduleStream *
schedule_stream_info (const Schedule *self, StreamRef stream)
{
  g_assert (stream < self->streams->len);
  return &g_array_index (self->streams, ScheduleStream, stream);
}

guint
schedule_n_comms (const Schedule *self)
{
  return self->comms->len;
}

const ScheduleComm *
schedule_comm_info (const Schedule *self, CommRef comm)
{
  g_assert (comm < self->comms->len);
  return &g_array_index (self->comms, ScheduleComm, comm);
}

guint
schedule_n_carried (const Schedule *self, guint role)
{
  g_assert (role < self->n_roles);
  return self->roles[role].carried->len;
}

gboolean
schedule_carries_buffers (const Schedule *self, guint role)
{
  g_assert (role < self->n_roles);
  return self->roles[role].passed->len > 0;
}

guint
schedule_n_buffers (const Schedule *self, guint role)
{
  g_assert (role < self->n_roles);
  return self->roles[role].buffers->len;
}

const ScheduleBuffer *
schedule_buffer_info (const Schedule *self, guint role, BufferRef buffer)
{
  g_assert (buffer < schedule_n_buffers (self, role));
  return &g_array_index (self->roles[role].buffers, ScheduleBuffer, buffer);
}

guint
schedule_exchange_gap (const Schedule *self, guint *ahead)
{
  *ahead = self->ahead;
  return self->gap > 0 ? self->gap : self->steps_per_period;
}

gboolean
schedule_crosses_steps (const Schedule *self)
{
  return self->crosses;
}

guint
schedule_steps_per_period (const Schedule *self)
{
  return self->steps_per_period;
}

guint
schedule_n_units (const Schedule *self)
{
  return self->units->len;
}

static const ScheduleUnit *
unit_info (const Schedule *self, guint unit)
{
  g_assert (unit < self->units->len);
  return &g_array_index (self->units, ScheduleUnit, unit);
}

guint
schedule_unit_layer (const Schedule *self, guint unit)
{
  return unit_info (self, unit)->layer;
}

const char *
schedule_unit_name (const Schedule *self, guint unit)
{
  return unit_info (self, unit)->name;
}
