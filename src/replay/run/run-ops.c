/* The ops of a run: what each item of a schedule puts on the engine. */
#include "replay/run/run-private.h"

/* ---- launch queues --------------------------------------------------------------------------- */

OpId
host_room (RankHost *self, const Engine *engine, StreamRef stream, guint n)
{
  LaunchQueue *queue = &self->queues[stream];

  while (queue->n > 0 && engine_op_done (engine, queue->ops[queue->head]))
    {
      queue->done = queue->upto[queue->head];
      queue->head = (queue->head + 1) % STREAM_DEPTH;
      queue->n--;
    }
  if (queue->launched + n <= queue->done + STREAM_DEPTH)
    return ENGINE_NONE;
  for (guint i = queue->head;; i = (i + 1) % STREAM_DEPTH)
    if (queue->launched + n <= queue->upto[i] + STREAM_DEPTH)
      return queue->ops[i];
}

/* OP, of N launches, stands on STREAM now. */
static void
note_launches (RankHost *self, StreamRef stream, OpId op, guint n)
{
  LaunchQueue *queue = &self->queues[stream];
  guint        at = (queue->head + queue->n) % STREAM_DEPTH;

  g_assert (queue->n < STREAM_DEPTH);
  queue->launched += n;
  queue->ops[at] = op;
  queue->upto[at] = queue->launched;
  queue->n++;
}

/* ---- ops ------------------------------------------------------------------------------------- */

static OpId
new_kernel (const RankHost *self, Engine *engine, guint32 index, guint64 tag)
{
  const BoundRank   *rank = binding_rank (host_binding (self), self->rank);
  const BoundKernel *kernel = &g_array_index (self->program->kernels, BoundKernel, index);
  gboolean           waves = kernel->wave_units > 0 || kernel->n_parts > 0;

  const WavePart *parts = kernel->n_parts > 0
                              ? &g_array_index (self->program->parts, WavePart, kernel->first_part)
                              : NULL;

  Demand demands[] = { { rank->sm, kernel->sm_seconds }, { rank->hbm, kernel->hbm_bytes } };
  OpSpec spec = {
    .class_ = OP_KERNEL,
    .tag = tag,
    .latency = kernel->latency,
    .demands = demands,
    .n_demands = kernel->share > 0 ? G_N_ELEMENTS (demands) : 0,
    .waves = { waves ? rank->sm : ENGINE_NONE, kernel->wave_units, kernel->wave_seconds },
    .wave_parts = parts,
    .n_wave_parts = kernel->n_parts,
    .pieces_on = rank->sm,
    .pieces = kernel->pieces,
    .share = kernel->share,
    .members = 1,
    .order = ENGINE_NONE,
  };

  return engine_op_new (engine, &spec);
}

void
host_submit_group (RankHost *self, Engine *engine, const FusedGroup *group)
{
  for (guint i = 0; i < group->n; i++)
    {
      const FusedOp *fused = &g_array_index (self->program->fused, FusedOp, group->first + i);
      guint64        tag = host_tag (self) | (guint64) (i + 1) << TAG_FUSED_SHIFT;
      OpId           op = new_kernel (self, engine, fused->kernel, tag);

      engine_submit (engine, op, host_stream (self, group->stream), ENGINE_NONE, 0);
      note_launches (self, group->stream, op, i + 1 < group->n ? 1 : group->n_kernels - i);
    }
}

/* The demands of an op of PLAN with BYTES, SCALE of them on the wire for each. */
static void
set_demands (const RankHost *self, const BoundPlan *plan, double scale, guint64 bytes)
{
  GArray *demands = self->run->demands;

  g_array_set_size (demands, 0);
  for (guint i = 0; i < plan->n_loads && bytes > 0; i++)
    {
      const BoundLoad *load =
          &g_array_index (host_binding (self)->loads, BoundLoad, plan->first_load + i);
      Demand demand = { load->resource, load->service * scale * (double) bytes };

      g_array_append_val (demands, demand);
    }
}

/* That op, with its twins: traffic whose level is bytes a second and channel. */
static OpId
new_traffic (const RankHost *self, Engine *engine, const BoundPlan *plan, double scale,
             guint64 bytes, OpSpec *spec)
{
  const Binding *binding = host_binding (self);
  GArray        *demands = self->run->demands;
  OpId           op;

  spec->class_ = OP_TRAFFIC;
  spec->tag = host_tag (self);
  set_demands (self, plan, scale, bytes);
  spec->demands = (const Demand *) (gconstpointer) demands->data;
  spec->n_demands = demands->len;
  op = engine_op_new (engine, spec);
  for (guint32 twin = plan->twin; twin != REPLAY_NONE; twin = binding_plan (binding, twin)->twin)
    {
      set_demands (self, binding_plan (binding, twin), scale, bytes);
      engine_op_add_twin (engine, op, (const Demand *) (gconstpointer) demands->data, demands->len);
    }
  return op;
}

