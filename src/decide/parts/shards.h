/*
 * What sharding formats make of a model over numbers of ranks: padding, bytes, copies, where each
 * tensor lies, and which numbers of ranks pad little.
 *
 * Units are layers, the experts in theirs as FSDP2 wraps them. A format (format.h) pads a
 * unit of E elements to P >= E, a multiple of the ranks; padding is the sum of all P over that of
 * all E, less 1. Nothing is simulated.
 */
#pragma once

#include "model/step/workload.h"
#include "strategy/shards/format.h"

/* Units of equal content. */
typedef struct
{
  char    *name;           /* "block 3 to 60" */
  guint    first, last, n; /* so many, from layer FIRST of the model to LAST */
  gboolean experts;        /* routed ones by themselves: with expert ranks they share them */
  GArray  *tensors;        /* TensorDesc */
  guint64  elements;       /* of one unit */
} ShardUnit;

/* Of one format on a number of ranks. Bytes are of the compute type. */
typedef struct
{
  const ShardFormat *format;
  guint              ranks;
  guint64            elements, padded; /* of all units */
  guint64            rank_bytes;       /* of a rank's shards of all units */
  const ShardUnit   *largest;          /* as it is gathered, */
  guint64            largest_padded;
  guint64            largest_bytes; /* with its padding */
  guint              n_units;
  guint              n_misaligned; /* of them, whose bytes a rank are no multiple of 16 */
  guint64            copied_bytes; /* read and written a step to have tensors in order */
} ShardSize;

/* Where a tensor lies; TENSOR NULL: the padding behind the last one of its unit. */
typedef struct
{
  const ShardUnit  *unit;
  const TensorDesc *tensor;
  guint64           start, end; /* elements, of the unit's buffer; or of each rank's shard */
  guint64           padding;    /* before it; or what it is itself padded by */
  guint             first_rank, last_rank; /* that have some of it */
  guint64           rank_elements;         /* that one of them has at most */
  guint64           block; /* elements that the format does not cut; 0: it heeds no blocks */
} ShardPlace;

/* What to do about a size that pads much. */
typedef struct
{
  ShardSize asked;
  gboolean  found; /* there is a smaller one that pads less */
  ShardSize size;  /* the nearest below it that pads little; or (not LITTLE) the least */
  gboolean  little;
  ShardSize shard; /* with as many replicas as there is room for, less padding on most ranks */
  guint     replicas;
} ShardAdvice;

typedef struct
{
  const Workload    *workload;
  const guint       *ranks;   /* ascending */
  guint              n_ranks; /* each a multiple of the workload's expert ranks */
  const ShardFormat *formats[16];
  guint              n_formats;
  RaggedOrder        order;         /* of format_ragged */
  gboolean           experts_apart; /* routed experts are units of their own */
} ShardsOptions;

typedef struct
{
  ShardsOptions options; /* what it points to is the caller's */
  GPtrArray    *units;   /* ShardUnit, in forward order */
  GArray       *sizes;   /* ShardSize: all formats of the fewest ranks first */
  GArray       *places;  /* ShardPlace, where there is one size: else none */
  GArray       *advice;  /* ShardAdvice, in the order of `sizes` */
} Shards;

Shards *shards_new (const ShardsOptions *options);
void    shards_free (Shards *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Shards, shards_free)

/* Padding over elements: 0.5 where half as much is added. */
double shard_size_padding (const ShardSize *self);
double shard_size_largest_padding (const ShardSize *self);

/* Whether places are of one buffer a unit, else of each tensor's own cuts. */
gboolean shards_have_buffers (const Shards *self);

/* What is much, and what is little. */
#define SHARDS_MUCH   0.03
#define SHARDS_LITTLE 0.01

/* Numbers of ranks that are looked at for advice are multiples of it. */
#define SHARDS_STEP 8
