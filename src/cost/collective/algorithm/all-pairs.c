/* All-reduce as two hops of every pair of a mesh: everyone sends to everyone, twice. */
#include "cost/collective/algorithm/algorithm-private.h"

#include "cost/collective/layout/pairs-private.h"

static gboolean
exists (const CollectiveGraph *graph, gboolean even)
{
  (void) even;
  return graph->generation->all_pairs > 0 && graph->n_nodes == 1 && graph->intra->kind == LINK_MESH
         && graph->n_ranks > 2;
}

static double
most (const CollectiveGraph *graph)
{
  return graph->generation->all_pairs;
}

static double
two_hops (const Timed *self, guint channels, double cap)
{
  (void) channels, (void) cap;
  return 2 * self->hop_intra;
}

static double
latency (const Timed *self, guint channels, double cap)
{
  return timed_base (self) + two_hops (self, channels, cap);
}

static void
route (const RoutingContext *context, const Members *members, CollectiveKind kind,
       const guint32 *ranks)
{
  (void) ranks;
  route_begin_section (context, 1);
  pairs_add_inside (context, members, 1.0 / members->n_gpus);
  route_begin_section (context, 2);
  pairs_add_inside (context, members, 1.0 / members->n_gpus);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}

/* Both phases of all pairs: whole parts, one after the other. */
static void
build (StepBuild *self)
{
  const GArray *edges = self->source->edges->edges;

  for (guint i = 0; i < edges->len; i++)
    step_build_edge (self, &g_array_index (edges, RoutedEdge, i), 1, 0.5);
  step_build_join_waits (self, 0);
}

const Algorithm algorithm_all_pairs = { .id = ALGORITHM_ALL_PAIRS,
                                        .kinds = KIND_BIT (COLLECTIVE_ALL_REDUCE),
                                        .protocols = PROTOCOL_BIT (PROTOCOL_LL),
                                        .exists = exists,
                                        .most = most,
                                        .route = route,
                                        .edges = EDGES_ARE_SUMS,
                                        .channels = timed_channels,
                                        .carried = timed_passed_on,
                                        .rate_cap = timed_channel_cap,
                                        .latency = latency,
                                        .stepped = two_hops,
                                        .hops = timed_link_hops,
                                        .chunk = timed_tree_chunk,
                                        .build = build };
