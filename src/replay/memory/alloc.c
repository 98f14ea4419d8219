#include "replay/memory/alloc-private.h"

/*
 * Between the addresses of expandable segments, which never grow into the next: whole pages of both
 * kinds.
 */
#define SEGMENT_SPAN ((guint64) 20 << 41)

Allocator *
allocator_new_with (const AllocatorRules *rules)
{
  Allocator *self = g_new0 (Allocator, 1);

  g_assert (rules->kind != ALLOCATOR_IDEAL);
  self->rules = *rules;
  self->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  self->growing = g_array_new (FALSE, FALSE, sizeof (Growing));
  self->unused = ALLOC_NONE;
  for (guint p = 0; p < 2; p++)
    {
      self->free[p] = vector_new (sizeof (FreeBlocks *));
      self->idle[p] = ALLOC_NONE;
    }
  return self;
}

Allocator *
allocator_new (AllocatorKind kind)
{
  return allocator_new_with (&(AllocatorRules){ .kind = kind });
}

void
allocator_free (Allocator *self)
{
  if (self == NULL)
    return;
  for (guint p = 0; p < 2; p++)
    {
      for (guint s = 0; s < self->free[p]->len; s++)
        free_blocks_free (vector_at (self->free[p], FreeBlocks *, s));
      vector_free (self->free[p]);
    }
  g_array_unref (self->blocks);
  g_array_unref (self->growing);
  choices_free (self->choices);
  g_free (self);
}

/* ---- entries --------------------------------------------------------------------------------- */

static guint32
add_block (Allocator *self, Block block)
{
  guint32 i = self->unused;

  if (i == ALLOC_NONE)
    {
      g_array_append_val (self->blocks, block);
      return self->blocks->len - 1;
    }
  self->unused = block_at (self, i)->next;
  *block_at (self, i) = block;
  return i;
}

static void
drop_block (Allocator *self, guint32 i)
{
  block_at (self, i)->next = self->unused;
  block_at (self, i)->size = 0;
  self->unused = i;
}

/* The whole pages of an expandable segment that BLOCK spans: where they begin, and their bytes. */
typedef struct
{
  guint64 first, size;
} Pages;

static Pages
whole_pages (const Block *block)
{
  guint64 page = block->small ? ALLOC_SMALL_SEGMENT : ALLOC_LARGE_SEGMENT;
  guint64 first = (block->address + page - 1) / page * page;
  guint64 end = (block->address + block->size) / page * page;

  return (Pages){ first, end > first ? end - first : 0 };
}

static FreeBlock
free_block (const Allocator *self, guint32 i)
{
  const Block *block = block_at (self, i);

  return (FreeBlock){ block->size, block->address, i };
}

/* What trimming gives back of block I when it is free: all of a segment, or whole pages. */
static gboolean
is_trimmable (const Allocator *self, guint32 i)
{
  const Block *block = block_at (self, i);

  if (block->prev == ALLOC_NONE && block->next == ALLOC_NONE)
    return TRUE;
  return self->rules.kind == ALLOCATOR_EXPANDABLE && whole_pages (block).size > 0;
}

/* The neighbours of a free block are taken, so whether it can be trimmed stays as it is. */
static void
enter_idle (Allocator *self, guint32 i)
{
  Block   *block = block_at (self, i);
  guint32 *first = &self->idle[block->small];

  block->idle_prev = ALLOC_NONE;
  block->idle_next = *first;
  if (*first != ALLOC_NONE)
    block_at (self, *first)->idle_prev = i;
  *first = i;
}

/* The free blocks of block I's stream and pool, which have been made when it was looked for. */
static inline FreeBlocks *
of_pool_of (const Allocator *self, guint32 i)
{
  const Block *block = block_at (self, i);

  return vector_at (self->free[block->small], FreeBlocks *, block->stream);
}

