/* One engine run: each simulated rank's host interprets its role's items, section after section. */
#include "replay/memory/device-heap.h"
#include "replay/memory/runtime-memory.h"
#include "replay/run/run-private.h"

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
  const Run *run = self->run;
  guint      node = binding_rank (host_binding (self), self->rank)->node;

  if (buffer->place == PLACE_HBM)
    return run->ranks[self->rank].hbm;
  return place_is_host (buffer->place) ? run->host_pools[node] : run->drive_pools[node];
}

/* All ranks of the class on a node take their share of its memory at once. */
static guint64
pool_bytes (const RankHost *self, const ScheduleBuffer *buffer)
{
  return buffer->place == PLACE_HBM
             ? buffer->bytes
             : buffer->bytes * binding_rank (host_binding (self), self->rank)->n_on_node;
}

static PoolRequest
pool_request (const RankHost *self, const ScheduleBuffer *buffer, guint32 ref)
{
  return (PoolRequest){ pool_bytes (self, buffer), &self->requests[ref] };
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
    .request = pool_request (self, buffer, item->ref),
    .tag = host_tag (self),
  };
  return ACT_YIELD;
}

static void
act_free (const RankHost *self, Engine *engine, const ScheduleItem *item)
{
  const ScheduleBuffer *buffer =
      schedule_buffer_info (host_schedule (self), self->program->role, item->ref);
  PoolRequest request = pool_request (self, buffer, item->ref);
  OpId        after = item->event != SCHEDULE_NONE ? self->events[item->event] : ENGINE_NONE;

  engine_pool_release (engine, pool_of (self, buffer), buffer->category, &request, after);
}

/* ---- periods --------------------------------------------------------------------------------- */

static Boundary
boundary_here (const RankHost *self, const Engine *engine)
{
  guint    n = host_n_streams (self), n_carried = host_n_carried (self);
  Boundary boundary = { .time = engine_now (engine),
                        .last = g_new (OpId, n + n_carried),
                        .apart = engine_host_is_apart (engine, self->run->ranks[self->rank].host) };

  for (guint s = 0; s < n; s++)
    boundary.last[s] = engine_stream_last (engine, host_stream (self, s));
  if (n_carried > 0)
    memcpy (boundary.last + n, self->carried, n_carried * sizeof (OpId));
  return boundary;
}

static void
append_memory (const Engine *engine, PoolId pool, MemoryState *state)
{
  if (state->numbers == NULL)
    state->numbers = g_array_new (FALSE, FALSE, sizeof (guint64));
  state->unsettled |= !engine_pool_holds (engine, pool, state->numbers);
}

static void
mark_boundary (RankHost *self, Engine *engine)
{
  Boundary boundary = boundary_here (self, engine);

  if (self->run->n_periods == 1 && run_may_stand (self->run->bound))
    {
      /* A period's end notes what its pools hold, and from the first on what is done to its own. */
      const Run *run = self->run;
      guint      node = binding_rank (host_binding (self), self->rank)->node;

      append_memory (engine, run->ranks[self->rank].hbm, &boundary.own);
      append_memory (engine, run->host_pools[node], &boundary.shared);
      append_memory (engine, run->drive_pools[node], &boundary.shared);
      if (self->boundaries->len == 1)
        engine_pool_note_calls_of (engine, run->ranks[self->rank].hbm);
    }
  if (self->rank == 0)
    {
      boundary.used = g_new (double, engine_n_resources (engine));
      for (ResourceId r = 0; r < engine_n_resources (engine); r++)
        boundary.used[r] = engine_resource_used (engine, r);
    }
  g_array_append_val (self->boundaries, boundary);
}

static void
act_step (RankHost *self, Engine *engine)
{
  self->n_steps++;
  if (self->steps != NULL)
    {
      Boundary boundary = boundary_here (self, engine);

      g_array_append_val (self->steps, boundary);
    }
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
  if (self->steps != NULL)
    g_array_set_size (self->steps, 0);
  host_open_micros (self);
  memset (self->events, 0xff, n_events * sizeof (OpId));
}

