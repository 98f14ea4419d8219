/* The double binary tree over nodes, chains inside them. */
#include "cost/collective/algorithm/algorithm-private.h"
#include <math.h>

#include "cost/collective/layout/trees-private.h"
#include "hardware/sites/sites.h"

#define SLOTS      8  /* of a connection's buffer: NCCL_STEPS */
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

/* Of one channel, as NVIDIA/nccl's src/enqueue.cc halves a slot. */
static double
channel_chunk (const CollectiveGraph *graph, double share)
{
  const GArray *halvings = graph->library->tree_halvings;
  double        chunk = graph->buffer / SLOTS;

  for (guint i = 0; halvings != NULL && i < halvings->len; i++)
    {
      const TreeHalving *one = &g_array_index (halvings, TreeHalving, i);
      const double       enough =
          (graph->per_node - 1.0 + (g_bit_storage (graph->n_nodes) - 1)) * (double) one->chunks;

      while (floor (share / chunk) < enough && chunk > one->least)
        chunk /= 2;
    }
  return chunk;
}

static double
chunk (const Timed *self, guint channels)
{
  double most;

  if (self->protocol != PROTOCOL_SIMPLE)
    return timed_tree_chunk (self, channels);
  most = channels * channel_chunk (self->graph, self->bytes / channels);
  return self->bytes / MAX (ceil (self->bytes / most), 1);
}

static double
pipeline_fill (const Timed *self, guint channels, double cap)
{
  Stages stages = timed_tree_stages (self);

  stages.intra = 2 * (self->graph->per_node - 1);
  return timed_pipeline_fill (self, stages, chunk (self, channels), cap);
}

/*
 * Bytes of S that the proxies send at once under LL and LL128, a slot of each channel's buffer: 8
 * lines of 16 bytes, half of them data, for each of 512 threads; 120 times 8 bytes, 15 of 16 data,
 * for each of 640, in trees halved while a channel has few of them for the levels to work on
 * (NVIDIA/nccl, src/include/device.h; src/enqueue.cc, calcCollChunking).
 */
static double
line_message (const Timed *self, guint channels)
{
  const CollectiveGraph *graph = self->graph;
  const double           each = self->bytes / channels;
  const double           per_node = (double) graph->n_ranks / graph->n_nodes;
  const double           steps = 1 + (g_bit_storage (graph->n_nodes) - 1) + 0.1 * per_node;
  double                 message = 512 * 8 * 16 / 2.0;

  if (self->protocol == PROTOCOL_LL128)
    {
      message = 640 * 120 * 8 * 15 / 16.;
      while (floor (each / message) < steps * 64 / per_node && message > (128 << 10))
        message /= 2;
      while (floor (each / message) < steps * 16 / per_node && message > (32 << 10))
        message /= 2;
    }
  return channels * MIN (message, each);
}

/*
 * Inside nodes lines are passed on one by one. Between them a proxy sends nothing of a message
 * before it is whole: under LL it reads every line's flag, under LL128 it waits for the kernel's
 * post (NVIDIA/nccl, src/transport/net.cc, sendProxyProgress). So the first message takes an edge's
 * time on every stage, where the slowest link's time has only that link's edges.
 */
static double
line_fill (const Timed *self, Stages stages, guint channels)
{
  const RingPace alone = timed_ring_pace_alone (self, 0);
  const RingPace all = timed_ring_pace (self, 0);

  return line_message (self, channels)
         * MAX (stages.net * alone.net + stages.pairs * timed_pair_pace (self, 0) - all.slowest, 0);
}

