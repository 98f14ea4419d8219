/* The life of an op: created, begun, its latency, its flow, its end; op-end.c has what follows. */
#include "engine/engine-private.h"

#include <math.h>
#include <string.h>

/* ---- arenas ---------------------------------------------------------------------------------- */

static guint32
take_waiter (Engine *self)
{
  guint32 i = self->free_waiter;

  if (i != ENGINE_NONE)
    {
      self->free_waiter = vector_at (self->waiters, WaiterNode, i).next;
      return i;
    }
  vector_extend (self->waiters, 1);
  return self->waiters->len - 1;
}

static guint32
take_pending (Engine *self)
{
  guint32 i = self->free_pending;

  if (i != ENGINE_NONE)
    {
      self->free_pending = vector_at (self->pending, SegmentNode, i).next;
      return i;
    }
  vector_extend (self->pending, 1);
  return self->pending->len - 1;
}

void
engine_op_add_waiter (Engine *self, OpId id, const WaiterNode *waiter)
{
  guint32   i = take_waiter (self);
  NodeList *list = &engine_live_op (self, id)->waiters;

  vector_at (self->waiters, WaiterNode, i) = *waiter;
  vector_at (self->waiters, WaiterNode, i).next = ENGINE_NONE;
  if (list->last == ENGINE_NONE)
    list->first = i;
  else
    vector_at (self->waiters, WaiterNode, list->last).next = i;
  list->last = i;
}

/* ---- segments -------------------------------------------------------------------------------- */

static void
close_segment (Engine *self, LiveOp *op)
{
  SimTime   duration = self->now - op->cause_start;
  NodeList *list = &op->segments;

  if (duration == 0)
    return;
  if (list->last != ENGINE_NONE)
    {
      TraceSegment *last = &vector_at (self->pending, SegmentNode, list->last).segment;
      if (last->cause == op->cause && last->resource == op->cause_resource)
        {
          last->duration += duration;
          return;
        }
    }
  guint32 i = take_pending (self);
  vector_at (self->pending, SegmentNode, i) = (SegmentNode){
    .segment = { duration, op->cause, op->cause_resource },
    .next = ENGINE_NONE,
  };
  if (list->last == ENGINE_NONE)
    list->first = i;
  else
    vector_at (self->pending, SegmentNode, list->last).next = i;
  list->last = i;
}

/* ---- creation -------------------------------------------------------------------------------- */

static guint32
take_slot (Engine *self)
{
  guint32 slot;

  if (self->unused->len > 0)
    {
      slot = vector_at (self->unused, guint32, self->unused->len - 1);
      vector_cut (self->unused, self->unused->len - 1);
      return slot;
    }
  slot = self->live->len;
  vector_extend (self->live, 1);
  vector_at (self->live, LiveOp, slot).event = event_heap_add (self->heap);
  return slot;
}

static Demand *
demands_of (LiveOp *op)
{
  return op->n_demands <= G_N_ELEMENTS (op->few) ? op->few : op->demands;
}

/* Zero amounts hold nothing and are left out. */
static void
copy_demands (Engine *self, LiveOp *op, const OpSpec *spec)
{
  Demand *demands;
  guint   n = 0;

  for (guint i = 0; i < spec->n_demands; i++)
    {
      g_assert (spec->demands[i].resource < self->resources->len);
      g_assert (isfinite (spec->demands[i].amount) && spec->demands[i].amount >= 0);
      n += spec->demands[i].amount > 0;
    }
  if (n == 0)
    return;
  op->n_demands = n;
  if (n > G_N_ELEMENTS (op->few) && n > op->demand_room)
    {
      op->demands = g_renew (Demand, op->demands, n);
      op->demand_room = n;
    }
  demands = demands_of (op);
  for (guint i = 0; i < spec->n_demands; i++)
    if (spec->demands[i].amount > 0)
      *demands++ = spec->demands[i];
}

static void
copy_waves (LiveOp *op, const OpSpec *spec)
{
  gboolean none =
      spec->waves.resource == ENGINE_NONE
      || (spec->n_wave_parts == 0 && (spec->waves.units <= 0 || spec->waves.unit_seconds <= 0));

  op->waves = spec->waves;
  op->wave_parts = spec->wave_parts;
  op->n_wave_parts = spec->n_wave_parts;
  if (none)
    op->waves = (WaveDemand){ ENGINE_NONE, 0, 0 };
  op->pieces = spec->pieces;
  op->drain_on = spec->pieces > 0 ? spec->pieces_on : op->waves.resource;
  g_assert (op->drain_on == ENGINE_NONE || spec->class_ == OP_KERNEL);
}

static gboolean
flows (const LiveOp *op)
{
  return op->n_demands > 0 || op->waves.resource != ENGINE_NONE;
}