static OpId
new_move (const RankHost *self, Engine *engine, const BoundPlan *plan, guint64 bytes)
{
  OpSpec spec = {
    .latency = sim_time_from_seconds (plan->latency),
    .share = bytes > 0 ? 1 / (double) bytes : 0,
    .members = 1,
    .order = ENGINE_NONE,
  };

  return new_traffic (self, engine, plan, 1, bytes, &spec);
}

/* Adds AMOUNT of what a plan's loads say to the demands of an op. */
static void
add_demands (const RankHost *self, guint32 plan_index, double amount)
{
  const BoundPlan *plan = binding_plan (host_binding (self), plan_index);

  for (guint i = 0; i < plan->n_loads && amount > 0; i++)
    {
      const BoundLoad *load =
          &g_array_index (host_binding (self)->loads, BoundLoad, plan->first_load + i);
      Demand demand = { load->resource, load->service * amount };

      g_array_append_val (self->run->demands, demand);
    }
}

/* Cores and memory of the host: work that takes what traffic leaves of them, as kernels do. */
static OpId
new_host_op (const RankHost *self, Engine *engine, guint32 index)
{
  const BoundRank *rank = binding_rank (host_binding (self), self->rank);
  const HostCost  *cost = &g_array_index (self->program->hosts, HostCost, index);
  GArray          *demands = self->run->demands;
  OpSpec           spec = {
              .class_ = OP_KERNEL,
              .tag = host_tag (self),
              .waves = { .resource = ENGINE_NONE },
              .latency = sim_time_from_seconds (cost->latency),
              .share = cost->alone > cost->latency ? 1 / (cost->alone - cost->latency) : 0,
              .members = 1,
              .order = ENGINE_NONE,
  };

  g_array_set_size (demands, 0);
  add_demands (self, rank->host[HOST_SHARE_CORES], cost->core_seconds);
  add_demands (self, rank->host[HOST_SHARE_DRAM], cost->dram_bytes);
  spec.demands = (const Demand *) (gconstpointer) demands->data;
  spec.n_demands = demands->len;
  return engine_op_new (engine, &spec);
}

/*
 * An op of COST whose members and their order SPEC has. A link divides itself among flows, whatever
 * their S: so the weight counts by what they carry.
 */
static OpId
new_collective (const RankHost *self, Engine *engine, const BoundCost *cost, OpSpec spec)
{
  double bytes = (double) cost->bytes, carried = cost->payload * bytes;

  spec.latency = sim_time_from_seconds (cost->latency);
  spec.share = carried > 0 ? cost->weight / carried : 0;
  spec.cap = carried > 0 ? cost->rate_cap / bytes : 0;
  return new_traffic (self, engine, binding_plan (host_binding (self), cost->plan),
                      cost->service_scale, cost->bytes, &spec);
}

/*
 * The n-th collective that a rank issues on a communicator is the n-th of its group: the first rank
 * to come makes the op.
 */
static OpId
join_collective (RankHost *self, Engine *engine, const ScheduleItem *item, const BoundCost **cost)
{
  const Binding    *binding = host_binding (self);
  guint32           index = binding->group_of[item->ref * binding->ranks->len + self->rank];
  const BoundGroup *group = binding_group (binding, index);
  GArray           *ops = self->run->group_ops[index];
  guint             turn = self->issued[item->ref]++;

  *cost = binding_cost (binding, group, (CollectiveKind) item->collective, item->bytes);
  g_assert (turn <= ops->len);
  if (turn == ops->len)
    {
      OpId op = new_collective (self, engine, *cost,
                                (OpSpec){ .members = group->n_members,
                                          .meets = group->meets,
                                          .order = self->run->orders[index] });

      g_array_append_val (ops, op);
    }
  return g_array_index (ops, OpId, turn);
}

static double
held_sms (const Engine *engine, const BoundRank *rank, double channels)
{
  return MIN (channels, MAX (engine_resource_capacity (engine, rank->sm) - 1, 0));
}

/* ---- messages -------------------------------------------------------------------------------- */

/*
 * The n-th message that one end of a pair issues is the n-th of the other: the first to come makes
 * the op.
 */
