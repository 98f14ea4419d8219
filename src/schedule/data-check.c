/*
 * Whether events order what accesses the same data.
 *
 * Set: what each op of a role reads and writes (ScheduleUse), and the waits of its program.
 * Computed: vector clocks. A thread is a stream or the host; it ticks with each op and with each
 * wait that taught it something. A clock says for every thread the tick up to which all is known to
 * be over. A record keeps the clock of its stream; a wait takes the maximum of two clocks; what the
 * host knows holds for all that it issues later. An op may start when its clock allows: it must
 * hold the last write of what the op reads, and the last write and all later reads of what it
 * writes.
 *
 * Memory that is freed goes back to the pool of its stream, in that stream's order (host memory: in
 * the host's), or when an event has happened. So all uses of a buffer must be over where it goes
 * back, and an op of another stream that uses a buffer of the pool must come after all that the
 * pool's stream had been given when the buffer was allocated.
 *
 * A section is walked once: init, first, steady, and steady again, unless the host knows at the end
 * of a period that all is over; then nothing of it can meet the next one.
 */
#include <string.h>

#include "schedule/access-history-private.h"
#include "schedule/schedule-private.h"

typedef struct
{
  AccessHistory whole, *parts;
  guint         n_parts;
  gboolean      filled; /* before training begins */
  guint32       mark;   /* tick of its pool's stream when it was allocated */
} Tracked;

typedef struct
{
  const Schedule *schedule;
  DiagList       *diags;
  StopPoll       *poll;
  guint           role;
  guint8          section;
  guint           n_streams, n_threads; /* thread n_streams is the host */
  guint32        *clocks;               /* [thread][thread] */
  guint32        *known;                /* [stream]: version of the host's clock that it has */
  guint32         version;
  guint32        *scratch; /* [thread] */
  guint32        *events;  /* [event][thread] of the section */
  guint32        *carried; /* [slot][thread]: of the events that cross the ends of sections */
  Tracked       **tracked; /* by buffer, then data */
  GPtrArray      *spare;   /* Tracked */
  guint           n_buffers;
  gboolean        in_call; /* the next message starts with the one before */
  gboolean        sound;   /* by all that was looked at */
} DataCheck;

/* ---- clocks ---------------------------------------------------------------------------------- */

static guint32 *
clock_of (const DataCheck *self, guint thread)
{
  return self->clocks + (gsize) thread * self->n_threads;
}

/* Of the INDEX-th in CLOCKS. */
static guint32 *
clock_at (const DataCheck *self, guint32 *clocks, guint32 index)
{
  return clocks + (gsize) index * self->n_threads;
}

static guint32 *
host_clock (const DataCheck *self)
{
  return clock_of (self, self->n_streams);
}

