/*
 * The heap of a GPU as its framework sets it up: the allocator's settings, and the workspaces that
 * libraries take from it for good.
 */
#pragma once

#include "hardware/profile/profile.h"
#include "model/mesh/parallel.h"
#include "replay/memory/heap.h"
#include "scenario/memory-config.h"

/* NULL: no allocator, bytes count as themselves. */
Heap *device_heap_new (const MemoryConfig *config, const GpuProfile *gpu, const MeshOptions *mesh);

/* Bytes of workspaces, which are allocated as well. */
guint64 device_heap_workspaces (const MemoryConfig *config, const GpuProfile *gpu,
                                const MeshOptions *mesh);
