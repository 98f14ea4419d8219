#include "engine/fluid-private.h"

#include <string.h>

static Vector *
array_of (gsize size)
{
  return vector_new (size);
}

static guint32
new_tier (Fluid *self, OpClass class_, gint priority)
{
  FluidTier tier = { class_, priority, array_of (sizeof (NodeId)) };
  guint32   number = self->tiers->len;
  guint     place = 0;

  for (; place < self->tier_order->len; place++)
    {
      const FluidTier *other =
          &vector_at (self->tiers, FluidTier, vector_at (self->tier_order, guint32, place));
      if (other->class_ == OP_KERNEL && other->priority < priority)
        break;
    }
  vector_push (self->tiers, tier);
  vector_push (self->tier_order, number);
  for (guint i = self->tier_order->len - 1; i > place; i--)
    {
      vector_at (self->tier_order, guint32, i) = vector_at (self->tier_order, guint32, i - 1);
      vector_at (self->tier_order, guint32, i - 1) = number;
    }
  return number;
}

Fluid *
fluid_new (void)
{
  Fluid *self = g_new0 (Fluid, 1);

  self->resources = array_of (sizeof (FluidResource));
  self->tiers = array_of (sizeof (FluidTier));
  self->tier_order = array_of (sizeof (guint32));
  self->reservation = array_of (sizeof (ResourceId));
  self->free_nodes = array_of (sizeof (NodeId));
  self->free_ops = array_of (sizeof (FluidOp));
  self->groups = array_of (sizeof (NodeId));
  self->moved = array_of (sizeof (FluidOp));
  self->changed = array_of (sizeof (FluidOp));
  self->own = array_of (sizeof (FluidOp));
  self->candidates = array_of (sizeof (FluidCandidate));
  self->users = array_of (sizeof (FluidOp));
  self->watched = array_of (sizeof (NodeId));
  new_tier (self, OP_TRAFFIC, 0);
  fluid_new_node (self, 0, ENGINE_NONE); /* nobody */
  self->levels[NOBODY] = 0;
  return self;
}

void
fluid_free (Fluid *self)
{
  if (self == NULL)
    return;

  Vector *arrays[] = { self->resources, self->tier_order, self->reservation, self->free_nodes,
                       self->free_ops,  self->groups,     self->moved,       self->changed,
                       self->own,       self->candidates, self->users,       self->watched };
  for (guint i = 0; i < self->tiers->len; i++)
    vector_free (vector_at (self->tiers, FluidTier, i).dirty);
  vector_free (self->tiers);
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    vector_free (arrays[i]);
  for (NodeId i = 0; i < self->n_nodes; i++)
    {
      g_free (self->nodes[i].ops);
      g_free (self->nodes[i].weights);
    }
  for (FluidOp i = 0; i < self->n_ops; i++)
    {
      g_free (self->routes[i].nodes);
      g_free (self->routes[i].amounts);
    }
  g_free (self->nodes);
  g_free (self->levels);
  g_free (self->flags);
  g_free (self->rooms);
  g_free (self->flows);
  g_free (self->routes);
  g_free (self->peers);
  g_free (self->owners);
  g_free (self);
}

/* ---- ops ------------------------------------------------------------------------------------- */

static FluidOp
take_op (Fluid *self)
{
  if (self->free_ops->len > 0)
    {
      FluidOp id = vector_at (self->free_ops, FluidOp, self->free_ops->len - 1);
      vector_cut (self->free_ops, self->free_ops->len - 1);
      return id;
    }
  if (self->n_ops == self->ops_size)
    {
      self->ops_size = MAX (64, 2 * self->ops_size);
      self->flows = g_renew (FluidFlow, self->flows, self->ops_size);
      self->routes = g_renew (FluidRoute, self->routes, self->ops_size);
      self->peers = g_renew (FluidPeers, self->peers, self->ops_size);
      self->owners = g_renew (NodeId, self->owners, self->ops_size);
    }
  self->routes[self->n_ops] = (FluidRoute){ 0 };
  return self->n_ops++;
}

