/*
 * The edges of a layout, one by one: who sends to whom over which resources. Recorded for the
 * `step` fidelity only; a layout by itself needs no more than their sums.
 */
#pragma once

#include "cost/collective/library/collective.h"

#define ROUTED_WHOLE_NODE G_MAXUINT32 /* in place of a GPU: all of a node, by its switch */

/*
 * Where an edge stands in a pipeline. What it sends are chunks that edges with its SOURCE as their
 * target brought, of phase UNTIL or before (0: it has its chunks from the start).
 */
typedef struct
{
  guint32 source, target;
  guint8  phase, until; /* phases count from 1 */
} RoutedJoin;

typedef struct
{
  guint32    from, to; /* GPU, or ROUTED_WHOLE_NODE */
  guint32    lane;     /* ring, or step */
  guint32    section;  /* rings of one section belong together */
  RoutedJoin join;
  gboolean   net;      /* between nodes */
  double     bytes;    /* of payload, per byte of S */
  double     flow;     /* B/s of one flow at most, between sites; 0: no limit */
  double     way;      /* s: from one site to another */
  guint32    first, n; /* in RoutedEdges.resources; one may come more than once */
} RoutedEdge;

/* Edges of a lane stand in the order in which a ring visits them. */
typedef struct
{
  GArray  *edges;        /* RoutedEdge */
  GArray  *resources;    /* guint32 */
  GArray  *shares;       /* double, beside `resources`: of the edge's bytes */
  guint32  section;      /* of the edges to come */
  guint8   phase;        /* likewise, where they say nothing themselves */
  gboolean names_memory; /* edges name all memory traffic; else it is what a GPU sends and gets */
} RoutedEdges;

RoutedEdges *routed_edges_new (void);
void         routed_edges_free (RoutedEdges *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (RoutedEdges, routed_edges_free)

/* ROUTE and, if not NULL, what the sender's payload crosses before it. No effect without bytes. */
void routed_edges_add (RoutedEdges *self, guint32 from, guint32 to, guint32 lane,
                       const Route *before, const Route *route, double bytes);

/* An edge of a pipeline. */
void routed_edges_add_stage (RoutedEdges *self, guint32 from, guint32 to, const RoutedJoin *join,
                             const Route *route, double bytes);

/* One more resource of the edge added last, that takes SHARE of its bytes. */
void routed_edges_add_resource (RoutedEdges *self, guint32 resource, double share);
