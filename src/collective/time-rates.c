#include "collective/time-parts-private.h"

#include <math.h>

#define MAX_P2P 32

/* Channels of a pair that exchanges BYTES: few while each gets little, all for large messages. */
static guint
pair_channels (const CollectiveGraph *graph, double bytes)
{
  const NcclTables *tables = graph->tables;
  guint             most = collective_graph_pair_channels (graph), n = 1;

  while (n < MIN (tables->p2p_small, most) && bytes / n >= tables->p2p_part)
    n *= 2;
  while (n < most && bytes / n >= tables->p2p_part_big)
    n *= 2;
  return MIN (n, most);
}

guint
timed_count_channels (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  double                 floor_bytes = graph->tables->thread_bytes[self->protocol];
  guint                  most = graph->channels;

  if (graph->hosts)
    return 1;
  switch (self->algorithm)
    {
    case ALGORITHM_PAIRWISE:
      if (self->kind == COLLECTIVE_ALL_TO_ALL)
        return MIN (pair_channels (graph, self->bytes / graph->n_ranks) * (graph->n_ranks - 1),
                    MAX_P2P);
      return pair_channels (graph, self->bytes);
    case ALGORITHM_NVLS:
      most = graph->generation->nvls_channels;
      break;
    case ALGORITHM_NVLS_TREE:
      most = graph->generation->nvls_channels_net;
      break;
    case ALGORITHM_RING:
      if (self->protocol == PROTOCOL_LL)
        floor_bytes *= graph->n_ranks;
      break;
    default:
      break;
    }
  return (guint) CLAMP (self->bytes / floor_bytes, 1, most);
}

/* B/s of data that one channel carries. 0: not limited. */
static double
channel_rate (const Timed *self)
{
  const LinkProfile    *intra = self->graph->intra;
  const NcclGeneration *generation = self->graph->generation;
  double                simple = timed_figure_or (&intra->channel_rate, generation->channel_rate);

  if (self->algorithm == ALGORITHM_PAIRWISE)
    return timed_figure_or (&intra->p2p_rate, simple);
  switch (self->protocol)
    {
    case PROTOCOL_LL:
      return timed_figure_or (&intra->ll_rate, generation->ll / generation->node_channels);
    case PROTOCOL_LL128:
      return timed_figure_or (&intra->ll128_rate, generation->ring_ll128[0] / 2);
    default:
      return simple;
    }
}

/* Bytes that all channels of a rank carry, per byte of S. 0: not by channels. */
double
timed_carried (const Timed *self)
{
  guint n = self->graph->n_ranks;

  switch (self->algorithm)
    {
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN:
      return 0;
    case ALGORITHM_TREE:
      return 2;
    default:
      return self->kind == COLLECTIVE_BROADCAST || self->kind == COLLECTIVE_REDUCE
                 ? 1
                 : collective_wire_factor (self->kind, n);
    }
}

/*
 * How much longer the copies take where parts of S begin between multiples of 16 bytes: kernels
 * then move elements, not packs. LL moves 8 bytes at a time anyway.
 */
static double
unaligned (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  gboolean parts = self->kind == COLLECTIVE_ALL_GATHER || self->kind == COLLECTIVE_REDUCE_SCATTER
                   || self->kind == COLLECTIVE_ALL_TO_ALL;

  if (!parts || self->protocol == PROTOCOL_LL || fmod (self->bytes / graph->n_ranks, 16) == 0)
    return 1;
  return MAX (graph->per_node > 1 ? timed_figure_or (&graph->intra->unaligned_slowdown, 1) : 1,
              graph->nic != NULL ? timed_figure_or (&graph->nic->unaligned_slowdown, 1) : 1);
}

/* CAP, or what the slower copies of unaligned parts let through of the stand-alone rate. */
double
timed_unaligned_cap (const Timed *self, double cap)
{
  double slowdown = unaligned (self);
  double links = 1 / (self->layout->link_seconds_per_byte * timed_wire_scale (self->protocol));

  if (slowdown == 1)
    return cap;
  return (cap > 0 ? MIN (cap, links) : links) / slowdown;
}

/* B/s of S that the channels, and under LL the proxies of the host, let through; 0: no limit. */
double
timed_rate_cap (const Timed *self, guint channels)
{
  const CollectiveGraph *graph = self->graph;
  double                 bytes = timed_carried (self), rate = channel_rate (self), cap;

  if (graph->hosts)
    return timed_message_cap (self);
  if (graph->staged)
    rate = MIN (rate > 0 ? rate : G_MAXDOUBLE,
                timed_figure_or (&graph->nic->sockets, 1)
                    * timed_figure_or (&graph->nic->staged_rate, graph->tables->staged_channel));
  cap = channels * rate;
  if (bytes == 0)
    return 0;
  if (self->protocol == PROTOCOL_LL && graph->nic != NULL && self->algorithm != ALGORITHM_PAIRWISE)
    {
      double net = timed_figure_or (&graph->nic->ll_rate,
                                    graph->tables->ll_net[MIN (graph->n_nodes, NODE_CASES) - 1]);

      cap = cap > 0 ? MIN (cap, net) : net;
    }
  return cap / bytes;
}
