/*
 * Transfers between pairs: send/receive around a group, and all-to-all. Each GPU uses the cards
 * that serve it, evenly.
 */
#pragma once

#include "collective/ring-private.h"

/* FROM sends BYTES to TO. */
void pairwise_lay_message (const LayContext *context, guint32 from, guint32 to, double bytes);

/* Every rank sends BYTES to the next of RANKS. */
void pairwise_lay_send_recv (const LayContext *context, const guint32 *ranks, guint n_ranks,
                             double bytes);

/*
 * Every member sends BYTES to every other. Inside a node pair by pair. Between nodes a member's way
 * to its card and a card's way to its GPU do not depend on the other end, and sprayed leaves and
 * groups are crossed by the pairs whose ends hang under different ones: counting both costs
 * O(members). Where each pair of cards has uplinks of its own, O(members^2).
 */
void pairwise_lay_all_to_all (const LayContext *context, const Members *members, double bytes);

/* Every member sends BYTES to every other of its node. */
void pairwise_lay_inside (const LayContext *context, const Members *members, double bytes);
