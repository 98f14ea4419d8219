#include "cost/collective/library/communicator.h"

#include <math.h>

#include "cost/collective/algorithm/algorithm-private.h"

#define PAGE         2097152.0
#define LINES_BYTES  (120 * 640 * 8 * 8.0 + 8 * 512 * 8 * 16.0) /* LL128's and LL's */
#define SENDER_BYTES PAGE

static double
whole_pages (double bytes)
{
  return ceil (bytes / PAGE) * PAGE;
}

/* Of one connection, its sender's part included: PER_NODE members share the node's way out. */
static double
connection_bytes (const CollectiveGraph *graph)
{
  const double over_network = graph->n_nodes > 1 ? 1.0 / graph->per_node : 0;
  const double buffers = whole_pages (graph->buffer + LINES_BYTES);

  return buffers + SENDER_BYTES + over_network * (buffers - SENDER_BYTES);
}

/*
 * Of NVLS: every head of a node has two buffers in each channel, and counters, and the switch's
 * multicast keeps all of them on every GPU.
 */
static double
nvls_bytes (const CollectiveGraph *graph)
{
  const LibraryProfile *library = graph->library;
  const gboolean        one = graph->n_nodes == 1;
  const guint           heads = one ? graph->per_node : collective_graph_heads (graph);
  const guint           channels =
      one ? graph->generation->nvls_channels : graph->generation->nvls_channels_net;
  const double buffers = 2.0 * heads * channels;
  const double buffer = library->nvls_buffer.value > 0 ? library->nvls_buffer.value : graph->buffer;

  return whole_pages (buffers * buffer) + whole_pages (buffers * library->nvls_credits.value);
}

static gboolean
has_nvls (const CollectiveGraph *graph, const Members *members, double all_reduced,
          const CollectiveOptions *options)
{
  CollectiveChoice choice;

  if (!graph->nvls || !graph->library->nvls_at_use || all_reduced <= 0)
    return graph->nvls && !graph->library->nvls_at_use;
  choice = collective_choose (graph, COLLECTIVE_ALL_REDUCE, all_reduced, options,
                              members_are_even (members));
  return choice.algorithm->multicasts;
}

guint64
communicator_bytes (const Cluster *cluster, const guint32 *ranks, guint n_ranks,
                    CommunicatorUse use, const CollectiveOptions *options)
{
  const CollectiveOptions *asked = options != NULL ? options : &collective_default_options;
  Members                  members;
  CollectiveGraph          graph;
  double                   connections = 0, pair, nvls = 0;

  if (n_ranks < 2)
    return 0;
  members_init (&members, cluster, ranks, n_ranks);
  collective_graph_init (&graph, cluster, &members,
                         cluster_library (cluster, options != NULL ? options->library : NULL),
                         options);
  pair = collective_graph_pair_channels (&graph);
  if (use.uses & COMMUNICATOR_COLLECTIVES)
    connections += graph.channels * (1 + 2.0 * (n_ranks - 1) / n_ranks);
  if (use.uses & COMMUNICATOR_MESSAGES)
    connections += pair;
  if (use.uses & COMMUNICATOR_ALL_TO_ALL)
    connections += pair * (graph.per_node - 1);
  if (has_nvls (&graph, &members, use.all_reduced, asked))
    nvls = nvls_bytes (&graph);
  members_clear (&members);
  if (graph.hosts) /* MPI has no buffers on a device */
    return 0;
  return (guint64) (connections * connection_bytes (&graph) + nvls);
}
