/*
 * The graph of a cluster and a schedule that folding refines: see bind.c.
 */
#pragma once

#include "cluster/fold.h"
#include "replay/replay-private.h"

/* Load of one op on a cluster resource, per byte. */
typedef struct
{
  guint32 resource;
  double  service;
} OpLoad;

/* A collective of one group by one algorithm, or one rank's copy. */
typedef struct
{
  guint first_load, n_loads; /* in BindGraph.loads */
  guint first_cost,
      n_costs; /* in BindGraph.costs: of the first op of a group's collective, all its sizes */
  double latency, inter, intra; /* as in BoundPlan */
} GraphOp;

/* Sizes at which a communicator's collective is issued, and the ops that stand for it in the graph. */
typedef struct
{
  GArray *sizes;    /* guint64, rising; NULL: never issued */
  guint32 first_op; /* of the first group; each group has n_algorithms ops, one after another */
  guint   n_algorithms;
  CollectiveAlgorithm algorithms[ALGORITHM_N]; /* that any group uses at any size */
} GraphUse;

typedef struct
{
  const Cluster    *cluster;
  const Schedule   *schedule;
  CollectiveOptions options;
  guint             n_ranks, n_nodes, n_resources;
  gboolean         *used; /* [role][comm][kind] */
  gboolean          copies[COPY_N];
  GraphUse         *uses; /* [comm][kind] */
  guint32           first_copy[COPY_N];
  GArray           *ops;      /* GraphOp */
  GArray           *costs;    /* BoundCost; `plan` counts from the first op of the collective */
  GArray           *loads;    /* OpLoad */
  GArray           *colours;  /* guint64, of every node of the graph */
  GArray           *edges;    /* FoldEdge */
  GPtrArray        *profiles; /* distinct GPU and node profiles: their index is their colour */
} BindGraph;

void bind_graph_init (BindGraph *self, const Cluster *cluster, const Schedule *schedule,
                      const CollectiveOptions *options);
void bind_graph_clear (BindGraph *self);

/* Whether ranks of ROLE issue collectives of KIND on COMM. */
gboolean bind_graph_uses (const BindGraph *self, guint role, CommRef comm, guint kind);

/* Index of the group of RANK among the groups of its family: also the order of their ops. */
guint bind_graph_group (MeshGroup group, guint rank);

/* Nodes of the graph: ranks, then machines, resources and ops. */
static inline guint32
bind_graph_machine (const BindGraph *self, guint node)
{
  return self->n_ranks + node;
}

static inline guint32
bind_graph_resource (const BindGraph *self, guint resource)
{
  return self->n_ranks + self->n_nodes + resource;
}

static inline guint32
bind_graph_op (const BindGraph *self, guint op)
{
  return self->n_ranks + self->n_nodes + self->n_resources + op;
}
