#include "collective/collective.h"

#include "collective/pairwise-private.h"

static const char *const kind_names[COLLECTIVE_N_KINDS] = {
  [COLLECTIVE_ALL_GATHER] = "all_gather", [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
  [COLLECTIVE_ALL_REDUCE] = "all_reduce", [COLLECTIVE_BROADCAST] = "broadcast",
  [COLLECTIVE_ALL_TO_ALL] = "all_to_all", [COLLECTIVE_SEND_RECV] = "send_recv",
};

static const char *const algorithm_names[ALGORITHM_N] = {
  [ALGORITHM_RING] = "ring",
  [ALGORITHM_HIERARCHICAL] = "hierarchical",
  [ALGORITHM_PAIRWISE] = "pairwise",
};

const char *
collective_kind_name (CollectiveKind kind)
{
  g_assert ((guint) kind < COLLECTIVE_N_KINDS);
  return kind_names[kind];
}

const char *
collective_algorithm_name (CollectiveAlgorithm algorithm)
{
  g_assert ((guint) algorithm < ALGORITHM_N);
  return algorithm_names[algorithm];
}

double
collective_wire_factor (CollectiveKind kind, guint n_ranks)
{
  double share = n_ranks > 1 ? (n_ranks - 1.0) / n_ranks : 0;

  if (kind == COLLECTIVE_ALL_REDUCE)
    return 2 * share;
  return kind == COLLECTIVE_SEND_RECV ? n_ranks > 1 : share;
}

/* Bytes on one edge of a ring over N ranks, per byte of S. */
static double
edge_bytes (CollectiveKind kind, guint n_ranks)
{
  return kind == COLLECTIVE_BROADCAST ? 1 : collective_wire_factor (kind, n_ranks);
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

/* Launch of one collective's kernel on the device: the slowest node's. */
static double
launch_latency (const Cluster *cluster, const Members *members)
{
  double latency = 0;

  for (guint i = 0; i < members->n_nodes; i++)
    latency = MAX (
        latency,
        cluster_gpu_profile (cluster, members->gpus[members->nodes[i].first])->kernel_latency.value);
  return latency;
}

static guint
ring_channels (const Cluster *cluster, const Members *members, const NcclGraph *graph)
{
  guint node = members->nodes[0].node;

  return nccl_ring_channels (graph, cluster_gpu_profile (cluster, members->gpus[0]),
                             cluster_intra_profile (cluster, node),
                             cluster_nic_profile (cluster, node));
}

/* Adds one ring collective over MEMBERS on SCALE x S to the plan. */
static void
plan_ring (CollectivePlan *plan, const LayContext *context, const Members *members,
           CollectiveKind kind, double scale, guint32 root)
{
  const Cluster *cluster = context->sum->cluster;
  NcclGraph      graph;

  if (members->n_gpus == 1)
    return;
  graph = ring_lay (context, members, scale * edge_bytes (kind, members->n_gpus), root);
  add_hbm (context->sum, members, kind, members->n_gpus, scale);
  plan->latency =
      MAX (plan->latency, launch_latency (cluster, members)
                              + nccl_ring_latency (nccl_latency (NULL), &graph, kind,
                                                   cluster_gpu_profile (cluster, members->gpus[0])));
  plan->channels = MAX (plan->channels, ring_channels (cluster, members, &graph));
}

/*
 * One phase of a hierarchical collective: the members of each node among themselves. Latencies of
 * the nodes run side by side.
 */
static void
plan_inside (CollectivePlan *plan, const LayContext *context, const Members *members,
             CollectiveKind kind)
{
  double before = plan->latency;

  plan->latency = 0;
  for (guint slot = 0; slot < members->n_nodes; slot++)
    {
      MemberNode node = members->nodes[slot];
      Members    inside = { members->gpus + node.first, node.n, &node, 1 };

      node.first = 0;
      plan_ring (plan, context, &inside, kind, 1, NO_ROOT);
    }
  plan->latency += before;
}

/* The other phase: the i-th members of all nodes, for every i, each set on its part of S. */
static void
plan_across (CollectivePlan *plan, const LayContext *context, const Members *members,
             CollectiveKind kind)
{
  guint                  n = members->n_nodes, each = members->nodes[0].n;
  g_autofree guint32    *gpus = g_new (guint32, n);
  g_autofree MemberNode *nodes = g_new (MemberNode, n);
  Members                across = { gpus, n, nodes, n };
  double                 before = plan->latency;

  plan->latency = 0;
  for (guint i = 0; i < each; i++)
    {
      for (guint slot = 0; slot < n; slot++)
        {
          gpus[slot] = members->gpus[members->nodes[slot].first + i];
          nodes[slot] = (MemberNode){ members->nodes[slot].node, slot, 1 };
        }
      plan_ring (plan, context, &across, kind, 1.0 / each, NO_ROOT);
    }
  plan->latency += before;
}

static void
plan_hierarchical (CollectivePlan *plan, const LayContext *context, const Members *members)
{
  switch (plan->kind)
    {
    case COLLECTIVE_ALL_GATHER:
    case COLLECTIVE_REDUCE_SCATTER:
      plan_inside (plan, context, members, plan->kind);
      plan_across (plan, context, members, plan->kind);
      break;
    case COLLECTIVE_ALL_REDUCE:
      plan_inside (plan, context, members, COLLECTIVE_REDUCE_SCATTER);
      plan_across (plan, context, members, COLLECTIVE_ALL_REDUCE);
      plan_inside (plan, context, members, COLLECTIVE_ALL_GATHER);
      break;
    default:
      g_assert_not_reached ();
    }
}

static void
plan_pairwise (CollectivePlan *plan, const LayContext *context, const Members *members,
               const guint32 *ranks)
{
  const Cluster *cluster = context->sum->cluster;
  guint          n = members->n_gpus, node = members->nodes[0].node;
  gboolean       all = plan->kind == COLLECTIVE_ALL_TO_ALL;
  guint          peers = all ? n - 1 : 1;
  NcclGraph      graph = all ? pairwise_lay_all_to_all (context, members, 1.0 / n)
                             : pairwise_lay_send_recv (context, ranks, n, members->n_nodes, 1);

  add_hbm (context->sum, members, plan->kind, n, 1);
  plan->latency =
      launch_latency (cluster, members) + nccl_p2p_latency (nccl_latency (NULL), &graph, peers);
  plan->channels = nccl_p2p_channels (
      &graph, cluster_gpu_profile (cluster, members->gpus[0]), cluster_intra_profile (cluster, node),
      cluster_nic_profile (cluster, node), cluster_nics_of_node (cluster, node), peers);
}

/*
 * The algorithm that is used where ASKED does not apply: one level, uneven nodes, or a kind that
 * has no such form.
 */
static CollectiveAlgorithm
algorithm_resolve (CollectiveKind kind, CollectiveAlgorithm asked, const Members *members)
{
  if (kind == COLLECTIVE_ALL_TO_ALL || kind == COLLECTIVE_SEND_RECV)
    return ALGORITHM_PAIRWISE;
  if (asked == ALGORITHM_HIERARCHICAL && kind != COLLECTIVE_BROADCAST && members->n_nodes > 1
      && members->n_gpus > members->n_nodes && members_are_even (members))
    return ALGORITHM_HIERARCHICAL;
  return ALGORITHM_RING;
}

static void
plan_lay (CollectivePlan *plan, const Cluster *cluster, const Members *members, const guint32 *ranks)
{
  LoadSum        sum;
  ProximityCache proximity;
  LayContext     context = { &sum, &proximity };

  load_sum_init (&sum, cluster);
  proximity_cache_init (&proximity, cluster);
  if (plan->algorithm == ALGORITHM_PAIRWISE)
    plan_pairwise (plan, &context, members, ranks);
  else if (plan->algorithm == ALGORITHM_HIERARCHICAL)
    plan_hierarchical (plan, &context, members);
  else
    plan_ring (plan, &context, members, plan->kind, 1,
               plan->kind == COLLECTIVE_BROADCAST ? ranks[0] : NO_ROOT);
  load_sum_store (&sum, plan);
  proximity_cache_clear (&proximity);
  load_sum_clear (&sum);
}

CollectivePlan *
collective_plan_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks,
                     guint n_ranks, CollectiveAlgorithm algorithm)
{
  CollectivePlan *plan = g_new0 (CollectivePlan, 1);
  Members         members;

  g_assert (n_ranks >= 1);
  g_assert ((guint) kind < COLLECTIVE_N_KINDS);
  members_init (&members, cluster, ranks, n_ranks);
  plan->kind = kind;
  plan->algorithm = algorithm_resolve (kind, algorithm, &members);
  plan->n_ranks = n_ranks;
  plan->n_nodes = members.n_nodes;
  if (n_ranks > 1)
    plan_lay (plan, cluster, &members, ranks);
  members_clear (&members);
  return plan;
}

void
collective_plan_free (CollectivePlan *self)
{
  if (self == NULL)
    return;
  g_free (self->loads);
  g_free (self);
}

double
collective_plan_time (const CollectivePlan *self, double bytes)
{
  return self->latency + bytes * self->link_seconds_per_byte;
}
