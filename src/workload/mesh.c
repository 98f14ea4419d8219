#include "workload/mesh.h"

static guint
stride_of (const Mesh *mesh)
{
  return MAX (mesh->stride, 1);
}

MeshGroup
mesh_all (const Mesh *mesh)
{
  return (MeshGroup){ mesh->n_ranks, stride_of (mesh) };
}

/* A mesh is a block of n_ranks * stride ranks that starts at a multiple of its size. */
guint
mesh_node_ranks (const Mesh *mesh)
{
  guint   node = mesh->ranks_per_node, stride = stride_of (mesh);
  guint64 block = (guint64) mesh->n_ranks * stride;

  if (node == 0)
    return 0;
  if (stride >= node) /* one rank a node, or fewer */
    return stride % node == 0 ? 1 : 0;
  if (node % stride != 0)
    return 0;
  if (block <= node)
    return node % block == 0 ? mesh->n_ranks : 0;
  return block % node == 0 ? node / stride : 0;
}

MeshGroup
mesh_node (const Mesh *mesh)
{
  return (MeshGroup){ MAX (mesh_node_ranks (mesh), 1), stride_of (mesh) };
}

MeshGroup
mesh_across (const Mesh *mesh, MeshGroup g)
{
  return (MeshGroup){ mesh->n_ranks / g.size, g.size * g.stride };
}

gboolean
mesh_group_tiles (const Mesh *mesh, MeshGroup g)
{
  guint64 span = (guint64) g.size * g.stride, block = (guint64) mesh->n_ranks * stride_of (mesh);

  return span > 0 && block % span == 0;
}

guint
mesh_n_nodes (const Mesh *mesh)
{
  guint64 block = (guint64) mesh->n_ranks * stride_of (mesh);

  if (mesh->ranks_per_node == 0)
    return 0;
  return (guint) MIN ((block + mesh->ranks_per_node - 1) / mesh->ranks_per_node, mesh->n_ranks);
}

MeshGroup
mesh_tensor (const Mesh *mesh)
{
  return (MeshGroup){ mesh->tensor > 0 ? mesh->tensor : stride_of (mesh), 1 };
}

MeshGroup
mesh_stages (const Mesh *mesh)
{
  guint stages = MAX (mesh->stages, 1);

  return (MeshGroup){ stages, mesh->tensor > 0 ? mesh->tensor : mesh->world / stages };
}

MeshGroup
mesh_experts (const Mesh *mesh)
{
  guint stride = mesh->expert_tensor > 0 ? mesh->expert_tensor : stride_of (mesh);

  return (MeshGroup){ MAX (mesh->experts, 1), stride };
}

MeshGroup
mesh_expert_tensor (const Mesh *mesh)
{
  return mesh->expert_tensor > 0 ? (MeshGroup){ mesh->expert_tensor, 1 } : mesh_tensor (mesh);
}

gboolean
mesh_parts_experts (const Mesh *mesh)
{
  return mesh->experts > 1 || mesh->expert_tensor > 0;
}

guint
mesh_expert_span (const Mesh *mesh)
{
  MeshGroup experts = mesh_experts (mesh);

  return experts.size * experts.stride;
}

MeshGroup
mesh_context (const Mesh *mesh, guint cp)
{
  return (MeshGroup){ MAX (cp, 1), stride_of (mesh) };
}

Mesh
mesh_of_experts (const Mesh *mesh)
{
  Mesh  of = *mesh;
  guint span = mesh_expert_span (mesh);

  of.n_ranks = (guint) ((guint64) mesh->n_ranks * stride_of (mesh) / span);
  of.stride = span;
  of.experts = 1;
  of.expert_tensor = 0;
  return of;
}

void
mesh_group_members (MeshGroup group, guint rank, guint32 *members)
{
  guint base = rank - (rank / group.stride) % group.size * group.stride;

  for (guint i = 0; i < group.size; i++)
    members[i] = base + i * group.stride;
}
