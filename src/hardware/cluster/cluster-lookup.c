/* What a cluster has where: its nodes, GPUs, profiles and resources. */
#include "base/version.h"
#include "hardware/cluster/cluster-private.h"

const NodeGroup *
cluster_group_of_node (const Cluster *self, guint node)
{
  const NodeGroup *group = &g_array_index (self->groups, NodeGroup, 0);
  g_assert (node < self->n_nodes);
  while (node - group->first_node >= group->n_nodes)
    group++;
  return group;
}

static const NodeGroup *
group_of_gpu (const Cluster *self, guint gpu)
{
  const NodeGroup *group = &g_array_index (self->groups, NodeGroup, 0);
  g_assert (gpu < self->n_gpus);
  while (gpu - group->first_gpu >= group->n_nodes * group->gpus)
    group++;
  return group;
}

ProfileSet *
cluster_profiles (const Cluster *self)
{
  return self->profiles;
}

guint
cluster_n_nodes (const Cluster *self)
{
  return self->n_nodes;
}

guint
cluster_n_gpus (const Cluster *self)
{
  return self->n_gpus;
}

guint
cluster_gpus_of_node (const Cluster *self, guint node)
{
  return cluster_group_of_node (self, node)->gpus;
}

guint
cluster_node_of_gpu (const Cluster *self, guint gpu)
{
  const NodeGroup *group = group_of_gpu (self, gpu);
  return group->first_node + (gpu - group->first_gpu) / group->gpus;
}

guint
cluster_first_gpu (const Cluster *self, guint node)
{
  const NodeGroup *group = cluster_group_of_node (self, node);
  return group->first_gpu + (node - group->first_node) * group->gpus;
}

guint
cluster_nics_of_node (const Cluster *self, guint node)
{
  return cluster_group_of_node (self, node)->nics;
}

Attachment
cluster_gpu_at (const Cluster *self, guint gpu)
{
  const NodeGroup *group = group_of_gpu (self, gpu);

  return group->gpu_at[(gpu - group->first_gpu) % group->gpus];
}

Attachment
cluster_card_at (const Cluster *self, guint node, guint card)
{
  return cluster_group_of_node (self, node)->card_at[card];
}

FabricShape
cluster_fabric_shape (const Cluster *self)
{
  const Fabric *fabric = &self->fabric;

  return (FabricShape){ .kind = fabric->kind,
                        .leaves = fabric->leaves,
                        .rails = fabric->rails,
                        .leaf_nodes = fabric->leaf_nodes,
                        .groups = fabric->groups,
                        .group_nodes = fabric->group_nodes,
                        .oversubscription = fabric->oversubscription,
                        .spine_oversubscription = fabric->spine_oversubscription,
                        .taper = fabric->taper };
}

gboolean
cluster_is_uniform (const Cluster *self)
{
  return self->groups->len == 1;
}

const GpuProfile *
cluster_gpu_profile (const Cluster *self, guint gpu)
{
  return group_of_gpu (self, gpu)->gpu;
}

const NodeProfile *
cluster_node_profile (const Cluster *self, guint node)
{
  return &cluster_group_of_node (self, node)->profile;
}

const LinkProfile *
cluster_intra_profile (const Cluster *self, guint node)
{
  return cluster_group_of_node (self, node)->intra;
}

const LinkProfile *
cluster_nic_profile (const Cluster *self, guint node)
{
  return cluster_group_of_node (self, node)->nic;
}

const LinkProfile *
cluster_nic_profile_under (const Cluster *self, guint node, const char *version)
{
  const NodeGroup *group = cluster_group_of_node (self, node);
  const gboolean   known = version != NULL && version_is_valid (version);

  return group->older_nic != NULL && known
                 && version_compare (version, group->nic->older_library) < 0
             ? group->older_nic
             : group->nic;
}

const LibraryProfile *
cluster_library (const Cluster *self, const char *version)
{
  return library_profile_nearest (self->libraries, version);
}

const TunerProfile *
cluster_tuner (const Cluster *self, const char *version)
{
  const NodeGroup *group = &g_array_index (self->groups, NodeGroup, 0);

  return cluster_is_uniform (self) && group->nic != NULL
             ? tuner_profile_find (self->tuners, group->gpu, group->nic, version)
             : NULL;
}

const char *
cluster_usual_release (const Cluster *self)
{
  const LibraryProfile *usual =
      library_profile_usual (self->libraries, cluster_gpu_profile (self, 0));

  return usual != NULL ? usual->version : NULL;
}

double
cluster_gpu_speed (const Cluster *self, guint gpu)
{
  g_assert (gpu < self->n_gpus);
  return self->speeds != NULL ? self->speeds[gpu] : 1;
}

const char *
cluster_fact (const Cluster *self, guint i, const Fact **fact)
{
  const ClusterFact *one;

  if (self->facts == NULL || i >= self->facts->len)
    return NULL;
  one = &g_array_index (self->facts, ClusterFact, i);
  *fact = &one->fact;
  return one->key;
}

const char *
cluster_title (const Cluster *self)
{
  return self->title;
}

guint
cluster_n_resources (const Cluster *self)
{
  return self->n_resources;
}

const ClusterResource *
cluster_resource (const Cluster *self, guint id)
{
  g_assert (id < self->n_resources);
  return &self->resources[id];
}

guint
cluster_node_resource (const Cluster *self, guint node, ResourceKind kind, guint index)
{
  const NodeGroup *group = cluster_group_of_node (self, node);
  if (index >= group->count[kind])
    return NO_RESOURCE;
  return group->first_resource + (node - group->first_node) * group->n_resources
         + group->offset[kind] + index;
}

static gboolean
kind_is_of_gpu (ResourceKind kind)
{
  return kind == RESOURCE_SM || kind == RESOURCE_HBM || kind == RESOURCE_PCIE_UP
         || kind == RESOURCE_PCIE_DOWN || kind == RESOURCE_PCIE_BOTH || kind == RESOURCE_NVLINK_OUT
         || kind == RESOURCE_NVLINK_IN;
}

guint
cluster_gpu_resource (const Cluster *self, guint gpu, ResourceKind kind)
{
  const guint node = cluster_node_of_gpu (self, gpu);
  if (!kind_is_of_gpu (kind))
    return NO_RESOURCE;
  return cluster_node_resource (self, node, kind, gpu - cluster_first_gpu (self, node));
}

gboolean
resource_kind_is_network (ResourceKind kind)
{
  switch (kind)
    {
    case RESOURCE_NIC_TX:
    case RESOURCE_NIC_RX:
    case RESOURCE_LEAF_UP:
    case RESOURCE_LEAF_DOWN:
    case RESOURCE_GROUP_UP:
    case RESOURCE_GROUP_DOWN:
    case RESOURCE_GLOBAL_LINK:
    case RESOURCE_WAN_LINK:
      return TRUE;
    default:
      return FALSE;
    }
}
