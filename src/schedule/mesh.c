#include "schedule/mesh.h"

MeshGroup
mesh_all (const Mesh *mesh)
{
  return (MeshGroup){ mesh->n_ranks, 1 };
}

MeshGroup
mesh_node (const Mesh *mesh)
{
  if (mesh->ranks_per_node == 0)
    return (MeshGroup){ 1, 1 };
  return (MeshGroup){ MIN (mesh->ranks_per_node, mesh->n_ranks), 1 };
}

MeshGroup
mesh_across (const Mesh *mesh, MeshGroup g)
{
  return (MeshGroup){ mesh->n_ranks / g.size, g.size * g.stride };
}

gboolean
mesh_group_tiles (const Mesh *mesh, MeshGroup g)
{
  guint64 span = (guint64) g.size * g.stride;

  return span > 0 && mesh->n_ranks % span == 0;
}

guint
mesh_n_nodes (const Mesh *mesh)
{
  if (mesh->ranks_per_node == 0)
    return 0;
  return (mesh->n_ranks + mesh->ranks_per_node - 1) / mesh->ranks_per_node;
}

void
mesh_group_members (MeshGroup group, guint rank, guint32 *members)
{
  guint base = rank - (rank / group.stride) % group.size * group.stride;

  for (guint i = 0; i < group.size; i++)
    members[i] = base + i * group.stride;
}
