/*
 * The device mesh as strategies see it: how many ranks, how many a node, and strided groups of
 * ranks.
 */
#pragma once

#include "base/config/option.h"

/*
 * A family of equal groups that tile the ranks of the mesh: rank r has index (r / stride) % size in
 * its group, whose members are spaced `stride` apart. {n, 1}: everyone; {G, 1}: the ranks of a
 * node; {N, G}: the same local rank of every node.
 */
typedef struct
{
  guint size, stride;
  guint run, jump; /* runs of `run` members `stride` apart, one `jump` ranks after the other: data
                      and context ranks with stages in between; 0: one run. Index i is member
                      (i % run) of run i / run */
} MeshGroup;

gboolean  mesh_group_equal (MeshGroup a, MeshGroup b);
guint     mesh_group_index (MeshGroup group, guint rank);               /* of RANK in its group */
guint     mesh_group_member (MeshGroup group, guint rank, guint index); /* of RANK's group */
guint     mesh_group_number (MeshGroup group,
                             guint     rank); /* of RANK's group, from the lowest rank on */
guint     mesh_group_first (MeshGroup group, guint number); /* lowest rank of the NUMBER-th group */
MeshGroup mesh_group_part (MeshGroup group, guint n);       /* the first N of every N members */
MeshGroup mesh_group_every (MeshGroup group, guint n);      /* every N-th member */

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
  guint tensor; /* tensor-parallel ranks where other axes lie inside the stride; 0: all of it */
  guint tensor_stride, stage_stride; /* of those; 0: 1, and `tensor`, or else the stages are the
                                        blocks of the world */
  guint tensor_rows;                 /* of the tensor-parallel ranks; 0 is 1 */
  gboolean rows_first;               /* its ranks of a row axis are the nearest to each other */
  guint    run, jump; /* of n_ranks, as of a group: context ranks, and from one of these to the next
                      data rank; 0: all are `stride` apart */
} Mesh;

MeshGroup mesh_all (const Mesh *mesh); /* {n_ranks, stride, run, jump} */
/* ranks of a node inside the mesh; one rank when mesh_node_ranks has none */
MeshGroup mesh_node (const Mesh *mesh);
/* every g.size-th rank of the mesh: replicas of a group of neighbours */
MeshGroup mesh_across (const Mesh *mesh, MeshGroup g);
gboolean  mesh_group_tiles (const Mesh *mesh, MeshGroup g); /* its groups tile mesh, so world */
guint     mesh_n_nodes (const Mesh *mesh); /* nodes that the mesh spans; 0 when unequal */

/*
 * Ranks of the mesh on each node that it touches: 0 when nodes are unequal, or hold different
 * numbers of them.
 */
guint mesh_node_ranks (const Mesh *mesh);

/* Groups of the other axes, as ranks of the world. */
MeshGroup mesh_tensor (const Mesh *mesh); /* {stride, 1}, or {tensor, tensor_stride} */
/*
 * The two axes of those: ranks that divide heads and outputs of the first product of each pair, and
 * ranks that divide the residual stream. One of them is everyone where there are no rows.
 */
MeshGroup mesh_tensor_columns (const Mesh *mesh);
MeshGroup mesh_tensor_rows (const Mesh *mesh);
/* {stages, world / stages}, or {stages, stage_stride}: member i is of stage i */
MeshGroup mesh_stages (const Mesh *mesh);
/* the first ranks of the mesh, or {experts, expert_tensor} */
MeshGroup mesh_experts (const Mesh *mesh);
MeshGroup mesh_expert_tensor (const Mesh *mesh);     /* {expert_tensor, 1}, or mesh_tensor */
MeshGroup mesh_context (const Mesh *mesh, guint cp); /* {cp, stride} */

/* Whether experts are shared with other ranks than the rest of a layer is. */
gboolean mesh_parts_experts (const Mesh *mesh);

/* Ranks of a stage, the first of each so many, that hold all experts of a layer. */
guint mesh_expert_span (const Mesh *mesh);

/*
 * The ranks with the same part of the same experts, as a mesh of its own: every mesh_expert_span-th
 * rank of a stage.
 */
Mesh mesh_of_experts (const Mesh *mesh);

/* Members of the group of world rank RANK, ascending: group.size ids into MEMBERS. */
void mesh_group_members (MeshGroup group, guint rank, guint32 *members);
