/*
 * One pass over the items of each section, then the collectives of roles that meet. Within a role
 * there is no cycle once every wait follows its record in host order; between roles progress.c
 * looks for one.
 */
#include "schedule/schedule-private.h"

#define BUFFER_UNBORN  0
#define BUFFER_FREED   (SECTION_N + 1) /* 1 + section while it lives */
#define BUFFER_CARRIED (SECTION_N + 2) /* by this section or one before */

typedef struct
{
  const Schedule *schedule;
  DiagList       *diags;
  StopPoll       *poll;
  guint           role;
  ScheduleSection section;
  guint8         *buffers;  /* of the role: BUFFER_* */
  guint8         *recorded; /* events of the section */
  gboolean        sound;
} Checker;

static void G_GNUC_PRINTF (3, 4) complain (Checker *self, guint item, const char *format, ...)
{
  g_autofree char *place = schedule_item_place (self->schedule, self->role, self->section, item);
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  diag_error (self->diags, NULL, NULL, "%s: %s", place, what);
  self->sound = FALSE;
}

/* ---- one section ----------------------------------------------------------------------------- */

static void
check_event (Checker *self, guint item, EventRef event)
{
  if (event == SCHEDULE_FOREIGN)
    complain (self, item, "waits for an event of another section");
  else if (event >= schedule_n_events (self->schedule, self->role, self->section)
           || !self->recorded[event])
    complain (self, item, "waits for event e%u, which is not recorded before it", event);
}

static void
check_use (Checker *self, guint item, BufferRef buffer)
{
  guint8 state;

  if (buffer >= SCHEDULE_FIRST_DATA
      && buffer - SCHEDULE_FIRST_DATA < self->schedule->roles[self->role].data->len)
    return;
  if (buffer >= schedule_n_buffers (self->schedule, self->role))
    {
      complain (self, item, "uses a buffer that does not exist");
      return;
    }
  state = self->buffers[buffer];
  if (state == BUFFER_UNBORN)
    complain (self, item, "uses buffer b%u before it is allocated", buffer);
  else if (state == BUFFER_FREED)
    complain (self, item, "uses buffer b%u ('%s') after it is freed", buffer,
              schedule_buffer_info (self->schedule, self->role, buffer)->label);
}

static void
check_free (Checker *self, guint index, const ScheduleItem *item)
{
  guint8 state;

  if (item->event != SCHEDULE_NONE)
    check_event (self, index, item->event);
  if (item->ref >= schedule_n_buffers (self->schedule, self->role))
    {
      complain (self, index, "frees a buffer that does not exist");
      return;
    }
  state = self->buffers[item->ref];
  if (state == BUFFER_UNBORN)
    complain (self, index, "frees buffer b%u before it is allocated", item->ref);
  else if (state == BUFFER_FREED)
    complain (self, index, "frees buffer b%u a second time", item->ref);
  else if (state != 1 + self->section && state != BUFFER_CARRIED)
    complain (self, index, "frees buffer b%u of the %s section", item->ref,
              schedule_section_name ((ScheduleSection) (state - 1)));
  self->buffers[item->ref] = BUFFER_FREED;
}

static gboolean
are_alike (const ScheduleBuffer *a, const ScheduleBuffer *b)
{
  return a->place == b->place && a->category == b->category && a->bytes == b->bytes
         && a->stream == b->stream;
}

static void
check_pass (Checker *self, guint index, const ScheduleItem *item)
{
  const ScheduleBuffer *from = schedule_buffer_info (self->schedule, self->role, item->ref);
  const ScheduleBuffer *to = schedule_buffer_info (self->schedule, self->role, item->event);

  if (self->buffers[item->ref] != 1 + self->section)
    complain (self, index, "carries buffer b%u, which this section has not, or no longer",
              item->ref);
  if (self->buffers[item->event] == BUFFER_CARRIED)
    complain (self, index, "carries '%s' while the one that was carried before is not freed",
              item->label);
  if (!are_alike (from, to))
    complain (self, index,
              "carries %" G_GUINT64_FORMAT " bytes in %s as '%s', which has %" G_GUINT64_FORMAT
              " bytes in %s",
              from->bytes, place_name (from->place), item->label, to->bytes,
              place_name (to->place));
  self->buffers[item->ref] = BUFFER_FREED;
  self->buffers[item->event] = BUFFER_CARRIED;
}

