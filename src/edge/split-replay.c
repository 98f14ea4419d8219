#include "edge/split-replay.h"

#include <math.h>

#include "engine/engine.h"

#define N_ROUNDS 9 /* after one that begins with idle machines */

/* A machine or a link, and the stream on which it works. */
typedef struct
{
  ResourceId resource;
  StreamId   stream;
} Place;

/* What belongs to one client. */
typedef struct
{
  Place compute, up, down;
  Place served; /* its samples on the server, where those begin by themselves */
  OpId  last;   /* of the round before */
  OpId  arrived, served_op;
} Lane;

typedef struct
{
  Engine          *engine;
  const SplitWork *work;
  SplitClock       clock;
  Place            server, broadcast;
  GArray          *lanes;  /* Lane */
  OpId             update; /* of the server's layers, in the round before */
} Replay;

#define LANE(self, i) (&g_array_index ((self)->lanes, Lane, i))

static Place
place_new (Engine *engine, const char *name, double capacity)
{
  return (Place){ engine_add_resource (engine, name, capacity),
                  engine_add_stream (engine, name, 0, 0) };
}

/* AMOUNT of PLACE, behind what its stream has and after the N ops AFTER. */
static OpId
add_op (Replay *self, Place place, OpClass class_, double amount, const OpId *after, guint n)
{
  const Demand demand = { place.resource, amount };
  const double capacity = engine_resource_capacity (self->engine, place.resource);
  const OpSpec spec = {
    .class_ = class_,
    .demands = &demand,
    .n_demands = amount > 0 ? 1 : 0,
    .waves.resource = ENGINE_NONE,
    .pieces_on = ENGINE_NONE,
    .share = amount > 0 ? capacity / amount : 1,
    .members = 1,
    .order = ENGINE_NONE,
  };
  const OpId op = engine_op_new (self->engine, &spec);

  for (guint i = 0; i < n; i++)
    if (after[i] != ENGINE_NONE)
      engine_stream_wait (self->engine, place.stream, after[i]);
  engine_submit (self->engine, op, place.stream, ENGINE_NONE, 0);
  return op;
}

static OpId
compute (Replay *self, Place place, double flops, const OpId *after, guint n)
{
  return add_op (self, place, OP_KERNEL, flops, after, n);
}

static OpId
transfer (Replay *self, Place place, double bytes, OpId after)
{
  return add_op (self, place, OP_TRAFFIC, bytes, &after, 1);
}

/* An op of nothing on PLACE, after the op of each lane at OFFSET. */
static OpId
join (Replay *self, Place place, gsize offset)
{
  const guint      n = self->lanes->len;
  g_autofree OpId *all = g_new (OpId, n);

  for (guint i = 0; i < n; i++)
    all[i] = G_STRUCT_MEMBER (OpId, LANE (self, i), offset);
  return compute (self, place, 0, all, n);
}

#define JOIN(self, place, member) join (self, place, G_STRUCT_OFFSET (Lane, member))

/*
 * The server's passes, at whose end each lane's gradients may leave (`served_op`). Nothing of one
 * client's backward pass can begin before all have arrived where gradients are averaged over them.
 */
static void
add_server (Replay *self)
{
  const SplitWork *work = self->work;
  const gboolean   eager = self->clock == SPLIT_EAGER;
  OpId             end;

  for (guint i = 0; eager && i < self->lanes->len; i++)
    {
      Lane      *lane = LANE (self, i);
      const OpId after[] = { lane->arrived, self->update };

      lane->served_op = compute (self, lane->served, SPLIT_CLIENT (work, i)->server_flops, after,
                                 G_N_ELEMENTS (after));
      if (work->aggregated == 0)
        lane->served_op =
            compute (self, lane->served, SPLIT_CLIENT (work, i)->server_backward_flops, NULL, 0);
    }
  if (eager && work->aggregated == 0)
    {
      self->update = JOIN (self, self->server, served_op);
      return;
    }
  if (eager)
    JOIN (self, self->server, served_op);
  else
    {
      JOIN (self, self->server, arrived);
      compute (self, self->server, work->forward_flops, NULL, 0);
    }
  end = compute (self, self->server, work->backward_flops, NULL, 0);
  self->update = end;
  end = transfer (self, self->broadcast, work->broadcast_bytes, end);
  for (guint i = 0; i < self->lanes->len; i++)
    LANE (self, i)->served_op = end;
}