/* FALSE when the last period is over. */
static gboolean
next_section (RankHost *self, Engine *engine)
{
  if (self->period == 0)
    mark_boundary (self, engine);
  run_decide_length (self->run, self->period);
  if (self->period > self->run->n_periods)
    return FALSE;
  if (self->run->last_only && self->rank == 0) /* there is another period, whose ops count */
    engine_forget_past (engine);
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
    case ITEM_MOVE:
    case ITEM_HOST_OP:
      return act_submit (self, engine, item, yield);
    case ITEM_RECORD:
      /*
       * An event happens when all before it on its stream has, waits included; the engine's last op
       * knows nothing of waits behind it.
       */
      if (self->waited[item->stream] && act_submit (self, engine, item, yield) == ACT_RETRY)
        return ACT_RETRY;
      self->events[item->ref] = engine_stream_last (engine, host_stream (self, item->stream));
      return ACT_GO_ON;
    case ITEM_WAIT:
      act_wait (self, engine, item);
      return ACT_GO_ON;
    case ITEM_HOST_WAIT:
      *yield = (HostYield){ .kind = HOST_WAIT, .wait = self->events[item->ref] };
      return yield->wait != ENGINE_NONE ? ACT_YIELD : ACT_GO_ON;
    case ITEM_CARRY:
      self->carried[item->event] = self->events[item->ref];
      return ACT_GO_ON;
    case ITEM_TAKE:
      self->events[item->ref] = self->carried[item->event];
      return ACT_GO_ON;
    case ITEM_HOST_HOOK:
      return ACT_GO_ON; /* its issue time is all there is */
    case ITEM_ALLOC:
      return act_alloc (self, item, yield);
    case ITEM_FREE:
      act_free (self, engine, item);
      return ACT_GO_ON;
    case ITEM_PASS:
      buffer_pass (self->requests, item);
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
      while (self->item == self->next_micro)
        host_mark_micro (self, engine);
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

/* A pool for each node that is simulated: its memory, its drives. */
static PoolId *
add_node_pools (Run *self, const char *what, gsize figure)
{
  const GArray *nodes = self->bound->binding->nodes;
  PoolId       *pools = g_new (PoolId, nodes->len);

  for (guint i = 0; i < nodes->len; i++)
    {
      guint32            node = g_array_index (nodes, BoundThing, i).id;
      g_autofree char   *name = g_strdup_printf ("node%u.%s", node, what);
      const NodeProfile *profile = cluster_node_profile (self->bound->cluster, node);
      const Figure      *capacity = G_STRUCT_MEMBER_P (profile, figure);

      pools[i] = engine_add_pool (self->engine, name, (guint64) capacity->value);
    }
  return pools;
}

static void
add_orders (Run *self)
{
  const Binding *binding = self->bound->binding;

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
          engine_add_order (self->engine, schedule_comm_info (self->bound->schedule, comm)->name);
    }
}

