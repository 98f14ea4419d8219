/* One engine run: each simulated rank's host interprets its role's items, section after section. */
#include "replay/run-private.h"
#include "replay/runtime-memory.h"

#include <string.h>

/* What an item asks of the host. */
typedef enum
{
  ACT_GO_ON, /* done, no time has passed */
  ACT_YIELD, /* done once the engine has obeyed */
  ACT_RETRY, /* not done: again after the engine has obeyed */
} Act;

/* ---- device ops ------------------------------------------------------------------------------ */

/* FALSE: the host waits for room. */
static gboolean
has_room (RankHost *self, const Engine *engine, StreamRef stream, guint n, HostYield *yield)
{
  OpId full = host_room (self, engine, stream, n);

  if (full != ENGINE_NONE)
    *yield = (HostYield){ .kind = HOST_WAIT, .wait = full };
  return full == ENGINE_NONE;
}

static Act
act_submit (RankHost *self, Engine *engine, const ScheduleItem *item, HostYield *yield)
{
  if (!has_room (self, engine, item->stream, 1, yield))
    return ACT_RETRY;
  host_submit (self, engine, item);
  self->waited[item->stream] = FALSE;
  return ACT_GO_ON;
}

/*
 * The messages of a group call wait for what stood on the stream before it, and what comes on the
 * stream waits for them all.
 */
