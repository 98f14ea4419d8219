/*
 * Rings over the members of a group, node after node.
 *
 * Between nodes there is one ring a card in use. Ring k enters a node at the member nearest to its
 * card and leaves it where it costs least: by another member at the same distance, over NVLink
 * through the entry member (NCCL's PXN), or over PCIe by the member before the entry. Inside a node
 * the order is free over a switch; over a full mesh rings use different Hamiltonian cycles that
 * load all directed pairs alike; elsewhere ascending GPU numbers, which takes every bridge of a
 * paired node.
 */
#pragma once

#include "cost/collective/layout/load-private.h"
#include "cost/collective/layout/members-private.h"
#include "cost/collective/layout/routed-edges-private.h"

typedef struct
{
  LoadSum     *sum;
  RoutedEdges *edges; /* where each edge is noted beside the sums; NULL: nowhere */
  guint        flows; /* queue pairs of two cards that send at once */
} RoutingContext;

/* Edges of a chain that carry nothing: into its first rank, out of its last. */
typedef struct
{
  guint32 first, last; /* GPU, or G_MAXUINT32: a closed ring */
} RingEnds;

#define RING_CLOSED ((RingEnds){ G_MAXUINT32, G_MAXUINT32 })

/* Puts BYTES on every edge of the rings together (one N-th on each of N rings). */
void ring_add_traffic (const RoutingContext *context, const Members *members, double bytes,
                       RingEnds ends);

/*
 * Number of cycles that load a full mesh of N GPUs evenly, and the J-th of them: positions 0..n-1.
 */
guint ring_mesh_cycles (guint n);
void  ring_mesh_cycle (guint n, guint j, guint *order);

/*
 * Cycles through the members of a node: one in ascending order, those of a mesh, or those that the
 * links of a graph carry (link-graph.h), which are kept from one like node to the next. Zeroed at
 * first.
 */
typedef struct
{
  const LinkGraph *graph;
  guint32          members; /* bits */
  guint            n;
  guint8           cycles[LINK_GRAPH_MAX_CYCLES][LINK_GRAPH_MAX];
} NodeCycles;

guint node_cycles_count (NodeCycles *self, const Cluster *cluster, const Members *members,
                         const MemberNode *node);

/* The J-th of them, counted on from the first where they are fewer: positions to ORDER [n]. */
void node_cycles_write (NodeCycles *self, const Cluster *cluster, const Members *members,
                        const MemberNode *node, guint j, guint *order);

/* GPU to GPU; between nodes by card A at the sender and B at the receiver (-1: the nearest). */
void ring_route (const RoutingContext *context, guint32 from, guint32 to, gint a, gint b,
                 Route *route);
