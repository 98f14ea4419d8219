#include "collective/layout-private.h"

#include "collective/collnet-private.h"
#include "collective/nccl-tables-private.h"
#include "collective/nvls-private.h"
#include "collective/pairwise-private.h"
#include "collective/pat-private.h"
#include "collective/rounds-private.h"
#include "collective/tree-private.h"

/* Bytes on one edge of a ring over N ranks, per byte of S. */
static double
edge_bytes (CollectiveKind kind, guint n_ranks)
{
  return kind == COLLECTIVE_BROADCAST || kind == COLLECTIVE_REDUCE
             ? 1
             : collective_wire_factor (kind, n_ranks);
}

/* The members' HBM traffic of KIND over N ranks with buffers of SCALE x S. */
static void
add_hbm (LoadSum *sum, const Members *members, CollectiveKind kind, guint n_ranks, double scale)
{
  double share = collective_wire_factor (kind, n_ranks) / (kind == COLLECTIVE_ALL_REDUCE ? 2 : 1);

  for (guint i = 0; i < members->n_gpus; i++)
    load_sum_add (sum, cluster_gpu_resource (sum->cluster, members->gpus[i], RESOURCE_HBM),
                  scale * share * nccl_hbm_factor (kind));
}

/* Adds one ring collective over MEMBERS on SCALE x S to the plan. */
static void
plan_ring (const LayContext *context, const Members *members, CollectiveKind kind, double scale,
           RingEnds ends)
{
  if (members->n_gpus == 1)
    return;
  ring_lay (context, members, scale * edge_bytes (kind, members->n_gpus), ends);
  add_hbm (context->sum, members, kind, members->n_gpus, scale);
}

/* Edges noted from now on are of rings of their own, in PHASE. */
static void
begin_section (const LayContext *context, guint8 phase)
{
  if (context->edges == NULL)
    return;
  context->edges->section++;
  context->edges->phase = phase;
}

/* One phase of a hierarchical collective: the members of each node among themselves. */
static void
plan_inside (const LayContext *context, const Members *members, CollectiveKind kind, guint8 phase)
{
  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      MemberNode node = members->nodes[slot];
      Members    inside = { members->gpus + node.first, node.n, &node, 1 };

      node.first = 0;
      begin_section (context, phase);
      plan_ring (context, &inside, kind, 1, RING_CLOSED);
    }
}

/* The other phase: the i-th members of all nodes, for every i, each set on its part of S. */
static void
plan_across (const LayContext *context, const Members *members, CollectiveKind kind, guint8 phase)
{
  guint                  n = members->n_nodes, each = members->nodes[0].n;
  g_autofree guint32    *gpus = g_new (guint32, n);
  g_autofree MemberNode *nodes = g_new (MemberNode, n);
  Members                across = { gpus, n, nodes, n };

  for (guint i = 0; i < each; i++)
    {
      for (guint slot = 0; slot < n; slot++)
        {
          gpus[slot] = members->gpus[members->nodes[slot].first + i];
          nodes[slot] = (MemberNode){ members->nodes[slot].node, slot, 1 };
        }
      begin_section (context, phase);
      plan_ring (context, &across, kind, 1.0 / each, RING_CLOSED);
    }
}

static void
plan_hierarchical (CollectiveLayout *plan, const LayContext *context, const Members *members)
{
  switch (plan->kind)
    {
    case COLLECTIVE_ALL_GATHER:
      plan_across (context, members, plan->kind, 1);
      plan_inside (context, members, plan->kind, 2);
      break;
    case COLLECTIVE_REDUCE_SCATTER:
      plan_inside (context, members, plan->kind, 1);
      plan_across (context, members, plan->kind, 2);
      break;
    case COLLECTIVE_ALL_REDUCE:
      plan_inside (context, members, COLLECTIVE_REDUCE_SCATTER, 1);
      plan_across (context, members, COLLECTIVE_ALL_REDUCE, 2);
      plan_inside (context, members, COLLECTIVE_ALL_GATHER, 3);
      break;
    default:
      g_assert_not_reached ();
    }
}

