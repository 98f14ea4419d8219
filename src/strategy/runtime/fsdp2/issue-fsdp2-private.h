/* What the files of fully_shard's issue share: its state, and how gradients are reduced. */
#pragma once

#include "strategy/compression/compressed.h"
#include "strategy/runtime/fsdp2/issue-fsdp2.h"

/* Private state of the runtime: of a unit, and of a role. */
typedef struct
{
  BufferRef gather;       /* all-gather output, until copied out */
  EventRef  gathered;     /* the all-gather is done */
  BufferRef full;         /* per-parameter storage */
  BufferRef slice;        /* second copy, between forward use and next use; NONE: there is none */
  EventRef  sliced;       /* it is there */
  BufferRef grads;        /* unsharded, of the current backward pass */
  BufferRef sum;          /* where whole gradients are kept: of all micro-steps so far */
  BufferRef shard_buffer; /* sharded gradient */
  BufferRef partial;      /* reduced shards that replicas have not added up yet */
  BufferRef all_reduced;  /* what replicas have worked in, until the backward pass ends */
  gboolean  available;
} Fsdp2Unit;

/* A gathered buffer that kernels have read in place, until it goes. */
typedef struct
{
  BufferRef buffer;
  EventRef  end; /* of their use */
} Fsdp2Used;

typedef struct
{
  StreamRef  copy_in, gather, reduce, all_reduce;
  BufferRef  shards; /* of the parameters: all units */
  Fsdp2Unit *units;
  /* forward: the previous unit's gathered buffer, and when it has been copied out */
  BufferRef held;
  EventRef  held_copied;
  EventRef  offloaded; /* CPU offload: the last copy of a gradient to the host */
  /* backward: the previous unit's reduce-scatter input, and when it is done */
  BufferRef  reducing;
  EventRef   reduced;
  Compressed compressed;
  GArray    *used; /* Fsdp2Used: of formats in place, of units that do not stay; oldest first */
} Fsdp2State;

static inline const PolicyRoute *
fsdp2_reduce_route (const StrategyRun *run, guint kind)
{
  return &run->policy->kinds[kind].routes[ROUTE_REDUCE];
}

static inline gboolean
fsdp2_is_offloaded (const StrategyRun *run)
{
  return run->policy->kinds[0].states[STATE_PARAMETERS].home != PLACE_HBM;
}

/* Gradients are kept whole until the last micro-step. */
static inline gboolean
fsdp2_sums_whole (const StrategyRun *run)
{
  return fsdp2_reduce_route (run, 0)->hops[0].cadence == CADENCE_LAST;
}

/* Whether what a forward use of UNIT gathered stays until its backward use. */
gboolean fsdp2_stays_gathered (const StrategyRun *run, guint unit);
/* Gathers UNIT, AHEAD of its turn or not; from its slice of the second copy where it has one. */
void fsdp2_unshard (StrategyRun *run, guint unit, gboolean ahead);
/* The op emitted last reads the shard of UNIT, where it was STAGED or (NONE) where it lives. */
static inline void
fsdp2_read_shard (StrategyRun *run, guint unit, BufferRef staged)
{
  if (staged != SCHEDULE_NONE)
    schedule_uses (run->b, staged, SCHEDULE_WHOLE, ACCESS_READ);
  else
    schedule_uses (run->b, ((const Fsdp2State *) run->state)->shards, unit, ACCESS_READ);
}

/* Of a rank's shard of UNIT the elements that are gathered as a byte each. */
guint64 fsdp2_narrow_elements (const StrategyRun *run, guint unit);
/* Bytes of all of UNIT as it is gathered. */
guint64 fsdp2_gathered_bytes (const StrategyRun *run, guint unit);
/* Those elements as they are gathered, made on the copy-in stream; NONE: there are none. */
BufferRef fsdp2_cast_shard (StrategyRun *run, guint unit, BufferRef staged);
/* The scales of all weights, behind the update, where they are precomputed. */
void fsdp2_precompute_scales (StrategyRun *run);

/* What was gathered for the use of SLOT becomes the parameters that its kernels read. */
void fsdp2_take_forward (StrategyRun *run, const UnitSlot *slot);
void fsdp2_take_backward (StrategyRun *run, const UnitSlot *slot);
/* Of a copy-out: the gathered buffer of the last forward use. */
void fsdp2_drop_held (StrategyRun *run);
/* A slice of UNIT's parameters stays, shared by a group of its own. */
void fsdp2_keep_slice (StrategyRun *run, guint unit);
/* UNIT's parameters go, behind what the compute stream does with them now. */
void fsdp2_reshard (StrategyRun *run, guint unit);
/* The step ends: so do all that were used. */
void fsdp2_free_used (StrategyRun *run);

/*
 * UNIT's whole gradient (*GRADS, of DTYPE) becomes the padded input of the reduction, copied or,
 * where it is that, in place. LAST: no other of the step follows.
 */
void fsdp2_reduce_unit (StrategyRun *run, guint unit, BufferRef *grads, Dtype dtype, gboolean last);
void fsdp2_wait_for_reductions (StrategyRun *run);
/*
 * Memory that reductions made is about to go: their streams, to whose pools it returns, come after
 * the compute stream, as the next reduction does.
 */
void fsdp2_follow_compute (StrategyRun *run);
