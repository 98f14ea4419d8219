#include "collective/time-private.h"

#include "collective/steps.h"

#include <math.h>

#define LL_WIRE    2.0 /* 4 bytes of flag beside 4 of data */
#define LL128_WIRE (1 / 0.92)

/*
 * Bytes that a channel passes along a chain at once: what its threads read before they write, 512
 * threads of 8 bytes (LL) or 64 (Simple), 640 of 60 (LL128).
 */
static const double chain_chunk[PROTOCOL_N] = { 512 * 8, 640 * 60, 512 * 64 };

#define PAT_RANK    2.8e-6
#define MAX_P2P     32
#define PORT_DIRECT 0.4e-6 /* a further peer of CollNet direct */

/* The operation that is timed. */
typedef struct
{
  const CollectiveGraph  *graph;
  CollectiveKind          kind;
  CollectiveAlgorithm     algorithm;
  CollectiveProtocol      protocol;
  double                  bytes;
  const CollectiveLayout *layout;
} Timed;

static double
figure_or (const Figure *figure, double stock)
{
  return figure->value > 0 ? figure->value : stock;
}

static double
wire_scale (CollectiveProtocol protocol)
{
  return protocol == PROTOCOL_LL ? LL_WIRE : protocol == PROTOCOL_LL128 ? LL128_WIRE : 1;
}

/* ---- hops --------------------------------------------------------------------------------------- */

static double
link_hop (const LinkProfile *link, CollectiveProtocol protocol, double stock)
{
  switch (protocol)
    {
    case PROTOCOL_LL:
      return figure_or (&link->hop_ll, stock) + link->latency.value;
    case PROTOCOL_LL128:
      return figure_or (&link->hop_ll128, stock) + link->latency.value;
    default: /* the network is read back once more to flush */
      return figure_or (&link->hop_simple, stock)
             + (link->kind == LINK_NETWORK ? 2 : 1) * link->latency.value;
    }
}

static double
hop_intra (const Timed *self)
{
  return link_hop (self->graph->intra, self->protocol,
                   self->graph->tables->hop[self->graph->hop][ALGORITHM_RING][self->protocol]);
}

/* With one rank a node nothing hides the network's latency: NCCL's tree row has it in full. */
static double
hop_net (const Timed *self)
{
  CollectiveAlgorithm row = self->graph->per_node == 1 ? ALGORITHM_TREE : ALGORITHM_RING;

  if (self->graph->nic == NULL)
    return 0;
  return link_hop (self->graph->nic, self->protocol,
                   self->graph->tables->hop[HOP_NET][row][self->protocol]);
}

/*
 * What rings and trees between nodes take before their first chunk has arrived, beyond hops: once, whatever
 * their length. 2 to 16 nodes of 8 GPUs show 170 to 200 us under Simple alike.
 */
static double
net_start (const Timed *self)
{
  if (self->graph->nic == NULL)
    return 0;
  switch (self->protocol)
    {
    case PROTOCOL_LL128:
      return self->graph->nic->start_ll128.value;
    case PROTOCOL_SIMPLE:
      return self->graph->nic->start_simple.value;
    default:
      return 0;
    }
}

static double
nvls_latency (const Timed *self, const LinkProfile *link, HopClass class_)
{
  return figure_or (&link->nvls_latency,
                    self->graph->tables->hop[class_][ALGORITHM_NVLS_TREE][PROTOCOL_SIMPLE]);
}

/* ---- latency without fill ----------------------------------------------------------------------- */

static gboolean
is_chain (const Timed *self)
{
  return self->kind == COLLECTIVE_BROADCAST || self->kind == COLLECTIVE_REDUCE;
}

/* What the edges of a ring take for a byte of S, and the slowest of them; s. */
typedef struct
{
  double intra, net, slowest;
} RingPace;

/* CAP: B/s of S that the channels let through; 0: no limit. */
static RingPace
ring_pace (const Timed *self, double cap)
{
  const CollectiveLayout *layout = self->layout;
  double                  scale = wire_scale (self->protocol), channel = cap > 0 ? 1 / cap : 0;

  return (RingPace){ MAX (layout->ring.intra * scale, channel),
                     MAX (layout->ring.net * scale, channel),
                     MAX (layout->link_seconds_per_byte * scale, channel) };
}

