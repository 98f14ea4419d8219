#include "collective/nvls-private.h"

#include "collective/nccl-tables-private.h"

static double
port_efficiency (const LayContext *context, const Members *members)
{
  const Cluster        *cluster = context->sum->cluster;
  const LinkProfile    *intra = cluster_intra_profile (cluster, members->nodes[0].node);
  const NcclGeneration *generation =
      nccl_generation (nccl_tables (NULL), cluster_gpu_profile (cluster, members->gpus[0]));

  if (intra->nvls_efficiency.value > 0)
    return intra->nvls_efficiency.value;
  return generation->nvls_efficiency * generation->link_factor;
}

/*
 * Bytes of a GPU's memory that S of KIND move, OWN = 1/p: a copy into the buffers that the switch
 * sees (read, written), what it reads and writes there, and a copy out. Between nodes a head's part is
 * written before a card reads it, and read after a card wrote it.
 */
static double
memory_bytes (CollectiveKind kind, double own, guint n_nodes)
{
  double sent = 2 * (n_nodes - 1.0) / n_nodes * own; /* by the trees, in the mean */

  if (kind == COLLECTIVE_ALL_REDUCE)
    return 6 + 4 * sent;
  return 3 + own;
}

void
nvls_lay (const LayContext *context, const Members *members, CollectiveKind kind)
{
  const Cluster *cluster = context->sum->cluster;

  context->sum->port_efficiency = port_efficiency (context, members);
  for (guint slot = 0; slot < members->n_nodes; slot++)
    for (guint i = 0; i < members->nodes[slot].n; i++)
      {
        guint32 gpu = members->gpus[members->nodes[slot].first + i];
        double  own = 1.0 / members->nodes[slot].n;
        double  out = (kind != COLLECTIVE_ALL_GATHER) + (kind != COLLECTIVE_REDUCE_SCATTER) * own;
        double  in = (kind != COLLECTIVE_ALL_GATHER) * own + (kind != COLLECTIVE_REDUCE_SCATTER);

        load_sum_add (context->sum, cluster_gpu_resource (cluster, gpu, RESOURCE_NVLINK_OUT), out);
        load_sum_add (context->sum, cluster_gpu_resource (cluster, gpu, RESOURCE_NVLINK_IN), in);
        load_sum_add (context->sum, cluster_gpu_resource (cluster, gpu, RESOURCE_HBM),
                      memory_bytes (kind, own, members->n_nodes));
      }
}
