#include "engine/flow-net.h"

#include <math.h>

#include "engine/fluid.h"

/* What may make a flow unlike a plain one. Plain flows share one entry. */
typedef struct
{
  SimTime latency;
  double  weight, cap;
} Terms;

/* A flow that is to start; then, and until it ends, its place in its group. */
typedef struct
{
  SimTime time; /* when it joins the links; its finish when it is over */
  double  mark; /* bytes; of a flow that moves: the reading of its group's clock at its end */
  guint32 first_link;
  guint32 terms;
  guint32 place; /* in its group's heap */
  FluidOp op;
} Flow;

/*
 * The flows with one bottleneck: a heap by their marks, and a clock that counts bytes per unit of
 * weight.
 */
typedef struct
{
  guint32 *flows;
  guint    n, size;
  double   first; /* the mark of the first */
  double   clock; /* at `settled` */
  double   level;
  SimTime  settled;
} Group;

struct _FlowNet
{
  Fluid     *fluid;
  GArray    *links;  /* guint32: the routes one after another */
  GArray    *loads;  /* double, beside them; empty while all are 1 */
  GArray    *terms;  /* Terms */
  GArray    *flows;  /* Flow */
  GArray    *moved;  /* double a link */
  guint32   *starts; /* flows by time of start */
  Group     *groups; /* by FluidGroup */
  SimTime   *ends;   /* by FluidGroup: when its first flow ends, or SIM_TIME_MAX */
  guint      n_groups;
  guint32   *tree; /* a tournament of groups: the winner of nodes 2 i and 2 i + 1 at i; leaves from
                      `n_leaves` on */
  guint      n_leaves;
  GArray    *touched; /* FluidGroup whose end is to be found again */
  SimTime    now, makespan;
  guint64    events;
  WorkCount *count;
};

FlowNet *
flow_net_new (void)
{
  FlowNet *self = g_new0 (FlowNet, 1);

  self->fluid = fluid_new ();
  self->links = g_array_new (FALSE, FALSE, sizeof (guint32));
  self->loads = g_array_new (FALSE, FALSE, sizeof (double));
  self->terms = g_array_new (FALSE, FALSE, sizeof (Terms));
  self->flows = g_array_new (FALSE, FALSE, sizeof (Flow));
  self->moved = g_array_new (FALSE, TRUE, sizeof (double));
  self->touched = g_array_new (FALSE, FALSE, sizeof (FluidGroup));
  return self;
}

void
flow_net_free (FlowNet *self)
{
  if (self == NULL)
    return;

  GArray *arrays[] = { self->links, self->loads, self->terms,
                       self->flows, self->moved, self->touched };
  for (guint i = 0; i < G_N_ELEMENTS (arrays); i++)
    g_array_unref (arrays[i]);
  for (guint i = 0; i < self->n_groups; i++)
    g_free (self->groups[i].flows);
  g_free (self->groups);
  g_free (self->ends);
  g_free (self->tree);
  g_free (self->starts);
  fluid_free (self->fluid);
  g_free (self);
}

static inline Flow *
flow_at (const FlowNet *self, guint flow)
{
  return &g_array_index (self->flows, Flow, flow);
}

/* ---- links and flows ------------------------------------------------------------------------- */

guint
flow_net_add_link (FlowNet *self, double capacity)
{
  fluid_add_resource (self->fluid, capacity);
  g_array_set_size (self->moved, self->moved->len + 1);
  return self->moved->len - 1;
}

static guint32
find_terms (FlowNet *self, const FlowSpec *spec)
{
  Terms terms = { spec->latency, spec->weight, spec->cap };

  /* of neighbours in a list the terms are often the same */
  for (guint i = self->terms->len; i-- > 0 && i + 8 >= self->terms->len;)
    {
      const Terms *other = &g_array_index (self->terms, Terms, i);
      if (other->latency == terms.latency && other->weight == terms.weight
          && other->cap == terms.cap)
        return i;
    }
  g_array_append_val (self->terms, terms);
  return self->terms->len - 1;
}

