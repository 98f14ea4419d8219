#include "replay/run/collective-run.h"

/*
 * Of the resources that nobody else uses only an item's slowest can bind it, so the others stay
 * out: a ring over thousands of ranks is one demand, and as many as it shares with others.
 */
typedef struct
{
  const Cluster *cluster;
  Engine        *engine;
  guint32       *n_users; /* [cluster resource]: items */
  ResourceId    *ids;     /* [cluster resource]: in the engine, or ENGINE_NONE */
  GArray        *demands; /* Demand: scratch */
} Setting;

typedef struct
{
  Setting                 *setting;
  const CollectiveRunItem *item;
  CollectiveCost           cost;
  OpId                     op;
  StreamId                 stream;
  gboolean                 waited;
} Runner;

static void
add_demand (Setting *self, guint32 resource, double amount)
{
  Demand demand = { .amount = amount };

  if (self->ids[resource] == ENGINE_NONE)
    self->ids[resource] = engine_add_resource (
        self->engine, "link", cluster_resource (self->cluster, resource)->capacity);
  demand.resource = self->ids[resource];
  g_array_append_val (self->demands, demand);
}

static void
collect_demands (Runner *self)
{
  Setting              *setting = self->setting;
  double                bytes = self->item->bytes * self->cost.service_scale, longest = 0;
  const CollectiveLoad *slowest = NULL;

  g_array_set_size (setting->demands, 0);
  for (guint i = 0; i < self->cost.n_loads; i++)
    {
      const CollectiveLoad *load = &self->cost.loads[i];
      double                seconds =
          load->service / cluster_resource (setting->cluster, load->resource)->capacity;

      if (setting->n_users[load->resource] > 1)
        add_demand (setting, load->resource, load->service * bytes);
      else if (seconds > longest)
        {
          longest = seconds;
          slowest = load;
        }
    }
  if (slowest != NULL)
    add_demand (setting, slowest->resource, slowest->service * bytes);
}

static OpId
new_op (Runner *self)
{
  double bytes = self->item->bytes;
  OpSpec spec = { .class_ = OP_TRAFFIC,
                  .latency = sim_time_from_seconds (self->cost.latency),
                  .members = 1,
                  .order = ENGINE_NONE,
                  .waves = { .resource = ENGINE_NONE } };

  if (bytes > 0)
    collect_demands (self);
  spec.n_demands = bytes > 0 ? self->setting->demands->len : 0;
  spec.demands = (const Demand *) (gconstpointer) self->setting->demands->data;
  if (spec.n_demands > 0)
    {
      spec.share = self->cost.weight / (bytes * collective_plan_payload (self->item->plan));
      spec.cap = self->cost.rate_cap / bytes;
    }
  return engine_op_new (self->setting->engine, &spec);
}

/* A host for each item: it waits for the item's start, then issues it. */
static HostYield
issue (Engine *engine, G_GNUC_UNUSED HostId host, gpointer user)
{
  Runner *self = user;

  if (!self->waited && self->item->start > 0)
    {
      self->waited = TRUE;
      return (HostYield){ .kind = HOST_WORK, .work = sim_time_from_seconds (self->item->start) };
    }
  self->op = new_op (self);
  engine_submit (engine, self->op, self->stream, ENGINE_NONE, 0);
  return (HostYield){ .kind = HOST_END };
}

static void
setting_init (Setting *self, const Cluster *cluster)
{
  guint n = cluster_n_resources (cluster);

  self->cluster = cluster;
  self->engine = engine_new ();
  self->n_users = g_new0 (guint32, n);
  self->ids = g_new (ResourceId, n);
  for (guint i = 0; i < n; i++)
    self->ids[i] = ENGINE_NONE;
  self->demands = g_array_new (FALSE, FALSE, sizeof (Demand));
}

static void
setting_clear (Setting *self)
{
  engine_free (self->engine);
  g_free (self->n_users);
  g_free (self->ids);
  g_array_unref (self->demands);
}

static guint32
cluster_resource_of (const Setting *self, ResourceId id)
{
  guint32 resource = 0;

  while (self->ids[resource] != id)
    resource++;
  return resource;
}

/* The cause, and the resource with it, of most of the run of OP. */
static CollectiveBound
find_bound (const Setting *self, OpId op)
{
  const OpRecord     *record = engine_op_record (self->engine, op);
  const TraceSegment *segments = engine_segments (self->engine, record), *longest = NULL;
  SimTime             most = 0;

  for (guint i = 0; i < record->n_segments; i++)
    {
      SimTime sum = 0;

      for (guint j = 0; j < record->n_segments; j++)
        if (segments[j].cause == segments[i].cause
            && (segments[i].cause != CAUSE_RESOURCE
                || segments[j].resource == segments[i].resource))
          sum += segments[j].duration;
      if (sum > most)
        {
          most = sum;
          longest = &segments[i];
        }
    }
  if (longest == NULL || longest->cause != CAUSE_RESOURCE)
    return (CollectiveBound){ longest != NULL ? longest->cause : CAUSE_LATENCY, G_MAXUINT32 };
  return (CollectiveBound){ CAUSE_RESOURCE, cluster_resource_of (self, longest->resource) };
}

gboolean
collective_run_fluid (const Cluster *cluster, const CollectiveRunItem *items, guint n,
                      SimTime *finish, GError **error)
{
  return collective_run_fluid_bound (cluster, items, n, finish, NULL, error);
}

gboolean
collective_run_fluid_bound (const Cluster *cluster, const CollectiveRunItem *items, guint n,
                            SimTime *finish, CollectiveBound *bound, GError **error)
{
  Setting            setting;
  g_autofree Runner *runners = g_new0 (Runner, n);
  gboolean           ok;

  setting_init (&setting, cluster);
  for (guint i = 0; i < n; i++)
    {
      runners[i] = (Runner){ .setting = &setting,
                             .item = &items[i],
                             .stream = engine_add_stream (setting.engine, "collective", 0, 0) };
      collective_plan_cost (items[i].plan, items[i].bytes, &runners[i].cost);
      for (guint j = 0; j < runners[i].cost.n_loads; j++)
        setting.n_users[runners[i].cost.loads[j].resource]++;
      engine_add_host (setting.engine, "rank", issue, &runners[i]);
    }
  ok = engine_run (setting.engine, error);
  for (guint i = 0; i < n && ok; i++)
    {
      finish[i] = engine_op_record (setting.engine, runners[i].op)->end;
      if (bound != NULL)
        bound[i] = find_bound (&setting, runners[i].op);
    }
  setting_clear (&setting);
  return ok;
}
