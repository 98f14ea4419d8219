#include "cost/collective/library/collective.h"

#include <string.h>

#include "cost/collective/algorithm/algorithm-private.h"
#include "cost/collective/algorithm/host-ring-private.h"
#include "cost/collective/layout/layout-store-private.h"
#include "cost/collective/library/factors-private.h"

struct _CollectivePlan
{
  const Cluster    *cluster;
  CollectiveKind    kind;
  CollectiveOptions options;
  guint32          *ranks;
  Members           members;
  gboolean          even;    /* every node has equally many members */
  gboolean          one_way; /* a message from the first rank to the second */
  CollectiveGraph   graph;
  CollectiveLayout *layouts[ALGORITHM_N]; /* NULL until needed */
  HostRing         *host_ring;            /* likewise: of the hosts' transport */
};

const CollectiveOptions collective_default_options = { .algorithm = ALGORITHM_N,
                                                       .protocol = PROTOCOL_N,
                                                       .transport = TRANSPORT_GPU };

/* ---- plans ----------------------------------------------------------------------------------- */

static guint
plan_flows (const CollectivePlan *self, const Algorithm *algorithm)
{
  return algorithm_flows (algorithm, &self->graph, cluster_hashed_qps (self->cluster));
}

static CollectiveLayout *
plan_layout (CollectivePlan *self, const Algorithm *algorithm)
{
  CollectiveLayout **layout = &self->layouts[algorithm->id];

  if (*layout == NULL)
    *layout = layout_store_get (self->options.layouts, self->cluster, self->kind,
                                self->one_way ? NULL : algorithm, &self->members, self->ranks,
                                plan_flows (self, algorithm));
  return *layout;
}

static const Algorithm *
plan_algorithm (const CollectivePlan *self, CollectiveAlgorithm id)
{
  return algorithm_find (self->graph.hosts, self->kind, id);
}

CollectivePlan *
collective_plan_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks,
                     guint n_ranks, const CollectiveOptions *options)
{
  CollectivePlan *self = g_new0 (CollectivePlan, 1);

  g_assert (n_ranks >= 1);
  g_assert ((guint) kind < COLLECTIVE_N_KINDS);
  self->cluster = cluster;
  self->kind = kind;
  self->options = options != NULL ? *options : collective_default_options;
  self->ranks = g_memdup2 (ranks, n_ranks * sizeof *ranks);
  members_init (&self->members, cluster, ranks, n_ranks);
  self->even = members_are_even (&self->members);
  collective_graph_init (&self->graph, cluster, &self->members,
                         cluster_library (cluster, self->options.library), &self->options);
  self->members.pxn = self->graph.pxn;
  self->members.dispatch = self->graph.dispatch;
  self->members.stop = self->options.stop;
  return self;
}

CollectivePlan *
collective_plan_new_message (const Cluster *cluster, guint32 from, guint32 to,
                             const CollectiveOptions *options)
{
  const guint32   ranks[] = { from, to };
  CollectivePlan *self = collective_plan_new (cluster, COLLECTIVE_SEND_RECV, ranks, 2, options);

  g_assert (from != to);
  self->one_way = TRUE;
  return self;
}

void
collective_plan_free (CollectivePlan *self)
{
  if (self == NULL)
    return;
  for (guint i = 0; i < ALGORITHM_N; i++)
    collective_layout_free (self->layouts[i]);
  host_ring_free (self->host_ring);
  members_clear (&self->members);
  g_free (self->ranks);
  g_free (self);
}

guint
collective_plan_n_ranks (const CollectivePlan *self)
{
  return self->members.n_gpus;
}

guint
collective_plan_n_nodes (const CollectivePlan *self)
{
  return self->members.n_nodes;
}

double
collective_plan_payload (const CollectivePlan *self)
{
  return collective_passed_on (self->kind, self->members.n_gpus);
}

char *
collective_cost_binding (const CollectiveCost *cost, const Cluster *cluster, double bytes)
{
  if (cost->binding != G_MAXUINT32)
    return cluster_resource_name (cluster, cost->binding);
  return g_strdup (cost->rate_cap > 0 && bytes / cost->rate_cap > cost->latency ? "channels"
                                                                                : "latency");
}

static const HostRing *
hosts_of (CollectivePlan *self)
{
  if (self->host_ring == NULL)
    self->host_ring = host_ring_new (self->cluster, self->kind, self->ranks, self->members.n_gpus,
                                     &self->options);
  return self->host_ring;
}

void
collective_plan_cost (CollectivePlan *self, double bytes, CollectiveCost *cost)
{
  CollectiveChoice        choice;
  const CollectiveLayout *layout;

  *cost = (CollectiveCost){ .algorithm = ALGORITHM_RING,
                            .protocol = PROTOCOL_SIMPLE,
                            .weight = 1,
                            .service_scale = 1,
                            .binding = G_MAXUINT32 };
  if (self->members.n_gpus == 1)
    return;
  if (self->options.transport == TRANSPORT_HOST)
    {
      host_ring_cost (hosts_of (self), bytes, cost);
      return;
    }
  choice = collective_choose (&self->graph, self->kind, bytes, &self->options, self->even);
  layout = plan_layout (self, choice.algorithm);
  if (layout->cut)
    return;
  cost->loads = layout->loads;
  cost->n_loads = layout->n_loads;
  collective_time (&self->graph, self->kind, choice, bytes, &self->options, layout, cost);
}

void
collective_plan_step_parameters (CollectivePlan *self, double bytes, const CollectiveCost *cost,
                                 StepParameters *parameters)
{
  const Algorithm *algorithm = plan_algorithm (self, cost->algorithm);

  *parameters = (StepParameters){ .launch = cost->latency, .chunk = MAX (bytes, 1) };
  if (self->members.n_gpus > 1)
    collective_time_steps (&self->graph, self->kind, algorithm, bytes,
                           plan_layout (self, algorithm), cost, parameters);
}

StepProgram *
collective_plan_steps (CollectivePlan *self, double bytes)
{
  g_autoptr (RoutedEdges) edges = NULL;
  const Algorithm        *algorithm;
  CollectiveCost          cost;
  StepParameters          parameters;

  if (self->members.n_gpus > 1 && self->options.transport == TRANSPORT_HOST)
    return host_ring_steps (hosts_of (self), bytes);
  collective_plan_cost (self, bytes, &cost);
  collective_plan_step_parameters (self, bytes, &cost, &parameters);
  if (self->members.n_gpus == 1)
    return step_build_nothing (parameters.launch);
  algorithm = plan_algorithm (self, cost.algorithm);
  edges = collective_layout_edges (self->cluster, self->kind, algorithm, &self->members,
                                   self->ranks, plan_flows (self, algorithm));
  return step_build (&(StepSource){ .cluster = self->cluster,
                                    .kind = self->kind,
                                    .payload = collective_plan_payload (self),
                                    .n_ranks = self->members.n_gpus,
                                    .bytes = bytes,
                                    .cost = &cost,
                                    .parameters = &parameters,
                                    .build = algorithm->build,
                                    .edges = edges });
}

double
collective_plan_time (CollectivePlan *self, double bytes)
{
  const Algorithm *algorithm;
  CollectiveCost   cost;

  collective_plan_cost (self, bytes, &cost);
  if (self->members.n_gpus == 1 || self->options.transport == TRANSPORT_HOST)
    return cost.time;
  algorithm = plan_algorithm (self, cost.algorithm);
  return collective_time_bound (&self->graph, self->kind, algorithm, bytes,
                                plan_layout (self, algorithm), &cost);
}
