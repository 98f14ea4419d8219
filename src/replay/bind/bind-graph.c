/* Building the graph: the nodes of a cluster, and the ops of a schedule on it. */
#include "base/own-memory.h"
#include "replay/bind/bind-private.h"

#define LIGHT 1e-3 /* of its latency: what the links may take of a collective that loads none */

/* ---- nodes of the graph ---------------------------------------------------------------------- */

static guint64
colour_mix_profile (BindGraph *self, guint64 colour, gconstpointer profile)
{
  guint index = 0;

  if (!g_ptr_array_find (self->profiles, profile, &index))
    {
      index = self->profiles->len;
      g_ptr_array_add (self->profiles, (gpointer) profile);
    }
  return colour_mix (colour, index);
}

/*
 * Whether buffers are in a machine's memory or on its drives. All else that its ranks share is a
 * resource, which its ops load: who the others are says nothing then, and stages that begin in the
 * middle of a machine do not make each of its ranks one of a kind.
 */
static gboolean
takes_machines_memory (const Schedule *schedule)
{
  for (guint role = 0; role < schedule_n_roles (schedule); role++)
    for (guint b = 0; b < schedule_n_buffers (schedule, role); b++)
      if (schedule_buffer_info (schedule, role, b)->place != PLACE_HBM)
        return TRUE;
  return FALSE;
}

static void
add_ranks (BindGraph *self)
{
  for (guint r = 0; r < self->n_ranks; r++)
    {
      guint   node = cluster_node_of_gpu (self->cluster, r);
      guint64 colour = colour_mix (COLOUR_RANK, schedule_role_of_rank (self->schedule, r));

      colour = colour_mix_profile (self, colour, cluster_gpu_profile (self->cluster, r));
      colour = colour_mix_profile (self, colour, cluster_node_profile (self->cluster, node));
      bind_graph_add_colour (self,
                             colour_mix_double (colour, cluster_gpu_speed (self->cluster, r)));
      if (self->machines)
        bind_graph_add_edge (self, r, bind_graph_machine (self, node), RELATION_NODE, 1);
      bind_graph_add_edge (
          self, r, bind_graph_resource (self, cluster_gpu_resource (self->cluster, r, RESOURCE_SM)),
          RELATION_SM, 1);
      bind_graph_add_edge (
          self, r,
          bind_graph_resource (self, cluster_gpu_resource (self->cluster, r, RESOURCE_HBM)),
          RELATION_HBM, 1);
    }
}

/* ---- what the schedule uses ------------------------------------------------------------------ */

static guint
use_index (const BindGraph *self, guint role, CommRef comm, guint kind)
{
  return (role * schedule_n_comms (self->schedule) + comm) * COLLECTIVE_N_KINDS + kind;
}

/* Whether CODEC is one of every hop that packs more elements into a byte than OTHER (or NULL). */
static gboolean
costs_more (const Codec *codec, const Codec *other)
{
  const guint64 sample = 1 << 20;

  return codec != NULL && codec->every_hop
         && (other == NULL || codec_wire_bytes (codec, sample) < codec_wire_bytes (other, sample));
}

static void
note_collective (BindGraph *self, guint role, const ScheduleItem *item)
{
  GraphUse *use = &self->uses[item->ref * COLLECTIVE_N_KINDS + item->collective];

  self->used[use_index (self, role, item->ref, item->collective)] = TRUE;
  bind_graph_note_size (use, item->bytes);
  if (costs_more (item->codec, use->codec))
    use->codec = item->codec;
}

static void
note_uses (BindGraph *self)
{
  guint n_roles = schedule_n_roles (self->schedule);

  self->used =
      g_new0 (gboolean, n_roles * schedule_n_comms (self->schedule) * COLLECTIVE_N_KINDS + 1);
  for (guint role = 0; role < n_roles; role++)
    for (ScheduleSection s = 0; s < SECTION_N; s++)
      {
        ScheduleItems items = schedule_items (self->schedule, role, s);

        if (stop_poll_now (self->poll))
          items.n = 0;
        for (guint i = 0; i < items.n; i++)
          if (items.items[i].kind == ITEM_COLLECTIVE)
            note_collective (self, role, &items.items[i]);
          else if (items.items[i].kind == ITEM_MOVE)
            self->moves[items.items[i].collective] = TRUE;
          else if (items.items[i].kind == ITEM_HOST_OP)
            self->host_ops = TRUE;
      }
}