/* One set of the schedule's streams for each message of a group call. */
static StreamId
add_streams (Run *self, guint world_rank, guint n_sets)
{
  const Schedule *schedule = self->bound->schedule;
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

static void
boundary_clear (gpointer data)
{
  Boundary *boundary = data;

  g_free (boundary->last);
  g_free (boundary->used);
  g_clear_pointer (&boundary->own.numbers, g_array_unref);
  g_clear_pointer (&boundary->shared.numbers, g_array_unref);
}

static GArray *
boundaries_new (void)
{
  GArray *boundaries = g_array_new (FALSE, FALSE, sizeof (Boundary));

  g_array_set_clear_func (boundaries, boundary_clear);
  return boundaries;
}

static void
add_host (Run *self, guint i)
{
  RankHost        *host = &self->hosts[i];
  const Schedule  *schedule = self->bound->schedule;
  g_autofree char *name = g_strdup_printf ("rank%u.host", self->ranks[i].rank);
  guint            n = 0;

  host->run = self;
  host->rank = i;
  host->program = self->bound->program_of[i];
  for (ScheduleSection s = 0; s < SECTION_N; s++)
    n = MAX (n, schedule_n_events (schedule, host->program->role, s));

  host->events = g_new (OpId, n + 1);
  host->carried = g_new (OpId, schedule_n_carried (schedule, host->program->role) + 1);
  memset (host->carried, 0xff,
          (schedule_n_carried (schedule, host->program->role) + 1) * sizeof (OpId));
  host->issued = g_new0 (guint, schedule_n_comms (schedule) + 1);
  host->turns = g_new0 (guint, binding_rank (self->bound->binding, i)->n_ends + 1);
  host->queues = g_new0 (LaunchQueue, schedule_n_streams (schedule));
  host->waited = g_new0 (gboolean, schedule_n_streams (schedule));
  host->boundaries = boundaries_new ();
  if (self->bound->plan->input.round_steps > 0)
    host->steps = boundaries_new ();
  if (self->marks_micros)
    host->micros = g_array_new (FALSE, FALSE, sizeof (MicroMark));
  host->requests = buffer_requests_new (schedule, host->program->role);
  open_section (host);
  self->ranks[i].host = engine_add_host (self->engine, name, host_step, host);
}

static void
add_rank (Run *self, guint i, const RuntimeMemory *runtime)
{
  const BoundRank  *bound = binding_rank (self->bound->binding, i);
  const GpuProfile *gpu = cluster_gpu_profile (self->bound->cluster, bound->rank);
  g_autofree char  *name = g_strdup_printf ("rank%u.hbm", bound->rank);
  ReplayRank       *rank = &self->ranks[i];
  const Scenario   *scenario = self->bound->plan->resolved->scenario;
  Heap             *heap = device_heap_new (&scenario->memory, gpu, &scenario->mesh);

  rank->rank = bound->rank;
  rank->size = bound->size;
  rank->role = bound->role;
  rank->first_stream =
      add_streams (self, bound->rank, MAX (self->bound->program_of[i]->max_call, 1));
  rank->hbm = engine_add_pool (self->engine, name, (guint64) gpu->hbm_bytes.value);
  if (heap != NULL)
    engine_pool_set_allocator (self->engine, rank->hbm, &heap_pool_allocator, heap);
  engine_pool_take (self->engine, rank->hbm, POOL_RUNTIME,
                    runtime_memory_bytes (runtime, bound->rank), 0);
  engine_pool_take (self->engine, rank->hbm, POOL_WORKSPACE,
                    device_heap_workspaces (&scenario->memory, gpu, &scenario->mesh), 0);
  add_host (self, i);
}

/* Most items of a period are ops, or few are where kernels are fused: no more than a few MB. */
#define OPS_EXPECTED (1u << 15)

static void
expect_ops (const Run *self)
{
  guint n = 0;

  for (guint i = 0; i < self->bound->binding->ranks->len && n < OPS_EXPECTED; i++)
    n += bound_items (self->bound, i, SECTION_FIRST).n;
  engine_expect_ops (self->engine, MIN (n, OPS_EXPECTED));
}

Run *
run_new (const ReplayBound *bound, guint n_periods, guint most, const ReplayOptions *options,
         gboolean whole)
{
  Run           *self = g_new0 (Run, 1);
  guint          n = bound->binding->ranks->len;
  const Cluster *cluster;
  const GArray  *resources;

  g_autoptr (RuntimeMemory) runtime = runtime_memory_new (bound->plan);

  self->engine = engine_new ();
  self->bound = bound;
  self->n_periods = n_periods;
  self->most = most;
  self->whole = whole;
  self->demands = g_array_new (FALSE, FALSE, sizeof (Demand));
  self->hosts = g_new0 (RankHost, n);
  self->ranks = g_new0 (ReplayRank, n);
  self->marks_micros = options->marks_micros;
  engine_keep_pool_log (self->engine, options->keep_pools);
  engine_set_twins_apart (self->engine, bound->binding->lockstep == LOCKSTEP_APART);
  expect_ops (self);
  cluster = self->bound->cluster;
  resources = self->bound->binding->resources;
  for (guint i = 0; i < resources->len; i++)
    {
      guint32          id = g_array_index (resources, BoundThing, i).id;
      g_autofree char *name = cluster_resource_name (cluster, id);
      ResourceId       added =
          engine_add_resource (self->engine, name, cluster_resource (cluster, id)->capacity);

      g_assert (added == i);
      if (options->keep_pools && is_kept (cluster_resource (cluster, id)->kind))
        engine_keep_use (self->engine, added);
    }
  self->host_pools = add_node_pools (self, "memory", G_STRUCT_OFFSET (NodeProfile, dram_bytes));
  self->drive_pools = add_node_pools (self, "nvme", G_STRUCT_OFFSET (NodeProfile, nvme_bytes));
  add_orders (self);
  for (guint i = 0; i < n; i++)
    add_rank (self, i, runtime);
  return self;
}

static void
host_clear (RankHost *self)
{
  g_array_unref (self->boundaries);
  g_clear_pointer (&self->steps, g_array_unref);
  g_clear_pointer (&self->micros, g_array_unref);
  g_free (self->events);
  g_free (self->carried);
  g_free (self->requests);
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
  binding = self->bound->binding;
  for (guint i = 0; i < binding->ranks->len; i++)
    host_clear (&self->hosts[i]);
  for (guint i = 0; i < binding->groups->len; i++)
    g_array_unref (self->group_ops[i]);
  for (guint i = 0; i < binding->pairs->len; i++)
    g_array_unref (self->pair_ops[i]);
  engine_free (self->engine);
  g_free (self->waited);
  g_array_unref (self->demands);
  g_free (self->hosts);
  g_free (self->ranks);
  g_free (self->host_pools);
  g_free (self->drive_pools);
  g_free (self->group_ops);
  g_free (self->pair_ops);
  g_free (self->orders);
  g_free (self);
}