/* The clock of STREAM as the host issues something there. */
static guint32 *
issue_clock (DataCheck *self, guint stream)
{
  guint32 *clock = clock_of (self, stream);

  if (self->known[stream] != self->version)
    vector_clock_merge (clock, host_clock (self), self->n_threads);
  self->known[stream] = self->version;
  return clock;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static const char *
thread_name (const DataCheck *self, guint thread)
{
  return thread == self->n_streams ? "the host"
                                   : schedule_stream_info (self->schedule, thread)->name;
}

static char *
access_place (const DataCheck *self, const Access *access)
{
  g_autofree char *place = schedule_item_place (self->schedule, self->role,
                                                (ScheduleSection) access->section, access->item);

  if (!access->before)
    return g_steal_pointer (&place);
  return g_strdup_printf ("what '%s' does before %s", thread_name (self, access->thread), place);
}

static const char *
data_label (const DataCheck *self, BufferRef buffer)
{
  const ScheduleRole *role = &self->schedule->roles[self->role];

  return buffer < SCHEDULE_FIRST_DATA
             ? schedule_buffer_info (self->schedule, self->role, buffer)->label
             : g_ptr_array_index (role->data, buffer - SCHEDULE_FIRST_DATA);
}

/* "'gradients', block 3": the part of it, where it has some. */
static char *
data_name (const DataCheck *self, BufferRef buffer, guint part)
{
  const ScheduleRole *role = &self->schedule->roles[self->role];
  guint               unit = part != SCHEDULE_WHOLE ? role->unit_offset + part : SCHEDULE_NONE;
  const char         *name = NULL;

  if (buffer < SCHEDULE_FIRST_DATA
      && schedule_buffer_info (self->schedule, self->role, buffer)->unit != SCHEDULE_NONE)
    unit = schedule_buffer_info (self->schedule, self->role, buffer)->unit;
  if (unit < schedule_n_units (self->schedule))
    name = schedule_unit_name (self->schedule, unit);
  return g_strdup_printf ("'%s'%s%s", data_label (self, buffer), name != NULL ? ", " : "",
                          name != NULL ? name : "");
}

static void G_GNUC_PRINTF (4, 5)
    complain (DataCheck *self, const Access *access, const char *hint, const char *format, ...)
{
  g_autofree char *place = access_place (self, access);
  g_autofree char *what = NULL;
  va_list          args;

  va_start (args, format);
  what = g_strdup_vprintf (format, args);
  va_end (args);
  diag_error (self->diags, NULL, hint, "%s: %s", place, what);
  self->sound = FALSE;
}

/* ACCESS may run before OTHER, which DOES something to the data. */
static void
complain_order (DataCheck *self, const Access *access, const Access *other, const char *does,
                BufferRef buffer, guint part)
{
  g_autofree char *place = access_place (self, other);
  g_autofree char *data = data_name (self, buffer, part);
  g_autofree char *hint =
      g_strdup_printf ("let '%s' wait for an event that '%s' records behind it",
                       thread_name (self, access->thread), thread_name (self, other->thread));

  complain (self, access, hint, "may run before %s, which %s (%s): no event orders them", place,
            does, data);
}

/* ---- buffers --------------------------------------------------------------------------------- */

static guint
tracked_index (const DataCheck *self, BufferRef buffer)
{
  return buffer < SCHEDULE_FIRST_DATA ? buffer : self->n_buffers + (buffer - SCHEDULE_FIRST_DATA);
}

static Tracked *
track (DataCheck *self, BufferRef buffer)
{
  Tracked **slot = &self->tracked[tracked_index (self, buffer)];

  if (*slot == NULL)
    *slot = self->spare->len > 0 ? g_ptr_array_steal_index_fast (self->spare, self->spare->len - 1)
                                 : g_new0 (Tracked, 1);
  return *slot;
}

static void
tracked_free (Tracked *self)
{
  for (guint i = 0; i < self->n_parts; i++)
    g_free (self->parts[i].reads);
  g_free (self->parts);
  g_free (self->whole.reads);
  g_free (self);
}

/* Its memory serves the next buffer. */
static void
forget (DataCheck *self, BufferRef buffer)
{
  Tracked **slot = &self->tracked[tracked_index (self, buffer)];

  if (*slot == NULL)
    return;
  access_history_reset (&(*slot)->whole);
  for (guint i = 0; i < (*slot)->n_parts; i++)
    access_history_reset (&(*slot)->parts[i]);
  (*slot)->filled = FALSE;
  (*slot)->mark = 0;
  g_ptr_array_add (self->spare, *slot);
  *slot = NULL;
}

static AccessHistory *
part_of (Tracked *tracked, guint part)
{
  if (part >= tracked->n_parts)
    {
      guint n = MAX (part + 1, tracked->n_parts * 2);

      tracked->parts = g_renew (AccessHistory, tracked->parts, n);
      memset (tracked->parts + tracked->n_parts, 0,
              (n - tracked->n_parts) * sizeof (AccessHistory));
      tracked->n_parts = n;
    }
  return &tracked->parts[part];
}

/* Memory of the pool of its stream: a stream number, or SCHEDULE_NONE for the host's. */
static guint32
pool_of (const DataCheck *self, BufferRef buffer)
{
  const ScheduleBuffer *info = schedule_buffer_info (self->schedule, self->role, buffer);

  return info->place == PLACE_HBM ? info->stream : SCHEDULE_NONE;
}

static void
allocate (DataCheck *self, BufferRef buffer)
{
  const ScheduleBuffer *info = schedule_buffer_info (self->schedule, self->role, buffer);
  Tracked              *tracked;

  forget (self, buffer);
  tracked = track (self, buffer);
  tracked->filled = self->section == SECTION_INIT && pool_category_is_filled (info->category);
  if (info->place == PLACE_HBM)
    tracked->mark = clock_of (self, info->stream)[info->stream];
}

/* ---- uses ------------------------------------------------------------------------------------ */

static gboolean
was_produced (const Tracked *tracked, guint part)
{
  if (tracked->filled || tracked->whole.write.position > 0)
    return TRUE;
  if (part != SCHEDULE_WHOLE)
    return part < tracked->n_parts && tracked->parts[part].write.position > 0;
  for (guint i = 0; i < tracked->n_parts; i++)
    if (tracked->parts[i].write.position > 0)
      return TRUE;
  return FALSE;
}

/* The histories that a use of PART concerns: FIRST to the end that is returned, and the whole. */
static guint
concerned (Tracked *tracked, guint part, guint *first)
{
  *first = part == SCHEDULE_WHOLE ? 0 : part;
  if (part != SCHEDULE_WHOLE)
    part_of (tracked, part);
  return part == SCHEDULE_WHOLE ? tracked->n_parts : part + 1;
}

static gboolean
check_order (DataCheck *self, Tracked *tracked, const ScheduleUse *use, const Access *access,
             const guint32 *clock)
{
  gboolean             writes = (use->access & ACCESS_WRITE) != 0;
  const AccessHistory *history = &tracked->whole;
  const Access        *other = access_history_conflict (history, access, clock, writes);
  guint                first, end = concerned (tracked, use->part, &first);

  for (guint i = first; i < end && other == NULL; i++)
    {
      history = &tracked->parts[i];
      other = access_history_conflict (history, access, clock, writes);
    }
  if (other == NULL)
    return TRUE;
  complain_order (self, access, other,
                  other != &history->write           ? "reads what it writes"
                  : (use->access & ACCESS_READ) != 0 ? "writes what it reads"
                                                     : "writes what it writes",
                  use->buffer, use->part);
  return FALSE;
}

/*
 * Another stream than the pool's comes after what the pool's had been given when the memory was
 * taken.
 */
static gboolean
check_memory (DataCheck *self, const Tracked *tracked, const ScheduleUse *use, const Access *access,
              const guint32 *clock)
{
  guint32 pool = use->buffer < SCHEDULE_FIRST_DATA ? pool_of (self, use->buffer) : SCHEDULE_NONE;
  g_autofree char *data = NULL, *hint = NULL;

  if (pool == SCHEDULE_NONE || pool == access->thread || tracked->mark <= clock[pool])
    return TRUE;
  data = data_name (self, use->buffer, use->part);
  hint = g_strdup_printf ("let '%s' wait for '%s', or allocate it while '%s' is current",
                          thread_name (self, access->thread), thread_name (self, pool),
                          thread_name (self, access->thread));
  complain (self, access, hint,
            "the memory of %s comes from the pool of '%s', whose ops may still use it: no event "
            "orders them",
            data, thread_name (self, pool));
  return FALSE;
}

static void
note_use (Tracked *tracked, const ScheduleUse *use, const Access *access)
{
  gboolean       writes = (use->access & ACCESS_WRITE) != 0;
  AccessHistory *history =
      use->part == SCHEDULE_WHOLE ? &tracked->whole : part_of (tracked, use->part);

  if (!writes)
    {
      access_history_add_read (history, access);
      return;
    }
  access_history_reset (history);
  history->write = *access;
  for (guint i = 0; i < tracked->n_parts && use->part == SCHEDULE_WHOLE; i++)
    access_history_reset (&tracked->parts[i]);
}

static void
apply_use (DataCheck *self, const ScheduleUse *use, const Access *access, const guint32 *clock)
{
  Tracked *tracked = track (self, use->buffer);

  if ((use->access & ACCESS_READ) != 0 && !was_produced (tracked, use->part))
    {
      g_autofree char *data = data_name (self, use->buffer, use->part);

      complain (self, access, "declare the op that writes it before",
                "reads %s, which nothing wrote", data);
    }
  else if (check_order (self, tracked, use, access, clock)
           && check_memory (self, tracked, use, access, clock))
    note_use (tracked, use, access);
}

/* ---- memory that is given back --------------------------------------------------------------- */

static const Access *
find_not_over (const Tracked *tracked, const guint32 *clock)
{
  const Access  nobody = { .position = 0 };
  const Access *access = access_history_conflict (&tracked->whole, &nobody, clock, TRUE);

  for (guint i = 0; i < tracked->n_parts && access == NULL; i++)
    access = access_history_conflict (&tracked->parts[i], &nobody, clock, TRUE);
  return access;
}

/*
 * In the order of its pool's stream, or behind an event; never before what the host knows to be
 * over.
 */
static void
give_back (DataCheck *self, const ScheduleItem *item, guint index)
{
  const Tracked *tracked = track (self, item->ref);
  guint32        pool = pool_of (self, item->ref);
  guint32       *clock = self->scratch;
  const Access  *access;

  memcpy (clock, host_clock (self), self->n_threads * sizeof *clock);
  access = find_not_over (tracked, clock);
  if (access != NULL && item->event != SCHEDULE_NONE)
    {
      vector_clock_merge (clock, clock_at (self, self->events, item->event), self->n_threads);
      access = find_not_over (tracked, clock);
    }
  if (access != NULL && pool != SCHEDULE_NONE)
    {
      vector_clock_merge (clock, clock_of (self, pool), self->n_threads);
      access = find_not_over (tracked, clock);
    }
  if (access != NULL)
    {
      const Access     here = { .item = index, .section = self->section };
      g_autofree char *place = access_place (self, access);
      g_autofree char *data = data_name (self, item->ref, SCHEDULE_WHOLE);
      const char      *whose = pool != SCHEDULE_NONE ? thread_name (self, pool) : "the host";
      g_autofree char *hint = g_strdup_printf ("free it after an event that '%s' records behind it",
                                               thread_name (self, access->thread));

      complain (self, &here, hint,
                "%s goes back to the pool of '%s', but %s may still use it: no event orders them",
                data, whose, place);
    }
  forget (self, item->ref);
}

/* ---- items ----------------------------------------------------------------------------------- */

/* A wait for pace teaches nothing: data may not rely on it. */
static void
wait_for (DataCheck *self, const ScheduleItem *item)
{
  const guint32 *event = clock_at (self, self->events, item->ref);

  if (item->collective == WAIT_FOR_PACE)
    return;
  if (item->kind == ITEM_HOST_WAIT)
    self->version += vector_clock_merge (host_clock (self), event, self->n_threads);
  else if (vector_clock_merge (issue_clock (self, item->stream), event, self->n_threads))
    clock_of (self,
              item->stream)[item->stream]++; /* known to who waits for this stream from now on */
}

/*
 * An op at INDEX and its uses from FROM on. Messages of one call start at once. Returns the next
 * use.
 */
static guint
run_op (DataCheck *self, const ScheduleItem *item, guint index, const Vector *uses, guint from)
{
  guint32     *clock = issue_clock (self, item->stream);
  const Access access = { item->stream, clock[item->stream] + 1, index, self->section, FALSE };

  for (; from < uses->len && self->sound; from++)
    {
      const ScheduleUse *use = &vector_at (uses, ScheduleUse, from);

      if (use->item != index || use->stream != USE_BY_ITEM)
        break;
      apply_use (self, use, &access, clock);
    }
  if (item->kind != ITEM_P2P || !item->more)
    clock[item->stream]++;
  return from;
}

static guint
run_item (DataCheck *self, const ScheduleItem *item, guint index, const Vector *uses, guint from)
{
  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
    case ITEM_COLLECTIVE:
    case ITEM_MOVE:
    case ITEM_HOST_OP:
    case ITEM_P2P:
      return run_op (self, item, index, uses, from);
    case ITEM_RECORD:
      memcpy (clock_at (self, self->events, item->ref), issue_clock (self, item->stream),
              self->n_threads * sizeof *self->events);
      break;
    case ITEM_WAIT:
    case ITEM_HOST_WAIT:
      wait_for (self, item);
      break;
    case ITEM_CARRY:
      memcpy (clock_at (self, self->carried, item->event), clock_at (self, self->events, item->ref),
              self->n_threads * sizeof *self->events);
      break;
    case ITEM_TAKE:
      memcpy (clock_at (self, self->events, item->ref), clock_at (self, self->carried, item->event),
              self->n_threads * sizeof *self->events);
      break;
    case ITEM_ALLOC:
      allocate (self, item->ref);
      break;
    case ITEM_FREE:
      give_back (self, item, index);
      break;
    case ITEM_PASS:
      /* The data and its accesses go on under the other number. */
      forget (self, item->event);
      self->tracked[item->event] = g_steal_pointer (&self->tracked[item->ref]);
      break;
    case ITEM_HOST_HOOK:
    case ITEM_STEP:
    case ITEM_N_KINDS:
      break;
    }
  return from;
}

