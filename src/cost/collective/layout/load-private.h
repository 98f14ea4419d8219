/* Sums of bytes on resources over many routes: of those that are crossed, however many exist. */
#pragma once

#include "cost/collective/layout/layout-private.h"
#include "cost/collective/layout/numbering-private.h"

typedef enum
{
  LOAD_HOP_INTRA = 1, /* inside a node */
  LOAD_HOP_NET = 2,
} LoadHop;

typedef struct
{
  guint32 resource;
  double  bytes;
  guint8  hops; /* whose routes cross it: LoadHop */
} LoadEntry;

typedef struct
{
  const Cluster *cluster;
  Numbering      numbers;   /* of resources with bytes */
  GArray        *entries;   /* LoadEntry, by number */
  double   port_efficiency; /* of switched NVLink ports, where it is not the link's own; 0 = that */
  WanUse   wan;
  GArray  *sites;   /* SiteFlow, without `link`; NULL: none */
  gboolean reduced; /* by the network's switches: cards have their sharp_efficiency there */
  StopPoll poll;    /* asked at each sum; where it is cut, loops over members end */
} LoadSum;

/* STOP: may be NULL. */
void load_sum_init (LoadSum *self, const Cluster *cluster, Stop *stop);
void load_sum_clear (LoadSum *self);

void load_sum_add (LoadSum *self, guint32 resource, double bytes);
void load_sum_add_route (LoadSum *self, const Route *route, double bytes);

/* One flow of BYTES from node to node, which may be at two sites: what it asks of TCP. */
void load_sum_note_flow (LoadSum *self, guint from, guint to, double bytes);

/* What lies on RESOURCE, all zero where nothing does. */
LoadEntry load_sum_get (LoadSum *self, guint32 resource);

/*
 * Writes the sums to PLAN's loads, sorted by resource, with their service, and the stand-alone time
 * a byte.
 */
void load_sum_store (LoadSum *self, CollectiveLayout *plan);
