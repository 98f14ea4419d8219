/*
 * Symmetry: the coarsest equitable partition of a labelled graph (colour refinement), whose classes
 * we call orbits. Two nodes share an orbit when they start with the same colour and see, for every
 * orbit and label, the same number of neighbours. Fluid sharing and in-order queues treat all
 * members of an orbit alike, so one member can stand for it: a simulation of the representatives,
 * each op demanding on a representative resource what ALL ops of its class demand there, equals the
 * full one.
 *
 * Cost O (rounds * (nodes + edges)); results do not depend on hashing seeds; classes are numbered
 * by their lowest member.
 */
#pragma once

#include "base/config/units.h"
#include "base/stop.h"

typedef struct
{
  guint32 a, b;  /* nodes */
  double  label; /* e.g. bytes per payload byte that op a puts on resource b; kinds of relation need
                    distinct `relation`s */
  guint32 relation;
} OrbitEdge;

typedef struct
{
  guint    n_nodes, n_classes;
  guint32 *class_of;       /* [n_nodes] */
  guint32 *representative; /* [n_classes]: lowest member */
  guint32 *size;           /* [n_classes] */
} Orbits;

/*
 * COLOURS: initial colour a node. Edges are undirected for refinement, but distinguish their
 * ends. NULL where STOP, which may be NULL, came first.
 */
Orbits *orbits_find (guint n_nodes, const guint64 *colours, const OrbitEdge *edges, gsize n_edges,
                     Stop *stop);
void    orbits_free (Orbits *self);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (Orbits, orbits_free)
