#include "replay/memory/choices.h"

#include "base/vector.h"

struct _Choices
{
  GArray  *from; /* guint64: where the stretch begins */
  Vector  *list; /* Choice */
  gboolean kept, spoilt;
};

Choices *
choices_new (void)
{
  Choices *self = g_new0 (Choices, 1);

  self->list = vector_new (sizeof (Choice));
  return self;
}

void
choices_free (Choices *self)
{
  if (self == NULL)
    return;
  g_clear_pointer (&self->from, g_array_unref);
  vector_free (self->list);
  g_free (self);
}

void
choices_begin (Choices *self, GArray *state, gboolean keep)
{
  g_clear_pointer (&self->from, g_array_unref);
  self->from = state;
  self->kept = keep;
  self->spoilt = FALSE;
  vector_cut (self->list, 0);
}

void
choices_spoil (Choices *self)
{
  self->spoilt = TRUE;
}

void
choices_add (Choices *self, const Choice *choice)
{
  Choice one = *choice;

  if (self->kept)
    vector_push (self->list, one);
}

/* The segments of STATE that were not there at first. NULL: they are not all that is new. */
static GArray *
fresh_segments (const Choices *self, const GArray *state)
{
  const guint        head = sizeof (AllocatorStateHead) / sizeof (guint64), n = self->from->len;
  g_autoptr (GArray) fresh = g_array_new (FALSE, FALSE, sizeof (Choice));

  if (state->len < n
      || memcmp (&g_array_index (state, guint64, head), &g_array_index (self->from, guint64, head),
                 (n - head) * sizeof (guint64))
             != 0)
    return NULL;
  for (guint i = n; i < state->len; i += sizeof (BlockState) / sizeof (guint64))
    {
      const BlockState *block =
          (const BlockState *) (gconstpointer) &g_array_index (state, guint64, i);
      const Choice segment = { block->size,
                               (guint32) block->stream,
                               (block->flags & BLOCK_SMALL) != 0,
                               { block->size, block->address, 0 } };

      if ((block->flags & ~(guint64) BLOCK_SMALL) != BLOCK_FREE)
        return NULL;
      g_array_append_val (fresh, segment);
    }
  return g_steal_pointer (&fresh);
}

/* FALSE: what is left of FRESH makes another choice. Otherwise what is chosen leaves FRESH. */
static gboolean
takes_the_same (const Choice *choice, GArray *fresh)
{
  const FreeBlockOrder taken = free_block_order (&choice->taken);
  guint                same = fresh->len;

  for (guint i = 0; i < fresh->len; i++)
    {
      const Choice *other = &g_array_index (fresh, Choice, i);

      if (other->small != choice->small || other->stream != choice->stream)
        continue;
      if (free_block_order (&other->taken) == taken)
        same = i;
      else if (other->size >= choice->size && free_block_order (&other->taken) < taken)
        return FALSE;
    }
  if (same < fresh->len)
    g_array_remove_index (fresh, same);
  return TRUE;
}

gboolean
choices_repeat (const Choices *self, const GArray *state)
{
  g_autoptr (GArray) fresh = NULL;

  if (self->spoilt)
    return FALSE;
  if (state->len == self->from->len
      && memcmp (state->data, self->from->data, state->len * sizeof (guint64)) == 0)
    return TRUE;
  fresh = self->kept ? fresh_segments (self, state) : NULL;
  if (fresh == NULL)
    return FALSE;
  for (guint i = 0; i < self->list->len; i++)
    if (!takes_the_same (&vector_at (self->list, Choice, i), fresh))
      return FALSE;
  return fresh->len == 0;
}
