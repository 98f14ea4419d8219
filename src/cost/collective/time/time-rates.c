#include <math.h>

#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/library/factors-private.h"

guint
timed_channels_of (const Timed *self, double floor_bytes, guint most)
{
  return (guint) CLAMP (self->bytes / floor_bytes, 1, most);
}

guint
timed_channels (const Timed *self)
{
  return timed_channels_of (self, self->graph->library->thread_bytes[self->protocol],
                            self->graph->channels);
}

guint
timed_all_peers (const Timed *self)
{
  return self->graph->n_ranks - 1;
}

double
timed_pair_chunk (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;

  if (graph->nic != NULL)
    return timed_figure_or (&graph->nic->p2p_chunk, graph->library->chunk_p2p_net.value);
  return graph->hop != HOP_NVLINK ? graph->library->chunk_p2p_net.value
                                  : graph->library->chunk_p2p.value;
}

guint
timed_one_peer (const Timed *self)
{
  (void) self;
  return 1;
}

double
timed_pair_copy_rate (const Timed *self)
{
  const LinkProfile *intra = self->graph->intra;

  return timed_figure_or (
      &intra->p2p_rate,
      timed_figure_or (&intra->channel_rate, self->graph->generation->channel_rate));
}

/*
 * B/s of data that one channel carries under LL. A ring's thread block works line by line, on what
 * arrives last as on what it sends (src/device/all_gather.h and its like: one operation more than
 * the steps).
 */
static double
ll_channel_rate (const Timed *self)
{
  const CollectiveGraph   *graph = self->graph;
  const LibraryGeneration *generation = graph->generation;
  const double             inside = graph->intra->inside_ll_rate.value;
  double                   steps;

  if (graph->n_nodes > 1 || inside <= 0)
    return timed_figure_or (&graph->intra->ll_rate, generation->ll / generation->node_channels);
  if (!self->algorithm->connects_rings || collective_kind_is_rooted (self->kind))
    return inside;
  steps = collective_ring_steps (self->kind, graph->n_ranks);
  return inside * steps / (steps + 1);
}

/* B/s of data that one channel carries. 0: not limited. */
static double
channel_rate (const Timed *self)
{
  const LinkProfile       *intra = self->graph->intra;
  const LibraryGeneration *generation = self->graph->generation;
  double simple = timed_figure_or (&intra->channel_rate, generation->channel_rate);

  if (self->algorithm->peers != NULL)
    {
      const CollectiveGraph *graph = self->graph;
      double                 rate = timed_pair_copy_rate (self), chunk;

      /* What a pair's channel carries: over the network chunk after chunk. */
      if (graph->nic == NULL || rate == 0)
        return rate;
      if (graph->nic->p2p_rate.value > 0)
        return graph->nic->p2p_rate.value;
      chunk = timed_pair_chunk (self);
      return chunk / (chunk / rate + graph->library->p2p_gap.value);
    }
  switch (self->protocol)
    {
    case PROTOCOL_LL:
      return ll_channel_rate (self);
    case PROTOCOL_LL128:
      return timed_figure_or (&intra->ll128_rate, generation->ring_ll128[0] / 2);
    default:
      return simple;
    }
}

double
timed_passed_on (const Timed *self)
{
  return collective_passed_on (self->kind, self->graph->n_ranks);
}

/* How much longer kernels take over unaligned copies inside a node, and to and from a card. */
static double
slowdown_inside (const CollectiveGraph *graph)
{
  return graph->per_node > 1 ? timed_figure_or (&graph->intra->unaligned_slowdown, 1) : 1;
}

static double
slowdown_at_card (const CollectiveGraph *graph)
{
  return graph->nic != NULL ? timed_figure_or (&graph->nic->unaligned_slowdown, 1) : 1;
}

/*
 * Kernels move elements, not packs, where parts of S begin between multiples of 16 bytes. LL moves
 * 8 bytes at a time anyway.
 */
gboolean
timed_is_unaligned (const Timed *self)
{
  const gboolean parts = self->kind == COLLECTIVE_ALL_GATHER
                         || self->kind == COLLECTIVE_REDUCE_SCATTER
                         || self->kind == COLLECTIVE_ALL_TO_ALL;

  return parts && !self->algorithm->whole_rows && self->protocol != PROTOCOL_LL
         && fmod (self->bytes / self->graph->n_ranks, 16) != 0
         && MAX (slowdown_inside (self->graph), slowdown_at_card (self->graph)) > 1;
}

/*
 * CAP, or what the slower copies of unaligned parts let through: of a node's channels, and of the
 * links that kernels copy over themselves. What crosses a network or lies between sites has been
 * copied by then.
 */
double
timed_unaligned_cap (const Timed *self, double cap)
{
  const CollectiveGraph  *graph = self->graph;
  const CollectiveLayout *layout = self->layout;
  const double            inside = slowdown_inside (graph), card = slowdown_at_card (graph);
  double                  seconds;

  if (!timed_is_unaligned (self))
    return cap;
  seconds = timed_wire_scale (self->protocol)
            * MAX (inside * layout->intra_seconds_per_byte, card * layout->net_seconds_per_byte);
  return 1 / (cap > 0 ? MAX (seconds, (graph->nic != NULL ? card : inside) / cap) : seconds);
}

/* B/s of S that the channels, and under LL the proxies of the host, let through; 0: no limit. */
double
timed_channel_cap (const Timed *self, guint channels)
{
  const CollectiveGraph *graph = self->graph;
  double                 rate = channel_rate (self), bytes, cap;

  if (self->algorithm->carried == NULL)
    return 0;
  bytes = self->algorithm->carried (self);
  if (graph->staged)
    rate = MIN (
        rate > 0 ? rate : G_MAXDOUBLE,
        timed_figure_or (&graph->nic->sockets, 1)
            * timed_figure_or (&graph->nic->staged_rate, graph->library->staged_channel.value));
  cap = channels * rate;
  if (self->protocol == PROTOCOL_LL && graph->nic != NULL && self->algorithm->peers == NULL)
    {
      double net = timed_figure_or (&graph->nic->ll_rate,
                                    library_profile_ll_net (graph->library, graph->n_nodes));

      cap = cap > 0 ? MIN (cap, net) : net;
    }
  return cap / bytes;
}