/* Whether some section of ROLE carries an event in SLOT. */
static gboolean
is_carried (const Schedule *schedule, guint role, guint32 slot)
{
  for (guint s = 0; s < SECTION_N; s++)
    {
      ScheduleItems items = schedule_items (schedule, role, s);

      for (guint i = 0; i < items.n; i++)
        if (items.items[i].kind == ITEM_CARRY && items.items[i].event == slot)
          return TRUE;
    }
  return FALSE;
}

static void
check_item (Checker *self, guint index, const ScheduleItem *item)
{
  switch ((ItemKind) item->kind)
    {
    case ITEM_RECORD:
      self->recorded[item->ref] = 1;
      break;
    case ITEM_TAKE:
      self->recorded[item->ref] = 1;
      if (!is_carried (self->schedule, self->role, item->event))
        complain (self, index, "takes an event that no section carries");
      break;
    case ITEM_CARRY:
    case ITEM_WAIT:
    case ITEM_HOST_WAIT:
      check_event (self, index, item->ref);
      break;
    case ITEM_ALLOC:
      self->buffers[item->ref] = (guint8) (1 + self->section);
      break;
    case ITEM_FREE:
      check_free (self, index, item);
      break;
    case ITEM_PASS:
      check_pass (self, index, item);
      break;
    case ITEM_KERNEL:
    case ITEM_COLLECTIVE:
    case ITEM_MOVE:
    case ITEM_HOST_OP:
    case ITEM_HOST_HOOK:
    case ITEM_STEP:
    case ITEM_P2P:
    case ITEM_N_KINDS:
      break;
    }
}

/* Buffers that this section allocated and still holds at its end; init's may stay. */
static void
check_leaks (Checker *self, ScheduleItems items)
{
  if (self->section == SECTION_INIT)
    return;
  for (guint i = 0; i < items.n; i++)
    if (items.items[i].kind == ITEM_ALLOC && self->buffers[items.items[i].ref] == 1 + self->section)
      {
        complain (self, i, "buffer b%u is never freed", items.items[i].ref);
        self->buffers[items.items[i].ref] = BUFFER_FREED; /* its uses later on are not news */
      }
}

/*
 * A period that repeats leaves what it found. HAD: what was carried into this section, by the
 * role's list.
 */
static void
check_carried (Checker *self, ScheduleItems items, const gboolean *had)
{
  const GArray *passed = self->schedule->roles[self->role].passed;

  if (self->section != SECTION_STEADY
      && !(self->section == SECTION_FIRST && schedule_shares_steady (self->schedule, self->role)))
    return;
  for (guint i = 0; i < passed->len; i++)
    {
      const CarriedBuffer *carried = &g_array_index (passed, CarriedBuffer, i);
      gboolean             has = self->buffers[carried->buffer] == BUFFER_CARRIED;

      if (had[i] != has)
        complain (self, items.n, "this period %s '%s' and %s", had[i] ? "finds" : "carries",
                  carried->name, had[i] ? "carries none to the next" : "finds none");
    }
}

/* Newly allocated: see check_carried. */
static gboolean *
list_carried (const Checker *self)
{
  const GArray *passed = self->schedule->roles[self->role].passed;
  gboolean     *had = g_new0 (gboolean, passed->len + 1);

  for (guint i = 0; i < passed->len; i++)
    had[i] = self->buffers[g_array_index (passed, CarriedBuffer, i).buffer] == BUFFER_CARRIED;
  return had;
}

static void
check_steps (Checker *self, ScheduleItems items)
{
  guint expected = self->section == SECTION_INIT ? 0 : self->schedule->steps_per_period;
  guint n_steps = 0;

  for (guint i = 0; i < items.n; i++)
    n_steps += items.items[i].kind == ITEM_STEP;
  if (n_steps != expected)
    complain (self, items.n, "%u steps are marked instead of %u", n_steps, expected);
}

/* The uses from FROM on that are before ITEM or (OWN) its own. Returns the next one. */
static guint
check_uses (Checker *self, const Vector *uses, guint from, guint item, gboolean own)
{
  for (; from < uses->len; from++)
    {
      const ScheduleUse *use = &vector_at (uses, ScheduleUse, from);

      if (use->item != item || (use->stream == USE_BY_ITEM) != own)
        break;
      check_use (self, item, use->buffer);
    }
  return from;
}