static void
list_free (Allocator *self, guint32 i)
{
  FreeBlock entry = free_block (self, i);

  block_at (self, i)->free = TRUE;
  free_blocks_add (of_pool_of (self, i), &entry);
  if (is_trimmable (self, i))
    enter_idle (self, i);
}

/* All but its entry among the free ones. */
static void
leave_free (Allocator *self, guint32 i)
{
  if (is_trimmable (self, i))
    {
      const Block *block = block_at (self, i);

      if (block->idle_prev != ALLOC_NONE)
        block_at (self, block->idle_prev)->idle_next = block->idle_next;
      else
        self->idle[block->small] = block->idle_next;
      if (block->idle_next != ALLOC_NONE)
        block_at (self, block->idle_next)->idle_prev = block->idle_prev;
    }
  block_at (self, i)->free = FALSE;
}

static void
unlist_free (Allocator *self, guint32 i)
{
  FreeBlock entry = free_block (self, i);

  leave_free (self, i);
  free_blocks_remove (of_pool_of (self, i), free_blocks_place (of_pool_of (self, i), &entry));
}

/* The free block AT a place among those of the pool gives it to block TO, in no list yet. */
static void
relist_free (Allocator *self, FreePlace at, guint32 to)
{
  FreeBlock entry = free_block (self, to);

  block_at (self, to)->free = TRUE;
  free_blocks_change (of_pool_of (self, to), at, &entry);
  if (is_trimmable (self, to))
    enter_idle (self, to);
}

static FreeBlocks *
free_of_stream (Vector *pool, guint32 stream)
{
  while (pool->len <= stream)
    {
      FreeBlocks *none = free_blocks_new ();

      vector_push (pool, none);
    }
  return vector_at (pool, FreeBlocks *, stream);
}

static guint32
find_free (const Allocator *self, guint64 size, guint32 stream, gboolean small, FreePlace *at)
{
  const FreeBlock *found = free_blocks_find (free_of_stream (self->free[small], stream), size, at);

  if (found == NULL || !alloc_rules_suits (&self->rules, size, found->size))
    return ALLOC_NONE;
  return found->block;
}

/* ---- segments -------------------------------------------------------------------------------- */

static void
reserve (Allocator *self, guint64 bytes)
{
  self->reserved += bytes;
  self->peak = MAX (self->peak, self->reserved);
}

static guint32
new_segment (Allocator *self, guint64 size, guint32 stream, gboolean small)
{
  Block block = { .size = size,
                  .address = self->next_address,
                  .stream = stream,
                  .prev = ALLOC_NONE,
                  .next = ALLOC_NONE,
                  .small = small };

  self->next_address += self->rules.kind == ALLOCATOR_EXPANDABLE ? SEGMENT_SPAN : size;
  self->n_segments++;
  reserve (self, size);
  return add_block (self, block);
}

static Growing *
growing_of (Allocator *self, guint32 stream, gboolean small)
{
  Growing added = { stream, ALLOC_NONE, small };

  for (guint i = 0; i < self->growing->len; i++)
    {
      Growing *growing = &g_array_index (self->growing, Growing, i);

      if (growing->stream == stream && growing->small == small)
        return growing;
    }
  g_array_append_val (self->growing, added);
  return &g_array_index (self->growing, Growing, self->growing->len - 1);
}

/* Maps pages behind the last block of the stream's segment until SIZE fits there. */
static guint32
grow_segment (Allocator *self, guint64 size, guint32 stream, gboolean small, guint64 room)
{
  guint64  page = small ? ALLOC_SMALL_SEGMENT : ALLOC_LARGE_SEGMENT;
  Growing *growing = growing_of (self, stream, small);
  guint32  tail = growing->tail;
  gboolean extend = tail != ALLOC_NONE && block_at (self, tail)->free;
  guint64  missing = size - (extend ? block_at (self, tail)->size : 0);
  guint64  mapped = (missing + page - 1) / page * page;
  Block    block;

  if (mapped > room)
    return ALLOC_NONE;
  if (tail == ALLOC_NONE)
    return growing->tail = new_segment (self, mapped, stream, small);
  if (extend)
    {
      unlist_free (self, tail);
      block_at (self, tail)->size += mapped;
      reserve (self, mapped);
      return tail;
    }
  block = *block_at (self, tail);
  block.address += block.size;
  block.size = mapped;
  block.prev = tail;
  block.next = ALLOC_NONE;
  reserve (self, mapped);
  growing->tail = add_block (self, block);
  block_at (self, tail)->next = growing->tail;
  return growing->tail;
}