static void
add_round (Replay *self)
{
  const SplitWork *work = self->work;
  OpId             end;

  for (guint i = 0; i < self->lanes->len; i++)
    {
      Lane *lane = LANE (self, i);

      end = compute (self, lane->compute, SPLIT_CLIENT (work, i)->forward_flops, &lane->last, 1);
      lane->arrived = transfer (self, lane->up, SPLIT_CLIENT (work, i)->up_bytes, end);
    }
  add_server (self);
  for (guint i = 0; i < self->lanes->len; i++)
    {
      Lane              *lane = LANE (self, i);
      const SplitClient *client = SPLIT_CLIENT (work, i);

      end = transfer (self, lane->down, client->unicast_bytes, lane->served_op);
      lane->last = compute (self, lane->compute, client->backward_flops, &end, 1);
      if (client->model_bytes > 0)
        lane->last = transfer (self, lane->up, client->model_bytes, lane->last);
    }
  if (work->average_bytes == 0 && self->clock != SPLIT_BARRIER)
    return;
  end = JOIN (self, self->server, last);
  end = transfer (self, self->broadcast, work->average_bytes, end);
  for (guint i = 0; i < self->lanes->len; i++)
    LANE (self, i)->last = end;
}

static SimTime
last_end (const Replay *self, const GArray *ops)
{
  SimTime last = 0;

  for (guint i = 0; i < ops->len; i++)
    last = MAX (last, engine_op_record (self->engine, g_array_index (ops, OpId, i))->end);
  return last;
}

/* The lanes' last ops so far. */
static GArray *
last_ops (const Replay *self)
{
  GArray *ops = g_array_new (FALSE, FALSE, sizeof (OpId));

  for (guint i = 0; i < self->lanes->len; i++)
    g_array_append_val (ops, LANE (self, i)->last);
  return ops;
}

static void
add_places (Replay *self)
{
  const SplitWork *work = self->work;

  self->server = place_new (self->engine, "server", work->server_compute);
  self->broadcast = place_new (self->engine, "broadcast", work->broadcast);
  for (guint i = 0; i < work->clients->len; i++)
    {
      const SplitClient *client = SPLIT_CLIENT (work, i);
      Lane               lane = { .last = ENGINE_NONE };

      lane.compute = place_new (self->engine, "client", client->compute);
      lane.up = place_new (self->engine, "uplink", client->up);
      lane.down = place_new (self->engine, "downlink", client->down);
      lane.served.resource = self->server.resource;
      lane.served.stream = engine_add_stream (self->engine, "served", 0, 0);
      g_array_append_val (self->lanes, lane);
    }
}

double
split_replay (const SplitWork *work, SplitClock clock, GError **error)
{
  g_autoptr (Engine) engine = engine_new ();
  g_autoptr (GArray) lanes = g_array_new (FALSE, FALSE, sizeof (Lane));
  Replay             self = { engine, work, clock, .lanes = lanes, .update = ENGINE_NONE };
  g_autoptr (GArray) first = NULL, last = NULL;

  add_places (&self);
  add_round (&self);
  first = last_ops (&self);
  for (guint r = 0; r < N_ROUNDS; r++)
    add_round (&self);
  last = last_ops (&self);
  if (!engine_run (engine, error))
    return NAN;
  return sim_time_to_seconds (last_end (&self, last) - last_end (&self, first)) / N_ROUNDS;
}
