/*
 * Ranks in lockstep.
 *
 * Where two ranks differ in nothing but what their traffic puts on links (the ends of a tree carry
 * half of what its middle does), they issue, compute and wait for the same things; only how long a
 * collective or message takes may differ. So the ranks of the partition without loads of links are
 * simulated once, and the traffic of each of its parts beside it, as twins (engine.h): traffic
 * shares whole links whatever kernels run, so that its rates are those of the finer partition for
 * as long as all twins end together. A run in which they do not is no answer.
 */
#include "replay/bind/bind-private.h"

#include <math.h>

#define ALIKE 1e-12 /* by which rates differ that are the same in another order */

/* ---- the partition --------------------------------------------------------------------------- */

static guint
n_rank_classes (const Classes *self, const BindGraph *graph)
{
  guint n = 0;

  for (guint r = 0; r < graph->n_ranks; r++)
    n += classes_is_lowest (self, r);
  return n;
}

static void
drop_link_loads (BindGraph *graph)
{
  const guint32 resources = bind_graph_resource (graph, 0);
  guint         n = 0;

  for (guint i = 0; i < graph->edges->len; i++)
    {
      const OrbitEdge edge = g_array_index (graph->edges, OrbitEdge, i);

      if (edge.relation != RELATION_LOAD || !bind_graph_is_link (graph, edge.b - resources))
        g_array_index (graph->edges, OrbitEdge, n++) = edge;
    }
  g_array_set_size (graph->edges, n);
}

Classes *
classes_new_in_lockstep (BindGraph *graph, const Classes *parts)
{
  const guint         n = n_rank_classes (parts, graph);
  g_autoptr (Classes) self = NULL;

  if (n <= schedule_n_roles (graph->schedule))
    return NULL;
  drop_link_loads (graph);
  self = classes_new (graph, FALSE);
  return self != NULL && n_rank_classes (self, graph) < n ? g_steal_pointer (&self) : NULL;
}

/* ---- whether it may hold --------------------------------------------------------------------- */

/* What an op of PLAN may move a second while nothing else does: what its fullest link carries. */
static double
rate_alone (const Binding *self, const Cluster *cluster, const BoundPlan *plan)
{
  double most = 0;

  for (guint i = plan->first_load; i < plan->first_load + plan->n_loads; i++)
    {
      const BoundLoad *load = &g_array_index (self->loads, BoundLoad, i);
      const guint32    id = g_array_index (self->resources, BoundThing, load->resource).id;

      most = MAX (most, load->service / cluster_resource (cluster, id)->capacity);
    }
  return most > 0 ? 1 / most : INFINITY;
}

/* Whether PLAN and its twins are as fast alone, none of them faster than CAP. */
static gboolean
twins_are_as_fast (const Binding *self, const Cluster *cluster, guint32 plan, double cap)
{
  const double rate = MIN (cap, rate_alone (self, cluster, binding_plan (self, plan)));

  for (guint32 i = binding_plan (self, plan)->twin; i != REPLAY_NONE;
       i = binding_plan (self, i)->twin)
    {
      double other = MIN (cap, rate_alone (self, cluster, binding_plan (self, i)));

      if (other != rate && fabs (other - rate) > ALIKE * MAX (other, rate))
        return FALSE;
    }
  return TRUE;
}

gboolean
lockstep_may_hold (const Binding *self, const Cluster *cluster)
{
  for (guint i = 0; i < self->costs->len; i++)
    {
      const BoundCost *cost = &g_array_index (self->costs, BoundCost, i);
      const double     cap = cost->rate_cap > 0 ? cost->rate_cap * cost->service_scale : INFINITY;

      if (!twins_are_as_fast (self, cluster, cost->plan, cap))
        return FALSE;
    }
  return TRUE;
}