static OpId
enter_order (Engine *self, OrderId order, OpId id)
{
  if (order == ENGINE_NONE)
    return ENGINE_NONE;

  OpId *last = &vector_at (self->orders, Order, order).last;
  OpId  previous = *last;
  *last = id;
  return previous;
}

/* Hosts run ahead, so that most ops of a short step live at once: no more than two MB. */
#define LIVE_EXPECTED 4096

void
engine_expect_ops (Engine *self, guint n)
{
  vector_reserve (self->records, n);
  vector_reserve (self->slots, n);
  vector_reserve (self->segments, 2 * n); /* its latency, its flow */
  vector_reserve (self->live, MIN (n, LIVE_EXPECTED));
  vector_reserve (self->unused, MIN (n, LIVE_EXPECTED));
}

OpId
engine_op_new (Engine *self, const OpSpec *spec)
{
  OpId     id = engine_n_ops (self);
  guint32  slot = take_slot (self);
  LiveOp  *op = &vector_at (self->live, LiveOp, slot);
  OpRecord record = { .tag = spec->tag,
                      .gate = CAUSE_HOST,
                      .gate_op = ENGINE_NONE,
                      .gate_host = ENGINE_NONE,
                      .stream = ENGINE_NONE };

  g_assert (spec->members > 0);
  *op = (LiveOp){
    .id = id,
    .class_ = spec->class_,
    .latency = spec->latency,
    .share = spec->share,
    .cap = spec->cap,
    .members = spec->members,
    .order = spec->order,
    .meets = spec->meets,
    .first_over = SIM_TIME_MAX,
    .order_prev = enter_order (self, spec->order, id),
    .waiters = { ENGINE_NONE, ENGINE_NONE },
    .segments = { ENGINE_NONE, ENGINE_NONE },
    .twins = ENGINE_NONE,
    .event = op->event,
    .demands = op->demands,
    .demand_room = op->demand_room,
  };
  copy_demands (self, op, spec);
  copy_waves (op, spec);
  g_assert (!flows (op) || (isfinite (op->share) && op->share > 0));
  op->streams = op->members > 1 ? g_new (StreamId, op->members) : NULL;
  if (self->records->len == self->records->room && self->past > 0)
    engine_forget_more (self);
  vector_push (self->records, record);
  vector_push (self->slots, slot);
  self->n_live++;
  return id;
}

gboolean
engine_op_done (const Engine *self, OpId op)
{
  return engine_op_slot (self, op) == ENGINE_NONE;
}

/* ---- flow ------------------------------------------------------------------------------------ */

double
engine_op_progress (const Engine *self, const LiveOp *op)
{
  double p = op->progress + op->rate * sim_time_to_seconds (self->now - op->settled);

  return MIN (p, 1.0);
}

static void
start_flow (Engine *self, LiveOp *op)
{
  FluidSpec spec = {
    .class_ = op->class_,
    .priority = engine_stream_at (self, engine_record_at (self, op->id)->stream)->priority,
    .demands = demands_of (op),
    .n_demands = op->n_demands,
    .waves = op->waves,
    .wave_parts = op->wave_parts,
    .n_wave_parts = op->n_wave_parts,
    .share = op->share,
    .cap = op->cap,
    .user = op->id,
  };

  op->flow = fluid_add (self->fluid, &spec);
  op->state = OP_FLOWING;
  op->progress = op->accounted = op->rate = 0;
  op->settled = self->now;
  op->wave_amount = fluid_wave_amount (self->fluid, op->flow);
  if (op->twins != ENGINE_NONE)
    engine_twins_flow (self, op, &spec);
}

static void
account_waves (Engine *self, LiveOp *op, double progress)
{
  if (op->waves.resource == ENGINE_NONE)
    return;
  engine_add_use (self, op->waves.resource, (progress - op->accounted) * op->wave_amount);
  op->accounted = progress;
}

/* AMOUNT of resource ID is taken at rate TO instead of FROM, 0 = not at all. */
static void
change_use (Engine *self, ResourceId id, double amount_from, double from, double amount_to,
            double to)
{
  EngineResource *resource = engine_resource_at (self, id);
  UseChange      *last = NULL;

  if (!resource->kept)
    return;
  resource->n_users += (from == 0 && to > 0);
  resource->n_users -= (from > 0 && to == 0);
  resource->use += amount_to * to - amount_from * from;
  if (resource->n_users == 0 || resource->use < 0)
    resource->use = 0;
  if (resource->last_change != ENGINE_NONE)
    last = &vector_at (self->use_log, UseChange, resource->last_change);
  if (last != NULL && last->time == self->now)
    last->use = resource->use;
  else if (last == NULL || last->use != resource->use)
    {
      UseChange change = { self->now, id, resource->use };

      resource->last_change = self->use_log->len;
      vector_push (self->use_log, change);
    }
}

