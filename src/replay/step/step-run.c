#include "replay/step/step-private.h"

#include "engine/event-heap.h"
#include "engine/fluid.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Events this near belong to one batch, s: the resolution of simulated time. */
#define INSTANT 1e-12

#define NONE G_MAXUINT32

/* What an item still waits for, and when the latest of what has come arrived. */
typedef struct
{
  double  ready;
  guint32 missing;
} Slot;

typedef enum
{
  LANE_IDLE,    /* waits for arrivals, or is through */
  LANE_PENDING, /* its next item begins at a known later time */
  LANE_FLOWING,
} LaneState;

/* An edge at work. */
typedef struct
{
  const StepEdge *edge;
  const StepNext *nexts;
  guint32         n_items;
  guint32         first;   /* number of its program's first lane */
  guint32         item;    /* that it sends, or sends next */
  double          seconds; /* of an item, alone */
  double          free_at; /* end of the last item; before it, when the program begins */
  Slot           *slots;   /* of the items from `item` on: a circular queue */
  guint32         n_slots, size, head;
  guint32         shared; /* in Run.flows, or NONE: its rate is constant */
  gboolean        queued;
} Lane;

/* The part of a lane that shares links. */
typedef struct
{
  guint32   lane;
  LaneState state;
  gboolean  touched, has_flow;
  FluidOp   flow;
  double    left, rate, settled; /* bytes of the item, B/s, when `left` was true */
  EventId   event;
} Flow;

typedef struct
{
  Lane      *lanes;
  guint      n_lanes;
  GArray    *flows;      /* Flow */
  GArray    *loads;      /* StepLoad: what flows share, by resource of `fluid` */
  GArray    *first_load; /* guint [flows + 1] */
  Fluid     *fluid;
  EventHeap *agenda;
  double     now;
  guint32   *queue; /* [n_lanes] circular: lanes that may have something to send */
  guint      queue_head, queue_n;
  GArray    *demands; /* Demand: scratch */
  GArray    *touched; /* guint32: flows that began or ended an item in this batch */
} Run;

/* ---- lanes ----------------------------------------------------------------------------------- */

static void
grow_slots (Lane *lane)
{
  guint32 size = lane->size > 0 ? 2 * lane->size : 2;
  Slot   *slots = g_new0 (Slot, size);

  for (guint32 i = 0; i < lane->n_slots; i++)
    slots[i] = lane->slots[(lane->head + i) & (lane->size - 1)];
  g_free (lane->slots);
  lane->slots = slots;
  lane->size = size;
  lane->head = 0;
}

/* What is known of ITEM, which is not yet sent. */
static inline Slot *
lane_slot (Lane *lane, guint32 item)
{
  guint32 place = item - lane->item;

  while (lane->n_slots <= place)
    {
      if (lane->n_slots == lane->size)
        grow_slots (lane);
      lane->slots[(lane->head + lane->n_slots) & (lane->size - 1)] =
          (Slot){ 0,
                  (lane->item + lane->n_slots) == 0 ? lane->edge->n_first : lane->edge->n_later };
      lane->n_slots++;
    }
  return &lane->slots[(lane->head + place) & (lane->size - 1)];
}

static inline Flow *
run_flow (const Run *self, guint i)
{
  return &g_array_index (self->flows, Flow, i);
}

static void
enqueue (Run *self, guint32 id)
{
  guint place = self->queue_head + self->queue_n;

  if (self->lanes[id].queued)
    return;
  self->lanes[id].queued = TRUE;
  self->queue[place < self->n_lanes ? place : place - self->n_lanes] = id;
  self->queue_n++;
}

static void
deliver (Run *self, guint32 id, guint32 item, double time)
{
  Lane *lane = &self->lanes[id];
  Slot *slot;

  if (item >= lane->n_items)
    return;
  slot = lane_slot (lane, item);
  slot->ready = MAX (slot->ready, time);
  if (--slot->missing == 0 && item == lane->item)
    enqueue (self, id);
}

/* The present item of LANE has ended at END. */
static void
finish_item (Run *self, Lane *lane, double end)
{
  guint32 item = lane->item;

  lane->free_at = end;
  lane->head = (lane->head + 1) & (lane->size - 1);
  lane->n_slots--;
  lane->item++;
  for (guint i = 0; i < lane->edge->n_next; i++)
    {
      const StepNext *next = &lane->nexts[i];

      if (next->lag != STEP_AFTER)
        deliver (self, lane->first + next->edge, item + next->lag, end + lane->edge->hop);
      else if (item + 1 == lane->n_items)
        deliver (self, lane->first + next->edge, 0, end + lane->edge->hop);
    }
}

/* ---- sharing --------------------------------------------------------------------------------- */

/* Times as keys of the agenda: the bits of non-negative doubles are ordered as they are. */
static SimTime
key_of (double time)
{
  SimTime key;

  G_STATIC_ASSERT (sizeof key == sizeof time);
  memcpy (&key, &time, sizeof key);
  return key;
}

static double
time_of (SimTime key)
{
  double time;

  memcpy (&time, &key, sizeof time);
  return time;
}

