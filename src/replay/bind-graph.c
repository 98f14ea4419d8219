/* Building the graph: nodes with colours, edges with labels. */
#include "replay/bind-private.h"

#include <math.h>
#include <string.h>

#define LIGHT 1e-3 /* of its latency: what the links may take of a collective that loads none */

/* ---- colours and labels ---------------------------------------------------------------------- */

guint64
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
 * 12 significant digits (40 bits): the order in which a planner adds loads up must not split a
 * class.
 */
static double
round_label (double value)
{
  int    exponent;
  double mantissa = frexp (value, &exponent);

  return ldexp (nearbyint (mantissa * 0x1p40), exponent - 40);
}

/* ---- nodes of the graph ---------------------------------------------------------------------- */

void
bind_graph_add_edge (BindGraph *self, guint32 a, guint32 b, Relation relation, double label)
{
  FoldEdge edge = { a, b, label, relation };

  g_array_append_val (self->edges, edge);
}

static void
add_colour (BindGraph *self, guint64 colour)
{
  g_array_append_val (self->colours, colour);
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
      add_colour (self, colour_mix_double (colour, cluster_gpu_speed (self->cluster, r)));
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

static void
add_nodes (BindGraph *self)
{
  for (guint n = 0; n < self->n_nodes; n++)
    add_colour (self,
                colour_mix_profile (self, COLOUR_NODE, cluster_node_profile (self->cluster, n)));
}

static void
add_resources (BindGraph *self)
{
  for (guint i = 0; i < self->n_resources; i++)
    {
      const ClusterResource *resource = cluster_resource (self->cluster, i);
      guint64                colour = colour_mix (COLOUR_RESOURCE, resource->kind);

      colour = colour_mix_double (colour, resource->capacity);
      add_colour (self, colour_mix_double (colour, resource->efficiency));
    }
}

/* ---- what the schedule uses ------------------------------------------------------------------ */

static guint
use_index (const BindGraph *self, guint role, CommRef comm, guint kind)
{
  return (role * schedule_n_comms (self->schedule) + comm) * COLLECTIVE_N_KINDS + kind;
}

/* Where BYTES stand among SIZES, or belong. */
static guint
find_size (const GArray *sizes, guint64 bytes)
{
  guint low = 0, high = sizes->len;

  while (low < high)
    {
      guint middle = (low + high) / 2;

      if (g_array_index (sizes, guint64, middle) < bytes)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

void
bind_graph_note_size (GraphUse *use, guint64 bytes)
{
  guint at;

  if (use->sizes == NULL)
    use->sizes = g_array_new (FALSE, FALSE, sizeof (guint64));
  at = find_size (use->sizes, bytes);
  if (at == use->sizes->len || g_array_index (use->sizes, guint64, at) != bytes)
    g_array_insert_val (use->sizes, at, bytes);
}

static void
note_collective (BindGraph *self, guint role, const ScheduleItem *item)
{
  self->used[use_index (self, role, item->ref, item->collective)] = TRUE;
  bind_graph_note_size (&self->uses[item->ref * COLLECTIVE_N_KINDS + item->collective],
                        item->bytes);
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

        for (guint i = 0; i < items.n; i++)
          if (items.items[i].kind == ITEM_COLLECTIVE)
            note_collective (self, role, &items.items[i]);
          else if (items.items[i].kind == ITEM_COPY)
            self->copies[items.items[i].collective] = TRUE;
      }
}

gboolean
bind_graph_uses (const BindGraph *self, guint role, CommRef comm, guint kind)
{
  return self->used[use_index (self, role, comm, kind)];
}

/* ---- ops ------------------------------------------------------------------------------------- */

static void
add_load (BindGraph *self, guint op, guint32 resource, double service)
{
  OpLoad load = { resource, service };

  if (!(service > 0))
    return;
  g_array_append_val (self->loads, load);
  bind_graph_add_edge (self, bind_graph_op (self, op), bind_graph_resource (self, resource),
                       RELATION_LOAD, round_label (service));
}

static GraphOp *
begin_op (BindGraph *self, double latency)
{
  GraphOp op = { .first_load = self->loads->len, .latency = latency };

  g_array_append_val (self->ops, op);
  return &g_array_index (self->ops, GraphOp, self->ops->len - 1);
}

static void
end_op (BindGraph *self, guint64 colour)
{
  GraphOp *op = &g_array_index (self->ops, GraphOp, self->ops->len - 1);

  op->n_loads = self->loads->len - op->first_load;
  add_colour (self, colour_mix_double (colour, round_label (op->latency)));
}

/*
 * What a plan moves between nodes, and between GPUs of a node: cards are reached over PCIe as well,
 * which is not counted twice.
 */
static void
sum_payloads (const Cluster *cluster, const CollectiveCost *plan, double *inter, double *intra)
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

void
bind_graph_collect_costs (GraphUse *use, CollectivePlan *plan, CollectiveCost *costs)
{
  for (guint i = 0; i < use->sizes->len; i++)
    {
      guint known = 0;

      collective_plan_cost (plan, (double) g_array_index (use->sizes, guint64, i), &costs[i]);
      while (known < use->n_algorithms && use->algorithms[known] != costs[i].algorithm)
        known++;
      if (known == use->n_algorithms)
        use->algorithms[use->n_algorithms++] = costs[i].algorithm;
    }
}

guint64
colour_mix_cost (guint64 colour, const CollectiveCost *cost)
{
  colour = colour_mix (colour_mix (colour, cost->algorithm), cost->protocol);
  colour = colour_mix (colour, cost->channels);
  colour = colour_mix_double (colour, round_label (cost->weight));
  colour = colour_mix_double (colour, round_label (cost->latency));
  colour = colour_mix_double (colour, round_label (cost->rate_cap));
  return colour_mix_double (colour, cost->service_scale);
}

void
bind_graph_add_variant (BindGraph *self, const CollectiveCost *cost, guint first, guint64 colour)
{
  guint    index = self->ops->len;
  GraphOp *op = begin_op (self, 0);

  if (cost != NULL)
    sum_payloads (self->cluster, cost, &op->inter, &op->intra);
  if (index != first)
    bind_graph_add_edge (self, bind_graph_op (self, index), bind_graph_op (self, first),
                         RELATION_SAME, 1);
  for (guint i = 0; cost != NULL && cost->weight > 0 && i < cost->n_loads; i++)
    add_load (self, index, cost->loads[i].resource, cost->loads[i].service);
  end_op (self, colour_mix (colour, cost != NULL));
}

void
bind_graph_add_costs (BindGraph *self, const GraphUse *use, const CollectiveCost *costs,
                      double payload)
{
  GraphOp *op = &g_array_index (self->ops, GraphOp, self->ops->len - use->n_algorithms);

  op->first_cost = self->costs->len;
  op->n_costs = use->sizes->len;
  for (guint i = 0; i < use->sizes->len; i++)
    {
      BoundCost cost = {
        .bytes = g_array_index (use->sizes, guint64, i),
        .channels = costs[i].channels,
        .weight = costs[i].weight,
        .latency = costs[i].latency,
        .rate_cap = costs[i].rate_cap,
        .service_scale = costs[i].service_scale,
        .payload = payload,
        .algorithm = costs[i].algorithm,
        .protocol = costs[i].protocol,
      };

      while (use->algorithms[cost.plan] != cost.algorithm)
        cost.plan++;
      g_array_append_val (self->costs, cost);
    }
}

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

/* A group whose ranks do not use this kind keeps the numbering dense, and stands for nothing. */
static void
add_unused (BindGraph *self, const GraphUse *use)
{
  for (guint a = 0; a < use->n_algorithms; a++)
    {
      begin_op (self, 0);
      end_op (self, COLOUR_COLLECTIVE);
    }
}

static guint
first_rank_of_group (MeshGroup group, guint index)
{
  return index / group.stride * group.size * group.stride + index % group.stride;
}

guint
bind_graph_group (MeshGroup group, guint rank)
{
  return rank / (group.size * group.stride) * group.stride + rank % group.stride;
}

static gboolean
group_uses (const BindGraph *self, MeshGroup group, guint index, CommRef comm, guint kind)
{
  guint role = schedule_role_of_rank (self->schedule, first_rank_of_group (group, index));

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

  for (guint i = 0; i < n_groups; i++)
    if (group_uses (self, group, i, comm, kind))
      {
        mesh_group_members (group, first_rank_of_group (group, i), members);
        plans[i].plan = collective_plan_new (self->cluster, (CollectiveKind) kind, members,
                                             group.size, &self->options);
        plans[i].costs = g_new (CollectiveCost, use->sizes->len);
        bind_graph_collect_costs (use, plans[i].plan, plans[i].costs);
        lighten (use, plans[i].costs);
      }
  for (guint i = 0; i < n_groups; i++)
    {
      if (plans[i].plan == NULL)
        {
          add_unused (self, use);
          continue;
        }
      mesh_group_members (group, first_rank_of_group (group, i), members);
      add_collective (self, use, &plans[i], colour, members, group.size);
      collective_plan_free (plans[i].plan);
      g_free (plans[i].costs);
    }
}

static void
add_collectives (BindGraph *self)
{
  guint n_comms = schedule_n_comms (self->schedule);

  for (CommRef comm = 0; comm < n_comms; comm++)
    for (guint kind = 0; kind < COLLECTIVE_N_KINDS; kind++)
      {
        GraphUse *use = &self->uses[comm * COLLECTIVE_N_KINDS + kind];

        use->first_op = self->ops->len;
        if (use->sizes != NULL)
          add_groups (self, comm, kind);
      }
}

/* PCIe carries a copy at the copy engine's efficiency; memory takes its bytes. */
static void
add_copy (BindGraph *self, ScheduleCopy kind, guint rank)
{
  double efficiency = cluster_gpu_profile (self->cluster, rank)->host_copy_efficiency.value;
  guint  index = self->ops->len;
  Route  route;

  if (kind == COPY_TO_HOST)
    cluster_route_to_host (self->cluster, rank, &route);
  else
    cluster_route_from_host (self->cluster, rank, &route);
  begin_op (self, route.latency);
  bind_graph_add_edge (self, bind_graph_op (self, index), rank, RELATION_MEMBER, 1);
  add_load (self, index, cluster_gpu_resource (self->cluster, rank, RESOURCE_HBM), 1);
  for (guint i = 0; i < route.n; i++)
    {
      ResourceKind on = cluster_resource (self->cluster, route.resources[i])->kind;
      gboolean pcie = on == RESOURCE_PCIE_UP || on == RESOURCE_PCIE_DOWN || on == RESOURCE_PCIE_BOTH
                      || on == RESOURCE_SWITCH_UP || on == RESOURCE_SWITCH_DOWN;

      add_load (self, index, route.resources[i], pcie ? 1 / efficiency : 1);
    }
  end_op (self, colour_mix (COLOUR_COPY, kind));
}

static void
add_copies (BindGraph *self)
{
  for (ScheduleCopy kind = 0; kind < COPY_N; kind++)
    {
      self->first_copy[kind] = self->copies[kind] ? self->ops->len : REPLAY_NONE;
      for (guint r = 0; self->copies[kind] && r < self->n_ranks; r++)
        add_copy (self, kind, r);
    }
}

void
bind_graph_init (BindGraph *self, const Cluster *cluster, const Schedule *schedule,
                 const CollectiveOptions *options)
{
  *self = (BindGraph){ .cluster = cluster, .schedule = schedule, .options = *options };
  self->uses = g_new0 (GraphUse, schedule_n_comms (schedule) * COLLECTIVE_N_KINDS + 1);
  self->n_ranks = cluster_n_gpus (self->cluster);
  self->n_nodes = cluster_n_nodes (self->cluster);
  self->n_resources = cluster_n_resources (self->cluster);
  self->ops = g_array_new (FALSE, FALSE, sizeof (GraphOp));
  self->costs = g_array_new (FALSE, FALSE, sizeof (BoundCost));
  self->loads = g_array_new (FALSE, FALSE, sizeof (OpLoad));
  self->colours = g_array_new (FALSE, FALSE, sizeof (guint64));
  self->edges = g_array_new (FALSE, FALSE, sizeof (FoldEdge));
  self->profiles = g_ptr_array_new ();
  add_ranks (self);
  add_nodes (self);
  add_resources (self);
  note_uses (self);
  bind_graph_note_messages (self);
  add_collectives (self);
  add_copies (self);
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
