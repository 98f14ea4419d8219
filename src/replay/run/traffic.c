/* Bytes and FLOPs of a steady period, from the schedule and the plans. */
#include "replay/run/replay-private.h"

/* What the groups of a communicator and kind have moved so far. `group`: the first one met. */
typedef struct
{
  ReplayTraffic traffic;
  guint32       group;
} TrafficSum;

/* Which resources of the cluster PLAN loads: those simulated, and how many are like each. */
static guint
links_of (const Binding *binding, const BoundPlan *plan)
{
  guint hash = 0;

  for (guint i = plan->first_load; i < plan->first_load + plan->n_loads; i++)
    {
      const ResourceId  id = g_array_index (binding->loads, BoundLoad, i).resource;
      const BoundThing *thing = &g_array_index (binding->resources, BoundThing, id);

      hash += (33 * thing->id + thing->n_alike) * 2654435761u;
    }
  return hash;
}

/* Whether A and B are run alike. */
static gboolean
is_same_way (const TrafficWay *a, const TrafficWay *b)
{
  return a->algorithm == b->algorithm && a->protocol == b->protocol && a->channels == b->channels
         && a->unaligned == b->unaligned && a->resources == b->resources && a->links == b->links;
}

static void
add_way (ReplayTraffic *traffic, const Binding *binding, const BoundCost *cost,
         const BoundPlan *plan, double bytes)
{
  TrafficWay way = { cost->algorithm, cost->protocol,           cost->channels, cost->unaligned,
                     plan->n_loads,   links_of (binding, plan), bytes };

  if (traffic->ways == NULL)
    traffic->ways = g_array_new (FALSE, FALSE, sizeof (TrafficWay));
  for (guint i = 0; i < traffic->ways->len; i++)
    {
      TrafficWay *known = &g_array_index (traffic->ways, TrafficWay, i);

      if (!is_same_way (known, &way))
        continue;
      known->bytes += bytes;
      return;
    }
  g_array_append_val (traffic->ways, way);
}

/* Ties in the order of algorithms, protocols, channels, alignment and resources. */
static gint
compare_ways (gconstpointer a, gconstpointer b)
{
  const TrafficWay *x = a, *y = b;

  if (x->bytes != y->bytes)
    return x->bytes < y->bytes ? 1 : -1;
  if (x->algorithm != y->algorithm)
    return x->algorithm < y->algorithm ? -1 : 1;
  if (x->protocol != y->protocol)
    return x->protocol < y->protocol ? -1 : 1;
  if (x->channels != y->channels)
    return x->channels < y->channels ? -1 : 1;
  if (x->unaligned != y->unaligned)
    return x->unaligned ? 1 : -1;
  if (x->resources != y->resources)
    return x->resources < y->resources ? -1 : 1;
  return x->links < y->links ? -1 : x->links > y->links;
}

static void
traffic_clear (gpointer data)
{
  g_clear_pointer (&((ReplayTraffic *) data)->ways, g_array_unref);
}

/* What ITEM sends between nodes, BYTES a GPU. */
static void
add_inter_node (ReplayTraffic *traffic, const ScheduleItem *item, double bytes)
{
  traffic->inter_node_per_gpu += bytes;
  if (item->phase == PHASE_RECOMPUTE || item->phase == PHASE_BACKWARD)
    traffic->backward_inter_node_per_gpu += bytes;
}

/* What ITEM moves by the plan of COST, and by those that run in lockstep with it. */
static void
add_plans (const ReplayBound *self, const ScheduleItem *item, const BoundCost *cost,
           ReplayTraffic *traffic)
{
  const Binding *binding = self->binding;
  double         bytes = (double) item->bytes, n_gpus = cluster_n_gpus (self->cluster);

  for (guint32 i = cost->plan; i != REPLAY_NONE; i = binding_plan (binding, i)->twin)
    {
      const BoundPlan *plan = binding_plan (binding, i);

      add_way (traffic, binding, cost, plan, bytes);
      add_inter_node (traffic, item, plan->n_alike * plan->inter * bytes / n_gpus);
      traffic->intra_node_per_gpu += plan->n_alike * plan->intra * bytes / n_gpus;
    }
}

static void
add_collective (const ReplayBound *self, const ScheduleItem *item, guint rank, TrafficSum *sums)
{
  const Binding    *binding = self->binding;
  guint32           index = binding->group_of[item->ref * binding->ranks->len + rank];
  const BoundGroup *group = binding_group (binding, index);
  TrafficSum       *sum = &sums[item->ref * COLLECTIVE_N_KINDS + item->collective];
  const BoundCost  *cost;

  if (g_array_index (binding->members, guint32, group->first_member) != rank)
    return;
  cost = binding_cost (binding, group, (CollectiveKind) item->collective, item->bytes);
  add_plans (self, item, cost, &sum->traffic);
  if (sum->traffic.calls == 0)
    sum->group = index;
  sum->traffic.comm = item->ref;
  sum->traffic.kind = (CollectiveKind) item->collective;
  sum->traffic.calls += sum->group == index;
  sum->traffic.bytes += sum->group == index ? (double) item->bytes : 0;
}

