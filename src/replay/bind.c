/*
 * Which ranks, resources and groups are simulated, and what the ops of each class demand.
 *
 * Set: a graph whose nodes are ranks, machines, resources, collectives (one node a group and kind) and copies (one a rank and
 * direction), coloured by everything that their own behaviour depends on; edges join a rank to its machine, its SMs and its memory, an
 * op to its ranks, and an op to the resources it loads, labelled with the load a byte. Its coarsest equitable partition (cluster/fold.h)
 * gives the classes. Computed: the lowest member of each class, and for each class of ops the sum of the loads of ALL its ops on
 * each simulated resource. A rank's class decides the class of its groups, so a simulated rank finds its collective by its class.
 */
#include "cluster/fold.h"
#include "replay/replay-private.h"

#include <math.h>
#include <string.h>

typedef enum
{
  RELATION_NODE, /* rank - machine */
  RELATION_SM,
  RELATION_HBM,
  RELATION_MEMBER, /* op - rank */
  RELATION_LOAD,   /* op - resource */
} Relation;

typedef enum
{
  COLOUR_RANK,
  COLOUR_NODE,
  COLOUR_RESOURCE,
  COLOUR_COLLECTIVE,
  COLOUR_COPY,
} ColourKind;

/* Load of one op on a cluster resource, per byte. */
typedef struct
{
  guint32 resource;
  double  service;
} OpLoad;

typedef struct
{
  guint  first_load, n_loads;
  double latency, channels, inter, intra;
} GraphOp;

typedef struct
{
  const Cluster      *cluster;
  const Schedule     *schedule;
  CollectiveAlgorithm algorithm;
  guint               n_ranks, n_nodes, n_resources;
  gboolean           *used; /* [role][comm][kind] */
  gboolean            copies[COPY_N];
  guint32            *first_op; /* [comm][kind]: first group's op, or REPLAY_NONE */
  guint32             first_copy[COPY_N];
  GArray             *ops;      /* GraphOp */
  GArray             *loads;    /* OpLoad */
  GArray             *colours;  /* guint64 */
  GArray             *edges;    /* FoldEdge */
  GPtrArray          *profiles; /* distinct GPU and node profiles: their index is their colour */
} Graph;

/* The partition, with each class's lowest member and size. */
typedef struct
{
  guint    n_classes;
  guint32 *class_of; /* [graph nodes] */
  guint32 *lowest, *size;
} Classes;

/* ---- colours and labels ----------------------------------------------------------------------------------------- */

