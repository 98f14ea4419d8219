/* What the files of fully_shard's issue share: its state, and how gradients are reduced. */
#pragma once

#include "strategy/compressed.h"
#include "strategy/issue-fsdp2.h"

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
  gboolean  available;
} Fsdp2Unit;

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

/* Replicas of some unit: the rest of the gradients is then reduced on their stream. */
gboolean fsdp2_has_replicas (const StrategyRun *run);
/*
 * UNIT's whole gradient (*GRADS, ELEMENT_BYTES an element) is copied into the padded input, and
 * goes. FIRST: of the step's.
 */
void fsdp2_reduce_unit (StrategyRun *run, guint unit, BufferRef *grads, guint element_bytes,
                        gboolean first);
void fsdp2_wait_for_reductions (StrategyRun *run);