static void
add_message (const ReplayBound *self, const ScheduleItem *item, guint rank, TrafficSum *sums)
{
  const Binding   *binding = self->binding;
  const BoundPair *pair = binding_pair_of (binding, binding_end (binding, rank, item));
  const BoundCost *cost = binding_pair_cost (binding, pair, item->bytes);
  ReplayTraffic   *sum = &sums[item->ref * COLLECTIVE_N_KINDS + COLLECTIVE_SEND_RECV].traffic;
  MeshGroup        group = schedule_comm_info (self->schedule, item->ref)->group;
  gboolean         counts = mesh_group_number (group, binding_rank (binding, rank)->rank) == 0;

  add_plans (self, item, cost, sum);
  sum->comm = item->ref;
  sum->kind = COLLECTIVE_SEND_RECV;
  sum->calls += counts;
  sum->bytes += counts ? (double) item->bytes : 0;
}

GArray *
replay_bound_traffic (const ReplayBound *self, MicroSpan span)
{
  GArray                *all = g_array_new (FALSE, FALSE, sizeof (ReplayTraffic));
  guint                  n = schedule_n_comms (self->schedule) * COLLECTIVE_N_KINDS;
  g_autofree TrafficSum *sums = g_new0 (TrafficSum, n + 1);

  for (guint rank = 0; rank < self->binding->ranks->len; rank++)
    {
      ScheduleItems items =
          schedule_span (self->schedule, binding_rank (self->binding, rank)->role, span);

      for (guint i = 0; i < items.n; i++)
        if (items.items[i].kind == ITEM_COLLECTIVE)
          add_collective (self, &items.items[i], rank, sums);
        else if (items.items[i].kind == ITEM_P2P && items.items[i].collective == MESSAGE_SEND)
          add_message (self, &items.items[i], rank, sums);
    }
  g_array_set_clear_func (all, traffic_clear);
  for (guint i = 0; i < n; i++)
    if (sums[i].traffic.calls > 0)
      {
        g_array_sort (sums[i].traffic.ways, compare_ways);
        g_array_append_val (all, sums[i].traffic);
      }
    else
      traffic_clear (&sums[i].traffic);
  return all;
}

static double
executed_flops (const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL && kernel_desc_is_product (item->kernel) ? item->kernel->flops
                                                                            : 0;
}

static double
recomputed_flops (const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL ? item->kernel->recomputed_flops : 0;
}

static double
kernel_bytes (const ScheduleItem *item)
{
  return item->kind == ITEM_KERNEL ? item->kernel->read_bytes + item->kernel->write_bytes : 0;
}

static double
host_link_bytes (const ScheduleItem *item)
{
  return item->kind == ITEM_MOVE
                 && (move_from (item->collective) == PLACE_HBM)
                        != (move_to (item->collective) == PLACE_HBM)
             ? (double) item->bytes
             : 0;
}

static double
role_sum (const ReplayBound *self, guint role, MicroSpan span,
          double (*amount_of) (const ScheduleItem *item))
{
  ScheduleItems items = schedule_span (self->schedule, role, span);
  double        sum = 0;

  for (guint i = 0; i < items.n; i++)
    sum += amount_of (&items.items[i]);
  return sum;
}

static double
mean_sum (const ReplayBound *self, MicroSpan span, double (*amount_of) (const ScheduleItem *item))
{
  guint              n_roles = schedule_n_roles (self->schedule);
  g_autofree double *of_role = g_new (double, n_roles);
  double             sum = 0;

  for (guint role = 0; role < n_roles; role++)
    of_role[role] = role_sum (self, role, span, amount_of);
  for (guint i = 0; i < self->binding->ranks->len; i++)
    sum += binding_rank (self->binding, i)->size * of_role[binding_rank (self->binding, i)->role];
  return sum / cluster_n_gpus (self->cluster) / schedule_steps_per_period (self->schedule);
}

double
replay_bound_executed_flops (const ReplayBound *self, MicroSpan span)
{
  return mean_sum (self, span, executed_flops);
}

double
replay_bound_kernel_bytes (const ReplayBound *self, MicroSpan span)
{
  return mean_sum (self, span, kernel_bytes);
}

double
replay_bound_recomputed_flops (const ReplayBound *self, MicroSpan span)
{
  return mean_sum (self, span, recomputed_flops);
}

double
replay_bound_host_link_bytes (const ReplayBound *self, MicroSpan span)
{
  return mean_sum (self, span, host_link_bytes);
}
