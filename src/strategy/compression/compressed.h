/*
 * Reductions by a compressor, in place of a walk over the hops of a route: what an issue keeps for
 * them from step to step, and how a bucket goes.
 *
 * Every rank has the whole sum afterwards. Where gradients are sharded it keeps its own part of it.
 */
#pragma once

#include "strategy/emit/route.h"

typedef struct
{
  BufferRef       errors, factors, sums; /* of all units; SCHEDULE_NONE: there are none */
  CompressorPlan *plans[2];              /* of each kind of unit */
} Compressed;

/* Whether a compressor reduces gradients of KIND: then of all ranks, so that none are replicas. */
static inline gboolean
compresses (const StrategyRun *run, guint kind)
{
  return run->policy->kinds[kind].compressor != NULL;
}

/*
 * Whether shards of some unit are reduced over their replicas, behind the shard group: by a walk
 * over the rest of the route.
 */
gboolean reduces_over_replicas (const StrategyRun *run);

/* Takes memory for ever. */
void compressed_init (Compressed *self, StrategyRun *run);
void compressed_clear (Compressed *self, StrategyRun *run);

/* Reduces BUCKET, whose parts of what is kept are filled in here. */
void compressed_reduce (const Compressed *self, StrategyRun *run, CompressedBucket bucket);

/*
 * The same of the gradients of UNITS, of one kind, which are whole at FROM; STREAM takes all of it.
 * If TO is another end, the own part, so many elements of it, is then copied there.
 */
void compressed_reduce_units (const Compressed *self, StrategyRun *run, const guint *units,
                              guint n_units, StreamRef stream, RouteEnd from, RouteEnd to,
                              guint64 part);

/*
 * Adds to FORM what compressors do in a step of POLICY, whose reductions have BUCKET elements at
 * most.
 */
void compressed_form (const PlanInput *in, const Policy *policy, double bucket, IssueForm *form);

/* Behind the optimizer. */
void compressed_step_end (const Compressed *self, StrategyRun *run);
