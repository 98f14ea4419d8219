/*
 * What NCCL's search finds on a group's nodes: how many channels of which speed
 * (src/graph/search.cc, connect.cc, by closed form: the largest speed of its list at which the
 * links carry the channels).
 */
#pragma once

#include "collective/members-private.h"
#include "collective/nccl-tables-private.h"

typedef struct
{
  const GpuProfile     *gpu;   /* of the first member */
  const LinkProfile    *intra; /* of the first node */
  const LinkProfile    *nic;   /* NULL on one node */
  const NcclTables     *tables;
  const NcclGeneration *generation;
  guint                 capability;
  guint                 n_ranks, n_nodes, per_node; /* members of the node with most */
  guint                 n_cards;                    /* that serve members, of a node */
  guint                 n_cycles; /* of a link graph through the members of the first node */
  HopClass              hop;      /* inside a node */
  gboolean              nvls;     /* a switch that multicasts */
  gboolean              staged;   /* network traffic goes through host memory */
  gboolean              hosts;    /* plain hosts: MPI's messages instead of NCCL's channels */
  gboolean              ll128;    /* the protocol is on by default */
  guint                 searched; /* channels of the search ... */
  double                speed;    /* ... and B/s of each */
  guint                 channels; /* thread blocks that run: the search's channels twice */
} CollectiveGraph;

void collective_graph_init (CollectiveGraph *self, const Cluster *cluster, const Members *members,
                            const NcclTables *tables);

/* Thread blocks that one send/receive pair is spread over at most. */
guint collective_graph_pair_channels (const CollectiveGraph *self);