static OpId
join_message (RankHost *self, Engine *engine, const ScheduleItem *item, const BoundCost **cost)
{
  const Binding   *binding = host_binding (self);
  guint            end = binding_end (binding, self->rank, item);
  guint32          index = g_array_index (binding->ends, BoundEnd, end).pair;
  const BoundPair *pair = &g_array_index (binding->pairs, BoundPair, index);
  GArray          *ops = self->run->pair_ops[index];
  guint            turn = self->turns[end - binding_rank (binding, self->rank)->first_end]++;

  *cost = binding_pair_cost (binding, pair, item->bytes);
  g_assert (turn <= ops->len);
  if (turn == ops->len)
    {
      OpId op =
          new_collective (self, engine, *cost, (OpSpec){ .members = 2, .order = ENGINE_NONE });

      g_array_append_val (ops, op);
    }
  return g_array_index (ops, OpId, turn);
}

/* A send and a receive of one call share thread blocks. */
static double
message_sms (RankHost *self, const Engine *engine, const ScheduleItem *item, const BoundCost *cost)
{
  guint before = MAX (self->ways[MESSAGE_SEND], self->ways[MESSAGE_RECEIVE]);

  self->ways[item->collective]++;
  return MAX (self->ways[MESSAGE_SEND], self->ways[MESSAGE_RECEIVE]) > before
             ? held_sms (engine, binding_rank (host_binding (self), self->rank), cost->channels)
             : 0;
}

void
host_submit_message (RankHost *self, Engine *engine, const ScheduleItem *item)
{
  StreamId         stream = host_stream (self, item->stream);
  StreamId         lane = host_lane (self, item->stream, self->call);
  const BoundRank *rank = binding_rank (host_binding (self), self->rank);
  const BoundCost *cost;
  OpId             op = join_message (self, engine, item, &cost);
  double           sms = message_sms (self, engine, item, cost);

  if (lane != stream && self->before != ENGINE_NONE && !engine_op_done (engine, self->before))
    engine_stream_wait (engine, lane, self->before);
  engine_submit (engine, op, lane, sms > 0 ? rank->sm : ENGINE_NONE, sms);
  if (lane != stream)
    engine_stream_wait (engine, stream, op);
  else
    note_launches (self, item->stream, op, 1);
}

/* ---- all ops --------------------------------------------------------------------------------- */

void
host_submit_marker (RankHost *self, Engine *engine, StreamRef stream)
{
  OpSpec spec = {
    .class_ = OP_KERNEL,
    .tag = host_tag (self) | TAG_MARKER,
    .waves = { .resource = ENGINE_NONE },
    .members = 1,
    .order = ENGINE_NONE,
  };
  OpId op = engine_op_new (engine, &spec);

  engine_submit (engine, op, host_stream (self, stream), ENGINE_NONE, 0);
  note_launches (self, stream, op, 1);
}

static OpId
submit_collective (RankHost *self, Engine *engine, const ScheduleItem *item)
{
  const BoundRank *rank = binding_rank (host_binding (self), self->rank);
  const BoundCost *cost;
  OpId             op = join_collective (self, engine, item, &cost);
  const guint      held = item->layer && item->peer > 0 ? item->peer - 1 : cost->channels;

  engine_submit (engine, op, host_stream (self, item->stream), held > 0 ? rank->sm : ENGINE_NONE,
                 held_sms (engine, rank, held));
  return op;
}

void
host_submit (RankHost *self, Engine *engine, const ScheduleItem *item)
{
  const BoundRank *rank = binding_rank (host_binding (self), self->rank);
  OpId             op;

  switch ((ItemKind) item->kind)
    {
    case ITEM_COLLECTIVE:
      op = submit_collective (self, engine, item);
      break;
    case ITEM_KERNEL:
      op = new_kernel (self, engine, self->compiled[self->item].kernel, host_tag (self));
      engine_submit (engine, op, host_stream (self, item->stream), ENGINE_NONE, 0);
      break;
    case ITEM_MOVE:
      op =
          new_move (self, engine, binding_plan (host_binding (self), rank->moves[item->collective]),
                    item->bytes);
      engine_submit (engine, op, host_stream (self, item->stream), ENGINE_NONE, 0);
      break;
    case ITEM_HOST_OP:
      op = new_host_op (self, engine, self->compiled[self->item].kernel);
      engine_submit (engine, op, host_stream (self, item->stream), ENGINE_NONE, 0);
      break;
    case ITEM_RECORD:
      host_submit_marker (self, engine, item->stream);
      return;
    default:
      g_assert_not_reached ();
    }
  note_launches (self, item->stream, op, 1);
}
