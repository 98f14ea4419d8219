/*
 * The memory of a plan without running it: the host's allocations of one role in order, through the scenario's allocator, over init,
 * the first period and a steady one. Blocks that another stream still uses are taken to be free again when the host frees them, so
 * that what record_stream delays is missing: a lower bound where a strategy frees with events (fsdp1, zero3), else what the replay
 * finds. Milliseconds where a replay takes seconds.
 */
#pragma once

#include "replay/replay.h"

typedef struct
{
  PoolStats hbm;        /* of a rank of the role; tags: section << 32 | item of the schedule */
  guint64   host_bytes; /* its peak share of the node's memory */
  guint32   rank;       /* the first one of the role */
  guint     stage;
} PlanMemory;

/* REPLAY may come from replay_plan. */
PlanMemory replay_plan_memory (const Replay *self, guint role);

/* The role with the least room, by device peak against capacity. */
PlanMemory replay_plan_fullest (const Replay *self);
