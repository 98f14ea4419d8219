#include "collective/communicator.h"

#include <math.h>

#include "collective/graph-private.h"

#define PAGE         2097152.0
#define LINES_BYTES  (120 * 640 * 8 * 8.0 + 8 * 512 * 8 * 16.0) /* LL128's and LL's */
#define SENDER_BYTES PAGE

/* Of one connection, its sender's part included: PER_NODE members share the node's way out. */
static double
connection_bytes (const CollectiveGraph *graph)
{
  const double over_network = graph->n_nodes > 1 ? 1.0 / graph->per_node : 0;
  const double buffers = ceil ((graph->buffer + LINES_BYTES) / PAGE) * PAGE;

  return buffers + SENDER_BYTES + over_network * (buffers - SENDER_BYTES);
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
