/*
 * The closed form of a route: what its hops carry, encode, decode and hold on the way when so many
 * elements pass it. From the policy alone; nothing of what emits is called.
 *
 * A rank begins with one in `parts` of the elements. An all-gather puts the parts of its group
 * together, and so do broadcasts of updates, one an owner; a reduce-scatter leaves one of them, and
 * so does an all-to-all of a reduction, whose parts are added up. Where a walk ends its last block
 * of elements may not be full, and its last byte neither: each walk of an encoded hop may take so
 * much more, which is said as slack.
 */
#include "driver/oracle/expect-private.h"

#include <math.h>

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Bytes of an element of DTYPE as CODEC sends it, in full blocks. */
static double
element_bytes (const Codec *codec, Dtype dtype)
{
  if (codec == NULL)
    return dtype_bits (dtype) / 8.0;
  return (codec->bits + (codec->block > 0 ? codec->scale_bits / (double) codec->block : 0)) / 8;
}

/* What the end of a payload may take beyond that. */
static double
rest_bytes (const Codec *codec)
{
  if (codec == NULL)
    return 0;
  return 1 + (codec->block > 0 ? codec->scale_bits / 8.0 : 0);
}

/* An amount of elements: at most so many, of which SLACK may be missing, in so many payloads. */
typedef struct
{
  double most, slack, payloads;
} Amount;

static Amount
bytes_of (Amount elements, const Codec *codec, Dtype dtype)
{
  double bytes = element_bytes (codec, dtype), rest = elements.payloads * rest_bytes (codec);

  return (Amount){ elements.most * bytes + rest, elements.slack * bytes + rest, 0 };
}

/* ---- a route --------------------------------------------------------------------------------- */

typedef struct
{
  PolicyRouteKind which;
  RoutePass       pass;
  double          parts;      /* a rank holds one of so many, */
  double          extra;      /* and so many elements more a walk, where shares are rounded up: */
  double          padded_for; /* all are padded so that so many shards are equal */
  gboolean        walks;      /* a walk has come here: it has the elements in DTYPE, */
  Dtype           dtype;
  const Codec    *codec; /* encoded so */
  Place           place;
  double          times; /* of the current hop */
  PlanTotals     *totals;
} RouteForm;

/* The shard group that a route begins at: 1 for what begins whole. */
static guint
begins_at (const UnitPolicy *policy, PolicyRouteKind route)
{
  switch (route)
    {
    case ROUTE_GATHER:
    case ROUTE_FROZEN:
      return policy->states[STATE_PARAMETERS].group.size;
    case ROUTE_STORE:
      return policy->states[STATE_GRADIENTS].group.size;
    case ROUTE_UPDATE:
    case ROUTE_LOAD:
    case ROUTE_SAVE:
    case ROUTE_RENEW:
      return policy->states[STATE_OPTIMIZER].group.size;
    case ROUTE_COPY:
    case ROUTE_FILL:
    case ROUTE_KEEP:
    case ROUTE_KEPT:
      return MAX (policy->copy.group.size, 1);
    case ROUTE_REDUCE:
    case ROUTE_REST:
    case ROUTE_N:
      break;
    }
  return 1;
}

static gboolean
is_idle (const PolicyHop *hop)
{
  return hop->hop == HOP_COLLECTIVE && hop->group.size == 1;
}

static gboolean
adds_parts (PolicyRouteKind which, const PolicyHop *hop)
{
  return (which == ROUTE_REDUCE || which == ROUTE_REST || which == ROUTE_EXCHANGE)
         && hop->hop == HOP_COLLECTIVE && hop->kind == COLLECTIVE_ALL_TO_ALL;
}

/* The hosts' sums decode what each peer sent, add and encode: what they take and leave is plain. */
static gboolean
is_coded_inside (const PolicyHop *hop)
{
  return hop->hop == HOP_COLLECTIVE && hop->transport == TRANSPORT_HOST
         && (hop->kind == COLLECTIVE_ALL_REDUCE || hop->kind == COLLECTIVE_REDUCE
             || hop->kind == COLLECTIVE_REDUCE_SCATTER);
}

static gboolean
leaves_part (PolicyRouteKind which, const PolicyHop *hop)
{
  return adds_parts (which, hop)
         || (hop->hop == HOP_COLLECTIVE && hop->kind == COLLECTIVE_REDUCE_SCATTER);
}

/* How often a hop takes place in a step: issues count the routes of uses themselves. */
static double
times_of (const PlanInput *in, PolicyRouteKind route, PolicyCadence cadence)
{
  if (route != ROUTE_REDUCE && route != ROUTE_REST && route != ROUTE_STORE)
    return 1;
  switch (cadence)
    {
    case CADENCE_MICRO_STEP:
      return expect_micro_steps (in);
    case CADENCE_LATER:
      return expect_micro_steps (in) - 1;
    case CADENCE_LAST:
      break;
    }
  return 1;
}