/* The same with every link to itself. */
static RingPace
ring_pace_alone (const Timed *self, double cap)
{
  const CollectiveLayout *layout = self->layout;
  double                  scale = wire_scale (self->protocol), channel = cap > 0 ? 1 / cap : 0;
  RingPace                pace = { MAX (layout->ring.intra_alone * scale, channel),
                                   MAX (layout->ring.net_alone * scale, channel), 0 };

  pace.slowest = self->graph->per_node == 1  ? pace.net
                 : self->graph->n_nodes == 1 ? pace.intra
                                             : MAX (pace.intra, pace.net);
  return pace;
}

/* Whether the slowest edges are those between nodes. */
static gboolean
is_slowest_net (const Timed *self, const RingPace *pace)
{
  const CollectiveGraph *graph = self->graph;

  return graph->n_nodes > 1 && (graph->per_node == 1 || pace->net >= pace->intra);
}

/* The run of edges whose hops show: one that is hidden as far as its edge has time to spare (steps.h). */
static StepRun
shown_run (const Timed *self, const RingPace *pace, double *shown)
{
  const CollectiveGraph *graph = self->graph;
  guint                  steps = collective_ring_steps (self->kind, graph->n_ranks);
  double                 each = self->bytes / steps;
  double                 intra = hop_intra (self) - each * (pace->slowest - pace->intra);
  double                 net = hop_net (self) - each * (pace->slowest - pace->net);
  StepRun                run = step_ring_run (graph->n_nodes, graph->per_node, steps, intra, net);
  double                 last = is_slowest_net (self, pace) ? hop_net (self) : hop_intra (self);

  *shown = run.intra * intra + run.net * net;
  if (*shown > last)
    return run;
  *shown = last; /* the slowest edge's own, at the end */
  return (StepRun){ 0, 0 };
}

/* S's bytes with every link to itself, and the hops that show then. */
static double
alone_seconds (const Timed *self, double cap)
{
  RingPace pace = ring_pace_alone (self, cap);
  double   shown;

  shown_run (self, &pace, &shown);
  return self->bytes * pace.slowest + shown;
}

/*
 * What hops add. Rings in step with each other meet on every link that they share, and PACE holds.
 * Where they share unevenly they fall out of step and meet now and then: halfway between PACE and
 * links to themselves.
 */
static double
closed_ring_hops (const Timed *self, const RingPace *pace, double cap)
{
  double shown, last = is_slowest_net (self, pace) ? hop_net (self) : hop_intra (self);

  shown_run (self, pace, &shown);
  if (!self->layout->ring.uneven)
    return shown;
  return (shown + MAX (alone_seconds (self, cap) - self->bytes * pace->slowest, last)) / 2;
}

/*
 * How much longer than its slowest resource takes a closed ring is spread out, s. The longest path
 * through its steps uses the slowest edges in some of them only, so when another operation takes half
 * of those, it grows by these steps' time and not by all transfers. Flowing for STEPS + (steps on the
 * other edges) times an item, instead of waiting first and flowing then, gives just that.
 */
static double
ring_spread (const Timed *self, const RingPace *pace, double cap)
{
  const CollectiveGraph *graph = self->graph;
  double                 item =
      self->bytes * pace->slowest / MAX (collective_ring_steps (self->kind, graph->n_ranks), 1);
  gboolean by_net = is_slowest_net (self, pace);
  double   shown;
  StepRun  run;

  if (graph->n_nodes == 1 || graph->per_node == 1 || is_chain (self))
    return 0;
  run = shown_run (self, pace, &shown);
  return MIN ((by_net ? run.intra : run.net) * item,
              closed_ring_hops (self, pace, cap) - (by_net ? hop_net (self) : hop_intra (self)));
}

/* Bytes of S that pass along a chain, or a tree, at once. */
static double
pipeline_chunk (const Timed *self, guint channels)
{
  return MIN (self->bytes, channels * chain_chunk[self->protocol]);
}