static void
run_section (DataCheck *self, ScheduleSection section)
{
  const Vector *uses = schedule_program (self->schedule, self->role, section)->uses;
  ScheduleItems items = schedule_items (self->schedule, self->role, section);
  guint         n_events = schedule_n_events (self->schedule, self->role, section);
  guint         u = 0;

  self->section = (guint8) section;
  self->events = g_new (guint32, (gsize) n_events * self->n_threads);
  for (guint i = 0; i <= items.n && self->sound && !stop_poll (self->poll); i++)
    {
      while (u < uses->len && self->sound && vector_at (uses, ScheduleUse, u).item == i
             && vector_at (uses, ScheduleUse, u).stream != USE_BY_ITEM)
        {
          /* What a stream or the host does before the item is an op of its own. */
          const ScheduleUse *use = &vector_at (uses, ScheduleUse, u++);
          guint              thread = use->stream == USE_BY_HOST ? self->n_streams : use->stream;
          guint32           *clock =
              use->stream == USE_BY_HOST ? host_clock (self) : issue_clock (self, thread);
          Access access = { thread, clock[thread] + 1, use->item, self->section, TRUE };

          apply_use (self, use, &access, clock);
          clock[thread]++;
          self->version += use->stream == USE_BY_HOST;
        }
      if (i < items.n && self->sound)
        u = run_item (self, &items.items[i], i, uses, u);
    }
  self->sound = self->sound && !self->poll->cut;
  g_clear_pointer (&self->events, g_free);
}