/* Made of steps that all ranks make one after another. */
static gboolean
is_stepwise (const CollectiveLayout *plan, gboolean hosts)
{
  return plan->algorithm == ALGORITHM_PAT || plan->algorithm == ALGORITHM_HIERARCHICAL
         || (hosts && plan->algorithm == ALGORITHM_PAIRWISE && plan->kind == COLLECTIVE_ALL_TO_ALL);
}

static void
plan_pairwise (const CollectiveLayout *plan, const LayContext *context, const Members *members,
               const guint32 *ranks)
{
  guint n = members->n_gpus;

  if (is_stepwise (plan, members_are_hosts (members, context->sum->cluster)))
    rounds_lay (context, members, 1.0 / n);
  else if (plan->kind == COLLECTIVE_ALL_TO_ALL)
    pairwise_lay_all_to_all (context, members, 1.0 / n);
  else
    pairwise_lay_send_recv (context, ranks, n, 1);
  add_hbm (context->sum, members, plan->kind, n, 1);
}

/* Broadcast flows out of the first rank of the group, reduce into it. */
static RingEnds
chain_ends (CollectiveKind kind, guint32 root)
{
  return (RingEnds){ .first = kind == COLLECTIVE_BROADCAST ? root : G_MAXUINT32,
                     .last = kind == COLLECTIVE_REDUCE ? root : G_MAXUINT32 };
}

static void
plan_algorithm (CollectiveLayout *plan, const LayContext *context, const Members *members,
                const guint32 *ranks)
{
  switch (plan->algorithm)
    {
    case ALGORITHM_PAIRWISE:
    case ALGORITHM_LINEAR:
      plan_pairwise (plan, context, members, ranks);
      return;
    case ALGORITHM_HIERARCHICAL:
      plan_hierarchical (plan, context, members);
      return;
    case ALGORITHM_TREE:
      tree_lay (context, members, 1);
      break;
    case ALGORITHM_NVLS:
      nvls_lay (context, members, plan->kind);
      return;
    case ALGORITHM_NVLS_TREE:
      nvls_lay (context, members, plan->kind);
      tree_lay_nodes (context, members, 1);
      return;
    case ALGORITHM_PAT:
      pat_lay (context, members, plan->kind);
      break;
    case ALGORITHM_COLLNET_DIRECT:
    case ALGORITHM_COLLNET_CHAIN:
      collnet_lay (context, members, plan->algorithm == ALGORITHM_COLLNET_CHAIN);
      break;
    case ALGORITHM_ALL_PAIRS:
      begin_section (context, 1);
      pairwise_lay_inside (context, members, 1.0 / members->n_gpus);
      begin_section (context, 2);
      pairwise_lay_inside (context, members, 1.0 / members->n_gpus);
      break;
    default:
      plan_ring (context, members, plan->kind, 1, chain_ends (plan->kind, ranks[0]));
      return;
    }
  add_hbm (context->sum, members, plan->kind, members->n_gpus, 1);
}

/* By number in SUM, s per byte of S: of all loads, or (ALONE) of a byte of payload. */
static double *
resource_seconds (const CollectiveLayout *plan, LoadSum *sum, gboolean alone)
{
  double *seconds = g_new0 (double, sum->entries->len);

  for (guint i = 0; i < plan->n_loads; i++)
    {
      const CollectiveLoad *load = &plan->loads[i];

      seconds[numbering_find (&sum->numbers, load->resource)] =
          load->service / (alone ? load->payload : 1)
          / cluster_resource (sum->cluster, load->resource)->capacity;
    }
  return seconds;
}

static double
slowest_of (LoadSum *sum, const LayEdges *edges, const LayEdge *edge, const double *seconds)
{
  double slowest = 0;

  for (guint i = edge->first; i < edge->first + edge->n; i++)
    {
      guint32 number = numbering_find (&sum->numbers, g_array_index (edges->resources, guint32, i));

      if (number != NUMBERING_NONE)
        slowest = MAX (slowest, seconds[number] * g_array_index (edges->shares, double, i));
    }
  return slowest;
}

