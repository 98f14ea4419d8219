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

CollectivePlan *
fixture_plan (const Cluster *cluster, CollectiveKind kind, CollectiveAlgorithm algorithm)
{
  g_autofree guint32 *ranks = fixture_all (cluster);

  return collective_plan_new (cluster, kind, ranks, cluster_n_gpus (cluster), algorithm);
}

double
plan_payload (const CollectivePlan *plan, guint32 resource)
{
  for (guint i = 0; i < plan->n_loads; i++)
    if (plan->loads[i].resource == resource)
      return plan->loads[i].payload;
  return 0;
}

double
plan_sum (const CollectivePlan *plan, const Cluster *cluster, ResourceKind kind, guint32 node)
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
plan_range (const CollectivePlan *plan, const Cluster *cluster, ResourceKind kind, double *low,
            double *high)
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
