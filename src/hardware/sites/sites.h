/*
 * Sites of a cluster, joined by wide-area links: one resource an ordered pair, that all flows
 * between the two share. A flow is what one sender sends to one receiver over one channel; its
 * `wan_streams` TCP connections carry at most as much as tcp.h says, each.
 */
#pragma once

#include "hardware/cluster/cluster.h"

typedef struct
{
  guint32 resource;
  double  rate; /* B/s, of all flows together */
  double  rtt;  /* s; one way is half of it */
  double  loss; /* share of packets */
  double  flow; /* B/s of one flow at most; 0: nothing limits it */
} WanLink;

guint       cluster_n_sites (const Cluster *self);        /* 0: all nodes are at one place */
guint       cluster_n_sites_in_use (const Cluster *self); /* that have nodes */
const char *cluster_site_name (const Cluster *self, guint site);
guint       cluster_site_of_node (const Cluster *self, guint node); /* 0 without sites */

/* From site FROM to another one. */
WanLink cluster_wan_link (const Cluster *self, guint from, guint to);

/* The same from node to node; FALSE where they are at one site. LINK: may be NULL. */
gboolean cluster_wan_between (const Cluster *self, guint from, guint to, WanLink *link);