guint
flow_net_add_flow (FlowNet *self, const FlowSpec *spec)
{
  Flow flow = { .time = spec->start,
                .mark = spec->bytes,
                .first_link = self->links->len,
                .terms = find_terms (self, spec) };

  g_assert (isfinite (spec->bytes) && spec->bytes > 0 && spec->weight > 0);
  g_array_append_vals (self->links, spec->links, spec->n_links);
  if (spec->loads != NULL || self->loads->len > 0)
    {
      const double one = 1;

      while (self->loads->len < flow.first_link)
        g_array_append_val (self->loads, one);
      for (guint i = 0; i < spec->n_links; i++)
        g_array_append_vals (self->loads, spec->loads == NULL ? &one : &spec->loads[i], 1);
    }
  for (guint i = 0; i < spec->n_links; i++)
    g_array_index (self->moved, double, spec->links[i]) +=
        spec->bytes * (spec->loads == NULL ? 1 : spec->loads[i]);
  g_array_append_val (self->flows, flow);
  return self->flows->len - 1;
}

guint
flow_net_n_links (const FlowNet *self)
{
  return self->moved->len;
}

guint
flow_net_n_flows (const FlowNet *self)
{
  return self->flows->len;
}

double
flow_net_capacity (const FlowNet *self, guint link)
{
  return fluid_capacity (self->fluid, link);
}

