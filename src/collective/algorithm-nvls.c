/* Multicast and reduction in the NVLink switch; between nodes, trees over what it reduced. */
#include "collective/algorithm-private.h"

#include <math.h>

static gboolean
exists_inside (const CollectiveGraph *graph, gboolean even)
{
  (void) even;
  return graph->nvls && graph->n_nodes == 1;
}

static gboolean
exists_across (const CollectiveGraph *graph, gboolean even)
{
  return graph->nvls && graph->n_nodes > 1 && even;
}

/* ---- the library's model --------------------------------------------------------------------- */

static double
believed_rate (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
               double bytes)
{
  const guint n = collective_graph_case (graph);
  double      members = (graph->per_node - 1.0) / graph->per_node;
  double      port = graph->intra->bandwidth.value * graph->generation->link_factor;
  double      bus = port * graph->generation->nvls_efficiency * members;

  if (kind == COLLECTIVE_ALL_REDUCE)
    bus *= 2;
  else
    bus *= members;
  if (graph->n_nodes > 1)
    {
      double net = graph->searched * graph->speed * (graph->n_nodes == 2 ? 2 : 1);

      bus = MIN (bus, net);
      if (graph->generation->nvls_tree[n] > 0)
        bus = MIN (bus, collective_graph_heads (graph) * graph->generation->nvls_tree[n]);
      if (graph->generation->nvls_tree_corrected)
        bus *= library_profile_correction (graph->library, protocol, bytes, CORRECTION_SIZES);
    }
  return bus * collective_graph_per_bus (graph, kind);
}

static double
believed_latency_inside (const CollectiveGraph *graph, CollectiveKind kind,
                         CollectiveProtocol protocol, double bytes)
{
  (void) kind, (void) bytes;
  return graph->library->hop[graph->hop][ALGORITHM_NVLS][protocol];
}

static double
believed_latency_across (const CollectiveGraph *graph, CollectiveKind kind,
                         CollectiveProtocol protocol, double bytes)
{
  (void) kind, (void) bytes;
  return graph->library->hop[graph->hop][ALGORITHM_NVLS_TREE][protocol]
         + 2 * log2 (graph->n_nodes)
               * collective_graph_net_hop (graph, ALGORITHM_NVLS_TREE, protocol);
}

/* ---- time ------------------------------------------------------------------------------------ */

static guint
channels_inside (const Timed *self)
{
  return timed_channels_of (self, self->graph->library->thread_bytes[self->protocol],
                            self->graph->generation->nvls_channels);
}

static guint
channels_across (const Timed *self)
{
  return timed_channels_of (self, self->graph->library->thread_bytes[self->protocol],
                            self->graph->generation->nvls_channels_net);
}

/*
 * What the heads' channels let through between nodes: the library's own limits, that public runs
 * reach (8 H100: 2 nodes 462 GB/s of bus bandwidth, 4 nodes 364).
 */
static double
cap_across (const Timed *self, guint n_channels)
{
  const CollectiveGraph *graph = self->graph;
  double                 head = graph->generation->nvls_tree[collective_graph_case (graph)];

  (void) n_channels;
  return head * collective_graph_heads (graph) * collective_graph_per_bus (graph, self->kind);
}

static double
latency_of (const Timed *self, const LinkProfile *link, HopClass class_)
{
  return timed_figure_or (&link->nvls_latency,
                          self->graph->library->hop[class_][ALGORITHM_NVLS_TREE][PROTOCOL_SIMPLE]);
}

static double
latency_inside (const Timed *self, guint channels, double cap)
{
  (void) channels, (void) cap;
  return timed_base (self) + latency_of (self, self->graph->intra, HOP_NVLINK);
}

static double
latency_across (const Timed *self, guint channels, double cap)
{
  return latency_inside (self, channels, cap)
         + 2 * log2 (self->graph->n_nodes) * latency_of (self, self->graph->nic, HOP_NET);
}

/* What is in flight at once: all channels' chunks. */
static double
chunk (const Timed *self, guint n_channels)
{
  const CollectiveGraph *graph = self->graph;
  gboolean               one = graph->n_nodes == 1;
  guint  most = one ? graph->generation->nvls_channels : graph->generation->nvls_channels_net;
  double each = graph->n_nodes >= 4 ? graph->library->chunk_nvls_wide.value
                                    : graph->library->chunk_nvls.value;

  (void) n_channels;
  return MIN (self->bytes, (double) most * graph->per_node * each);
}

