/*
 * Transfers between pairs: send/receive around a group, and all-to-all. Each GPU receives by the
 * cards that serve it, evenly, and sends as exits-private.h says.
 */
#pragma once

#include "cost/collective/layout/rings-private.h"

/* FROM sends BYTES to TO; both are members. */
void pairs_add_message (const RoutingContext *context, const Members *members, guint32 from,
                        guint32 to, double bytes);

/* Every rank sends BYTES to the next of RANKS, all MEMBERS. */
void pairs_add_send_recv (const RoutingContext *context, const Members *members,
                          const guint32 *ranks, double bytes);

/*
 * The same where a message between nodes goes by PROXIES members of the sender's node, a part each:
 * over NVLink to them, from card to card to as many members of the receiver's node, and over NVLink
 * to the receiver. They lie evenly among the node's members; fewer where a node has fewer.
 */
void pairs_add_proxied (const RoutingContext *context, const Members *members, const guint32 *ranks,
                        guint proxies, double bytes);

/*
 * Every member sends BYTES to every other. Inside a node pair by pair. Between nodes a member's way
 * to a card depends on the receiver's rail at most and a card's way to its GPU on nothing, and
 * sprayed leaves and groups are crossed by the pairs whose ends hang under different ones: counting
 * both costs O(members x members of a node). Where each pair of cards has uplinks of its own,
 * O(members^2).
 */
void pairs_add_all_to_all (const RoutingContext *context, const Members *members, double bytes);

/*
 * Every member sends BYTES to the one with its number in each other node, from its own card: nodes
 * have equally many members.
 */
void pairs_add_rails (const RoutingContext *context, const Members *members, double bytes);

/* Every member sends BYTES to every other of its node. */
void pairs_add_inside (const RoutingContext *context, const Members *members, double bytes);
