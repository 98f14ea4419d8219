/*
 * The device mesh as strategies see it: how many ranks, how many a node, and strided groups of
 * ranks.
 */
#pragma once

#include "base/option.h"

/*
 * A family of equal groups that tile the ranks of the mesh: rank r has index (r / stride) % size in
 * its group, whose members are spaced `stride` apart. {n, 1}: everyone; {G, 1}: the ranks of a
 * node; {N, G}: the same local rank of every node.
 */
typedef struct
{
  guint size, stride;
} MeshGroup;

/*
 * Ranks are numbered node by node; tensor-parallel ranks are neighbours, pipeline stages the blocks
 * of the world. `n_ranks` is what this strategy spans: the data and context ranks of one tensor
 * rank of one stage, `stride` apart; for an inner strategy the outer one's group, so that
 * strategies nest.
 */
typedef struct
{
  guint n_ranks;
  guint ranks_per_node; /* of the world; 0 when nodes are unequal: no node groups exist then */
  guint world;          /* all ranks of the scenario */
  guint stride;  /* between its ranks: tensor-parallel ones (times stages, see `tensor`); 0 is 1 */
  guint stages;  /* pipeline stages; 0 is 1 */
  guint experts; /* expert-parallel ranks, neighbours in the mesh; 0 is 1 */
  guint expert_tensor; /* ranks that divide an expert, neighbours in the world, where they are not
                          the tensor-parallel ones; 0: they are */
  guint tensor; /* tensor-parallel ranks where stages lie inside the stride (MESH_ORDER_PP_DP); 0:
                    all of the stride */
} Mesh;

MeshGroup mesh_all (const Mesh *mesh); /* {n_ranks, stride} */
/* ranks of a node inside the mesh; one rank when mesh_node_ranks has none */
MeshGroup mesh_node (const Mesh *mesh);
/* {n_ranks / g.size, g.size * g.stride}: replicas of a group of neighbours */
MeshGroup mesh_across (const Mesh *mesh, MeshGroup g);
gboolean  mesh_group_tiles (const Mesh *mesh, MeshGroup g); /* its groups tile mesh, so world */
guint     mesh_n_nodes (const Mesh *mesh); /* nodes that the mesh spans; 0 when unequal */

/*
 * Ranks of the mesh on each node that it touches: 0 when nodes are unequal, or hold different
 * numbers of them.
 */
guint mesh_node_ranks (const Mesh *mesh);

/* Groups of the other axes, as ranks of the world. */
MeshGroup mesh_tensor (const Mesh *mesh); /* {stride, 1}, or {tensor, 1} */
/* {stages, world / stages}, or {stages, tensor}: member i is of stage i */
MeshGroup mesh_stages (const Mesh *mesh);
MeshGroup mesh_experts (const Mesh *mesh); /* {experts, stride}, or {experts, expert_tensor} */
MeshGroup mesh_expert_tensor (const Mesh *mesh);     /* {expert_tensor, 1}, or mesh_tensor */
MeshGroup mesh_context (const Mesh *mesh, guint cp); /* {cp, stride} */

/* Whether experts are shared with other ranks than the rest of a layer is. */
gboolean mesh_parts_experts (const Mesh *mesh);

/* Ranks of the world, neighbours, of which as many as hold all experts of a layer are. */
guint mesh_expert_span (const Mesh *mesh);

/*
 * The ranks with the same part of the same experts, as a mesh of its own: every mesh_expert_span-th
 * rank of the world. Without expert_tensor {n_ranks / experts, stride * experts}.
 */
Mesh mesh_of_experts (const Mesh *mesh);

/* Members of the group of world rank RANK, ascending: group.size ids into MEMBERS. */
void mesh_group_members (MeshGroup group, guint rank, guint32 *members);