gboolean
bind_graph_uses (const BindGraph *self, guint role, CommRef comm, guint kind)
{
  return self->used[use_index (self, role, comm, kind)];
}

/* ---- ops ------------------------------------------------------------------------------------- */

typedef struct
{
  CollectivePlan *plan;  /* NULL: the group's ranks do not use it */
  CollectiveCost *costs; /* by size */
} GroupPlan;

/* One op for each algorithm of USE; the ranks hang on the first. */
static void
add_collective (BindGraph *self, const GraphUse *use, const GroupPlan *group, guint64 colour,
                const guint32 *members, guint n)
{
  guint first = self->ops->len;

  for (guint i = 0; i < use->sizes->len; i++)
    colour = colour_mix_cost (colour, &group->costs[i]);
  for (guint a = 0; a < use->n_algorithms; a++)
    {
      const CollectiveCost *cost = NULL;

      for (guint i = 0; i < use->sizes->len && cost == NULL; i++)
        if (group->costs[i].algorithm == use->algorithms[a])
          cost = &group->costs[i];
      bind_graph_add_variant (self, cost, first, colour_mix (colour, a));
    }
  for (guint i = 0; i < n; i++)
    bind_graph_add_edge (self, bind_graph_op (self, first), members[i], RELATION_MEMBER, 1);
  bind_graph_add_costs (self, use, group->costs, collective_plan_payload (group->plan));
}

guint
bind_graph_group (MeshGroup group, guint rank)
{
  return mesh_group_number (group, rank);
}

static gboolean
group_uses (const BindGraph *self, MeshGroup group, guint index, CommRef comm, guint kind)
{
  guint role = schedule_role_of_rank (self->schedule, mesh_group_first (group, index));

  return self->used[use_index (self, role, comm, kind)];
}

/* Whether links do not count for ALGORITHM at any size. */
static gboolean
is_light (const GraphUse *use, const CollectiveCost *costs, CollectiveAlgorithm algorithm)
{
  for (guint i = 0; i < use->sizes->len; i++)
    if (costs[i].algorithm == algorithm && costs[i].time > (1 + LIGHT) * costs[i].latency)
      return FALSE;
  return TRUE;
}

/*
 * A few bytes (a norm) take their time alone and load nothing: a tree loads its nodes unalike,
 * which would split all their ranks into classes of their own.
 */
static void
lighten (const GraphUse *use, CollectiveCost *costs)
{
  for (guint a = 0; a < use->n_algorithms; a++)
    if (is_light (use, costs, use->algorithms[a]))
      for (guint i = 0; i < use->sizes->len; i++)
        if (costs[i].algorithm == use->algorithms[a])
          {
            costs[i].latency = costs[i].time;
            costs[i].weight = costs[i].rate_cap = 0;
          }
}

/* Two passes, because every group has an op for each algorithm that any of them uses. */
static void
add_groups (BindGraph *self, CommRef comm, guint kind)
{
  MeshGroup             group = schedule_comm_info (self->schedule, comm)->group;
  guint                 n_groups = self->n_ranks / group.size;
  GraphUse             *use = &self->uses[comm * COLLECTIVE_N_KINDS + kind];
  g_autofree guint32   *members = g_new (guint32, group.size);
  g_autofree GroupPlan *plans = g_new0 (GroupPlan, n_groups);
  guint64               colour = colour_mix (colour_mix (COLOUR_COLLECTIVE, comm), kind);
  CollectiveOptions     library = self->options;

  library.transport = schedule_comm_info (self->schedule, comm)->transport;
  library.dispatch = schedule_comm_info (self->schedule, comm)->dispatch;
  library.ring_order = schedule_comm_info (self->schedule, comm)->ring_order;
  library.codec = use->codec;
  for (guint i = 0; i < n_groups && !stop_poll_now (self->poll); i++)
    if (group_uses (self, group, i, comm, kind))
      {
        mesh_group_members (group, mesh_group_first (group, i), members);
        plans[i].plan = collective_plan_new (self->cluster, (CollectiveKind) kind, members,
                                             group.size, &library);
        plans[i].costs = g_new (CollectiveCost, use->sizes->len);
        bind_graph_collect_costs (use, plans[i].plan, plans[i].costs);
        lighten (use, plans[i].costs);
      }
  for (guint i = 0; i < n_groups; i++)
    {
      if (plans[i].plan == NULL)
        {
          /*
           * A group whose ranks do not use this kind keeps the numbering dense, and stands for
           * nothing.
           */
          for (guint a = 0; a < use->n_algorithms; a++)
            {
              bind_graph_begin_op (self, 0);
              bind_graph_end_op (self, COLOUR_COLLECTIVE);
            }
          continue;
        }
      mesh_group_members (group, mesh_group_first (group, i), members);
      if (!self->poll->cut)
        add_collective (self, use, &plans[i], colour, members, group.size);
      collective_plan_free (plans[i].plan);
      g_free (plans[i].costs);
    }
}

