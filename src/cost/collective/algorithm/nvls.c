/* Multicast and reduction in the NVLink switch; between nodes, trees over what it reduced. */
#include "cost/collective/algorithm/algorithm-private.h"

#include <math.h>

#include "cost/collective/layout/trees-private.h"

#define MAX_HEADS 32 /* NCCL_MAX_NVLS_ARITY */

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

/* Channels of the search, one for each head: of each card, on one node of each GPU. */
static guint
searched_heads (const CollectiveGraph *graph)
{
  return MIN (graph->n_nodes > 1 ? collective_graph_heads (graph) : graph->per_node, MAX_HEADS);
}

/*
 * B/s of the heads' channels together, by the library's search: a channel takes its speed of every
 * GPU's port and twice that of its head's (src/graph/search.cc, ncclTopoSearchTryNvls). So 8 H100
 * have 8 x 40 GB/s, 4 of them 4 x 60, of which rings, at 360, are thought to be faster.
 */
static double
searched_rate (const CollectiveGraph *graph, guint heads)
{
  return heads * collective_graph_speed (graph, graph->inside / (heads + 1));
}

static double
believed_rate (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
               double bytes)
{
  const guint n = collective_graph_case (graph), heads = searched_heads (graph);
  double      members = (graph->per_node - 1.0) / graph->per_node;
  double      bus = searched_rate (graph, heads) * graph->generation->nvls_efficiency;

  bus *= (heads - 1.0) / heads;
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
 * What an edge takes beside the chunks before and after its own, OWN alone, s per byte of S, once N
 * of them occupy all stages: one comes every INSIDE, the time of a switch's stage, in which the
 * other edges of a card take what they need and this one gets the rest. There is nothing to share
 * where
 *  - a chunk is through the trees before the next one comes (PATH below INSIDE),
 *  - the trees are chains, of 2 or 3 nodes, whose edges take turns on a card,
 *  - cards or leaves are the slowest: they are never idle, so the bandwidth term has their time.
 */
static double
edge_pace (const Timed *self, Stages stages, double n, double path, double inside, double own)
{
  const double others = self->layout->ring.net - own;

  if (stages.pairs == 0 || path <= inside || own + others > inside)
    return own;
  return own
         * MAX (inside / (inside - others) * MIN ((n - 1) / (2 + stages.net + stages.pairs), 1), 1);
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
  double       path = stages.net * net + stages.pairs * pair;

  if (self->kind != COLLECTIVE_ALL_REDUCE)
    return 0;
  if (self->graph->n_nodes > 1)
    path += (stages.net + stages.pairs) * latency_of (self, self->graph->nic, HOP_NET) * n
            / self->bytes;
  return self->bytes / n
         * MAX (2 * inside + stages.net * edge_pace (self, stages, n, path, inside, net)
                    + stages.pairs * edge_pace (self, stages, n, path, inside, pair) - pace,
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

/* ---- links ----------------------------------------------------------------------------------- */

/*
 * NVLS: the switch reads S from every GPU of a node, reduces, and writes to all at once
 * (multicast). Of an all-reduce each GPU handles S / p: its port carries S + S/p out and S/p + S
 * in. Its memory moves 6 S without registered buffers: in and out of those of the switch, and by
 * the switch (NCCL src/device/all_reduce.h: threads that scatter, reduce and gather).
 */
static double
port_efficiency (const RoutingContext *context, const Members *members)
{
  const Cluster           *cluster = context->sum->cluster;
  const LinkProfile       *intra = cluster_intra_profile (cluster, members->nodes[0].node);
  const LibraryGeneration *generation = library_profile_generation (
      cluster_library (cluster, NULL), cluster_gpu_profile (cluster, members->gpus[0]));

  if (intra->nvls_efficiency.value > 0)
    return intra->nvls_efficiency.value;
  return generation->nvls_efficiency * generation->link_factor;
}

/*
 * Bytes of a GPU's memory that S of KIND move, OWN = 1/p: a copy into the buffers that the switch
 * sees (read, written), what it reads and writes there, and a copy out. Between nodes a head's part
 * is written before a card reads it, and read after a card wrote it.
 */
static double
memory_bytes (CollectiveKind kind, double own, guint n_nodes)
{
  double sent = 2 * (n_nodes - 1.0) / n_nodes * own; /* by the trees, in the mean */

  if (kind == COLLECTIVE_ALL_REDUCE)
    return 6 + 4 * sent;
  return 3 + own;
}

/*
 * The members of SLOT and the switch: PHASE before the trees (all send, the switch reduces, each
 * head gets its part) or after them (each head sends its part, the switch copies it to all).
 */
static void
note_stage (const RoutingContext *context, const Members *members, guint slot, CollectiveKind kind,
            guint tree, guint32 head, guint8 phase, double bytes)
{
  const Cluster *cluster = context->sum->cluster;
  gboolean       before = phase == TREE_BEFORE;
  double         own = 1.0 / members->nodes[slot].n;
  double         stages = kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
  RoutedJoin     join = { .source = tree_place (context, tree, head),
                          .target = tree_place (context, tree, head),
                          .phase = phase,
                          .until = before ? 0 : TREE_DOWN };

  routed_edges_add_stage (context->edges, ROUTED_WHOLE_NODE, ROUTED_WHOLE_NODE, &join, NULL, bytes);
  for (guint i = 0; i < members->nodes[slot].n; i++)
    {
      guint32 gpu = members->gpus[members->nodes[slot].first + i];

      routed_edges_add_resource (context->edges,
                                 cluster_gpu_resource (cluster, gpu, RESOURCE_NVLINK_OUT),
                                 before ? 1 : own);
      routed_edges_add_resource (context->edges,
                                 cluster_gpu_resource (cluster, gpu, RESOURCE_NVLINK_IN),
                                 before ? own : 1);
      routed_edges_add_resource (context->edges, cluster_gpu_resource (cluster, gpu, RESOURCE_HBM),
                                 memory_bytes (kind, own, members->n_nodes) / stages);
    }
}

static void
note_stages (const RoutingContext *context, const Members *members, CollectiveKind kind, guint slot,
             guint tree, guint32 head, double bytes)
{
  if (kind != COLLECTIVE_ALL_GATHER)
    note_stage (context, members, slot, kind, tree, head, TREE_BEFORE, bytes);
  if (kind != COLLECTIVE_REDUCE_SCATTER)
    note_stage (context, members, slot, kind, tree, head, TREE_AFTER, bytes);
}

/* Each of the trees between nodes moves what the switches of its nodes have reduced for it. */
static void
note_edges (const RoutingContext *context, const Members *members, CollectiveKind kind)
{
  CardsInUse cards;

  context->edges->names_memory = TRUE;
  if (members->n_nodes == 1)
    {
      note_stages (context, members, kind, 0, 0, members->gpus[0], 1);
      return;
    }
  cards_in_use_init (&cards, context->sum->cluster, members);
  for (guint tree = 0; tree < 2 * cards.n_lanes; tree++)
    for (guint slot = 0; slot < members->n_nodes && !stop_poll (&context->sum->poll); slot++)
      {
        guint head = tree_head (context, members, slot, cards_in_use_get (&cards, slot, tree / 2));

        note_stages (context, members, kind, slot, tree,
                     members->gpus[members->nodes[slot].first + head], 1 / (2.0 * cards.n_lanes));
      }
  cards_in_use_clear (&cards);
}

/* The part inside nodes, with the ports' own efficiency under NVLS, and all traffic of memory. */
static void
add_traffic (const RoutingContext *context, const Members *members, CollectiveKind kind)
{
  const Cluster *cluster = context->sum->cluster;

  context->sum->port_efficiency = port_efficiency (context, members);
  if (context->edges != NULL)
    note_edges (context, members, kind);
  for (guint slot = 0; slot < members->n_nodes && !context->sum->poll.cut; slot++)
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

static void
route_nvls (const RoutingContext *context, const Members *members, CollectiveKind kind,
            const guint32 *ranks)
{
  (void) ranks;
  add_traffic (context, members, kind);
}

static void
route_nvls_tree (const RoutingContext *context, const Members *members, CollectiveKind kind,
                 const guint32 *ranks)
{
  (void) ranks;
  add_traffic (context, members, kind);
  tree_add_nodes (context, members, 1);
}

const Algorithm algorithm_nvls = { .id = ALGORITHM_NVLS,
                                   .multicasts = TRUE,
                                   .kinds = KINDS_OF_RINGS,
                                   .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                   .exists = exists_inside,
                                   .believed_latency = believed_latency_inside,
                                   .believed_rate = believed_rate,
                                   .route = route_nvls,
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
                                        .multicasts = TRUE,
                                        .kinds = KIND_BIT (COLLECTIVE_ALL_REDUCE),
                                        .protocols = PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                        .exists = exists_across,
                                        .believed_latency = believed_latency_across,
                                        .believed_rate = believed_rate,
                                        .route = route_nvls_tree,
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
