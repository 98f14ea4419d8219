#include "collective/communicator.h"
#include "collective/graph-private.h"

#define MIB          1048576.0
#define BUFFER_BYTES (10 * MIB)
#define SENDER_BYTES (2 * MIB)

/* Of one connection, its sender's part included: PER_NODE members share the node's way out. */
static double
connection_bytes (const CollectiveGraph *graph)
{
  double over_network = graph->n_nodes > 1 ? 1.0 / graph->per_node : 0;

  return BUFFER_BYTES + SENDER_BYTES + over_network * (BUFFER_BYTES - SENDER_BYTES);
}

guint64
communicator_bytes (const Cluster *cluster, const guint32 *ranks, guint n_ranks, guint uses,
                    const CollectiveOptions *options)
{
  Members         members;
  CollectiveGraph graph;
  double          connections = 0, pair;

  if (n_ranks < 2)
    return 0;
  members_init (&members, cluster, ranks, n_ranks);
  collective_graph_init (&graph, cluster, &members,
                         cluster_library (cluster, options != NULL ? options->library : NULL),
                         options);
  pair = collective_graph_pair_channels (&graph);
  if (uses & COMMUNICATOR_COLLECTIVES)
    connections += graph.channels * (1 + 2.0 * (n_ranks - 1) / n_ranks);
  if (uses & COMMUNICATOR_MESSAGES)
    connections += pair;
  if (uses & COMMUNICATOR_ALL_TO_ALL)
    connections += pair * (graph.per_node - 1);
  members_clear (&members);
  if (graph.hosts) /* MPI has no buffers on a device */
    return 0;
  return (guint64) (connections * connection_bytes (&graph));
}
