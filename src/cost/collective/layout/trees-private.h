/*
 * NCCL's double binary tree: nodes are joined by two binary trees, in each of which half of the
 * data is reduced up and broadcast down; a node that has children in one is a leaf of the other
 * (but for one). So a node's cards carry about S up and S down whatever the number of nodes; on two
 * nodes half of that, because each is the root of one tree. Inside a node the members form a chain
 * from the one at the card. (Sanders, Speck, Traeff, "Two-tree algorithms for full bandwidth
 * broadcast, reduction and scan", 2009; NCCL src/graph/trees.cc for the shape.)
 */
#pragma once

#include "cost/collective/layout/rings-private.h"

/* Phases of a tree's pipeline; what surrounds it comes before and after. */
enum
{
  TREE_BEFORE = 1,
  TREE_UP,
  TREE_ACROSS, /* CollNet: through the switches */
  TREE_DOWN,
  TREE_AFTER,
};

/* All-reduce of BYTES: trees between nodes and chains inside them. */
void tree_add_traffic (const RoutingContext *context, const Members *members, double bytes);

/* The part between nodes: each tree's edge goes between the members at the cards. */
void tree_add_nodes (const RoutingContext *context, const Members *members, double bytes);

/* The part inside nodes, of several: for each card TREES chains from its member, both ways. */
void tree_add_chains (const RoutingContext *context, const Members *members, guint trees,
                      double bytes);

/* What arrives at GPU in tree TREE: of its edges' joins. Trees are numbered 2 x lane + (0 or 1). */
guint32 tree_place (const RoutingContext *context, guint tree, guint32 gpu);

/* Parent of NODE in TREE (0 or 1) of N nodes, or N for the root. */
guint tree_parent (guint tree, guint node, guint n);

/* The member of SLOT nearest to CARD: its position there. */
guint tree_head (const RoutingContext *context, const Members *members, guint slot, guint card);