static RingHops
describe_ring (const CollectiveLayout *plan, LoadSum *sum, const LayEdges *edges)
{
  g_autofree double *all = resource_seconds (plan, sum, FALSE);
  g_autofree double *alone = resource_seconds (plan, sum, TRUE);
  RingHops           hops = { .n_net_least = G_MAXUINT };
  guint              n[2] = { 0 }, of_lane = 0;
  double             least[2] = { G_MAXDOUBLE, G_MAXDOUBLE };

  for (guint i = 0; i < edges->edges->len; i++)
    {
      const LayEdge *edge = &g_array_index (edges->edges, LayEdge, i);
      double         by_itself = edge->bytes * slowest_of (sum, edges, edge, alone);

      if (i == 0 || edge[-1].lane != edge->lane)
        {
          of_lane = 0;
          hops.n_rings++;
        }
      of_lane += edge->net;
      hops.n_net = MAX (hops.n_net, of_lane);
      if (i + 1 == edges->edges->len || edge[1].lane != edge->lane)
        hops.n_net_least = MIN (hops.n_net_least, of_lane);
      n[edge->net]++;
      *(edge->net ? &hops.net : &hops.intra) += slowest_of (sum, edges, edge, all);
      *(edge->net ? &hops.net_alone : &hops.intra_alone) += by_itself;
      least[edge->net] = MIN (least[edge->net], by_itself);
    }
  for (guint net = 0; net < 2; net++)
    hops.least = n[net] > 0 ? MAX (hops.least, least[net]) : hops.least;
  hops.intra /= MAX (n[0], 1);
  hops.intra_alone /= MAX (n[0], 1);
  hops.net /= MAX (n[1], 1);
  hops.net_alone /= MAX (n[1], 1);
  return hops;
}

/* Edges of both kinds (HOPS) meet on the slowest resource, or those inside nodes meet unequally. */
static gboolean
shares_unevenly (const CollectiveLayout *plan, guint8 hops)
{
  const RingHops *ring = &plan->ring;

  return hops == (LOAD_HOP_INTRA | LOAD_HOP_NET)
         || (ring->intra > ring->intra_alone * (1 + 1e-9)
             && plan->intra_seconds_per_byte > ring->intra * (1 + 1e-9));
}

/* Steps of PAT are lanes, those of hierarchical collectives phases. */
static gboolean
is_same_step (const LayEdge *a, const LayEdge *b)
{
  return a->join.phase == b->join.phase && (a->join.phase > 0 || a->lane == b->lane);
}

/*
 * The edges from FIRST on: one step of them. Where the next one begins. ALONE and BUSY (scratch,
 * all zero): by number in SUM.
 */
static guint
describe_step (LoadSum *sum, const LayEdges *edges, guint first, const double *alone, double *busy,
               StepHop *step)
{
  const LayEdge *all = (const LayEdge *) (gpointer) edges->edges->data;
  double         fastest = G_MAXDOUBLE, slowest = 0;
  guint          end = first;

  *step = (StepHop){ 0 };
  for (; end < edges->edges->len && is_same_step (&all[end], &all[first]); end++)
    {
      for (guint i = all[end].first; i < all[end].first + all[end].n; i++)
        {
          guint32 number =
              numbering_find (&sum->numbers, g_array_index (edges->resources, guint32, i));

          if (number == NUMBERING_NONE)
            continue;
          busy[number] += all[end].bytes * alone[number];
          slowest = MAX (slowest, busy[number]);
        }
      fastest = MIN (fastest, all[end].bytes * slowest_of (sum, edges, &all[end], alone));
      step->share += all[end].bytes;
    }
  step->seconds = slowest;
  step->alone = fastest;
  for (guint i = all[first].first; i < all[end - 1].first + all[end - 1].n; i++)
    {
      guint32 number = numbering_find (&sum->numbers, g_array_index (edges->resources, guint32, i));

      if (number != NUMBERING_NONE)
        busy[number] = 0;
    }
  return end;
}