static guint32
tier_of (Fluid *self, const FluidSpec *spec)
{
  if (spec->class_ == OP_TRAFFIC)
    return 0;
  for (guint32 i = 1; i < self->tiers->len; i++)
    if (fluid_tier_at (self, i)->priority == spec->priority)
      return i;
  return new_tier (self, OP_KERNEL, spec->priority);
}

static void
add_link (Fluid *self, FluidOp op, NodeId node, double amount)
{
  FluidRoute *route = &self->routes[op];
  guint       i = route->n_links++;

  g_assert (amount > 0);
  if (route->amounts != NULL)
    route->amounts[i] = amount;
  if (route->nodes != NULL)
    route->nodes[i] = node;
  if (i < FLUID_FEW)
    self->peers[op].nodes[i] = node;
  else
    self->peers[op].nodes[0] = NOBODY;
  fluid_add_use (self, node, op, fluid_weight_of (self, op, i));
}

/* Room for N links in the arrays of a route, as far as it needs them. */
static void
grow_route (FluidRoute *route, guint n, gboolean amounts)
{
  guint    size = MAX (route->size, n);
  gboolean grows = size > route->size;

  g_assert (n > 0);
  if (route->nodes != NULL ? grows : n > FLUID_FEW)
    route->nodes = g_renew (NodeId, route->nodes, size);
  if (route->amounts != NULL ? grows : amounts)
    route->amounts = g_renew (double, route->amounts, size);
  route->size = size;
}

/* Plain flows move each byte once over each link: no amounts are kept for them. */
static gboolean
is_plain (const FluidSpec *spec)
{
  gboolean plain = TRUE;

  for (guint i = 0; i < spec->n_demands; i++)
    plain = plain && spec->demands[i].amount == 1;
  return plain;
}

static void
add_links (Fluid *self, FluidOp op, const FluidSpec *spec)
{
  FluidFlow *flow = &self->flows[op];
  gboolean   waves =
      flow->waves.resource != ENGINE_NONE
      && (flow->n_wave_parts > 0 || (flow->waves.units > 0 && flow->waves.unit_seconds > 0));
  double amount = 0, limit;

  if (waves)
    amount = fluid_count_waves (flow, fluid_resource_at (self, flow->waves.resource));
  limit = fluid_op_limit (flow);
  grow_route (&self->routes[op], spec->n_demands + (waves ? 1 : 0) + (limit > 0 ? 1 : 0),
              waves || !is_plain (spec));
  for (guint i = 0; i < spec->n_demands; i++)
    add_link (self, op, fluid_node_of (self, spec->demands[i].resource, flow->tier),
              spec->demands[i].amount);
  flow->wave_link = spec->n_demands;
  if (waves)
    add_link (self, op, fluid_node_of (self, flow->waves.resource, flow->tier), amount);
  if (limit > 0)
    {
      flow->limit = fluid_new_node (self, flow->tier, ENGINE_NONE);
      self->nodes[flow->limit].capacity = limit;
      add_link (self, op, flow->limit, 1);
    }
}

/* One link, to a limit of its own: what the op's demands and waves take with nothing else there. */
static void
add_apart (Fluid *self, FluidOp op, const FluidSpec *spec)
{
  FluidFlow *flow = &self->flows[op];
  double     waves = 0, limit;

  if (flow->n_wave_parts > 0 || flow->waves.units > 0)
    waves = fluid_count_waves (flow, fluid_resource_at (self, flow->waves.resource));
  limit = fluid_op_limit (flow);
  flow->n_waves = 0;
  for (guint i = 0; i < spec->n_demands; i++)
    {
      const Demand *demand = &spec->demands[i];
      const double  own = demand->resource == flow->waves.resource ? waves : 0;
      double        most = fluid_capacity (self, demand->resource) / (demand->amount + own);

      if (limit > 0 && most >= limit)
        continue;
      limit = most;
      flow->limit_on = demand->resource;
    }
  grow_route (&self->routes[op], 1, FALSE);
  flow->limit = fluid_new_node (self, flow->tier, ENGINE_NONE);
  self->nodes[flow->limit].capacity = limit;
  add_link (self, op, flow->limit, 1);
}

