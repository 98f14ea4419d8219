/* What the files of Megatron-FSDP's issue share: its state, and how gradients are reduced. */
#pragma once

#include "strategy/compression/compressed.h"
#include "strategy/runtime/megatron/issue-megatron.h"

#define MAX_PARTS 3 /* units of a layer: before, of and behind its experts */
#define N_BUFFERS 2

typedef struct
{
  BufferRef buffers[N_BUFFERS][MAX_PARTS];
  gboolean  taken[N_BUFFERS][MAX_PARTS];
} DoubleBuffer;

typedef struct
{
  BufferRef full;     /* gathered parameters */
  BufferRef bucket;   /* of the gradient of the current backward pass */
  BufferRef computed; /* of the tensor whose gradient is being added */
  EventRef  gathered;
  gboolean  available;
} MegatronUnit;

typedef struct
{
  BufferRef bucket; /* SCHEDULE_NONE: a whole gradient, which stays */
  EventRef  done;
  guint64   elements;
} Reduction;

typedef struct
{
  StreamRef        gather, reduce, outer, outer_gather;
  BufferRef        parameters, gradients; /* what the rank has of all units */
  BufferRef        updated, reduced;      /* where outer ranks share the optimizer: its parts */
  MegatronUnit    *units;
  GArray          *queue;           /* Reduction: oldest first */
  const LayerDesc *common;          /* blocks that have double buffers; NULL: none */
  DoubleBuffer     pools[2];        /* [gradients] */
  guint64          ahead, capacity; /* elements gathered ahead; in reductions under way */
  Compressed       compressed;
} MegatronState;

static inline const MegatronIssue *
megatron_options_of (const StrategyRun *run)
{
  return run->policy->issue;
}

static inline const PolicyRoute *
megatron_route_of (const StrategyRun *run, guint unit, PolicyRouteKind route)
{
  return &run->shares[unit].policy->routes[route];
}

/* Else parameters are whole on every rank. */
static inline gboolean
megatron_is_gathered (const StrategyRun *run, guint unit)
{
  return megatron_route_of (run, unit, ROUTE_GATHER)->n > 0;
}

/* Else gradients are, until the last micro-step. */
static inline gboolean
megatron_cuts_gradients (const StrategyRun *run)
{
  return run->policy->kinds[0].routes[ROUTE_REDUCE].hops[0].cadence == CADENCE_MICRO_STEP;
}

/* Whether outer ranks share the optimizer, whose parts of sharded parameters then come back. */
static inline gboolean
megatron_shares_outside (const StrategyRun *run)
{
  const UnitPolicy *kind = &run->policy->kinds[0];

  return kind->routes[ROUTE_GATHER].n > 0 && kind->routes[ROUTE_UPDATE].n > 0;
}

static inline gboolean
megatron_has_double_buffers (const StrategyRun *run)
{
  return megatron_options_of (run)->double_buffer || megatron_options_of (run)->registered;
}

/* Else gradients wait for the end of the last backward pass. */
static inline gboolean
megatron_overlaps_reductions (const StrategyRun *run)
{
  return megatron_cuts_gradients (run) || megatron_options_of (run)->overlap_grad_reduce;
}

static inline gboolean
megatron_is_block (const StrategyRun *run, guint unit)
{
  return run->units[unit].desc->kind == LAYER_BLOCK;
}

/* Where UNIT stands among those of its layer. */
static inline guint
megatron_part_of (const StrategyRun *run, guint unit)
{
  guint part = 0;

  while (part < unit && run->units[unit - part - 1].layer == run->units[unit].layer)
    part++;
  return part;
}

/* The buffers that live for ever, where there are double buffers. */
void megatron_make_pools (StrategyRun *run);
/*
 * A double buffer for UNIT that is not taken (SCHEDULE_NONE: there is none); BUFFER is given back,
 * or freed where it is nobody's double buffer.
 */
BufferRef megatron_take_buffer (StrategyRun *run, guint unit, gboolean gradients);
void      megatron_give_buffer (StrategyRun *run, BufferRef buffer, gboolean gradients);

/* Whether shards are reduced over outer ranks in the last micro-step. */
gboolean megatron_has_replicas (const StrategyRun *run);
/* UNIT's gradient is complete; LAST: of the step's. */
void megatron_reduce_unit (StrategyRun *run, guint unit, gboolean last);
void megatron_gradient_begin (StrategyRun *run, const UnitSlot *slot);
void megatron_gradient_ready (StrategyRun *run, const UnitSlot *slot);
void megatron_micro_step_end (StrategyRun *run);