static Act
act_message (RankHost *self, Engine *engine, const ScheduleItem *item, HostYield *yield)
{
  StreamId stream = host_stream (self, item->stream);

  if (self->call == 0)
    {
      if (!has_room (self, engine, item->stream, 2, yield))
        return ACT_RETRY;
      if (item->more && self->waited[item->stream])
        host_submit_marker (self, engine, item->stream);
      self->before = engine_stream_last (engine, stream);
      memset (self->ways, 0, sizeof self->ways);
    }
  host_submit_message (self, engine, item);
  self->waited[item->stream] = self->call > 0;
  self->call = item->more ? self->call + 1 : 0;
  return ACT_GO_ON;
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * An event happens when all before it on its stream has, waits included; the engine's last op knows
 * nothing of waits behind it.
 */
static Act
act_record (RankHost *self, Engine *engine, const ScheduleItem *item, HostYield *yield)
{
  if (self->waited[item->stream] && act_submit (self, engine, item, yield) == ACT_RETRY)
    return ACT_RETRY;
  self->events[item->ref] = engine_stream_last (engine, host_stream (self, item->stream));
  return ACT_GO_ON;
}

static void
act_wait (RankHost *self, Engine *engine, const ScheduleItem *item)
{
  OpId op = self->events[item->ref];

  if (op == ENGINE_NONE || engine_op_done (engine, op))
    return;
  engine_stream_wait (engine, host_stream (self, item->stream), op);
  self->waited[item->stream] = TRUE;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static PoolId
pool_of (const RankHost *self, const ScheduleBuffer *buffer)
{
  return buffer->tier == TIER_HBM
             ? self->run->ranks[self->rank].hbm
             : self->run->host_pools[binding_rank (host_binding (self), self->rank)->node];
}

/* All ranks of the class on a node take their share of its memory at once. */
static guint64
pool_bytes (const RankHost *self, const ScheduleBuffer *buffer)
{
  return buffer->tier == TIER_HBM
             ? buffer->bytes
             : buffer->bytes * binding_rank (host_binding (self), self->rank)->n_on_node;
}

static HeapRequest
heap_request (const RankHost *self, guint32 ref)
{
  const ScheduleBuffer *buffer =
      schedule_buffer_info (host_schedule (self), self->program->role, ref);
  HeapRequest request = buffer_request (buffer, ref);

  request.bytes = pool_bytes (self, buffer);
  return request;
}

static Act
act_alloc (const RankHost *self, const ScheduleItem *item, HostYield *yield)
{
  const ScheduleBuffer *buffer =
      schedule_buffer_info (host_schedule (self), self->program->role, item->ref);

  *yield = (HostYield){
    .kind = HOST_ALLOC,
    .pool = pool_of (self, buffer),
    .category = buffer->category,
    .request = heap_request (self, item->ref),
    .tag = host_tag (self),
  };
  return ACT_YIELD;
}

static void
act_free (const RankHost *self, Engine *engine, const ScheduleItem *item)
{
  const ScheduleBuffer *buffer =
      schedule_buffer_info (host_schedule (self), self->program->role, item->ref);
  HeapRequest request = heap_request (self, item->ref);
  OpId        after = item->event != SCHEDULE_NONE ? self->events[item->event] : ENGINE_NONE;

  engine_pool_release (engine, pool_of (self, buffer), buffer->category, &request, after);
}

/* ---- periods --------------------------------------------------------------------------------- */

static void
mark_boundary (RankHost *self, const Engine *engine)
{
  guint    n = host_n_streams (self);
  Boundary boundary = { engine_now (engine), g_new (OpId, n), NULL };

  for (guint s = 0; s < n; s++)
    boundary.last[s] = engine_stream_last (engine, host_stream (self, s));
  if (self->rank == 0)
    {
      boundary.used = g_new (double, engine_n_resources (engine));
      for (ResourceId r = 0; r < engine_n_resources (engine); r++)
        boundary.used[r] = engine_resource_used (engine, r);
    }
  g_array_append_val (self->boundaries, boundary);
}

static void
act_step (RankHost *self, const Engine *engine)
{
  self->n_steps++;
  if (self->period > 0 && self->n_steps == schedule_steps_per_period (host_schedule (self)))
    mark_boundary (self, engine);
}

static void
open_section (RankHost *self)
{
  ScheduleSection section = period_section (self->period);
  guint           n_events = schedule_n_events (host_schedule (self), self->program->role, section);

  self->items = schedule_items (host_schedule (self), self->program->role, section);
  self->compiled = (const ProgramItem *) (gconstpointer) self->program->items[section]->data;
  self->item = 0;
  self->n_steps = 0;
  memset (self->events, 0xff, n_events * sizeof (OpId));
}

/* FALSE when the last period is over. */
static gboolean
next_section (RankHost *self, const Engine *engine)
{
  if (self->period == 0)
    mark_boundary (self, engine);
  if (self->period > self->run->n_periods)
    return FALSE;
  self->period++;
  open_section (self);
  return TRUE;
}

/* ---- the coroutine --------------------------------------------------------------------------- */

static Act
act (RankHost *self, Engine *engine, const ScheduleItem *item, HostYield *yield)
{
  switch ((ItemKind) item->kind)
    {
    case ITEM_KERNEL:
      if (self->compiled[self->item].kernel == REPLAY_NONE) /* of a group */
        return ACT_GO_ON;
      return act_submit (self, engine, item, yield);
    case ITEM_COLLECTIVE:
    case ITEM_COPY:
      return act_submit (self, engine, item, yield);
    case ITEM_RECORD:
      return act_record (self, engine, item, yield);
    case ITEM_WAIT:
      act_wait (self, engine, item);
      return ACT_GO_ON;
    case ITEM_HOST_WAIT:
      *yield = (HostYield){ .kind = HOST_WAIT, .wait = self->events[item->ref] };
      return yield->wait != ENGINE_NONE ? ACT_YIELD : ACT_GO_ON;
    case ITEM_HOST_HOOK:
      return ACT_GO_ON; /* its issue time is all there is */
    case ITEM_ALLOC:
      return act_alloc (self, item, yield);
    case ITEM_FREE:
      act_free (self, engine, item);
      return ACT_GO_ON;
    case ITEM_STEP:
      act_step (self, engine);
      return ACT_GO_ON;
    case ITEM_P2P:
      return act_message (self, engine, item, yield);
    case ITEM_N_KINDS:
      break;
    }
  g_assert_not_reached ();
}

/* Host time that passes now; FALSE when there is none. */
static gboolean
pay (RankHost *self, SimTime work, ItemStage stage, HostYield *yield)
{
  self->stage = stage;
  *yield = (HostYield){ .kind = HOST_WORK, .work = work };
  return work > 0;
}

/* The group that is submitted during an item's issue. FALSE: yield first. */
static gboolean
do_group (RankHost *self, Engine *engine, HostYield *yield)
{
  const ProgramItem *compiled = &self->compiled[self->item];
  const FusedGroup  *group = &g_array_index (self->program->groups, FusedGroup, compiled->group);

  if (self->stage == STAGE_NOTHING && pay (self, compiled->early, STAGE_EARLY, yield))
    return FALSE;
  if (!has_room (self, engine, group->stream, group->n_kernels, yield))
    return FALSE;
  host_submit_group (self, engine, group);
  self->waited[group->stream] = FALSE;
  self->stage = STAGE_GROUP;
  return TRUE;
}

static HostYield
host_step (Engine *engine, G_GNUC_UNUSED HostId host, gpointer user)
{
  RankHost *self = user;

  for (;;)
    {
      HostYield yield = { .kind = HOST_END };
      Act       done;

      if (self->item == self->items.n)
        {
          if (!next_section (self, engine))
            return yield;
          continue;
        }
      if (self->stage < STAGE_GROUP && self->compiled[self->item].group != REPLAY_NONE
          && !do_group (self, engine, &yield))
        return yield;
      if (self->stage < STAGE_PAID
          && pay (self, self->compiled[self->item].issue, STAGE_PAID, &yield))
        return yield;
      done = act (self, engine, &self->items.items[self->item], &yield);
      if (done != ACT_RETRY)
        {
          self->stage = STAGE_NOTHING;
          self->item++;
        }
      if (done != ACT_GO_ON)
        return yield;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Resources whose use a trace shows. */
static gboolean
is_kept (ResourceKind kind)
{
  return kind == RESOURCE_SM || kind == RESOURCE_HBM || kind == RESOURCE_NVLINK_OUT
         || kind == RESOURCE_NVLINK_IN || kind == RESOURCE_NVLINK_PAIR || kind == RESOURCE_NIC_TX
         || kind == RESOURCE_NIC_RX;
}

static void
add_resources (Run *self, gboolean keep)
{
  const Cluster *cluster = self->replay->cluster;
  const GArray  *resources = self->replay->binding->resources;

  for (guint i = 0; i < resources->len; i++)
    {
      guint32          id = g_array_index (resources, BoundThing, i).id;
      g_autofree char *name = cluster_resource_name (cluster, id);
      ResourceId       added =
          engine_add_resource (self->engine, name, cluster_resource (cluster, id)->capacity);

      g_assert (added == i);
      if (keep && is_kept (cluster_resource (cluster, id)->kind))
        engine_keep_use (self->engine, added);
    }
}

static void
add_host_pools (Run *self)
{
  const GArray *nodes = self->replay->binding->nodes;

  self->host_pools = g_new (PoolId, nodes->len);
  for (guint i = 0; i < nodes->len; i++)
    {
      guint32          node = g_array_index (nodes, BoundThing, i).id;
      g_autofree char *name = g_strdup_printf ("node%u.memory", node);
      double memory = cluster_node_profile (self->replay->cluster, node)->dram_bytes.value;

      self->host_pools[i] = engine_add_pool (self->engine, name, (guint64) memory);
    }
}

static void
add_orders (Run *self)
{
  const Binding *binding = self->replay->binding;

  self->pair_ops = g_new (GArray *, binding->pairs->len + 1);
  for (guint i = 0; i < binding->pairs->len; i++)
    self->pair_ops[i] = g_array_new (FALSE, FALSE, sizeof (OpId));

  self->group_ops = g_new (GArray *, binding->groups->len + 1);
  self->orders = g_new (OrderId, binding->groups->len + 1);
  for (guint i = 0; i < binding->groups->len; i++)
    {
      CommRef comm = binding_group (binding, i)->comm;

      self->group_ops[i] = g_array_new (FALSE, FALSE, sizeof (OpId));
      self->orders[i] =
          engine_add_order (self->engine, schedule_comm_info (self->replay->schedule, comm)->name);
    }
}

/* One set of the schedule's streams for each message of a group call. */
static StreamId
add_streams (Run *self, guint world_rank, guint n_sets)
{
  const Schedule *schedule = self->replay->schedule;
  StreamId        first = ENGINE_NONE;

  for (guint set = 0; set < n_sets; set++)
    for (guint s = 0; s < schedule_n_streams (schedule); s++)
      {
        const ScheduleStream *info = schedule_stream_info (schedule, s);
        g_autofree char      *name = g_strdup_printf ("rank%u.%s", world_rank, info->name);
        StreamId              id = engine_add_stream (self->engine, name, info->priority, 0);

        if (set == 0 && s == 0)
          first = id;
      }
  return first;
}

static guint
max_events (const Schedule *schedule, guint role)
{
  guint n = 0;

  for (ScheduleSection s = 0; s < SECTION_N; s++)
    n = MAX (n, schedule_n_events (schedule, role, s));
  return n;
}

static void
add_host (Run *self, guint i)
{
  RankHost        *host = &self->hosts[i];
  const Schedule  *schedule = self->replay->schedule;
  g_autofree char *name = g_strdup_printf ("rank%u.host", self->ranks[i].rank);

  host->run = self;
  host->rank = i;
  host->program = self->replay->program_of[i];
  host->events = g_new (OpId, max_events (schedule, host->program->role) + 1);
  host->issued = g_new0 (guint, schedule_n_comms (schedule) + 1);
  host->turns = g_new0 (guint, binding_rank (self->replay->binding, i)->n_ends + 1);
  host->queues = g_new0 (LaunchQueue, schedule_n_streams (schedule));
  host->waited = g_new0 (gboolean, schedule_n_streams (schedule));
  host->boundaries = g_array_new (FALSE, FALSE, sizeof (Boundary));
  open_section (host);
  self->ranks[i].host = engine_add_host (self->engine, name, host_step, host);
}

static void
add_rank (Run *self, guint i, const RuntimeMemory *runtime)
{
  const BoundRank  *bound = binding_rank (self->replay->binding, i);
  const GpuProfile *gpu = cluster_gpu_profile (self->replay->cluster, bound->rank);
  g_autofree char  *name = g_strdup_printf ("rank%u.hbm", bound->rank);
  ReplayRank       *rank = &self->ranks[i];
  AllocatorKind     allocator = (AllocatorKind) self->replay->scenario->memory.allocator;

  rank->rank = bound->rank;
  rank->size = bound->size;
  rank->role = bound->role;
  rank->first_stream =
      add_streams (self, bound->rank, MAX (self->replay->program_of[i]->max_call, 1));
  rank->hbm = engine_add_pool (self->engine, name, (guint64) gpu->hbm_bytes.value);
  if (allocator != ALLOCATOR_IDEAL)
    engine_pool_set_allocator (self->engine, rank->hbm, allocator);
  engine_pool_take (self->engine, rank->hbm, POOL_RUNTIME,
                    runtime_memory_bytes (runtime, bound->rank), 0);
  add_host (self, i);
}

Run *
run_new (const Replay *replay, guint n_periods, gboolean keep_pools)
{
  Run  *self = g_new0 (Run, 1);
  guint n = replay->binding->ranks->len;

  g_autoptr (RuntimeMemory) runtime = runtime_memory_new (replay);

  self->engine = engine_new ();
  self->replay = replay;
  self->n_periods = n_periods;
  self->demands = g_array_new (FALSE, FALSE, sizeof (Demand));
  self->hosts = g_new0 (RankHost, n);
  self->ranks = g_new0 (ReplayRank, n);
  engine_keep_pool_log (self->engine, keep_pools);
  add_resources (self, keep_pools);
  add_host_pools (self);
  add_orders (self);
  for (guint i = 0; i < n; i++)
    add_rank (self, i, runtime);
  return self;
}

static void
host_clear (RankHost *self)
{
  for (guint b = 0; b < self->boundaries->len; b++)
    {
      g_free (g_array_index (self->boundaries, Boundary, b).last);
      g_free (g_array_index (self->boundaries, Boundary, b).used);
    }
  g_array_unref (self->boundaries);
  g_free (self->events);
  g_free (self->issued);
  g_free (self->turns);
  g_free (self->queues);
  g_free (self->waited);
}

void
run_free (Run *self)
{
  const Binding *binding;

  if (self == NULL)
    return;
  binding = self->replay->binding;
  for (guint i = 0; i < binding->ranks->len; i++)
    host_clear (&self->hosts[i]);
  for (guint i = 0; i < binding->groups->len; i++)
    g_array_unref (self->group_ops[i]);
  for (guint i = 0; i < binding->pairs->len; i++)
    g_array_unref (self->pair_ops[i]);
  engine_free (self->engine);
  g_array_unref (self->demands);
  g_free (self->hosts);
  g_free (self->ranks);
  g_free (self->host_pools);
  g_free (self->group_ops);
  g_free (self->pair_ops);
  g_free (self->orders);
  g_free (self);
}

/* ---- steadiness ------------------------------------------------------------------------------ */

guint
run_n_boundaries (const Run *self)
{
  return self->hosts[0].boundaries->len;
}

const Boundary *
run_boundary (const Run *self, guint rank, guint b)
{
  return &g_array_index (self->hosts[rank].boundaries, Boundary, b);
}

/* How long after a boundary what a stream then held was still under way. */
static SimTime
in_flight (const Run *self, const Boundary *boundary, guint stream)
{
  OpId    op = boundary->last[stream];
  SimTime end = op != ENGINE_NONE ? engine_op_record (self->engine, op)->end : 0;

  return end > boundary->time ? end - boundary->time : 0;
}

/*
 * Whether RANK passed boundaries B and B - 1 at the same time relative to rank 0's, with (STATE)
 * the same in flight.
 */
static gboolean
boundaries_alike (const Run *self, guint rank, guint b, gboolean state)
{
  const Boundary *now = run_boundary (self, rank, b), *before = run_boundary (self, rank, b - 1);

  if (now->time - run_boundary (self, 0, b)->time
      != before->time - run_boundary (self, 0, b - 1)->time)
    return FALSE;
  for (guint s = 0; state && s < host_n_streams (&self->hosts[rank]); s++)
    if (in_flight (self, now, s) != in_flight (self, before, s))
      return FALSE;
  return TRUE;
}

static SimTime
period_length (const Run *self, guint b)
{
  return run_boundary (self, 0, b)->time - run_boundary (self, 0, b - 1)->time;
}

/*
 * What was in flight at the very end had no next period beside it: the states compared are those
 * where the last two periods began. With one steady period that end must do; where the lack of a
 * next one shows, it differs from the other, and more are needed.
 */
gboolean
run_is_steady (const Run *self)
{
  guint    last = run_n_boundaries (self) - 1;
  gboolean one = self->n_periods == 1;

  if (self->n_periods < 1 || (!one && period_length (self, last) != period_length (self, last - 1)))
    return FALSE;
  for (guint i = 0; i < self->replay->binding->ranks->len; i++)
    if (!boundaries_alike (self, i, last, one)
        || (!one && !boundaries_alike (self, i, last - 1, TRUE)))
      return FALSE;
  return TRUE;
}
