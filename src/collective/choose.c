#include "collective/choose-private.h"

#include <math.h>

#define ALL_PAIRS_MAX \
  ((double) (256 << 10)) /* RCCL on a mesh: an 8 MI300X table turns at 256 KiB */

/* ---- what exists ----------------------------------------------------------------------------- */

static gboolean
has_tree (const CollectiveGraph *graph, CollectiveKind kind)
{
  return kind == COLLECTIVE_ALL_REDUCE && graph->n_ranks > 2;
}

static gboolean
is_scatter_or_gather (CollectiveKind kind)
{
  return kind == COLLECTIVE_ALL_GATHER || kind == COLLECTIVE_REDUCE_SCATTER;
}

gboolean
collective_has_algorithm (const CollectiveGraph *graph, CollectiveKind kind,
                          CollectiveAlgorithm algorithm, gboolean even)
{
  gboolean pairwise = kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_SEND_RECV;
  gboolean rooted = kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE;

  if (graph->hosts)
    return algorithm == (pairwise ? ALGORITHM_PAIRWISE : ALGORITHM_RING)
           || (algorithm == ALGORITHM_LINEAR && kind == COLLECTIVE_ALL_TO_ALL)
           || (algorithm == ALGORITHM_PIPELINE && rooted);
  switch (algorithm)
    {
    case ALGORITHM_PAIRWISE:
      return pairwise;
    case ALGORITHM_RING:
      return !pairwise;
    case ALGORITHM_TREE:
      return has_tree (graph, kind);
    case ALGORITHM_NVLS:
      return graph->nvls && graph->n_nodes == 1
             && (kind == COLLECTIVE_ALL_REDUCE || is_scatter_or_gather (kind));
    case ALGORITHM_NVLS_TREE:
      return graph->nvls && graph->n_nodes > 1 && even && kind == COLLECTIVE_ALL_REDUCE;
    case ALGORITHM_PAT:
      return graph->n_nodes > 1 && graph->per_node == 1 && is_scatter_or_gather (kind);
    case ALGORITHM_COLLNET_DIRECT:
      return graph->n_nodes > 1 && even && graph->intra->kind == LINK_SWITCH
             && kind == COLLECTIVE_ALL_REDUCE;
    case ALGORITHM_COLLNET_CHAIN:
      return graph->n_nodes > 1 && even && kind == COLLECTIVE_ALL_REDUCE;
    case ALGORITHM_ALL_PAIRS:
      return graph->capability == 0 && graph->n_nodes == 1 && graph->intra->kind == LINK_MESH
             && graph->n_ranks > 2 && kind == COLLECTIVE_ALL_REDUCE;
    case ALGORITHM_HIERARCHICAL:
      return !pairwise && !rooted && even && graph->n_nodes > 1 && graph->n_ranks > graph->n_nodes;
    default:
      return FALSE;
    }
}

gboolean
collective_has_protocol (const CollectiveGraph *graph, CollectiveAlgorithm algorithm,
                         CollectiveProtocol protocol)
{
  if (graph->hosts)
    return protocol == PROTOCOL_SIMPLE;
  switch (algorithm)
    {
    case ALGORITHM_RING:
    case ALGORITHM_TREE:
      return protocol != PROTOCOL_LL128 || graph->ll128;
    case ALGORITHM_ALL_PAIRS:
      return protocol == PROTOCOL_LL;
    case ALGORITHM_PAIRWISE:
      return protocol != PROTOCOL_LL128;
    default:
      return protocol == PROTOCOL_SIMPLE;
    }
}

/* ---- bandwidth ------------------------------------------------------------------------------- */

static guint
node_case (const CollectiveGraph *graph)
{
  return MIN (graph->n_nodes, NODE_CASES) - 1;
}

static double
ll_limit (const CollectiveGraph *graph)
{
  return graph->n_nodes == 1 ? graph->generation->ll : graph->tables->ll_net[node_case (graph)];
}

guint
collective_ring_steps (CollectiveKind kind, guint n_ranks)
{
  return (kind == COLLECTIVE_ALL_REDUCE ? 2 : 1) * (n_ranks - 1);
}

/* Bus bandwidth to algorithm bandwidth. */
static double
per_bus (const CollectiveGraph *graph, CollectiveKind kind)
{
  if (kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE)
    return 1;
  return (double) graph->n_ranks / collective_ring_steps (kind, graph->n_ranks);
}

static double
ring_bandwidth (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol)
{
  double bus = graph->searched * graph->speed;

  if (protocol == PROTOCOL_LL)
    bus = MIN (ll_limit (graph), bus / 2);
  if (protocol == PROTOCOL_LL128)
    bus = MIN (0.92 * bus, graph->searched * graph->generation->ring_ll128[node_case (graph)]);
  return bus * per_bus (graph, kind);
}

