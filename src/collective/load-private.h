/*
 * Sums of bytes on resources, over many routes: a dense array that is only touched where routes go.
 */
#pragma once

#include "collective/layout-private.h"

typedef enum
{
  LOAD_HOP_INTRA = 1, /* inside a node */
  LOAD_HOP_NET = 2,
} LoadHop;

typedef struct
{
  const Cluster *cluster;
  double        *bytes;   /* [cluster_n_resources] */
  guint8        *hops;    /* [cluster_n_resources] whose routes cross it: LoadHop */
  GArray        *touched; /* guint32: resources with bytes, in the order of their first */
  double port_efficiency; /* of switched NVLink ports, where it is not the link's own; 0 = that */
} LoadSum;

void load_sum_init (LoadSum *self, const Cluster *cluster);
void load_sum_clear (LoadSum *self);

void load_sum_add (LoadSum *self, guint32 resource, double bytes);
void load_sum_add_route (LoadSum *self, const Route *route, double bytes);

/*
 * Writes the sums to PLAN's loads, sorted by resource, with their service, and the stand-alone time
 * a byte.
 */
void load_sum_store (LoadSum *self, CollectiveLayout *plan);
