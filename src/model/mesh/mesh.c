#include "model/mesh/mesh.h"

/* ---- groups ---------------------------------------------------------------------------------- */

/* With one run, or runs that follow each other without a gap, said plainly. */
static MeshGroup
make_group (guint size, guint stride, guint run, guint jump)
{
  if (run == 0 || size <= run || run * stride == jump)
    return (MeshGroup){ .size = size, .stride = stride };
  if (run == 1)
    return (MeshGroup){ .size = size, .stride = jump };
  return (MeshGroup){ .size = size, .stride = stride, .run = run, .jump = jump };
}

gboolean
mesh_group_equal (MeshGroup a, MeshGroup b)
{
  return a.size == b.size && a.stride == b.stride && a.run == b.run && a.jump == b.jump;
}

guint
mesh_group_index (MeshGroup group, guint rank)
{
  if (group.run == 0)
    return rank / group.stride % group.size;
  return rank / group.stride % group.run + rank / group.jump % (group.size / group.run) * group.run;
}

/* From the first member to the INDEX-th. */
static guint
distance (MeshGroup group, guint index)
{
  if (group.run == 0)
    return index * group.stride;
  return index % group.run * group.stride + index / group.run * group.jump;
}

guint
mesh_group_member (MeshGroup group, guint rank, guint index)
{
  return rank - distance (group, mesh_group_index (group, rank)) + distance (group, index);
}

/*
 * What is left of a rank without its index: the ranks below the stride, those between two runs, and
 * the blocks behind the group.
 */
guint
mesh_group_number (MeshGroup group, guint rank)
{
  guint near = group.run > 0 ? group.run : group.size, span = near * group.stride;
  guint between = group.run > 0 ? group.jump / span : 1;
  guint behind = rank / (group.run > 0 ? group.size / group.run * group.jump : span);

  return (behind * between + rank / span % between) * group.stride + rank % group.stride;
}

guint
mesh_group_first (MeshGroup group, guint number)
{
  guint near = group.run > 0 ? group.run : group.size, span = near * group.stride;
  guint between = group.run > 0 ? group.jump / span : 1;
  guint block = number / group.stride;

  return number % group.stride + block % between * span
         + block / between * (group.run > 0 ? group.size / group.run * group.jump : span);
}

MeshGroup
mesh_group_part (MeshGroup group, guint n)
{
  return make_group (n, group.stride, group.run, group.jump);
}

/* N members are a part of a run, or whole runs. */
MeshGroup
mesh_group_every (MeshGroup group, guint n)
{
  guint size = group.size / n;

  if (group.run == 0)
    return (MeshGroup){ .size = size, .stride = n * group.stride };
  if (n >= group.run)
    return (MeshGroup){ .size = size, .stride = n / group.run * group.jump };
  return make_group (size, n * group.stride, group.run / n, group.jump);
}

void
mesh_group_members (MeshGroup group, guint rank, guint32 *members)
{
  guint base = mesh_group_member (group, rank, 0);

  for (guint i = 0; i < group.size; i++)
    members[i] = base + distance (group, i);
}

/* Ranks from the first member of GROUP to the first of the next group, those in between included.
 */
static guint64
span_of (MeshGroup group)
{
  if (group.run == 0)
    return (guint64) group.size * group.stride;
  return (guint64) group.size / group.run * group.jump;
}

/* ---- the ranks of the mesh ------------------------------------------------------------------- */

static guint
stride_of (const Mesh *mesh)
{
  return MAX (mesh->stride, 1);
}

MeshGroup
mesh_all (const Mesh *mesh)
{
  return make_group (mesh->n_ranks, stride_of (mesh), mesh->run, mesh->jump);
}

/* Of N ranks, STRIDE apart, which are a block that starts at a multiple of its size. */
static guint
ranks_of_node (guint n, guint stride, guint node)
{
  guint64 block = (guint64) n * stride;

  if (stride >= node) /* one rank a node, or fewer */
    return stride % node == 0 ? 1 : 0;
  if (node % stride != 0)
    return 0;
  if (block <= node)
    return node % block == 0 ? n : 0;
  return block % node == 0 ? node / stride : 0;
}

guint
mesh_node_ranks (const Mesh *mesh)
{
  MeshGroup all = mesh_all (mesh);
  guint     node = mesh->ranks_per_node, runs;

  if (node == 0)
    return 0;
  if (all.run == 0)
    return ranks_of_node (all.size, all.stride, node);
  if (all.jump % node == 0) /* each run has nodes of its own */
    return ranks_of_node (all.run, all.stride, node);
  runs = ranks_of_node (all.size / all.run, all.jump, node);
  return runs > 1 || node % all.jump == 0 ? runs * all.run : 0;
}

MeshGroup
mesh_node (const Mesh *mesh)
{
  return mesh_group_part (mesh_all (mesh), MAX (mesh_node_ranks (mesh), 1));
}

