/* What the files of DeepSpeed's coordinator share: its state, and how parameters come and go. */
#pragma once

#include "strategy/compression/compressed.h"
#include "strategy/runtime/buckets/gradient-bucket.h"
#include "strategy/runtime/buckets/host-slices.h"
#include "strategy/runtime/deepspeed/issue-deepspeed.h"

typedef struct
{
  gboolean  available; /* or on its way */
  gboolean  cached;    /* the second copy is valid */
  gint      passed;    /* latest visit that the prefetcher passed over; -1 = none */
  guint     fetch;     /* of `fetches`, until its next use; SCHEDULE_NONE: it is not on its way */
  StreamRef home;      /* the stream whose pool `full` is of */
  EventRef  stashed;   /* the second copy is made of `full` until then; SCHEDULE_NONE: not now */
  BufferRef full, grads;
} DeepspeedUnit;

/* An all-gather, or whatever else brings units. What several tensors share is copied out of it. */
typedef struct
{
  guint    *units; /* owners */
  guint     n;
  guint     waiting;  /* units whose next use is yet to come */
  gboolean  complete; /* all of them are where kernels read them */
  BufferRef flat;     /* as they came; SCHEDULE_NONE: where kernels read them */
  BufferRef decoded;  /* the same, plain; SCHEDULE_NONE: it came so, or it is one tensor */
  Payload   landed;   /* what is in FLAT */
  EventRef  arrived;  /* it is there */
} DeepspeedFetch;

/* Fetches or reductions that may be outstanding. */
#define DEEPSPEED_OUTSTANDING 3

typedef struct
{
  StreamRef      gather, reduce;
  StreamRef      assemble;     /* puts shards together and copies parameters out of flat buffers */
  StreamRef      copy;         /* makes the second copy, and brings it from another place */
  gboolean       in_place;     /* tensors are gathered each to its place */
  gboolean       synchronises; /* the host does with the device at each fetch */
  guint          m, copies;    /* ranks that share the parameters, the copy */
  BufferRef      shards, persistent, gradients; /* of all units */
  BufferRef      cache, kept; /* second copies at their home, and those that stay on the GPU */
  GradientBucket bucket;
  Compressed     compressed;
  BufferRef      of_table;        /* a tied head's gradient, until the table's is complete */
  DeepspeedUnit *units;           /* by unit; a tied second use refers to its owner's */
  gboolean      *reused;          /* [run->n_uses]: used again within max_reuse_distance */
  guint          position, queue; /* where the walk and the prefetcher stand among the uses */
  gboolean       traced;          /* the order of uses is known: from the second micro-step on */
  gint64         live;            /* gathered elements */
  GArray        *fetches;         /* DeepspeedFetch: of the micro-step */
  EventRef       outstanding[DEEPSPEED_OUTSTANDING]; /* uses of what was on its way, oldest first */
  /* of what is not in GPU memory */
  StreamRef  fetch, drives; /* bring shards from the host, to it from drives */
  BufferRef *ring;          /* pinned buffers between the two, used in turn */
  EventRef  *ring_free;     /* the shard in it has gone on */
  guint      n_ring, ring_next;
  HostSlices host;              /* gradients, optimizer states and what is updated there */
  StreamRef  swap, read, write; /* gradients to drives; optimizer states from and to them */
  BufferRef  tiles[2];          /* pinned buffers of a sub-group on its way */
  EventRef   tile_free[2];      /* it has been written back */
  guint      n_tiles;
} DeepspeedState;

/* As many sub-groups as an optimizer on the host has at most: larger ones beyond. */
#define DEEPSPEED_MAX_SUB_GROUPS 64

static inline const UnitPolicy *
deepspeed_unit_policy (const StrategyRun *run)
{
  return &run->policy->kinds[0];
}

static inline gboolean
deepspeed_has_copy (const StrategyRun *run)
{
  return deepspeed_unit_policy (run)->copy.group.size > 0;
}

/* Which uses leave what they used gathered for the next one: `reused`. */
void deepspeed_mark_reuse (StrategyRun *run);
/* The gradient of a tied head that SLOT's use makes; it is added to that of the table's UNIT. */
void deepspeed_hold_tied_gradient (StrategyRun *run, const UnitSlot *slot);
void deepspeed_join_tied_gradient (StrategyRun *run, guint unit);
/* Whether nothing keeps the unit of USE, which is there now, until that use. */
gboolean deepspeed_goes_before (const StrategyRun *run, guint use);
/* Says where the kernels of UNIT read its parameters at present. */
void deepspeed_place_parameters (StrategyRun *run, guint unit);
/* Gathers UNITS (owners) as one collective a source, named after the first of them. */
void deepspeed_gather (StrategyRun *run, const guint *units, guint n);
/* UNIT, which is used now, is where kernels read it when the assembling stream has come so far. */
void deepspeed_await (StrategyRun *run, guint unit);
/* Nothing is on its way any more. */
void deepspeed_drop_fetches (DeepspeedState *s);
/* The first use of a step leaves the own slice of the second copy. It waits for the module. */
void deepspeed_stash (StrategyRun *run, guint unit);
/* U's gathered parameters go; COPIED_NOW: the last thing that read them is that slice's copy. */
void deepspeed_free_gathered (StrategyRun *run, DeepspeedUnit *u, gboolean copied_now);

/* ---- gradients ------------------------------------------------------------------------------- */

/*
 * Reduces what the bucket holds, or the gradient that is too large for it, in the reduction's
 * precision, and adds the own part to what earlier micro-steps left.
 */
void deepspeed_reduce_bucket (StrategyRun *run, const GradientBucket *bucket);

/* ---- what lives in host memory and on drives ------------------------------------------------- */

gboolean deepspeed_is_away (const StrategyRun *run, PolicyStateKind state);
void     deepspeed_offload_init (StrategyRun *run);
void     deepspeed_offload_clear (DeepspeedState *s);
void     deepspeed_offload_begin_step (StrategyRun *run);
/* Buffers for ELEMENTS, free on the drives' stream from here on: the first one's index. */
guint deepspeed_ring_take (StrategyRun *run, guint64 elements);
/* The shards in the buffers from FIRST on, the last ones taken, have gone on. */
void deepspeed_ring_give (StrategyRun *run, guint first);
/* The own part of BUCKET, which is reduced in INPUT, goes to where the optimizer finds it. */
void deepspeed_offload_store (StrategyRun *run, const GradientBucket *bucket, BufferRef input,
                              guint64 padded);
/* The optimizer by the host's cores; shards that the GPU updates and that live elsewhere. */
void deepspeed_host_step (StrategyRun *run);
void deepspeed_renew_from_gpu (StrategyRun *run);