/* ---- taking and giving ----------------------------------------------------------------------- */

static void
move_tail (Allocator *self, guint32 from, guint32 to)
{
  for (guint i = 0; i < self->growing->len; i++)
    {
      Growing *growing = &g_array_index (self->growing, Growing, i);

      if (growing->tail == from)
        growing->tail = to;
    }
}

/*
 * The front of block I is taken, the rest stays free where it is worth a block. LISTED: where I
 * stands among the free ones, which it leaves, or NULL where it is not there.
 */
static void
split (Allocator *self, guint32 i, guint64 size, const FreePlace *listed)
{
  Block   rest = *block_at (self, i);
  guint32 r;

  rest.size -= size;
  if (!alloc_rules_splits (&self->rules, rest.small, size, rest.size))
    {
      if (listed != NULL)
        free_blocks_remove (of_pool_of (self, i), *listed);
      return;
    }
  rest.address += size;
  rest.prev = i;
  r = add_block (self, rest);
  if (rest.next != ALLOC_NONE)
    block_at (self, rest.next)->prev = r;
  block_at (self, i)->size = size;
  block_at (self, i)->next = r;
  move_tail (self, i, r);
  if (listed != NULL)
    relist_free (self, *listed, r);
  else
    list_free (self, r);
}

AllocBlock
allocator_take (Allocator *self, guint64 bytes, guint32 stream, guint64 room)
{
  guint64   size = alloc_rules_round (&self->rules, bytes);
  gboolean  small = size <= ALLOC_SMALL_SIZE, listed;
  FreePlace at;
  guint32   i;

  g_assert (bytes > 0);
  i = find_free (self, size, stream, small, &at);
  listed = i != ALLOC_NONE;
  if (listed)
    leave_free (self, i);
  else if (self->rules.kind == ALLOCATOR_EXPANDABLE)
    i = grow_segment (self, size, stream, small, room);
  else if (alloc_rules_segment (size) <= room)
    i = new_segment (self, alloc_rules_segment (size), stream, small);
  if (i == ALLOC_NONE)
    return ALLOC_NONE;
  if (self->choices != NULL)
    {
      const FreeBlock taken = free_block (self, i);

      choices_add (self->choices, &(Choice){ size, stream, small, taken });
    }
  split (self, i, size, listed ? &at : NULL);
  self->in_use += block_at (self, i)->size;
  return i;
}

/* Joins block I, which is in no list, with its free neighbour J, which leaves all but its entry. */
static void
merge (Allocator *self, guint32 i, guint32 j)
{
  Block *into = block_at (self, i), *from = block_at (self, j);

  leave_free (self, j);
  if (into->prev == j)
    {
      into->address = from->address;
      into->prev = from->prev;
      if (from->prev != ALLOC_NONE)
        block_at (self, from->prev)->next = i;
    }
  else
    {
      into->next = from->next;
      if (from->next != ALLOC_NONE)
        block_at (self, from->next)->prev = i;
      move_tail (self, j, i);
    }
  into->size += from->size;
  drop_block (self, j);
}

