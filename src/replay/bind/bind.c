/*
 * Which ranks, resources and groups are simulated, and what the ops of each class demand.
 *
 * Set: a graph whose nodes are ranks, machines, resources, collectives (one node a group, kind and
 * algorithm that any group uses for it), messages between stages (one a sender and receiver) and
 * moves (one a rank and pair of places), coloured by all that their own behaviour depends on (of
 * collectives the choice and cost at each size that is issued); edges join a rank to its machine,
 * its SMs and its memory, an op to its ranks, an op to the resources it loads, labelled with the
 * load a byte, and the algorithms of one collective to the first. Its coarsest equitable partition
 * (orbits.h) gives the classes. Computed: the lowest member of each, and for each class
 * of ops the sum of the loads of ALL its ops on each simulated resource. A rank's class decides the
 * class of its groups, so a simulated rank finds its collective by its class.
 *
 * Ranks that only loads of links tell apart may run in lockstep (lockstep.c): then the classes are
 * those of the graph without these loads, and each is made of parts, those of the whole graph. An
 * op is simulated once a class, and what it puts on links once a part.
 */
#include "base/own-memory.h"
#include "replay/bind/bind-private.h"

#include <string.h>

/* ---- what is simulated ----------------------------------------------------------------------- */

/*
 * While a binding is put together: where each class went, REPLAY_NONE while nowhere. Ranks, nodes,
 * groups and messages are those of `classes`; resources, and the plans that load them, those of
 * `parts`, of which one or more make up a class.
 */
typedef struct
{
  Binding         *binding;
  const BindGraph *graph;
  const Classes   *classes, *parts; /* the same, but where ranks run in lockstep */
  guint32         *index;           /* [classes]: node, or plan of its first part */
  guint32         *group_index;     /* [classes]: of ops */
  guint32         *part_index;      /* [parts]: engine resource, or plan, by the kind of the part */
  guint32         *first_part;      /* [classes] */
  guint32         *next_part;       /* [parts]: of the same class, or REPLAY_NONE */
} Folder;

static guint32
append_thing (GArray *things, guint32 id, guint32 n_alike)
{
  BoundThing thing = { id, n_alike };

  g_array_append_val (things, thing);
  return things->len - 1;
}

static guint32
fold_node (Folder *self, guint node)
{
  guint32 class_ = self->classes->class_of[bind_graph_machine (self->graph, node)];

  if (self->index[class_] == REPLAY_NONE)
    self->index[class_] = append_thing (self->binding->nodes, node, self->classes->size[class_]);
  return self->index[class_];
}

static guint32
fold_resource (Folder *self, guint32 resource)
{
  guint32 part = self->parts->class_of[bind_graph_resource (self->graph, resource)];

  if (self->part_index[part] == REPLAY_NONE)
    self->part_index[part] = append_thing (
        self->binding->resources, self->parts->lowest[part] - bind_graph_resource (self->graph, 0),
        self->parts->size[part]);
  return self->part_index[part];
}

/* The plan of PART, whose loads follow later, all at once; TWIN: the one before it. */
static guint32
add_plan (Folder *self, guint32 part, guint32 twin)
{
  const GraphOp *lowest = &g_array_index (
      self->graph->ops, GraphOp, self->parts->lowest[part] - bind_graph_op (self->graph, 0));
  BoundPlan plan = { .n_alike = self->parts->size[part],
                     .twin = twin,
                     .latency = lowest->latency,
                     .inter = lowest->inter,
                     .intra = lowest->intra };

  self->part_index[part] = self->binding->plans->len;
  g_array_append_val (self->binding->plans, plan);
  return self->part_index[part];
}

/*
 * Op classes are numbered as they are met: the part of the op that is simulated, and behind it, as
 * its twins, the others of the class.
 */
