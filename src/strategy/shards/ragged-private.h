/* What the files of veScale's planner share. */
#pragma once

#include "strategy/shards/ragged.h"

typedef struct
{
  const RaggedTensor *tensors;
  guint               n;
  guint64             m;
  const guint        *order; /* of the tensors; */
  gboolean            fits;  /* by block and size, where what fits best comes next */
} RaggedProblem;

/*
 * The earliest start of a tensor from AT on, so that each boundary of shards inside it is one of
 * its blocks'; G_MAXUINT64: there is none.
 *
 * It lies inside a shard, or so many whole blocks of it lie before the next boundary. What holds a
 * whole shard needs shards of whole blocks; what does not, but is longer than a shard, may lie
 * around the boundary behind the next one.
 */
static inline guint64
ragged_earliest (const RaggedTensor *tensor, guint64 at, guint64 shard)
{
  guint64 next = at / shard * shard + shard, before;

  if (at + tensor->elements <= next)
    return at;
  if (shard % tensor->block == 0 && at % shard == 0)
    return at;
  before = (next - at) / tensor->block * tensor->block;
  if (shard % tensor->block == 0 || tensor->elements <= before + shard)
    return next - before;
  before = shard / tensor->block * tensor->block;
  return tensor->elements <= before + shard ? next + shard - before : G_MAXUINT64;
}

/* Places the tensors in shards of SHARD elements: fills STARTS (or NULL). Whether it found how. */
gboolean ragged_place_fitting (const RaggedProblem *self, guint64 shard, guint64 *starts);
