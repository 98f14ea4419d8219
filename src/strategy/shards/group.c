#include "strategy/shards/group.h"

static gboolean
parse_group (const Mesh *mesh, const char *option, const GroupNames *names, MeshGroup *group,
             DiagList *diags)
{
  double n;

  if (option == NULL || g_ascii_strcasecmp (option, "all") == 0)
    *group = mesh_all (mesh);
  else if (g_ascii_strcasecmp (option, "node") == 0)
    {
      if (mesh_node_ranks (mesh) == 0)
        {
          if (diags != NULL)
            diag_error (diags, NULL, "use 'all' or a number",
                        mesh->ranks_per_node == 0
                            ? "'%s: node' needs nodes of equal size"
                            : "'%s: node' needs as many ranks of the group on every node",
                        names->key);
          return FALSE;
        }
      *group = mesh_node (mesh);
    }
  else if (quantity_parse (QUANTITY_COUNT, option, &n, NULL) && n >= 1 && n <= G_MAXINT
           && n == (guint) n)
    *group = mesh_group_part (mesh_all (mesh), (guint) n);
  else
    {
      if (diags != NULL)
        diag_error (diags, NULL, "valid values: all, node, a number of ranks", "unknown %s '%s'",
                    names->noun, option);
      return FALSE;
    }
  return TRUE;
}

gboolean
named_groups (const Mesh *mesh, const char *option, const GroupNames *names, ShardGroups *groups,
              DiagList *diags)
{
  if (!parse_group (mesh, option, names, &groups->shard_group, diags))
    return FALSE;
  if (!mesh_group_tiles (mesh, groups->shard_group))
    {
      if (diags != NULL)
        diag_error (diags, NULL, "take a divisor of them, or 'all'",
                    "%s of %u ranks does not divide the %u ranks of the mesh", names->noun,
                    groups->shard_group.size, mesh->n_ranks);
      return FALSE;
    }
  groups->replica = mesh_across (mesh, groups->shard_group);
  return TRUE;
}

gboolean
shard_groups (const Mesh *mesh, const char *shard_option, ShardGroups *groups, DiagList *diags)
{
  static const GroupNames names = { "shard", "shard group" };

  return named_groups (mesh, shard_option, &names, groups, diags);
}

/*
 * Whole expert groups to a shard group, or whole shard groups to an expert group, whose experts are
 * then whole.
 */
static gboolean
expert_groups (const Mesh *mesh, const ShardGroups *dense, ShardGroups *experts, DiagList *diags)
{
  Mesh  of = mesh_of_experts (mesh);
  guint span = mesh_expert_span (mesh), size = dense->shard_group.size;
  guint tensor = mesh_tensor (mesh).size, block = size * tensor;

  if (block % span != 0 && span % block != 0)
    {
      if (diags != NULL && mesh->expert_tensor == 0)
        diag_error (diags, NULL, "take a multiple of the expert-parallel ranks",
                    "shard group of %u ranks does not hold whole expert groups of %u", size,
                    span / tensor);
      else if (diags != NULL)
        diag_error (diags, NULL,
                    "with their tensor ranks, shard groups and experts tile each other",
                    "shard group of %u ranks, %u apart, does not hold whole sets of experts of %u",
                    size, tensor, span);
      return FALSE;
    }
  experts->shard_group = mesh_group_part (mesh_all (&of), MAX (block / span, 1));
  experts->replica = mesh_across (&of, experts->shard_group);
  return TRUE;
}

gboolean
unit_groups (const Mesh *mesh, const char *shard_option, ShardGroups groups[2], DiagList *diags)
{
  if (!shard_groups (mesh, shard_option, &groups[0], diags))
    return FALSE;
  groups[1] = groups[0];
  return !mesh_parts_experts (mesh) || expert_groups (mesh, &groups[0], &groups[1], diags);
}

gboolean
check_unit_groups (const Mesh *mesh, const char *shard_option, DiagList *diags)
{
  ShardGroups groups[2];
  gboolean    good;

  diag_list_set_key (diags, "shard");
  good = unit_groups (mesh, shard_option, groups, diags);
  diag_list_set_key (diags, NULL);
  return good;
}