static Amount
held (const RouteForm *self)
{
  double extra = self->pass.walks * self->extra;

  return (Amount){ self->times * (self->pass.elements / self->parts + extra),
                   self->times * (self->pass.slack / self->parts + extra),
                   self->times * self->pass.walks };
}

/* A pass over N elements reads or writes READ and WRITE. */
static void
add_work (RouteForm *self, Amount n, Amount read, Amount write)
{
  if (self->place != PLACE_HBM)
    {
      self->totals->host[HOST_STREAM] += n.most;
      self->totals->host_slack[HOST_STREAM] += n.slack;
      return;
    }
  self->totals->coded += read.most + write.most;
  self->totals->coded_slack += read.slack + write.slack;
}

/*
 * The elements that are held become DTYPE's, and then CODEC's. A cast is work of the host's cores;
 * that of a GPU is no kernel of a codec.
 */
static void
take_codec (RouteForm *self, const Codec *codec, Dtype dtype)
{
  const Amount none = { 0, 0, 0 };
  Amount       n = held (self);

  if (self->codec == codec && self->dtype == dtype)
    return;
  if (self->codec != NULL)
    add_work (self, n, bytes_of (n, self->codec, self->dtype), bytes_of (n, NULL, self->dtype));
  if (self->dtype != dtype)
    add_work (self, n, none, none);
  if (codec != NULL)
    add_work (self, n, bytes_of (n, NULL, dtype), bytes_of (n, codec, dtype));
  self->codec = codec;
}

/*
 * What HOP brought is decoded, added up, and encoded as NEXT takes it (NULL: nothing follows) in
 * one pass.
 */
static void
add_parts (RouteForm *self, const PolicyHop *hop, const PolicyHop *next, Amount arrived)
{
  const Codec *sum = NULL;

  if (hop->codec != NULL && !hop->codec->every_hop)
    sum = hop->codec;
  else if (hop->codec != NULL && next != NULL && next->dtype == hop->dtype)
    sum = next->codec;

  if (hop->codec != NULL)
    add_work (self, arrived, bytes_of (arrived, hop->codec, hop->dtype),
              bytes_of (held (self), sum, hop->dtype));
  self->codec = sum;
}

static void
add_traffic (PlanTotals *totals, const PolicyHop *hop, Amount bytes)
{
  plan_totals_add_encoded (totals, hop->kind, hop->group, hop->codec, bytes.most);
  for (guint i = 0; i < totals->n_traffic; i++)
    {
      TrafficTotal *t = &totals->traffic[i];

      if (t->kind == hop->kind && mesh_group_equal (t->group, hop->group) && t->codec == hop->codec)
        t->slack += bytes.slack;
    }
}

/* A byte in place of what DTYPE has. */
static void
narrow_bytes (const RouteForm *self, const PolicyHop *hop, Amount *bytes)
{
  double saved = self->times / self->parts * (dtype_bytes (hop->dtype) - 1);

  bytes->most -= (self->pass.narrow - self->pass.wide) * saved;
  bytes->slack += self->pass.wide * saved;
}

/* NEXT: the hop behind it in its walk. */
static void
add_hop (RouteForm *self, const PolicyHop *hop, const PolicyHop *next)
{
  double g = hop->group.size;
  Amount n, bytes;

  if (!self->walks) /* what begins a walk is as the first hop takes it */
    self->dtype = hop->dtype;
  self->walks = TRUE;
  take_codec (self, is_coded_inside (hop) ? NULL : hop->codec, hop->dtype);
  self->dtype = hop->dtype;
  if (hop->hop == HOP_COLLECTIVE
      && (hop->kind == COLLECTIVE_ALL_GATHER || hop->kind == COLLECTIVE_BROADCAST))
    {
      self->parts /= g;
      self->extra *= g;
    }
  n = held (self);
  bytes = bytes_of (n, hop->codec, hop->dtype);
  if (hop->narrow)
    narrow_bytes (self, hop, &bytes);
  if (hop->hop == HOP_MOVE)
    {
      self->totals->moves[move_kind (hop->from, hop->to)] += bytes.most;
      self->totals->moves_slack[move_kind (hop->from, hop->to)] += bytes.slack;
      self->place = hop->to;
      return;
    }
  add_traffic (self->totals, hop, bytes);
  if (!leaves_part (self->which, hop))
    return;
  self->parts *= g;
  if (self->pass.uneven || fmod (self->padded_for, self->parts) != 0)
    self->extra = self->extra / g + 1;
  if (adds_parts (self->which, hop))
    add_parts (self, hop, next, n);
}

/* Whether a walk ends before H. */
static gboolean
ends_before (const PolicyRoute *route, const RoutePass *pass, guint h)
{
  return route->hops[h].cadence != route->hops[h - 1].cadence
         || (pass->plain_before & 1u << h) != 0;
}

