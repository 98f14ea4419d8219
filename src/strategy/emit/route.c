#include "strategy/emit/route.h"

/* The data of a walk, and where the walk stands. */
typedef struct
{
  StrategyRun     *run;
  const RouteWalk *walk;
  const PolicyHop *hops;
  guint            last;      /* the hop behind which it ends */
  RouteEnd         at;        /* where the data is, */
  Place            place;     /* which is there, */
  gboolean         passing;   /* in a buffer between hops */
  StreamRef        allocated; /* of whose pool that is */
  StreamRef        stream;    /* of the op that made it; SCHEDULE_NONE: of none of the walk's */
  guint64          held;      /* its elements, */
  guint64          narrow;    /* some of which are narrow, */
  Dtype            dtype;     /* their type, */
  const Codec     *codec;     /* and as what they are encoded */
} Walker;

RouteEnd
route_whole (BufferRef buffer)
{
  return route_part (buffer, SCHEDULE_WHOLE);
}

RouteEnd
route_part (BufferRef buffer, guint unit)
{
  return (RouteEnd){ .buffer = buffer, .part = unit };
}

gboolean
route_same_end (const RouteEnd *a, const RouteEnd *b)
{
  return a->buffer == b->buffer && a->part == b->part && a->use == b->use && a->data == b->data;
}

void
route_use_end (StrategyRun *run, const RouteEnd *end, ScheduleAccess access)
{
  if (end->use != NULL)
    end->use (run, end->data, access);
  else
    schedule_uses (run->b, end->buffer, end->part, access);
}

/* ---- buffers between hops -------------------------------------------------------------------- */

static RouteEnd
buffer_of (const Walker *self, Place place, Payload payload)
{
  gboolean gradients = policy_route_reduces (self->walk->route) || self->walk->route == ROUTE_STORE;

  if (place == PLACE_PINNED && self->walk->staging != NULL)
    return *self->walk->staging;
  return route_whole (
      schedule_alloc_on (self->run->b, self->stream, place,
                         place == PLACE_HBM && !gradients ? POOL_GATHERED : POOL_COMMUNICATION,
                         payload_bytes (payload), self->walk->passing));
}

/* The op emitted last has made of the data what is now at NEXT in PLACE. */
static void
arrive (Walker *self, RouteEnd next, Place place)
{
  ScheduleBuilder *b = self->run->b;
  const RouteEnd  *staging = self->walk->staging;

  if (route_same_end (&self->at, &next))
    {
      route_use_end (self->run, &next, ACCESS_READ_WRITE);
      return;
    }
  route_use_end (self->run, &self->at, ACCESS_READ);
  route_use_end (self->run, &next, ACCESS_WRITE);
  if (self->passing && (staging == NULL || self->at.buffer != staging->buffer))
    {
      if (self->allocated == self->stream && self->place == PLACE_HBM)
        schedule_free (b, self->at.buffer);
      else
        schedule_free_after (b, self->at.buffer, schedule_record (b, self->stream));
    }
  self->at = next;
  self->place = place;
  self->passing = !route_same_end (&next, &self->walk->to);
  self->allocated = self->stream;
}

/* ---- codecs ---------------------------------------------------------------------------------- */

/* A pass over the data, where it is: makes PAYLOAD of it, at NEXT. */
static void
emit_pass (Walker *self, KernelKind kind, const char *name, PayloadWork work, Payload payload,
           RouteEnd next)
{
  KernelDesc kernel = kernel_desc_stream (kind, name, payload.dtype, work.read, work.write, 1);
  HostDesc   host = host_desc_stream (name, self->held, work.read, work.write);

  if (self->place == PLACE_HBM)
    schedule_kernel (self->run->b, self->stream, &kernel);
  else
    schedule_host_op (self->run->b, self->stream, &host, FALSE);
  arrive (self, next, self->place);
  self->held = payload.elements;
  self->dtype = payload.dtype;
  self->codec = payload.codec;
}

