/*
 * The device mesh as strategies see it: how many ranks, how many a node, and strided groups of ranks.
 */
#pragma once

#include "base/option.h"

/*
 * A family of equal groups that tile the ranks of the mesh: rank r has index (r / stride) % size in its group, whose members are
 * spaced `stride` apart. {n, 1}: everyone; {G, 1}: the ranks of a node; {N, G}: the same local rank of every node.
 */
typedef struct
{
  guint size, stride;
} MeshGroup;

/*
 * Ranks are numbered node by node. `n_ranks` is what this strategy spans: for an inner strategy it is the outer one's group
 * (ranks base .. base + n_ranks - 1 of the world), so that strategies nest.
 */
typedef struct
{
  guint n_ranks;
  guint ranks_per_node; /* 0 when the nodes are unequal: node groups do not exist then */
  guint world;          /* all ranks of the scenario */
} Mesh;

MeshGroup mesh_all (const Mesh *mesh); /* {n_ranks, 1} */
MeshGroup mesh_node (const Mesh *mesh); /* ranks of a node inside the mesh: {min (G, n_ranks), 1}; {1, 1} when unequal */
MeshGroup mesh_across (const Mesh *mesh,
                       MeshGroup g); /* {n_ranks / g.size, g.size * g.stride} for stride 1 groups: replicas */
gboolean  mesh_group_tiles (const Mesh *mesh, MeshGroup g); /* size * stride divides n_ranks */
guint     mesh_n_nodes (const Mesh *mesh); /* nodes that the mesh spans; 0 when unequal */

/* Members of the group of world rank RANK, ascending: group.size ids into MEMBERS. */
void mesh_group_members (MeshGroup group, guint rank, guint32 *members);