/* All of S one way over a port, while S/p go the other, s per byte of S. */
static double
port (const Timed *self)
{
  guint p = self->graph->per_node;

  return self->layout->intra_seconds_per_byte * p / (p + 1.0);
}

/*
 * What a chunk takes of a card beside those before and after it, s per byte of S: all the edges
 * that its operation has there, once N chunks occupy all stages. There is nothing to share where
 *  - a chunk is through the trees before the next one comes (PATH below INSIDE, a switch's stage),
 *  - the trees are chains, of 2 or 3 nodes, whose edges take turns on a card,
 *  - cards or leaves are the slowest: they are never idle, so the bandwidth term has their time.
 */
static double
shared_pace (const Timed *self, Stages stages, double n, double path, double inside)
{
  const double net = self->layout->ring.net;

  if (stages.pairs == 0 || path <= inside || net > inside)
    return 0;
  return net * MIN ((n - 1) / (2 + stages.net + stages.pairs), 1);
}

/*
 * The first chunk passes its stages one after another, the switches' two and the levels of the
 * trees between them; of their times the slowest is in the bandwidth term already. Later chunks
 * share each card with those ahead of them and behind. CAP limits what the heads reduce and hand
 * out, not what goes between nodes.
 */
static double
fill_of (const Timed *self, Stages stages, double cap)
{
  const double channel = cap > 0 ? 1 / cap : 0;
  const double pace = MAX (self->layout->link_seconds_per_byte, channel);
  const double inside = MAX (port (self), channel);
  const double net = timed_ring_pace_alone (self, 0).net, pair = timed_pair_pace (self, 0);
  const double n = MAX (ceil (self->bytes / MAX (chunk (self, 0), 1)), 1);
  double       path = stages.net * net + stages.pairs * pair, shared;

  if (self->kind != COLLECTIVE_ALL_REDUCE)
    return 0;
  if (self->graph->n_nodes > 1)
    path += (stages.net + stages.pairs) * latency_of (self, self->graph->nic, HOP_NET) * n
            / self->bytes;
  shared = shared_pace (self, stages, n, path, inside);
  return self->bytes / n
         * MAX (
             2 * inside + stages.net * MAX (net, shared) + stages.pairs * MAX (pair, shared) - pace,
             0);
}

static double
fill_inside (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return fill_of (self, (Stages){ 0 }, cap);
}

static double
fill_across (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return fill_of (self, timed_tree_stages (self), cap);
}

static double
bound (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return timed_pipeline_bound (self, 0, cap);
}

const Algorithm algorithm_nvls = { .id = ALGORITHM_NVLS,
                                   .kinds = KINDS_OF_RINGS,
                                   .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                   .exists = exists_inside,
                                   .believed_latency = believed_latency_inside,
                                   .believed_rate = believed_rate,
                                   .lay = lay_nvls,
                                   .edges = EDGES_ARE_SUMS,
                                   .channels = channels_inside,
                                   .rate_cap = timed_channel_cap,
                                   .latency = latency_inside,
                                   .fill = fill_inside,
                                   .bound = bound,
                                   .stepped = fill_inside,
                                   .chunk = chunk,
                                   .build = step_build_pipeline };

const Algorithm algorithm_nvls_tree = { .id = ALGORITHM_NVLS_TREE,
                                        .kinds = KIND_BIT (COLLECTIVE_ALL_REDUCE),
                                        .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                        .exists = exists_across,
                                        .believed_latency = believed_latency_across,
                                        .believed_rate = believed_rate,
                                        .lay = lay_nvls_tree,
                                        .edges = EDGES_ARE_RINGS,
                                        .channels = channels_across,
                                        .rate_cap = cap_across,
                                        .capped_inside = TRUE,
                                        .latency = latency_across,
                                        .fill = fill_across,
                                        .bound = bound,
                                        .stepped = fill_across,
                                        .chunk = chunk,
                                        .build = step_build_pipeline };
