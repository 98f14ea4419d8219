/*
 * The memory of a plan without running it: the host's allocations of one role in order, through the
 * scenario's allocator, over init, the first period and a steady one. Blocks that another stream
 * still uses are taken to be free again when the host frees them, so that what record_stream delays
 * is missing: a lower bound where a strategy frees with events (fsdp1, zero3), else what the replay
 * finds. Milliseconds where a replay takes seconds.
 */
#pragma once

#include "engine/pool.h"
#include "replay/bind/plan.h"

typedef struct
{
  PoolStats hbm;        /* of a rank of the role; tags: section << 32 | item of the schedule */
  guint64   host_bytes; /* its peak share of the node's memory */
  guint64   nvme_bytes; /* and of its drives */
  guint32   rank;       /* the first one of the role */
  guint     stage;
} PlanMemory;

/*
 * replay_plan_scenario with as few micro-steps as a pipeline takes until its memory repeats, in
 * whole groups of stages. NULL as of replay_plan_new.
 */
ReplayPlan *replay_plan_for_memory (const Scenario *scenario, ProfileSet *profiles, Stop *stop,
                                    DiagList *diags);

PlanMemory replay_plan_memory (const ReplayPlan *self, guint role);

/* The role with the least room, by device peak against capacity. */
PlanMemory replay_plan_fullest (const ReplayPlan *self);

/*
 * Bytes over capacity of the place that is over by most: a GPU's memory, a node's memory or its
 * drives; up to 0: planned to fit. The peaks of a node's ranks are added up: an upper bound for the
 * node's memory where ranks of several roles peak at different times.
 */
gint64 replay_plan_excess (const ReplayPlan *self);