static void
describe_steps (CollectiveLayout *plan, LoadSum *sum, const LayEdges *edges)
{
  g_autofree double *alone = resource_seconds (plan, sum, TRUE);
  g_autofree double *busy = g_new0 (double, sum->entries->len);
  g_autoptr (GArray) steps = g_array_new (FALSE, FALSE, sizeof (StepHop));
  double             sent = 0;

  for (guint first = 0; first < edges->edges->len;)
    {
      StepHop step;

      first = describe_step (sum, edges, first, alone, busy, &step);
      g_array_append_val (steps, step);
      sent += step.share;
    }
  plan->n_steps = steps->len;
  plan->steps = (StepHop *) (gpointer) g_array_free (g_steal_pointer (&steps), FALSE);
  for (guint i = 0; i < plan->n_steps; i++)
    plan->steps[i].share /= sent;
}

/* Whether what the edges are like counts beside the sums of their loads. */
static gboolean
needs_edges (const CollectiveLayout *plan, gboolean hosts)
{
  return is_stepwise (plan, hosts)
         || (plan->algorithm != ALGORITHM_PAIRWISE && plan->algorithm != ALGORITHM_LINEAR
             && plan->algorithm != ALGORITHM_NVLS && plan->algorithm != ALGORITHM_ALL_PAIRS);
}

static void
plan_lay (CollectiveLayout *plan, const Cluster *cluster, const Members *members,
          const guint32 *ranks, LayEdges *edges)
{
  LoadSum              sum;
  ProximityCache       proximity;
  LayContext           context = { &sum, &proximity, edges };
  gboolean             hosts = members_are_hosts (members, cluster);
  g_autoptr (LayEdges) own = NULL;

  if (needs_edges (plan, hosts) && edges == NULL)
    own = lay_edges_new ();
  if (own != NULL)
    context.edges = own;
  load_sum_init (&sum, cluster);
  proximity_cache_init (&proximity, cluster);
  plan_algorithm (plan, &context, members, ranks);
  load_sum_store (&sum, plan);
  g_assert (context.edges != NULL || !needs_edges (plan, hosts));
  if (is_stepwise (plan, hosts))
    describe_steps (plan, &sum, context.edges);
  else if (needs_edges (plan, hosts))
    {
      plan->ring = describe_ring (plan, &sum, context.edges);
      plan->ring.uneven = shares_unevenly (plan, load_sum_get (&sum, plan->binding).hops);
    }
  proximity_cache_clear (&proximity);
  load_sum_clear (&sum);
}

CollectiveLayout *
collective_layout_new (const Cluster *cluster, CollectiveKind kind, CollectiveAlgorithm algorithm,
                       const Members *members, const guint32 *ranks)
{
  CollectiveLayout *self = g_new0 (CollectiveLayout, 1);

  self->kind = kind;
  self->algorithm = algorithm;
  plan_lay (self, cluster, members, ranks, NULL);
  return self;
}

CollectiveLayout *
collective_layout_new_message (const Cluster *cluster, const Members *members, const guint32 *ranks)
{
  CollectiveLayout *self = g_new0 (CollectiveLayout, 1);
  LoadSum           sum;
  ProximityCache    proximity;
  LayContext        context = { &sum, &proximity, NULL };

  self->kind = COLLECTIVE_SEND_RECV;
  self->algorithm = ALGORITHM_PAIRWISE;
  load_sum_init (&sum, cluster);
  proximity_cache_init (&proximity, cluster);
  pairwise_lay_message (&context, ranks[0], ranks[1], 1);
  add_hbm (&sum, members, COLLECTIVE_SEND_RECV, 2, 0.5); /* read at one end, written at the other */
  load_sum_store (&sum, self);
  proximity_cache_clear (&proximity);
  load_sum_clear (&sum);
  return self;
}

LayEdges *
collective_layout_edges (const Cluster *cluster, CollectiveKind kind, CollectiveAlgorithm algorithm,
                         const Members *members, const guint32 *ranks)
{
  LayEdges        *edges = lay_edges_new ();
  CollectiveLayout layout = { .kind = kind, .algorithm = algorithm };

  plan_lay (&layout, cluster, members, ranks, edges);
  g_free (layout.loads);
  g_free (layout.steps);
  return edges;
}

void
collective_layout_free (CollectiveLayout *self)
{
  if (self == NULL)
    return;
  g_free (self->loads);
  g_free (self->steps);
  g_free (self);
}
