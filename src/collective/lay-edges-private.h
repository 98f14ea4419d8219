/*
 * The edges of a layout, one by one: who sends to whom over which resources. Recorded for the `step`
 * fidelity only; a layout by itself needs no more than their sums.
 */
#pragma once

#include "collective/collective.h"

typedef struct
{
  guint32  from, to; /* GPU */
  guint32  lane;     /* ring */
  gboolean net;      /* between nodes */
  double   bytes;    /* of payload, per byte of S */
  guint32  first, n; /* in LayEdges.resources; one may come more than once */
} LayEdge;

/* Edges of a lane stand in the order in which a ring visits them. */
typedef struct
{
  GArray *edges;     /* LayEdge */
  GArray *resources; /* guint32 */
} LayEdges;

LayEdges *lay_edges_new (void);
void      lay_edges_free (LayEdges *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LayEdges, lay_edges_free)

/* ROUTE and, where not NULL, what the sender's payload crosses before it. No effect without bytes. */
void lay_edges_add (LayEdges *self, guint32 from, guint32 to, guint32 lane, const Route *before,
                    const Route *route, double bytes);