static guint64
colour_mix (guint64 colour, guint64 value)
{
  colour = (colour ^ value) + G_GUINT64_CONSTANT (0x9e3779b97f4a7c15);
  colour = (colour ^ (colour >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  colour = (colour ^ (colour >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return colour ^ (colour >> 31);
}

static guint64
colour_mix_double (guint64 colour, double value)
{
  guint64 bits;

  memcpy (&bits, &value, sizeof bits);
  return colour_mix (colour, bits);
}

static guint64
colour_mix_profile (Graph *self, guint64 colour, gconstpointer profile)
{
  guint index = 0;

  if (!g_ptr_array_find (self->profiles, profile, &index))
    {
      index = self->profiles->len;
      g_ptr_array_add (self->profiles, (gpointer) profile);
    }
  return colour_mix (colour, index);
}

/* 12 significant digits (40 bits): the order in which a planner adds loads up must not split a class. */
static double
round_label (double value)
{
  int    exponent;
  double mantissa = frexp (value, &exponent);

  return ldexp (nearbyint (mantissa * 0x1p40), exponent - 40);
}

/* ---- nodes of the graph ----------------------------------------------------------------------------------------- */

static guint32
node_node (const Graph *self, guint node)
{
  return self->n_ranks + node;
}

static guint32
resource_node (const Graph *self, guint resource)
{
  return self->n_ranks + self->n_nodes + resource;
}

static guint32
op_node (const Graph *self, guint op)
{
  return self->n_ranks + self->n_nodes + self->n_resources + op;
}

static void
add_edge (Graph *self, guint32 a, guint32 b, Relation relation, double label)
{
  FoldEdge edge = { a, b, label, relation };

  g_array_append_val (self->edges, edge);
}

static void
add_colour (Graph *self, guint64 colour)
{
  g_array_append_val (self->colours, colour);
}

static void
add_ranks (Graph *self)
{
  for (guint r = 0; r < self->n_ranks; r++)
    {
      guint   node = cluster_node_of_gpu (self->cluster, r);
      guint64 colour = colour_mix (COLOUR_RANK, schedule_role_of_rank (self->schedule, r));

      colour = colour_mix_profile (self, colour, cluster_gpu_profile (self->cluster, r));
      colour = colour_mix_profile (self, colour, cluster_node_profile (self->cluster, node));
      add_colour (self, colour_mix_double (colour, cluster_gpu_speed (self->cluster, r)));
      add_edge (self, r, node_node (self, node), RELATION_NODE, 1);
      add_edge (self, r, resource_node (self, cluster_gpu_resource (self->cluster, r, RESOURCE_SM)),
                RELATION_SM, 1);
      add_edge (self, r, resource_node (self, cluster_gpu_resource (self->cluster, r, RESOURCE_HBM)),
                RELATION_HBM, 1);
    }
}

static void
add_nodes (Graph *self)
{
  for (guint n = 0; n < self->n_nodes; n++)
    add_colour (self, colour_mix_profile (self, COLOUR_NODE, cluster_node_profile (self->cluster, n)));
}

static void
add_resources (Graph *self)
{
  for (guint i = 0; i < self->n_resources; i++)
    {
      const ClusterResource *resource = cluster_resource (self->cluster, i);
      guint64                colour = colour_mix (COLOUR_RESOURCE, resource->kind);

      colour = colour_mix_double (colour, resource->capacity);
      add_colour (self, colour_mix_double (colour, resource->efficiency));
    }
}

/* ---- what the schedule uses -------------------------------------------------------------------------------------- */

static guint
use_index (const Graph *self, guint role, CommRef comm, guint kind)
{
  return (role * schedule_n_comms (self->schedule) + comm) * SCHEDULE_COLLECTIVE_N + kind;
}

static void
note_uses (Graph *self)
{
  guint n_roles = schedule_n_roles (self->schedule);

  self->used =
      g_new0 (gboolean, n_roles * schedule_n_comms (self->schedule) * SCHEDULE_COLLECTIVE_N + 1);
  for (guint role = 0; role < n_roles; role++)
    for (ScheduleSection s = 0; s < SECTION_N; s++)
      {
        ScheduleItems items = schedule_items (self->schedule, role, s);

        for (guint i = 0; i < items.n; i++)
          if (items.items[i].kind == ITEM_COLLECTIVE)
            self->used[use_index (self, role, items.items[i].ref, items.items[i].collective)] = TRUE;
          else if (items.items[i].kind == ITEM_COPY)
            self->copies[items.items[i].collective] = TRUE;
      }
}

static gboolean
comm_uses (const Graph *self, CommRef comm, guint kind)
{
  for (guint role = 0; role < schedule_n_roles (self->schedule); role++)
    if (self->used[use_index (self, role, comm, kind)])
      return TRUE;
  return FALSE;
}

/* ---- ops --------------------------------------------------------------------------------------------------------- */

static void
add_load (Graph *self, guint op, guint32 resource, double service)
{
  OpLoad load = { resource, service };

  if (!(service > 0))
    return;
  g_array_append_val (self->loads, load);
  add_edge (self, op_node (self, op), resource_node (self, resource), RELATION_LOAD,
            round_label (service));
}

static GraphOp *
begin_op (Graph *self, double latency, double channels)
{
  GraphOp op = { .first_load = self->loads->len, .latency = latency, .channels = channels };

  g_array_append_val (self->ops, op);
  return &g_array_index (self->ops, GraphOp, self->ops->len - 1);
}

static void
end_op (Graph *self, guint64 colour)
{
  GraphOp *op = &g_array_index (self->ops, GraphOp, self->ops->len - 1);

  op->n_loads = self->loads->len - op->first_load;
  colour = colour_mix_double (colour, round_label (op->latency));
  add_colour (self, colour_mix_double (colour, op->channels));
}

/* What a plan moves between nodes, and between GPUs of a node: cards are reached over PCIe as well, which is not counted twice. */
static void
sum_payloads (const Cluster *cluster, const CollectivePlan *plan, double *inter, double *intra)
{
  double pcie = 0, nvlink = 0;

  *inter = 0;
  for (guint i = 0; i < plan->n_loads; i++)
    switch (cluster_resource (cluster, plan->loads[i].resource)->kind)
      {
      case RESOURCE_NIC_TX:
        *inter += plan->loads[i].payload;
        break;
      case RESOURCE_PCIE_UP:
        pcie += plan->loads[i].payload;
        break;
      case RESOURCE_NVLINK_OUT:
      case RESOURCE_NVLINK_PAIR:
        nvlink += plan->loads[i].payload;
        break;
      default:
        break;
      }
  *intra = nvlink + MAX (pcie - *inter, 0);
}

static CollectiveKind
collective_of (ScheduleCollective kind)
{
  static const CollectiveKind kinds[SCHEDULE_COLLECTIVE_N] = {
    [SCHEDULE_ALL_GATHER] = COLLECTIVE_ALL_GATHER,
    [SCHEDULE_REDUCE_SCATTER] = COLLECTIVE_REDUCE_SCATTER,
    [SCHEDULE_ALL_REDUCE] = COLLECTIVE_ALL_REDUCE,
    [SCHEDULE_BROADCAST] = COLLECTIVE_BROADCAST,
    [SCHEDULE_ALL_TO_ALL] = COLLECTIVE_ALL_TO_ALL,
    [SCHEDULE_SEND_RECV] = COLLECTIVE_SEND_RECV,
  };

  return kinds[kind];
}

static CollectiveAlgorithm
algorithm_of (const Graph *self, ScheduleCollective kind)
{
  return kind == SCHEDULE_ALL_TO_ALL || kind == SCHEDULE_SEND_RECV ? ALGORITHM_N : self->algorithm;
}

static void
add_collective (Graph *self, CommRef comm, ScheduleCollective kind, const guint32 *members, guint n)
{
  g_autoptr (CollectivePlan) plan = collective_plan_new (self->cluster, collective_of (kind),
                                                         members, n, algorithm_of (self, kind));
  guint                      index = self->ops->len;
  GraphOp                   *op = begin_op (self, plan->latency, plan->channels);

  sum_payloads (self->cluster, plan, &op->inter, &op->intra);
  for (guint i = 0; i < n; i++)
    add_edge (self, op_node (self, index), members[i], RELATION_MEMBER, 1);
  for (guint i = 0; i < plan->n_loads; i++)
    add_load (self, index, plan->loads[i].resource, plan->loads[i].service);
  end_op (self, colour_mix (colour_mix (COLOUR_COLLECTIVE, comm), kind));
}

/* A group whose ranks do not use this kind keeps the numbering dense, and stands for nothing. */
static void
add_unused (Graph *self)
{
  begin_op (self, 0, 0);
  end_op (self, COLOUR_COLLECTIVE);
}

static guint
first_rank_of_group (MeshGroup group, guint index)
{
  return index / group.stride * group.size * group.stride + index % group.stride;
}

static guint
group_of_rank (MeshGroup group, guint rank)
{
  return rank / (group.size * group.stride) * group.stride + rank % group.stride;
}

static void
add_groups (Graph *self, CommRef comm, ScheduleCollective kind)
{
  MeshGroup           group = schedule_comm_info (self->schedule, comm)->group;
  g_autofree guint32 *members = g_new (guint32, group.size);

  for (guint i = 0; i < self->n_ranks / group.size; i++)
    {
      guint first = first_rank_of_group (group, i);

      if (self->used[use_index (self, schedule_role_of_rank (self->schedule, first), comm, kind)])
        {
          mesh_group_members (group, first, members);
          add_collective (self, comm, kind, members, group.size);
        }
      else
        add_unused (self);
    }
}

static void
add_collectives (Graph *self)
{
  guint n_comms = schedule_n_comms (self->schedule);

  self->first_op = g_new (guint32, n_comms * SCHEDULE_COLLECTIVE_N + 1);
  for (CommRef comm = 0; comm < n_comms; comm++)
    for (guint kind = 0; kind < SCHEDULE_COLLECTIVE_N; kind++)
      {
        gboolean used = comm_uses (self, comm, kind);

        self->first_op[comm * SCHEDULE_COLLECTIVE_N + kind] = used ? self->ops->len : REPLAY_NONE;
        if (used)
          add_groups (self, comm, kind);
      }
}

/* PCIe carries a copy at the copy engine's efficiency; memory takes its bytes. */
static void
add_copy (Graph *self, ScheduleCopy kind, guint rank)
{
  double efficiency = cluster_gpu_profile (self->cluster, rank)->host_copy_efficiency.value;
  guint  index = self->ops->len;
  Route  route;

  if (kind == COPY_TO_HOST)
    cluster_route_to_host (self->cluster, rank, &route);
  else
    cluster_route_from_host (self->cluster, rank, &route);
  begin_op (self, route.latency, 0);
  add_edge (self, op_node (self, index), rank, RELATION_MEMBER, 1);
  add_load (self, index, cluster_gpu_resource (self->cluster, rank, RESOURCE_HBM), 1);
  for (guint i = 0; i < route.n; i++)
    {
      ResourceKind on = cluster_resource (self->cluster, route.resources[i])->kind;
      gboolean pcie = on == RESOURCE_PCIE_UP || on == RESOURCE_PCIE_DOWN || on == RESOURCE_SWITCH_UP
                      || on == RESOURCE_SWITCH_DOWN;

      add_load (self, index, route.resources[i], pcie ? 1 / efficiency : 1);
    }
  end_op (self, colour_mix (COLOUR_COPY, kind));
}

static void
add_copies (Graph *self)
{
  for (ScheduleCopy kind = 0; kind < COPY_N; kind++)
    {
      self->first_copy[kind] = self->copies[kind] ? self->ops->len : REPLAY_NONE;
      for (guint r = 0; self->copies[kind] && r < self->n_ranks; r++)
        add_copy (self, kind, r);
    }
}

static void
graph_init (Graph *self)
{
  self->n_ranks = cluster_n_gpus (self->cluster);
  self->n_nodes = cluster_n_nodes (self->cluster);
  self->n_resources = cluster_n_resources (self->cluster);
  self->ops = g_array_new (FALSE, FALSE, sizeof (GraphOp));
  self->loads = g_array_new (FALSE, FALSE, sizeof (OpLoad));
  self->colours = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->edges = g_array_new (FALSE, FALSE, sizeof (FoldEdge));
  self->profiles = g_ptr_array_new ();
  add_ranks (self);
  add_nodes (self);
  add_resources (self);
  note_uses (self);
  add_collectives (self);
  add_copies (self);
}

static void
graph_clear (Graph *self)
{
  g_array_unref (self->ops);
  g_array_unref (self->loads);
  g_array_unref (self->colours);
  g_array_unref (self->edges);
  g_ptr_array_unref (self->profiles);
  g_free (self->used);
  g_free (self->first_op);
}

/* ---- classes ----------------------------------------------------------------------------------------------------- */

static void
classes_identity (Classes *self, guint n)
{
  self->n_classes = n;
  self->class_of = g_new (guint32, n);
  for (guint i = 0; i < n; i++)
    self->class_of[i] = i;
}

static void
classes_init (Classes *self, Graph *graph, gboolean unfolded)
{
  guint n = graph->colours->len;

  if (unfolded)
    classes_identity (self, n);
  else
    {
      g_autoptr (FoldResult) fold =
          fold_refine (n, (const guint64 *) (gconstpointer) graph->colours->data,
                       (const FoldEdge *) (gconstpointer) graph->edges->data, graph->edges->len);

      self->n_classes = fold->n_classes;
      self->class_of = g_memdup2 (fold->class_of, n * sizeof (guint32));
    }
  g_array_set_size (graph->edges, 0);
  self->lowest = g_new (guint32, self->n_classes);
  self->size = g_new0 (guint32, self->n_classes);
  for (guint i = 0; i < n; i++)
    if (self->size[self->class_of[i]]++ == 0)
      self->lowest[self->class_of[i]] = i;
}

static void
classes_clear (Classes *self)
{
  g_free (self->class_of);
  g_free (self->lowest);
  g_free (self->size);
}

static gboolean
is_lowest (const Classes *self, guint32 node)
{
  return self->lowest[self->class_of[node]] == node;
}

/* ---- what is simulated ------------------------------------------------------------------------------------------- */

/* While a binding is put together: where each class went, REPLAY_NONE while nowhere. */
typedef struct
{
  Binding       *binding;
  const Graph   *graph;
  const Classes *classes;
  guint32 *index; /* [classes]: engine resource, node, plan or group, by the kind of the class */
  guint32 *group_index; /* [classes]: of ops */
} Folder;

static guint32
fold_thing (Folder *self, GArray *things, guint32 node, guint32 id)
{
  guint32    class_ = self->classes->class_of[node];
  BoundThing thing = { id, self->classes->size[class_] };

  if (self->index[class_] == REPLAY_NONE)
    {
      self->index[class_] = things->len;
      g_array_append_val (things, thing);
    }
  return self->index[class_];
}

static guint32
fold_resource (Folder *self, guint32 resource)
{
  guint32 class_ = self->classes->class_of[resource_node (self->graph, resource)];
  guint32 lowest = self->classes->lowest[class_];

  return fold_thing (self, self->binding->resources, lowest, lowest - resource_node (self->graph, 0));
}

/* Op classes are numbered as they are met; their loads follow later, all at once. */
static guint32
fold_plan (Folder *self, guint op)
{
  guint32        class_ = self->classes->class_of[op_node (self->graph, op)];
  const GraphOp *lowest = &g_array_index (self->graph->ops, GraphOp,
                                          self->classes->lowest[class_] - op_node (self->graph, 0));
  BoundPlan      plan = { 0,
                          0,
                          self->classes->size[class_],
                          lowest->latency,
                          lowest->channels,
                          lowest->inter,
                          lowest->intra };

  if (self->index[class_] == REPLAY_NONE)
    {
      self->index[class_] = self->binding->plans->len;
      g_array_append_val (self->binding->plans, plan);
    }
  return self->index[class_];
}

static guint
count_on_node (const Folder *self, guint rank)
{
  const Cluster *cluster = self->graph->cluster;
  guint          node = cluster_node_of_gpu (cluster, rank);
  guint          first = cluster_first_gpu (cluster, node);
  guint          n = 0;

  for (guint r = first; r < first + cluster_gpus_of_node (cluster, node); r++)
    n += self->classes->class_of[r] == self->classes->class_of[rank];
  return n;
}

static void
fold_ranks (Folder *self)
{
  const Graph *graph = self->graph;

  for (guint r = 0; r < graph->n_ranks; r++)
    {
      guint     node = cluster_node_of_gpu (graph->cluster, r);
      BoundRank rank = {
        .rank = r,
        .size = self->classes->size[self->classes->class_of[r]],
        .role = schedule_role_of_rank (graph->schedule, r),
      };

      if (!is_lowest (self->classes, r))
        continue;
      rank.n_on_node = count_on_node (self, r);
      rank.node = fold_thing (self, self->binding->nodes, node_node (graph, node), node);
      rank.sm = fold_resource (self, cluster_gpu_resource (graph->cluster, r, RESOURCE_SM));
      rank.hbm = fold_resource (self, cluster_gpu_resource (graph->cluster, r, RESOURCE_HBM));
      for (ScheduleCopy kind = 0; kind < COPY_N; kind++)
        rank.copies[kind] =
            graph->copies[kind] ? fold_plan (self, graph->first_copy[kind] + r) : REPLAY_NONE;
      g_array_append_val (self->binding->ranks, rank);
    }
}

/* The group of COMM that rank R is in, by the class of its collectives; REPLAY_NONE when it uses none. */
static guint32
fold_group (Folder *self, CommRef comm, guint r)
{
  const Graph *graph = self->graph;
  guint        instance = group_of_rank (schedule_comm_info (graph->schedule, comm)->group, r);
  guint        role = schedule_role_of_rank (graph->schedule, r);
  guint32      found = REPLAY_NONE;

  for (guint kind = 0; kind < SCHEDULE_COLLECTIVE_N; kind++)
    {
      guint32 first = graph->first_op[comm * SCHEDULE_COLLECTIVE_N + kind];

      if (!graph->used[use_index (graph, role, comm, kind)])
        continue;
      if (found == REPLAY_NONE)
        {
          guint32 *slot =
              &self->group_index[self->classes->class_of[op_node (graph, first + instance)]];

          if (*slot == REPLAY_NONE)
            {
              BoundGroup group = { .comm = comm };

              memset (group.plans, 0xff, sizeof group.plans);
              *slot = self->binding->groups->len;
              g_array_append_val (self->binding->groups, group);
            }
          found = *slot;
        }
      binding_group (self->binding, found)->plans[kind] = fold_plan (self, first + instance);
    }
  return found;
}

static void
fold_groups (Folder *self)
{
  Binding *binding = self->binding;
  guint    n_comms = schedule_n_comms (self->graph->schedule), n_ranks = binding->ranks->len;

  binding->group_of = g_new (guint32, n_comms * n_ranks + 1);
  for (CommRef comm = 0; comm < n_comms; comm++)
    for (guint i = 0; i < n_ranks; i++)
      {
        guint32 group = fold_group (self, comm, binding_rank (binding, i)->rank);

        binding->group_of[comm * n_ranks + i] = group;
        if (group != REPLAY_NONE)
          binding_group (binding, group)->n_members++;
      }
}

static void
fold_members (Binding *self, guint n_comms)
{
  guint               n_ranks = self->ranks->len, n = 0;
  g_autofree guint32 *filled = g_new0 (guint32, self->groups->len + 1);

  for (guint g = 0; g < self->groups->len; g++)
    {
      binding_group (self, g)->first_member = n;
      n += binding_group (self, g)->n_members;
    }
  g_array_set_size (self->members, n);
  for (guint i = 0; i < n_comms * n_ranks; i++)
    if (self->group_of[i] != REPLAY_NONE)
      {
        guint32 group = self->group_of[i];

        g_array_index (self->members, guint32,
                       binding_group (self, group)->first_member + filled[group]++) = i % n_ranks;
      }
}

/* ---- loads ------------------------------------------------------------------------------------------------------- */

typedef struct
{
  guint32 plan, resource;
  guint32 sequence;
  double  service;
} PlanLoad;

static gint
compare_loads (gconstpointer a, gconstpointer b)
{
  const PlanLoad *x = a, *y = b;

  if (x->plan != y->plan)
    return x->plan < y->plan ? -1 : 1;
  if (x->resource != y->resource)
    return x->resource < y->resource ? -1 : 1;
  return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Loads of all ops that are simulated on the resources that are simulated. */
static GArray *
collect_loads (Folder *self)
{
  GArray *found = g_array_new (FALSE, FALSE, sizeof (PlanLoad));

  for (guint o = 0; o < self->graph->ops->len; o++)
    {
      const GraphOp *op = &g_array_index (self->graph->ops, GraphOp, o);
      guint32        plan = self->index[self->classes->class_of[op_node (self->graph, o)]];

      for (guint i = op->first_load; plan != REPLAY_NONE && i < op->first_load + op->n_loads; i++)
        {
          const OpLoad *load = &g_array_index (self->graph->loads, OpLoad, i);
          PlanLoad      entry = { plan, 0, found->len, load->service };

          if (!is_lowest (self->classes, resource_node (self->graph, load->resource)))
            continue;
          entry.resource = fold_resource (self, load->resource);
          g_array_append_val (found, entry);
        }
    }
  g_array_sort (found, compare_loads);
  return found;
}

static void
fold_loads (Folder *self)
{
  g_autoptr (GArray) found = collect_loads (self);
  GArray            *loads = self->binding->loads;

  for (guint i = 0; i < found->len;)
    {
      const PlanLoad *first = &g_array_index (found, PlanLoad, i);
      BoundPlan      *plan = binding_plan (self->binding, first->plan);
      BoundLoad       load = { first->resource, 0 };

      for (; i < found->len; i++)
        {
          const PlanLoad *next = &g_array_index (found, PlanLoad, i);

          if (next->plan != first->plan || next->resource != first->resource)
            break;
          load.service += next->service;
        }
      if (plan->n_loads++ == 0)
        plan->first_load = loads->len;
      g_array_append_val (loads, load);
    }
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

static Binding *
binding_alloc (void)
{
  Binding *self = g_new0 (Binding, 1);

  self->ranks = g_array_new (FALSE, FALSE, sizeof (BoundRank));
  self->nodes = g_array_new (FALSE, FALSE, sizeof (BoundThing));
  self->resources = g_array_new (FALSE, FALSE, sizeof (BoundThing));
  self->groups = g_array_new (FALSE, FALSE, sizeof (BoundGroup));
  self->members = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->plans = g_array_new (FALSE, FALSE, sizeof (BoundPlan));
  self->loads = g_array_new (FALSE, FALSE, sizeof (BoundLoad));
  return self;
}

void
binding_free (Binding *self)
{
  if (self == NULL)
    return;
  g_array_unref (self->ranks);
  g_array_unref (self->nodes);
  g_array_unref (self->resources);
  g_array_unref (self->groups);
  g_array_unref (self->members);
  g_array_unref (self->plans);
  g_array_unref (self->loads);
  g_free (self->group_of);
  g_free (self);
}

Binding *
binding_new (const Cluster *cluster, const Schedule *schedule, gboolean unfolded,
             CollectiveAlgorithm algorithm)
{
  Graph   graph = { .cluster = cluster, .schedule = schedule, .algorithm = algorithm };
  Classes classes = { 0 };
  Folder  folder = { .binding = binding_alloc (), .graph = &graph, .classes = &classes };

  graph_init (&graph);
  classes_init (&classes, &graph, unfolded);
  folder.index = g_new (guint32, classes.n_classes);
  folder.group_index = g_new (guint32, classes.n_classes);
  memset (folder.index, 0xff, classes.n_classes * sizeof (guint32));
  memset (folder.group_index, 0xff, classes.n_classes * sizeof (guint32));
  fold_ranks (&folder);
  fold_groups (&folder);
  fold_members (folder.binding, schedule_n_comms (schedule));
  fold_loads (&folder);
  g_free (folder.index);
  g_free (folder.group_index);
  classes_clear (&classes);
  graph_clear (&graph);
  return folder.binding;
}
