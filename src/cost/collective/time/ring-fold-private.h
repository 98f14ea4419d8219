/*
 * Rings that share the links inside nodes alike, folded to one node of one of them.
 *
 * Each ring crosses another link at the same place of its way through a node, so on every link
 * edges of all places meet, as good as equally many of each. Then all rings and all nodes do the
 * same at the same time, and the edges of one node stand for all: those of a place run together,
 * the links are one that all places share, and who follows the last place is the first one.
 *
 * Set: times of items and hops, edges that meet. Computed: when the last item has arrived.
 */
#pragma once

#include <glib.h>

typedef struct
{
  guint    places;             /* edges of a ring per node; the last one leaves the node */
  guint    steps;              /* items of each */
  double   meet, meet_net;     /* edges of each place on a link, and of those that leave (relays) */
  double   link;               /* s that an item of one edge takes of a link */
  double   inside, net;        /* s an item takes at least: inside, and on what is between nodes */
  double   hop_intra, hop_net; /* s */
  gboolean credits;            /* a connection holds two items; else any number */
} RingFold;

double ring_fold_seconds (const RingFold *self);
