#include "replay/plan-memory.h"
#include "engine/pool-private.h"
#include "replay/replay-private.h"
#include "replay/runtime-memory.h"

typedef struct
{
  const Schedule *schedule;
  guint           role;
  Heap           *heap; /* NULL: no allocator */
  guint64         host;
  PlanMemory      result;
} Walk;

/* As the engine's hosts do it where nothing is waited for. */
static void
take_blocks (Walk *self, const HeapRequest *request)
{
  guint64 room = pool_room (&self->result.hbm);
  guint   done = 0;

  if (!heap_take (self->heap, request, room, &done))
    {
      if (heap_trim (self->heap) > 0)
        self->result.hbm.n_retries++;
      if (!heap_take (self->heap, request, room, &done))
        heap_take (self->heap, request, G_MAXUINT64, &done);
    }
  self->result.hbm.heap = heap_reserved (self->heap);
}

static void
walk_item (Walk *self, const ScheduleItem *item, guint64 tag)
{
  const ScheduleBuffer *buffer;
  HeapRequest           request;

  if (item->kind != ITEM_ALLOC && item->kind != ITEM_FREE)
    return;
  buffer = schedule_buffer_info (self->schedule, self->role, item->ref);
  request = buffer_request (buffer, item->ref);
  if (buffer->tier != TIER_HBM)
    {
      self->host += item->kind == ITEM_ALLOC ? buffer->bytes : -buffer->bytes;
      self->result.host_bytes = MAX (self->result.host_bytes, self->host);
    }
  else if (item->kind == ITEM_ALLOC)
    {
      if (self->heap != NULL)
        take_blocks (self, &request);
      pool_take (&self->result.hbm, buffer->category, buffer->bytes, 0, tag);
    }
  else
    {
      if (self->heap != NULL)
        heap_release (self->heap, &request);
      pool_release (&self->result.hbm, buffer->category, buffer->bytes);
    }
}

static guint32
rank_of_role (const Replay *self, guint role)
{
  guint32 rank = 0;

  while (schedule_role_of_rank (self->schedule, rank) != role)
    rank++;
  return rank;
}

static PlanMemory
plan_memory (const Replay *self, guint role, const RuntimeMemory *runtime)
{
  AllocatorKind     allocator = (AllocatorKind) self->scenario->memory.allocator;
  Walk              walk = { .schedule = self->schedule, .role = role };
  const GpuProfile *gpu;

  walk.result.rank = rank_of_role (self, role);
  walk.result.stage = schedule_role_stage (self->schedule, role);
  gpu = cluster_gpu_profile (self->cluster, walk.result.rank);
  walk.result.hbm.capacity = (guint64) gpu->hbm_bytes.value;
  if (allocator != ALLOCATOR_IDEAL)
    walk.heap = heap_new (allocator);
  walk.result.hbm.caching = walk.heap != NULL;
  pool_take (&walk.result.hbm, POOL_RUNTIME, runtime_memory_bytes (runtime, walk.result.rank), 0,
             0);
  for (guint s = 0; s < SECTION_N; s++)
    {
      ScheduleItems items = schedule_items (self->schedule, role, s);

      for (guint i = 0; i < items.n; i++)
        walk_item (&walk, &items.items[i], (guint64) s << 32 | i);
    }
  heap_free (walk.heap);
  return walk.result;
}

PlanMemory
replay_plan_memory (const Replay *self, guint role)
{
  g_autoptr (RuntimeMemory) runtime = runtime_memory_new (self);

  return plan_memory (self, role, runtime);
}

PlanMemory
replay_plan_fullest (const Replay *self)
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

/* Of the node's memory that is over by most. PLANS: of the roles. */
static gint64
host_excess (const Replay *self, const PlanMemory *plans)
{
  const Cluster      *cluster = self->cluster;
  g_autofree guint64 *used = g_new0 (guint64, cluster_n_nodes (cluster));
  gint64              excess = G_MININT64;

  for (guint32 rank = 0; rank < cluster_n_gpus (cluster); rank++)
    used[cluster_node_of_gpu (cluster, rank)] +=
        plans[schedule_role_of_rank (self->schedule, rank)].host_bytes;
  for (guint node = 0; node < cluster_n_nodes (cluster); node++)
    {
      guint64 capacity = (guint64) cluster_node_profile (cluster, node)->dram_bytes.value;

      excess = MAX (excess, (gint64) (used[node] - capacity));
    }
  return excess;
}

gint64
replay_plan_excess (const Replay *self)
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
  return MAX (excess, host_excess (self, plans));
}

void
plan_memory_shorten (Scenario *scenario)
{
  gint64 stages = MAX (scenario->mesh.pp, 1), chunks = MAX (scenario->mesh.vp, 1);

  scenario->training.grad_accum = MIN (scenario->training.grad_accum, 2 * stages * (chunks + 1));
}