static void
touch (Run *self, guint32 id)
{
  if (run_flow (self, id)->touched)
    return;
  run_flow (self, id)->touched = TRUE;
  g_array_append_val (self->touched, id);
}

static double
batch_end (double time)
{
  return time + MAX (INSTANT, 4 * DBL_EPSILON * time);
}

/* The next item of a lane that shares links may begin at START. */
static void
begin_flow (Run *self, guint32 id, double start)
{
  Flow *flow = run_flow (self, id);

  if (start > batch_end (self->now))
    {
      flow->state = LANE_PENDING;
      event_heap_set (self->agenda, flow->event, key_of (start), id);
      return;
    }
  flow->state = LANE_FLOWING;
  flow->left = self->lanes[flow->lane].edge->bytes;
  flow->settled = start;
  touch (self, id);
}

static void
key_end (Run *self, guint32 id)
{
  Flow *flow = run_flow (self, id);

  event_heap_set (self->agenda, flow->event, key_of (flow->settled + flow->left / flow->rate), id);
}

/*
 * Sends one item where that is possible. Lanes take turns, so that none runs far ahead of those
 * that it feeds: what has arrived and was not sent on takes memory.
 */
static void
run_lane (Run *self, guint32 id)
{
  Lane       *lane = &self->lanes[id];
  const Slot *slot;
  double      start;

  if (lane->item == lane->n_items)
    return;
  slot = lane_slot (lane, lane->item);
  if (slot->missing > 0)
    return;
  start = MAX (slot->ready, lane->free_at);
  if (lane->shared == NONE)
    {
      finish_item (self, lane, start + lane->seconds);
      enqueue (self, id);
    }
  else if (run_flow (self, lane->shared)->state == LANE_IDLE)
    begin_flow (self, lane->shared, start);
}

static void
handle_event (Run *self, guint32 id, double time)
{
  Flow *flow = run_flow (self, id);
  Lane *lane = &self->lanes[flow->lane];

  if (flow->state == LANE_PENDING)
    {
      begin_flow (self, id, time);
      return;
    }
  flow->state = LANE_IDLE;
  touch (self, id);
  finish_item (self, lane, time);
  enqueue (self, flow->lane);
}

static void
add_flow (Run *self, guint32 id)
{
  Flow           *flow = run_flow (self, id);
  const Lane     *lane = &self->lanes[flow->lane];
  guint           first = g_array_index (self->first_load, guint, id);
  guint           n = g_array_index (self->first_load, guint, id + 1) - first;
  const StepLoad *loads = &g_array_index (self->loads, StepLoad, first);

  g_array_set_size (self->demands, 0);
  for (guint i = 0; i < n; i++)
    {
      Demand demand = { loads[i].resource, loads[i].service };

      g_array_append_val (self->demands, demand);
    }
  flow->flow = fluid_add (self->fluid,
                          &(FluidSpec){ .class_ = OP_TRAFFIC,
                                        .demands = (const Demand *) (gpointer) self->demands->data,
                                        .n_demands = n,
                                        .waves = { .resource = ENGINE_NONE },
                                        .share = lane->edge->weight,
                                        .cap = lane->edge->bytes / lane->seconds,
                                        .user = id });
  flow->has_flow = TRUE;
  flow->rate = 0;
}

/* A lane that went from one item straight to the next keeps its place and rate. */
static void
settle_touched (Run *self)
{
  for (guint i = 0; i < self->touched->len; i++)
    {
      guint32 id = g_array_index (self->touched, guint32, i);
      Flow   *flow = run_flow (self, id);

      flow->touched = FALSE;
      if (flow->state == LANE_FLOWING && flow->has_flow)
        key_end (self, id);
      else if (flow->state == LANE_FLOWING)
        add_flow (self, id);
      else if (flow->has_flow)
        {
          fluid_remove (self->fluid, flow->flow);
          flow->has_flow = FALSE;
        }
    }
  g_array_set_size (self->touched, 0);
}

static void
solve (Run *self)
{
  guint          n;
  const FluidOp *changed;

  if (!fluid_is_dirty (self->fluid))
    return;
  changed = fluid_solve (self->fluid, &n);
  for (guint i = 0; i < n; i++)
    {
      guint32 id = fluid_user (self->fluid, changed[i]);
      Flow   *flow = run_flow (self, id);
      double  rate = fluid_rate (self->fluid, changed[i]).rate;

      if (rate == flow->rate)
        continue;
      if (flow->rate > 0)
        {
          flow->left = MAX (flow->left - flow->rate * (self->now - flow->settled), 0);
          flow->settled = MAX (self->now, flow->settled);
        }
      flow->rate = rate;
      key_end (self, id);
    }
}

static void
run_events (Run *self)
{
  for (;;)
    {
      while (self->queue_n > 0)
        {
          guint32 id = self->queue[self->queue_head];

          self->queue_head = self->queue_head + 1 < self->n_lanes ? self->queue_head + 1 : 0;
          self->queue_n--;
          self->lanes[id].queued = FALSE;
          run_lane (self, id);
        }
      settle_touched (self);
      solve (self);
      if (event_heap_is_empty (self->agenda))
        return;
      self->now = time_of (event_heap_time (self->agenda));
      while (!event_heap_is_empty (self->agenda)
             && time_of (event_heap_time (self->agenda)) <= batch_end (self->now))
        {
          double  time = time_of (event_heap_time (self->agenda));
          guint32 id = (guint32) event_heap_pop (self->agenda);

          handle_event (self, id, time);
        }
    }
}

