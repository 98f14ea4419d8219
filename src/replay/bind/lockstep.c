/*
 * Ranks in lockstep.
 *
 * Where two ranks differ in nothing but what their traffic puts on links (the ends of a tree carry
 * half of what its middle does), they issue, compute and wait for the same things; only how long a
 * collective or message takes may differ. So the ranks of the partition without loads of links are
 * simulated once, and the traffic of each of its parts beside it, as twins (engine.h): traffic
 * shares whole links whatever kernels run, so that its rates are those of the finer partition for
 * as long as all twins end together. A run in which they do not is no answer.
 *
 * Ranks that meet. Where hashes spread the messages of a pipeline, all twins of a message end at
 * times of their own. The ranks of a tensor-parallel group receive one each, run the same kernels,
 * and wait for each other in their next collective: it begins when the last of them has come, which
 * is when the simulated one comes that had every message last. So the ranks of groups that meet
 * often are simulated once a group where kernels run alone, and twins may end apart (twins.c): the
 * times of the step are those of all ranks, but not what is said of single ones.
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

/* ---- ranks that meet ------------------------------------------------------------------------- */

#define FEWER 2 /* times fewer ranks must be left: a run that fails is run again */

/* The communicator whose collectives are issued most. */
guint32
lockstep_meeting (const Schedule *schedule)
{
  const guint       n_comms = schedule_n_comms (schedule);
  g_autofree guint *n = g_new0 (guint, n_comms + 1);
  CommRef           most = 0;

  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    {
      const ScheduleItems items = schedule_items (schedule, role, SECTION_STEADY);

      for (guint i = 0; i < items.n; i++)
        if (items.items[i].kind == ITEM_COLLECTIVE)
          n[items.items[i].ref]++;
    }
  for (CommRef comm = 1; comm < n_comms; comm++)
    if (n[comm] > n[most])
      most = comm;
  return n[most] > 0 && schedule_steps_per_period (schedule) == 1 && kernels_run_alone (schedule)
             ? most
             : REPLAY_NONE;
}

/* Ranks are told apart by who is in their groups of COMM: how many of each of PARTS. */
static void
colour_groups (BindGraph *graph, CommRef comm, const Classes *parts)
{
  const MeshGroup     group = schedule_comm_info (graph->schedule, comm)->group;
  const guint         n_groups = graph->n_ranks / group.size;
  g_autofree guint64 *sums = g_new0 (guint64, n_groups + 1);

  for (guint r = 0; r < graph->n_ranks; r++)
    sums[bind_graph_group (group, r)] += colour_mix (0, parts->class_of[r]);
  for (guint r = 0; r < graph->n_ranks; r++)
    {
      guint64 *colour = &g_array_index (graph->colours, guint64, r);

      *colour = colour_mix (*colour, sums[bind_graph_group (group, r)]);
    }
}

Classes *
classes_new_apart (BindGraph *graph, const Classes *parts)
{
  const guint         n = n_rank_classes (parts, graph);
  g_autoptr (Classes) self = NULL;
  guint32             meeting;

  if (n <= schedule_n_roles (graph->schedule))
    return NULL;
  meeting = lockstep_meeting (graph->schedule);
  if (meeting == REPLAY_NONE)
    return NULL;
  drop_link_loads (graph);
  colour_groups (graph, meeting, parts);
  self = classes_new (graph, FALSE);
  return self != NULL && n_rank_classes (self, graph) * FEWER <= n ? g_steal_pointer (&self) : NULL;
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