/* The first chunk takes every hop and every edge one after another; the others follow the slowest. */
static double
chain_hops (const Timed *self, const RingPace *pace, guint net, guint channels)
{
  guint  intra = self->graph->n_ranks - 1 - net;
  double items = MAX (ceil (self->bytes / MAX (pipeline_chunk (self, channels), 1)), 1);

  return intra * hop_intra (self) + net * hop_net (self)
         + self->bytes / items * (intra * pace->intra + net * pace->net - pace->slowest);
}

static double
ring_hops (const Timed *self, const RingPace *pace, guint channels, double cap)
{
  return is_chain (self) ? MAX (chain_hops (self, pace, self->layout->ring.n_net, channels), 0)
                         : closed_ring_hops (self, pace, cap);
}

/* Inside, across and inside again (all-gather and reduce-scatter: inside once). */
static double
hierarchical_latency (const Timed *self)
{
  CollectiveGraph inside = *self->graph, across = *self->graph;
  Timed           in = *self, out = *self;
  double          base = self->graph->tables->base[ALGORITHM_RING][self->protocol];
  gboolean        reduce = self->kind == COLLECTIVE_ALL_REDUCE;

  inside.n_ranks = inside.per_node;
  inside.n_nodes = 1;
  across.n_ranks = across.n_nodes;
  across.per_node = 1;
  in.graph = &inside;
  out.graph = &across;
  return (reduce ? 2 : 1) * (base + (inside.n_ranks - 1) * hop_intra (&in)) + base
         + collective_ring_steps (self->kind, across.n_ranks) * hop_net (&out);
}

/*
 * Between nodes, of a pair. Under Simple what is calibrated on rings holds more than a hop (the chunk
 * that a card waits for in each step), so the library's own figure stands here.
 */
static double
pair_hop (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;

  if (self->protocol == PROTOCOL_LL)
    return hop_net (self);
  return graph->tables->hop[HOP_NET][ALGORITHM_RING][PROTOCOL_SIMPLE] + 2 * graph->nic->latency.value;
}

static double
pairwise_latency (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  guint                  peers = self->kind == COLLECTIVE_ALL_TO_ALL ? graph->n_ranks - 1 : 1;
  guint  batches = (peers + graph->tables->p2p_batch - 1) / graph->tables->p2p_batch;
  double hop = graph->n_nodes > 1 ? pair_hop (self) : hop_intra (self);

  return graph->tables->base[ALGORITHM_PAIRWISE][self->protocol] + (batches - 1) * hop
         + (graph->n_nodes > 1 ? hop : 0);
}

/* ---- steps of PAT ------------------------------------------------------------------------------- */

static double
pat_hop (const Timed *self)
{
  return log2 (self->graph->n_nodes) * hop_net (self) / 3.5 / MAX (self->layout->steps.n, 1);
}

/* One step after another, SECONDS each per byte of S, or what the channels let through. */
static double
sum_steps (const Timed *self, const double *seconds, double cap)
{
  const StepHops *steps = &self->layout->steps;
  double          sum = 0;

  for (guint i = 0; i < steps->n; i++)
    sum += MAX (seconds[i] * wire_scale (self->protocol), cap > 0 ? steps->share[i] / cap : 0);
  return self->bytes * sum;
}

/*
 * The steps do not all wait for the same link (far ones cross the leaves, near ones the cards): what
 * they take one by one beyond the link that is busy longest.
 */
static double
pat_unlike (const Timed *self, double cap)
{
  double links = self->layout->link_seconds_per_byte * wire_scale (self->protocol);

  return MAX (sum_steps (self, self->layout->steps.seconds, cap)
                  - self->bytes * MAX (links, cap > 0 ? 1 / cap : 0),
              0);
}

