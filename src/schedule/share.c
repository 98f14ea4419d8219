/*
 * Steady periods that are like the first share its program: what is built, checked and compiled
 * once need not be twice.
 *
 * Set: the items and buffers of both sections, where each section numbers buffers of its own.
 * Computed: whether they are the same but for those numbers; then the steady section is the first
 * one's, and its own buffers go.
 */
#include "schedule/schedule-private.h"

#include <string.h>

/*
 * Buffers of init, of the first section, and of the steady one: [0, init), [init, first) and
 * [first, n).
 */
typedef struct
{
  const ScheduleRole *role;
  guint               init, first;
} Sections;

static gboolean
same_host_work (const HostDesc *a, const HostDesc *b)
{
  return a->kind == b->kind && a->name == b->name && a->elements == b->elements
         && a->read_bytes == b->read_bytes && a->write_bytes == b->write_bytes;
}

/* Two items of one kind. */
static gboolean
same_work (const ScheduleItem *a, const ScheduleItem *b)
{
  switch ((ItemKind) a->kind)
    {
    case ITEM_KERNEL:
      return kernel_desc_equal (a->kernel, b->kernel);
    case ITEM_HOST_OP:
      return same_host_work (a->host, b->host);
    default:
      return a->codec == b->codec;
    }
}

gboolean
schedule_items_alike (const ScheduleItem *a, const ScheduleItem *b)
{
  const gboolean numbered =
      a->kind == ITEM_COLLECTIVE || a->kind == ITEM_P2P || a->kind == ITEM_HOST_HOOK;

  return a->kind == b->kind && a->phase == b->phase && a->collective == b->collective
         && a->more == b->more && a->layer == b->layer && a->stream == b->stream
         && a->unit == b->unit && (!numbered || a->ref == b->ref) && a->peer == b->peer
         && a->bytes == b->bytes && same_work (a, b) && a->label == b->label;
}

/* The buffer of the first section that the steady one's B stands for. */
static BufferRef
counterpart (const Sections *self, BufferRef b)
{
  return b < SCHEDULE_FIRST_DATA && b >= self->first ? b - (self->first - self->init) : b;
}

static gboolean
same_buffer (const Sections *self, const ScheduleBuffer *a, const ScheduleBuffer *b)
{
  return a->place == b->place && a->category == b->category && a->bytes == b->bytes
         && a->label == b->label && a->unit == b->unit && a->stream == b->stream
         && a->program == b->program && a->frame == counterpart (self, b->frame)
         && a->n_frame == b->n_frame;
}

static gboolean
same_item (const Sections *self, const ScheduleItem *a, const ScheduleItem *b)
{
  gboolean memory = b->kind == ITEM_ALLOC || b->kind == ITEM_FREE || b->kind == ITEM_PASS;

  return schedule_items_alike (a, b) && a->event == b->event
         && a->ref == (memory ? counterpart (self, b->ref) : b->ref);
}

static gboolean
same_buffers (const Sections *self)
{
  const GArray *buffers = self->role->buffers;

  if (buffers->len - self->first != self->first - self->init)
    return FALSE;
  for (guint i = self->first; i < buffers->len; i++)
    if (!same_buffer (self, &g_array_index (buffers, ScheduleBuffer, counterpart (self, i)),
                      &g_array_index (buffers, ScheduleBuffer, i)))
      return FALSE;
  return TRUE;
}

static gboolean
same_programs (const Sections *self, const ScheduleProgram *a, const ScheduleProgram *b)
{
  if (a->items->len != b->items->len || a->uses->len != b->uses->len || a->n_events != b->n_events)
    return FALSE;
  for (guint i = 0; i < a->items->len; i++)
    if (!same_item (self, &vector_at (a->items, ScheduleItem, i),
                    &vector_at (b->items, ScheduleItem, i)))
      return FALSE;
  for (guint i = 0; i < a->uses->len; i++)
    {
      const ScheduleUse *x = &vector_at (a->uses, ScheduleUse, i);
      const ScheduleUse *y = &vector_at (b->uses, ScheduleUse, i);

      if (x->item != y->item || x->buffer != counterpart (self, y->buffer) || x->part != y->part
          || x->stream != y->stream || x->access != y->access)
        return FALSE;
    }
  return TRUE;
}

void
schedule_builder_share_steady (ScheduleBuilder *self, guint role, guint n_init, guint n_first)
{
  ScheduleRole    *of = &self->schedule->roles[role];
  ScheduleProgram *first = &of->programs[SECTION_FIRST], *steady = &of->programs[SECTION_STEADY];
  const Sections   sections = { of, n_init, n_first };

  if (!same_buffers (&sections) || !same_programs (&sections, first, steady))
    return;
  vector_free (steady->items);
  vector_free (steady->uses);
  g_array_unref (steady->micros);
  steady->items = first->items;
  steady->uses = first->uses;
  steady->micros = first->micros;
  g_array_set_size (of->buffers, n_first);
}

gboolean
schedule_shares_steady (const Schedule *self, guint role)
{
  return schedule_program (self, role, SECTION_STEADY)->items
         == schedule_program (self, role, SECTION_FIRST)->items;
}

gboolean
schedule_first_is_steady (const Schedule *self)
{
  for (guint role = 0; role < self->n_roles; role++)
    if (!schedule_shares_steady (self, role))
      return FALSE;
  return TRUE;
}
