/*
 * Folding: the coarsest equitable partition of a labelled graph (colour refinement). Two nodes
 * share a class when they start with the same colour and see, for every class and label, the same
 * number of neighbours. Fluid sharing and in-order queues treat all members of such a class
 * alike, so one member can stand for it: a simulation of the representatives, each op demanding
 * on a representative resource what ALL ops of its class demand there, equals the full one.
 *
 * Cost O (rounds * (nodes + edges)); results do not depend on hashing seeds; classes are numbered
 * by their lowest member.
 */
#pragma once

#include "base/units.h"

typedef struct
{
  guint32 a, b;  /* nodes */
  double  label; /* e.g. bytes per payload byte that op a puts on resource b; kinds of relation need
                    distinct `relation`s */
  guint32 relation;
} FoldEdge;

typedef struct
{
  guint    n_nodes, n_classes;
  guint32 *class_of;       /* [n_nodes] */
  guint32 *representative; /* [n_classes]: lowest member */
  guint32 *size;           /* [n_classes] */
} FoldResult;

/*
 * COLOURS: initial colour a node. Edges are undirected for refinement, but distinguish their
 * ends.
 */
FoldResult *fold_refine (guint n_nodes, const guint64 *colours, const FoldEdge *edges,
                         gsize n_edges);
void        fold_result_free (FoldResult *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (FoldResult, fold_result_free)