static double
algorithm_latency (const Timed *self, guint channels, double cap)
{
  const CollectiveGraph *graph = self->graph;
  double                 base = graph->tables->base[self->algorithm][self->protocol];
  double                 levels = log2 (graph->n_nodes), peers = graph->per_node - 1.0;
  RingPace               pace;

  switch (self->algorithm)
    {
    case ALGORITHM_TREE:
      return base + net_start (self) + 2 * (peers * hop_intra (self) + levels * hop_net (self));
    case ALGORITHM_NVLS:
      return base + nvls_latency (self, graph->intra, HOP_NVLINK);
    case ALGORITHM_NVLS_TREE:
      return base + nvls_latency (self, graph->intra, HOP_NVLINK)
             + 2 * levels * nvls_latency (self, graph->nic, HOP_NET);
    case ALGORITHM_PAT:
      return base + levels * hop_net (self) / 3.5 + PAT_RANK * graph->n_ranks + pat_unlike (self, cap);
    case ALGORITHM_COLLNET_DIRECT:
      return base
             + 2
                   * (MIN (peers, 1) * graph->tables->hop[graph->hop][self->algorithm][self->protocol]
                      + peers * PORT_DIRECT)
             + graph->tables->hop[HOP_NET][self->algorithm][self->protocol];
    case ALGORITHM_COLLNET_CHAIN:
      return base + 2 * peers * graph->tables->hop[graph->hop][self->algorithm][self->protocol]
             + graph->tables->hop[HOP_NET][self->algorithm][self->protocol];
    case ALGORITHM_ALL_PAIRS:
      return base + 2 * hop_intra (self);
    case ALGORITHM_PAIRWISE:
      return pairwise_latency (self);
    case ALGORITHM_HIERARCHICAL:
      return hierarchical_latency (self);
    default:
      pace = ring_pace (self, cap);
      return base + net_start (self) + ring_hops (self, &pace, channels, cap);
    }
}

/* ---- channels ----------------------------------------------------------------------------------- */

/* Channels of a pair that exchanges BYTES: few while that gives each little, all for large messages. */
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

static guint
count_channels (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  double                 floor_bytes = graph->tables->thread_bytes[self->protocol];
  guint                  most = graph->channels;

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
  double                simple = figure_or (&intra->channel_rate, generation->channel_rate);

  if (self->algorithm == ALGORITHM_PAIRWISE)
    return figure_or (&intra->p2p_rate, simple);
  switch (self->protocol)
    {
    case PROTOCOL_LL:
      return figure_or (&intra->ll_rate, generation->ll / generation->node_channels);
    case PROTOCOL_LL128:
      return figure_or (&intra->ll128_rate, generation->ring_ll128[0] / 2);
    default:
      return simple;
    }
}

/* Bytes that all channels of a rank carry, per byte of S. 0: not by channels. */
static double
carried (const Timed *self)
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
 * How much longer the copies take where parts of S begin between multiples of 16 bytes: kernels then
 * move elements, not packs. LL moves 8 bytes at a time anyway.
 */
static double
unaligned (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  gboolean parts = self->kind == COLLECTIVE_ALL_GATHER || self->kind == COLLECTIVE_REDUCE_SCATTER
                   || self->kind == COLLECTIVE_ALL_TO_ALL;

  if (!parts || self->protocol == PROTOCOL_LL || fmod (self->bytes / graph->n_ranks, 16) == 0)
    return 1;
  return MAX (graph->per_node > 1 ? figure_or (&graph->intra->unaligned_slowdown, 1) : 1,
              graph->nic != NULL ? figure_or (&graph->nic->unaligned_slowdown, 1) : 1);
}

/* CAP, or what the slower copies of unaligned parts let through of the stand-alone rate. */
static double
unaligned_cap (const Timed *self, double cap)
{
  double slowdown = unaligned (self);
  double links = 1 / (self->layout->link_seconds_per_byte * wire_scale (self->protocol));

  if (slowdown == 1)
    return cap;
  return (cap > 0 ? MIN (cap, links) : links) / slowdown;
}

/* B/s of S that the channels, and under LL the proxies of the host, let through; 0: no limit. */
static double
rate_cap (const Timed *self, guint channels)
{
  const CollectiveGraph *graph = self->graph;
  double                 bytes = carried (self), rate = channel_rate (self), cap;

  if (graph->staged)
    rate = MIN (rate > 0 ? rate : G_MAXDOUBLE,
                figure_or (&graph->nic->sockets, 1)
                    * figure_or (&graph->nic->staged_rate, graph->tables->staged_channel));
  cap = channels * rate;
  if (bytes == 0)
    return 0;
  if (self->protocol == PROTOCOL_LL && graph->nic != NULL && self->algorithm != ALGORITHM_PAIRWISE)
    {
      double net = figure_or (&graph->nic->ll_rate,
                              graph->tables->ll_net[MIN (graph->n_nodes, NODE_CASES) - 1]);

      cap = cap > 0 ? MIN (cap, net) : net;
    }
  return cap / bytes;
}

