/*
 * What a device's allocator holds for a schedule: buffers, by the caller's numbers, as the blocks
 * that the framework really asks for. A buffer is one block, or the part of a memory program up to
 * its peak; the rest of the program runs when the buffer is released. Programs keep their tensors
 * in a frame, a buffer that may hold nothing of its own.
 */
#pragma once

#include "engine/pool.h"
#include "replay/memory/alloc.h"

#define HEAP_NONE POOL_DETACHED_NONE

typedef struct
{
  guint32              buffer, stream;
  guint64              bytes;
  const MemoryProgram *program; /* NULL: none */
  guint32              frame;   /* of the program: a buffer with n_frame tensors */
  guint                n_frame; /* > 0: the buffer is a frame, which starts empty, or as its own
                                   program leaves it */
} HeapRequest;

typedef struct _Heap Heap;

Heap *heap_new (AllocatorKind kind);
Heap *heap_new_with (const AllocatorRules *rules);
void  heap_free (Heap *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Heap, heap_free)

/* A block of the first stream that is never given back. */
void heap_keep (Heap *self, guint64 bytes);

/* What a pool of the engine calls: its allocator is a Heap, what it is asked for a HeapRequest. */
extern const PoolAllocator heap_pool_allocator;

/*
 * Goes on with REQUEST from step *DONE (0 at first), and counts the steps that went through. FALSE
 * when the device, which has CAPACITY for the allocator, has no room for the next one.
 */
gboolean heap_allocate (Heap *self, const HeapRequest *request, guint64 capacity, guint *done);

/* The buffer is gone; the rest of its program runs, within CAPACITY or not. */
void heap_release (Heap *self, const HeapRequest *request);

/*
 * The buffer waits for another stream: its number is free again. Returns what to give back later
 * with heap_give.
 */
guint32 heap_detach (Heap *self, const HeapRequest *request);
void    heap_give (Heap *self, guint32 detached);

guint64 heap_trim (Heap *self);
guint64 heap_reserved (const Heap *self);

/* Appends what allocator_state does, and which buffers hold which blocks. */
void heap_state (const Heap *self, GArray *numbers);

/* What allocator_note and allocator_repeats do, for requests. */
void     heap_note (Heap *self);
gboolean heap_repeats (Heap *self);