static guint32
fold_plan (Folder *self, guint op)
{
  const guint32 node = bind_graph_op (self->graph, op), own = self->parts->class_of[node];
  guint32      *first = &self->index[self->classes->class_of[node]];
  guint32       twin = REPLAY_NONE;

  if (*first != REPLAY_NONE)
    return *first;
  for (guint32 part = self->first_part[self->classes->class_of[node]]; part != REPLAY_NONE;
       part = self->next_part[part])
    if (part != own)
      twin = add_plan (self, part, twin);
  *first = add_plan (self, own, twin);
  return *first;
}

/* The costs of the collective whose first op is OP. */
static BoundCosts
fold_costs (Folder *self, guint op)
{
  const GraphOp *first = &g_array_index (self->graph->ops, GraphOp, op);
  BoundCosts     costs = { self->binding->costs->len, first->n_costs };

  for (guint i = 0; i < first->n_costs; i++)
    {
      BoundCost cost = g_array_index (self->graph->costs, BoundCost, first->first_cost + i);

      cost.plan = fold_plan (self, op + cost.plan);
      g_array_append_val (self->binding->costs, cost);
    }
  return costs;
}

/* Of a host op, which shares cores and memory with those of its class: one for all parts. */
static guint32
fold_host_plan (Folder *self, guint op)
{
  const guint32 node = bind_graph_op (self->graph, op), class_ = self->classes->class_of[node];
  guint32       plan;

  if (self->index[class_] != REPLAY_NONE)
    return self->index[class_];
  plan = add_plan (self, self->parts->class_of[node], REPLAY_NONE);
  for (guint32 part = self->first_part[class_]; part != REPLAY_NONE; part = self->next_part[part])
    self->part_index[part] = plan;
  return self->index[class_] = plan;
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
  const BindGraph *graph = self->graph;

  for (guint r = 0; r < graph->n_ranks; r++)
    {
      guint     node = cluster_node_of_gpu (graph->cluster, r);
      BoundRank rank = {
        .rank = r,
        .size = self->classes->size[self->classes->class_of[r]],
        .role = schedule_role_of_rank (graph->schedule, r),
      };

      if (!classes_is_lowest (self->classes, r))
        continue;
      rank.n_on_node = count_on_node (self, r);
      rank.node = fold_node (self, node);
      rank.sm = fold_resource (self, cluster_gpu_resource (graph->cluster, r, RESOURCE_SM));
      rank.hbm = fold_resource (self, cluster_gpu_resource (graph->cluster, r, RESOURCE_HBM));
      for (guint kind = 0; kind < MOVE_N; kind++)
        rank.moves[kind] =
            graph->moves[kind] ? fold_plan (self, graph->first_move[kind] + r) : REPLAY_NONE;
      for (guint share = 0; share < HOST_SHARES; share++)
        rank.host[share] = graph->host_ops
                               ? fold_host_plan (self, graph->first_host + r * HOST_SHARES + share)
                               : REPLAY_NONE;
      g_array_append_val (self->binding->ranks, rank);
    }
}

/*
 * Whether all ops like OP are one part. Each of their groups then has ranks of the same parts: of
 * all, as every rank is in one of the groups.
 */
static gboolean
is_one_part (const Folder *self, guint op)
{
  const guint32 class_ = self->classes->class_of[bind_graph_op (self->graph, op)];

  return self->next_part[self->first_part[class_]] == REPLAY_NONE;
}

/*
 * The group of COMM that rank R is in, by the class of its collectives; REPLAY_NONE when it uses
 * none.
 */
