#include "fixture.h"

void
fixture_init (Fixture *self, const char *node, guint nodes)
{
  *self = (Fixture){ .profiles = profile_set_new (NULL) };
  option_table_defaults (cluster_options, &self->options);
  self->options.node = g_strdup (node);
  self->options.nodes = nodes;
}

void
fixture_init_staged (Fixture *self, guint nodes, double memory, guint cards)
{
  const FigureChange   change = { "node", "leonardo-booster", "dram_bandwidth", memory, FALSE };
  const ProfileVariant variant = { .changes = &change, .n_changes = 1 };

  fixture_init (self, "leonardo-booster", nodes);
  profile_set_free (self->profiles);
  self->profiles = profile_set_new_shared (NULL, &variant, NULL);
  self->options.intra = g_strdup ("pcie4-host");
  self->options.gpus_per_node = 3;
  self->options.nics = (int) cards;
}

void
fixture_clear (Fixture *self)
{
  option_table_clear (cluster_options, &self->options);
  profile_set_free (self->profiles);
}

Cluster *
fixture_cluster (Fixture *self)
{
  g_autoptr (DiagList) diags = diag_list_new ();
  Cluster             *cluster = cluster_new (&self->options, self->profiles, NULL, diags);

  ck_assert_msg (cluster != NULL, "%s", diag_list_first_message (diags));
  return cluster;
}

guint32 *
fixture_all (const Cluster *cluster)
{
  guint32 *ranks = g_new (guint32, cluster_n_gpus (cluster));

  for (guint i = 0; i < cluster_n_gpus (cluster); i++)
    ranks[i] = i;
  return ranks;
}

Laid *
fixture_plan (const Cluster *cluster, CollectiveKind kind, CollectiveAlgorithm algorithm)
{
  g_autofree guint32 *ranks = fixture_all (cluster);

  return laid_new (cluster, kind, ranks, cluster_n_gpus (cluster), algorithm);
}

double
plan_payload (const Laid *plan, guint32 resource)
{
  for (guint i = 0; i < plan->n_loads; i++)
    if (plan->loads[i].resource == resource)
      return plan->loads[i].payload;
  return 0;
}

double
plan_sum (const Laid *plan, const Cluster *cluster, ResourceKind kind, guint32 node)
{
  double sum = 0;

  for (guint i = 0; i < plan->n_loads; i++)
    {
      const ClusterResource *resource = cluster_resource (cluster, plan->loads[i].resource);

      if (resource->kind == kind && (node == G_MAXUINT32 || resource->node == node))
        sum += plan->loads[i].payload;
    }
  return sum;
}

guint
plan_range (const Laid *plan, const Cluster *cluster, ResourceKind kind, double *low, double *high)
{
  guint n = 0;

  *low = INFINITY;
  *high = 0;
  for (guint i = 0; i < plan->n_loads; i++)
    if (cluster_resource (cluster, plan->loads[i].resource)->kind == kind)
      {
        *low = MIN (*low, plan->loads[i].payload);
        *high = MAX (*high, plan->loads[i].payload);
        n++;
      }
  return n;
}

Laid *
laid_new (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks, guint n_ranks,
          CollectiveAlgorithm algorithm)
{
  return laid_new_with (cluster, kind, ranks, n_ranks, algorithm, PXN_AUTO);
}

Laid *
laid_new_with (const Cluster *cluster, CollectiveKind kind, const guint32 *ranks, guint n_ranks,
               CollectiveAlgorithm algorithm, PxnWish pxn)
{
  CollectiveOptions options = collective_default_options;
  CollectiveCost    cost;
  Laid             *self = g_new0 (Laid, 1);

  options.algorithm = algorithm == ALGORITHM_N ? ALGORITHM_RING : algorithm;
  options.protocol = PROTOCOL_SIMPLE;
  options.pxn = pxn;
  self->plan = collective_plan_new (cluster, kind, ranks, n_ranks, &options);
  collective_plan_cost (self->plan, 0x1p40, &cost);
  self->kind = kind;
  self->algorithm = cost.algorithm;
  self->n_ranks = n_ranks;
  self->n_nodes = collective_plan_n_nodes (self->plan);
  self->loads = cost.loads;
  self->n_loads = cost.n_loads;
  self->latency = cost.latency;
  self->channels = cost.channels;
  for (guint i = 0; i < cost.n_loads; i++)
    self->link_seconds_per_byte =
        MAX (self->link_seconds_per_byte,
             cost.loads[i].service / cluster_resource (cluster, cost.loads[i].resource)->capacity);
  return self;
}

void
laid_free (Laid *self)
{
  if (self == NULL)
    return;
  collective_plan_free (self->plan);
  g_free (self);
}

double
laid_time (const Laid *self, double bytes)
{
  return self->latency + bytes * self->link_seconds_per_byte;
}