/* OP goes on at rate TO with waves of AMOUNT_TO. */
static void
log_use (Engine *self, LiveOp *op, double amount_from, double from, double amount_to, double to)
{
  const Demand *demands = demands_of (op);

  if (!self->log_use)
    return;
  for (guint i = 0; i < op->n_demands; i++)
    change_use (self, demands[i].resource, demands[i].amount, from, demands[i].amount, to);
  if (op->waves.resource != ENGINE_NONE)
    change_use (self, op->waves.resource, amount_from, from, amount_to, to);
}

/* Takes over a new rate: what was done at the old one is settled, and the end is keyed again. */
static void
apply_rate (Engine *self, LiveOp *op)
{
  FluidRate next = fluid_rate (self->fluid, op->flow);
  double    waves = op->wave_amount;

  if (op->cause != next.cause || op->cause_resource != next.resource)
    {
      close_segment (self, op);
      op->cause = next.cause;
      op->cause_resource = next.resource;
      op->cause_start = self->now;
    }
  if (op->waves.resource != ENGINE_NONE)
    {
      account_waves (self, op, engine_op_progress (self, op));
      op->wave_amount = fluid_wave_amount (self->fluid, op->flow);
    }
  log_use (self, op, waves, op->rate, op->wave_amount, next.rate);
  if (next.rate == op->rate)
    return;
  op->progress = engine_op_progress (self, op);
  op->settled = self->now;
  op->rate = next.rate;

  engine_key_after (self, op->event, sim_time_span (1 - op->progress, op->rate),
                    event_sequence (EVENT_OP, op->id));
  if (op->drain_on != ENGINE_NONE)
    engine_touch_drains (self, op->drain_on);
}

void
engine_solve (Engine *self)
{
  guint          n;
  const FluidOp *changed = fluid_solve (self->fluid, &n);

  for (guint i = 0; i < n; i++)
    {
      guint32 user = fluid_user (self->fluid, changed[i]);

      if (user & TWIN_USER)
        engine_twin_apply_rate (self, user & ~TWIN_USER);
      else
        apply_rate (self, engine_live_op (self, user));
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

void
engine_op_begin (Engine *self, OpId id)
{
  LiveOp *op = engine_live_op (self, id);

  engine_record_at (self, id)->begin = self->now;
  op->state = OP_LATENCY;
  op->cause = CAUSE_LATENCY;
  op->cause_resource = ENGINE_NONE;
  op->cause_start = self->now;
  if (self->twins_apart)
    engine_op_note_apart (self, op);
  if (op->latency == 0 && flows (op))
    start_flow (self, op);
  else
    engine_key_after (self, op->event, op->latency, event_sequence (EVENT_OP, id));
}

gboolean
engine_op_flow (Engine *self, LiveOp *op)
{
  if (op->state != OP_LATENCY || !flows (op))
    return FALSE;
  start_flow (self, op);
  return TRUE;
}

void
engine_op_end_flow (Engine *self, LiveOp *op)
{
  const Demand *demands = demands_of (op);

  for (guint i = 0; i < op->n_demands; i++)
    engine_add_use (self, demands[i].resource, demands[i].amount);
  account_waves (self, op, 1);
  log_use (self, op, op->wave_amount, op->rate, 0, 0);
  fluid_remove (self->fluid, op->flow);
  if (op->drain_on != ENGINE_NONE)
    engine_touch_drains (self, op->drain_on);
}

void
engine_op_close (Engine *self, LiveOp *op)
{
  OpId      id = op->id;
  OpRecord *record = engine_record_at (self, id);

  if (op->state == OP_FLOWING)
    engine_op_end_flow (self, op);
  if (op->twins != ENGINE_NONE)
    engine_twins_end (self, op);
  record->end = self->now;
  record->apart = op->apart || op->first_over < self->now;
  close_segment (self, op);
  record->first_segment = self->n_segments_gone + self->segments->len;
  for (guint32 i = op->segments.first; i != ENGINE_NONE;)
    {
      SegmentNode *node = &vector_at (self->pending, SegmentNode, i);
      guint32      next = node->next;

      vector_push (self->segments, node->segment);
      node->next = self->free_pending;
      self->free_pending = i;
      i = next;
    }
  record->n_segments = self->n_segments_gone + self->segments->len - record->first_segment;
  vector_push (self->unused, vector_at (self->slots, guint32, id - self->forgotten->len));
  vector_at (self->slots, guint32, id - self->forgotten->len) = ENGINE_NONE;
  self->n_live--;
}

gboolean
engine_describe_late_op (const Engine *self, GString *text)
{
  for (OpId id = engine_first_op (self); id < engine_n_ops (self); id++)
    {
      const LiveOp *op = engine_live_op (self, id);

      if (op == NULL || op->state == OP_WAITING)
        continue;
      g_string_append_printf (text, "op %u of stream '%s'", id,
                              engine_stream_at (self, engine_record_at (self, id)->stream)->name);
      return TRUE;
    }
  return FALSE;
}