/* ---- entry point ----------------------------------------------------------------------------- */

/* The host knows that all streams have done all that they were given. */
static gboolean
all_is_over (const DataCheck *self)
{
  for (guint s = 0; s < self->n_streams; s++)
    if (host_clock (self)[s] < clock_of (self, s)[s])
      return FALSE;
  return TRUE;
}

static void
data_check_init (DataCheck *self, const Schedule *schedule, guint role, StopPoll *poll,
                 DiagList *diags)
{
  guint n = schedule_n_streams (schedule);
  guint n_buffers = schedule_n_buffers (schedule, role);

  *self = (DataCheck){ .schedule = schedule,
                       .diags = diags,
                       .poll = poll,
                       .role = role,
                       .n_streams = n,
                       .n_threads = n + 1,
                       .n_buffers = n_buffers,
                       .sound = TRUE };
  self->clocks = g_new0 (guint32, (gsize) self->n_threads * self->n_threads);
  self->known = g_new0 (guint32, n);
  self->scratch = g_new (guint32, self->n_threads);
  self->carried =
      g_new0 (guint32, (gsize) schedule_n_carried (schedule, role) * self->n_threads + 1);
  self->tracked = g_new0 (Tracked *, n_buffers + schedule->roles[role].data->len);
  self->spare = g_ptr_array_new_with_free_func ((GDestroyNotify) tracked_free);
}

static void
data_check_clear (DataCheck *self)
{
  guint n = self->n_buffers + self->schedule->roles[self->role].data->len;

  for (guint i = 0; i < n; i++)
    if (self->tracked[i] != NULL)
      tracked_free (self->tracked[i]);
  g_free (self->tracked);
  g_ptr_array_unref (self->spare);
  g_free (self->clocks);
  g_free (self->known);
  g_free (self->scratch);
  g_free (self->carried);
}

gboolean
schedule_check_data (const Schedule *self, guint role, StopPoll *poll, DiagList *diags)
{
  DataCheck check;

  data_check_init (&check, self, role, poll, diags);
  run_section (&check, SECTION_INIT);
  run_section (&check, SECTION_FIRST);
  if (check.sound && (!schedule_shares_steady (self, role) || !all_is_over (&check)))
    run_section (&check, SECTION_STEADY);
  if (check.sound && !all_is_over (&check))
    run_section (&check, SECTION_STEADY);
  data_check_clear (&check);
  return check.sound;
}
