/* The use of a tier of memory, read off a replay at its fullest place. */
#pragma once

#include "predict/prediction.h"

#define MEMORY_USE_ALL G_MAXUINT

/* The GPU's memory, of the ranks of STAGE or of MEMORY_USE_ALL. */
void memory_use_read_hbm (MemoryUse *self, const Replay *replay, guint stage);

/* Of RANK alone, which is simulated or does what one that is does. */
void memory_use_read_rank (MemoryUse *self, const Replay *replay, guint32 rank);

/* The tightest of the pools that POOL_OF gives for each simulated node. */
void memory_use_read_nodes (MemoryUse *self, const Replay *replay,
                            PoolId (*pool_of) (const Replay *replay, guint i, guint *node));

/* Of a copy made byte by byte: texts of its own. */
void memory_use_keep (MemoryUse *self);
void memory_use_clear (MemoryUse *self);
