/*
 * Workspaces of matrix products. PyTorch (ATen/cuda/CublasHandlePool.cpp) takes one of each handle
 * and stream from its allocator at the first product and keeps it: 2 x 4 MiB + 8 x 16 KiB before
 * Hopper, 32 MiB since, of AMD's libraries 128 MiB on MI300 and later, 32 MiB before. A thread has
 * a handle of its own (detail/DeviceThreadHandles.h), and the backward pass is autograd's thread:
 * two. Transformer Engine has one more for all its products (pytorch/module/base.py,
 * get_workspace): 32 MiB since Hopper, else 4 MiB, and as much for each stream of userbuffers
 * (initialize_ub), in one block. They are there from the start here, not from the first product on.
 */
#include "replay/memory/device-heap.h"

#include <string.h>

#include "model/layer/userbuffers.h"

#define MIB(n)          ((guint64) (n) << 20)
#define TORCH_HANDLES   2
#define BEFORE_HOPPER   (MIB (8) + 8 * ((guint64) 16 << 10))
#define OF_NEW_CDNA     MIB (128)
#define MOST_WORKSPACES 3

static gboolean
is_of (const GpuProfile *gpu, const char *const *architectures)
{
  return gpu->architecture != NULL && g_strv_contains (architectures, gpu->architecture);
}

/* The blocks, of which there are N. */
static guint
list_workspaces (const MemoryConfig *config, const GpuProfile *gpu, const MeshOptions *mesh,
                 guint64 *blocks)
{
  static const char *const old[] = { "pascal", "volta", "turing", "ampere", "ada", NULL };
  static const char *const new_cdna[] = { "cdna3", "cdna4", NULL };
  const gboolean           before = is_of (gpu, old);
  guint                    n = 0;

  if (config->workspaces == WORKSPACES_NONE)
    return 0;
  for (guint i = 0; i < TORCH_HANDLES; i++)
    blocks[n++] = before ? BEFORE_HOPPER : is_of (gpu, new_cdna) ? OF_NEW_CDNA : MIB (32);
  if (config->workspaces == WORKSPACES_TRANSFORMER_ENGINE)
    blocks[n++] = (before ? MIB (4) : MIB (32)) * userbuffers_workspaces (mesh);
  return n;
}

guint64
device_heap_workspaces (const MemoryConfig *config, const GpuProfile *gpu, const MeshOptions *mesh)
{
  guint64 blocks[MOST_WORKSPACES], sum = 0;
  guint   n = list_workspaces (config, gpu, mesh, blocks);

  for (guint i = 0; i < n; i++)
    sum += blocks[i];
  return sum;
}

Heap *
device_heap_new (const MemoryConfig *config, const GpuProfile *gpu, const MeshOptions *mesh)
{
  AllocatorRules rules = { .kind = (AllocatorKind) config->allocator,
                           .max_split = (guint64) config->max_split_size,
                           .divisions = 1u << config->roundup_power2_divisions };
  guint64        blocks[MOST_WORKSPACES];
  guint          n = list_workspaces (config, gpu, mesh, blocks);
  Heap          *heap;

  if (rules.kind == ALLOCATOR_IDEAL)
    return NULL;
  heap = heap_new_with (&rules);
  for (guint i = 0; i < n; i++)
    heap_keep (heap, blocks[i]);
  return heap;
}