static double
tree_bandwidth (const CollectiveGraph *graph, CollectiveProtocol protocol, double bytes)
{
  const NcclGeneration *generation = graph->generation;
  double                all = graph->searched * graph->speed;
  double bus = MIN (0.92 * all, graph->searched * generation->tree_simple[node_case (graph)]);
  gint   size = bytes >= 64 ? (gint) log2 (bytes / 64) : 0;

  if (protocol == PROTOCOL_LL)
    bus = MIN (MIN (bus, all / 3.8), ll_limit (graph));
  if (protocol == PROTOCOL_LL128)
    bus = MIN (all * (graph->n_nodes == 1 ? 7.0 / 9 : 120.0 / 128),
               graph->searched * generation->tree_ll128[node_case (graph)]);
  if (size < CORRECTION_SIZES - 1)
    bus *= (double) graph->tables->tree_correction[protocol][size];
  return bus / 2;
}

/* GPUs of a node through which the switch's and the network's reductions go: one a card. */
static guint
count_heads (const CollectiveGraph *graph)
{
  return MAX (MIN (graph->n_cards, graph->per_node), 1);
}

static double
nvls_bandwidth (const CollectiveGraph *graph, CollectiveKind kind)
{
  double members = (graph->per_node - 1.0) / graph->per_node;
  double port = graph->intra->bandwidth.value * graph->generation->link_factor;
  double bus = port * graph->generation->nvls_efficiency * members;

  if (kind == COLLECTIVE_ALL_REDUCE)
    bus *= 2;
  else
    bus *= members;
  if (graph->n_nodes > 1)
    {
      double net = graph->searched * graph->speed * (graph->n_nodes == 2 ? 2 : 1);

      bus = MIN (bus, net);
      if (graph->generation->nvls_tree[node_case (graph)] > 0)
        bus = MIN (bus, count_heads (graph) * graph->generation->nvls_tree[node_case (graph)]);
    }
  return bus * per_bus (graph, kind);
}

/*
 * All-reduce; half of bus bandwidth as for trees. At full speed only where every GPU has a card of
 * its own.
 */
static double
collnet_direct_bandwidth (const CollectiveGraph *graph)
{
  double each = (double) graph->per_node / count_heads (graph); /* GPUs a card */

  return graph->searched * graph->speed / ((each + 1) / 2) * (graph->capability >= 90 ? 0.85 : 1)
         / 2;
}

static double
bandwidth (const CollectiveGraph *graph, CollectiveKind kind, CollectiveAlgorithm algorithm,
           CollectiveProtocol protocol, double bytes)
{
  double all = graph->searched * graph->speed;

  switch (algorithm)
    {
    case ALGORITHM_TREE:
      return tree_bandwidth (graph, protocol, bytes);
    case ALGORITHM_NVLS:
    case ALGORITHM_NVLS_TREE:
      return nvls_bandwidth (graph, kind);
    case ALGORITHM_PAT:
      return 0.75 * all;
    case ALGORITHM_COLLNET_DIRECT:
      return collnet_direct_bandwidth (graph);
    case ALGORITHM_COLLNET_CHAIN:
      return all / 2;
    default:
      return ring_bandwidth (graph, kind, protocol);
    }
}

/* ---- latency --------------------------------------------------------------------------------- */

static double
ring_latency (const CollectiveGraph *graph, CollectiveKind kind, CollectiveProtocol protocol,
              double bytes)
{
  const NcclTables *tables = graph->tables;
  double            intra = tables->hop[graph->hop][ALGORITHM_RING][protocol];
  double            inter =
      tables->hop[HOP_NET][graph->per_node == 1 ? ALGORITHM_TREE : ALGORITHM_RING][protocol];
  double rounds = kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
  double steps = collective_ring_steps (kind, graph->n_ranks);
  double net_steps = graph->n_nodes > 1 ? rounds * (graph->n_nodes - 1) : 0;
  double latency = tables->base[ALGORITHM_RING][protocol];

  if (graph->n_nodes > 1)
    intra = MAX (intra, tables->post[protocol]);
  if (kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE)
    return latency + (graph->n_nodes == 1 ? intra : graph->n_ranks * intra);
  latency += (steps - net_steps) * intra + net_steps * inter;
  if (kind != COLLECTIVE_ALL_REDUCE || protocol != PROTOCOL_SIMPLE || graph->n_nodes == 1
      || bytes / (graph->searched * (double) graph->n_ranks) < 64)
    return latency;
  return latency
         * (graph->capability < 80 ? tables->all_reduce_net_factor_old
                                   : tables->all_reduce_net_factor);
}

static double
tree_latency (const CollectiveGraph *graph, CollectiveProtocol protocol)
{
  const NcclTables *tables = graph->tables;

  return tables->base[ALGORITHM_TREE][protocol]
         + 2
               * ((graph->per_node - 1) * tables->hop[graph->hop][ALGORITHM_TREE][protocol]
                  + log2 (graph->n_nodes) * tables->hop[HOP_NET][ALGORITHM_TREE][protocol]);
}