/* Some of them, where nobody wants them any more, or this process may take no more memory. */
static void
add_collectives (BindGraph *self)
{
  guint n_comms = schedule_n_comms (self->schedule);

  for (CommRef comm = 0; comm < n_comms; comm++)
    for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
      {
        GraphUse *use = &self->uses[comm * COLLECTIVE_N_KINDS + kind];

        if (self->poll->cut || own_memory_is_over ())
          return;
        use->first_op = self->ops->len;
        if (use->sizes != NULL)
          add_groups (self, comm, kind);
      }
}

/* ---- moves and host ops ---------------------------------------------------------------------- */

static guint
dram_of_rank (const BindGraph *self, guint rank)
{
  return cluster_node_resource (self->cluster, cluster_node_of_gpu (self->cluster, rank),
                                RESOURCE_DRAM, cluster_socket_of_gpu (self->cluster, rank));
}

/*
 * Between a GPU and its host: PCIe carries it at the copy engine's efficiency; the memories at both
 * ends take its bytes. Returns the latency.
 */
static double
add_host_link (BindGraph *self, guint op, guint rank, gboolean to_host)
{
  double efficiency = cluster_gpu_profile (self->cluster, rank)->host_copy_efficiency.value;
  Route  route;

  if (to_host)
    cluster_route_to_host (self->cluster, rank, &route);
  else
    cluster_route_from_host (self->cluster, rank, &route);
  bind_graph_add_load (self, op, cluster_gpu_resource (self->cluster, rank, RESOURCE_HBM), 1);
  for (guint i = 0; i < route.n; i++)
    {
      ResourceKind on = cluster_resource (self->cluster, route.resources[i])->kind;
      gboolean pcie = on == RESOURCE_PCIE_UP || on == RESOURCE_PCIE_DOWN || on == RESOURCE_PCIE_BOTH
                      || on == RESOURCE_SWITCH_UP || on == RESOURCE_SWITCH_DOWN;

      bind_graph_add_load (self, op, route.resources[i], pcie ? 1 / efficiency : 1);
    }
  return route.latency;
}

/*
 * How often the host's memory takes the bytes beyond what the link to a GPU asks of it: pageable
 * bytes are staged in a pinned buffer that a core fills or empties, drives are read and written
 * through host memory.
 */
static double
extra_dram (Place from, Place to)
{
  gboolean gpu = from == PLACE_HBM || to == PLACE_HBM;

  if (gpu)
    return from == PLACE_PAGEABLE || to == PLACE_PAGEABLE ? 2
           : from == PLACE_NVME || to == PLACE_NVME       ? 1
                                                          : 0;
  return (from != PLACE_NVME || to == PLACE_NVME) + (to != PLACE_NVME || from == PLACE_NVME);
}

static void
add_move (BindGraph *self, guint kind, guint rank)
{
  Place  from = move_from (kind), to = move_to (kind);
  guint  index = self->ops->len, node = cluster_node_of_gpu (self->cluster, rank);
  double latency = 0;

  bind_graph_begin_op (self, 0);
  bind_graph_add_edge (self, bind_graph_op (self, index), rank, RELATION_MEMBER, 1);
  if (from == PLACE_HBM && to == PLACE_HBM)
    bind_graph_add_load (self, index, cluster_gpu_resource (self->cluster, rank, RESOURCE_HBM), 2);
  else
    {
      if (from == PLACE_HBM || to == PLACE_HBM)
        latency = add_host_link (self, index, rank, from == PLACE_HBM);
      bind_graph_add_load (self, index, dram_of_rank (self, rank), extra_dram (from, to));
    }
  if (from == PLACE_NVME)
    bind_graph_add_load (self, index,
                         cluster_node_resource (self->cluster, node, RESOURCE_NVME_READ, 0), 1);
  if (to == PLACE_NVME)
    bind_graph_add_load (self, index,
                         cluster_node_resource (self->cluster, node, RESOURCE_NVME_WRITE, 0), 1);
  g_array_index (self->ops, GraphOp, index).latency = latency;
  bind_graph_end_op (self, colour_mix (COLOUR_MOVE, kind));
}

