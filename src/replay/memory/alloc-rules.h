/*
 * How the sizes of a caching allocator's blocks and segments follow from what is asked for
 * (alloc.h), under the settings of PYTORCH_CUDA_ALLOC_CONF that change them.
 */
#pragma once

#include "base/memory.h"

#define ALLOC_MIN_BLOCK     512u
#define ALLOC_SMALL_SIZE    ((guint64) 1 << 20)
#define ALLOC_SMALL_SEGMENT ((guint64) 2 << 20)
#define ALLOC_LARGE_SEGMENT ((guint64) 20 << 20)

typedef struct
{
  AllocatorKind kind; /* not ALLOCATOR_IDEAL */
  guint64       max_split;
  /* max_split_size_mb: blocks as large as this are not split, and not given to requests below it,
     nor to those that leave 20 MiB of them; 0: none is */
  guint divisions; /* roundup_power2_divisions: sizes between two powers of two; 0 or 1: of 512 B */
} AllocatorRules;

/* What a request of BYTES > 0 becomes. */
guint64 alloc_rules_round (const AllocatorRules *self, guint64 bytes);

/* Whether a free block of BLOCK >= SIZE bytes may serve a request that became SIZE. */
gboolean alloc_rules_suits (const AllocatorRules *self, guint64 size, guint64 block);

/* Whether REST, which SIZE leaves of a block of the small or the large pool, becomes one. */
gboolean alloc_rules_splits (const AllocatorRules *self, gboolean small, guint64 size,
                             guint64 rest);

/* What the device is asked for, for SIZE; of expandable segments nothing. */
guint64 alloc_rules_segment (guint64 size);
