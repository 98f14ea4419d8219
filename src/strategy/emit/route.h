/*
 * The walk over the hops of a policy's route: the one place that turns hops into ops.
 *
 * A hop encodes what passes it where it has a codec that the data does not have yet, and decodes
 * where the next one has another; data ends as it is. What encodes and decodes are kernels of the
 * GPU for data in its memory, the host's cores for data in theirs. In a route of reduction an
 * all-to-all brings the parts of all ranks, which are then added up: decoded first, at every hop,
 * unless the codec is one that is added as it is.
 */
#pragma once

#include "driver/policy/strategy.h"

/* Where a walk begins or ends: a part of a buffer, or what the caller says. */
typedef struct
{
  BufferRef buffer;
  guint     part; /* a unit, or SCHEDULE_WHOLE */
  /* in place of these, unless NULL: the op emitted last does ACCESS to the data */
  void (*use) (StrategyRun *run, gconstpointer data, ScheduleAccess access);
  gconstpointer data;
} RouteEnd;

typedef struct
{
  guint              kind; /* of units */
  PolicyRouteKind    route;
  const PolicyRoute *own;        /* of ROUTE_EXCHANGE: its hops, */
  const CommRef     *comms;      /* and the communicator of each */
  Place              place;      /* where the data is, if the first hop is a collective */
  guint              first, end; /* the hops that are walked; at most all */
  gboolean           first_micro, last_micro; /* micro-step of the step: which of them are due */
  guint64            held;               /* elements that the rank holds where the walk begins, */
  guint64            narrow;             /* of which so many pass narrow hops as a byte each */
  StreamRef          moves, collectives; /* on which hops take place */
  const StreamRef   *drives;             /* to and from drives; NULL: as other moves */
  const RouteEnd *staging;  /* what lies in pinned memory between hops; NULL: buffers come and go */
  RouteEnd        from, to; /* both the same: in place */
  const char     *passing;  /* what buffers between hops hold */
  Payload *landed; /* the data ends as the last hop brought it, which is put here; NULL: decoded */
} RouteWalk;

RouteEnd route_whole (BufferRef buffer);
RouteEnd route_part (BufferRef buffer, guint unit);
gboolean route_same_end (const RouteEnd *a, const RouteEnd *b);
/* The op emitted last does ACCESS to what is at END. */
void route_use_end (StrategyRun *run, const RouteEnd *end, ScheduleAccess access);

/*
 * Emits the hops of WALK that are due. The data is at its end when the stream of its last hop has
 * come so far. Buffers between hops come and go.
 */
void emit_route (StrategyRun *run, const RouteWalk *walk);

/*
 * Emits the hops [FIRST, END) of the reduction of UNIT's gradient on STREAM, those of a last
 * micro-step too; the rank holds HELD elements of it at FROM.
 */
void emit_reduction (StrategyRun *run, guint unit, guint first, guint end, guint64 held,
                     StreamRef stream, RouteEnd from, RouteEnd to);