static guint32
fold_group (Folder *self, CommRef comm, guint r)
{
  const BindGraph *graph = self->graph;
  guint   instance = bind_graph_group (schedule_comm_info (graph->schedule, comm)->group, r);
  guint   role = schedule_role_of_rank (graph->schedule, r);
  guint32 found = REPLAY_NONE;

  for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
    {
      const GraphUse *use = &graph->uses[comm * COLLECTIVE_N_KINDS + kind];
      guint           op = use->first_op + instance * use->n_algorithms;
      guint32        *slot;

      if (!bind_graph_uses (graph, role, comm, kind))
        continue;
      slot = &self->group_index[self->classes->class_of[bind_graph_op (graph, op)]];
      if (found == REPLAY_NONE)
        {
          if (*slot == REPLAY_NONE)
            {
              BoundGroup group = { .comm = comm };

              *slot = self->binding->groups->len;
              g_array_append_val (self->binding->groups, group);
            }
          found = *slot;
        }
      binding_group (self->binding, found)->meets |= is_one_part (self, op);
      if (binding_group (self->binding, found)->collectives[kind].n == 0)
        binding_group (self->binding, found)->collectives[kind] = fold_costs (self, op);
    }
  return found;
}

static void
fold_groups (Folder *self)
{
  Binding *binding = self->binding;
  guint    n_comms = schedule_n_comms (self->graph->schedule), n_ranks = binding->ranks->len;

  binding->group_of = g_new0 (guint32, n_comms * n_ranks + 1);
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

/* ---- messages -------------------------------------------------------------------------------- */

static guint32
find_rank (const Folder *self, guint32 rank)
{
  guint32 lowest = self->classes->lowest[self->classes->class_of[rank]];
  guint   low = 0, high = self->binding->ranks->len;

  while (high - low > 1)
    {
      guint middle = (low + high) / 2;

      if (binding_rank (self->binding, middle)->rank <= lowest)
        low = middle;
      else
        high = middle;
    }
  return low;
}

static guint32
fold_pair (Folder *self, CommRef comm, guint32 from, guint32 to)
{
  guint    op = bind_graph_message (self->graph, comm, from, to);
  guint32 *slot = &self->group_index[self->classes->class_of[bind_graph_op (self->graph, op)]];

  if (*slot == REPLAY_NONE)
    {
      BoundPair pair = { comm, find_rank (self, from), find_rank (self, to),
                         fold_costs (self, op) };

      *slot = self->binding->pairs->len;
      g_array_append_val (self->binding->pairs, pair);
    }
  return *slot;
}

static void
fold_end (Folder *self, const BoundRank *rank, const GraphEnd *of_role)
{
  MeshGroup group = schedule_comm_info (self->graph->schedule, of_role->comm)->group;
  guint32   peer = bind_group_member (group, rank->rank, of_role->peer);
  gboolean  sends = of_role->way == MESSAGE_SEND;
  BoundEnd  end = { of_role->comm, of_role->peer, of_role->way, REPLAY_NONE };

  end.pair = sends ? fold_pair (self, end.comm, rank->rank, peer)
                   : fold_pair (self, end.comm, peer, rank->rank);
  g_array_append_val (self->binding->ends, end);
}

static void
fold_messages (Folder *self)
{
  for (guint i = 0; i < self->binding->ranks->len; i++)
    {
      BoundRank    *rank = binding_rank (self->binding, i);
      const GArray *ends = self->graph->ends[rank->role];

      rank->first_end = self->binding->ends->len;
      rank->n_ends = ends->len;
      for (guint k = 0; k < ends->len; k++)
        fold_end (self, rank, &g_array_index (ends, GraphEnd, k));
    }
}

/* ---- loads ----------------------------------------------------------------------------------- */

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
      guint32        plan = self->part_index[self->parts->class_of[bind_graph_op (self->graph, o)]];

      for (guint i = op->first_load; plan != REPLAY_NONE && i < op->first_load + op->n_loads; i++)
        {
          const OpLoad *load = &g_array_index (self->graph->loads, OpLoad, i);
          PlanLoad      entry = { plan, 0, found->len, load->service };

          if (!classes_is_lowest (self->parts, bind_graph_resource (self->graph, load->resource)))
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

/* ---- entry points ---------------------------------------------------------------------------- */

static guint32 *
no_indices (guint n)
{
  guint32 *indices = g_new (guint32, n + 1);

  memset (indices, 0xff, n * sizeof (guint32));
  return indices;
}

/* Which parts make up each class, lowest first. */
static void
find_parts (Folder *self)
{
  self->part_index = no_indices (self->parts->n_classes);
  self->next_part = no_indices (self->parts->n_classes);
  self->first_part = no_indices (self->classes->n_classes);
  for (guint32 part = self->parts->n_classes; part-- > 0;)
    {
      guint32 class_ = self->classes->class_of[self->parts->lowest[part]];

      self->next_part[part] = self->first_part[class_];
      self->first_part[class_] = part;
    }
}

/* What is simulated of GRAPH, by its classes and their parts. */
static Binding *
fold_classes (const BindGraph *graph, const Classes *classes, const Classes *parts)
{
  Binding *self = binding_empty ();
  Folder   folder = { .binding = self, .graph = graph, .classes = classes, .parts = parts };

  folder.index = no_indices (classes->n_classes);
  folder.group_index = no_indices (classes->n_classes);
  find_parts (&folder);
  fold_ranks (&folder);
  fold_groups (&folder);
  fold_members (self, schedule_n_comms (graph->schedule));
  fold_messages (&folder);
  fold_loads (&folder);
  g_free (folder.index);
  g_free (folder.group_index);
  g_free (folder.part_index);
  g_free (folder.first_part);
  g_free (folder.next_part);
  return self;
}

/* Ranks that only links tell apart in lockstep; NULL: they do not, or are none. */
static Binding *
fold_in_lockstep (BindGraph *graph, const Classes *parts)
{
  g_autoptr (Classes) classes = classes_new_in_lockstep (graph, parts);
  g_autoptr (Binding) self = classes != NULL ? fold_classes (graph, classes, parts) : NULL;

  if (self == NULL || !lockstep_may_hold (self, graph->cluster))
    return NULL;
  self->lockstep = LOCKSTEP_WHOLE;
  return g_steal_pointer (&self);
}

static gboolean
may_be_apart (const BoundOptions *how)
{
  return how->lockstep != LOCKSTEP_NONE && how->step_only && !how->unfolded;
}

/* One rank of each group that meets; NULL: none do. */
static Binding *
fold_apart (BindGraph *graph, const Classes *parts)
{
  g_autoptr (Classes) classes = classes_new_apart (graph, parts);
  Binding            *self = classes != NULL ? fold_classes (graph, classes, parts) : NULL;

  if (self != NULL)
    self->lockstep = LOCKSTEP_APART;
  return self;
}

/* NULL: the stop came first. */
static Binding *
fold_graph (BindGraph *graph, const BoundOptions *how)
{
  g_autoptr (Classes) parts = NULL;
  g_autoptr (Binding) self = NULL;

  if (how->times_only)
    bind_graph_prune_links (graph);
  parts = classes_new (graph, how->unfolded);
  if (parts != NULL && how->lockstep == LOCKSTEP_WHOLE)
    self = fold_in_lockstep (graph, parts);
  if (parts != NULL && self == NULL && may_be_apart (how))
    self = fold_apart (graph, parts);
  if (self == NULL && parts != NULL)
    self = fold_classes (graph, parts, parts);
  return graph->poll->cut ? NULL : g_steal_pointer (&self);
}

Binding *
binding_new (const Cluster *cluster, const Schedule *schedule, const BoundOptions *how,
             const CollectiveOptions *options)
{
  StopPoll           poll = { .stop = how->stop };
  g_autoptr (GBytes) key = NULL;
  Binding           *self = NULL;
  BindGraph          graph;

  bind_graph_init (&graph, cluster, schedule, options, &poll);
  if (how->bindings != NULL && !poll.cut)
    key = binding_store_key (&graph, how);
  if (key != NULL)
    self = binding_store_find (how->bindings, key);
  if (self == NULL && !poll.cut)
    {
      bind_graph_build (&graph);
      if (!poll.cut && !own_memory_is_over ())
        self = fold_graph (&graph, how);
      if (key != NULL && self != NULL)
        binding_store_add (how->bindings, key, self);
    }
  bind_graph_clear (&graph);
  return self;
}
