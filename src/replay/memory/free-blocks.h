/*
 * The free blocks of a stream's memory pool in order of size and address: a list of sorted chunks.
 * A block is found by two binary searches, and moves no more than a chunk.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint64 size, address; /* the order */
  guint32 block;         /* plays no part in it */
} FreeBlock;

/* The order as one number, which compares without branches: they would be anyone's guess. */
__extension__ typedef unsigned __int128 FreeBlockOrder;

static inline FreeBlockOrder
free_block_order (const FreeBlock *self)
{
  return (FreeBlockOrder) self->size << 64 | self->address;
}

typedef struct _FreeBlocks FreeBlocks;

FreeBlocks *free_blocks_new (void);
void        free_blocks_free (FreeBlocks *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FreeBlocks, free_blocks_free)

/* Where a block stands, until any is added, removed or changed. */
typedef struct
{
  guint chunk, place;
} FreePlace;

void free_blocks_add (FreeBlocks *self, const FreeBlock *block);

/* The place of BLOCK, which is there. */
FreePlace free_blocks_place (const FreeBlocks *self, const FreeBlock *block);
void      free_blocks_remove (FreeBlocks *self, FreePlace at);

/* What stands AT a place becomes TO: cheaper than to remove the one and to add the other. */
void free_blocks_change (FreeBlocks *self, FreePlace at, const FreeBlock *to);

/* The first of at least SIZE, or NULL; *AT is where it stands. */
const FreeBlock *free_blocks_find (const FreeBlocks *self, guint64 size, FreePlace *at);

/* For benchmarks: entries that were moved to make or close gaps, of chunks and blocks. */
guint64 free_blocks_moved (const FreeBlocks *self);