void
allocator_give (Allocator *self, AllocBlock i)
{
  Block      *block = block_at (self, i);
  FreeBlocks *others = of_pool_of (self, i);
  FreeBlock   before = { 0 }, behind = { 0 };
  gboolean    joins_before = block->prev != ALLOC_NONE && block_at (self, block->prev)->free;
  gboolean    joins_behind = block->next != ALLOC_NONE && block_at (self, block->next)->free;

  g_assert (!block->free && self->in_use >= block->size);
  self->in_use -= block->size;
  if (joins_before)
    {
      before = free_block (self, block->prev);
      merge (self, i, block->prev);
    }
  if (joins_behind)
    {
      behind = free_block (self, block->next);
      merge (self, i, block->next);
    }
  if (joins_before && joins_behind)
    free_blocks_remove (others, free_blocks_place (others, &behind));
  if (joins_before || joins_behind)
    relist_free (self, free_blocks_place (others, joins_before ? &before : &behind), i);
  else
    list_free (self, i);
}

/* ---- giving segments back -------------------------------------------------------------------- */

/* A whole segment that is free. */
static guint64
trim_segment (Allocator *self, guint32 i)
{
  guint64 size = block_at (self, i)->size;

  unlist_free (self, i);
  move_tail (self, i, ALLOC_NONE);
  drop_block (self, i);
  self->n_segments--;
  return size;
}

/*
 * The whole pages of a free block of an expandable segment. What is left on either side of the hole
 * no longer touches: the addresses of the hole are not used again, which costs no memory.
 */
static guint64
trim_pages (Allocator *self, guint32 i)
{
  Block   block = *block_at (self, i), rest = block;
  Pages   pages = whole_pages (&block);
  guint64 first = pages.first, end = first + pages.size;
  guint32 r = ALLOC_NONE;

  if (block.prev == ALLOC_NONE && block.next == ALLOC_NONE)
    return trim_segment (self, i);
  unlist_free (self, i);
  rest.address = end;
  rest.size = block.address + block.size - end;
  rest.prev = ALLOC_NONE;
  if (rest.size > 0)
    {
      r = add_block (self, rest);
      list_free (self, r);
    }
  if (block.next != ALLOC_NONE)
    block_at (self, block.next)->prev = r;
  block_at (self, i)->size = first - block.address;
  block_at (self, i)->next = ALLOC_NONE;
  if (first > block.address)
    list_free (self, i);
  else if (block.prev != ALLOC_NONE)
    block_at (self, block.prev)->next = ALLOC_NONE;
  /* A segment goes on growing behind its last block, or anew where that is gone. */
  move_tail (self, i, r);
  if (first == block.address)
    drop_block (self, i);
  return end - first;
}

guint64
allocator_trim (Allocator *self)
{
  guint64 trimmed = 0;

  if (self->choices != NULL)
    choices_spoil (self->choices);
  for (guint p = 0; p < 2; p++)
    while (self->idle[p] != ALLOC_NONE)
      {
        guint32 i = self->idle[p];

        self->visited++;
        trimmed += self->rules.kind == ALLOCATOR_EXPANDABLE ? trim_pages (self, i)
                                                            : trim_segment (self, i);
      }
  self->reserved -= trimmed;
  return trimmed;
}

/* ---- what it holds --------------------------------------------------------------------------- */

guint64
allocator_reserved (const Allocator *self)
{
  return self->reserved;
}

guint64
allocator_in_use (const Allocator *self)
{
  return self->in_use;
}

guint64
allocator_peak (const Allocator *self)
{
  return self->peak;
}

guint
allocator_n_segments (const Allocator *self)
{
  return self->n_segments;
}

guint64
allocator_address (const Allocator *self, AllocBlock block)
{
  return block_at (self, block)->address;
}

guint64
allocator_size (const Allocator *self, AllocBlock block)
{
  return block_at (self, block)->size;
}

guint64
allocator_work (const Allocator *self)
{
  guint64 work = self->visited;

  for (guint p = 0; p < 2; p++)
    for (guint s = 0; s < self->free[p]->len; s++)
      work += free_blocks_moved (vector_at (self->free[p], FreeBlocks *, s));
  return work;
}
