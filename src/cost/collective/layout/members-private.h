/* The ranks of a group by node, and which network cards of a node serve which of its GPUs. */
#pragma once

#include "cost/collective/layout/numbering-private.h"
#include "cost/collective/library/collective.h"
#include "hardware/topology/proximity.h"

typedef struct
{
  guint32 node;
  guint   first, n; /* range in Members.gpus */
} MemberNode;

/* How messages between nodes are relayed (exits-private.h); 0: not at all. */
typedef enum
{
  PXN_USED = 1 << 0,
  PXN_OVER_C2C = 1 << 1,  /* also by cards that are reached through a CPU on the GPU's module */
  PXN_OF_MESHES = 1 << 2, /* small boards joined all to all, of clusters by parts, have PCIe
                             switches */
} PxnUse;

/* Nodes in the order in which the group first names them; inside a node GPUs in ascending order. */
typedef struct
{
  guint32    *gpus;
  guint       n_gpus;
  MemberNode *nodes;
  guint       n_nodes;
  Dispatch    dispatch; /* of tokens; none: zeroed */
  guint       pxn;      /* PxnUse, by bits: what the library does for this group */
  Stop       *stop;     /* when nobody wants their layouts any more; or NULL */
} Members;

/* Without PXN. */
void members_init (Members *self, const Cluster *cluster, const guint32 *ranks, guint n_ranks);
void members_clear (Members *self);

/* TRUE when every node has equally many members. */
gboolean members_are_even (const Members *self);

/* Plain hosts (hardware/profile/profile.h), one rank each. */
gboolean members_are_hosts (const Members *self, const Cluster *cluster);

/*
 * The cards that serve any member, of every node, and how many lanes (rings, trees) differ in their
 * card: as many as the node with most has. One lane and no card on one node.
 */
typedef struct
{
  guint  n_lanes;
  guint *n_used; /* [slot] */
  guint *used;   /* [slot * n_lanes + i] */
} CardsInUse;

void cards_in_use_init (CardsInUse *self, const Cluster *cluster, const Members *members);
void cards_in_use_clear (CardsInUse *self);

/* The card of LANE at SLOT; nodes with fewer cards use theirs again. */
guint cards_in_use_get (const CardsInUse *self, guint slot, guint lane);