/* The data becomes plain elements of DTYPE, or then CODEC's. ENDS: where the walk does. */
static void
recode (Walker *self, Dtype dtype, const Codec *codec, gboolean ends)
{
  Payload old = { self->held, self->dtype, self->codec };
  Payload plain = payload_plain (self->held, self->dtype);
  Payload cast = payload_plain (self->held, dtype), encoded = { self->held, dtype, codec };

  if (old.codec == codec && old.dtype == dtype)
    return;
  if (old.codec != NULL)
    emit_pass (self, KERNEL_CODEC, "decode", payload_decode_work (old), plain,
               ends ? self->walk->to : buffer_of (self, self->place, plain));
  if (old.dtype != dtype)
    emit_pass (self, KERNEL_COPY, "cast",
               (PayloadWork){ (double) payload_bytes (plain), (double) payload_bytes (cast) }, cast,
               buffer_of (self, self->place, cast));
  if (codec != NULL)
    emit_pass (self, KERNEL_CODEC, "encode", payload_encode_work (encoded), encoded,
               buffer_of (self, self->place, encoded));
}

/* Bytes of elements of which so many are NARROW. */
static Payload
narrowed (Payload payload, guint64 narrow)
{
  return payload_of_bytes (payload_bytes (payload) - narrow * (dtype_bytes (payload.dtype) - 1));
}

/* ---- hops ------------------------------------------------------------------------------------ */

static gboolean
works_in_place (const PolicyHop *hop)
{
  return hop->hop == HOP_COLLECTIVE
         && (hop->kind == COLLECTIVE_ALL_REDUCE || hop->kind == COLLECTIVE_BROADCAST
             || hop->kind == COLLECTIVE_REDUCE);
}

static gboolean
is_due (const RouteWalk *walk, const PolicyHop *hop)
{
  return policy_hop_is_due (hop, walk->first_micro, walk->last_micro);
}

static gboolean
moves_bytes (const PolicyHop *hop)
{
  return hop->hop == HOP_MOVE || hop->group.size > 1;
}

static StreamRef
stream_of (const RouteWalk *walk, const PolicyHop *hop)
{
  gboolean drives = hop->hop == HOP_MOVE && (hop->from == PLACE_NVME || hop->to == PLACE_NVME);

  if (drives && walk->drives != NULL)
    return *walk->drives;
  return hop->hop == HOP_MOVE ? walk->moves : walk->collectives;
}

/*
 * What lies between plain hops may lie where the walk ends: in place, or where all that is left
 * works in place.
 */
static gboolean
lies_at_end (const Walker *self, guint h)
{
  const RouteWalk *walk = self->walk;

  if (route_same_end (&walk->from, &walk->to))
    return self->hops[h].hop == HOP_COLLECTIVE || h == self->last;
  for (guint i = h + 1; i <= self->last; i++)
    if (is_due (walk, &self->hops[i]) && moves_bytes (&self->hops[i])
        && (!works_in_place (&self->hops[i]) || self->hops[i].codec != NULL))
      return FALSE;
  return TRUE;
}

/* The hop behind H that is due and moves bytes; NULL where the walk ends. */
static const PolicyHop *
next_hop (const Walker *self, guint h)
{
  while (++h <= self->last)
    if (is_due (self->walk, &self->hops[h]) && moves_bytes (&self->hops[h]))
      return &self->hops[h];
  return NULL;
}

/*
 * As what the sum of the parts that H brought is written: as they came if they are added so; as the
 * next hop takes it, in the kernel that decodes and adds (ZeRO++, arXiv:2306.10209, 4.2).
 */
static const Codec *
sum_codec (const Walker *self, guint h, Payload arrived)
{
  const PolicyHop *next = next_hop (self, h);

  if (arrived.codec == NULL || payload_adds_encoded (arrived))
    return arrived.codec;
  return next != NULL && next->dtype == arrived.dtype ? next->codec : NULL;
}

/* The parts that hop H brought are added up. */
static void
add_parts (Walker *self, guint h)
{
  guint        parts = self->hops[h].group.size;
  Payload      arrived = { self->held, self->dtype, self->codec };
  const Codec *codec = sum_codec (self, h, arrived);
  Payload      sum = { (self->held + parts - 1) / parts, self->dtype, codec };
  gboolean     ends = h == self->last && codec == NULL;
  const char  *name = "add_parts";

  if (arrived.codec != NULL && !payload_adds_encoded (arrived))
    name = codec == NULL ? "decode_add" : "decode_add_encode";
  emit_pass (self, arrived.codec != NULL ? KERNEL_CODEC : KERNEL_ELEMENTWISE, name,
             payload_add_work (arrived, parts, codec), sum,
             ends ? self->walk->to : buffer_of (self, self->place, sum));
}

