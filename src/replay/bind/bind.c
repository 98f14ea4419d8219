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
 */
#include "base/own-memory.h"
#include "replay/bind/bind-private.h"

#include <string.h>

/* The partition, with each class's lowest member and size. */
typedef struct
{
  guint    n_classes;
  guint32 *class_of; /* [graph nodes] */
  guint32 *lowest, *size;
} Classes;

/* ---- classes --------------------------------------------------------------------------------- */

/* FALSE: the stop came first. */
static gboolean
classes_init (Classes *self, BindGraph *graph, gboolean unfolded)
{
  guint n = graph->colours->len;

  if (unfolded)
    {
      self->n_classes = n;
      self->class_of = g_new (guint32, n);
      for (guint i = 0; i < n; i++)
        self->class_of[i] = i;
    }
  else
    {
      g_autoptr (Orbits) fold =
          orbits_find (n, (const guint64 *) (gconstpointer) graph->colours->data,
                       (const OrbitEdge *) (gconstpointer) graph->edges->data, graph->edges->len,
                       graph->poll->stop);

      if (fold == NULL)
        return FALSE;
      self->n_classes = fold->n_classes;
      self->class_of = g_memdup2 (fold->class_of, n * sizeof (guint32));
    }
  g_array_set_size (graph->edges, 0);
  self->lowest = g_new (guint32, self->n_classes);
  self->size = g_new0 (guint32, self->n_classes);
  for (guint i = 0; i < n; i++)
    if (self->size[self->class_of[i]]++ == 0)
      self->lowest[self->class_of[i]] = i;
  return TRUE;
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

/* ---- what is simulated ----------------------------------------------------------------------- */

/* While a binding is put together: where each class went, REPLAY_NONE while nowhere. */
typedef struct
{
  Binding         *binding;
  const BindGraph *graph;
  const Classes   *classes;
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
  guint32 class_ = self->classes->class_of[bind_graph_resource (self->graph, resource)];
  guint32 lowest = self->classes->lowest[class_];

  return fold_thing (self, self->binding->resources, lowest,
                     lowest - bind_graph_resource (self->graph, 0));
}

/* Op classes are numbered as they are met; their loads follow later, all at once. */
static guint32
fold_plan (Folder *self, guint op)
{
  guint32        class_ = self->classes->class_of[bind_graph_op (self->graph, op)];
  const GraphOp *lowest = &g_array_index (
      self->graph->ops, GraphOp, self->classes->lowest[class_] - bind_graph_op (self->graph, 0));
  BoundPlan plan = { .n_alike = self->classes->size[class_],
                     .latency = lowest->latency,
                     .inter = lowest->inter,
                     .intra = lowest->intra };

  if (self->index[class_] == REPLAY_NONE)
    {
      self->index[class_] = self->binding->plans->len;
      g_array_append_val (self->binding->plans, plan);
    }
  return self->index[class_];
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

      if (!is_lowest (self->classes, r))
        continue;
      rank.n_on_node = count_on_node (self, r);
      rank.node = fold_thing (self, self->binding->nodes, bind_graph_machine (graph, node), node);
      rank.sm = fold_resource (self, cluster_gpu_resource (graph->cluster, r, RESOURCE_SM));
      rank.hbm = fold_resource (self, cluster_gpu_resource (graph->cluster, r, RESOURCE_HBM));
      for (guint kind = 0; kind < MOVE_N; kind++)
        rank.moves[kind] =
            graph->moves[kind] ? fold_plan (self, graph->first_move[kind] + r) : REPLAY_NONE;
      for (guint share = 0; share < HOST_SHARES; share++)
        rank.host[share] = graph->host_ops
                               ? fold_plan (self, graph->first_host + r * HOST_SHARES + share)
                               : REPLAY_NONE;
      g_array_append_val (self->binding->ranks, rank);
    }
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

static gboolean
knows_end (const Binding *self, const BoundRank *rank, const ScheduleItem *item)
{
  for (guint i = rank->first_end; i < self->ends->len; i++)
    {
      const BoundEnd *end = &g_array_index (self->ends, BoundEnd, i);

      if (end->comm == item->ref && end->peer == item->peer && end->way == item->collective)
        return TRUE;
    }
  return FALSE;
}

static void
fold_end (Folder *self, const BoundRank *rank, const ScheduleItem *item)
{
  MeshGroup group = schedule_comm_info (self->graph->schedule, item->ref)->group;
  guint32   peer = bind_group_member (group, rank->rank, item->peer);
  gboolean  sends = item->collective == MESSAGE_SEND;
  BoundEnd  end = { item->ref, item->peer, item->collective, REPLAY_NONE };

  end.pair = sends ? fold_pair (self, item->ref, rank->rank, peer)
                   : fold_pair (self, item->ref, peer, rank->rank);
  g_array_append_val (self->binding->ends, end);
}

static void
fold_messages (Folder *self)
{
  for (guint i = 0; i < self->binding->ranks->len; i++)
    {
      BoundRank *rank = binding_rank (self->binding, i);

      rank->first_end = self->binding->ends->len;
      for (ScheduleSection s = 0; s < SECTION_N; s++)
        {
          ScheduleItems items = schedule_items (self->graph->schedule, rank->role, s);

          if (stop_poll_now (self->graph->poll))
            items.n = 0;
          for (guint k = 0; k < items.n; k++)
            if (items.items[k].kind == ITEM_P2P
                && !knows_end (self->binding, rank, &items.items[k]))
              fold_end (self, rank, &items.items[k]);
        }
      rank->n_ends = self->binding->ends->len - rank->first_end;
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
      guint32        plan = self->index[self->classes->class_of[bind_graph_op (self->graph, o)]];

      for (guint i = op->first_load; plan != REPLAY_NONE && i < op->first_load + op->n_loads; i++)
        {
          const OpLoad *load = &g_array_index (self->graph->loads, OpLoad, i);
          PlanLoad      entry = { plan, 0, found->len, load->service };

          if (!is_lowest (self->classes, bind_graph_resource (self->graph, load->resource)))
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
  g_array_unref (self->pairs);
  g_array_unref (self->ends);
  g_array_unref (self->plans);
  g_array_unref (self->costs);
  g_array_unref (self->loads);
  g_free (self->group_of);
  g_free (self);
}

/* GRAPH's classes as what is simulated of them. FALSE: the stop came first. */
static gboolean
fold_graph (Binding *binding, BindGraph *graph, const BoundOptions *how)
{
  Classes classes = { 0 };
  Folder  folder = { .binding = binding, .graph = graph, .classes = &classes };

  if (how->times_only)
    bind_graph_prune_links (graph);
  if (!classes_init (&classes, graph, how->unfolded))
    return FALSE;
  folder.index = g_new (guint32, classes.n_classes);
  folder.group_index = g_new (guint32, classes.n_classes);
  memset (folder.index, 0xff, classes.n_classes * sizeof (guint32));
  memset (folder.group_index, 0xff, classes.n_classes * sizeof (guint32));
  fold_ranks (&folder);
  fold_groups (&folder);
  fold_members (binding, schedule_n_comms (graph->schedule));
  fold_messages (&folder);
  fold_loads (&folder);
  g_free (folder.index);
  g_free (folder.group_index);
  classes_clear (&classes);
  return !graph->poll->cut;
}

Binding *
binding_new (const Cluster *cluster, const Schedule *schedule, const BoundOptions *how,
             const CollectiveOptions *options)
{
  StopPoll            poll = { .stop = how->stop };
  g_autoptr (Binding) self = g_new0 (Binding, 1);
  BindGraph           graph;
  gboolean            whole;

  self->ranks = g_array_new (FALSE, FALSE, sizeof (BoundRank));
  self->nodes = g_array_new (FALSE, FALSE, sizeof (BoundThing));
  self->resources = g_array_new (FALSE, FALSE, sizeof (BoundThing));
  self->groups = g_array_new (FALSE, FALSE, sizeof (BoundGroup));
  self->members = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->pairs = g_array_new (FALSE, FALSE, sizeof (BoundPair));
  self->ends = g_array_new (FALSE, FALSE, sizeof (BoundEnd));
  self->plans = g_array_new (FALSE, FALSE, sizeof (BoundPlan));
  self->costs = g_array_new (FALSE, FALSE, sizeof (BoundCost));
  self->loads = g_array_new (FALSE, FALSE, sizeof (BoundLoad));
  bind_graph_init (&graph, cluster, schedule, options, &poll);
  whole = !poll.cut && !own_memory_is_over () && fold_graph (self, &graph, how);
  bind_graph_clear (&graph);
  return whole ? g_steal_pointer (&self) : NULL;
}

static const BoundCost *
find_cost (const Binding *self, BoundCosts costs, guint64 bytes)
{
  const BoundCost *all = &g_array_index (self->costs, BoundCost, costs.first);
  guint            low = 0, high = costs.n;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (all[middle].bytes < bytes)
        low = middle + 1;
      else
        high = middle;
    }
  g_assert (low < costs.n && all[low].bytes == bytes);
  return &all[low];
}

const BoundCost *
binding_cost (const Binding *self, const BoundGroup *group, CollectiveKind kind, guint64 bytes)
{
  return find_cost (self, group->collectives[kind], bytes);
}

const BoundCost *
binding_pair_cost (const Binding *self, const BoundPair *pair, guint64 bytes)
{
  return find_cost (self, pair->costs, bytes);
}

guint
binding_end (const Binding *self, guint rank, const ScheduleItem *item)
{
  const BoundRank *bound = binding_rank (self, rank);

  for (guint i = bound->first_end; i < bound->first_end + bound->n_ends; i++)
    {
      const BoundEnd *end = &g_array_index (self->ends, BoundEnd, i);

      if (end->comm == item->ref && end->peer == item->peer && end->way == item->collective)
        return i;
    }
  g_assert_not_reached ();
}
