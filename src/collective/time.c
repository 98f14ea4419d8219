#include "collective/time-parts-private.h"

#include <math.h>

#define PAT_RANK    2.8e-6
#define PORT_DIRECT 0.4e-6 /* a further peer of CollNet direct */

/* Inside, across and inside again (all-gather and reduce-scatter: inside once). */
static double
hierarchical_hops (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  guint                  inside = self->kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;

  return inside * (graph->per_node - 1) * timed_hop_intra (self)
         + collective_ring_steps (self->kind, graph->n_nodes) * timed_hierarchical_hop_net (self);
}

static double
hierarchical_base (const Timed *self)
{
  double base = self->graph->tables->base[ALGORITHM_RING][self->protocol];

  return (self->kind == COLLECTIVE_ALL_REDUCE ? 3 : 2) * base;
}

static double
pairwise_latency (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;
  guint                  peers = self->kind == COLLECTIVE_ALL_TO_ALL ? graph->n_ranks - 1 : 1;
  guint  batches = (peers + graph->tables->p2p_batch - 1) / graph->tables->p2p_batch;
  double hop = graph->n_nodes > 1 ? timed_pair_hop (self) : timed_hop_intra (self);

  return graph->tables->base[ALGORITHM_PAIRWISE][self->protocol] + (batches - 1) * hop
         + (graph->n_nodes > 1 ? hop : 0);
}

static double
algorithm_latency (const Timed *self, guint channels, double cap)
{
  const CollectiveGraph *graph = self->graph;
  double                 base = graph->tables->base[self->algorithm][self->protocol];
  double                 levels = log2 (graph->n_nodes), peers = graph->per_node - 1.0;
  RingPace               pace;

  if (graph->hosts)
    return timed_message_latency (self, cap);
  switch (self->algorithm)
    {
    case ALGORITHM_TREE:
      return base + timed_net_start (self) + timed_tree_hops (self);
    case ALGORITHM_NVLS:
      return base + timed_nvls_latency (self, graph->intra, HOP_NVLINK);
    case ALGORITHM_NVLS_TREE:
      return base + timed_nvls_latency (self, graph->intra, HOP_NVLINK)
             + 2 * levels * timed_nvls_latency (self, graph->nic, HOP_NET);
    case ALGORITHM_PAT:
      return base + levels * timed_hop_net (self) / 3.5 + PAT_RANK * graph->n_ranks
             + timed_steps_unlike (self, cap);
    case ALGORITHM_COLLNET_DIRECT:
      return base
             + 2
                   * (MIN (peers, 1)
                          * graph->tables->hop[graph->hop][self->algorithm][self->protocol]
                      + peers * PORT_DIRECT)
             + graph->tables->hop[HOP_NET][self->algorithm][self->protocol];
    case ALGORITHM_COLLNET_CHAIN:
      return base + 2 * peers * graph->tables->hop[graph->hop][self->algorithm][self->protocol]
             + graph->tables->hop[HOP_NET][self->algorithm][self->protocol];
    case ALGORITHM_ALL_PAIRS:
      return base + 2 * timed_hop_intra (self);
    case ALGORITHM_PAIRWISE:
      return pairwise_latency (self);
    case ALGORITHM_HIERARCHICAL:
      return hierarchical_base (self) + hierarchical_hops (self) + timed_steps_unlike (self, cap);
    default:
      pace = timed_ring_pace (self, cap);
      return base + timed_net_start (self) + timed_ring_hops (self, &pace, channels, cap);
    }
}

/*
 * Issue of one process that drives every GPU of a node: a floor of the whole, because launches of
 * one operation and the next overlap.
 */
static double
process_floor (const Timed *self)
{
  const CollectiveGraph *graph = self->graph;

  guint peers = self->algorithm == ALGORITHM_PAIRWISE
                    ? (self->kind == COLLECTIVE_ALL_TO_ALL ? graph->n_ranks - 1 : 1)
                    : 0;

  return graph->per_node * (graph->tables->process_launch + peers * graph->tables->process_peer);
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
  cost->channels = timed_count_channels (&self);
  cost->weight =
      MAX (cost->channels, choice.algorithm == ALGORITHM_RING ? layout->ring.n_rings : 1);
  cost->service_scale = timed_wire_scale (choice.protocol);
  cost->rate_cap = timed_unaligned_cap (&self, timed_rate_cap (&self, cost->channels));
  cost->latency = graph->gpu->kernel_latency.value + graph->intra->launch.value
                  + algorithm_latency (&self, cost->channels, cost->rate_cap)
                  + (graph->hosts ? 0 : timed_fill (&self, cost->channels, cost->rate_cap));
  if (options->single_process)
    cost->latency += cost->channels * graph->tables->process_channel;
  links = bytes * layout->link_seconds_per_byte * cost->service_scale;
  capped = cost->rate_cap > 0 ? bytes / cost->rate_cap : 0;
  if (options->single_process)
    cost->latency = MAX (cost->latency, process_floor (&self) - MAX (links, capped));
  cost->time = cost->latency + MAX (links, capped);
  cost->binding = links >= capped && links > cost->latency ? layout->binding : G_MAXUINT32;
  if (cost->algorithm == ALGORITHM_RING)
    timed_spread_ring (&self, cost);
}

