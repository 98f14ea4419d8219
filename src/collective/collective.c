#include "collective/collective.h"

#include <string.h>

#include "base/suggest.h"
#include "collective/step-build-private.h"
#include "collective/time-private.h"

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
};

const CollectiveOptions collective_default_options = { ALGORITHM_N, PROTOCOL_N, NULL, FALSE,
                                                       FALSE };

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const algorithm_names[ALGORITHM_N] = {
  [ALGORITHM_RING] = "ring",
  [ALGORITHM_TREE] = "tree",
  [ALGORITHM_NVLS] = "nvls",
  [ALGORITHM_NVLS_TREE] = "nvls_tree",
  [ALGORITHM_PAT] = "pat",
  [ALGORITHM_COLLNET_DIRECT] = "collnet_direct",
  [ALGORITHM_COLLNET_CHAIN] = "collnet_chain",
  [ALGORITHM_PAIRWISE] = "pairwise",
  [ALGORITHM_HIERARCHICAL] = "hierarchical",
  [ALGORITHM_ALL_PAIRS] = "all_pairs",
  [ALGORITHM_LINEAR] = "linear",
  [ALGORITHM_PIPELINE] = "pipeline",
};

static const char *const protocol_names[PROTOCOL_N] = {
  [PROTOCOL_LL] = "ll",
  [PROTOCOL_LL128] = "ll128",
  [PROTOCOL_SIMPLE] = "simple",
};

const char *
collective_algorithm_name (CollectiveAlgorithm algorithm)
{
  g_assert ((guint) algorithm < ALGORITHM_N);
  return algorithm_names[algorithm];
}

CollectiveAlgorithm
collective_algorithm_parse (const char *name)
{
  return (CollectiveAlgorithm) name_find_loosely (algorithm_names, ALGORITHM_N, name);
}

const char *
collective_protocol_name (CollectiveProtocol protocol)
{
  g_assert ((guint) protocol < PROTOCOL_N);
  return protocol_names[protocol];
}

CollectiveProtocol
collective_protocol_parse (const char *name)
{
  return (CollectiveProtocol) name_find_loosely (protocol_names, PROTOCOL_N, name);
}

/* ---- factors --------------------------------------------------------------------------------- */

double
collective_wire_factor (CollectiveKind kind, guint n_ranks)
{
  double share = n_ranks > 1 ? (n_ranks - 1.0) / n_ranks : 0;

  if (kind == COLLECTIVE_ALL_REDUCE)
    return 2 * share;
  return kind == COLLECTIVE_SEND_RECV ? n_ranks > 1 : share;
}

double
collective_bus_factor (CollectiveKind kind, guint n_ranks)
{
  switch (kind)
    {
    case COLLECTIVE_BROADCAST:
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_SEND_RECV:
      return 1;
    default:
      return collective_wire_factor (kind, n_ranks);
    }
}

/* ---- plans ----------------------------------------------------------------------------------- */

static CollectiveLayout *
plan_layout (CollectivePlan *self, CollectiveAlgorithm algorithm)
{
  if (self->layouts[algorithm] == NULL && self->one_way)
    self->layouts[algorithm] =
        collective_layout_new_message (self->cluster, &self->members, self->ranks);
  else if (self->layouts[algorithm] == NULL)
    self->layouts[algorithm] =
        collective_layout_new (self->cluster, self->kind, algorithm, &self->members, self->ranks);
  return self->layouts[algorithm];
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
                         nccl_tables (self->options.library));
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
  return self->kind == COLLECTIVE_BROADCAST || self->kind == COLLECTIVE_REDUCE
             ? 1
             : collective_wire_factor (self->kind, self->members.n_gpus);
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
  choice = collective_choose (&self->graph, self->kind, bytes, &self->options, self->even);
  layout = plan_layout (self, choice.algorithm);
  cost->loads = layout->loads;
  cost->n_loads = layout->n_loads;
  collective_time (&self->graph, self->kind, choice, bytes, &self->options, layout, cost);
}

void
collective_plan_step_parameters (CollectivePlan *self, double bytes, const CollectiveCost *cost,
                                 StepParameters *parameters)
{
  *parameters = (StepParameters){ .launch = cost->latency, .chunk = MAX (bytes, 1) };
  if (self->members.n_gpus > 1)
    collective_time_steps (&self->graph, self->kind, bytes, plan_layout (self, cost->algorithm),
                           cost, parameters);
}

StepProgram *
collective_plan_steps (CollectivePlan *self, double bytes)
{
  g_autoptr (LayEdges) edges = NULL;
  CollectiveCost       cost;
  StepParameters       parameters;
  gboolean             rendezvous;

  collective_plan_cost (self, bytes, &cost);
  collective_plan_step_parameters (self, bytes, &cost, &parameters);
  if (self->members.n_gpus > 1)
    edges = collective_layout_edges (self->cluster, self->kind, cost.algorithm, &self->members,
                                     self->ranks);
  rendezvous = self->graph.hosts && cost.algorithm == ALGORITHM_PAIRWISE
               && self->kind == COLLECTIVE_ALL_TO_ALL;
  return step_build (&(StepSource){ .cluster = self->cluster,
                                    .kind = self->kind,
                                    .payload = collective_plan_payload (self),
                                    .n_ranks = self->members.n_gpus,
                                    .bytes = bytes,
                                    .cost = &cost,
                                    .parameters = &parameters,
                                    .rounds = rendezvous || cost.algorithm == ALGORITHM_PAT,
                                    .rendezvous = rendezvous,
                                    .edges = edges });
}

double
collective_plan_time (CollectivePlan *self, double bytes)
{
  CollectiveCost cost;

  collective_plan_cost (self, bytes, &cost);
  if (self->members.n_gpus == 1)
    return cost.time;
  return collective_time_bound (&self->graph, self->kind, bytes, plan_layout (self, cost.algorithm),
                                &cost);
}
