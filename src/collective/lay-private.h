/*
 * Algorithms laid over links: what each puts on every resource for a byte of S, memory included.
 * RANKS: in group order; the first is the root.
 */
#pragma once

#include "collective/ring-private.h"

#define LAY(name)                                                                          \
  void lay_##name (const LayContext *context, const Members *members, CollectiveKind kind, \
                   const guint32 *ranks)

LAY (ring);
LAY (chain); /* broadcast flows out of the first rank of the group, reduce into it */
LAY (tree);
LAY (nvls);
LAY (nvls_tree);
LAY (pat);
LAY (collnet_direct);
LAY (collnet_chain);
LAY (all_pairs);
LAY (all_to_all);
LAY (two_level);
LAY (send_recv);
LAY (rounds);
LAY (hierarchical);

/* One message from the first of RANKS to the second: half of a send/receive of the two. */
void lay_one_message (const LayContext *context, const Members *members, const guint32 *ranks);
