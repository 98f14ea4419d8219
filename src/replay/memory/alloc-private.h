/* The body of an allocator: alloc.c takes and gives blocks, alloc-state.c says what there is. */
#pragma once

#include "base/vector.h"
#include "replay/memory/alloc.h"
#include "replay/memory/choices.h"

typedef struct
{
  guint64 size, address;
  guint32 stream;
  guint32 prev, next; /* neighbours in the segment; `next` of an unused entry links the free ones */
  guint32 idle_prev, idle_next; /* of a free block that can be trimmed: among those of its pool */
  gboolean small, free;
} Block;

/* The last block of an expandable segment. */
typedef struct
{
  guint32  stream, tail;
  gboolean small;
} Growing;

struct _Allocator
{
  AllocatorRules rules;
  GArray        *blocks;  /* Block */
  Vector        *free[2]; /* FreeBlocks *, by stream, of the large and the small pool */
  guint32        idle[2]; /* the first of its free blocks that can be trimmed */
  GArray        *growing; /* Growing */
  guint32        unused;  /* entries of `blocks` */
  guint64        next_address, reserved, in_use, peak;
  guint64        visited; /* blocks, by trimming */
  guint          n_segments;
  Choices       *choices; /* since allocator_note; NULL: it was never called */
};

static inline Block *
block_at (const Allocator *self, guint32 i)
{
  return &g_array_index (self->blocks, Block, i);
}
