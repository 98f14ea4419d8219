/*
 * What routes of several algorithms are made of: an algorithm's `route` puts on every resource what
 * a byte of S takes there, memory included. RANKS: in group order; the first is the root.
 */
#pragma once

#include "cost/collective/layout/rings-private.h"

/* The members' HBM traffic of KIND over N ranks with buffers of SCALE x S. */
void route_memory (LoadSum *sum, const Members *members, CollectiveKind kind, guint n_ranks,
                   double scale);

/* One ring collective over MEMBERS on SCALE x S. */
void route_rings (const RoutingContext *context, const Members *members, CollectiveKind kind,
                  double scale, RingEnds ends);

/* Rings of one way: broadcast flows out of the first rank of the group, reduce into it. */
void route_chain (const RoutingContext *context, const Members *members, CollectiveKind kind,
                  const guint32 *ranks);

/* Everyone sends to everyone. */
void route_all_to_all (const RoutingContext *context, const Members *members, CollectiveKind kind,
                       const guint32 *ranks);

/* Edges noted from now on are of rings of their own, in PHASE. */
void route_begin_section (const RoutingContext *context, guint8 phase);

/* One message from the first of RANKS to the second: half of a send/receive of the two. */
void route_one_message (const RoutingContext *context, const Members *members,
                        const guint32 *ranks);
