/* Wishes that the library cannot follow. */
#include "collective/collective.h"

static gboolean
node_has_multicast (const Cluster *cluster, guint node, const LibraryProfile *library)
{
  const GpuProfile *gpu = cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node));

  return cluster_intra_profile (cluster, node)->kind == LINK_SWITCH
         && cluster_gpus_of_node (cluster, node) > 2 /* NCCL's NVLS has no use for fewer */
         && library_profile_generation (library, gpu)->nvls_channels > 0;
}

/* The first node whose GPUs no switch multicasts to; their number where all have one. */
static guint
find_without_multicast (const Cluster *cluster, const LibraryProfile *library)
{
  const guint n = cluster_is_uniform (cluster) ? 1 : cluster_n_nodes (cluster);

  for (guint node = 0; node < n; node++)
    if (!node_has_multicast (cluster, node, library))
      return node;
  return cluster_n_nodes (cluster);
}

/* NULL, or why SHARP cannot run on CLUSTER: a network whose switches are not known to reduce. */
static char *
refuse_sharp (const Cluster *cluster)
{
  const guint n = cluster_is_uniform (cluster) ? 1 : cluster_n_nodes (cluster);

  for (guint node = 0; node < n && cluster_n_nodes (cluster) > 1; node++)
    {
      const LinkProfile *nic = cluster_nic_profile (cluster, node);

      if (nic != NULL && nic->sharp_efficiency.value <= 0)
        return g_strdup_printf ("'sharp' is asked for, but the switches of '%s' do not reduce: its "
                                "profile has no 'sharp_efficiency'",
                                nic->id);
    }
  return NULL;
}

static const char *
contradiction (const CollectiveOptions *self)
{
  const gboolean in_node =
      self->algorithm == ALGORITHM_NVLS || self->algorithm == ALGORITHM_NVLS_TREE;
  const gboolean in_network =
      self->algorithm == ALGORITHM_COLLNET_DIRECT || self->algorithm == ALGORITHM_COLLNET_CHAIN;

  if (self->nvls == NVLS_OFF && in_node)
    return "is asked for, but NVLS is off";
  if (self->collnet_refused && in_network)
    return "is asked for, but the switches refuse to reduce";
  return NULL;
}

char *
collective_options_refusal (const CollectiveOptions *self, const Cluster *cluster)
{
  const char *why = contradiction (self);
  guint       node;

  if (self->sharp && self->collnet_refused)
    return g_strdup ("the switches cannot both reduce ('sharp') and refuse to ('collnet' asked for "
                     "in vain)");
  if (why != NULL)
    return g_strdup_printf ("'%s' %s", COLLECTIVE_ALGORITHM_NAMES[self->algorithm], why);
  if (cluster != NULL && self->sharp)
    {
      char *refusal = refuse_sharp (cluster);

      if (refusal != NULL)
        return refusal;
    }
  if (self->nvls != NVLS_ON || cluster == NULL)
    return NULL;
  node = find_without_multicast (cluster, cluster_library (cluster, self->library));
  if (node == cluster_n_nodes (cluster))
    return NULL;
  return g_strdup_printf ("NVLS is on, but no switch multicasts between '%s' over '%s'",
                          cluster_gpu_profile (cluster, cluster_first_gpu (cluster, node))->id,
                          cluster_intra_profile (cluster, node)->id);
}