static double
latency (const CollectiveGraph *graph, CollectiveKind kind, CollectiveAlgorithm algorithm,
         CollectiveProtocol protocol, double bytes)
{
  double intra = graph->tables->hop[graph->hop][algorithm][protocol];
  double inter = graph->tables->hop[HOP_NET][algorithm][protocol];
  double levels = log2 (graph->n_nodes);

  switch (algorithm)
    {
    case ALGORITHM_TREE:
      return tree_latency (graph, protocol);
    case ALGORITHM_NVLS:
      return intra;
    case ALGORITHM_NVLS_TREE:
      return intra + 2 * levels * inter;
    case ALGORITHM_PAT:
      return graph->tables->base[algorithm][protocol] + levels * inter / 3.5
             + 2.8e-6 * graph->n_ranks;
    case ALGORITHM_COLLNET_DIRECT:
      return 2 * (MIN (1, graph->per_node - 1) * intra + (graph->per_node - 1) * 0.4e-6) + inter;
    case ALGORITHM_COLLNET_CHAIN:
      return 2 * (graph->per_node - 1) * intra + inter;
    default:
      return ring_latency (graph, kind, protocol, bytes);
    }
}

/* ---- the choice ------------------------------------------------------------------------------ */

/* What NCCL has to be asked for, or cannot do by itself. */
static gboolean
only_on_request (CollectiveAlgorithm algorithm, const CollectiveOptions *asked)
{
  gboolean collnet = algorithm == ALGORITHM_COLLNET_DIRECT || algorithm == ALGORITHM_COLLNET_CHAIN;

  return algorithm == ALGORITHM_HIERARCHICAL || (collnet && !asked->collnet);
}

/* Not by cost: small messages go under LL (NCCL_P2P_LL_THRESHOLD). */
static CollectiveChoice
choose_pairwise (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                 CollectiveProtocol asked)
{
  double           pair = kind == COLLECTIVE_ALL_TO_ALL ? bytes / graph->n_ranks : bytes;
  CollectiveChoice choice = { ALGORITHM_PAIRWISE, PROTOCOL_SIMPLE, 0 };

  if (asked == PROTOCOL_LL || (asked != PROTOCOL_SIMPLE && pair <= graph->tables->p2p_ll))
    choice.protocol = PROTOCOL_LL;
  return choice;
}

static CollectiveChoice
choose_protocol (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                 CollectiveAlgorithm algorithm, CollectiveProtocol asked)
{
  CollectiveChoice best = { algorithm, PROTOCOL_SIMPLE, INFINITY };

  for (guint p = 0; p < PROTOCOL_N; p++)
    {
      CollectiveChoice one = { algorithm, (CollectiveProtocol) p, 0 };

      if (!collective_has_protocol (graph, algorithm, one.protocol)
          || (asked != PROTOCOL_N && asked != one.protocol
              && collective_has_protocol (graph, algorithm, asked)))
        continue;
      one.seconds = latency (graph, kind, algorithm, one.protocol, bytes)
                    + bytes / bandwidth (graph, kind, algorithm, one.protocol, bytes);
      if (one.seconds < best.seconds)
        best = one;
    }
  return best;
}

/* Between plain hosts: what Open MPI is told to run (docs/collectives.md), as whole messages. */
static CollectiveChoice
choose_messages (const CollectiveGraph *graph, CollectiveKind kind, CollectiveAlgorithm asked)
{
  CollectiveChoice choice = { ALGORITHM_RING, PROTOCOL_SIMPLE, 0 };

  if (kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_SEND_RECV)
    choice.algorithm = ALGORITHM_PAIRWISE;
  if (kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE)
    choice.algorithm = ALGORITHM_PIPELINE;
  if (collective_has_algorithm (graph, kind, asked, TRUE))
    choice.algorithm = asked;
  return choice;
}

CollectiveChoice
collective_choose (const CollectiveGraph *graph, CollectiveKind kind, double bytes,
                   const CollectiveOptions *asked, gboolean even)
{
  CollectiveChoice best = { ALGORITHM_RING, PROTOCOL_SIMPLE, INFINITY };

  if (graph->hosts)
    return choose_messages (graph, kind, asked->algorithm);
  if (kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_SEND_RECV)
    return choose_pairwise (graph, kind, bytes, asked->protocol);
  if (asked->algorithm != ALGORITHM_N
      && collective_has_algorithm (graph, kind, asked->algorithm, even))
    return choose_protocol (graph, kind, bytes, asked->algorithm, asked->protocol);
  for (guint a = 0; a < ALGORITHM_N; a++)
    {
      CollectiveAlgorithm algorithm = (CollectiveAlgorithm) a;
      CollectiveChoice    one;

      if (only_on_request (algorithm, asked)
          || !collective_has_algorithm (graph, kind, algorithm, even)
          || (asked->protocol != PROTOCOL_N
              && !collective_has_protocol (graph, algorithm, asked->protocol)
              && algorithm != ALGORITHM_PAIRWISE)
          || (algorithm == ALGORITHM_ALL_PAIRS && bytes > ALL_PAIRS_MAX))
        continue;
      one = choose_protocol (graph, kind, bytes, algorithm, asked->protocol);
      if (algorithm == ALGORITHM_ALL_PAIRS) /* RCCL takes it wherever its kernels cover the size */
        return one;
      if (one.seconds < best.seconds)
        best = one;
    }
  return best;
}
