/*
 * A caching allocator: which blocks of which segments a device's memory is cut into, decided in
 * host order. The rules are those of PyTorch's native allocator (c10/cuda/CUDACachingAllocator.cpp,
 * 2.x with its default settings):
 *   - a request is rounded up to 512 B; up to 1 MiB it comes from the small pool, else from the
 *     large one; pools are kept per stream;
 *   - the smallest free block of the stream that holds it is taken, the one at the lowest address
 *     among equal ones;
 *   - where there is none the device gives a segment: 2 MiB for the small pool, 20 MiB for requests
 *     below 10 MiB, else the request rounded up to 2 MiB;
 *   - what is left of a block is split off when it is at least 512 B (small) or more than 1 MiB
 *     (large);
 *   - a block that comes back merges with free neighbours; segments go back to the device by
 *     allocator_trim only.
 * Expandable segments (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True): each stream's pool is one
 * segment that grows at its end by pages of 2 MiB (small) and 20 MiB (large), every rest of 512 B
 * is split off, and trimming gives back whole free pages. It knows addresses within segments and no
 * time: who frees a block that another stream still uses gives it back later. Every call searches
 * the free blocks, which are sorted, in O(log of them) and moves a few; allocator_trim looks at
 * those that it can give back, not at the others.
 */
#pragma once

#include "replay/memory/alloc-rules.h"

typedef struct _Allocator Allocator;
typedef guint32           AllocBlock;

#define ALLOC_NONE G_MAXUINT32

Allocator *allocator_new (AllocatorKind kind); /* not ALLOCATOR_IDEAL; all else by default */
Allocator *allocator_new_with (const AllocatorRules *rules);
void       allocator_free (Allocator *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Allocator, allocator_free)

/*
 * A block of BYTES > 0 for STREAM, or ALLOC_NONE when cached blocks do not hold it and the segment
 * needs more than ROOM.
 */
AllocBlock allocator_take (Allocator *self, guint64 bytes, guint32 stream, guint64 room);
void       allocator_give (Allocator *self, AllocBlock block);

/* Gives the device all that is free and can be given. Returns the bytes. */
guint64 allocator_trim (Allocator *self);

guint64 allocator_reserved (const Allocator *self); /* bytes that the device has given */
guint64 allocator_in_use (const Allocator *self);   /* bytes of taken blocks, rounding included */
guint64 allocator_peak (const Allocator *self);     /* of allocator_reserved */
guint   allocator_n_segments (const Allocator *self);

/*
 * Appends numbers (guint64) that say where its blocks lie: two allocators of which they are the
 * same answer the same calls alike, whatever they called their blocks.
 */
void allocator_state (const Allocator *self, GArray *numbers);

/*
 * Notes what is taken from now on. allocator_repeats then says whether all that was taken and given
 * since, in the same order once more, would lead to the state that it has now and need no more of
 * the device; and notes from there on. FALSE also where that would have to be tried.
 */
void     allocator_note (Allocator *self);
gboolean allocator_repeats (Allocator *self);

/* For benchmarks: free blocks that were moved in their list or looked at to be trimmed, so far. */
guint64 allocator_work (const Allocator *self);

/* For tests: where BLOCK lies. Addresses of segments never overlap. */
guint64 allocator_address (const Allocator *self, AllocBlock block);
guint64 allocator_size (const Allocator *self, AllocBlock block);
