/* The double binary tree over nodes, chains inside them. */
#include "collective/algorithm-private.h"
#include "collective/tree-private.h"

#include <math.h>

#define TREE_SIZES 23 /* that the library corrects */

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  (void) even;
  return graph->n_ranks > 1;
}

/* ---- the library's model --------------------------------------------------------------------- */

static double
believed_rate (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
               double bytes)
{
  const LibraryGeneration *generation = graph->generation;
  const guint              n = collective_graph_case (graph);
  double all = graph->searched * graph->speed * (graph->n_nodes == 2 ? graph->raised : 1);
  double bus = MIN (0.92 * all, graph->searched * generation->tree_simple[n]);

  (void) kind;
  if (protocol == PROTOCOL_LL)
    bus = MIN (MIN (bus, all / 3.8), collective_graph_ll_rate (graph));
  if (protocol == PROTOCOL_LL128)
    bus = MIN (all * (graph->n_nodes == 1 ? 7.0 / 9 : 120.0 / 128),
               graph->searched * generation->tree_ll128[n]);
  return bus * library_profile_correction (graph->library, protocol, bytes, TREE_SIZES) / 2;
}

static double
believed_latency (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
                  double bytes)
{
  const LibraryProfile *library = graph->library;

  (void) kind, (void) bytes;
  return library->base[ALGORITHM_TREE][protocol]
         + 2
               * ((graph->per_node - 1) * library->hop[graph->hop][ALGORITHM_TREE][protocol]
                  + log2 (graph->n_nodes)
                        * collective_graph_net_hop (graph, ALGORITHM_TREE, protocol));
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Up and down again. */
static double
tree_hops (const Timed *self)
{
  guint levels = timed_tree_levels (self);

  return 2
         * ((self->graph->per_node - 1) * self->hop_intra
            + (levels > 0 ? levels * self->hop_net : 0));
}

static double
carried (const Timed *self)
{
  (void) self;
  return 2;
}

/*
 * Under LL128 a thread block that works for two children copies less than one of a ring: the most
 * that NCCL takes a channel of either for (src/graph/tuning.cc, perChMaxTreeLL128Bws over
 * perChMaxRingLL128Bws).
 */
static double
rate_cap (const Timed *self, guint channels)
{
  const LibraryGeneration *generation = self->graph->generation;
  const guint              n = collective_graph_case (self->graph);
  const double             cap = timed_channel_cap (self, channels);

  if (self->protocol != PROTOCOL_LL128 || generation->ring_ll128[n] <= 0)
    return cap;
  return cap * MIN (generation->tree_ll128[n] / generation->ring_ll128[n], 1);
}

static double
latency (const Timed *self, guint channels, double cap)
{
  (void) channels, (void) cap;
  return timed_base (self) + tree_hops (self);
}

static double
pipeline_fill (const Timed *self, guint channels, double cap)
{
  Stages stages = timed_tree_stages (self);

  stages.intra = 2 * (self->graph->per_node - 1);
  return timed_pipeline_fill (self, stages, timed_double_tree_chunk (self, channels), cap);
}

static double
fill (const Timed *self, guint channels, double cap)
{
  if (self->protocol == PROTOCOL_SIMPLE)
    return pipeline_fill (self, channels, cap);
  return timed_line_fill (self, timed_tree_stages (self), channels);
}

static double
bound (const Timed *self, guint channels, double cap)
{
  (void) channels;
  return timed_pipeline_bound (self, tree_hops (self), cap);
}

static double
stepped (const Timed *self, guint channels, double cap)
{
  return tree_hops (self) + pipeline_fill (self, channels, cap);
}

/* Of two trees each takes half of the channels (src/graph/connect.cc). */
static guint
tree_connections (const CollectiveGraph *graph)
{
  return graph->channels / (2 * graph->n_cards);
}

const Algorithm algorithm_tree = { .id = ALGORITHM_TREE,
                                   .kinds = KIND_BIT (COLLECTIVE_ALL_REDUCE),
                                   .protocols = PROTOCOL_BIT (PROTOCOL_LL)
                                                | PROTOCOL_BIT (PROTOCOL_LL128)
                                                | PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                   .exists = exists,
                                   .believed_latency = believed_latency,
                                   .believed_rate = believed_rate,
                                   .lay = lay_tree,
                                   .note_sites = tree_note_sites,
                                   .connections = tree_connections,
                                   .edges = EDGES_ARE_RINGS,
                                   .channels = timed_channels,
                                   .carried = carried,
                                   .rate_cap = rate_cap,
                                   .latency = latency,
                                   .fill = fill,
                                   .bound = bound,
                                   .stepped = stepped,
                                   .hops = timed_link_hops,
                                   .chunk = timed_double_tree_chunk,
                                   .build = step_build_pipeline };
