#include "replay/memory/free-blocks.h"

#include <string.h>

#define CHUNK 32

typedef struct
{
  guint     n;
  FreeBlock blocks[CHUNK];
} Chunk;

struct _FreeBlocks
{
  GPtrArray *chunks; /* Chunk, none of them empty */
  guint64    moved;
};

FreeBlocks *
free_blocks_new (void)
{
  FreeBlocks *self = g_new0 (FreeBlocks, 1);

  self->chunks = g_ptr_array_new_with_free_func (g_free);
  return self;
}

void
free_blocks_free (FreeBlocks *self)
{
  if (self == NULL)
    return;
  g_ptr_array_unref (self->chunks);
  g_free (self);
}

static Chunk *
chunk_at (const FreeBlocks *self, guint i)
{
  return g_ptr_array_index (self->chunks, i);
}

static inline gboolean
is_before (const FreeBlock *a, const FreeBlock *b)
{
  return free_block_order (a) < free_block_order (b);
}

/* The last chunk that does not begin behind WANTED, or the first one. */
static guint
find_chunk (const FreeBlocks *self, const FreeBlock *wanted)
{
  guint low = 0, high = self->chunks->len;

  while (high - low > 1)
    {
      guint middle = (low + high) / 2;

      if (is_before (wanted, &chunk_at (self, middle)->blocks[0]))
        high = middle;
      else
        low = middle;
    }
  return low;
}

/* The first of CHUNK from LOW on, up to HIGH, that is not before WANTED. */
static guint
find_between (const Chunk *chunk, guint low, guint high, const FreeBlock *wanted)
{
  const FreeBlock     *first = &chunk->blocks[low], *end = &chunk->blocks[high];
  const FreeBlockOrder order = free_block_order (wanted);

  for (gsize n = high - low; n > 1; n -= n / 2)
    first += free_block_order (&first[n / 2 - 1]) < order ? n / 2 : 0;
  return (guint) (first - chunk->blocks) + (first < end && free_block_order (first) < order);
}

/* Moves the blocks of CHUNK from FROM on to TO. */
static void
move_blocks (FreeBlocks *self, Chunk *chunk, guint from, guint to)
{
  memmove (&chunk->blocks[to], &chunk->blocks[from], (chunk->n - from) * sizeof (FreeBlock));
  self->moved += chunk->n - from;
}

static Chunk *
insert_chunk (FreeBlocks *self, guint at)
{
  Chunk *chunk = g_new (Chunk, 1);

  chunk->n = 0;
  self->moved += self->chunks->len - at;
  g_ptr_array_insert (self->chunks, (gint) at, chunk);
  return chunk;
}

void
free_blocks_add (FreeBlocks *self, const FreeBlock *block)
{
  guint  at, place;
  Chunk *chunk;

  if (self->chunks->len == 0)
    insert_chunk (self, 0);
  at = find_chunk (self, block);
  if (chunk_at (self, at)->n == CHUNK)
    {
      Chunk *upper = insert_chunk (self, at + 1), *lower = chunk_at (self, at);

      /* The chunk's second half becomes one of its own. */
      lower->n = CHUNK / 2;
      upper->n = CHUNK - lower->n;
      memcpy (upper->blocks, &lower->blocks[lower->n], upper->n * sizeof (FreeBlock));
      self->moved += upper->n;
      at = find_chunk (self, block);
    }
  chunk = chunk_at (self, at);
  place = find_between (chunk, 0, chunk->n, block);
  move_blocks (self, chunk, place, place + 1);
  chunk->blocks[place] = *block;
  chunk->n++;
}

FreePlace
free_blocks_place (const FreeBlocks *self, const FreeBlock *block)
{
  FreePlace    at = { find_chunk (self, block), 0 };
  const Chunk *chunk;

  g_assert (at.chunk < self->chunks->len);
  chunk = chunk_at (self, at.chunk);
  at.place = find_between (chunk, 0, chunk->n, block);
  g_assert (at.place < chunk->n && chunk->blocks[at.place].block == block->block);
  return at;
}

void
free_blocks_remove (FreeBlocks *self, FreePlace at)
{
  Chunk *chunk = chunk_at (self, at.chunk);

  move_blocks (self, chunk, at.place + 1, at.place);
  chunk->n--;
  if (chunk->n > 0)
    return;
  self->moved += self->chunks->len - at.chunk;
  g_ptr_array_remove_index (self->chunks, at.chunk);
}

/*
 * Where TO comes to stand in its chunk once the block AT a place has gone, or CHUNK: in another
 * chunk, or where the chunk would not tell.
 */
static guint
new_place (const FreeBlocks *self, FreePlace at, const FreeBlock *to)
{
  const Chunk *chunk = chunk_at (self, at.chunk);
  guint        place = is_before (to, &chunk->blocks[at.place])
                           ? find_between (chunk, 0, at.place, to)
                           : find_between (chunk, at.place + 1, chunk->n, to) - 1;

  if ((place == 0 && at.chunk > 0) || (place + 1 == chunk->n && at.chunk + 1 < self->chunks->len))
    return CHUNK;
  return place;
}

void
free_blocks_change (FreeBlocks *self, FreePlace at, const FreeBlock *to)
{
  const guint place = at.place, to_place = new_place (self, at, to);
  FreeBlock  *blocks = chunk_at (self, at.chunk)->blocks;

  if (to_place == CHUNK)
    {
      free_blocks_remove (self, at);
      free_blocks_add (self, to);
      return;
    }
  self->moved += to_place > place ? to_place - place : place - to_place;
  if (to_place > place)
    memmove (&blocks[place], &blocks[place + 1], (to_place - place) * sizeof *blocks);
  else
    memmove (&blocks[to_place + 1], &blocks[to_place], (place - to_place) * sizeof *blocks);
  blocks[to_place] = *to;
}

const FreeBlock *
free_blocks_find (const FreeBlocks *self, guint64 size, FreePlace *at)
{
  const FreeBlock wanted = { .size = size };
  const Chunk    *chunk;

  if (self->chunks->len == 0)
    return NULL;
  at->chunk = find_chunk (self, &wanted);
  chunk = chunk_at (self, at->chunk);
  at->place = find_between (chunk, 0, chunk->n, &wanted);
  if (at->place == chunk->n)
    {
      *at = (FreePlace){ at->chunk + 1, 0 };
      if (at->chunk == self->chunks->len)
        return NULL;
      chunk = chunk_at (self, at->chunk);
    }
  return &chunk->blocks[at->place];
}

guint64
free_blocks_moved (const FreeBlocks *self)
{
  return self->moved;
}
