/*
 * Whether nothing of a rank ever runs beside its kernels, whatever takes how long: what ends sooner
 * or later then only moves them.
 *
 * Set: the items of a role, in the order in which its host issues them, each behind all earlier
 * ones of its stream, behind what that stream waits for, and behind what the host waited for.
 * Computed: for each stream how many items of each other one stand before whatever it is given
 * next. Kernels run alone where each stands behind all items issued before it, and all others stand
 * behind all kernels issued before them.
 *
 * Messages of one call may pass each other, but stand behind the same: they count as items of one
 * stream.
 */
#include "replay/bind/bind-private.h"

#include <string.h>

typedef struct
{
  const Schedule *schedule;
  guint           role, n;          /* `n` streams */
  guint          *issued, *kernel;  /* [n]: items so far, and up to the last kernel */
  guint          *behind;           /* [n][n]: what the next item of a stream stands behind */
  guint          *events, *carried; /* [events][n] of the section, [slots][n] */
} Order;

/* The counts of stream, event or slot I in TABLE. */
static guint *
row_of (const Order *self, guint *table, gsize i)
{
  return table + i * self->n;
}

static void
join (const Order *self, guint *to, const guint *other)
{
  for (guint s = 0; s < self->n; s++)
    to[s] = MAX (to[s], other[s]);
}

static void
copy (const Order *self, guint *to, const guint *other)
{
  memcpy (to, other, self->n * sizeof (guint));
}

/* Everything that is issued from now on stands behind COUNTS. */
static void
hold_host (Order *self, const guint *counts)
{
  for (guint s = 0; s < self->n; s++)
    join (self, row_of (self, self->behind, s), counts);
}

/* FALSE: ITEM may run beside a kernel, or is one that something runs beside. */
static gboolean
issue (Order *self, const ScheduleItem *item)
{
  const gboolean kernel = item->kind == ITEM_KERNEL;
  guint         *behind = row_of (self, self->behind, item->stream);
  const guint   *needed = kernel ? self->issued : self->kernel;

  for (guint s = 0; s < self->n; s++)
    if (behind[s] < needed[s])
      return FALSE;
  behind[item->stream] = ++self->issued[item->stream];
  if (kernel)
    self->kernel[item->stream] = self->issued[item->stream];
  return TRUE;
}

static gboolean
take_item (Order *self, const ScheduleItem *item)
{
  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
    case ITEM_COLLECTIVE:
    case ITEM_MOVE:
    case ITEM_P2P:
      return issue (self, item);
    case ITEM_HOST_OP: /* those of several ranks share a host */
      return FALSE;
    case ITEM_RECORD:
      copy (self, row_of (self, self->events, item->ref),
            row_of (self, self->behind, item->stream));
      break;
    case ITEM_WAIT:
      join (self, row_of (self, self->behind, item->stream),
            row_of (self, self->events, item->ref));
      break;
    case ITEM_HOST_WAIT:
      hold_host (self, row_of (self, self->events, item->ref));
      break;
    case ITEM_CARRY:
      copy (self, row_of (self, self->carried, item->event),
            row_of (self, self->events, item->ref));
      break;
    case ITEM_TAKE:
      copy (self, row_of (self, self->events, item->ref),
            row_of (self, self->carried, item->event));
      break;
    default:
      break;
    }
  return TRUE;
}

static gboolean
take_section (Order *self, ScheduleSection section)
{
  const ScheduleItems items = schedule_items (self->schedule, self->role, section);
  const guint         n_events = schedule_n_events (self->schedule, self->role, section);
  gboolean            alone = TRUE;

  self->events = g_new0 (guint, (gsize) n_events * self->n + 1);
  for (guint i = 0; i < items.n && alone; i++)
    alone = take_item (self, &items.items[i]);
  g_clear_pointer (&self->events, g_free);
  return alone;
}

/* How many issued items each stream does not stand behind. */
static void
note_lags (const Order *self, guint *lags)
{
  for (guint i = 0; i < self->n * self->n; i++)
    lags[i] = self->issued[i % self->n] - self->behind[i];
}

/* Two steady periods show what all do where they end with the streams as far behind each other. */
static gboolean
take_periods (Order *self)
{
  const gsize       size = (gsize) self->n * self->n;
  g_autofree guint *before = g_new (guint, size + 1), *after = g_new (guint, size + 1);

  if (!take_section (self, SECTION_INIT) || !take_section (self, SECTION_FIRST)
      || !take_section (self, SECTION_STEADY))
    return FALSE;
  note_lags (self, before);
  if (!take_section (self, SECTION_STEADY))
    return FALSE;
  note_lags (self, after);
  return memcmp (before, after, size * sizeof (guint)) == 0;
}

static gboolean
role_runs_alone (const Schedule *schedule, guint role)
{
  const guint n = schedule_n_streams (schedule);
  Order       self = { .schedule = schedule, .role = role, .n = n };
  gboolean    alone;

  self.issued = g_new0 (guint, n + 1);
  self.kernel = g_new0 (guint, n + 1);
  self.behind = g_new0 (guint, (gsize) n * n + 1);
  self.carried = g_new0 (guint, (gsize) schedule_n_carried (schedule, role) * n + 1);
  alone = take_periods (&self);
  g_free (self.issued);
  g_free (self.kernel);
  g_free (self.behind);
  g_free (self.carried);
  return alone;
}

gboolean
kernels_run_alone (const Schedule *schedule)
{
  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    if (!role_runs_alone (schedule, role))
      return FALSE;
  return TRUE;
}