FluidOp
fluid_add (Fluid *self, const FluidSpec *spec)
{
  FluidOp     op = take_op (self);
  FluidRoute *route = &self->routes[op];

  g_assert (spec->share > 0);
  self->flows[op] = (FluidFlow){ .live = TRUE,
                                 .tier = tier_of (self, spec),
                                 .user = spec->user,
                                 .cap = spec->cap,
                                 .waves = spec->waves,
                                 .wave_parts = spec->wave_parts,
                                 .n_wave_parts = spec->n_wave_parts,
                                 .serial = self->n_added++ };
  self->owners[op] = NOBODY;
  self->peers[op] = (FluidPeers){ { NOBODY } };
  route->n_links = 0;
  route->share = spec->share;
  if (self->apart)
    add_apart (self, op, spec);
  else
    add_links (self, op, spec);
  g_assert (route->n_links > 0);
  return op;
}

void
fluid_remove (Fluid *self, FluidOp op)
{
  FluidFlow        *flow = &self->flows[op];
  const FluidRoute *route = &self->routes[op];
  NodeId            owner = self->owners[op];
  double            level = self->levels[owner];

  g_assert (flow->live);
  for (guint i = 0; i < route->n_links; i++)
    fluid_remove_use (self, fluid_nodes_of (self, op)[i], op, level);
  if (flow->limit != NOBODY)
    {
      self->levels[flow->limit] = INFINITY;
      vector_push (self->free_nodes, flow->limit);
    }
  flow->live = FALSE;
  vector_push (self->free_ops, op);
}

FluidRate
fluid_rate (const Fluid *self, FluidOp op)
{
  const FluidFlow *flow = &self->flows[op];
  NodeId           owner = self->owners[op];
  const FluidNode *node = &self->nodes[owner];

  if (owner == NOBODY)
    return (FluidRate){ 0, CAUSE_N, ENGINE_NONE };
  if (node->resource != ENGINE_NONE)
    return (FluidRate){ self->levels[owner] * self->routes[op].share, CAUSE_RESOURCE,
                        node->resource };
  if (flow->limit_on == ENGINE_NONE)
    return (FluidRate){ node->capacity, CAUSE_CAP, ENGINE_NONE };
  return (FluidRate){ node->capacity, CAUSE_RESOURCE, flow->limit_on };
}

guint32
fluid_user (const Fluid *self, FluidOp op)
{
  return self->flows[op].user;
}

double
fluid_level (const Fluid *self, FluidGroup group)
{
  return self->levels[group];
}

FluidGroup
fluid_group (const Fluid *self, FluidOp op)
{
  return self->owners[op];
}

FluidGroup
fluid_group_before (const Fluid *self, FluidOp moved)
{
  return self->flows[moved].before;
}

double
fluid_n_waves (const Fluid *self, FluidOp op)
{
  return self->flows[op].n_waves;
}

double
fluid_wave_amount (const Fluid *self, FluidOp op)
{
  const FluidFlow *flow = &self->flows[op];

  return flow->n_waves > 0 ? self->routes[op].amounts[flow->wave_link] : 0;
}

double
fluid_amount (const Fluid *self, FluidOp op, ResourceId id)
{
  const FluidRoute *route = &self->routes[op];
  double            sum = 0;

  for (guint i = 0; i < route->n_links; i++)
    if (self->nodes[fluid_nodes_of (self, op)[i]].resource == id)
      sum += route->amounts == NULL ? 1 : route->amounts[i];
  return sum;
}

static gint
compare_serials (gconstpointer a, gconstpointer b, gpointer user)
{
  const Fluid *self = user;
  guint64      x = self->flows[*(const FluidOp *) a].serial,
          y = self->flows[*(const FluidOp *) b].serial;

  return (x > y) - (x < y);
}