static guint
end_of_route (const FlowNet *self, guint flow)
{
  return flow + 1 < self->flows->len ? flow_at (self, flow + 1)->first_link : self->links->len;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static inline void
play (FlowNet *self, guint i)
{
  guint32 left = self->tree[2 * (gsize) i], right = self->tree[2 * (gsize) i + 1];

  self->tree[i] = self->ends[right] < self->ends[left] ? right : left;
}

/* Makes room for groups up to ID. */
static void
grow_groups (FlowNet *self, FluidGroup id)
{
  guint n = MAX (64, self->n_groups), leaves;

  if (id < self->n_groups)
    return;
  while (n <= id)
    n *= 2;
  self->groups = g_renew (Group, self->groups, n);
  self->ends = g_renew (SimTime, self->ends, n);
  for (guint i = self->n_groups; i < n; i++)
    {
      self->groups[i] = (Group){ 0 };
      self->ends[i] = SIM_TIME_MAX;
    }
  self->n_groups = self->n_leaves = leaves = n;
  self->tree = g_renew (guint32, self->tree, 2 * (gsize) leaves);
  for (guint i = 0; i < leaves; i++)
    self->tree[leaves + i] = i;
  for (guint i = leaves; i-- > 1;)
    play (self, i);
}

/* Finds the winners again after the ends of `touched` have changed. */
static void
replay_tournament (FlowNet *self)
{
  guint depth = 1;

  while (self->n_leaves >> depth > 0)
    depth++;
  if (self->touched->len * depth > self->n_leaves)
    {
      for (guint i = self->n_leaves; i-- > 1;)
        play (self, i);
      return;
    }
  for (guint i = 0; i < self->touched->len; i++)
    for (guint at = (self->n_leaves + g_array_index (self->touched, FluidGroup, i)) / 2; at > 0;
         at /= 2)
      play (self, at);
}

static inline gboolean
ends_before (const FlowNet *self, guint32 a, guint32 b)
{
  double x = flow_at (self, a)->mark, y = flow_at (self, b)->mark;

  return x < y || (x == y && a < b);
}

static inline void
place (FlowNet *self, Group *group, guint i, guint32 flow)
{
  group->flows[i] = flow;
  flow_at (self, flow)->place = i;
  if (i == 0)
    group->first = flow_at (self, flow)->mark;
}

/* Puts FLOW into the hole at I of a group's heap, moving the hole to where it belongs. */
static void
settle_in_heap (FlowNet *self, Group *group, guint i, guint32 flow)
{
  for (; i > 0 && ends_before (self, flow, group->flows[(i - 1) / 2]); i = (i - 1) / 2)
    place (self, group, i, group->flows[(i - 1) / 2]);
  for (guint child; (child = 2 * i + 1) < group->n; i = child)
    {
      if (child + 1 < group->n && ends_before (self, group->flows[child + 1], group->flows[child]))
        child++;
      if (!ends_before (self, group->flows[child], flow))
        break;
      place (self, group, i, group->flows[child]);
    }
  place (self, group, i, flow);
}

/* Brings a group's clock to the present. */
static void
settle_clock (FlowNet *self, Group *group)
{
  if (group->n == 0)
    group->clock = 0;
  else if (self->now > group->settled) /* one that flows have just come to: level not known yet */
    group->clock += group->level * sim_time_to_seconds (self->now - group->settled);
  group->settled = self->now;
}

/* The flow's mark is what it has left, per unit of weight, afterwards. */
static void
leave (FlowNet *self, guint32 flow, FluidGroup id)
{
  Group  *group = &self->groups[id];
  guint   hole = flow_at (self, flow)->place;
  guint32 last = group->flows[group->n - 1];

  settle_clock (self, group);
  flow_at (self, flow)->mark = MAX (0.0, flow_at (self, flow)->mark - group->clock);
  group->n--;
  if (hole < group->n)
    settle_in_heap (self, group, hole, last);
}

/* Finds the end of a group's first flow again. */
static void
key_group (FlowNet *self, FluidGroup id)
{
  const Group *group = &self->groups[id];

  self->ends[id] = group->n == 0
                       ? SIM_TIME_MAX
                       : sim_time_add (group->settled,
                                       sim_time_span (group->first - group->clock, group->level));
}

/* ---- events ---------------------------------------------------------------------------------- */

static void
start_flow (FlowNet *self, guint32 id)
{
  Flow        *flow = flow_at (self, id);
  const Terms *terms = &g_array_index (self->terms, Terms, flow->terms);
  guint        end = end_of_route (self, id);
  Demand       few[16];
  Demand      *demands =
      end - flow->first_link <= G_N_ELEMENTS (few) ? few : g_new (Demand, end - flow->first_link);

  for (guint i = flow->first_link; i < end; i++)
    demands[i - flow->first_link] =
        (Demand){ g_array_index (self->links, guint32, i),
                  self->loads->len > 0 ? g_array_index (self->loads, double, i) : 1 };
  flow->op = fluid_add (self->fluid, &(FluidSpec){ .class_ = OP_TRAFFIC,
                                                   .demands = demands,
                                                   .n_demands = end - flow->first_link,
                                                   .waves = { ENGINE_NONE, 0, 0 },
                                                   .share = terms->weight,
                                                   .cap = terms->cap,
                                                   .user = id });
  flow->mark /= terms->weight;
  if (demands != few)
    g_free (demands);
}

static void
end_flow (FlowNet *self, guint32 id)
{
  flow_at (self, id)->time = self->now;
  self->makespan = MAX (self->makespan, self->now);
  self->events++;
  work_count_done (self->count);
}

static inline void
touch (FlowNet *self, FluidGroup id)
{
  g_array_append_val (self->touched, id);
}

/* A flow has come to another group, or into its first one. */
static void
move_flow (FlowNet *self, FluidOp op)
{
  guint32    flow = fluid_user (self->fluid, op);
  FluidGroup from = fluid_group_before (self->fluid, op), to = fluid_group (self->fluid, op);
  Group     *group = &self->groups[to];

  if (from != 0)
    {
      leave (self, flow, from);
      touch (self, from);
    }
  settle_clock (self, group);
  flow_at (self, flow)->mark += group->clock;
  if (group->n == group->size)
    {
      group->size = MAX (4, 2 * group->size);
      group->flows = g_renew (guint32, group->flows, group->size);
    }
  settle_in_heap (self, group, group->n++, flow);
  touch (self, to);
}

static void
solve (FlowNet *self)
{
  FluidChange change = fluid_solve_groups (self->fluid);

  for (guint i = 0; i < change.n_groups; i++)
    grow_groups (self, change.groups[i]);
  for (guint i = 0; i < change.n_groups; i++)
    {
      settle_clock (self, &self->groups[change.groups[i]]);
      touch (self, change.groups[i]);
    }
  for (guint i = 0; i < change.n_moved; i++)
    move_flow (self, change.moved[i]);
  for (guint i = 0; i < self->touched->len; i++)
    {
      FluidGroup id = g_array_index (self->touched, FluidGroup, i);
      self->groups[id].level = fluid_level (self->fluid, id);
      key_group (self, id);
    }
}

static void
end_all_due (FlowNet *self)
{
  while (self->n_groups > 0 && self->ends[self->tree[1]] == self->now)
    {
      FluidGroup id = self->tree[1];
      Group     *group = &self->groups[id];
      /* The flows end whose marks the group's clock has reached. */
      settle_clock (self, group);
      do
        {
          guint32 flow = group->flows[0];
          leave (self, flow, id);
          fluid_remove (self->fluid, flow_at (self, flow)->op);
          end_flow (self, flow);
        }
      while (group->n > 0 && sim_time_span (group->first - group->clock, group->level) == 0);
      key_group (self, id);
      touch (self, id);
      for (guint at = (self->n_leaves + id) / 2; at > 0; at /= 2)
        play (self, at);
    }
}

static guint
start_all_due (FlowNet *self, guint next)
{
  for (; next < self->flows->len && flow_at (self, self->starts[next])->time == self->now; next++)
    if (end_of_route (self, self->starts[next]) == flow_at (self, self->starts[next])->first_link)
      end_flow (self, self->starts[next]);
    else
      start_flow (self, self->starts[next]);
  return next;
}

static gint
compare_starts (gconstpointer a, gconstpointer b, gpointer user)
{
  guint32 i = *(const guint32 *) a, j = *(const guint32 *) b;
  SimTime x = flow_at (user, i)->time, y = flow_at (user, j)->time;

  return x != y ? (x > y ? 1 : -1) : (i > j) - (i < j);
}

static void
sort_starts (FlowNet *self)
{
  guint    n = self->flows->len;
  gboolean sorted = TRUE;

  self->starts = g_renew (guint32, self->starts, n);
  for (guint i = 0; i < n; i++)
    {
      Flow   *flow = flow_at (self, i);
      SimTime latency = g_array_index (self->terms, Terms, flow->terms).latency;
      flow->time = sim_time_add (flow->time, latency);
      self->starts[i] = i;
      sorted = sorted && (i == 0 || flow_at (self, i - 1)->time <= flow->time);
    }
  if (!sorted)
    g_qsort_with_data (self->starts, (gint) n, sizeof *self->starts, compare_starts, self);
}

void
flow_net_set_count (FlowNet *self, WorkCount *count)
{
  self->count = count;
}

gboolean
flow_net_run (FlowNet *self, GError **error)
{
  guint64 n_left = self->flows->len;

  work_count_add (self->count, self->flows->len);
  sort_starts (self);
  for (guint next = 0; n_left > self->events;)
    {
      self->now = self->n_groups > 0 ? self->ends[self->tree[1]] : SIM_TIME_MAX;
      if (next < self->flows->len)
        self->now = MIN (self->now, flow_at (self, self->starts[next])->time);
      if (self->now == SIM_TIME_MAX)
        {
          g_autofree char *where = g_strdup_printf ("%" G_GUINT64_FORMAT " of %u flows",
                                                    n_left - self->events, self->flows->len);

          engine_set_too_long (error, where);
          return FALSE;
        }
      g_array_set_size (self->touched, 0);
      end_all_due (self);
      next = start_all_due (self, next);
      if (fluid_is_dirty (self->fluid))
        solve (self);
      replay_tournament (self);
    }
  return TRUE;
}

SimTime
flow_net_finish (const FlowNet *self, guint flow)
{
  return flow_at (self, flow)->time;
}

double
flow_net_moved (const FlowNet *self, guint link)
{
  return g_array_index (self->moved, double, link);
}

SimTime
flow_net_makespan (const FlowNet *self)
{
  return self->makespan;
}

void
flow_net_set_full (FlowNet *self, gboolean full)
{
  fluid_set_full (self->fluid, full);
}

guint64
flow_net_visited (const FlowNet *self)
{
  guint64 solves, visited;

  fluid_counters (self->fluid, &solves, &visited);
  return visited;
}
