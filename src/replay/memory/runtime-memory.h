/*
 * What a process takes of its GPU's memory outside of the framework's allocator: the context
 * (`runtime_bytes` of the GPU's profile), the buffers of each communicator that the rank's schedule
 * uses (communicator.h), which process groups make at their first use, and userbuffers
 * (model/layer/userbuffers.h).
 */
#pragma once

#include "replay/bind/plan.h"

typedef struct _RuntimeMemory RuntimeMemory;

RuntimeMemory *runtime_memory_new (const ReplayPlan *plan);
void           runtime_memory_free (RuntimeMemory *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RuntimeMemory, runtime_memory_free)

guint64 runtime_memory_bytes (const RuntimeMemory *self, guint32 rank);
