/*
 * The free blocks of a memory pool in order of stream, size and address: a list of sorted chunks. A
 * block is found by two binary searches, and moves no more than a chunk.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint64 rank, address; /* the order: by `rank`, which is free_block_rank's, then by `address` */
  guint32 block;         /* plays no part in it */
} FreeBlock;

#define FREE_BLOCK_SIZE_BITS 48 /* 256 TiB */

/* Stream and size as one number: half of the comparisons that a search is made of. */
static inline guint64
free_block_rank (guint32 stream, guint64 size)
{
  g_assert (size >> FREE_BLOCK_SIZE_BITS == 0 && stream >> (64 - FREE_BLOCK_SIZE_BITS) == 0);
  return (guint64) stream << FREE_BLOCK_SIZE_BITS | size;
}

static inline guint32
free_block_stream (const FreeBlock *self)
{
  return (guint32) (self->rank >> FREE_BLOCK_SIZE_BITS);
}

static inline guint64
free_block_size (const FreeBlock *self)
{
  return self->rank & ((G_GUINT64_CONSTANT (1) << FREE_BLOCK_SIZE_BITS) - 1);
}

/* The order as one number, which compares without branches: they would be anyone's guess. */
__extension__ typedef unsigned __int128 FreeBlockOrder;

static inline FreeBlockOrder
free_block_order (const FreeBlock *self)
{
  return (FreeBlockOrder) self->rank << 64 | self->address;
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

/* The first of at least RANK, or NULL; *AT is where it stands. */
const FreeBlock *free_blocks_find (const FreeBlocks *self, guint64 rank, FreePlace *at);

/* For benchmarks: entries that were moved to make or close gaps, of chunks and blocks. */
guint64 free_blocks_moved (const FreeBlocks *self);
