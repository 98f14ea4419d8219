#include "engine/alloc.h"

#define MIN_BLOCK     512u
#define SMALL_SIZE    ((guint64) 1 << 20)
#define SMALL_SEGMENT ((guint64) 2 << 20)
#define LARGE_SEGMENT ((guint64) 20 << 20)
#define LARGE_REQUEST ((guint64) 10 << 20)
#define ROUND_LARGE   ((guint64) 2 << 20)

/* Between the addresses of expandable segments, which never grow into the next: whole pages of both kinds. */
#define SEGMENT_SPAN ((guint64) 20 << 41)

typedef struct
{
  guint64 size, address;
  guint32 stream;
  guint32 prev, next; /* neighbours in the segment; `next` of an unused entry links the free ones */
  gboolean small, free;
} Block;

/* A free block among those of its pool. */
typedef struct
{
  guint64 size, address;
  guint32 stream, block;
} FreeBlock;

/* The last block of an expandable segment. */
typedef struct
{
  guint32  stream, tail;
  gboolean small;
} Growing;

struct _Allocator
{
  AllocatorKind kind;
  GArray       *blocks;  /* Block */
  GArray       *free[2]; /* FreeBlock, of the large and the small pool: by stream, size, address */
  GArray       *growing; /* Growing */
  guint32       unused;  /* entries of `blocks` */
  guint64       next_address, reserved, in_use, peak;
  guint         n_segments;
};

static Block *
block_at (const Allocator *self, guint32 i)
{
  return &g_array_index (self->blocks, Block, i);
}

Allocator *
allocator_new (AllocatorKind kind)
{
  Allocator *self = g_new0 (Allocator, 1);

  g_assert (kind != ALLOCATOR_IDEAL);
  self->kind = kind;
  self->blocks = g_array_new (FALSE, FALSE, sizeof (Block));
  self->growing = g_array_new (FALSE, FALSE, sizeof (Growing));
  self->unused = ALLOC_NONE;
  for (guint p = 0; p < 2; p++)
    self->free[p] = g_array_new (FALSE, FALSE, sizeof (FreeBlock));
  return self;
}

void
allocator_free (Allocator *self)
{
  if (self == NULL)
    return;
  for (guint p = 0; p < 2; p++)
    g_array_unref (self->free[p]);
  g_array_unref (self->blocks);
  g_array_unref (self->growing);
  g_free (self);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

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
  self->unused = i;
}

static gboolean
is_before (const FreeBlock *a, const FreeBlock *b)
{
  if (a->stream != b->stream)
    return a->stream < b->stream;
  return a->size != b->size ? a->size < b->size : a->address < b->address;
}