static double
fill (const Timed *self, guint channels, double cap)
{
  if (self->protocol == PROTOCOL_SIMPLE)
    return pipeline_fill (self, channels, cap);
  return line_fill (self, timed_tree_stages (self), channels);
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

/* ---- links ----------------------------------------------------------------------------------- */

static void
route (const RoutingContext *context, const Members *members, CollectiveKind kind,
       const guint32 *ranks)
{
  (void) ranks;
  tree_add_traffic (context, members, 1);
  route_memory (context->sum, members, kind, members->n_gpus, 1);
}

/* ---- between sites --------------------------------------------------------------------------- */

/* Ways between sites, s: by slot, of one tree. */
typedef struct
{
  double *to_root, *from_root;
  double *above, *below; /* the longest that comes up to it, and that goes down from it */
} TreeWays;

static double
way_between (const Cluster *cluster, const Members *members, guint from, guint to)
{
  WanLink link;

  return cluster_wan_between (cluster, members->nodes[from].node, members->nodes[to].node, &link)
             ? link.rtt / 2
             : 0;
}

/* SLOT is below all that it passes on its way up. */
static void
walk_up (TreeWays *self, const Cluster *cluster, const Members *members, guint tree, guint slot)
{
  double up = 0, down = 0;

  for (guint at = slot, over; (over = tree_parent (tree, at, members->n_nodes)) != members->n_nodes;
       at = over)
    {
      up += way_between (cluster, members, at, over);
      down += way_between (cluster, members, over, at);
      self->above[over] = MAX (self->above[over], up);
      self->below[over] = MAX (self->below[over], down);
    }
  self->to_root[slot] = up;
  self->from_root[slot] = down;
}

/* An edge from node FROM to node TO. */
static void
note_flow (CollectiveLayout *plan, const Cluster *cluster, guint from, guint to, double before,
           double after)
{
  WanLink  link;
  TreeFlow flow = { .before = before, .after = after };

  if (!cluster_wan_between (cluster, from, to, &link))
    return;
  flow.link = link.resource;
  g_array_append_val (plan->tree_flows, flow);
}

static gint
compare_flows (gconstpointer a, gconstpointer b)
{
  const TreeFlow *x = a, *y = b;

  if (x->before != y->before)
    return x->before < y->before ? -1 : 1;
  return x->after < y->after ? -1 : x->after > y->after;
}

static void
note_tree (CollectiveLayout *plan, const Cluster *cluster, const Members *members, guint tree)
{
  const guint        n = members->n_nodes;
  g_autofree double *ways = g_new0 (double, (gsize) 4 * n);
  TreeWays           self = { ways, ways + n, ways + (gsize) 2 * n, ways + (gsize) 3 * n };
  guint              root = 0;

  for (guint slot = 0; slot < n; slot++)
    {
      walk_up (&self, cluster, members, tree, slot);
      root = tree_parent (tree, slot, n) == n ? slot : root;
    }
  plan->wan.path = MAX (plan->wan.path, self.above[root] + self.below[root]);
  for (guint slot = 0; slot < n; slot++)
    {
      const guint over = tree_parent (tree, slot, n);

      if (over == n)
        continue;
      note_flow (plan, cluster, members->nodes[slot].node, members->nodes[over].node,
                 self.above[slot], self.to_root[slot] + self.below[root]);
      note_flow (plan, cluster, members->nodes[over].node, members->nodes[slot].node,
                 self.above[root] + self.from_root[over],
                 self.from_root[slot] - self.from_root[over] + self.below[slot]);
    }
}

static void
note_sites (CollectiveLayout *plan, const Cluster *cluster, const Members *members)
{
  plan->tree_flows = g_array_new (FALSE, FALSE, sizeof (TreeFlow));
  for (guint tree = 0; tree < 2; tree++)
    note_tree (plan, cluster, members, tree);
  g_array_sort (plan->tree_flows, compare_flows);
}

const Algorithm algorithm_tree = { .id = ALGORITHM_TREE,
                                   .kinds = KIND_BIT (COLLECTIVE_ALL_REDUCE),
                                   .protocols = PROTOCOL_BIT (PROTOCOL_LL)
                                                | PROTOCOL_BIT (PROTOCOL_LL128)
                                                | PROTOCOL_BIT (PROTOCOL_SIMPLE),
                                   .exists = exists,
                                   .believed_latency = believed_latency,
                                   .believed_rate = believed_rate,
                                   .route = route,
                                   .note_sites = note_sites,
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
                                   .chunk = chunk,
                                   .build = step_build_pipeline };
