/*
 * The heap of a GPU as its framework sets it up: the allocator's settings, and the workspaces that
 * libraries take from it for good.
 */
#pragma once

#include "cluster/profile.h"
#include "replay/heap.h"
#include "scenario/memory-config.h"
#include "workload/parallel.h"

/* NULL: no allocator, bytes count as themselves. */
Heap *device_heap_new (const MemoryConfig *config, const GpuProfile *gpu, const MeshOptions *mesh);

/* Bytes of workspaces, which are allocated as well. */
guint64 device_heap_workspaces (const MemoryConfig *config, const GpuProfile *gpu,
                                const MeshOptions *mesh);