const FluidOp *
fluid_users (Fluid *self, ResourceId id, OpClass class_, guint *n)
{
  guint n_nodes = 0;

  vector_cut (self->users, 0);
  for (NodeId node = fluid_resource_at (self, id)->first; node != NOBODY;
       node = self->nodes[node].below)
    {
      if ((self->nodes[node].tier == 0) != (class_ == OP_TRAFFIC))
        continue;
      n_nodes += self->nodes[node].n_uses > 0;
      for (guint i = 0; i < self->nodes[node].n_uses; i++)
        if (i == 0 || self->nodes[node].ops[i] != self->nodes[node].ops[i - 1])
          vector_push (self->users, self->nodes[node].ops[i]);
    }
  if (n_nodes > 1)
    g_qsort_with_data (self->users->data, (gint) self->users->len, sizeof (FluidOp),
                       compare_serials, self);
  *n = self->users->len;
  return (const FluidOp *) (gpointer) self->users->data;
}

/* ---- solving --------------------------------------------------------------------------------- */

/* Keeps those whose level, or group, is another one than before. */
static void
drop_unchanged (Fluid *self)
{
  guint n = 0;

  for (guint i = 0; i < self->groups->len; i++)
    {
      NodeId id = vector_at (self->groups, NodeId, i);
      if (self->levels[id] != self->nodes[id].before)
        vector_at (self->groups, NodeId, n++) = id;
    }
  vector_cut (self->groups, n);
  n = 0;
  for (guint i = 0; i < self->moved->len; i++)
    {
      FluidOp op = vector_at (self->moved, FluidOp, i);
      if (self->owners[op] != self->flows[op].before)
        vector_at (self->moved, FluidOp, n++) = op;
    }
  vector_cut (self->moved, n);
}

FluidChange
fluid_solve_groups (Fluid *self)
{
  self->stamp++;
  vector_cut (self->groups, 0);
  vector_cut (self->moved, 0);
  vector_cut (self->changed, 0);
  for (guint i = 0; i < self->reservation->len; i++)
    fluid_apply_reservation (self, vector_at (self->reservation, ResourceId, i));
  vector_cut (self->reservation, 0);
  for (guint i = 0; i < self->tier_order->len; i++)
    {
      guint32 tier = vector_at (self->tier_order, guint32, i);

      if (self->full || fluid_tier_at (self, tier)->dirty->len != 0)
        {
          self->solves++;
          vector_cut (self->watched, 0);
          if (self->full || !fluid_repair_tier (self, tier))
            fluid_fill_tier (self, tier);
          for (guint i = 0; i < self->watched->len; i++)
            fluid_offer_below (self, vector_at (self->watched, NodeId, i));
        }
    }
  drop_unchanged (self);
  return (FluidChange){ (const FluidGroup *) (gpointer) self->groups->data, self->groups->len,
                        (const FluidOp *) (gpointer) self->moved->data, self->moved->len };
}

gboolean
fluid_is_dirty (const Fluid *self)
{
  return self->n_dirty > 0 || self->reservation->len > 0;
}

const FluidOp *
fluid_solve (Fluid *self, guint *n_changed)
{
  FluidChange change = fluid_solve_groups (self);

  for (guint i = 0; i < change.n_moved; i++)
    fluid_report (self, change.moved[i]);
  for (guint i = 0; i < change.n_groups; i++)
    {
      const FluidNode *node = &self->nodes[change.groups[i]];
      for (guint j = 0; j < node->n_uses; j++)
        if (self->owners[node->ops[j]] == change.groups[i])
          fluid_report (self, node->ops[j]);
    }
  *n_changed = self->changed->len;
  return (const FluidOp *) (gpointer) self->changed->data;
}

void
fluid_set_full (Fluid *self, gboolean full)
{
  self->full = full;
}

void
fluid_set_apart (Fluid *self, gboolean apart)
{
  self->apart = apart;
}

void
fluid_counters (const Fluid *self, guint64 *solves, guint64 *visited)
{
  *solves = self->solves;
  *visited = self->visited;
}