/* ---- fill --------------------------------------------------------------------------------------- */

/*
 * While the first chunks are on their way only one of the stages works at a time: what is in flight
 * then takes the sum of the stages' times, of which the slowest is in the bandwidth term already.
 */
static double
nvls_fill (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  guint                  p = graph->per_node;
  gboolean               one = graph->n_nodes == 1;
  guint  channels = one ? graph->generation->nvls_channels : graph->generation->nvls_channels_net;
  double chunk = graph->n_nodes >= 4 ? graph->tables->chunk_nvls_wide : graph->tables->chunk_nvls;
  double in_flight = MIN (self->bytes, (double) channels * p * chunk);
  double port =
      self->layout->intra_seconds_per_byte * p / (p + 1.0); /* all of S one way, S/p the other */
  double net = one ? 0 : self->layout->net_seconds_per_byte;

  return in_flight * (2 * port + net - MAX (port, net));
}

/* A pair's chunk is copied into a buffer and out of it again. */
static double
pairwise_fill (const Timed *self, guint channels)
{
  double part = self->bytes * carried (self) / channels;
  double chunk = self->graph->nic != NULL || self->graph->hop != HOP_NVLINK
                     ? self->graph->tables->chunk_p2p_net
                     : self->graph->tables->chunk_p2p;

  return MIN (part, chunk) / MAX (part, 1) * self->bytes * self->layout->link_seconds_per_byte;
}

static double
fill (const Timed *self, guint channels)
{
  const CollectiveLayout *layout = self->layout;

  switch (self->algorithm)
    {
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
      return self->kind == COLLECTIVE_ALL_REDUCE ? nvls_fill (self) : 0;
    case ALGORITHM_PAIRWISE:
      return pairwise_fill (self, channels);
    case ALGORITHM_TREE:
      if (self->protocol != PROTOCOL_SIMPLE)
        return 0;
      return MIN (self->bytes, channels * self->graph->tables->chunk_tree)
             * MIN (layout->intra_seconds_per_byte, layout->net_seconds_per_byte);
    default:
      return 0;
    }
}

/* ---- all together ------------------------------------------------------------------------------- */

/* Issue of one process that drives every GPU of a node: a floor of the whole, because launches of one operation and the next overlap. */
static double
process_floor (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  guint                  peers = self->algorithm == ALGORITHM_PAIRWISE
                                     ? (self->kind == COLLECTIVE_ALL_TO_ALL ? graph->n_ranks - 1 : 1)
                                     : 0;

  return graph->per_node * (graph->tables->process_launch + peers * graph->tables->process_peer);
}

static void
spread_ring (const Timed *self, CollectiveCost *cost)
{
  RingPace pace = ring_pace (self, cost->rate_cap);
  double   spread = ring_spread (self, &pace, cost->rate_cap);

  if (spread <= 0)
    return;
  cost->latency -= spread;
  cost->rate_cap = self->bytes / (self->bytes * pace.slowest + spread);
}

void
collective_time (const CollectiveGraph *graph, CollectiveKind kind, CollectiveChoice choice,
                 double bytes, const CollectiveOptions *options, const CollectiveLayout *layout,
                 CollectiveCost *cost)
{
  Timed  self = { graph, kind, choice.algorithm, choice.protocol, bytes, layout };
  double links, capped;

  cost->algorithm = choice.algorithm;
  cost->protocol = choice.protocol;
  cost->channels = count_channels (&self);
  cost->weight = MAX (cost->channels, choice.algorithm == ALGORITHM_RING ? layout->ring.n_rings : 1);
  cost->service_scale = wire_scale (choice.protocol);
  cost->rate_cap = unaligned_cap (&self, rate_cap (&self, cost->channels));
  cost->latency = graph->gpu->kernel_latency.value + graph->intra->launch.value
                  + algorithm_latency (&self, cost->channels, cost->rate_cap)
                  + fill (&self, cost->channels);
  if (options->single_process)
    cost->latency += cost->channels * graph->tables->process_channel;
  links = bytes * layout->link_seconds_per_byte * cost->service_scale;
  capped = cost->rate_cap > 0 ? bytes / cost->rate_cap : 0;
  if (options->single_process)
    cost->latency = MAX (cost->latency, process_floor (&self) - MAX (links, capped));
  cost->time = cost->latency + MAX (links, capped);
  cost->binding = links >= capped && links > cost->latency ? layout->binding : G_MAXUINT32;
  if (cost->algorithm == ALGORITHM_RING)
    spread_ring (&self, cost);
}

