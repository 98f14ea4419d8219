#include "cost/collective/library/bus-limit.h"

double
collective_line_rate (const Cluster *cluster, guint node)
{
  return cluster_nic_profile (cluster, node)->bandwidth.value
         * cluster_nics_of_node (cluster, node);
}

/* Bytes that cross the cards of a node with G of the N ranks one way, per byte of S. */
static double
crossing (CollectiveKind kind, double g, double n)
{
  switch (kind)
    {
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_REDUCE_SCATTER:
      return (n - g) / n;
    case COLLECTIVE_ALL_TO_ALL:
      return g * (n - g) / n;
    default:
      return 1;
    }
}

double
collective_bus_limit (const Cluster *cluster, CollectiveKind kind, gboolean in_switches)
{
  const guint nodes = cluster_n_nodes (cluster), n = cluster_n_gpus (cluster);
  double      all = 0, seconds = 0; /* per byte of S */

  for (guint node = 0; node < nodes; node++)
    {
      const double rate = collective_line_rate (cluster, node);

      all += rate;
      seconds = MAX (seconds, crossing (kind, cluster_gpus_of_node (cluster, node), n) / rate);
    }
  if (kind == COLLECTIVE_ALL_REDUCE && !in_switches)
    seconds = MAX (seconds, 2.0 * (nodes - 1) / all);
  return collective_bus_factor (kind, n) / seconds;
}