MeshGroup
mesh_across (const Mesh *mesh, MeshGroup g)
{
  MeshGroup all = mesh_all (mesh);
  guint     n = mesh->n_ranks / g.size;

  if (all.run == 0)
    return (MeshGroup){ .size = n, .stride = g.size * g.stride };
  if (g.size >= all.run)
    return (MeshGroup){ .size = n, .stride = g.size / all.run * all.jump };
  return make_group (n, g.size * all.stride, all.run / g.size, all.jump);
}

/* Runs, and the groups in them or of them, hold each other whole. */
static gboolean
runs_fit (MeshGroup all, MeshGroup g)
{
  guint run = all.run > 0 ? all.run : g.run;

  if (g.run > 0 && (g.size % g.run != 0 || g.jump % (g.run * g.stride) != 0))
    return FALSE;
  return run == 0 || g.size % run == 0 || run % g.size == 0;
}

gboolean
mesh_group_tiles (const Mesh *mesh, MeshGroup g)
{
  guint64 span = span_of (g), block = span_of (mesh_all (mesh));

  return span > 0 && block % span == 0 && runs_fit (mesh_all (mesh), g);
}

guint
mesh_n_nodes (const Mesh *mesh)
{
  MeshGroup all = mesh_all (mesh);
  guint     node = mesh->ranks_per_node, runs = 1;
  guint64   block = span_of (all);

  if (node == 0)
    return 0;
  if (all.run > 0 && all.jump >= node)
    {
      runs = all.size / all.run;
      block = (guint64) all.run * all.stride;
    }
  return (guint) MIN ((block + node - 1) / node * runs, mesh->n_ranks);
}

/* ---- other axes ------------------------------------------------------------------------------ */

MeshGroup
mesh_tensor (const Mesh *mesh)
{
  return (MeshGroup){ .size = mesh->tensor > 0 ? mesh->tensor : stride_of (mesh),
                      .stride = MAX (mesh->tensor_stride, 1) };
}

MeshGroup
mesh_tensor_columns (const Mesh *mesh)
{
  const MeshGroup all = mesh_tensor (mesh);
  const guint     rows = MAX (mesh->tensor_rows, 1);

  return (MeshGroup){ .size = all.size / rows,
                      .stride = all.stride * (mesh->rows_first ? rows : 1) };
}

MeshGroup
mesh_tensor_rows (const Mesh *mesh)
{
  const MeshGroup all = mesh_tensor (mesh);
  const guint     rows = MAX (mesh->tensor_rows, 1);

  return (MeshGroup){ .size = rows,
                      .stride = all.stride * (mesh->rows_first ? 1 : all.size / rows) };
}

MeshGroup
mesh_stages (const Mesh *mesh)
{
  guint stages = MAX (mesh->stages, 1);
  guint apart = mesh->tensor > 0 ? mesh->tensor : mesh->world / stages;

  return (MeshGroup){ .size = stages,
                      .stride = mesh->stage_stride > 0 ? mesh->stage_stride : apart };
}

MeshGroup
mesh_experts (const Mesh *mesh)
{
  guint n = MAX (mesh->experts, 1);

  if (mesh->expert_tensor > 0)
    return (MeshGroup){ .size = n, .stride = mesh->expert_tensor };
  return make_group (n, stride_of (mesh), mesh->run, mesh->jump);
}

MeshGroup
mesh_expert_tensor (const Mesh *mesh)
{
  if (mesh->expert_tensor > 0)
    return (MeshGroup){ .size = mesh->expert_tensor, .stride = 1 };
  return mesh_tensor (mesh);
}

gboolean
mesh_parts_experts (const Mesh *mesh)
{
  return mesh->experts > 1 || mesh->expert_tensor > 0;
}

guint
mesh_expert_span (const Mesh *mesh)
{
  guint tensor = mesh->expert_tensor > 0 ? mesh->expert_tensor : mesh_tensor (mesh).size;

  return MAX (mesh->experts, 1) * tensor;
}

MeshGroup
mesh_context (const Mesh *mesh, guint cp)
{
  return (MeshGroup){ .size = MAX (cp, 1), .stride = stride_of (mesh) };
}

/*
 * Every SPAN-th rank of a stage, whose ranks lie together, or in runs as long as the stages' stride
 * where data ranks count after stages.
 */
static MeshGroup
folded_data (const Mesh *mesh, guint span)
{
  guint64 ranks = (guint64) mesh->n_ranks * mesh_tensor (mesh).size;
  guint   run = mesh->stage_stride, stages = MAX (mesh->stages, 1);

  if (stages == 1 || run == 0 || ranks <= run)
    return (MeshGroup){ .size = (guint) (ranks / span), .stride = span };
  return make_group ((guint) (ranks / span), span, run / span, run * stages);
}

Mesh
mesh_of_experts (const Mesh *mesh)
{
  Mesh      of = *mesh;
  MeshGroup all;

  if (mesh->expert_tensor > 0)
    all = folded_data (mesh, mesh_expert_span (mesh));
  else
    all = mesh_across (mesh, mesh_experts (mesh));
  of.n_ranks = all.size;
  of.stride = all.stride;
  of.run = all.run;
  of.jump = all.jump;
  of.experts = 1;
  of.expert_tensor = 0;
  return of;
}