static void
check_section (Checker *self)
{
  const Vector        *uses = schedule_program (self->schedule, self->role, self->section)->uses;
  ScheduleItems        items = schedule_items (self->schedule, self->role, self->section);
  g_autofree gboolean *had = list_carried (self);
  guint                u = 0;

  self->recorded = g_new0 (guint8, schedule_n_events (self->schedule, self->role, self->section));
  for (guint i = 0; i <= items.n && !stop_poll (self->poll); i++)
    {
      u = check_uses (self, uses, u, i, FALSE);
      if (i < items.n)
        check_item (self, i, &items.items[i]);
      u = check_uses (self, uses, u, i, TRUE);
    }
  g_clear_pointer (&self->recorded, g_free);
  if (self->poll->cut)
    {
      self->sound = FALSE;
      return;
    }
  check_leaks (self, items);
  check_carried (self, items, had);
  check_steps (self, items);
}

static gboolean
check_programs (const Schedule *schedule, guint role, StopPoll *poll, DiagList *diags)
{
  Checker self = {
    .schedule = schedule, .diags = diags, .poll = poll, .role = role, .sound = TRUE
  };

  self.buffers = g_new0 (guint8, schedule_n_buffers (schedule, role));
  for (guint s = 0; s < SECTION_N; s++)
    {
      self.section = (ScheduleSection) s;
      if (s != SECTION_STEADY || !schedule_shares_steady (schedule, role))
        check_section (&self);
    }
  g_free (self.buffers);
  return self.sound && schedule_check_data (schedule, role, poll, diags);
}

static gboolean
check_role (const Schedule *schedule, guint role, SoundPrograms *known, StopPoll *poll,
            DiagList *diags)
{
  ProgramPrint print;

  if (known == NULL)
    return check_programs (schedule, role, poll, diags);
  print = program_print (schedule, role);
  if (sound_programs_have (known, &print))
    return TRUE;
  if (!check_programs (schedule, role, poll, diags))
    return FALSE;
  sound_programs_add (known, &print);
  return TRUE;
}

/* ---- communicators --------------------------------------------------------------------------- */

static gboolean
check_groups (const Schedule *self, const Mesh *mesh, DiagList *diags)
{
  const Mesh world = { .n_ranks = mesh->world, .world = mesh->world };
  gboolean   sound = TRUE;

  for (guint c = 0; c < schedule_n_comms (self); c++)
    {
      const ScheduleComm *comm = schedule_comm_info (self, c);

      if (mesh_group_tiles (&world, comm->group))
        continue;
      diag_error (diags, NULL, NULL,
                  "communicator '%s': groups of %u ranks, %u apart, do not tile %u ranks",
                  comm->name, comm->group.size, comm->group.stride, mesh->world);
      sound = FALSE;
    }
  return sound;
}

/* The next collective of ITEMS on COMM at or after FROM; ITEMS.n when there is none. */
static guint
next_collective (ScheduleItems items, CommRef comm, guint from)
{
  while (from < items.n
         && !(items.items[from].kind == ITEM_COLLECTIVE && items.items[from].ref == comm))
    from++;
  return from;
}

static void
complain_mismatch (const Schedule *self, CommRef comm, const guint role[2], ScheduleSection section,
                   const guint item[2], DiagList *diags)
{
  g_autoptr (GString) text = g_string_new (NULL);

  for (guint side = 0; side < 2; side++)
    {
      ScheduleItems    items = schedule_items (self, role[side], section);
      g_autofree char *place = schedule_item_place (self, role[side], section, item[side]);

      g_string_append_printf (text, "%s%s: ", side == 0 ? "" : ", but ", place);
      if (item[side] == items.n)
        g_string_append (text, "no collective is left");
      else
        g_string_append_printf (
            text, "%s of %" G_GUINT64_FORMAT " bytes",
            collective_kind_name ((CollectiveKind) items.items[item[side]].collective),
            items.items[item[side]].bytes);
    }
  diag_error (diags, NULL, NULL,
              "communicator '%s': its ranks do not issue the same collectives: %s",
              schedule_comm_info (self, comm)->name, text->str);
}

/* Whether two roles issue the same collectives on COMM; the first difference is diagnosed. */
static gboolean
check_sequences (const Schedule *self, CommRef comm, const guint role[2], ScheduleSection section,
                 DiagList *diags)
{
  ScheduleItems a = schedule_items (self, role[0], section),
                b = schedule_items (self, role[1], section);
  guint at[2] = { next_collective (a, comm, 0), next_collective (b, comm, 0) };

  while (at[0] < a.n && at[1] < b.n)
    {
      const ScheduleItem *x = &a.items[at[0]], *y = &b.items[at[1]];

      if (x->collective != y->collective || x->bytes != y->bytes)
        break;
      at[0] = next_collective (a, comm, at[0] + 1);
      at[1] = next_collective (b, comm, at[1] + 1);
    }
  if (at[0] == a.n && at[1] == b.n)
    return TRUE;
  complain_mismatch (self, comm, role, section, at, diags);
  return FALSE;
}