/* ---- steps -------------------------------------------------------------------------------------- */

/* The part of the latency that the steps of the algorithm spend one by one; nothing where it is one step (step-build.c). */
static double
stepped_latency (const Timed *self, guint channels, double cap)
{
  const CollectiveGraph *graph = self->graph;
  RingPace               pace = ring_pace (self, cap);

  switch (self->algorithm)
    {
    case ALGORITHM_RING:
      return ring_hops (self, &pace, channels, cap) - ring_spread (self, &pace, cap);
    case ALGORITHM_PAIRWISE:
      return graph->n_nodes > 1 ? pair_hop (self) : 0;
    case ALGORITHM_PAT:
      return self->layout->steps.n * pat_hop (self) + pat_unlike (self, cap);
    default:
      return 0;
    }
}

void
collective_time_steps (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                       const CollectiveLayout *layout, const CollectiveCost *cost,
                       StepParameters *parameters)
{
  Timed  self = { graph, kind, cost->algorithm, cost->protocol, bytes, layout };
  double cap = unaligned_cap (&self, rate_cap (&self, cost->channels));

  *parameters = (StepParameters){
    .launch = MAX (cost->latency - stepped_latency (&self, cost->channels, cap), 0),
    .hop_intra = cost->algorithm == ALGORITHM_PAIRWISE ? 0 : hop_intra (&self),
    .hop_net = cost->algorithm == ALGORITHM_PAIRWISE && graph->n_nodes > 1 ? pair_hop (&self)
               : cost->algorithm == ALGORITHM_PAT                          ? pat_hop (&self)
                                                                           : hop_net (&self),
    .rate_cap = cap,
    .chunk = cost->channels * chain_chunk[cost->protocol],
  };
}

/* ---- bound --------------------------------------------------------------------------------------- */

/*
 * Whatever else runs, the slowest resource is busy for its time and then a hop follows; and the
 * longest path through the steps takes what it takes with every link to itself.
 */
static double
ring_bound (const Timed *self, guint channels, double cap)
{
  const CollectiveGraph *graph = self->graph;
  RingPace               shared = ring_pace (self, cap), alone = ring_pace_alone (self, cap);
  double                 hop = graph->n_nodes == 1    ? hop_intra (self)
                               : graph->per_node == 1 ? hop_net (self)
                                                      : MIN (hop_intra (self), hop_net (self));

  return MAX (self->bytes * shared.slowest + hop,
              is_chain (self)
                  ? self->bytes * alone.slowest
                        + MAX (chain_hops (self, &alone, self->layout->ring.n_net_least, channels), 0)
                  : alone_seconds (self, cap));
}

static double
pat_bound (const Timed *self, double cap)
{
  return MAX (
      self->bytes * self->layout->link_seconds_per_byte * wire_scale (self->protocol) + pat_hop (self),
      sum_steps (self, self->layout->steps.alone, cap) + self->layout->steps.n * pat_hop (self));
}

double
collective_time_bound (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                       const CollectiveLayout *layout, const CollectiveCost *cost)
{
  Timed  self = { graph, kind, cost->algorithm, cost->protocol, bytes, layout };
  double cap = unaligned_cap (&self, rate_cap (&self, cost->channels));

  if (cost->algorithm != ALGORITHM_RING && cost->algorithm != ALGORITHM_PAT)
    return cost->time;
  return MAX (cost->latency - stepped_latency (&self, cost->channels, cap), 0)
         + (cost->algorithm == ALGORITHM_PAT ? pat_bound (&self, cap)
                                             : ring_bound (&self, cost->channels, cap));
}
