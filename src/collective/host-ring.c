#include "collective/host-ring-private.h"

#include "collective/load-private.h"

static guint
dram_of (const Cluster *cluster, guint32 rank)
{
  return cluster_node_resource (cluster, cluster_node_of_gpu (cluster, rank), RESOURCE_DRAM,
                                cluster_socket_of_gpu (cluster, rank));
}

/* Both cards, and what lies between their leaves. */
static void
add_network (LoadSum *sum, const Cluster *cluster, guint32 from, guint32 to, double bytes)
{
  guint nodes[2] = { cluster_node_of_gpu (cluster, from), cluster_node_of_gpu (cluster, to) };
  guint cards[2] = { cluster_nearest_card (cluster, from), cluster_nearest_card (cluster, to) };
  FabricLink links[FABRIC_MAX];
  guint      n = cluster_route_fabric (cluster, nodes[0], cards[0], nodes[1], cards[1], 1, links);

  load_sum_add (sum, cluster_node_resource (cluster, nodes[0], RESOURCE_NIC_TX, cards[0]), bytes);
  load_sum_add (sum, cluster_node_resource (cluster, nodes[1], RESOURCE_NIC_RX, cards[1]), bytes);
  for (guint i = 0; i < n; i++)
    load_sum_add (sum, links[i].resource, links[i].share * bytes);
}

static void
add_edge (LoadSum *sum, const Cluster *cluster, guint32 from, guint32 to, double bytes)
{
  load_sum_add (sum, dram_of (cluster, from), bytes);
  load_sum_add (sum, dram_of (cluster, to), bytes);
  if (cluster_node_of_gpu (cluster, from) != cluster_node_of_gpu (cluster, to))
    add_network (sum, cluster, from, to, bytes);
}

CollectiveLayout *
host_ring_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks, guint n_ranks)
{
  CollectiveLayout *self = g_new0 (CollectiveLayout, 1);
  LoadSum           sum;

  self->kind = kind;
  load_sum_init (&sum, cluster);
  for (guint i = 0; i < n_ranks; i++)
    if (kind != COLLECTIVE_ALL_TO_ALL)
      add_edge (&sum, cluster, ranks[i], ranks[(i + 1) % n_ranks],
                collective_wire_factor (kind, n_ranks));
    else
      for (guint to = 1; to < n_ranks; to++)
        add_edge (&sum, cluster, ranks[i], ranks[(i + to) % n_ranks], 1.0 / n_ranks);
  load_sum_store (&sum, self);
  load_sum_clear (&sum);
  return self;
}

/* Steps that follow each other: each waits for the message of the one before. */
static guint
steps_of (CollectiveKind kind, guint n_ranks)
{
  switch (kind)
    {
    case COLLECTIVE_ALL_REDUCE:
      return 2 * (n_ranks - 1);
    case COLLECTIVE_SEND_RECV:
      return 1;
    default:
      return n_ranks - 1;
    }
}

/* Of the slowest card: a ring goes at the pace of its slowest edge. */
static double
hop_latency (const Cluster *cluster, const guint32 *ranks, guint n_ranks)
{
  double most = 0;

  for (guint i = 0; i < n_ranks; i++)
    {
      guint              node = cluster_node_of_gpu (cluster, ranks[i]);
      guint              next = cluster_node_of_gpu (cluster, ranks[(i + 1) % n_ranks]);
      const LinkProfile *nic = cluster_nic_profile (cluster, node);

      if (node != next && nic != NULL)
        most = MAX (most, nic->latency.value);
    }
  return most;
}

void
host_ring_cost (const Cluster *cluster, const CollectiveLayout *layout, CollectiveKind kind,
                const guint32 *ranks, guint n_ranks, double bytes, CollectiveCost *cost)
{
  double latency = steps_of (kind, n_ranks) * hop_latency (cluster, ranks, n_ranks), links = 0;

  *cost = (CollectiveCost){ .algorithm = ALGORITHM_RING,
                            .protocol = PROTOCOL_SIMPLE,
                            .weight = 1,
                            .latency = latency,
                            .service_scale = 1,
                            .loads = layout->loads,
                            .n_loads = layout->n_loads,
                            .binding = G_MAXUINT32 };
  for (guint i = 0; i < layout->n_loads; i++)
    {
      const CollectiveLoad *load = &layout->loads[i];
      double seconds = load->service * bytes / cluster_resource (cluster, load->resource)->capacity;

      if (seconds > links)
        cost->binding = load->resource;
      links = MAX (links, seconds);
    }
  if (latency > links)
    cost->binding = G_MAXUINT32;
  cost->time = latency + links;
}