static gboolean
check_comm (const Schedule *self, CommRef comm, StopPoll *poll, DiagList *diags)
{
  g_autofree guint *meets = schedule_comm_roles (self, comm);
  gboolean          sound = TRUE;

  for (guint role = 0; role < self->n_roles; role++)
    for (guint s = 0; s < schedule_n_sections (self) && meets[role] != role; s++)
      sound &= !stop_poll_now (poll)
               && check_sequences (self, comm, (guint[2]){ meets[role], role }, (ScheduleSection) s,
                                   diags);
  return sound;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Whether the message at INDEX has a partner of its size; a call must not change streams. */
static gboolean
check_message (const Schedule *self, const Partners *partners, guint role, ScheduleSection section,
               guint index, DiagList *diags)
{
  const ScheduleItem *item = &schedule_items (self, role, section).items[index];
  const char         *comm = schedule_comm_info (self, item->ref)->name;
  const char         *way = schedule_message_name ((ScheduleMessage) item->collective);
  g_autofree char    *place = schedule_item_place (self, role, section, index);
  guint               other = partners_role (partners, role, item);
  guint               partner = partners_item (partners, role, index);
  const ScheduleItem *met =
      partner != SCHEDULE_NONE ? &schedule_items (self, other, section).items[partner] : NULL;

  if (item->more && (item[1].kind != ITEM_P2P || item[1].stream != item->stream))
    diag_error (diags, NULL, NULL, "%s: the next item is not of the same group call", place);
  else if (met == NULL)
    diag_error (diags, NULL, NULL, "%s: role %u has no message for this %s on '%s'", place, other,
                way, comm);
  else if (met->bytes != item->bytes)
    diag_error (diags, NULL, NULL,
                "%s: %s of %" G_GUINT64_FORMAT " bytes on '%s' meets %" G_GUINT64_FORMAT
                " bytes of role %u",
                place, way, item->bytes, comm, met->bytes, other);
  else
    return TRUE;
  return FALSE;
}

static gboolean
has_messages (const Schedule *self, ScheduleSection section)
{
  for (guint role = 0; role < self->n_roles; role++)
    {
      ScheduleItems items = schedule_items (self, role, section);

      for (guint i = 0; i < items.n; i++)
        if (items.items[i].kind == ITEM_P2P)
          return TRUE;
    }
  return FALSE;
}

/* The first fault of each role is enough. */
static gboolean
check_messages (const Schedule *self, ScheduleSection section, StopPoll *poll, DiagList *diags)
{
  Partners *partners;
  gboolean  sound = TRUE;

  if (!has_messages (self, section))
    return TRUE;
  partners = partners_new (self, section, poll);
  for (guint role = 0; role < self->n_roles; role++)
    {
      ScheduleItems items = schedule_items (self, role, section);
      gboolean      ok = TRUE;

      for (guint i = 0; i < items.n && ok && !stop_poll (poll); i++)
        if (items.items[i].kind == ITEM_P2P)
          ok = check_message (self, partners, role, section, i, diags);
      sound &= ok;
    }
  partners_free (partners);
  return sound && !poll->cut;
}

/* ---- entry point ----------------------------------------------------------------------------- */

gboolean
schedule_check (const Schedule *self, const Mesh *mesh, Stop *stop, DiagList *diags)
{
  return schedule_check_once (self, mesh, NULL, stop, diags);
}

gboolean
schedule_check_once (const Schedule *self, const Mesh *mesh, SoundPrograms *known, Stop *stop,
                     DiagList *diags)
{
  StopPoll poll = { .stop = stop };
  gboolean sound = check_groups (self, mesh, diags);

  for (guint role = 0; role < self->n_roles; role++)
    sound &= check_role (self, role, known, &poll, diags);
  if (!sound || self->n_roles == 1)
    return sound;
  for (guint c = 0; c < schedule_n_comms (self); c++)
    sound &= check_comm (self, c, &poll, diags);
  for (guint s = 0; s < schedule_n_sections (self); s++)
    sound &= check_messages (self, (ScheduleSection) s, &poll, diags);
  return sound && schedule_check_progress (self, &poll, diags);
}