/*
 * The part of the latency that the steps of the algorithm spend one by one; nothing where it is one
 * step (step-build.c).
 */
static double
stepped_latency (const Timed *self, guint channels, double cap)
{
  const CollectiveGraph *graph = self->graph;
  RingPace               pace = timed_ring_pace (self, cap);

  if (graph->hosts)
    return timed_message_latency (self, cap);
  switch (self->algorithm)
    {
    case ALGORITHM_RING:
      return timed_ring_hops (self, &pace, channels, cap) - timed_ring_spread (self, &pace, cap);
    case ALGORITHM_PAIRWISE:
      return graph->n_nodes > 1 ? timed_pair_hop (self) : 0;
    case ALGORITHM_PAT:
      return self->layout->n_steps * timed_pat_hop (self) + timed_steps_unlike (self, cap);
    case ALGORITHM_TREE:
      return timed_tree_hops (self) + timed_pipeline_fill (self, channels, cap);
    case ALGORITHM_COLLNET_CHAIN:
    case ALGORITHM_COLLNET_DIRECT:
      return timed_pipeline_fill (self, channels, cap);
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
      return timed_nvls_fill (self);
    case ALGORITHM_HIERARCHICAL:
      return hierarchical_hops (self) + timed_steps_unlike (self, cap);
    case ALGORITHM_ALL_PAIRS:
      return 2 * timed_hop_intra (self);
    default:
      return 0;
    }
}

static StepParameters
step_hops (const Timed *self)
{
  if (self->graph->hosts)
    return (StepParameters){ .hop_net = self->layout->n_steps > 0 ? timed_round_hop (self)
                                                                  : timed_message_hop (self) };
  switch (self->algorithm)
    {
    case ALGORITHM_PAIRWISE:
      return (StepParameters){ .hop_net = self->graph->n_nodes > 1 ? timed_pair_hop (self) : 0 };
    case ALGORITHM_PAT:
      return (StepParameters){ .hop_net = timed_pat_hop (self) };
    case ALGORITHM_HIERARCHICAL:
      return (StepParameters){ .hop_intra = timed_hop_intra (self),
                               .hop_net = timed_hierarchical_hop_net (self) };
    case ALGORITHM_RING:
    case ALGORITHM_TREE:
    case ALGORITHM_ALL_PAIRS:
      return (StepParameters){ .hop_intra = timed_hop_intra (self),
                               .hop_net = timed_hop_net (self) };
    default: /* their hops are a part of the launch */
      return (StepParameters){ 0 };
    }
}

static double
step_chunk (const Timed *self, guint channels)
{
  if (self->graph->hosts)
    return timed_message_chunk (self);
  switch (self->algorithm)
    {
    case ALGORITHM_RING:
      return channels * timed_chain_chunk (self->protocol);
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
      return timed_nvls_chunk (self);
    default:
      return timed_tree_chunk (self, channels);
    }
}

void
collective_time_steps (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                       const CollectiveLayout *layout, const CollectiveCost *cost,
                       StepParameters *parameters)
{
  Timed  self = { graph, kind, cost->algorithm, cost->protocol, bytes, layout };
  double cap = timed_unaligned_cap (&self, timed_rate_cap (&self, cost->channels));

  *parameters = step_hops (&self);
  parameters->launch = MAX (cost->latency - stepped_latency (&self, cost->channels, cap), 0);
  parameters->rate_cap = cap;
  parameters->chunk = MAX (step_chunk (&self, cost->channels), 1);
}

double
collective_time_bound (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                       const CollectiveLayout *layout, const CollectiveCost *cost)
{
  Timed  self = { graph, kind, cost->algorithm, cost->protocol, bytes, layout };
  double cap = timed_unaligned_cap (&self, timed_rate_cap (&self, cost->channels));
  double launch = MAX (cost->latency - stepped_latency (&self, cost->channels, cap), 0);

  if (graph->hosts && layout->n_steps > 0)
    return launch + timed_round_bound (&self, cap);
  switch (cost->algorithm)
    {
    case ALGORITHM_RING:
    case ALGORITHM_PIPELINE:
      return launch + timed_ring_bound (&self, cost->channels, cap);
    case ALGORITHM_PAT:
      return launch + timed_pat_bound (&self, cap);
    case ALGORITHM_TREE:
      return launch + timed_pipeline_bound (&self, timed_tree_hops (&self), cap);
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
    case ALGORITHM_COLLNET_CHAIN:
    case ALGORITHM_COLLNET_DIRECT:
      return launch + timed_pipeline_bound (&self, 0, cap);
    case ALGORITHM_HIERARCHICAL:
      return launch + timed_hierarchical_bound (&self, cap);
    default:
      return cost->time;
    }
}