static void
add_host_shares (BindGraph *self, guint rank)
{
  for (guint share = 0; share < HOST_SHARES; share++)
    {
      guint index = self->ops->len;
      guint node = cluster_node_of_gpu (self->cluster, rank);
      guint sockets = (guint) cluster_node_profile (self->cluster, node)->sockets.value;

      bind_graph_begin_op (self, 0);
      bind_graph_add_edge (self, bind_graph_op (self, index), rank, RELATION_MEMBER, 1);
      /*
       * A rank's host ops load the node's cores, and the memory of its sockets, over which cores of
       * all of them spread what they work on.
       */
      if (share == HOST_SHARE_CORES)
        bind_graph_add_load (self, index,
                             cluster_node_resource (self->cluster, node, RESOURCE_CORES, 0), 1);
      for (guint s = 0; s < sockets && share == HOST_SHARE_DRAM; s++)
        bind_graph_add_load (self, index,
                             cluster_node_resource (self->cluster, node, RESOURCE_DRAM, s),
                             1.0 / sockets);
      bind_graph_end_op (self, colour_mix (COLOUR_HOST, share));
    }
}

void
bind_graph_init (BindGraph *self, const Cluster *cluster, const Schedule *schedule,
                 const CollectiveOptions *options, StopPoll *poll)
{
  *self =
      (BindGraph){ .cluster = cluster, .schedule = schedule, .options = *options, .poll = poll };
  self->options.stop = poll->stop;
  self->uses = g_new0 (GraphUse, schedule_n_comms (schedule) * COLLECTIVE_N_KINDS + 1);
  self->n_ranks = cluster_n_gpus (self->cluster);
  self->n_nodes = cluster_n_nodes (self->cluster);
  self->n_resources = cluster_n_resources (self->cluster);
  self->ops = g_array_new (FALSE, FALSE, sizeof (GraphOp));
  self->costs = g_array_new (FALSE, FALSE, sizeof (BoundCost));
  self->loads = g_array_new (FALSE, FALSE, sizeof (OpLoad));
  self->colours = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->edges = g_array_new (FALSE, FALSE, sizeof (OrbitEdge));
  self->profiles = g_ptr_array_new ();
  self->machines = takes_machines_memory (schedule);
  note_uses (self);
  bind_graph_note_messages (self);
}

static void
add_machines (BindGraph *self)
{
  for (guint n = 0; n < self->n_nodes; n++)
    bind_graph_add_colour (
        self, colour_mix_profile (self, COLOUR_NODE, cluster_node_profile (self->cluster, n)));
}

static void
add_resources (BindGraph *self)
{
  for (guint i = 0; i < self->n_resources; i++)
    {
      const ClusterResource *resource = cluster_resource (self->cluster, i);
      guint64                colour = colour_mix (COLOUR_RESOURCE, resource->kind);

      colour = colour_mix_double (colour, resource->capacity);
      bind_graph_add_colour (self, colour_mix_double (colour, resource->efficiency));
    }
}

void
bind_graph_build (BindGraph *self)
{
  add_ranks (self);
  add_machines (self);
  add_resources (self);
  add_collectives (self);
  for (guint kind = 0; kind < MOVE_N; kind++)
    {
      self->first_move[kind] = self->moves[kind] ? self->ops->len : REPLAY_NONE;
      for (guint r = 0; self->moves[kind] && r < self->n_ranks; r++)
        add_move (self, kind, r);
    }
  self->first_host = self->host_ops ? self->ops->len : REPLAY_NONE;
  for (guint r = 0; self->host_ops && r < self->n_ranks; r++)
    add_host_shares (self, r);
  bind_graph_add_messages (self);
}

void
bind_graph_clear (BindGraph *self)
{
  for (guint i = 0; i < schedule_n_comms (self->schedule) * COLLECTIVE_N_KINDS; i++)
    g_clear_pointer (&self->uses[i].sizes, g_array_unref);
  g_free (self->uses);
  bind_graph_clear_messages (self);
  g_array_unref (self->ops);
  g_array_unref (self->costs);
  g_array_unref (self->loads);
  g_array_unref (self->colours);
  g_array_unref (self->edges);
  g_ptr_array_unref (self->profiles);
  g_free (self->used);
}