/* ---- setting up ------------------------------------------------------------------------------ */

/* What lanes are made from. */
typedef struct
{
  const double      *capacity;
  const gboolean    *open;  /* [resource] it may be full */
  guint32           *known; /* [resource] number of `fluid`, or NONE */
  guint              n_known;
  const StepRunItem *items;
  guint              n_items;
} Setup;

/* Makes a flow of LANE where it has resources that may be full. */
static void
add_sharing (Run *self, Setup *setup, const StepProgram *program, guint id)
{
  Lane *lane = &self->lanes[id];
  Flow  flow = { .lane = id };
  guint first = self->loads->len;

  for (guint i = 0; i < lane->edge->n_loads && lane->seconds > 0; i++)
    {
      StepLoad load = g_array_index (program->loads, StepLoad, lane->edge->first_load + i);

      if (!setup->open[load.resource])
        continue;
      if (setup->known[load.resource] == NONE)
        {
          fluid_add_resource (self->fluid, setup->capacity[load.resource]);
          setup->known[load.resource] = setup->n_known++;
        }
      load.resource = setup->known[load.resource];
      g_array_append_val (self->loads, load);
    }
  if (self->loads->len == first)
    return;
  lane->shared = self->flows->len;
  flow.event = event_heap_add (self->agenda);
  g_array_append_val (self->flows, flow);
  g_array_append_val (self->first_load, self->loads->len);
}

static void
add_lanes (Run *self, Setup *setup)
{
  guint zero = 0, id = 0;

  g_array_append_val (self->first_load, zero);
  for (guint p = 0; p < setup->n_items; p++)
    {
      const StepRunItem *item = &setup->items[p];
      guint              first = id;

      for (guint e = 0; e < item->program->edges->len; e++, id++)
        {
          const StepEdge *edge = step_program_edge (item->program, e);
          double          rate = step_largest_rate (setup->capacity, item->program, edge);

          self->lanes[id] = (Lane){
            .edge = edge,
            .nexts = edge->n_next > 0
                         ? &g_array_index (item->program->nexts, StepNext, edge->first_next)
                         : NULL,
            .n_items = edge->n_items,
            .first = first,
            .seconds = edge->bytes > 0 ? edge->bytes / rate : 0,
            .free_at = item->start + item->program->launch,
            .shared = NONE,
          };
          add_sharing (self, setup, item->program, id);
          if (edge->n_first == 0)
            enqueue (self, id);
        }
    }
}

static void
run_init (Run *self, const StepRunItem *items, guint n)
{
  for (guint i = 0; i < n; i++)
    self->n_lanes += items[i].program->edges->len;
  self->lanes = g_new0 (Lane, self->n_lanes);
  self->queue = g_new (guint32, self->n_lanes);
  self->flows = g_array_new (FALSE, FALSE, sizeof (Flow));
  self->loads = g_array_new (FALSE, FALSE, sizeof (StepLoad));
  self->first_load = g_array_new (FALSE, FALSE, sizeof (guint));
  self->demands = g_array_new (FALSE, FALSE, sizeof (Demand));
  self->touched = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->fluid = fluid_new ();
  self->agenda = event_heap_new ();
}

static void
run_clear (Run *self)
{
  for (guint i = 0; i < self->n_lanes; i++)
    g_free (self->lanes[i].slots);
  g_free (self->lanes);
  g_free (self->queue);
  g_array_unref (self->flows);
  g_array_unref (self->loads);
  g_array_unref (self->first_load);
  g_array_unref (self->demands);
  g_array_unref (self->touched);
  fluid_free (self->fluid);
  event_heap_free (self->agenda);
}

static void
store_finish (const Run *self, const StepRunItem *items, guint n, double *finish)
{
  guint id = 0;

  for (guint p = 0; p < n; p++)
    {
      finish[p] = items[p].start + items[p].program->launch;
      for (guint e = 0; e < items[p].program->edges->len; e++, id++)
        {
          const Lane *lane = &self->lanes[id];

          g_assert (lane->item == lane->n_items); /* else the waits go round in a circle */
          finish[p] = MAX (finish[p], lane->free_at + lane->edge->hop);
        }
    }
}

void
step_run (const double *capacity, guint n_resources, const StepRunItem *items, guint n,
          double *finish)
{
  g_autofree gboolean *open = step_screen (capacity, n_resources, items, n);
  g_autofree guint32  *known = g_new (guint32, MAX (n_resources, 1));
  Setup                setup = { capacity, open, known, 0, items, n };
  Run                  run = { 0 };

  memset (known, 0xff, n_resources * sizeof *known);
  run_init (&run, items, n);
  add_lanes (&run, &setup);
  run_events (&run);
  store_finish (&run, items, n, finish);
  run_clear (&run);
}