/* The first of FREE that is not before WANTED. */
static guint
find_place (const GArray *free, const FreeBlock *wanted)
{
  guint low = 0, high = free->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (is_before (&g_array_index (free, FreeBlock, middle), wanted))
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

static FreeBlock
free_block (const Allocator *self, guint32 i)
{
  const Block *block = block_at (self, i);

  return (FreeBlock){ block->size, block->address, block->stream, i };
}

static void
list_free (Allocator *self, guint32 i)
{
  GArray   *free = self->free[block_at (self, i)->small];
  FreeBlock entry = free_block (self, i);

  block_at (self, i)->free = TRUE;
  g_array_insert_val (free, find_place (free, &entry), entry);
}

static void
unlist_free (Allocator *self, guint32 i)
{
  GArray   *free = self->free[block_at (self, i)->small];
  FreeBlock entry = free_block (self, i);
  guint     place = find_place (free, &entry);

  g_assert (place < free->len && g_array_index (free, FreeBlock, place).block == i);
  g_array_remove_index (free, place);
  block_at (self, i)->free = FALSE;
}

static guint32
find_free (const Allocator *self, guint64 size, guint32 stream, gboolean small)
{
  const GArray   *free = self->free[small];
  const FreeBlock wanted = { .size = size, .stream = stream };
  guint           place = find_place (free, &wanted);

  if (place == free->len || g_array_index (free, FreeBlock, place).stream != stream)
    return ALLOC_NONE;
  return g_array_index (free, FreeBlock, place).block;
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

static void
reserve (Allocator *self, guint64 bytes)
{
  self->reserved += bytes;
  self->peak = MAX (self->peak, self->reserved);
}

static guint64
segment_size (guint64 size)
{
  if (size <= SMALL_SIZE)
    return SMALL_SEGMENT;
  if (size < LARGE_REQUEST)
    return LARGE_SEGMENT;
  return (size + ROUND_LARGE - 1) / ROUND_LARGE * ROUND_LARGE;
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

  self->next_address += self->kind == ALLOCATOR_EXPANDABLE ? SEGMENT_SPAN : size;
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
  guint64  page = small ? SMALL_SEGMENT : LARGE_SEGMENT;
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

/* ---- taking and giving ------------------------------------------------------------------------------------------- */

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

/* The front of block I is taken, the rest stays free where it is worth a block. */
static void
split (Allocator *self, guint32 i, guint64 size)
{
  Block    rest = *block_at (self, i);
  gboolean fine = rest.small || self->kind == ALLOCATOR_EXPANDABLE;
  guint32  r;

  rest.size -= size;
  if (fine ? rest.size < MIN_BLOCK : rest.size <= SMALL_SIZE)
    return;
  rest.address += size;
  rest.prev = i;
  r = add_block (self, rest);
  if (rest.next != ALLOC_NONE)
    block_at (self, rest.next)->prev = r;
  block_at (self, i)->size = size;
  block_at (self, i)->next = r;
  move_tail (self, i, r);
  list_free (self, r);
}

AllocBlock
allocator_take (Allocator *self, guint64 bytes, guint32 stream, guint64 room)
{
  guint64  size = (bytes + MIN_BLOCK - 1) / MIN_BLOCK * MIN_BLOCK;
  gboolean small = size <= SMALL_SIZE;
  guint32  i;

  g_assert (bytes > 0);
  i = find_free (self, size, stream, small);
  if (i != ALLOC_NONE)
    unlist_free (self, i);
  else if (self->kind == ALLOCATOR_EXPANDABLE)
    i = grow_segment (self, size, stream, small, room);
  else if (segment_size (size) <= room)
    i = new_segment (self, segment_size (size), stream, small);
  if (i == ALLOC_NONE)
    return ALLOC_NONE;
  split (self, i, size);
  self->in_use += block_at (self, i)->size;
  return i;
}

/* Joins block I, which is in no list, with its neighbour J, which leaves. */
static void
merge (Allocator *self, guint32 i, guint32 j)
{
  Block *into = block_at (self, i), *from = block_at (self, j);

  unlist_free (self, j);
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
  Block *block = block_at (self, i);

  g_assert (!block->free && self->in_use >= block->size);
  self->in_use -= block->size;
  if (block->prev != ALLOC_NONE && block_at (self, block->prev)->free)
    merge (self, i, block->prev);
  if (block->next != ALLOC_NONE && block_at (self, block->next)->free)
    merge (self, i, block->next);
  list_free (self, i);
}

/* ---- giving segments back ---------------------------------------------------------------------------------------- */

/* A whole segment that is free. */
static guint64
trim_segment (Allocator *self, guint32 i)
{
  guint64 size = block_at (self, i)->size;

  if (block_at (self, i)->prev != ALLOC_NONE || block_at (self, i)->next != ALLOC_NONE)
    return 0;
  unlist_free (self, i);
  move_tail (self, i, ALLOC_NONE);
  drop_block (self, i);
  self->n_segments--;
  return size;
}

/*
 * The whole pages of a free block of an expandable segment. What is left on either side of the hole no longer touches: the
 * addresses of the hole are not used again, which costs no memory.
 */
static guint64
trim_pages (Allocator *self, guint32 i)
{
  Block   block = *block_at (self, i), rest = block;
  guint64 page = block.small ? SMALL_SEGMENT : LARGE_SEGMENT;
  guint64 first = (block.address + page - 1) / page * page;
  guint64 end = (block.address + block.size) / page * page;
  guint32 r = ALLOC_NONE;

  if (block.prev == ALLOC_NONE && block.next == ALLOC_NONE)
    return trim_segment (self, i);
  if (first >= end)
    return 0;
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

  for (guint p = 0; p < 2; p++)
    {
      g_autoptr (GArray) blocks = g_array_copy (self->free[p]);

      for (guint b = 0; b < blocks->len; b++)
        {
          guint32 i = g_array_index (blocks, FreeBlock, b).block;

          trimmed +=
              self->kind == ALLOCATOR_EXPANDABLE ? trim_pages (self, i) : trim_segment (self, i);
        }
    }
  self->reserved -= trimmed;
  return trimmed;
}

/* ---- what it holds ----------------------------------------------------------------------------------------------- */

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