static const PolicyHop *
next_in_walk (const PolicyRoute *route, const RoutePass *pass, guint h)
{
  while (++h < route->n && !ends_before (route, pass, h))
    if (!is_idle (&route->hops[h]))
      return &route->hops[h];
  return NULL;
}

static void
add_route (const PlanInput *in, const PolicyRoute *route, RouteForm *self)
{
  for (guint h = 0; h < route->n; h++)
    {
      const PolicyHop *hop = &route->hops[h];

      if (h > 0 && ends_before (route, &self->pass, h))
        {
          take_codec (self, NULL, self->dtype);
          self->walks = FALSE;
        }
      if (is_idle (hop))
        continue;
      self->times = times_of (in, self->which, hop->cadence);
      if (hop->hop == HOP_MOVE)
        self->place = hop->from;
      add_hop (self, hop, next_in_walk (route, &self->pass, h));
    }
  take_codec (self, NULL, self->dtype);
}

/* What is left of the reduction of POLICY where a compressor takes the place of its collective. */
static PolicyRoute
moves_behind (const UnitPolicy *policy)
{
  PolicyRoute moves = { .n = 0 };

  for (guint h = 0; h < policy->routes[ROUTE_REDUCE].n; h++)
    if (policy->routes[ROUTE_REDUCE].hops[h].hop == HOP_MOVE)
      moves.hops[moves.n++] = policy->routes[ROUTE_REDUCE].hops[h];
  return moves;
}

void
expect_route (const PlanInput *in, const UnitPolicy *policy, PolicyRouteKind which,
              const RoutePass *pass, PlanTotals *totals)
{
  const PolicyRoute *route = &policy->routes[which];
  PolicyRoute        compressed;
  RouteForm          self = { .which = which,
                              .pass = *pass,
                              .parts = begins_at (policy, which),
                              .padded_for = policy->states[STATE_OPTIMIZER].group.size,
                              .totals = totals };

  if (which == ROUTE_REDUCE && policy->compressor != NULL)
    {
      compressed = moves_behind (policy);
      route = &compressed;
      self.parts = policy->states[STATE_GRADIENTS].group.size;
    }
  if (which == ROUTE_FROZEN && route->n > 0)
    self.codec = route->hops[0].codec;
  add_route (in, route, &self);
}

void
expect_exchanged (const PlanInput *in, const PolicyRoute *route, double elements, double walks,
                  PlanTotals *totals)
{
  RouteForm self = { .which = ROUTE_EXCHANGE,
                     .pass = { .elements = elements, .walks = walks, .uneven = TRUE },
                     .parts = 1,
                     .padded_for = 1,
                     .totals = totals };

  add_route (in, route, &self);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whether what H leaves is where the route ends: all that follows works in place. */
static gboolean
is_at_end (const PolicyRoute *route, guint h)
{
  while (++h < route->n)
    if (!is_idle (&route->hops[h])
        && (route->hops[h].hop == HOP_MOVE || route->hops[h].kind != COLLECTIVE_ALL_REDUCE
            || route->hops[h].codec != NULL))
      return FALSE;
  return TRUE;
}

void
expect_passing (const UnitPolicy *policy, PolicyRouteKind which, double elements, double walks,
                gboolean plain, double bytes[PLACE_N])
{
  const PolicyRoute *route = &policy->routes[which];
  double             parts = begins_at (policy, which);

  for (guint h = 0; h < route->n; h++)
    {
      const PolicyHop *hop = &route->hops[h];
      Place            from = hop->hop == HOP_MOVE ? hop->from : PLACE_HBM;
      Place            to = hop->hop == HOP_MOVE ? hop->to : PLACE_HBM;
      gboolean         adds = adds_parts (which, hop);
      double           wire = element_bytes (hop->codec, hop->dtype);
      double           whole = element_bytes (NULL, hop->dtype);

      if (is_idle (hop))
        continue;
      if (h > 0 && from != PLACE_HBM && hop->dtype != hop[-1].dtype) /* cast by the host */
        bytes[from] += whole * (elements / parts + walks);
      if (hop->codec != NULL)
        bytes[from] += wire * elements / parts + walks * rest_bytes (hop->codec);
      if (hop->hop == HOP_COLLECTIVE && hop->kind == COLLECTIVE_ALL_GATHER)
        parts /= hop->group.size;
      if (leaves_part (which, hop) && !adds)
        parts *= hop->group.size;
      if (hop->codec != NULL || adds || (plain && !is_at_end (route, h)))
        bytes[to] += wire * elements / parts + walks * rest_bytes (hop->codec);
      if (adds)
        parts *= hop->group.size;
      if (hop->codec != NULL || adds)
        bytes[to] += whole * (elements / parts + walks);
    }
}
