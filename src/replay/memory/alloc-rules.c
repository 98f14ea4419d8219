#include "replay/memory/alloc-rules.h"

#define LARGE_REQUEST ((guint64) 10 << 20)
#define ROUND_LARGE   ((guint64) 2 << 20)

static guint64
whole (guint64 bytes, guint64 unit)
{
  return (bytes + unit - 1) / unit * unit;
}

guint64
alloc_rules_round (const AllocatorRules *self, guint64 bytes)
{
  guint64 power = (guint64) 1 << (g_bit_storage (bytes) - 1);

  if (bytes <= ALLOC_MIN_BLOCK || self->divisions < 2
      || bytes <= (guint64) ALLOC_MIN_BLOCK * self->divisions)
    return whole (bytes, ALLOC_MIN_BLOCK);
  return whole (bytes, power / self->divisions);
}

gboolean
alloc_rules_suits (const AllocatorRules *self, guint64 size, guint64 block)
{
  if (self->max_split == 0)
    return TRUE;
  if (size < self->max_split)
    return block < self->max_split;
  return block < size + ALLOC_LARGE_SEGMENT;
}

gboolean
alloc_rules_splits (const AllocatorRules *self, gboolean small, guint64 size, guint64 rest)
{
  if (small || self->kind == ALLOCATOR_EXPANDABLE)
    return rest >= ALLOC_MIN_BLOCK;
  return rest > ALLOC_SMALL_SIZE && (self->max_split == 0 || size < self->max_split);
}

guint64
alloc_rules_segment (guint64 size)
{
  if (size <= ALLOC_SMALL_SIZE)
    return ALLOC_SMALL_SEGMENT;
  if (size < LARGE_REQUEST)
    return ALLOC_LARGE_SEGMENT;
  return whole (size, ROUND_LARGE);
}
