#include "replay/bind/plan-memory.h"
#include "engine/pool-private.h"
#include "replay/memory/device-heap.h"
#include "replay/memory/runtime-memory.h"
#include "replay/run/replay-private.h"

HeapRequest *
buffer_requests_new (const Schedule *schedule, guint role)
{
  guint        n = schedule_n_buffers (schedule, role);
  HeapRequest *requests = g_new (HeapRequest, n + 1);

  for (BufferRef ref = 0; ref < n; ref++)
    requests[ref] = buffer_request (schedule_buffer_info (schedule, role, ref), ref);
  return requests;
}

typedef struct
{
  const Schedule *schedule;
  guint           role;
  Heap           *heap;     /* NULL: no allocator */
  HeapRequest    *requests; /* [buffers] */
  guint64         host, nvme;
  PlanMemory      result;
} Walk;

/* As the engine's hosts do it where nothing is waited for. */
static void
take_blocks (Walk *self, const HeapRequest *request)
{
  guint64 room = pool_room (&self->result.hbm);
  guint   done = 0;

  if (!heap_allocate (self->heap, request, room, &done))
    {
      if (heap_trim (self->heap) > 0)
        self->result.hbm.n_retries++;
      if (!heap_allocate (self->heap, request, room, &done))
        heap_allocate (self->heap, request, G_MAXUINT64, &done);
    }
  self->result.hbm.heap = heap_reserved (self->heap);
}

static void
walk_item (Walk *self, const ScheduleItem *item, guint64 tag)
{
  const ScheduleBuffer *buffer;

  if (item->kind == ITEM_PASS)
    buffer_pass (self->requests, item);
  if (item->kind != ITEM_ALLOC && item->kind != ITEM_FREE)
    return;
  buffer = schedule_buffer_info (self->schedule, self->role, item->ref);
  if (buffer->place != PLACE_HBM)
    {
      guint64 *held = place_is_host (buffer->place) ? &self->host : &self->nvme;

      *held += item->kind == ITEM_ALLOC ? buffer->bytes : -buffer->bytes;
      self->result.host_bytes = MAX (self->result.host_bytes, self->host);
      self->result.nvme_bytes = MAX (self->result.nvme_bytes, self->nvme);
    }
  else if (item->kind == ITEM_ALLOC)
    {
      if (self->heap != NULL)
        take_blocks (self, &self->requests[item->ref]);
      pool_take (&self->result.hbm, buffer->category, buffer->bytes, 0, tag);
    }
  else
    {
      if (self->heap != NULL)
        heap_release (self->heap, &self->requests[item->ref]);
      pool_release (&self->result.hbm, buffer->category, buffer->bytes);
    }
}

static PlanMemory
plan_memory (const ReplayPlan *self, guint role, const RuntimeMemory *runtime)
{
  const MemoryConfig *memory = &self->resolved->scenario->memory;
  const MeshOptions  *mesh = &self->resolved->scenario->mesh;
  Walk                walk = { .schedule = self->schedule,
                               .role = role,
                               .requests = buffer_requests_new (self->schedule, role) };
  const GpuProfile   *gpu;
  guint32             rank = 0;

  while (schedule_role_of_rank (self->schedule, rank) != role)
    rank++;
  walk.result.rank = rank;
  walk.result.stage = schedule_role_stage (self->schedule, role);
  gpu = cluster_gpu_profile (self->resolved->cluster, walk.result.rank);
  walk.result.hbm.capacity = (guint64) gpu->hbm_bytes.value;
  walk.heap = device_heap_new (memory, gpu, mesh);
  walk.result.hbm.caching = walk.heap != NULL;
  pool_take (&walk.result.hbm, POOL_RUNTIME, runtime_memory_bytes (runtime, walk.result.rank), 0,
             0);
  pool_take (&walk.result.hbm, POOL_WORKSPACE, device_heap_workspaces (memory, gpu, mesh), 0, 0);
  for (guint s = 0; s < SECTION_N; s++)
    {
      ScheduleItems items = schedule_items (self->schedule, role, s);

      for (guint i = 0; i < items.n; i++)
        walk_item (&walk, &items.items[i], (guint64) s << 32 | i);
    }
  heap_free (walk.heap);
  g_free (walk.requests);
  return walk.result;
}

PlanMemory
replay_plan_memory (const ReplayPlan *self, guint role)
{
  g_autoptr (RuntimeMemory) runtime = runtime_memory_new (self);

  return plan_memory (self, role, runtime);
}

PlanMemory
replay_plan_fullest (const ReplayPlan *self)
{
  g_autoptr (RuntimeMemory) runtime = runtime_memory_new (self);
  PlanMemory                fullest = plan_memory (self, 0, runtime);

  for (guint role = 1; role < schedule_n_roles (self->schedule); role++)
    {
      PlanMemory memory = plan_memory (self, role, runtime);

      if ((gint64) (memory.hbm.capacity - memory.hbm.device.bytes)
          < (gint64) (fullest.hbm.capacity - fullest.hbm.device.bytes))
        fullest = memory;
    }
  return fullest;
}

/* Of the node's memory or drives that are over by most. PLANS: of the roles. */
static gint64
node_excess (const ReplayPlan *self, const PlanMemory *plans, gsize bytes, gsize figure)
{
  const Cluster      *cluster = self->resolved->cluster;
  g_autofree guint64 *used = g_new0 (guint64, cluster_n_nodes (cluster));
  gint64              excess = G_MININT64;

  for (guint32 rank = 0; rank < cluster_n_gpus (cluster); rank++)
    {
      const PlanMemory *plan = &plans[schedule_role_of_rank (self->schedule, rank)];

      used[cluster_node_of_gpu (cluster, rank)] += G_STRUCT_MEMBER (guint64, plan, bytes);
    }
  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      const NodeProfile *profile = cluster_node_profile (cluster, node);
      const Figure      *capacity = G_STRUCT_MEMBER_P (profile, figure);

      if (used[node] > 0)
        excess = MAX (excess, (gint64) (used[node] - (guint64) capacity->value));
    }
  return excess;
}

gint64
replay_plan_excess (const ReplayPlan *self)
{
  g_autoptr (RuntimeMemory) runtime = runtime_memory_new (self);
  guint                     n_roles = schedule_n_roles (self->schedule);
  g_autofree PlanMemory    *plans = g_new (PlanMemory, n_roles);
  gint64                    excess = G_MININT64;

  for (guint role = 0; role < n_roles; role++)
    {
      plans[role] = plan_memory (self, role, runtime);
      excess = MAX (excess, (gint64) (plans[role].hbm.device.bytes - plans[role].hbm.capacity));
    }
  excess = MAX (excess, node_excess (self, plans, G_STRUCT_OFFSET (PlanMemory, host_bytes),
                                     G_STRUCT_OFFSET (NodeProfile, dram_bytes)));
  return MAX (excess, node_excess (self, plans, G_STRUCT_OFFSET (PlanMemory, nvme_bytes),
                                   G_STRUCT_OFFSET (NodeProfile, nvme_bytes)));
}
