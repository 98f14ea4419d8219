/* Where an allocator's blocks lie, and whether what was asked of it would leave them there. */
#include "replay/memory/alloc-private.h"

#include <stdlib.h>

static gint
compare_addresses (gconstpointer a, gconstpointer b)
{
  guint64 x = *(const guint64 *) a, y = *(const guint64 *) b;

  return x < y ? -1 : x > y;
}

void
allocator_state (const Allocator *self, GArray *numbers)
{
  const AllocatorStateHead head = { self->next_address, self->reserved };
  guint                    first;

  g_array_append_vals (numbers, &head, sizeof head / sizeof (guint64));
  first = numbers->len;
  for (guint32 i = 0; i < self->blocks->len; i++)
    {
      const Block     *block = block_at (self, i);
      const BlockState state = { block->address, block->size, block->stream,
                                 (block->small ? BLOCK_SMALL : 0) | (block->free ? BLOCK_FREE : 0)
                                     | (block->prev != ALLOC_NONE ? BLOCK_HAS_PREV : 0)
                                     | (block->next != ALLOC_NONE ? BLOCK_HAS_NEXT : 0) };

      if (block->size > 0)
        g_array_append_vals (numbers, &state, sizeof state / sizeof (guint64));
    }
  if (numbers->len > first)
    qsort (&g_array_index (numbers, guint64, first),
           (numbers->len - first) * sizeof (guint64) / sizeof (BlockState), sizeof (BlockState),
           compare_addresses);
  for (guint i = 0; i < self->growing->len; i++)
    {
      guint32 tail = g_array_index (self->growing, Growing, i).tail;
      guint64 address = tail != ALLOC_NONE ? block_at (self, tail)->address : G_MAXUINT64;

      g_array_append_val (numbers, address);
    }
}

/* The rules by which choices_repeat knows what is taken. */
static gboolean
keeps_choices (const Allocator *self)
{
  return self->rules.kind == ALLOCATOR_CACHING && self->rules.max_split == 0;
}

void
allocator_note (Allocator *self)
{
  GArray *state = g_array_new (FALSE, FALSE, sizeof (guint64));

  if (self->choices == NULL)
    self->choices = choices_new ();
  allocator_state (self, state);
  choices_begin (self->choices, state, keeps_choices (self));
}

gboolean
allocator_repeats (Allocator *self)
{
  GArray  *state = g_array_new (FALSE, FALSE, sizeof (guint64));
  gboolean repeats;

  allocator_state (self, state);
  repeats = choices_repeat (self->choices, state);
  choices_begin (self->choices, state, keeps_choices (self));
  return repeats;
}