static void
emit_hop (Walker *self, guint h)
{
  const PolicyHop *hop = &self->hops[h];
  ScheduleBuilder *b = self->run->b;
  gboolean         adds = policy_hop_adds_parts (self->walk->route, hop);
  Place            place = hop->hop == HOP_MOVE ? hop->to : self->place;
  Payload          payload = { self->held, hop->dtype, hop->codec }, after;
  guint64          narrow = hop->narrow ? self->narrow : 0;
  RouteEnd         next;

  if (hop->hop == HOP_COLLECTIVE && hop->kind == COLLECTIVE_ALL_GATHER)
    {
      payload.elements *= hop->group.size;
      narrow *= hop->group.size;
    }
  after = payload;
  if (hop->hop == HOP_COLLECTIVE && hop->kind == COLLECTIVE_REDUCE_SCATTER)
    after.elements = (self->held + hop->group.size - 1) / hop->group.size;
  if ((self->codec == NULL && !adds && lies_at_end (self, h))
      || (self->walk->landed != NULL && h == self->last))
    next = self->walk->to;
  else
    next = self->passing && works_in_place (hop) ? self->at : buffer_of (self, place, after);
  if (hop->hop == HOP_MOVE)
    schedule_move (b, self->stream, hop->from, hop->to, payload_bytes (payload),
                   hop->label != NULL ? hop->label
                                      : move_kind_name (move_kind (hop->from, hop->to)));
  else
    schedule_collective (b, self->stream,
                         self->walk->comms != NULL
                             ? self->walk->comms[h]
                             : strategy_comm (self->run, self->walk->kind, self->walk->route, h),
                         hop->kind, narrow > 0 ? narrowed (payload, narrow) : payload,
                         hop->label != NULL ? hop->label : collective_kind_name (hop->kind));
  arrive (self, next, place);
  self->held = after.elements;
  if (adds)
    add_parts (self, h);
}

static void
take_hop (Walker *self, guint h)
{
  const PolicyHop *hop = &self->hops[h];
  StreamRef        stream = stream_of (self->walk, hop);

  if (!is_due (self->walk, hop) || (h != self->last && !moves_bytes (hop)))
    return;
  if (self->stream != SCHEDULE_NONE)
    schedule_wait_stream (self->run->b, stream, self->stream);
  else
    self->dtype = hop->dtype;
  self->stream = stream;
  if (moves_bytes (hop))
    recode (self, hop->dtype, policy_hop_codes_itself (hop) ? NULL : hop->codec, FALSE);
  emit_hop (self, h);
}

void
emit_route (StrategyRun *run, const RouteWalk *walk)
{
  const PolicyRoute *route =
      walk->own != NULL ? walk->own : &run->policy->kinds[walk->kind].routes[walk->route];
  Walker self = { .run = run, .walk = walk, .hops = route->hops, .last = SCHEDULE_NONE };
  guint  end = MIN (walk->end, route->n), first = SCHEDULE_NONE, due = SCHEDULE_NONE;

  for (guint h = walk->first; h < end; h++)
    if (is_due (walk, &route->hops[h]))
      {
        first = MIN (first, h);
        due = h;
        if (moves_bytes (&route->hops[h]))
          self.last = h;
      }
  if (due == SCHEDULE_NONE)
    return;
  if (self.last == SCHEDULE_NONE) /* ranks that are alone: an op of no time stands for all */
    self.last = due;
  self.at = walk->from;
  self.held = walk->held;
  self.narrow = walk->narrow;
  self.stream = SCHEDULE_NONE;
  self.place = route->hops[first].hop == HOP_MOVE ? route->hops[first].from : walk->place;
  if (walk->route == ROUTE_FROZEN)
    self.codec = route->hops[first].codec;
  for (guint h = walk->first; h <= self.last; h++)
    take_hop (&self, h);
  if (walk->landed != NULL)
    *walk->landed = (Payload){ self.held, self.dtype, self.codec };
  else
    recode (&self, self.dtype, NULL, TRUE);
  schedule_wait_stream (run->b, stream_of (walk, &route->hops[due]), self.stream);
}

void
emit_reduction (StrategyRun *run, guint unit, guint first, guint end, guint64 held,
                StreamRef stream, RouteEnd from, RouteEnd to)
{
  emit_route (run, &(RouteWalk){ .kind = run->units[unit].expert,
                                 .route = ROUTE_REDUCE,
                                 .first = first,
                                 .end = end,
                                 .last_micro = TRUE,
                                 .held = held,
                                 .moves = stream,
                                 .collectives = stream,
                                 .from = from,
                                 .to = to,
                                 .passing = "gradient on its way" });
}
